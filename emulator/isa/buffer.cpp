// Buffer loads, stores, atomics and LDS DMA through a descriptor.
// Raw (stride 0): dword k of a lane is in range when voffset + inst_offset + soffset + 4*(k+1) <= num_records; loads outside give 0,
// stores are dropped. Structured: the index alone counts against num_records; an offset may pass the stride (hand-written objects
// store so: tests/emulator/conformance/test_aiter_objects.py). Swizzled descriptors are refused.
#include <string>

#include "isa/families.h"
#include "isa/memory_atomic.h"
#include "isa/scalars.h"

namespace gfx950::isa {
namespace {

// Fills addresses and validity. Sources from `first`: vaddr, descriptor, soffset.
void resolve(Wave& w, const Instruction& i, VectorAccess& a, int first, int bytes) {
  const Operand &vaddr = i.src[first], &descriptor = i.src[first + 1], &soffset = i.src[first + 2];
  const uint32_t* d = &w.s[descriptor.index];
  const uint64_t base = d[0] | static_cast<uint64_t>(d[1] & 0xffff) << 32;
  const uint32_t stride = d[1] >> 16 & 0x3fff, records = d[2];
  if (d[1] >> 31) fault(w, ErrorCode::UnknownInstruction, "a swizzled buffer descriptor is not modelled");
  if (d[3] >> 23 & 1) fault(w, ErrorCode::UnknownInstruction, "a descriptor that adds the thread id is not modelled");
  const uint32_t scalar = read_scalar32(w, soffset), immediate = static_cast<uint32_t>(i.mod.offset);
  const int words = bytes < 4 ? 1 : bytes / 4, unit = bytes < 4 ? bytes : 4;
  a.inst = &i;
  a.exec = w.exec();
  a.space = Space::Global;
  a.vm = true;
  a.bytes = static_cast<uint8_t>(bytes);
  const uint32_t* index_row = i.mod.idxen ? row_of(w, vaddr, 0) : nullptr;
  const uint32_t* offset_row = i.mod.offen ? row_of(w, vaddr, i.mod.idxen ? 1 : 0) : nullptr;
  uint64_t valid[4] = {};
  for (int l = 0; l < 64; ++l) {
    const uint64_t index = index_row ? index_row[l] : 0;
    const uint64_t offset = static_cast<uint64_t>(offset_row ? offset_row[l] : 0) + immediate;
    a.address[l] = base + scalar + index * stride + offset;
    for (int k = 0; k < words; ++k) {
      // The scalar offset takes part in the raw check, not in the structured one (ISA 9.1.5).
      const bool inside = stride == 0 || !index_row ? offset + scalar + 4 * k + unit <= (stride ? static_cast<uint64_t>(records) * stride : records)
                                                    : index < records;
      valid[k] |= static_cast<uint64_t>(inside) << l;
    }
  }
  for (int k = 0; k < 4; ++k) a.valid[k] = k < words ? valid[k] : ~uint64_t{0};
}

void buffer_load(Wave& w, const Instruction& i) {
  VectorAccess a;
  const int bytes = form_bytes(*i.row);
  resolve(w, i, a, 0, bytes);
  set_load(a, Space::Global, bytes, form_convert(*i.row), i.dst.index);
  if (i.mod.lds) set_dma(w, a, bytes, static_cast<uint32_t>(i.mod.offset));
  issue_load(w, a);
}
void buffer_store(Wave& w, const Instruction& i) {
  VectorAccess a;
  resolve(w, i, a, 1, form_bytes(*i.row));
  const uint32_t* data[4];
  for (int k = 0; k < i.src[0].words; ++k) data[k] = row_of(w, i.src[0], k);
  issue_store(w, a, data, form_convert(*i.row));
}
// The data register comes first in the text; when it is returned into as well it is the destination.
void buffer_atomic(Wave& w, const Instruction& i) {
  VectorAccess a;
  const auto& op = *static_cast<const atomic::Operation*>(i.row->data);
  resolve(w, i, a, 1, op.op64 ? 8 : 4);
  memory_atomic(w, i, a, 0);
}

constexpr Slot kVaddr{Role::Src, Type::None}, kDescriptor{Role::Src, Type::B128}, kSoffset{Role::Src, Type::U32};
constexpr Row load(const char* name, int bytes, Convert convert = Convert::Plain) {
  return custom(name, Format::Buffer, buffer_load, {{Role::DstUnlessLds, type_of_bytes(bytes)}, kVaddr, kDescriptor, kSoffset}, kVmcnt, form(bytes, convert));
}
constexpr Row store(const char* name, int bytes, Convert convert = Convert::Plain) {
  return custom(name, Format::Buffer, buffer_store, {{Role::Src, type_of_bytes(bytes)}, kVaddr, kDescriptor, kSoffset}, kVmcnt, form(bytes, convert));
}
constexpr Row kRows[] = {
    load("buffer_load_ubyte", 1, Convert::U8), load("buffer_load_sbyte", 1, Convert::I8), load("buffer_load_ushort", 2, Convert::U16),
    load("buffer_load_sshort", 2, Convert::I16), load("buffer_load_dword", 4), load("buffer_load_dwordx2", 8), load("buffer_load_dwordx3", 12),
    load("buffer_load_dwordx4", 16), load("buffer_load_ubyte_d16", 1, Convert::LowU8), load("buffer_load_sbyte_d16", 1, Convert::LowI8),
    load("buffer_load_short_d16", 2, Convert::Low16), load("buffer_load_ubyte_d16_hi", 1, Convert::HighU8),
    load("buffer_load_sbyte_d16_hi", 1, Convert::HighI8), load("buffer_load_short_d16_hi", 2, Convert::High16),
    store("buffer_store_byte", 1), store("buffer_store_short", 2), store("buffer_store_dword", 4), store("buffer_store_dwordx2", 8),
    store("buffer_store_dwordx3", 12), store("buffer_store_dwordx4", 16), store("buffer_store_byte_d16_hi", 1, Convert::HighU8),
    store("buffer_store_short_d16_hi", 2, Convert::High16),
};

struct AtomicRows {
  std::string names[kMemoryAtomicCount];
  Row rows[std::size(kRows) + kMemoryAtomicCount];
};

}  // namespace

Rows buffer_rows() {
  static AtomicRows* all = [] {
    auto* t = new AtomicRows;
    size_t n = 0;
    for (const Row& r : kRows) t->rows[n++] = r;
    for (int k = 0; k < kMemoryAtomicCount; ++k) {
      const MemoryAtomic& m = kMemoryAtomics[k];
      t->names[k] = std::string("buffer_atomic_") + m.suffix;
      const Type type = m.op.op64 ? (m.op.two ? Type::B128 : Type::U64) : (m.op.two ? Type::U64 : Type::U32);
      t->rows[n++] = custom(t->names[k].c_str(), Format::Buffer, buffer_atomic, {{Role::SrcReturned, type}, kVaddr, kDescriptor, kSoffset}, kVmcnt,
                            m.op.op64 ? 2 : 1, &m.op);
    }
    return t;
  }();
  return {all->rows, std::size(all->rows)};
}

}  // namespace gfx950::isa
