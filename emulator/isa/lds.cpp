// LDS: reads, writes, transposing reads, and the cross-lane forms that use its address logic.
// Transposing reads: GFX950 layout, four groups of 16 lanes; element 16*j + l of a group's bytes becomes slot j of lane l.
#include <cstring>

#include "isa/families.h"
#include "isa/scalars.h"
#include "isa/vector_memory.h"

namespace gfx950::isa {
namespace {

// parameter bits 16 to 25: the unit of read2's two offsets in bytes (up to 512: 64 elements of 8); bit 26: it is a two-address form.
constexpr uint64_t kUnit = 16, kPair = 1ull << 26;

void lds_address(Wave& w, const Instruction& i, VectorAccess& a) {
  a.inst = &i;
  a.exec = w.exec();
  a.space = Space::Lds;
  a.lgkm = true;
  const uint32_t* base = row_of(w, i.src[0], 0);
  const uint32_t unit = static_cast<uint32_t>(i.row->parameter >> kUnit & 0x3ff);
  const uint32_t scale = i.row->parameter & kPair ? unit : 1;
  const uint32_t offset = static_cast<uint32_t>(i.mod.offset) * scale;
  for (int l = 0; l < 64; ++l) a.address[l] = static_cast<uint32_t>(base[l] + offset);
  if (i.row->parameter & kPair) {
    a.parts = 2;
    a.second = (i.mod.offset1 - i.mod.offset) * static_cast<int32_t>(scale);
  }
}

void ds_read(Wave& w, const Instruction& i) {
  VectorAccess a;
  lds_address(w, i, a);
  set_load(a, Space::Lds, form_bytes(*i.row), form_convert(*i.row), i.dst.index);
  issue_load(w, a);
}

void ds_write(Wave& w, const Instruction& i) {
  VectorAccess a;
  lds_address(w, i, a);
  a.bytes = static_cast<uint8_t>(form_bytes(*i.row));
  const uint32_t* data[8];
  int n = 0;
  for (int s = 1; s < i.sources; ++s)
    for (int k = 0; k < i.src[s].words; ++k) data[n++] = row_of(w, i.src[s], k);
  issue_store(w, a, data, form_convert(*i.row));
}

// bits of an element: parameter bits 32..
void deliver_transposed(Wave& w, const VectorAccess& a, const uint32_t (*data)[64]) {
  const int bits = static_cast<int>(a.inst->row->parameter >> 32), words = a.words, slots = words * 32 / bits;
  alignas(64) uint32_t out[3][64];
  std::memset(out, 0, sizeof out);
  for (int group = 0; group < 64; group += 16)
    for (int l = 0; l < 16; ++l)
      for (int j = 0; j < slots; ++j) {
        const int element = 16 * j + l, lane = group + element / slots, at = element % slots * bits;
        uint64_t pair = data[at / 32][lane];
        if (at / 32 + 1 < words) pair |= static_cast<uint64_t>(data[at / 32 + 1][lane]) << 32;
        const uint32_t value = static_cast<uint32_t>(pair >> (at % 32)) & ((1u << bits) - 1);
        const int to = j * bits;
        out[to / 32][group + l] |= value << (to % 32);
        if (to % 32 + bits > 32) out[to / 32 + 1][group + l] |= value >> (32 - to % 32);
      }
  for (int k = 0; k < words; ++k) write_row(w.v[a.dst + k], out[k], a.exec);
}
// The b8 form, which attention kernels live on: 16 lanes' 128 bytes as an 8x16 matrix, transposed.
void deliver_transposed8(Wave& w, const VectorAccess& a, const uint32_t (*data)[64]) {
  alignas(64) uint8_t bytes[64][8], out[64][8];
  for (int l = 0; l < 64; ++l) {
    std::memcpy(bytes[l], &data[0][l], 4);
    std::memcpy(bytes[l] + 4, &data[1][l], 4);
  }
  for (int group = 0; group < 64; group += 16)
    for (int j = 0; j < 8; ++j)
      for (int l = 0; l < 16; ++l) out[group + l][j] = bytes[group + 2 * j + l / 8][l % 8];
  alignas(64) uint32_t rows[2][64];
  for (int l = 0; l < 64; ++l) {
    std::memcpy(&rows[0][l], out[l], 4);
    std::memcpy(&rows[1][l], out[l] + 4, 4);
  }
  for (int k = 0; k < 2; ++k) write_row(w.v[a.dst + k], rows[k], a.exec);
}

void ds_read_tr(Wave& w, const Instruction& i) {
  VectorAccess a;
  lds_address(w, i, a);
  if (a.exec != ~uint64_t{0}) {
    if (w.strict) strict_report(w, ReportKind::Hazard, "EXEC must be all ones here");
    else fault(w, ErrorCode::UnknownInstruction, "a transposing read with lanes switched off has no defined result");
  }
  a.alignment = 8;
  set_load(a, Space::Lds, form_bytes(*i.row), Convert::Plain, i.dst.index);
  a.deliver = i.row->parameter >> 32 == 8 ? deliver_transposed8 : deliver_transposed;
  issue_load(w, a);
}

// ds_bpermute: lane l reads the lane named by its address; an inactive source lane gives 0. ds_permute pushes. They touch no LDS byte,
// but their results come under lgkmcnt.
void deliver_rows(Wave& w, const VectorAccess& a, const uint32_t (*data)[64]) { write_row(w.v[a.dst], data[0], a.exec); }
void issue_moved(Wave& w, const Instruction& i, const uint32_t (&row)[64], uint64_t written) {
  if (w.strict) {
    VectorAccess a;
    a.inst = &i;
    a.exec = written;
    a.space = Space::Lds;
    a.action = Action::Atomic;
    a.lgkm = true;
    a.bytes = 0;
    a.dst = i.dst.index;
    a.words = 1;
    a.deliver = deliver_rows;
    strict_atomic_result(w, a, reinterpret_cast<const uint32_t(*)[64]>(row));
    return;
  }
  write_row(w.v[i.dst.index], row, written);
}
void ds_bpermute_b32(Wave& w, const Instruction& i) {
  alignas(64) uint32_t out[64];
  const uint32_t *address = row_of(w, i.src[0], 0), *data = row_of(w, i.src[1], 0);
  const uint64_t exec = w.exec();
  for (int l = 0; l < 64; ++l) {
    const int from = (address[l] + static_cast<uint32_t>(i.mod.offset)) >> 2 & 63;
    out[l] = active(exec, from) ? data[from] : 0;
  }
  issue_moved(w, i, out, exec);
}
void ds_permute_b32(Wave& w, const Instruction& i) {
  alignas(64) uint32_t out[64] = {};
  const uint32_t *address = row_of(w, i.src[0], 0), *data = row_of(w, i.src[1], 0);
  const uint64_t exec = w.exec();
  for (int l = 0; l < 64; ++l)
    if (active(exec, l)) out[(address[l] + static_cast<uint32_t>(i.mod.offset)) >> 2 & 63] = data[l];
  issue_moved(w, i, out, exec);
}
void ds_swizzle_b32(Wave& w, const Instruction& i) {
  alignas(64) uint32_t out[64];
  const uint32_t* data = row_of(w, i.src[0], 0);
  const uint64_t exec = w.exec();
  const uint32_t pattern = i.encoding[0] & 0xffff;
  for (int l = 0; l < 64; ++l) {
    int from;
    const int mask = pattern & 31;
    if (pattern >= 0xe000) {  // FFT: the lane's five bits reversed, but for those in the mask
      int reversed = 0;
      for (int bit = 0; bit < 5; ++bit) reversed |= (l >> bit & 1) << (4 - bit);
      from = (l & 32) | (reversed >> std::popcount(static_cast<uint32_t>(mask))) | (l & mask);
    } else if (pattern >= 0xc000) {  // rotation within 32 lanes; the mask's bits stay
      const int n = pattern >> 5 & 31;
      from = (l & 32) | (l & mask) | ((pattern >> 10 & 1 ? l - n : l + n) & ~mask & 31);
    } else if (pattern & 0x8000) {  // quads
      from = (l & ~3) | (pattern >> (2 * (l & 3)) & 3);
    } else {
      from = (l & 32) | ((((l & 31) & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
    }
    out[l] = active(exec, from) ? data[from] : 0;
  }
  issue_moved(w, i, out, exec);
}
// ds_append, ds_consume: the counter at the offset moves by the number of active lanes; every lane gets its old value. The CDNA4 manual
// lets M0 count for GDS alone, LLVM puts the pointer there: with M0 other than zero the two disagree, and nothing here can tell.
template <int sign> void ds_count(Wave& w, const Instruction& i) {
  if (w.s[kM0] != 0) fault(w, ErrorCode::UnknownInstruction, "with M0 other than zero the manual and LLVM name different addresses");
  const uint32_t at = static_cast<uint32_t>(i.mod.offset);
  const uint64_t exec = w.exec();
  VectorAccess a;
  a.inst = &i;
  a.exec = exec & (~exec + 1);  // one lane's atomic, so to speak
  a.space = Space::Lds;
  a.action = Action::Atomic;
  a.lgkm = true;
  a.alignment = 4;
  for (uint64_t& address : a.address) address = at;
  if (w.strict) strict_before_store(w, a);
  alignas(64) uint32_t out[64] = {};
  if (fits(at, 4, w.group->lds_size)) {
    uint32_t value;
    std::memcpy(&value, w.group->lds.data() + at, 4);
    for (uint32_t& x : out) x = value;
    value += static_cast<uint32_t>(sign * std::popcount(exec));
    std::memcpy(w.group->lds.data() + at, &value, 4);
  }
  issue_moved(w, i, out, exec);
}
// Lane l's dword at M0[15:0] + offset + 4 * l.
void addtid_address(Wave& w, const Instruction& i, VectorAccess& a) {
  a.inst = &i;
  a.exec = w.exec();
  a.space = Space::Lds;
  a.lgkm = true;
  for (uint32_t l = 0; l < 64; ++l) a.address[l] = (w.s[kM0] & 0xffff) + static_cast<uint32_t>(i.mod.offset) + 4 * l;
}
void ds_read_addtid(Wave& w, const Instruction& i) {
  VectorAccess a;
  addtid_address(w, i, a);
  set_load(a, Space::Lds, 4, Convert::Plain, i.dst.index);
  issue_load(w, a);
}
void ds_write_addtid(Wave& w, const Instruction& i) {
  VectorAccess a;
  addtid_address(w, i, a);
  const uint32_t* data[1] = {row_of(w, i.src[0], 0)};
  issue_store(w, a, data, Convert::Plain);
}
void ds_nop(Wave&, const Instruction&) {}

constexpr Slot kAddress{Role::Src, Type::U32};
constexpr uint64_t unit(int bytes, bool st64 = false) { return kPair | static_cast<uint64_t>(st64 ? 64 * bytes : bytes) << kUnit; }
constexpr Row read(const char* name, int bytes, Convert convert = Convert::Plain) {
  return custom(name, Format::Lds, ds_read, {{convert >= Convert::LowU8 ? Role::Dst : Role::Dst, type_of_bytes(bytes)}, kAddress}, kLgkmcnt, form(bytes, convert));
}
constexpr Row read2(const char* name, int bytes, bool st64 = false) {
  return custom(name, Format::Lds, ds_read, {{Role::Dst, type_of_bytes(2 * bytes)}, kAddress}, kLgkmcnt, form(bytes) | unit(bytes, st64));
}
constexpr Row write(const char* name, int bytes, Convert convert = Convert::Plain) {
  return custom(name, Format::Lds, ds_write, {kAddress, {Role::Src, type_of_bytes(bytes)}}, kLgkmcnt, form(bytes, convert));
}
constexpr Row write2(const char* name, int bytes, bool st64 = false) {
  return custom(name, Format::Lds, ds_write, {kAddress, {Role::Src, type_of_bytes(bytes)}, {Role::Src, type_of_bytes(bytes)}}, kLgkmcnt,
                form(bytes) | unit(bytes, st64));
}
constexpr Row transposed(const char* name, int bytes, uint64_t bits) {
  return custom(name, Format::Lds, ds_read_tr, {{Role::Dst, type_of_bytes(bytes)}, kAddress}, kLgkmcnt, form(bytes) | bits << 32);
}
constexpr Slot kValue{Role::Src, Type::U32}, kResult{Role::Dst, Type::U32};

constexpr Row kRows[] = {
    read("ds_read_b32", 4), read("ds_read_b64", 8), read("ds_read_b96", 12), read("ds_read_b128", 16), read("ds_read_u8", 1, Convert::U8),
    read("ds_read_i8", 1, Convert::I8), read("ds_read_u16", 2, Convert::U16), read("ds_read_i16", 2, Convert::I16),
    read("ds_read_u8_d16", 1, Convert::LowU8), read("ds_read_i8_d16", 1, Convert::LowI8), read("ds_read_u16_d16", 2, Convert::Low16),
    read("ds_read_u8_d16_hi", 1, Convert::HighU8), read("ds_read_i8_d16_hi", 1, Convert::HighI8), read("ds_read_u16_d16_hi", 2, Convert::High16),
    read2("ds_read2_b32", 4), read2("ds_read2_b64", 8), read2("ds_read2st64_b32", 4, true), read2("ds_read2st64_b64", 8, true),
    write("ds_write_b8", 1), write("ds_write_b16", 2), write("ds_write_b32", 4), write("ds_write_b64", 8), write("ds_write_b96", 12),
    write("ds_write_b128", 16), write("ds_write_b8_d16_hi", 1, Convert::HighU8), write("ds_write_b16_d16_hi", 2, Convert::High16),
    write2("ds_write2_b32", 4), write2("ds_write2_b64", 8), write2("ds_write2st64_b32", 4, true), write2("ds_write2st64_b64", 8, true),
    transposed("ds_read_b64_tr_b8", 8, 8), transposed("ds_read_b64_tr_b16", 8, 16), transposed("ds_read_b64_tr_b4", 8, 4),
    transposed("ds_read_b96_tr_b6", 12, 6),
    custom("ds_bpermute_b32", Format::Lds, ds_bpermute_b32, {kResult, kAddress, kValue}, kLgkmcnt),
    custom("ds_permute_b32", Format::Lds, ds_permute_b32, {kResult, kAddress, kValue}, kLgkmcnt),
    custom("ds_swizzle_b32", Format::Lds, ds_swizzle_b32, {kResult, kValue}, kLgkmcnt),
    custom("ds_append", Format::Lds, ds_count<1>, {kResult}, kLgkmcnt | kReadsM0), custom("ds_consume", Format::Lds, ds_count<-1>, {kResult}, kLgkmcnt | kReadsM0),
    custom("ds_read_addtid_b32", Format::Lds, ds_read_addtid, {kResult}, kLgkmcnt | kReadsM0, form(4)),
    custom("ds_write_addtid_b32", Format::Lds, ds_write_addtid, {kValue}, kLgkmcnt | kReadsM0, form(4)),
    custom("ds_nop", Format::Lds, ds_nop, {}),
};

}  // namespace

Rows lds_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
