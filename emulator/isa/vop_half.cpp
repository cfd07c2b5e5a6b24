// f16 arithmetic. Values travel as bits; numerics/ rounds once.
#include "isa/families.h"
#include "isa/lanes.h"
#include "numerics/transcendental.h"
#include "numerics/valu_float.h"

namespace gfx950::isa {
namespace {

namespace num = numerics;
using Ctx = const LaneContext&;

F16 v_add_f16(Ctx c, F16 a, F16 b) { return {num::add_f16(a.bits, b.bits, c.saturate)}; }
F16 v_sub_f16(Ctx c, F16 a, F16 b) { return {num::sub_f16(a.bits, b.bits, c.saturate)}; }
F16 v_subrev_f16(Ctx c, F16 a, F16 b) { return {num::sub_f16(b.bits, a.bits, c.saturate)}; }
F16 v_mul_f16(Ctx c, F16 a, F16 b) { return {num::mul_f16(a.bits, b.bits, c.saturate)}; }
F16 v_fma_f16(Ctx c, F16 a, F16 b, F16 d) { return {num::fma_f16(a.bits, b.bits, d.bits, c.saturate)}; }
F16 v_mad_f16(Ctx c, F16 a, F16 b, F16 d) { return {num::add_f16(num::mul_f16(a.bits, b.bits, c.saturate), d.bits, c.saturate)}; }
F16 v_fmac_f16(Ctx c, F16 a, F16 b, F16 d) { return {num::fma_f16(a.bits, b.bits, d.bits, c.saturate)}; }
F16 v_max_f16(Ctx c, F16 a, F16 b) { return {num::max_f16(a.bits, b.bits, c.ieee)}; }
F16 v_min_f16(Ctx c, F16 a, F16 b) { return {num::min_f16(a.bits, b.bits, c.ieee)}; }
F16 v_max3_f16(Ctx c, F16 a, F16 b, F16 d) { return {num::max3_f16(a.bits, b.bits, d.bits, c.ieee)}; }
F16 v_min3_f16(Ctx c, F16 a, F16 b, F16 d) { return {num::min3_f16(a.bits, b.bits, d.bits, c.ieee)}; }
F16 v_med3_f16(Ctx c, F16 a, F16 b, F16 d) { return {num::med3_f16(a.bits, b.bits, d.bits, c.ieee)}; }
F16 v_exp_f16(F16 a) { return {num::exp_f16(a.bits)}; }
F16 v_log_f16(F16 a) { return {num::log_f16(a.bits)}; }
F16 v_rcp_f16(F16 a) { return {num::rcp_f16(a.bits)}; }
F16 v_rsq_f16(F16 a) { return {num::rsq_f16(a.bits)}; }
F16 v_sqrt_f16(F16 a) { return {num::sqrt_f16(a.bits)}; }
F16 v_sin_f16(F16 a) { return {num::sin_f16(a.bits)}; }
F16 v_cos_f16(F16 a) { return {num::cos_f16(a.bits)}; }
F16 v_fract_f16(F16 a) { return {num::fract_f16(a.bits)}; }
F16 v_trunc_f16(F16 a) { return {num::trunc_f16(a.bits)}; }
F16 v_ceil_f16(F16 a) { return {num::ceil_f16(a.bits)}; }
F16 v_floor_f16(F16 a) { return {num::floor_f16(a.bits)}; }
F16 v_rndne_f16(F16 a) { return {num::rndne_f16(a.bits)}; }
int16_t v_frexp_exp_i16_f16(F16 a) { return num::frexp_exp_f16(a.bits); }
F16 v_frexp_mant_f16(F16 a) { return {num::frexp_mant_f16(a.bits)}; }
F16 v_ldexp_f16(F16 a, int16_t e) { return {num::ldexp_f16(a.bits, e)}; }
F16 v_div_fixup_f16(F16 a, F16 b, F16 c) { return {num::div_fixup_f16(a.bits, b.bits, c.bits)}; }

F16 v_mac_f16(Ctx c, F16 a, F16 b, F16 d) { return v_mad_f16(c, a, b, d); }
F16 v_madmk_f16(Ctx c, F16 a, F16 k, F16 b) { return v_mad_f16(c, a, k, b); }
F16 v_madak_f16(Ctx c, F16 a, F16 b, F16 k) { return v_mad_f16(c, a, b, k); }
F16 v_mad_legacy_f16(Ctx c, F16 a, F16 b, F16 d) { return v_mad_f16(c, a, b, d); }
F16 v_fma_legacy_f16(Ctx c, F16 a, F16 b, F16 d) { return v_fma_f16(c, a, b, d); }
F16 v_div_fixup_legacy_f16(F16 a, F16 b, F16 c) { return v_div_fixup_f16(a, b, c); }

// Mixed precision: op_sel_hi says which sources are halves; the wrapper has widened them (kMix).
float v_fma_mix_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
F16 v_fma_mixlo_f16(float a, float b, float c) { return {num::f32_to_f16(__builtin_fmaf(a, b, c))}; }
F16 v_fma_mixhi_f16(float a, float b, float c) { return {num::f32_to_f16(__builtin_fmaf(a, b, c))}; }

constexpr Row mix(Row row, bool high = false) {
  row.parameter = high;
  return row;
}

constexpr Row kRows[] = {
    VOP(v_add_f16), VOP(v_sub_f16), VOP(v_subrev_f16), VOP(v_mul_f16), VOP(v_fma_f16, kPreserveHalf), VOP(v_mad_f16, kPreserveHalf),
    VOP_ACCUMULATE(v_fmac_f16), VOP(v_max_f16), VOP(v_min_f16), VOP(v_max3_f16, kPreserveHalf), VOP(v_min3_f16, kPreserveHalf),
    VOP(v_med3_f16, kPreserveHalf), VOP(v_exp_f16), VOP(v_log_f16), VOP(v_rcp_f16), VOP(v_rsq_f16), VOP(v_sqrt_f16), VOP(v_sin_f16),
    VOP(v_cos_f16), VOP(v_fract_f16), VOP(v_trunc_f16), VOP(v_ceil_f16), VOP(v_floor_f16), VOP(v_rndne_f16), VOP(v_frexp_exp_i16_f16),
    VOP(v_frexp_mant_f16), VOP(v_ldexp_f16), VOP(v_div_fixup_f16, kPreserveHalf),
    VOP_ACCUMULATE(v_mac_f16), VOP(v_madmk_f16), VOP(v_madak_f16), VOP(v_mad_legacy_f16), VOP(v_fma_legacy_f16), VOP(v_div_fixup_legacy_f16),
    VOP(v_fma_mix_f32, kMix), VOP(v_fma_mixlo_f16, kMix | kPreserveHalf), mix(VOP(v_fma_mixhi_f16, kMix | kPreserveHalf), true),
};

}  // namespace

Rows half_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
