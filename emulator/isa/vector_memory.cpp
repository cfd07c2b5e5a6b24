#include "isa/vector_memory.h"

#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace gfx950::isa {

uint8_t* host_pointer(Wave& w, const VectorAccess& a, int lane, int part) {
  const uint64_t at = a.address[lane] + (part ? static_cast<int64_t>(a.second) : 0);
  switch (a.space) {
    case Space::Global: return reinterpret_cast<uint8_t*>(at);
    case Space::Lds: return fits(at, a.bytes, w.group->lds_size) ? w.group->lds.data() + at : nullptr;
    case Space::Scratch: return fits(at, a.bytes, w.scratch_size) ? w.scratch + static_cast<uint64_t>(lane) * w.scratch_size + at : nullptr;
  }
  return nullptr;
}

namespace {

uint32_t extend(uint32_t x, Convert convert) {
  switch (convert) {
    case Convert::I8: case Convert::LowI8: case Convert::HighI8: return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(x)));
    case Convert::I16: return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(x)));
    default: return x;
  }
}

#if defined(__SSE2__)
// 16 bytes from each of four lanes, transposed into four rows.
inline void load4x16(const uint8_t* const* p, uint32_t (*data)[64], int lane) {
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p[0])), b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p[1]));
  const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p[2])), d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p[3]));
  const __m128i ab_lo = _mm_unpacklo_epi32(a, b), ab_hi = _mm_unpackhi_epi32(a, b), cd_lo = _mm_unpacklo_epi32(c, d), cd_hi = _mm_unpackhi_epi32(c, d);
  _mm_store_si128(reinterpret_cast<__m128i*>(&data[0][lane]), _mm_unpacklo_epi64(ab_lo, cd_lo));
  _mm_store_si128(reinterpret_cast<__m128i*>(&data[1][lane]), _mm_unpackhi_epi64(ab_lo, cd_lo));
  _mm_store_si128(reinterpret_cast<__m128i*>(&data[2][lane]), _mm_unpacklo_epi64(ab_hi, cd_hi));
  _mm_store_si128(reinterpret_cast<__m128i*>(&data[3][lane]), _mm_unpackhi_epi64(ab_hi, cd_hi));
}
#endif

// Every lane at once: all active, all in range.
template <int bytes> bool fetch_fast(Wave& w, const VectorAccess& a, uint32_t (*data)[64]) {
  if (a.exec != ~uint64_t{0} || a.space == Space::Scratch) return false;
  for (int k = 0; k < bytes / 4; ++k)
    if (a.valid[k] != ~uint64_t{0}) return false;
  const uint8_t* base = nullptr;
  if (a.space == Space::Lds) {
    uint64_t highest = 0;
    for (int l = 0; l < 64; ++l) highest = a.address[l] > highest ? a.address[l] : highest;
    const uint64_t reach = highest + bytes + (a.parts > 1 && a.second > 0 ? a.second : 0);
    if (reach > w.group->lds_size || (a.parts > 1 && a.second < 0)) return false;
    base = w.group->lds.data();
  }
  for (int part = 0; part < a.parts; ++part) {
    const uint8_t* from = base + (part ? a.second : 0);
    uint32_t(*rows)[64] = data + part * (bytes / 4);
    if constexpr (bytes == 16) {
#if defined(__SSE2__)
      for (int l = 0; l < 64; l += 4) {
        const uint8_t* p[4] = {from + a.address[l], from + a.address[l + 1], from + a.address[l + 2], from + a.address[l + 3]};
        load4x16(p, rows, l);
      }
      continue;
#endif
    }
    for (int l = 0; l < 64; ++l) {
      uint32_t word[bytes / 4];
      std::memcpy(word, from + a.address[l], bytes);
      for (int k = 0; k < bytes / 4; ++k) rows[k][l] = word[k];
    }
  }
  return true;
}

void fetch(Wave& w, const VectorAccess& a, uint32_t (*data)[64]) {
  if (a.bytes == 16 && fetch_fast<16>(w, a, data)) return;
  if (a.bytes == 8 && fetch_fast<8>(w, a, data)) return;
  if (a.bytes == 4 && fetch_fast<4>(w, a, data)) return;
  const int words = a.bytes < 4 ? 1 : a.bytes / 4;
  const Convert convert = form_convert(*a.inst->row);
  for (int part = 0; part < a.parts; ++part)
    for (int l = 0; l < 64; ++l) {
      if (!active(a.exec, l)) continue;
      const bool inside = a.space == Space::Global || host_pointer(w, a, l, part) != nullptr;
      const uint8_t* p = inside ? host_pointer(w, a, l, part) : nullptr;
      for (int k = 0; k < words; ++k) {
        uint32_t x = 0;
        if (p && active(a.valid[k], l)) std::memcpy(&x, p + 4 * k, a.bytes < 4 ? a.bytes : 4);
        data[part * words + k][l] = a.bytes < 4 ? extend(x, convert) : x;
      }
    }
}

void deliver(Wave& w, const VectorAccess& a, const uint32_t (*data)[64]) {
  const Convert convert = form_convert(*a.inst->row);
  if (convert >= Convert::LowU8) {  // a half of the register, the other is kept
    const bool high = convert >= Convert::HighU8;
    uint32_t* row = w.v[a.dst];
    for (int l = 0; l < 64; ++l)
      if (active(a.exec, l)) row[l] = high ? (data[0][l] << 16) | (row[l] & 0xffff) : (data[0][l] & 0xffff) | (row[l] & 0xffff0000u);
    return;
  }
  for (int k = 0; k < a.words; ++k) write_row(w.v[a.dst + k], data[k], a.exec);
}

void deliver_lds(Wave& w, const VectorAccess& a, const uint32_t (*data)[64]) {
  uint8_t* lds = w.group->lds.data();
  const uint64_t size = w.group->lds_size;
  for (int l = 0; l < 64; ++l) {
    if (!active(a.exec, l)) continue;
    const uint64_t at = a.lds_base + static_cast<uint64_t>(l) * a.lds_stride;
    if (!fits(at, a.lds_bytes, size)) continue;
    for (int k = 0; k < a.lds_bytes / 4; ++k) std::memcpy(lds + at + 4 * k, &data[k][l], 4);
  }
}

}  // namespace

void set_load(VectorAccess& a, Space space, int bytes, Convert convert, uint16_t dst) {
  a.space = space;
  a.action = Action::Load;
  a.bytes = static_cast<uint8_t>(bytes);
  a.words = static_cast<uint8_t>((bytes < 4 ? 1 : bytes / 4) * a.parts);
  a.dst = dst;
  a.fetch = fetch;
  a.deliver = deliver;
}

void set_dma(Wave& w, VectorAccess& a, int bytes, uint32_t instruction_offset) {
  a.action = Action::Dma;
  a.deliver = deliver_lds;
  a.lds_base = w.s[kM0] + instruction_offset;
  a.lds_stride = bytes <= 4 ? 4 : 16;
  a.lds_bytes = static_cast<uint8_t>(bytes < 4 ? 4 : bytes);
}

void check_lanes(Wave& w, const VectorAccess& a, bool store) {
  if (a.space != Space::Global) return;
  const int words = a.bytes <= 4 ? 1 : a.bytes / 4;
  uint64_t any = 0, all = ~uint64_t{0};
  for (int k = 0; k < words; ++k) any |= a.valid[k], all &= a.valid[k];
  any &= a.exec;
  if (!any) return;
  uint64_t low = ~uint64_t{0}, high = 0;
  if (any == ~uint64_t{0}) {
    GFX950_LANE_LOOP {
      low = a.address[l] < low ? a.address[l] : low;
      high = a.address[l] > high ? a.address[l] : high;
    }
  } else {
    for (int l = 0; l < 64; ++l) {
      const uint64_t x = a.address[l];
      low = active(any, l) && x < low ? x : low;
      high = active(any, l) && x > high ? x : high;
    }
  }
  if ((any & ~all) == 0 && low <= high && in_range(w, low, high - low + a.bytes)) return;
  for (int l = 0; l < 64; ++l) {
    if (!active(any, l)) continue;
    if (active(all, l)) {
      if (!in_range(w, a.address[l], a.bytes)) bad_address(w, a.address[l], a.bytes, l, store);
      continue;
    }
    for (int k = 0; k < words; ++k)
      if (active(a.valid[k], l) && !in_range(w, a.address[l] + 4 * k, 4)) bad_address(w, a.address[l] + 4 * k, 4, l, store);
  }
}

void issue_load(Wave& w, const VectorAccess& a) {
  if (a.space == Space::Lds && w.group->count_conflicts) count_bank_conflicts(w, a);
  if (w.strict) return strict_load(w, a);
  if (!a.exec) return;
  check_lanes(w, a, false);
  alignas(64) uint32_t data[8][64];
  a.fetch(w, a, data);
  a.deliver(w, a, data);
}

void issue_store(Wave& w, VectorAccess& a, const uint32_t* const* data, Convert convert) {
  a.action = Action::Store;
  if (a.space == Space::Lds && w.group->count_conflicts) count_bank_conflicts(w, a);
  if (w.strict) {
    a.stored = data;
    a.stored_high = convert >= Convert::HighU8;
    const bool perform = strict_before_store(w, a);
    a.stored = nullptr;
    if (!perform) return;
  } else {
    if (!a.exec) return;
    check_lanes(w, a, true);
  }
  const int words = a.bytes < 4 ? 1 : a.bytes / 4;
  const bool high = convert >= Convert::HighU8;
  for (int part = 0; part < a.parts; ++part)
    for (int l = 0; l < 64; ++l) {
      if (!active(a.exec, l)) continue;
      uint8_t* p = host_pointer(w, a, l, part);
      if (!p) continue;
      if (a.bytes < 4) {
        const uint32_t x = high ? data[part][l] >> 16 : data[part][l];
        if (active(a.valid[0], l)) std::memcpy(p, &x, a.bytes);
        continue;
      }
      for (int k = 0; k < words; ++k)
        if (active(a.valid[k], l)) std::memcpy(p + 4 * k, &data[part * words + k][l], 4);
    }
  if (a.space == Space::Global) {
    for (int l = 0; l < 64; ++l) {
      if (!active(a.exec, l)) continue;
      int k = 0;
      while (k < words && active(a.valid[k], l)) ++k;
      if (k) mark_written(w, a.address[l], a.bytes < 4 ? a.bytes : 4 * k);
    }
  }
  if (w.strict) strict_after_store(w, a);
}

}  // namespace gfx950::isa
