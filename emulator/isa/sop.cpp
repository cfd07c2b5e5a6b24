// Scalar ALU instructions: SOP1, SOP2, SOPC. Meanings: CDNA3 ISA reference, sections 12.1 to 12.4.
#include "isa/families.h"
#include "isa/scalars.h"

namespace gfx950::isa {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;
template <class T> using S = WithScc<T>;

S<u32> s_add_u32(u32 a, u32 b) { return {a + b, a + b < a}; }
S<u32> s_sub_u32(u32 a, u32 b) { return {a - b, b > a}; }
S<u32> s_addc_u32(u32 a, u32 b, Scc c) { const u64 r = u64{a} + b + c.value; return {static_cast<u32>(r), r >> 32 != 0}; }
S<u32> s_subb_u32(u32 a, u32 b, Scc c) { return {a - b - c.value, u64{b} + c.value > a}; }
bool add_overflows(u32 a, u32 b, u32 r) { return (~(a ^ b) & (a ^ r)) >> 31; }
bool sub_overflows(u32 a, u32 b, u32 r) { return ((a ^ b) & (a ^ r)) >> 31; }
S<u32> s_add_i32(u32 a, u32 b) { return {a + b, add_overflows(a, b, a + b)}; }
S<u32> s_sub_i32(u32 a, u32 b) { return {a - b, sub_overflows(a, b, a - b)}; }
u32 s_mul_i32(u32 a, u32 b) { return a * b; }
u32 s_mul_hi_u32(u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }
i32 s_mul_hi_i32(i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }
S<i32> s_min_i32(i32 a, i32 b) { return {a < b ? a : b, a < b}; }
S<i32> s_max_i32(i32 a, i32 b) { return {a > b ? a : b, a >= b}; }
S<u32> s_min_u32(u32 a, u32 b) { return {a < b ? a : b, a < b}; }
S<u32> s_max_u32(u32 a, u32 b) { return {a > b ? a : b, a >= b}; }
u32 s_cselect_b32(u32 a, u32 b, Scc c) { return c.value ? a : b; }
u64 s_cselect_b64(u64 a, u64 b, Scc c) { return c.value ? a : b; }

#define LOGIC(name, T, expression) S<T> name(T a, T b) { const T r = expression; return {r, r != 0}; }
LOGIC(s_and_b32, u32, a & b)
LOGIC(s_and_b64, u64, a & b)
LOGIC(s_or_b32, u32, a | b)
LOGIC(s_or_b64, u64, a | b)
LOGIC(s_xor_b32, u32, a ^ b)
LOGIC(s_xor_b64, u64, a ^ b)
LOGIC(s_andn2_b32, u32, a & ~b)
LOGIC(s_andn2_b64, u64, a & ~b)
LOGIC(s_orn2_b32, u32, a | ~b)
LOGIC(s_orn2_b64, u64, a | ~b)
LOGIC(s_nand_b32, u32, ~(a & b))
LOGIC(s_nand_b64, u64, ~(a & b))
LOGIC(s_nor_b32, u32, ~(a | b))
LOGIC(s_nor_b64, u64, ~(a | b))
LOGIC(s_xnor_b32, u32, ~(a ^ b))
LOGIC(s_xnor_b64, u64, ~(a ^ b))
#undef LOGIC

S<u32> s_lshl_b32(u32 a, u32 b) { const u32 r = a << (b & 31); return {r, r != 0}; }
S<u64> s_lshl_b64(u64 a, u32 b) { const u64 r = a << (b & 63); return {r, r != 0}; }
S<u32> s_lshr_b32(u32 a, u32 b) { const u32 r = a >> (b & 31); return {r, r != 0}; }
S<u64> s_lshr_b64(u64 a, u32 b) { const u64 r = a >> (b & 63); return {r, r != 0}; }
S<i32> s_ashr_i32(i32 a, u32 b) { const i32 r = a >> (b & 31); return {r, r != 0}; }
S<i64> s_ashr_i64(i64 a, u32 b) { const i64 r = a >> (b & 63); return {r, r != 0}; }
u32 s_bfm_b32(u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }
u64 s_bfm_b64(u32 a, u32 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }
u64 field_mask(u32 width) { return width >= 64 ? ~u64{0} : (u64{1} << width) - 1; }
S<u32> s_bfe_u32(u32 a, u32 b) { const u32 r = static_cast<u32>(u64{a} >> (b & 31) & field_mask(b >> 16 & 127)); return {r, r != 0}; }
S<u64> s_bfe_u64(u64 a, u32 b) { const u64 r = a >> (b & 63) & field_mask(b >> 16 & 127); return {r, r != 0}; }
i64 sign_extend(u64 x, u32 width) { return width == 0 ? 0 : width >= 64 ? static_cast<i64>(x) : static_cast<i64>(x << (64 - width)) >> (64 - width); }
S<i32> s_bfe_i32(i32 a, u32 b) {
  const u32 width = b >> 16 & 127;
  const i32 r = static_cast<i32>(sign_extend(static_cast<u64>(i64{a} >> (b & 31)), width > 32 ? 32 : width));
  return {r, r != 0};
}
S<i64> s_bfe_i64(i64 a, u32 b) { const i64 r = sign_extend(static_cast<u64>(a >> (b & 63)), b >> 16 & 127); return {r, r != 0}; }
// The difference wraps before its sign is looked at: |0x80000000 - 1| is 0x7fffffff (the manual's own example).
S<u32> s_absdiff_i32(u32 a, u32 b) { const u32 d = a - b, r = d >> 31 ? 0u - d : d; return {r, r != 0}; }
template <int n> S<u32> shift_add(u32 a, u32 b) { const u64 r = (u64{a} << n) + b; return {static_cast<u32>(r), r >> 32 != 0}; }
S<u32> s_lshl1_add_u32(u32 a, u32 b) { return shift_add<1>(a, b); }
S<u32> s_lshl2_add_u32(u32 a, u32 b) { return shift_add<2>(a, b); }
S<u32> s_lshl3_add_u32(u32 a, u32 b) { return shift_add<3>(a, b); }
S<u32> s_lshl4_add_u32(u32 a, u32 b) { return shift_add<4>(a, b); }
u32 s_pack_ll_b32_b16(u32 a, u32 b) { return (a & 0xffff) | b << 16; }
u32 s_pack_lh_b32_b16(u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000u); }
u32 s_pack_hh_b32_b16(u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); }

// SOP1
u32 s_mov_b32(u32 a) { return a; }
u64 s_mov_b64(u64 a) { return a; }
S<u32> s_not_b32(u32 a) { return {~a, ~a != 0}; }
S<u64> s_not_b64(u64 a) { return {~a, ~a != 0}; }
u32 reverse(u32 a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(a);
}
u32 s_brev_b32(u32 a) { return reverse(a); }
u64 s_brev_b64(u64 a) { return u64{reverse(static_cast<u32>(a))} << 32 | reverse(static_cast<u32>(a >> 32)); }
S<u32> s_bcnt0_i32_b32(u32 a) { const u32 r = std::popcount(~a); return {r, r != 0}; }
S<u32> s_bcnt0_i32_b64(u64 a) { const u32 r = std::popcount(~a); return {r, r != 0}; }
S<u32> s_bcnt1_i32_b32(u32 a) { const u32 r = std::popcount(a); return {r, r != 0}; }
S<u32> s_bcnt1_i32_b64(u64 a) { const u32 r = std::popcount(a); return {r, r != 0}; }
u32 s_ff0_i32_b32(u32 a) { return ~a ? std::countr_zero(~a) : ~0u; }
u32 s_ff0_i32_b64(u64 a) { return ~a ? std::countr_zero(~a) : ~0u; }
u32 s_ff1_i32_b32(u32 a) { return a ? std::countr_zero(a) : ~0u; }
u32 s_ff1_i32_b64(u64 a) { return a ? std::countr_zero(a) : ~0u; }
u32 s_flbit_i32_b32(u32 a) { return a ? std::countl_zero(a) : ~0u; }
u32 s_flbit_i32_b64(u64 a) { return a ? std::countl_zero(a) : ~0u; }
u32 s_flbit_i32(u32 a) { const u32 x = a ^ static_cast<u32>(static_cast<i32>(a) >> 31); return x ? std::countl_zero(x) : ~0u; }
u32 s_flbit_i32_i64(u64 a) { const u64 x = a ^ static_cast<u64>(static_cast<i64>(a) >> 63); return x ? std::countl_zero(x) : ~0u; }
i32 s_sext_i32_i8(u32 a) { return static_cast<int8_t>(a); }
i32 s_sext_i32_i16(u32 a) { return static_cast<int16_t>(a); }
u32 s_bitset0_b32(u32 a, u32 d) { return d & ~(1u << (a & 31)); }
u64 s_bitset0_b64(u32 a, u64 d) { return d & ~(u64{1} << (a & 63)); }
u32 s_bitset1_b32(u32 a, u32 d) { return d | 1u << (a & 31); }
u64 s_bitset1_b64(u32 a, u64 d) { return d | u64{1} << (a & 63); }
u32 s_cmov_b32(u32 a, u32 d, Scc c) { return c.value ? a : d; }
u64 s_cmov_b64(u64 a, u64 d, Scc c) { return c.value ? a : d; }
S<u32> s_abs_i32(u32 a) { const u32 r = static_cast<i32>(a) < 0 ? 0u - a : a; return {r, r != 0}; }
template <int group> u64 quads(u64 a) {
  u64 r = 0;
  const u64 all = (u64{1} << group) - 1;
  for (int n = 0; n < 64 / group; ++n)
    if (a >> (n * group) & all) r |= u64{1} << n;
  return r;
}
template <int group> u64 whole(u64 a) {
  u64 r = 0;
  const u64 all = (u64{1} << group) - 1;
  for (int n = 0; n < 64; n += group)
    if (a >> n & all) r |= all << n;
  return r;
}
S<u32> s_quadmask_b32(u32 a) { const u32 r = static_cast<u32>(quads<4>(a)); return {r, r != 0}; }
S<u64> s_quadmask_b64(u64 a) { const u64 r = quads<4>(a); return {r, r != 0}; }
S<u32> s_wqm_b32(u32 a) { const u32 r = static_cast<u32>(whole<4>(a)); return {r, r != 0}; }
S<u64> s_wqm_b64(u64 a) { const u64 r = whole<4>(a); return {r, r != 0}; }
u64 s_bitreplicate_b64_b32(u32 a) {
  u64 r = 0;
  for (int n = 0; n < 32; ++n)
    if (a >> n & 1) r |= u64{3} << (2 * n);
  return r;
}

// SOPC
#define COMPARE(name, T, op) Scc name(T a, T b) { return {a op b}; }
COMPARE(s_cmp_eq_i32, i32, ==)
COMPARE(s_cmp_lg_i32, i32, !=)
COMPARE(s_cmp_gt_i32, i32, >)
COMPARE(s_cmp_ge_i32, i32, >=)
COMPARE(s_cmp_lt_i32, i32, <)
COMPARE(s_cmp_le_i32, i32, <=)
COMPARE(s_cmp_eq_u32, u32, ==)
COMPARE(s_cmp_lg_u32, u32, !=)
COMPARE(s_cmp_gt_u32, u32, >)
COMPARE(s_cmp_ge_u32, u32, >=)
COMPARE(s_cmp_lt_u32, u32, <)
COMPARE(s_cmp_le_u32, u32, <=)
COMPARE(s_cmp_eq_u64, u64, ==)
COMPARE(s_cmp_lg_u64, u64, !=)
#undef COMPARE
Scc s_bitcmp0_b32(u32 a, u32 b) { return {!(a >> (b & 31) & 1)}; }
Scc s_bitcmp1_b32(u32 a, u32 b) { return {(a >> (b & 31) & 1) != 0}; }
Scc s_bitcmp0_b64(u64 a, u32 b) { return {!(a >> (b & 63) & 1)}; }
Scc s_bitcmp1_b64(u64 a, u32 b) { return {(a >> (b & 63) & 1) != 0}; }

// s_*_saveexec_b64: EXEC into the destination, EXEC = f(source, EXEC), SCC = EXEC is not zero.
template <u64 (*F)(u64, u64)> void saveexec(Wave& w, const Instruction& i) {
  const u64 source = read_scalar64(w, i.src[0]), exec = w.exec(), result = F(source, exec);
  w.set_pair(i.dst.index, exec);
  w.set_exec(result);
  w.scc = result != 0;
}
// s_andn*_wrexec_b64: EXEC and the destination both get the result.
template <u64 (*F)(u64, u64)> void wrexec(Wave& w, const Instruction& i) {
  const u64 result = F(read_scalar64(w, i.src[0]), w.exec());
  w.set_exec(result);
  w.set_pair(i.dst.index, result);
  w.scc = result != 0;
}
u64 m_and(u64 s, u64 e) { return s & e; }
u64 m_or(u64 s, u64 e) { return s | e; }
u64 m_xor(u64 s, u64 e) { return s ^ e; }
u64 m_andn2(u64 s, u64 e) { return s & ~e; }
u64 m_orn2(u64 s, u64 e) { return s | ~e; }
u64 m_nand(u64 s, u64 e) { return ~(s & e); }
u64 m_nor(u64 s, u64 e) { return ~(s | e); }
u64 m_xnor(u64 s, u64 e) { return ~(s ^ e); }
u64 m_andn1(u64 s, u64 e) { return ~s & e; }
u64 m_orn1(u64 s, u64 e) { return ~s | e; }

constexpr Row exec_row(const char* name, Run run) {
  return custom(name, Format::Scalar, run, {{Role::Dst, Type::U64}, {Role::Src, Type::U64}}, kWritesScc | kWritesExec);
}

constexpr Row kRows[] = {
    SOP(s_add_u32), SOP(s_sub_u32), SOP(s_addc_u32), SOP(s_subb_u32), SOP(s_add_i32), SOP(s_sub_i32), SOP(s_mul_i32), SOP(s_mul_hi_u32),
    SOP(s_mul_hi_i32), SOP(s_min_i32), SOP(s_max_i32), SOP(s_min_u32), SOP(s_max_u32), SOP(s_cselect_b32), SOP(s_cselect_b64),
    SOP(s_and_b32), SOP(s_and_b64), SOP(s_or_b32), SOP(s_or_b64), SOP(s_xor_b32), SOP(s_xor_b64), SOP(s_andn2_b32), SOP(s_andn2_b64),
    SOP(s_orn2_b32), SOP(s_orn2_b64), SOP(s_nand_b32), SOP(s_nand_b64), SOP(s_nor_b32), SOP(s_nor_b64), SOP(s_xnor_b32), SOP(s_xnor_b64),
    SOP(s_lshl_b32), SOP(s_lshl_b64), SOP(s_lshr_b32), SOP(s_lshr_b64), SOP(s_ashr_i32), SOP(s_ashr_i64), SOP(s_bfm_b32), SOP(s_bfm_b64),
    SOP(s_bfe_u32), SOP(s_bfe_u64), SOP(s_bfe_i32), SOP(s_bfe_i64), SOP(s_absdiff_i32), SOP(s_lshl1_add_u32), SOP(s_lshl2_add_u32),
    SOP(s_lshl3_add_u32), SOP(s_lshl4_add_u32), SOP(s_pack_ll_b32_b16), SOP(s_pack_lh_b32_b16), SOP(s_pack_hh_b32_b16), SOP(s_mov_b32),
    SOP(s_mov_b64), SOP(s_not_b32), SOP(s_not_b64), SOP(s_brev_b32), SOP(s_brev_b64), SOP(s_bcnt0_i32_b32), SOP(s_bcnt0_i32_b64),
    SOP(s_bcnt1_i32_b32), SOP(s_bcnt1_i32_b64), SOP(s_ff0_i32_b32), SOP(s_ff0_i32_b64), SOP(s_ff1_i32_b32), SOP(s_ff1_i32_b64),
    SOP(s_flbit_i32_b32), SOP(s_flbit_i32_b64), SOP(s_flbit_i32), SOP(s_flbit_i32_i64), SOP(s_sext_i32_i8), SOP(s_sext_i32_i16),
    SOP_ACCUMULATE(s_bitset0_b32), SOP_ACCUMULATE(s_bitset0_b64), SOP_ACCUMULATE(s_bitset1_b32), SOP_ACCUMULATE(s_bitset1_b64),
    SOP_ACCUMULATE(s_cmov_b32), SOP_ACCUMULATE(s_cmov_b64), SOP(s_abs_i32), SOP(s_quadmask_b32), SOP(s_quadmask_b64), SOP(s_wqm_b32),
    SOP(s_wqm_b64), SOP(s_bitreplicate_b64_b32),
    SOP(s_cmp_eq_i32), SOP(s_cmp_lg_i32), SOP(s_cmp_gt_i32), SOP(s_cmp_ge_i32), SOP(s_cmp_lt_i32), SOP(s_cmp_le_i32), SOP(s_cmp_eq_u32),
    SOP(s_cmp_lg_u32), SOP(s_cmp_gt_u32), SOP(s_cmp_ge_u32), SOP(s_cmp_lt_u32), SOP(s_cmp_le_u32), SOP(s_cmp_eq_u64), SOP(s_cmp_lg_u64),
    SOP(s_bitcmp0_b32), SOP(s_bitcmp1_b32), SOP(s_bitcmp0_b64), SOP(s_bitcmp1_b64),
    exec_row("s_and_saveexec_b64", saveexec<m_and>), exec_row("s_or_saveexec_b64", saveexec<m_or>),
    exec_row("s_xor_saveexec_b64", saveexec<m_xor>), exec_row("s_andn2_saveexec_b64", saveexec<m_andn2>),
    exec_row("s_orn2_saveexec_b64", saveexec<m_orn2>), exec_row("s_nand_saveexec_b64", saveexec<m_nand>),
    exec_row("s_nor_saveexec_b64", saveexec<m_nor>), exec_row("s_xnor_saveexec_b64", saveexec<m_xnor>),
    exec_row("s_andn1_saveexec_b64", saveexec<m_andn1>), exec_row("s_orn1_saveexec_b64", saveexec<m_orn1>),
    exec_row("s_andn1_wrexec_b64", wrexec<m_andn1>), exec_row("s_andn2_wrexec_b64", wrexec<m_andn2>),
};

}  // namespace

Rows scalar_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
