// Flat, global and scratch memory. A flat address is looked at by its high word: LDS and scratch have apertures.
#include <cstring>
#include <string>

#include "isa/families.h"
#include "isa/memory_atomic.h"
#include "isa/scalars.h"

namespace gfx950::isa {
namespace {

enum Segment : uint64_t { kFlat = 0, kGlobal = 1, kScratch = 2 };
constexpr int kSegment = 16;
Segment segment_of(const Row& row) { return static_cast<Segment>(row.parameter >> kSegment & 3); }

// Addresses from vaddr (64 bits, or 32 with a scalar base; scratch: 32 or off) and saddr.
void resolve(Wave& w, const Instruction& i, VectorAccess& a, const Operand& vaddr, const Operand* saddr) {
  const Segment segment = segment_of(*i.row);
  a.inst = &i;
  a.exec = w.exec();
  a.space = segment == kScratch ? Space::Scratch : Space::Global;
  a.vm = true;
  a.lgkm = segment == kFlat;
  uint64_t base = static_cast<uint64_t>(static_cast<int64_t>(i.mod.offset));
  const bool scalar = saddr && saddr->kind == Operand::Scalar;
  if (scalar) base += saddr->words == 2 ? w.pair(saddr->index) : w.s[saddr->index];
  if (segment == kScratch) {
    for (int l = 0; l < 64; ++l) a.address[l] = static_cast<uint32_t>(base + (vaddr.kind == Operand::Vector ? row_of(w, vaddr, 0)[l] : 0));
    return;
  }
  const uint32_t* low = row_of(w, vaddr, 0);
  if (vaddr.words == 2) {
    const uint32_t* high = row_of(w, vaddr, 1);
    GFX950_LANE_LOOP a.address[l] = base + (low[l] | static_cast<uint64_t>(high[l]) << 32);
  } else {
    GFX950_LANE_LOOP a.address[l] = base + low[l];
  }
}

// Splits a flat access by aperture and hands each part on.
template <class F> void by_space(Wave& w, VectorAccess& a, F each) {
  if (segment_of(*a.inst->row) != kFlat) return each(a);
  uint64_t lds = 0, scratch = 0;
  for (int l = 0; l < 64; ++l) {
    const uint64_t high = a.address[l] >> 32;
    lds |= static_cast<uint64_t>(high == kSharedBase >> 32) << l;
    scratch |= static_cast<uint64_t>(high == kPrivateBase >> 32) << l;
  }
  lds &= a.exec;
  scratch &= a.exec;
  const uint64_t exec = a.exec;
  if (!lds && !scratch) return each(a);
  for (const auto& [space, lanes] : {std::pair{Space::Global, exec & ~lds & ~scratch}, {Space::Lds, lds}, {Space::Scratch, scratch}}) {
    if (!lanes) continue;
    VectorAccess part = a;
    part.exec = lanes;
    part.space = space;
    if (space != Space::Global)
      for (int l = 0; l < 64; ++l) part.address[l] &= 0xffffffffu;
    each(part);
  }
}

void flat_load(Wave& w, const Instruction& i) {
  VectorAccess a;
  resolve(w, i, a, i.src[0], i.sources > 1 ? &i.src[1] : nullptr);
  by_space(w, a, [&](VectorAccess& part) {
    set_load(part, part.space, form_bytes(*i.row), form_convert(*i.row), i.dst.index);
    issue_load(w, part);
  });
}
void flat_store(Wave& w, const Instruction& i) {
  VectorAccess a;
  resolve(w, i, a, i.src[0], i.sources > 2 ? &i.src[2] : nullptr);
  a.bytes = static_cast<uint8_t>(form_bytes(*i.row));
  const uint32_t* data[4];
  for (int k = 0; k < i.src[1].words; ++k) data[k] = row_of(w, i.src[1], k);
  by_space(w, a, [&](VectorAccess& part) { issue_store(w, part, data, form_convert(*i.row)); });
}
void flat_atomic(Wave& w, const Instruction& i) {
  VectorAccess a;
  resolve(w, i, a, i.src[0], i.sources > 2 ? &i.src[2] : nullptr);
  by_space(w, a, [&](VectorAccess& part) { memory_atomic(w, i, part, 1); });
}
void load_lds(Wave& w, const Instruction& i) {
  VectorAccess a;
  const int bytes = form_bytes(*i.row);
  resolve(w, i, a, i.src[0], &i.src[1]);
  set_load(a, a.space, bytes, form_convert(*i.row), 0);
  set_dma(w, a, bytes, static_cast<uint32_t>(i.mod.offset));
  issue_load(w, a);
}

struct LoadForm {
  const char* suffix;
  int bytes;
  Convert convert;
};
constexpr LoadForm kLoads[] = {
    {"load_ubyte", 1, Convert::U8}, {"load_sbyte", 1, Convert::I8}, {"load_ushort", 2, Convert::U16}, {"load_sshort", 2, Convert::I16},
    {"load_dword", 4, Convert::Plain}, {"load_dwordx2", 8, Convert::Plain}, {"load_dwordx3", 12, Convert::Plain}, {"load_dwordx4", 16, Convert::Plain},
    {"load_ubyte_d16", 1, Convert::LowU8}, {"load_sbyte_d16", 1, Convert::LowI8}, {"load_short_d16", 2, Convert::Low16},
    {"load_ubyte_d16_hi", 1, Convert::HighU8}, {"load_sbyte_d16_hi", 1, Convert::HighI8}, {"load_short_d16_hi", 2, Convert::High16},
};
constexpr LoadForm kLdsLoads[] = {
    {"ubyte", 1, Convert::U8}, {"sbyte", 1, Convert::I8}, {"ushort", 2, Convert::U16}, {"sshort", 2, Convert::I16},
    {"dword", 4, Convert::Plain}, {"dwordx3", 12, Convert::Plain}, {"dwordx4", 16, Convert::Plain},
};
constexpr LoadForm kStores[] = {
    {"store_byte", 1, Convert::Plain}, {"store_short", 2, Convert::Plain}, {"store_dword", 4, Convert::Plain}, {"store_dwordx2", 8, Convert::Plain},
    {"store_dwordx3", 12, Convert::Plain}, {"store_dwordx4", 16, Convert::Plain}, {"store_byte_d16_hi", 1, Convert::HighU8},
    {"store_short_d16_hi", 2, Convert::High16},
};

constexpr Row row(const char* name, Run run, uint64_t parameter, uint32_t flags) {
  Row r{};
  r.name = name;
  r.format = Format::Flat;
  r.run = run;
  r.parameter = parameter;
  r.flags = flags;
  return r;
}

struct Table {
  static constexpr size_t kCount = 3 * (std::size(kLoads) + std::size(kStores)) + 2 * kMemoryAtomicCount + 2 * std::size(kLdsLoads);
  std::string names[kCount];
  Row rows[kCount];
  size_t count = 0;

  Row& add(const std::string& name, Run run, uint64_t parameter, Segment segment) {
    names[count] = name;
    rows[count] = row(names[count].c_str(), run, parameter | segment << kSegment, kVmcnt | (segment == kFlat ? kLgkmcnt : 0u));
    return rows[count++];
  }
};

}  // namespace

Rows flat_rows() {
  static Table* table = [] {
    auto* t = new Table;
    for (const auto& [prefix, segment] : {std::pair{"flat_", kFlat}, {"global_", kGlobal}, {"scratch_", kScratch}}) {
      for (const auto& l : kLoads) {
        Row& r = t->add(std::string(prefix) + l.suffix, flat_load, form(l.bytes, l.convert), segment);
        add_slot(r, Role::Dst, type_of_bytes(l.bytes));
        add_slot(r, Role::Src, Type::None);
        if (segment != kFlat) add_slot(r, Role::Src, Type::None);
      }
      for (const auto& s : kStores) {
        Row& r = t->add(std::string(prefix) + s.suffix, flat_store, form(s.bytes, s.convert), segment);
        add_slot(r, Role::Src, Type::None);
        add_slot(r, Role::Src, type_of_bytes(s.bytes));
        if (segment != kFlat) add_slot(r, Role::Src, Type::None);
      }
      if (segment == kScratch) continue;
      for (int k = 0; k < kMemoryAtomicCount; ++k) {
        const MemoryAtomic& m = kMemoryAtomics[k];
        Row& r = t->add(std::string(prefix) + "atomic_" + m.suffix, flat_atomic, 0, segment);
        r.data = &m.op;
        const Type type = m.op.op64 ? Type::U64 : Type::U32;
        add_slot(r, Role::DstOptional, type);
        add_slot(r, Role::Src, Type::None);
        add_slot(r, Role::Src, m.op.two ? (m.op.op64 ? Type::B128 : Type::U64) : type);
        if (segment != kFlat) add_slot(r, Role::Src, Type::None);
      }
    }
    for (const auto& [prefix, segment] : {std::pair{"global_load_lds_", kGlobal}, {"scratch_load_lds_", kScratch}})
      for (const LoadForm& l : kLdsLoads) {
        if (segment == kScratch && l.bytes > 4) continue;
        Row& r = t->add(std::string(prefix) + l.suffix, load_lds, form(l.bytes, l.convert), segment);
        r.flags |= kReadsM0;
        add_slot(r, Role::Src, Type::None);
        add_slot(r, Role::Src, Type::None);
      }
    return t;
  }();
  return {table->rows, table->count};
}

}  // namespace gfx950::isa
