// Packed arithmetic (VOP3P) and dot products. op_sel, op_sel_hi and the negations have been applied by the wrapper.
#include "isa/families.h"
#include "isa/lanes.h"
#include "numerics/valu_float.h"

namespace gfx950::isa {
namespace {

namespace num = numerics;
using Ctx = const LaneContext&;
using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;

PkF32 v_pk_add_f32(PkF32 a, PkF32 b) { return {a.lo + b.lo, a.hi + b.hi}; }
PkF32 v_pk_mul_f32(PkF32 a, PkF32 b) { return {a.lo * b.lo, a.hi * b.hi}; }
PkF32 v_pk_fma_f32(PkF32 a, PkF32 b, PkF32 c) { return {__builtin_fmaf(a.lo, b.lo, c.lo), __builtin_fmaf(a.hi, b.hi, c.hi)}; }
PkF32 v_pk_mov_b32(PkF32 a, PkF32 b) { return {a.lo, b.lo}; }  // op_sel[n] picks source n's word; op_sel_hi means nothing

inline u16 lo(u32 x) { return static_cast<u16>(x); }
inline u16 hi(u32 x) { return static_cast<u16>(x >> 16); }
template <class F> PkF16 halves(F f, PkF16 a, PkF16 b) { return {u32{f(lo(a.bits), lo(b.bits))} | u32{f(hi(a.bits), hi(b.bits))} << 16}; }
PkF16 v_pk_add_f16(Ctx c, PkF16 a, PkF16 b) { return halves([&](u16 x, u16 y) { return num::add_f16(x, y, c.saturate); }, a, b); }
PkF16 v_pk_mul_f16(Ctx c, PkF16 a, PkF16 b) { return halves([&](u16 x, u16 y) { return num::mul_f16(x, y, c.saturate); }, a, b); }
PkF16 v_pk_max_f16(Ctx c, PkF16 a, PkF16 b) { return halves([&](u16 x, u16 y) { return num::max_f16(x, y, c.ieee); }, a, b); }
PkF16 v_pk_min_f16(Ctx c, PkF16 a, PkF16 b) { return halves([&](u16 x, u16 y) { return num::min_f16(x, y, c.ieee); }, a, b); }
PkF16 v_pk_fma_f16(Ctx c, PkF16 a, PkF16 b, PkF16 d) {
  return {u32{num::fma_f16(lo(a.bits), lo(b.bits), lo(d.bits), c.saturate)} | u32{num::fma_f16(hi(a.bits), hi(b.bits), hi(d.bits), c.saturate)} << 16};
}
PkF16 v_pk_fmac_f16(Ctx c, PkF16 a, PkF16 b, PkF16 d) { return v_pk_fma_f16(c, a, b, d); }
PkF16 v_pk_minimum3_f16(PkF16 a, PkF16 b, PkF16 d) {
  return {u32{num::minimum3_f16(lo(a.bits), lo(b.bits), lo(d.bits))} | u32{num::minimum3_f16(hi(a.bits), hi(b.bits), hi(d.bits))} << 16};
}
PkF16 v_pk_maximum3_f16(PkF16 a, PkF16 b, PkF16 d) {
  return {u32{num::maximum3_f16(lo(a.bits), lo(b.bits), lo(d.bits))} | u32{num::maximum3_f16(hi(a.bits), hi(b.bits), hi(d.bits))} << 16};
}

inline u16 sat_u16(i32 x) { return static_cast<u16>(x < 0 ? 0 : x > 65535 ? 65535 : x); }
inline u16 sat_i16(i32 x) { return static_cast<u16>(static_cast<i16>(x < -32768 ? -32768 : x > 32767 ? 32767 : x)); }
template <class F> u32 unsigned_halves(F f, u32 a, u32 b) { return u32{static_cast<u16>(f(lo(a), lo(b)))} | u32{static_cast<u16>(f(hi(a), hi(b)))} << 16; }
template <class F> u32 signed_halves(F f, u32 a, u32 b) {
  return u32{static_cast<u16>(f(static_cast<i16>(lo(a)), static_cast<i16>(lo(b))))} | u32{static_cast<u16>(f(static_cast<i16>(hi(a)), static_cast<i16>(hi(b))))} << 16;
}
#define PK_U(name, expression)                                                                                             \
  PkU16 name(Ctx c, PkU16 a, PkU16 b) {                                                                                    \
    const bool clamp = c.inst->mod.clamp;                                                                                  \
    return {unsigned_halves([=](i32 x, i32 y) { const i32 r = expression; return clamp ? sat_u16(r) : static_cast<u16>(r); }, a.bits, b.bits)}; \
  }
#define PK_I(name, expression)                                                                                             \
  PkI16 name(Ctx c, PkI16 a, PkI16 b) {                                                                                    \
    const bool clamp = c.inst->mod.clamp;                                                                                  \
    return {signed_halves([=](i32 x, i32 y) { const i32 r = expression; return clamp ? sat_i16(r) : static_cast<u16>(r); }, a.bits, b.bits)}; \
  }
PK_U(v_pk_add_u16, x + y)
PK_U(v_pk_sub_u16, x - y)
PK_U(v_pk_max_u16, x > y ? x : y)
PK_U(v_pk_min_u16, x < y ? x : y)
PK_U(v_pk_mul_lo_u16, static_cast<i32>(static_cast<u32>(x) * static_cast<u32>(y) & 0xffff))
PK_U(v_pk_lshlrev_b16, (y << (x & 15)) & 0xffff)
PK_U(v_pk_lshrrev_b16, y >> (x & 15))
PK_I(v_pk_add_i16, x + y)
PK_I(v_pk_sub_i16, x - y)
PK_I(v_pk_max_i16, x > y ? x : y)
PK_I(v_pk_min_i16, x < y ? x : y)
PK_I(v_pk_ashrrev_i16, y >> (x & 15))
#undef PK_U
#undef PK_I
PkU16 v_pk_mad_u16(Ctx c, PkU16 a, PkU16 b, PkU16 d) {
  auto one = [&](u16 x, u16 y, u16 z) { const u32 r = u32{x} * y + z; return u32{c.inst->mod.clamp && r > 65535 ? u16{65535} : static_cast<u16>(r)}; };
  return {one(lo(a.bits), lo(b.bits), lo(d.bits)) | one(hi(a.bits), hi(b.bits), hi(d.bits)) << 16};
}
PkI16 v_pk_mad_i16(Ctx c, PkI16 a, PkI16 b, PkI16 d) {
  auto one = [&](u16 x, u16 y, u16 z) {
    const int64_t r = int64_t{static_cast<i16>(x)} * static_cast<i16>(y) + static_cast<i16>(z);
    return u32{c.inst->mod.clamp ? sat_i16(static_cast<i32>(r < -32768 ? -32768 : r > 32767 ? 32767 : r)) : static_cast<u16>(r)};
  };
  return {one(lo(a.bits), lo(b.bits), lo(d.bits)) | one(hi(a.bits), hi(b.bits), hi(d.bits)) << 16};
}

// Dot products. Float ones: products and sum are done in double and rounded once (assumption: dot-rounding).
inline double half(u16 h) { return num::f16_to_f32(h); }
inline double brain(u16 h) { return num::bf16_to_f32(h); }
float v_dot2_f32_f16(PkF16 a, PkF16 b, float c) { return static_cast<float>(half(lo(a.bits)) * half(lo(b.bits)) + half(hi(a.bits)) * half(hi(b.bits)) + c); }
float v_dot2_f32_bf16(PkBF16 a, PkBF16 b, float c) { return static_cast<float>(brain(lo(a.bits)) * brain(lo(b.bits)) + brain(hi(a.bits)) * brain(hi(b.bits)) + c); }
float v_dot2c_f32_f16(PkF16 a, PkF16 b, float d) { return v_dot2_f32_f16(a, b, d); }
float v_dot2c_f32_bf16(PkBF16 a, PkBF16 b, float d) { return v_dot2_f32_bf16(a, b, d); }
i32 saturate32(Ctx c, int64_t r, bool is_signed) {
  if (!c.inst->mod.clamp) return static_cast<i32>(r);
  if (is_signed) return static_cast<i32>(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r);
  return static_cast<i32>(static_cast<u32>(r > 0xffffffffll ? 0xffffffffll : r));
}
template <int bits> int64_t dot_signed(u32 a, u32 b) {
  int64_t sum = 0;
  for (int n = 0; n < 32; n += bits) sum += int64_t{static_cast<i32>(a << (32 - bits - n)) >> (32 - bits)} * (static_cast<i32>(b << (32 - bits - n)) >> (32 - bits));
  return sum;
}
template <int bits> int64_t dot_unsigned(u32 a, u32 b) {
  int64_t sum = 0;
  const u32 mask = (1u << bits) - 1;
  for (int n = 0; n < 32; n += bits) sum += int64_t{a >> n & mask} * (b >> n & mask);
  return sum;
}
i32 v_dot2_i32_i16(Ctx c, PkI16 a, PkI16 b, i32 d) { return saturate32(c, dot_signed<16>(a.bits, b.bits) + d, true); }
u32 v_dot2_u32_u16(Ctx c, PkU16 a, PkU16 b, u32 d) { return static_cast<u32>(saturate32(c, dot_unsigned<16>(a.bits, b.bits) + d, false)); }
i32 v_dot4_i32_i8(Ctx c, u32 a, u32 b, i32 d) { return saturate32(c, dot_signed<8>(a, b) + d, true); }
u32 v_dot4_u32_u8(Ctx c, u32 a, u32 b, u32 d) { return static_cast<u32>(saturate32(c, dot_unsigned<8>(a, b) + d, false)); }
i32 v_dot8_i32_i4(Ctx c, u32 a, u32 b, i32 d) { return saturate32(c, dot_signed<4>(a, b) + d, true); }
u32 v_dot8_u32_u4(Ctx c, u32 a, u32 b, u32 d) { return static_cast<u32>(saturate32(c, dot_unsigned<4>(a, b) + d, false)); }
i32 v_dot2c_i32_i16(Ctx c, PkI16 a, PkI16 b, i32 d) { return v_dot2_i32_i16(c, a, b, d); }
i32 v_dot4c_i32_i8(Ctx c, u32 a, u32 b, i32 d) { return v_dot4_i32_i8(c, a, b, d); }
i32 v_dot8c_i32_i4(Ctx c, u32 a, u32 b, i32 d) { return v_dot8_i32_i4(c, a, b, d); }

constexpr Row kRows[] = {
    VOP(v_pk_add_f32), VOP(v_pk_mul_f32), VOP(v_pk_fma_f32), VOP(v_pk_mov_b32, kRawFloat), VOP(v_pk_add_f16), VOP(v_pk_mul_f16), VOP(v_pk_max_f16),
    VOP(v_pk_min_f16), VOP(v_pk_fma_f16), VOP_ACCUMULATE(v_pk_fmac_f16), VOP(v_pk_minimum3_f16), VOP(v_pk_maximum3_f16), VOP(v_pk_add_u16, kIntClamp), VOP(v_pk_sub_u16, kIntClamp),
    VOP(v_pk_max_u16), VOP(v_pk_min_u16), VOP(v_pk_mul_lo_u16), VOP(v_pk_lshlrev_b16), VOP(v_pk_lshrrev_b16), VOP(v_pk_add_i16, kIntClamp),
    VOP(v_pk_sub_i16, kIntClamp), VOP(v_pk_max_i16), VOP(v_pk_min_i16), VOP(v_pk_ashrrev_i16), VOP(v_pk_mad_u16, kIntClamp),
    VOP(v_pk_mad_i16, kIntClamp), VOP(v_dot2_f32_f16), VOP(v_dot2_f32_bf16, kPlainAddend), VOP_ACCUMULATE(v_dot2c_f32_f16), VOP_ACCUMULATE(v_dot2c_f32_bf16),
    VOP(v_dot2_i32_i16, kIntClamp), VOP(v_dot2_u32_u16, kIntClamp), VOP(v_dot4_i32_i8, kIntClamp), VOP(v_dot4_u32_u8, kIntClamp),
    VOP(v_dot8_i32_i4, kIntClamp), VOP(v_dot8_u32_u4, kIntClamp), VOP_ACCUMULATE(v_dot2c_i32_i16, kIntClamp), VOP_ACCUMULATE(v_dot4c_i32_i8, kIntClamp),
    VOP_ACCUMULATE(v_dot8c_i32_i4, kIntClamp),
};

}  // namespace

Rows packed_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
