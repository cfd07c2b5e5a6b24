// Integer and bit instructions of the vector ALU. Meanings: CDNA3 ISA reference, chapter 12; v_bitop3 from docs/emulator.md.
#include "isa/families.h"
#include "isa/lanes.h"
#include "numerics/transcendental.h"

namespace gfx950::isa {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;
using Ctx = const LaneContext&;
using Carry = WithMask<u32>;

inline u32 sat_add(u32 a, u32 b) { const u32 r = a + b; return r < a ? ~0u : r; }
inline i32 sat_i32(i64 x) { return static_cast<i32>(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x); }
inline u16 sat_u16(i32 x) { return static_cast<u16>(x < 0 ? 0 : x > 65535 ? 65535 : x); }
inline i16 sat_i16(i32 x) { return static_cast<i16>(x < -32768 ? -32768 : x > 32767 ? 32767 : x); }

u32 v_mov_b32(u32 a) { return a; }
u64 v_mov_b64(u64 a) { return a; }
u32 v_not_b32(u32 a) { return ~a; }
u32 v_and_b32(u32 a, u32 b) { return a & b; }
u32 v_or_b32(u32 a, u32 b) { return a | b; }
u32 v_xor_b32(u32 a, u32 b) { return a ^ b; }
u32 v_xnor_b32(u32 a, u32 b) { return ~(a ^ b); }
u32 v_lshlrev_b32(u32 a, u32 b) { return b << (a & 31); }
u32 v_lshrrev_b32(u32 a, u32 b) { return b >> (a & 31); }
i32 v_ashrrev_i32(u32 a, i32 b) { return b >> (a & 31); }
u64 v_lshlrev_b64(u32 a, u64 b) { return b << (a & 63); }
u64 v_lshrrev_b64(u32 a, u64 b) { return b >> (a & 63); }
i64 v_ashrrev_i64(u32 a, i64 b) { return b >> (a & 63); }
u16 v_lshlrev_b16(u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }
u16 v_lshrrev_b16(u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); }
i16 v_ashrrev_i16(u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); }

u32 v_add_u32(Ctx c, u32 a, u32 b) { return c.inst->mod.clamp ? sat_add(a, b) : a + b; }
u32 v_sub_u32(Ctx c, u32 a, u32 b) { return c.inst->mod.clamp && b > a ? 0 : a - b; }
u32 v_subrev_u32(Ctx c, u32 a, u32 b) { return c.inst->mod.clamp && a > b ? 0 : b - a; }
i32 v_add_i32(Ctx c, i32 a, i32 b) { return c.inst->mod.clamp ? sat_i32(i64{a} + b) : static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b)); }
i32 v_sub_i32(Ctx c, i32 a, i32 b) { return c.inst->mod.clamp ? sat_i32(i64{a} - b) : static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b)); }
u16 v_add_u16(Ctx c, u16 a, u16 b) { return c.inst->mod.clamp ? sat_u16(a + b) : static_cast<u16>(a + b); }
u16 v_sub_u16(Ctx c, u16 a, u16 b) { return c.inst->mod.clamp ? sat_u16(a - b) : static_cast<u16>(a - b); }
u16 v_subrev_u16(Ctx c, u16 a, u16 b) { return c.inst->mod.clamp ? sat_u16(b - a) : static_cast<u16>(b - a); }
i16 v_add_i16(Ctx c, i16 a, i16 b) { return c.inst->mod.clamp ? sat_i16(a + b) : static_cast<i16>(a + b); }
i16 v_sub_i16(Ctx c, i16 a, i16 b) { return c.inst->mod.clamp ? sat_i16(a - b) : static_cast<i16>(a - b); }
u16 v_mul_lo_u16(u16 a, u16 b) { return static_cast<u16>(u32{a} * b); }
u16 v_mad_u16(Ctx c, u16 a, u16 b, u16 d) { const u32 r = u32{a} * b + d; return c.inst->mod.clamp && r > 65535 ? 65535 : static_cast<u16>(r); }
i16 v_mad_i16(Ctx c, i16 a, i16 b, i16 d) { const i64 r = i64{a} * b + d; return c.inst->mod.clamp ? sat_i16(sat_i32(r)) : static_cast<i16>(r); }
u16 v_mad_legacy_u16(u16 a, u16 b, u16 d) { return static_cast<u16>(u32{a} * b + d); }
i16 v_mad_legacy_i16(i16 a, i16 b, i16 d) { return static_cast<i16>(i32{a} * b + d); }

Carry v_add_co_u32(u32 a, u32 b) { return {a + b, a + b < a}; }
Carry v_sub_co_u32(u32 a, u32 b) { return {a - b, b > a}; }
Carry v_subrev_co_u32(u32 a, u32 b) { return {b - a, a > b}; }
Carry v_addc_co_u32(u32 a, u32 b, bool c) { const u64 r = u64{a} + b + c; return {static_cast<u32>(r), (r >> 32) != 0}; }
Carry v_subb_co_u32(u32 a, u32 b, bool c) { return {a - b - c, u64{b} + c > a}; }
Carry v_subbrev_co_u32(u32 a, u32 b, bool c) { return {b - a - c, u64{a} + c > b}; }

u32 v_mul_lo_u32(u32 a, u32 b) { return a * b; }
u32 v_mul_hi_u32(u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }
i32 v_mul_hi_i32(i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }
u32 v_mul_u32_u24(u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }
u32 v_mul_hi_u32_u24(u32 a, u32 b) { return static_cast<u32>(u64{a & 0xffffff} * (b & 0xffffff) >> 32); }
inline i32 sext24(u32 a) { return static_cast<i32>(a << 8) >> 8; }
u32 v_mul_i32_i24(u32 a, u32 b) { return static_cast<u32>(i64{sext24(a)} * sext24(b)); }
u32 v_mul_hi_i32_i24(u32 a, u32 b) { return static_cast<u32>(i64{sext24(a)} * sext24(b) >> 32); }
u32 v_mad_u32_u24(u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; }
u32 v_mad_i32_i24(u32 a, u32 b, u32 c) { return static_cast<u32>(i64{sext24(a)} * sext24(b)) + c; }
u32 v_mad_u32_u16(u16 a, u16 b, u32 c) { return u32{a} * b + c; }
u32 v_mad_i32_i16(i16 a, i16 b, u32 c) { return static_cast<u32>(i32{a} * b) + c; }
WithMask<u64> v_mad_u64_u32(u32 a, u32 b, u64 c) { const u64 r = u64{a} * b + c; return {r, r < c}; }
WithMask<i64> v_mad_i64_i32(i32 a, i32 b, i64 c) {
  const i64 p = i64{a} * b, r = static_cast<i64>(static_cast<u64>(p) + static_cast<u64>(c));
  return {r, (((~(p ^ c) & (p ^ r)) ^ r) < 0)};  // bit 64 of the 65-bit sum, which is its sign
}

u32 v_min_u32(u32 a, u32 b) { return a < b ? a : b; }
u32 v_max_u32(u32 a, u32 b) { return a > b ? a : b; }
i32 v_min_i32(i32 a, i32 b) { return a < b ? a : b; }
i32 v_max_i32(i32 a, i32 b) { return a > b ? a : b; }
u16 v_min_u16(u16 a, u16 b) { return a < b ? a : b; }
u16 v_max_u16(u16 a, u16 b) { return a > b ? a : b; }
i16 v_min_i16(i16 a, i16 b) { return a < b ? a : b; }
i16 v_max_i16(i16 a, i16 b) { return a > b ? a : b; }
template <class T> inline T min2(T a, T b) { return a < b ? a : b; }
template <class T> inline T max2(T a, T b) { return a > b ? a : b; }
template <class T> inline T med(T a, T b, T c) { return max2(min2(a, b), min2(max2(a, b), c)); }
u32 v_min3_u32(u32 a, u32 b, u32 c) { return min2(min2(a, b), c); }
u32 v_max3_u32(u32 a, u32 b, u32 c) { return max2(max2(a, b), c); }
u32 v_med3_u32(u32 a, u32 b, u32 c) { return med(a, b, c); }
i32 v_min3_i32(i32 a, i32 b, i32 c) { return min2(min2(a, b), c); }
i32 v_max3_i32(i32 a, i32 b, i32 c) { return max2(max2(a, b), c); }
i32 v_med3_i32(i32 a, i32 b, i32 c) { return med(a, b, c); }
u16 v_min3_u16(u16 a, u16 b, u16 c) { return min2(min2(a, b), c); }
u16 v_max3_u16(u16 a, u16 b, u16 c) { return max2(max2(a, b), c); }
u16 v_med3_u16(u16 a, u16 b, u16 c) { return med(a, b, c); }
i16 v_min3_i16(i16 a, i16 b, i16 c) { return min2(min2(a, b), c); }
i16 v_max3_i16(i16 a, i16 b, i16 c) { return max2(max2(a, b), c); }
i16 v_med3_i16(i16 a, i16 b, i16 c) { return med(a, b, c); }

u32 v_add3_u32(u32 a, u32 b, u32 c) { return a + b + c; }
u32 v_lshl_add_u32(u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }
u32 v_add_lshl_u32(u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }
u32 v_lshl_or_b32(u32 a, u32 b, u32 c) { return a << (b & 31) | c; }
u32 v_and_or_b32(u32 a, u32 b, u32 c) { return (a & b) | c; }
u32 v_or3_b32(u32 a, u32 b, u32 c) { return a | b | c; }
u32 v_xad_u32(u32 a, u32 b, u32 c) { return (a ^ b) + c; }
u64 v_lshl_add_u64(u64 a, u32 b, u64 c) { return (a << ((b & 7) > 4 ? 0 : b & 7)) + c; }  // counts above 4 shift by zero (CDNA4 ISA)
u32 v_bfe_u32(u32 a, u32 b, u32 c) { const u32 n = c & 31; return a >> (b & 31) & ((1u << n) - 1); }
i32 v_bfe_i32(i32 a, u32 b, u32 c) {
  const u32 n = c & 31, x = static_cast<u32>(a >> (b & 31)), up = n ? 32 - n : 0;
  return n ? static_cast<i32>(x << up) >> up : 0;
}
u32 v_bfi_b32(u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }
u32 v_bfm_b32(u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }
u32 v_bfrev_b32(u32 a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  return a >> 24 | (a >> 8 & 0xff00u) | (a << 8 & 0xff0000u) | a << 24;
}
u32 v_bcnt_u32_b32(u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; }
u32 v_ffbh_u32(u32 a) { return a ? std::countl_zero(a) : ~0u; }
u32 v_ffbl_b32(u32 a) { return a ? std::countr_zero(a) : ~0u; }
u32 v_ffbh_i32(u32 a) { const u32 x = a ^ static_cast<u32>(static_cast<i32>(a) >> 31); return x ? std::countl_zero(x) : ~0u; }
u32 v_alignbit_b32(u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); }
u32 v_alignbyte_b32(u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (8 * (c & 3))); }
u32 v_perm_b32(u32 a, u32 b, u32 selector) {  // bytes 0..3 are b's, 4..7 a's; 8..11 signs, 12 zero, above 0xff
  const u64 pool = u64{a} << 32 | b;
  u32 out = 0;
  for (int n = 0; n < 4; ++n) {
    const u32 s = selector >> (8 * n) & 0xff;
    u32 byte;
    if (s < 8) byte = static_cast<u32>(pool >> (8 * s)) & 0xff;
    else if (s < 12) byte = pool >> (16 * (s - 8) + 15) & 1 ? 0xff : 0;
    else byte = s == 12 ? 0 : 0xff;
    out |= byte << (8 * n);
  }
  return out;
}
u32 v_bitop3_b32(Ctx c, u32 s0, u32 s1, u32 s2) {  // bit 4*S0 + 2*S1 + S2 of the table
  const u32 table = c.inst->mod.bitop3;
  u32 out = 0;
  for (u32 n = 0; n < 8; ++n) out |= (table >> n & 1 ? ~0u : 0u) & (n & 4 ? s0 : ~s0) & (n & 2 ? s1 : ~s1) & (n & 1 ? s2 : ~s2);
  return out;
}
u16 v_bitop3_b16(Ctx c, u16 a, u16 b, u16 d) { return static_cast<u16>(v_bitop3_b32(c, a, b, d)); }
u32 v_sad_u8(u32 a, u32 b, u32 c) {
  for (int n = 0; n < 32; n += 8) {
    const i32 d = static_cast<i32>(a >> n & 0xff) - static_cast<i32>(b >> n & 0xff);
    c += static_cast<u32>(d < 0 ? -d : d);
  }
  return c;
}
u32 v_sad_hi_u8(u32 a, u32 b, u32 c) { return (v_sad_u8(a, b, 0) << 16) + c; }
u32 v_sad_u16(u32 a, u32 b, u32 c) {
  for (int n = 0; n < 32; n += 16) {
    const i32 d = static_cast<i32>(a >> n & 0xffff) - static_cast<i32>(b >> n & 0xffff);
    c += static_cast<u32>(d < 0 ? -d : d);
  }
  return c;
}
u32 v_sad_u32(u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }
u32 v_msad_u8(u32 a, u32 b, u32 c) {  // bytes where the reference (b) is 0 do not count
  for (int n = 0; n < 32; n += 8) {
    const u32 reference = b >> n & 0xff;
    const i32 d = static_cast<i32>(a >> n & 0xff) - static_cast<i32>(reference);
    c += reference ? static_cast<u32>(d < 0 ? -d : d) : 0;
  }
  return c;
}
template <u32 (*F)(u32, u32, u32)> u64 four_windows(u64 a, u32 b, u64 c) {  // four byte-shifted windows of a, 16-bit sums
  u64 out = 0;
  for (int n = 0; n < 4; ++n) out |= static_cast<u64>(F(static_cast<u32>(a >> (8 * n)), b, static_cast<u32>(c >> (16 * n)) & 0xffff) & 0xffff) << (16 * n);
  return out;
}
u64 v_qsad_pk_u16_u8(u64 a, u32 b, u64 c) { return four_windows<v_sad_u8>(a, b, c); }
u64 v_mqsad_pk_u16_u8(u64 a, u32 b, u64 c) { return four_windows<v_msad_u8>(a, b, c); }
u32 v_lerp_u8(u32 a, u32 b, u32 c) {
  u32 out = 0;
  for (int n = 0; n < 32; n += 8) out |= (((a >> n & 0xff) + (b >> n & 0xff) + (c >> n & 1)) >> 1) << n;
  return out;
}
u32 v_cndmask_b32(u32 a, u32 b, bool c) { return c ? b : a; }
i32 v_sat_pk_u8_i16(u32 a) {
  auto clamp = [](i16 x) { return static_cast<u32>(x < 0 ? 0 : x > 255 ? 255 : x); };
  return static_cast<i32>(clamp(static_cast<i16>(a)) | clamp(static_cast<i16>(a >> 16)) << 8);
}
u32 v_prng_b32(u32 a) { return numerics::prng_b32(a); }
u32 v_accvgpr_read_b32(u32 a) { return a; }
u32 v_accvgpr_write_b32(u32 a) { return a; }
u32 v_accvgpr_mov_b32(u32 a) { return a; }
u16 v_ashr_pk_i8_i32(i32 a, i32 b, u32 c) {
  auto clamp = [](i32 x) { return static_cast<u32>(x < -128 ? -128 : x > 127 ? 127 : x) & 0xff; };
  return static_cast<u16>(clamp(a >> (c & 31)) | clamp(b >> (c & 31)) << 8);
}
u16 v_ashr_pk_u8_i32(i32 a, i32 b, u32 c) {
  auto clamp = [](i32 x) { return static_cast<u32>(x < 0 ? 0 : x > 255 ? 255 : x); };
  return static_cast<u16>(clamp(a >> (c & 31)) | clamp(b >> (c & 31)) << 8);
}

// v_cndmask and v_mov take float modifiers on raw bits: their sources count as f32 for neg and abs, never flushed.
constexpr Row raw(Row row) {
  for (auto& slot : row.slots)
    if (slot.type == Type::U32) slot.type = Type::F32;
  row.flags |= kRawFloat;
  return row;
}

constexpr Row kRows[] = {
    raw(VOP(v_mov_b32)), VOP(v_mov_b64), VOP(v_not_b32), VOP(v_and_b32), VOP(v_or_b32), VOP(v_xor_b32), VOP(v_xnor_b32), VOP(v_lshlrev_b32),
    VOP(v_lshrrev_b32), VOP(v_ashrrev_i32), VOP(v_lshlrev_b64), VOP(v_lshrrev_b64), VOP(v_ashrrev_i64), VOP(v_lshlrev_b16), VOP(v_lshrrev_b16),
    VOP(v_ashrrev_i16), VOP(v_add_u32, kIntClamp), VOP(v_sub_u32, kIntClamp), VOP(v_subrev_u32, kIntClamp), VOP(v_add_i32, kIntClamp),
    VOP(v_sub_i32, kIntClamp), VOP(v_add_u16, kIntClamp), VOP(v_sub_u16, kIntClamp), VOP(v_subrev_u16, kIntClamp),
    VOP(v_add_i16, kIntClamp | kPreserveHalf), VOP(v_sub_i16, kIntClamp | kPreserveHalf), VOP(v_mul_lo_u16), VOP(v_mad_u16, kIntClamp | kPreserveHalf),
    VOP(v_mad_i16, kIntClamp | kPreserveHalf), VOP(v_mad_legacy_u16), VOP(v_mad_legacy_i16), VOP(v_add_co_u32), VOP(v_sub_co_u32),
    VOP(v_subrev_co_u32), VOP(v_addc_co_u32), VOP(v_subb_co_u32), VOP(v_subbrev_co_u32), VOP(v_mul_lo_u32), VOP(v_mul_hi_u32), VOP(v_mul_hi_i32),
    VOP(v_mul_u32_u24), VOP(v_mul_hi_u32_u24), VOP(v_mul_i32_i24), VOP(v_mul_hi_i32_i24), VOP(v_mad_u32_u24), VOP(v_mad_i32_i24),
    VOP(v_mad_u32_u16), VOP(v_mad_i32_i16), VOP(v_mad_u64_u32), VOP(v_mad_i64_i32), VOP(v_min_u32), VOP(v_max_u32), VOP(v_min_i32), VOP(v_max_i32),
    VOP(v_min_u16), VOP(v_max_u16), VOP(v_min_i16), VOP(v_max_i16), VOP(v_min3_u32), VOP(v_max3_u32), VOP(v_med3_u32), VOP(v_min3_i32),
    VOP(v_max3_i32), VOP(v_med3_i32), VOP(v_min3_u16, kPreserveHalf), VOP(v_max3_u16, kPreserveHalf), VOP(v_med3_u16, kPreserveHalf),
    VOP(v_min3_i16, kPreserveHalf), VOP(v_max3_i16, kPreserveHalf), VOP(v_med3_i16, kPreserveHalf), VOP(v_add3_u32), VOP(v_lshl_add_u32),
    VOP(v_add_lshl_u32), VOP(v_lshl_or_b32), VOP(v_and_or_b32), VOP(v_or3_b32), VOP(v_xad_u32), VOP(v_lshl_add_u64), VOP(v_bfe_u32),
    VOP(v_bfe_i32), VOP(v_bfi_b32), VOP(v_bfm_b32), VOP(v_bfrev_b32), VOP(v_bcnt_u32_b32), VOP(v_ffbh_u32), VOP(v_ffbl_b32), VOP(v_ffbh_i32),
    VOP(v_alignbit_b32), VOP(v_alignbyte_b32), VOP(v_perm_b32), VOP(v_bitop3_b32), VOP(v_bitop3_b16), VOP(v_sad_u8), VOP(v_sad_hi_u8),
    VOP(v_sad_u16), VOP(v_msad_u8), VOP(v_qsad_pk_u16_u8), VOP(v_mqsad_pk_u16_u8), VOP(v_sad_u32), VOP(v_lerp_u8), raw(VOP(v_cndmask_b32)), VOP(v_sat_pk_u8_i16), VOP(v_prng_b32), VOP(v_accvgpr_read_b32),
    VOP(v_accvgpr_write_b32), VOP(v_accvgpr_mov_b32), VOP(v_ashr_pk_i8_i32, kPreserveHalf), VOP(v_ashr_pk_u8_i32, kPreserveHalf),
};

}  // namespace

Rows integer_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
