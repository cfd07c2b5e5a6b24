#include "isa/memory_atomic.h"

#include <cstring>

namespace gfx950::isa {
namespace {

void deliver(Wave& w, const VectorAccess& a, const uint32_t (*data)[64]) {
  for (int k = 0; k < a.words; ++k) write_row(w.v[a.dst + k], data[k], a.exec);
}

// Workgroups run on several threads, so memory needs the host's atomics; scratch and LDS do not, but it does no harm there.
template <class T, class F> T exchange(uint8_t* p, F f) {
  T* at = reinterpret_cast<T*>(p);
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &old, f(old), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

}  // namespace

void memory_atomic(Wave& w, const Instruction& i, VectorAccess& a, int data_source) {
  const auto& op = *static_cast<const atomic::Operation*>(i.row->data);
  a.action = Action::Atomic;
  a.bytes = op.op64 ? 8 : 4;
  a.alignment = a.bytes;
  const Operand& data_operand = i.src[data_source];
  if (w.strict) {
    if (!strict_before_store(w, a)) return;
  } else {
    if (!a.exec) return;
    check_lanes(w, a, true);
  }
  alignas(64) uint32_t old[2][64] = {};
  const int words = a.bytes / 4;
  for (int l = 0; l < 64; ++l) {
    if (!active(a.exec, l) || !active(a.valid[0], l) || (words == 2 && !active(a.valid[1], l))) continue;
    if (a.address[l] % a.bytes) fault(w, ErrorCode::IllegalAddress, "a misaligned atomic", l);
    uint8_t* p = host_pointer(w, a, l, 0);
    if (!p) continue;
    uint64_t value = row_of(w, data_operand, 0)[l], compare = op.two ? row_of(w, data_operand, words)[l] : 0;
    if (words == 2) {
      value |= static_cast<uint64_t>(row_of(w, data_operand, 1)[l]) << 32;
      if (op.two) compare |= static_cast<uint64_t>(row_of(w, data_operand, 3)[l]) << 32;
    }
    uint64_t before;
    if (op.op64) before = exchange<uint64_t>(p, [&](uint64_t x) { return op.op64(x, value, compare); });
    else before = exchange<uint32_t>(p, [&](uint32_t x) { return op.op32(x, static_cast<uint32_t>(value), static_cast<uint32_t>(compare)); });
    old[0][l] = static_cast<uint32_t>(before);
    old[1][l] = static_cast<uint32_t>(before >> 32);
    if (a.space == Space::Global) mark_written(w, a.address[l], a.bytes);
  }
  const bool returns = i.mod.sc0;
  a.dst = i.dst.index;
  a.words = static_cast<uint8_t>(returns ? words : 0);
  a.deliver = deliver;
  if (w.strict) strict_after_store(w, a);
  if (!returns) return;
  if (w.strict) strict_atomic_result(w, a, old);
  else deliver(w, a, old);
}

using atomic::Operation;
#define A32(f) Operation{atomic::f, nullptr, false, false}
#define A64(f) Operation{nullptr, atomic::f, false, false}
const MemoryAtomic kMemoryAtomics[] = {
    {"swap", A32(swap<uint32_t>)}, {"swap_x2", A64(swap<uint64_t>)}, {"cmpswap", {atomic::cmpswap<uint32_t>, nullptr, true, false}},
    {"cmpswap_x2", {nullptr, atomic::cmpswap<uint64_t>, true, false}}, {"add", A32(add<uint32_t>)}, {"add_x2", A64(add<uint64_t>)},
    {"sub", A32(sub<uint32_t>)}, {"sub_x2", A64(sub<uint64_t>)}, {"smin", A32(smin<uint32_t>)}, {"smin_x2", A64(smin<uint64_t>)},
    {"umin", A32(umin<uint32_t>)}, {"umin_x2", A64(umin<uint64_t>)}, {"smax", A32(smax<uint32_t>)}, {"smax_x2", A64(smax<uint64_t>)},
    {"umax", A32(umax<uint32_t>)}, {"umax_x2", A64(umax<uint64_t>)}, {"and", A32(bit_and<uint32_t>)}, {"and_x2", A64(bit_and<uint64_t>)},
    {"or", A32(bit_or<uint32_t>)}, {"or_x2", A64(bit_or<uint64_t>)}, {"xor", A32(bit_xor<uint32_t>)}, {"xor_x2", A64(bit_xor<uint64_t>)},
    {"inc", A32(inc<uint32_t>)}, {"inc_x2", A64(inc<uint64_t>)}, {"dec", A32(dec<uint32_t>)}, {"dec_x2", A64(dec<uint64_t>)},
    {"add_f32", A32(add_f32)}, {"pk_add_f16", A32(pk_add_f16)}, {"pk_add_bf16", A32(pk_add_bf16)}, {"add_f64", A64(add_f64)},
    {"min_f64", A64(min_f64)}, {"max_f64", A64(max_f64)}, {"fmin", A32(min_f32)}, {"fmax", A32(max_f32)}, {"fcmpswap", {atomic::cmpswap_f32, nullptr, true, false}},
};
static_assert(std::size(kMemoryAtomics) == kMemoryAtomicCount);

}  // namespace gfx950::isa
