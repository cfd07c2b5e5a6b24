// The handlers of vector ALU instructions: sources with their modifiers, the lanes' loop, result modifiers, EXEC and write-back.
#include "isa/lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "numerics/formats.h"

namespace gfx950::isa {

void write_row(uint32_t* to, const uint32_t* from, uint64_t exec) {
#if defined(__AVX512F__)
  for (int g = 0; g < 4; ++g)
    _mm512_mask_storeu_epi32(to + 16 * g, static_cast<__mmask16>(exec >> (16 * g)), _mm512_loadu_si512(from + 16 * g));
#else
  for (int l = 0; l < 64; ++l) to[l] = exec >> l & 1 ? from[l] : to[l];
#endif
}

uint64_t pack_mask(const uint32_t* row) {
  uint64_t mask = 0;
#if defined(__AVX512F__)
  for (int g = 0; g < 4; ++g) {
    const __m512i x = _mm512_loadu_si512(row + 16 * g);
    mask |= static_cast<uint64_t>(_mm512_test_epi32_mask(x, x)) << (16 * g);
  }
#elif defined(__AVX2__)
  for (int g = 0; g < 8; ++g) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 8 * g));
    const __m256i zero = _mm256_cmpeq_epi32(x, _mm256_setzero_si256());
    mask |= static_cast<uint64_t>(static_cast<uint8_t>(~_mm256_movemask_ps(_mm256_castsi256_ps(zero)))) << (8 * g);
  }
#else
  for (int l = 0; l < 64; ++l) mask |= static_cast<uint64_t>(row[l] != 0) << l;
#endif
  return mask;
}

void expand_mask(uint32_t* row, uint64_t mask) {
  for (int l = 0; l < 32; ++l) row[l] = static_cast<uint32_t>(mask) >> l & 1;
  const uint32_t high = static_cast<uint32_t>(mask >> 32);
  for (int l = 0; l < 32; ++l) row[32 + l] = high >> l & 1;
}

uint32_t read_scalar32(const Wave& w, const Operand& o) {
  if (o.kind == Operand::Scalar) return w.s[o.index];
  if (o.kind == Operand::Scc) return w.scc;
  return static_cast<uint32_t>(o.value);
}
uint64_t read_scalar64(const Wave& w, const Operand& o) {
  if (o.kind == Operand::Scalar) return o.words == 1 ? w.s[o.index] : w.pair(o.index);
  if (o.kind == Operand::Scc) return w.scc;
  return o.value;
}

namespace {

// Where lane l of a DPP source comes from; -1 outside (bound_ctrl decides), -2: the row is disabled for writing.
int dpp_lane(const Modifiers& m, int l) {
  const int row = l & ~15, in = l & 15, n = m.dpp_value;
  switch (m.dpp_kind) {
    case DppKind::QuadPerm: return (l & ~3) | (n >> (2 * (l & 3)) & 3);
    case DppKind::RowShl: return in + n < 16 ? row + in + n : -1;
    case DppKind::RowShr: return in - n >= 0 ? row + in - n : -1;
    case DppKind::RowRor: return row + ((in - n) & 15);
    case DppKind::WaveShl1: return l + 1 < 64 ? l + 1 : -1;
    case DppKind::WaveRol1: return (l + 1) & 63;
    case DppKind::WaveShr1: return l - 1;
    case DppKind::WaveRor1: return (l - 1) & 63;
    case DppKind::RowMirror: return row + 15 - in;
    case DppKind::RowHalfMirror: return (l & ~7) | (7 - (l & 7));
    case DppKind::RowBcast15: return row == 0 ? -1 : row - 1;
    case DppKind::RowBcast31: return l < 32 ? -1 : 31;
    case DppKind::RowNewBcast: return row + n;
  }
  return -1;
}

// The lanes that a DPP instruction writes, and its permuted source. The pattern depends on EXEC: an inactive source lane gives
// 0 with bound_ctrl (or fi: its value), else the lane is not written.
uint64_t dpp_source(const Wave& w, const Instruction& i, LaneRows& rows, RowBuffer* temp, int words) {
  const Modifiers& m = i.mod;
  const uint64_t exec = w.exec();
  uint64_t written = 0;
  for (int k = 0; k < words; ++k) {
    RowBuffer out;
    for (int l = 0; l < 64; ++l) {
      const int from = dpp_lane(m, l);
      const bool enabled = (m.row_mask >> (l / 16) & 1) && (m.bank_mask >> (l % 16 / 4) & 1);
      const bool readable = from >= 0 && (active(exec, from) || m.fetch_inactive);
      out.lane[l] = readable ? rows.word[k][from] : 0;
      if (k == 0 && enabled && (readable || m.bound_ctrl)) written |= uint64_t{1} << l;
    }
    temp[k] = out;
    rows.word[k] = temp[k].lane;
  }
  return written;
}

void flush(RowBuffer& row, Type type) {
  if (type == Type::F32)
    for (uint32_t& x : row.lane) x = (x & 0x7f800000u) == 0 ? x & 0x80000000u : x;
  if (type == Type::F16)
    for (uint32_t& x : row.lane) x = (x & 0x7c00u) == 0 ? x & 0xffff8000u : x;
  if (type == Type::PkF16)
    for (uint32_t& x : row.lane) {
      if ((x & 0x7c00u) == 0) x &= 0xffff8000u;
      if ((x & 0x7c000000u) == 0) x &= 0x8000ffffu;
    }
}

bool flushes(const Wave& w, const Instruction& i, Type type) {
  if (i.row->flags & (kRawFloat | kNoFlush)) return false;
  if (type == Type::F32 || type == Type::PkF32) return (w.mode & kModeDenorm32) == 0;
  if (type == Type::F16 || type == Type::PkF16 || type == Type::F64) return (w.mode & kModeDenorm64) == 0;
  return false;
}

uint32_t negative_bit(Type type) { return type == Type::F16 || type == Type::BF16 ? 0x8000u : 0x80000000u; }

void select_sdwa(RowBuffer& row, SdwaSel sel, bool sign_extend) {
  const int shift = sel <= SdwaSel::Byte3 ? 8 * static_cast<int>(sel) : sel == SdwaSel::Word1 ? 16 : 0;
  const int bits = sel <= SdwaSel::Byte3 ? 8 : sel == SdwaSel::Dword ? 32 : 16;
  for (uint32_t& x : row.lane) {
    uint32_t part = x >> shift;
    if (bits < 32) {
      part &= (1u << bits) - 1;
      if (sign_extend && part >> (bits - 1)) part |= ~0u << bits;
    }
    x = part;
  }
}

void modify_source(const Wave& w, const Instruction& i, int n, LaneRows& rows, RowBuffer* temp) {
  const Operand& o = i.src[n];
  const Modifiers& m = i.mod;
  const int words = o.words > 2 ? 2 : o.words;
  auto own = [&](int k) -> RowBuffer& {  // the word in temp, to be changed
    if (rows.word[k] != temp[k].lane) {
      std::memcpy(temp[k].lane, rows.word[k], sizeof temp[k].lane);
      rows.word[k] = temp[k].lane;
    }
    return temp[k];
  };
  const bool sel = m.op_sel >> n & 1, sel_hi = m.op_sel_hi >> n & 1;
  if (m.sdwa && n < 2 && (m.src_sel[n] != SdwaSel::Dword)) select_sdwa(own(0), m.src_sel[n], o.sext);
  if (i.row->flags & kMix) {
    RowBuffer& x = own(0);
    if (sel_hi)
      for (uint32_t& lane : x.lane) lane = std::bit_cast<uint32_t>(numerics::f16_to_f32(static_cast<uint16_t>(sel ? lane >> 16 : lane)));
    if (m.neg_hi >> n & 1)
      for (uint32_t& lane : x.lane) lane &= 0x7fffffffu;
    if (m.neg_lo >> n & 1)
      for (uint32_t& lane : x.lane) lane ^= 0x80000000u;
    if (o.abs) for (uint32_t& lane : x.lane) lane &= 0x7fffffffu;
    if (o.neg) for (uint32_t& lane : x.lane) lane ^= 0x80000000u;
    return;
  }
  switch (o.type) {
    case Type::PkF16: case Type::PkBF16: case Type::PkU16: case Type::PkI16: {
      if (!sel && sel_hi && !(m.neg_lo >> n & 1) && !(m.neg_hi >> n & 1)) break;
      const uint32_t flip = (m.neg_lo >> n & 1 ? 0x8000u : 0) | (m.neg_hi >> n & 1 ? 0x80000000u : 0);
      for (uint32_t& x : own(0).lane) x = ((sel ? x >> 16 : x & 0xffff) | (sel_hi ? x & 0xffff0000u : x << 16)) ^ flip;
      break;
    }
    case Type::PkF32: {
      const uint32_t* low = rows.word[sel ? 1 : 0];
      const uint32_t* high = rows.word[sel_hi ? 1 : 0];
      RowBuffer a, b;
      for (int l = 0; l < 64; ++l) {
        a.lane[l] = low[l] ^ (m.neg_lo >> n & 1 ? 0x80000000u : 0);
        b.lane[l] = high[l] ^ (m.neg_hi >> n & 1 ? 0x80000000u : 0);
      }
      temp[0] = a;
      temp[1] = b;
      rows.word[0] = temp[0].lane;
      rows.word[1] = temp[1].lane;
      break;
    }
    case Type::F16: case Type::BF16: case Type::U16: case Type::I16:
      if (sel && !(i.row->flags & kOpSelBytes))
        for (uint32_t& x : own(0).lane) x >>= 16;
      [[fallthrough]];
    default: {
      const bool packed_neg = (m.neg_lo >> n & 1) && o.type == Type::F32 && !(i.row->flags & kPlainAddend);  // the scalar addend of a dot product
      if (o.abs || o.neg || packed_neg) {
        RowBuffer& x = own(words - 1);
        const uint32_t bit = negative_bit(o.type);
        if (o.abs) for (uint32_t& lane : x.lane) lane &= ~bit;
        if (o.neg != packed_neg) for (uint32_t& lane : x.lane) lane ^= bit;
      }
    }
  }
}

template <class T> T clamp01(T x, bool dx10) {
  if (x != x) return dx10 ? T(0) : x;
  return x < T(0) ? T(0) : x > T(1) ? T(1) : x == T(0) ? T(0) : x;
}
// Output modifiers are ignored with MODE.IEEE or where the result's denormals are kept; where they work, -0 becomes +0 (CDNA4 ISA 6.2.2).
int output_modifier(const Wave& w, const Instruction& i) {
  const uint32_t keeps = i.dst.type == Type::F32 ? kModeDenorm32 : kModeDenorm64;
  return (w.mode & (kModeIeee | keeps)) == 0 ? i.mod.omod : 0;
}
float scaled(float x, int omod) {
  if (omod && x == 0) return 0;
  return omod == 1 ? x * 2 : omod == 2 ? x * 4 : omod == 3 ? x * 0.5f : x;
}

uint32_t modify_f16(uint32_t bits, bool clamp, int omod, bool dx10) {
  float x = numerics::f16_to_f32(static_cast<uint16_t>(bits));
  x = scaled(x, omod);
  if (clamp) x = clamp01(x, dx10);
  return numerics::f32_to_f16(x);
}

void modify_result(const Wave& w, const Instruction& i, RowBuffer* out) {
  const Modifiers& m = i.mod;
  const bool dx10 = w.mode & kModeDx10Clamp;
  const int omod = m.omod ? output_modifier(w, i) : 0;
  if (omod || m.clamp) {
    switch (i.dst.type) {
      case Type::F32: case Type::PkF32:
        for (int k = 0; k < i.dst.words; ++k)
          for (uint32_t& x : out[k].lane) {
            float f = scaled(std::bit_cast<float>(x), omod);
            if (m.clamp) f = clamp01(f, dx10);
            x = std::bit_cast<uint32_t>(f);
          }
        break;
      case Type::F64:
        for (int l = 0; l < 64; ++l) {
          double d = std::bit_cast<double>(out[0].lane[l] | static_cast<uint64_t>(out[1].lane[l]) << 32);
          d = !omod ? d : d == 0 ? 0 : omod == 1 ? d * 2 : omod == 2 ? d * 4 : d * 0.5;
          if (m.clamp) d = clamp01(d, dx10);
          const auto bits = std::bit_cast<uint64_t>(d);
          out[0].lane[l] = static_cast<uint32_t>(bits);
          out[1].lane[l] = static_cast<uint32_t>(bits >> 32);
        }
        break;
      case Type::F16:
        for (uint32_t& x : out[0].lane) x = modify_f16(x, m.clamp, omod, dx10);
        break;
      case Type::PkF16:
        for (uint32_t& x : out[0].lane) x = modify_f16(x & 0xffff, m.clamp, 0, dx10) | modify_f16(x >> 16, m.clamp, 0, dx10) << 16;
        break;
      default: break;  // integers: the function saturates (kIntClamp)
    }
  }
  if (flushes(w, i, i.dst.type)) {
    if (i.dst.type == Type::F64) {
      for (int l = 0; l < 64; ++l)
        if ((out[1].lane[l] & 0x7ff00000u) == 0) out[0].lane[l] = 0, out[1].lane[l] &= 0x80000000u;
    } else {
      for (int k = 0; k < i.dst.words; ++k) flush(out[k], i.dst.type == Type::PkF32 ? Type::F32 : i.dst.type);
    }
  }
}

bool half_result(Type type) { return type == Type::F16 || type == Type::BF16 || type == Type::U16 || type == Type::I16; }

// Puts the result into the part of the register that SDWA or op_sel names.
void place_result(const Instruction& i, uint32_t* row, const uint32_t* old) {
  const Modifiers& m = i.mod;
  if (m.sdwa) {
    const SdwaSel sel = m.dst_sel;
    if (sel == SdwaSel::Dword) return;
    const int shift = sel <= SdwaSel::Byte3 ? 8 * static_cast<int>(sel) : sel == SdwaSel::Word1 ? 16 : 0;
    const int bits = sel <= SdwaSel::Byte3 ? 8 : 16;
    const uint32_t mask = ((1u << bits) - 1) << shift;
    for (int l = 0; l < 64; ++l) {
      const uint32_t part = row[l] << shift & mask;
      uint32_t around = 0;
      if (m.dst_unused == SdwaUnused::Preserve) around = old[l] & ~mask;
      if (m.dst_unused == SdwaUnused::Sext && (row[l] >> (bits - 1) & 1) && shift + bits < 32) around = ~0u << (shift + bits);
      row[l] = part | around;
    }
    return;
  }
  if (!half_result(i.dst.type)) return;
  const bool high = i.row->flags & kMix ? i.row->parameter != 0 : (m.op_sel & 8) != 0;
  if (!high && !(i.row->flags & kPreserveHalf)) return;
  for (int l = 0; l < 64; ++l) row[l] = high ? (row[l] << 16) | (old[l] & 0xffff) : (row[l] & 0xffff) | (old[l] & 0xffff0000u);
}

const Instruction& relative(Wave& w, const Instruction& i, Instruction& copy) {
  copy = i;
  const uint32_t index = w.s[kM0] & 0xff;
  for (int n = 0; n < 3 && n < i.sources; ++n)
    if ((w.gpr_index_mode >> n & 1) && copy.src[n].kind == Operand::Vector) copy.src[n].index = static_cast<uint16_t>(copy.src[n].index + index);
  if ((w.gpr_index_mode & 8) && copy.dst.kind == Operand::Vector) copy.dst.index = static_cast<uint16_t>(copy.dst.index + index);
  for (const Operand* o : {&copy.src[0], &copy.src[1], &copy.src[2], &copy.dst})
    if (o->kind == Operand::Vector && o->index + o->words > kVectorRows) fault(w, ErrorCode::IllegalAddress, "relative register index past the file");
  return copy;
}

void gather_sources(Wave& w, const Instruction& i, LaneRows* rows, RowBuffer (*temp)[2], uint64_t& written) {
  for (int n = 0; n < i.sources; ++n) {
    fetch_source(w, i, n, rows[n], temp[n]);
    if (i.plain && !w.special_mode) continue;
    if (i.mod.dpp && n == 0) written = dpp_source(w, i, rows[n], temp[n], i.src[n].words);
    modify_source(w, i, n, rows[n], temp[n]);
    if (flushes(w, i, i.src[n].type)) {
      for (int k = 0; k < i.src[n].words; ++k) {
        if (rows[n].word[k] != temp[n][k].lane) std::memcpy(temp[n][k].lane, rows[n].word[k], 256);
        rows[n].word[k] = temp[n][k].lane;
        if (i.src[n].type != Type::F64) flush(temp[n][k], i.src[n].type == Type::PkF32 ? Type::F32 : i.src[n].type);
      }
      if (i.src[n].type == Type::F64)
        for (int l = 0; l < 64; ++l)
          if ((temp[n][1].lane[l] & 0x7ff00000u) == 0) temp[n][0].lane[l] = 0, temp[n][1].lane[l] &= 0x80000000u;
    }
  }
}

LaneContext context_of(const Wave& w, const Instruction& i) { return {(w.mode & kModeIeee) != 0, (w.mode & kModeFp16Ovfl) != 0, &i}; }

}  // namespace

void fetch_source(Wave& w, const Instruction& i, int n, LaneRows& rows, RowBuffer* temp) {
  const Operand& o = i.src[n];
  if (o.type == Type::Mask) {
    expand_mask(temp[0].lane, read_scalar64(w, o));
    rows.word[0] = temp[0].lane;
    return;
  }
  switch (o.kind) {
    case Operand::Vector:
      rows.word[0] = w.v[o.index];
      rows.word[1] = o.words > 1 ? w.v[o.index + 1] : nullptr;
      return;
    case Operand::Constant:
      rows.word[0] = o.rows[0];
      rows.word[1] = o.rows[1];
      return;
    case Operand::Scalar: case Operand::Scc:
      for (int k = 0; k < (o.words > 1 ? 2 : 1); ++k) {
        const uint32_t value = o.kind == Operand::Scc ? (k ? 0u : w.scc) : w.s[o.index + k];
        for (int l = 0; l < 64; ++l) temp[k].lane[l] = value;
        rows.word[k] = temp[k].lane;
      }
      return;
    default: fault(w, ErrorCode::UnknownInstruction, "an operand that a vector instruction cannot read");
  }
}

namespace {
void run_lanes(Wave& w, const Instruction& given, bool with_vcc) {
  const uint64_t exec = w.exec();
  LaneRows rows[5];
  RowBuffer temp[5][2];
  Instruction copy;
  const Instruction& i = w.special_mode && w.gpr_index_mode ? relative(w, given, copy) : given;
  uint64_t written = ~uint64_t{0};
  gather_sources(w, i, rows, temp, written);
  if (with_vcc) {
    expand_mask(temp[i.sources][0].lane, w.vcc());
    rows[i.sources].word[0] = temp[i.sources][0].lane;
  }
  const LaneContext context = context_of(w, i);
  RowBuffer out[3];
  const bool simple = i.plain && !w.special_mode;
  const bool whole = i.dst.type == Type::None || !half_result(i.dst.type) || !(i.row->flags & kPreserveHalf);
  if (simple && whole && exec == ~uint64_t{0} && i.dst2.kind == Operand::None) {
    uint32_t* direct[3] = {w.v[i.dst.index], i.dst.words > 1 ? w.v[i.dst.index + 1] : out[1].lane, out[2].lane};
    i.row->lanes(rows, direct, context);
    return;
  }
  uint32_t* pointers[3] = {out[0].lane, out[1].lane, out[2].lane};
  i.row->lanes(rows, pointers, context);
  if (!simple) modify_result(w, i, out);
  if (!simple || !whole) place_result(i, out[0].lane, w.v[i.dst.index]);
  const uint64_t mask = exec & written;
  for (int k = 0; k < i.dst.words; ++k) write_row(w.v[i.dst.index + k], out[k].lane, mask);
  if (i.dst2.kind == Operand::Scalar) w.set_pair(i.dst2.index, pack_mask(out[2].lane) & exec);
}

}  // namespace

void run_vector(Wave& w, const Instruction& i) { run_lanes(w, i, false); }
void run_vector_with_vcc(Wave& w, const Instruction& i) { run_lanes(w, i, true); }

// A comparison: the mask result goes to a scalar pair, zero for inactive lanes; v_cmpx writes EXEC too.
void run_compare(Wave& w, const Instruction& i) {
  LaneRows rows[5];
  RowBuffer temp[5][2];
  uint64_t written = ~uint64_t{0};
  gather_sources(w, i, rows, temp, written);
  RowBuffer out;
  uint32_t* pointers[3] = {nullptr, nullptr, out.lane};
  i.row->lanes(rows, pointers, context_of(w, i));
  const uint64_t mask = pack_mask(out.lane) & w.exec() & written;
  if (i.dst.kind == Operand::Scalar) w.set_pair(i.dst.index, mask);
  if (i.row->flags & kWritesExec) w.set_exec(mask);
}

}  // namespace gfx950::isa
