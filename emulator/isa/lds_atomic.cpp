// LDS atomics: lanes in order, one workgroup's waves never run at the same time.
#include <cstring>

#include "isa/atomic_operations.h"
#include "isa/families.h"
#include "isa/scalars.h"
#include "isa/vector_memory.h"

namespace gfx950::isa {
namespace {

void deliver(Wave& w, const VectorAccess& a, const uint32_t (*data)[64]) {
  for (int k = 0; k < a.words; ++k) write_row(w.v[a.dst + k], data[k], a.exec);
}

void ds_atomic(Wave& w, const Instruction& i) {
  const auto& op = *static_cast<const atomic::Operation*>(i.row->data);
  VectorAccess a;
  a.inst = &i;
  a.exec = w.exec();
  a.space = Space::Lds;
  a.action = Action::Atomic;
  a.lgkm = true;
  a.bytes = op.op64 ? 8 : 4;
  a.alignment = a.bytes;
  const uint32_t* base = row_of(w, i.src[0], 0);
  for (int l = 0; l < 64; ++l) a.address[l] = static_cast<uint32_t>(base[l] + static_cast<uint32_t>(i.mod.offset));
  const bool returns = i.dst.kind == Operand::Vector;
  if (w.group->count_conflicts) count_bank_conflicts(w, a);
  if (w.strict && !strict_before_store(w, a)) return;
  alignas(64) uint32_t old[2][64] = {};
  for (int l = 0; l < 64; ++l) {
    if (!active(a.exec, l)) continue;
    uint8_t* p = host_pointer(w, a, l, 0);
    if (!p) continue;
    auto value = [&](int source) {
      uint64_t x = row_of(w, i.src[source], 0)[l];
      if (op.op64) x |= static_cast<uint64_t>(row_of(w, i.src[source], 1)[l]) << 32;
      return x;
    };
    // ds_cmpst: the comparison comes first, then the new value; ds_mskor: the mask, then the bits.
    const uint64_t first = value(1), second = op.two ? value(2) : 0;
    uint64_t before = 0;
    std::memcpy(&before, p, a.bytes);
    const uint64_t data = op.compare_first ? second : first, other = op.compare_first ? first : second;
    const uint64_t after = op.op64 ? op.op64(before, data, other) : op.op32(static_cast<uint32_t>(before), static_cast<uint32_t>(data), static_cast<uint32_t>(other));
    std::memcpy(p, &after, a.bytes);
    old[0][l] = static_cast<uint32_t>(before);
    old[1][l] = static_cast<uint32_t>(before >> 32);
  }
  a.dst = i.dst.index;
  a.words = static_cast<uint8_t>(returns ? a.bytes / 4 : 0);
  a.deliver = deliver;
  if (w.strict) strict_after_store(w, a);
  if (!returns) return;
  if (w.strict) strict_atomic_result(w, a, old);
  else deliver(w, a, old);
}

using atomic::Operation;
constexpr Operation k32(atomic::Op32 f) { return {f, nullptr, false, false}; }
constexpr Operation k64(atomic::Op64 f) { return {nullptr, f, false, false, true}; }

template <bool returns> constexpr Row row(const char* name, const Operation* op) {
  const Type type = op->wide ? Type::U64 : Type::U32;
  Row r = custom(name, Format::Lds, ds_atomic, {}, kLgkmcnt, 0, op);
  if (returns) add_slot(r, Role::Dst, type);
  add_slot(r, Role::Src, Type::U32);
  add_slot(r, Role::Src, type);
  if (op->two) add_slot(r, Role::Src, type);
  return r;
}

#define OPS(X)                                                                                                                         \
  X(add, u32, k32(atomic::add<uint32_t>)) X(sub, u32, k32(atomic::sub<uint32_t>)) X(rsub, u32, k32(atomic::rsub<uint32_t>))           \
  X(inc, u32, k32(atomic::inc<uint32_t>)) X(dec, u32, k32(atomic::dec<uint32_t>)) X(min, i32, k32(atomic::smin<uint32_t>))            \
  X(max, i32, k32(atomic::smax<uint32_t>)) X(min, u32, k32(atomic::umin<uint32_t>)) X(max, u32, k32(atomic::umax<uint32_t>))          \
  X(and, b32, k32(atomic::bit_and<uint32_t>)) X(or, b32, k32(atomic::bit_or<uint32_t>)) X(xor, b32, k32(atomic::bit_xor<uint32_t>))   \
  X(min, f32, k32(atomic::min_f32)) X(max, f32, k32(atomic::max_f32)) X(add, f32, k32(atomic::add_f32))                               \
  X(pk_add, f16, k32(atomic::pk_add_f16)) X(pk_add, bf16, k32(atomic::pk_add_bf16))                                                   \
  X(add, u64, k64(atomic::add<uint64_t>)) X(sub, u64, k64(atomic::sub<uint64_t>)) X(rsub, u64, k64(atomic::rsub<uint64_t>))           \
  X(inc, u64, k64(atomic::inc<uint64_t>)) X(dec, u64, k64(atomic::dec<uint64_t>)) X(min, i64, k64(atomic::smin<uint64_t>))            \
  X(max, i64, k64(atomic::smax<uint64_t>)) X(min, u64, k64(atomic::umin<uint64_t>)) X(max, u64, k64(atomic::umax<uint64_t>))          \
  X(and, b64, k64(atomic::bit_and<uint64_t>)) X(or, b64, k64(atomic::bit_or<uint64_t>)) X(xor, b64, k64(atomic::bit_xor<uint64_t>))   \
  X(min, f64, k64(atomic::min_f64)) X(max, f64, k64(atomic::max_f64)) X(add, f64, k64(atomic::add_f64))

#define DEFINE(op, type, value) constexpr Operation k_##op##_##type = value;
OPS(DEFINE)
#undef DEFINE
constexpr Operation kSwap32 = k32(atomic::swap<uint32_t>), kSwap64 = k64(atomic::swap<uint64_t>);
constexpr Operation kCmp32{atomic::cmpswap<uint32_t>, nullptr, true, true}, kCmpF32{atomic::cmpswap_f32, nullptr, true, true};
constexpr Operation kCmpF64{nullptr, atomic::cmpswap_f64, true, true, true}, kCond64 = k64(atomic::condxchg32);
constexpr Operation kCmp64{nullptr, atomic::cmpswap<uint64_t>, true, true, true};
constexpr Operation kMskor32{atomic::mskor<uint32_t>, nullptr, true, false}, kMskor64{nullptr, atomic::mskor<uint64_t>, true, false, true};

#define ROWS(op, type, value) row<false>("ds_" #op "_" #type, &k_##op##_##type), row<true>("ds_" #op "_rtn_" #type, &k_##op##_##type),
constexpr Row kRows[] = {
    OPS(ROWS)
    row<true>("ds_wrxchg_rtn_b32", &kSwap32), row<true>("ds_wrxchg_rtn_b64", &kSwap64), row<false>("ds_cmpst_b32", &kCmp32),
    row<true>("ds_cmpst_rtn_b32", &kCmp32), row<false>("ds_cmpst_f32", &kCmpF32), row<true>("ds_cmpst_rtn_f32", &kCmpF32),
    row<false>("ds_cmpst_b64", &kCmp64), row<true>("ds_cmpst_rtn_b64", &kCmp64), row<false>("ds_cmpst_f64", &kCmpF64), row<true>("ds_cmpst_rtn_f64", &kCmpF64), row<true>("ds_condxchg32_rtn_b64", &kCond64),
    row<false>("ds_mskor_b32", &kMskor32),
    row<true>("ds_mskor_rtn_b32", &kMskor32), row<false>("ds_mskor_b64", &kMskor64), row<true>("ds_mskor_rtn_b64", &kMskor64),
};

}  // namespace

Rows lds_atomic_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
