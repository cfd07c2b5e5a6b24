// Scalar memory loads. Addresses are dword-aligned: the two low bits of the sum are ignored (CDNA3 ISA 7.2).
#include "isa/families.h"
#include "isa/scalars.h"

#include <algorithm>

namespace gfx950::isa {
namespace {

int64_t offset_of(const Wave& w, const Instruction& i, int n) {
  int64_t offset = i.mod.offset;
  if (i.sources > n) {
    const Operand& o = i.src[n];
    if (o.kind == Operand::Scalar) offset += w.s[o.index];
    else if (o.kind == Operand::Constant) offset += static_cast<int64_t>(static_cast<int32_t>(o.value << 11) >> 11);  // a 21-bit immediate
  }
  return offset;
}

void issue(Wave& w, const ScalarAccess& a) {
  if (w.strict) strict_scalar_load(w, a);
  else perform_scalar_load(w, a);
}

void s_load(Wave& w, const Instruction& i) {
  ScalarAccess a;
  a.inst = &i;
  a.address = (w.pair(i.src[0].index) + offset_of(w, i, 1)) & ~uint64_t{3};
  a.dst = i.dst.index;
  a.words = i.dst.words;
  issue(w, a);
}

// The descriptor's range check, dword by dword: raw buffers count bytes, structured ones records of `stride` bytes.
void s_buffer_load(Wave& w, const Instruction& i) {
  const uint32_t* d = &w.s[i.src[0].index];
  const uint64_t base = d[0] | static_cast<uint64_t>(d[1] & 0xffff) << 32;
  const uint32_t stride = d[1] >> 16 & 0x3fff;
  const uint64_t size = stride ? static_cast<uint64_t>(d[2]) * stride : d[2];
  const uint64_t offset = static_cast<uint64_t>(offset_of(w, i, 1)) & ~uint64_t{3};
  ScalarAccess a;
  a.inst = &i;
  a.address = (base + offset) & ~uint64_t{3};
  a.dst = i.dst.index;
  a.words = i.dst.words;
  a.valid_words = offset >= size ? 0 : static_cast<uint32_t>(std::min<uint64_t>((size - offset) / 4, a.words));
  issue(w, a);
}

constexpr Row row(const char* name, Run run, Type result, Type base) {
  return custom(name, Format::ScalarMemory, run, {{Role::Dst, result}, {Role::Src, base}, {Role::Src, Type::U32}}, kLgkmcnt | kUnordered);
}
constexpr Row kRows[] = {
    row("s_load_dword", s_load, Type::U32, Type::U64), row("s_load_dwordx2", s_load, Type::U64, Type::U64),
    row("s_load_dwordx4", s_load, Type::B128, Type::U64), row("s_load_dwordx8", s_load, Type::B256, Type::U64),
    row("s_load_dwordx16", s_load, Type::B512, Type::U64), row("s_buffer_load_dword", s_buffer_load, Type::U32, Type::B128),
    row("s_buffer_load_dwordx2", s_buffer_load, Type::U64, Type::B128), row("s_buffer_load_dwordx4", s_buffer_load, Type::B128, Type::B128),
    row("s_buffer_load_dwordx8", s_buffer_load, Type::B256, Type::B128), row("s_buffer_load_dwordx16", s_buffer_load, Type::B512, Type::B128),
};

}  // namespace

Rows scalar_memory_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
