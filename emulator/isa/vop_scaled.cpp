// gfx950's scaled conversions, v_cvt_scalef32_*. Values and roundings are numerics/convert.h's; here are the packings.
// op_sel as clang-22's builtins emit it: bits 0 and 1 select the source's byte (or word), bits 2 and 3 the destination's byte; where the
// destination is a half, the list's last entry selects it. Sources travel as raw registers, so that no other rule for op_sel applies.
// The two-source FP6 and BF6 forms interleave: code 2i comes from source 0, code 2i+1 from source 1.
// Packed stochastic forms: the first element takes the random word, each next one v_prng_b32 of the last (CDNA4 ISA, their pseudo code).
#include <string>

#include "isa/families.h"
#include "isa/scalars.h"
#include "numerics/convert.h"
#include "numerics/transcendental.h"

namespace gfx950::isa {
namespace {

namespace num = numerics;
using num::Format;
using Ctx = const LaneContext&;
using u16 = uint16_t;
using u32 = uint32_t;

inline int source_byte(Ctx c) { return c.inst->mod.op_sel & 3; }
inline u32 source_word(Ctx c, u32 a) { return a >> (16 * (c.inst->mod.op_sel & 1)); }
inline u32 put_half(u32 old, bool high, u32 value) { return high ? (old & 0xffff) | value << 16 : (old & 0xffff0000u) | (value & 0xffff); }
inline u32 put_byte(Ctx c, u32 old, u32 value) {
  const int at = 8 * (c.inst->mod.op_sel >> 2 & 3);
  return (old & ~(0xffu << at)) | (value & 0xff) << at;
}
inline float half(u32 x) { return num::f16_to_f32(static_cast<u16>(x)); }
inline float brain(u32 x) { return num::bf16_to_f32(static_cast<u16>(x)); }

// From 8 bits.
template <Format f> float to_f32(Ctx c, u32 a, float s) { return num::cvt_scalef32_f32(f, a >> (8 * source_byte(c)) & 0xff, s); }
template <Format f> u32 to_f16(Ctx c, u32 a, float s, u32 old) {
  return put_half(old, c.inst->mod.op_sel & 12, num::cvt_scalef32_f16(f, a >> (8 * source_byte(c)) & 0xff, s, c.saturate));
}
template <Format f> PkF32 to_pk_f32(Ctx c, u32 a, float s) {
  const u32 w = source_word(c, a);
  return {num::cvt_scalef32_f32(f, w & 0xff, s), num::cvt_scalef32_f32(f, w >> 8 & 0xff, s)};
}
template <Format f> u32 to_pk_f16(Ctx c, u32 a, float s) {
  const u32 w = source_word(c, a);
  return num::pack16(num::cvt_scalef32_f16(f, w & 0xff, s, c.saturate), num::cvt_scalef32_f16(f, w >> 8 & 0xff, s, c.saturate));
}
template <Format f> u32 to_pk_bf16(Ctx c, u32 a, float s) {
  const u32 w = source_word(c, a);
  return num::pack16(num::cvt_scalef32_bf16(f, w & 0xff, s), num::cvt_scalef32_bf16(f, w >> 8 & 0xff, s));
}
// From 4 bits: a byte holds two.
PkF32 fp4_to_pk_f32(Ctx c, u32 a, float s) {
  const u32 b = a >> (8 * source_byte(c));
  return {num::cvt_scalef32_f32(Format::kFp4, b & 15, s), num::cvt_scalef32_f32(Format::kFp4, b >> 4 & 15, s)};
}
u32 fp4_to_pk_f16(Ctx c, u32 a, float s) {
  const u32 b = a >> (8 * source_byte(c));
  return num::pack16(num::cvt_scalef32_f16(Format::kFp4, b & 15, s, c.saturate), num::cvt_scalef32_f16(Format::kFp4, b >> 4 & 15, s, c.saturate));
}
u32 fp4_to_pk_bf16(Ctx c, u32 a, float s) {
  const u32 b = a >> (8 * source_byte(c));
  return num::pack16(num::cvt_scalef32_bf16(Format::kFp4, b & 15, s), num::cvt_scalef32_bf16(Format::kFp4, b >> 4 & 15, s));
}

// To 8 bits, two at a time into a half.
template <Format f> u32 pair8(Ctx c, u32 old, float x, float y, float s) {
  return put_half(old, c.inst->mod.op_sel & 12, num::cvt_scalef32_to(f, x, s, c.saturate) | num::cvt_scalef32_to(f, y, s, c.saturate) << 8);
}
template <Format f> u32 from_pk_f32(Ctx c, float x, float y, float s, u32 old) { return pair8<f>(c, old, x, y, s); }
template <Format f> u32 from_pk_f16(Ctx c, u32 a, float s, u32 old) { return pair8<f>(c, old, half(a), half(a >> 16), s); }
template <Format f> u32 from_pk_bf16(Ctx c, u32 a, float s, u32 old) { return pair8<f>(c, old, brain(a), brain(a >> 16), s); }
// To 4 bits, two into a byte.
u32 pair4(Ctx c, u32 old, float x, float y, float s) {
  return put_byte(c, old, num::cvt_scalef32_to(Format::kFp4, x, s) | num::cvt_scalef32_to(Format::kFp4, y, s) << 4);
}
u32 fp4_from_pk_f32(Ctx c, float x, float y, float s, u32 old) { return pair4(c, old, x, y, s); }
u32 fp4_from_pk_f16(Ctx c, u32 a, float s, u32 old) { return pair4(c, old, half(a), half(a >> 16), s); }
u32 fp4_from_pk_bf16(Ctx c, u32 a, float s, u32 old) { return pair4(c, old, brain(a), brain(a >> 16), s); }

// Stochastic.
template <Format f> u32 sr_f32(Ctx c, float x, u32 r, float s, u32 old) { return put_byte(c, old, num::cvt_scalef32_sr_to(f, x, r, s, c.saturate)); }
template <Format f> u32 sr_f16(Ctx c, u32 a, u32 r, float s, u32 old) { return put_byte(c, old, num::cvt_scalef32_sr_to(f, half(a), r, s, c.saturate)); }
template <Format f> u32 sr_bf16(Ctx c, u32 a, u32 r, float s, u32 old) { return put_byte(c, old, num::cvt_scalef32_sr_to(f, brain(a), r, s, c.saturate)); }
u32 sr_pair4(Ctx c, u32 old, float x, float y, u32 r, float s) {
  return put_byte(c, old, num::cvt_scalef32_sr_to(Format::kFp4, x, r, s) | num::cvt_scalef32_sr_to(Format::kFp4, y, num::prng_b32(r), s) << 4);
}
u32 sr_pk_fp4_f32(Ctx c, PkU32 a, u32 r, float s, u32 old) { return sr_pair4(c, old, std::bit_cast<float>(a.lo), std::bit_cast<float>(a.hi), r, s); }
u32 sr_pk_fp4_f16(Ctx c, u32 a, u32 r, float s, u32 old) { return sr_pair4(c, old, half(a), half(a >> 16), r, s); }
u32 sr_pk_fp4_bf16(Ctx c, u32 a, u32 r, float s, u32 old) { return sr_pair4(c, old, brain(a), brain(a >> 16), r, s); }

// 32 values of 6 bits in 6 registers.
enum Wide : uint64_t { kF32 = 0, kF16 = 1, kBf16 = 2 };
Format wide_format(const Row& row) { return row.parameter & 1 ? Format::kBf6 : Format::kFp6; }
Wide wide_other(const Row& row) { return static_cast<Wide>(row.parameter >> 1 & 3); }

float wide_source(const Wave& w, const Operand& o, Wide type, int index, int lane) {
  if (type == kF32) return std::bit_cast<float>(w.v[o.index + index][lane]);
  const u32 x = w.v[o.index + index / 2][lane] >> (16 * (index & 1));
  return type == kF16 ? half(x) : brain(x);
}
void widen32(Wave& w, const Instruction& i) {
  const Format f = wide_format(*i.row);
  const Wide to = wide_other(*i.row);
  LaneRows scale;
  RowBuffer temp[2];
  fetch_source(w, i, 1, scale, temp);
  for (int l = 0; l < 64; ++l) {
    if (!active(w.exec(), l)) continue;
    u32 in[7] = {}, out[32] = {};
    for (int k = 0; k < 6; ++k) in[k] = w.v[i.src[0].index + k][l];
    const float s = std::bit_cast<float>(scale.word[0][l]);
    for (int n = 0; n < 32; ++n) {
      const u32 code = num::packed_element(in, 6, n);
      if (to == kF32) out[n] = std::bit_cast<u32>(num::cvt_scalef32_f32(f, code, s));
      else out[n / 2] |= static_cast<u32>(to == kF16 ? num::cvt_scalef32_f16(f, code, s) : num::cvt_scalef32_bf16(f, code, s)) << (16 * (n & 1));
    }
    for (int k = 0; k < i.dst.words; ++k) w.v[i.dst.index + k][l] = out[k];
  }
}
template <bool stochastic, bool two> void narrow32(Wave& w, const Instruction& i) {
  const Format f = wide_format(*i.row);
  const Wide from = wide_other(*i.row);
  LaneRows random, scale;
  RowBuffer temp[2][2];
  if (stochastic) fetch_source(w, i, 1, random, temp[0]);
  fetch_source(w, i, i.sources - 1, scale, temp[1]);
  for (int l = 0; l < 64; ++l) {
    if (!active(w.exec(), l)) continue;
    u32 out[7] = {};
    const float s = std::bit_cast<float>(scale.word[0][l]);
    u32 seed = stochastic ? random.word[0][l] : 0;
    for (int n = 0; n < 32; ++n) {
      const float x = two ? wide_source(w, i.src[n & 1], from, n / 2, l) : wide_source(w, i.src[0], from, n, l);
      num::set_packed_element(out, 6, n, stochastic ? num::cvt_scalef32_sr_to(f, x, seed, s) : num::cvt_scalef32_to(f, x, s));
      seed = num::prng_b32(seed);
    }
    for (int k = 0; k < 6; ++k) w.v[i.dst.index + k][l] = out[k];
  }
}

#define EIGHT(fmt, F)                                                                                                          \
  vop<&to_f32<F>>("v_cvt_scalef32_f32_" fmt, kOpSelBytes), vop<&to_f16<F>>("v_cvt_scalef32_f16_" fmt, kOpSelBytes, true),      \
      vop<&to_pk_f32<F>>("v_cvt_scalef32_pk_f32_" fmt, kOpSelBytes), vop<&to_pk_f16<F>>("v_cvt_scalef32_pk_f16_" fmt, kOpSelBytes), \
      vop<&to_pk_bf16<F>>("v_cvt_scalef32_pk_bf16_" fmt, kOpSelBytes), vop<&from_pk_f32<F>>("v_cvt_scalef32_pk_" fmt "_f32", kOpSelBytes, true), \
      vop<&from_pk_f16<F>>("v_cvt_scalef32_pk_" fmt "_f16", kOpSelBytes, true), vop<&from_pk_bf16<F>>("v_cvt_scalef32_pk_" fmt "_bf16", kOpSelBytes, true), \
      vop<&sr_f32<F>>("v_cvt_scalef32_sr_" fmt "_f32", kOpSelBytes, true), vop<&sr_f16<F>>("v_cvt_scalef32_sr_" fmt "_f16", kOpSelBytes, true), \
      vop<&sr_bf16<F>>("v_cvt_scalef32_sr_" fmt "_bf16", kOpSelBytes, true)

constexpr Slot kDst{Role::Dst, Type::None}, kAny{Role::Src, Type::None}, kF32Slot{Role::Src, Type::F32}, kU32Slot{Role::Src, Type::U32};
constexpr Slot kSix{Role::Dst, Type::B192};
constexpr Row widen(const char* name, uint64_t bf6, Wide to) { return custom(name, gfx950::Format::Vector, widen32, {kDst, {Role::Src, Type::B192}, kF32Slot}, 0, bf6 | to << 1); }
constexpr Row narrow(const char* name, uint64_t bf6, Wide from) { return custom(name, gfx950::Format::Vector, narrow32<false, false>, {kSix, kAny, kF32Slot}, 0, bf6 | from << 1); }
constexpr Row narrow_two(const char* name, uint64_t bf6) { return custom(name, gfx950::Format::Vector, narrow32<false, true>, {kSix, kAny, kAny, kF32Slot}, 0, bf6); }
constexpr Row narrow_sr(const char* name, uint64_t bf6, Wide from) {
  return custom(name, gfx950::Format::Vector, narrow32<true, false>, {kSix, kAny, kU32Slot, kF32Slot}, 0, bf6 | from << 1);
}
#define SIX(fmt, bf6)                                                                                                              \
  widen("v_cvt_scalef32_pk32_f32_" fmt, bf6, kF32), widen("v_cvt_scalef32_pk32_f16_" fmt, bf6, kF16), widen("v_cvt_scalef32_pk32_bf16_" fmt, bf6, kBf16), \
      narrow("v_cvt_scalef32_pk32_" fmt "_f16", bf6, kF16), narrow("v_cvt_scalef32_pk32_" fmt "_bf16", bf6, kBf16), narrow_two("v_cvt_scalef32_2xpk16_" fmt "_f32", bf6), \
      narrow_sr("v_cvt_scalef32_sr_pk32_" fmt "_f32", bf6, kF32), narrow_sr("v_cvt_scalef32_sr_pk32_" fmt "_f16", bf6, kF16), \
      narrow_sr("v_cvt_scalef32_sr_pk32_" fmt "_bf16", bf6, kBf16)

constexpr Row kRows[] = {
    EIGHT("fp8", Format::kFp8), EIGHT("bf8", Format::kBf8), SIX("fp6", 0), SIX("bf6", 1),
    vop<&fp4_to_pk_f32>("v_cvt_scalef32_pk_f32_fp4", kOpSelBytes), vop<&fp4_to_pk_f16>("v_cvt_scalef32_pk_f16_fp4", kOpSelBytes),
    vop<&fp4_to_pk_bf16>("v_cvt_scalef32_pk_bf16_fp4", kOpSelBytes), vop<&fp4_from_pk_f32>("v_cvt_scalef32_pk_fp4_f32", kOpSelBytes, true),
    vop<&fp4_from_pk_f16>("v_cvt_scalef32_pk_fp4_f16", kOpSelBytes, true), vop<&fp4_from_pk_bf16>("v_cvt_scalef32_pk_fp4_bf16", kOpSelBytes, true),
    vop<&sr_pk_fp4_f32>("v_cvt_scalef32_sr_pk_fp4_f32", kOpSelBytes, true), vop<&sr_pk_fp4_f16>("v_cvt_scalef32_sr_pk_fp4_f16", kOpSelBytes, true),
    vop<&sr_pk_fp4_bf16>("v_cvt_scalef32_sr_pk_fp4_bf16", kOpSelBytes, true),
};

}  // namespace

Rows scaled_convert_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
