// f32 and f64 arithmetic. Operators are the host's IEEE ones; what has rules of its own comes from numerics/.
#include <cmath>

#include "isa/families.h"
#include "isa/lanes.h"
#include "numerics/transcendental.h"
#include "numerics/valu_float.h"

namespace gfx950::isa {
namespace {

namespace num = numerics;
using Ctx = const LaneContext&;

// Selections without branches, so that the lane loops vectorise: a quiet NaN loses; -0 < +0; IEEE mode quiets a signalling NaN.
inline uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
inline float from(uint32_t x) { return std::bit_cast<float>(x); }
inline float select_max(float a, float b) {
  float r = a > b ? a : b;
  r = a == b ? from(bits(a) & bits(b)) : r;
  r = a != a ? b : r;
  return b != b ? a : r;
}
inline float select_min(float a, float b) {
  float r = a < b ? a : b;
  r = a == b ? from(bits(a) | bits(b)) : r;
  r = a != a ? b : r;
  return b != b ? a : r;
}
inline bool signaling(float x) { return (bits(x) & 0x7fc00000u) == 0x7f800000u && (bits(x) & 0x3fffffu) != 0; }
inline float ieee(float a, float b, float r, bool on) {
  r = (on & signaling(b)) ? from(bits(b) | 0x00400000u) : r;
  return (on & signaling(a)) ? from(bits(a) | 0x00400000u) : r;
}

float v_add_f32(float a, float b) { return a + b; }
float v_sub_f32(float a, float b) { return a - b; }
float v_subrev_f32(float a, float b) { return b - a; }
float v_mul_f32(float a, float b) { return a * b; }
float v_mul_legacy_f32(float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }
float v_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
float v_mad_f32(float a, float b, float c) { return a * b + c; }
float v_fmac_f32(float a, float b, float d) { return __builtin_fmaf(a, b, d); }
float v_fmamk_f32(float a, float k, float b) { return __builtin_fmaf(a, k, b); }
float v_fmaak_f32(float a, float b, float k) { return __builtin_fmaf(a, b, k); }
float v_max_f32(Ctx c, float a, float b) { return ieee(a, b, select_max(a, b), c.ieee); }
float v_min_f32(Ctx c, float a, float b) { return ieee(a, b, select_min(a, b), c.ieee); }
float v_max3_f32(Ctx c, float a, float b, float d) { return v_max_f32(c, v_max_f32(c, a, b), d); }
float v_min3_f32(Ctx c, float a, float b, float d) { return v_min_f32(c, v_min_f32(c, a, b), d); }
float v_med3_f32(Ctx c, float a, float b, float d) { return num::med3_f32(a, b, d, c.ieee); }
float v_minimum3_f32(float a, float b, float c) { return num::minimum3_f32(a, b, c); }
float v_maximum3_f32(float a, float b, float c) { return num::maximum3_f32(a, b, c); }
float v_exp_f32(float a) { return num::exp_f32(a); }
float v_log_f32(float a) { return num::log_f32(a); }
float v_exp_legacy_f32(float a) { return num::exp_f32(a); }
float v_log_legacy_f32(float a) { return num::log_f32(a); }
float v_rcp_f32(float a) { return num::rcp_f32(a); }
float v_rcp_iflag_f32(float a) { return num::rcp_f32(a); }
float v_rsq_f32(float a) { return num::rsq_f32(a); }
float v_sqrt_f32(float a) { return num::sqrt_f32(a); }
float v_sin_f32(float a) { return num::sin_f32(a); }
float v_cos_f32(float a) { return num::cos_f32(a); }
float v_fract_f32(float a) { return num::fract_f32(a); }
float v_trunc_f32(float a) { return num::trunc_num(a); }
float v_ceil_f32(float a) { return num::ceil_num(a); }
float v_floor_f32(float a) { return num::floor_num(a); }
float v_rndne_f32(float a) { return num::rndne_num(a); }
int32_t v_frexp_exp_i32_f32(float a) { return num::frexp_exp(a); }
float v_frexp_mant_f32(float a) { return num::frexp_mant(a); }
float v_ldexp_f32(float a, int32_t e) { return num::ldexp_f32(a, e); }
WithMask<float> v_div_scale_f32(float a, float b, float c) { const auto r = num::div_scale_f32(a, b, c); return {r.value, r.vcc}; }
float v_div_fixup_f32(float a, float b, float c) { return num::div_fixup_f32(a, b, c); }

// Cube map coordinates are graphics; they are left out on purpose.

double v_add_f64(double a, double b) { return a + b; }
double v_mul_f64(double a, double b) { return a * b; }
double v_fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
double v_fmac_f64(double a, double b, double d) { return __builtin_fma(a, b, d); }
double v_max_f64(Ctx c, double a, double b) { return num::max_f64(a, b, c.ieee); }
double v_min_f64(Ctx c, double a, double b) { return num::min_f64(a, b, c.ieee); }
double v_rcp_f64(double a) { return num::rcp_f64(a); }
double v_rsq_f64(double a) { return num::rsq_f64(a); }
double v_sqrt_f64(double a) { return num::sqrt_f64(a); }
double v_fract_f64(double a) { return num::fract_f64(a); }
double v_trunc_f64(double a) { return num::trunc_num(a); }
double v_ceil_f64(double a) { return num::ceil_num(a); }
double v_floor_f64(double a) { return num::floor_num(a); }
double v_rndne_f64(double a) { return num::rndne_num(a); }
int32_t v_frexp_exp_i32_f64(double a) { return num::frexp_exp(a); }
double v_frexp_mant_f64(double a) { return num::frexp_mant(a); }
double v_ldexp_f64(double a, int32_t e) { return num::ldexp_f64(a, e); }
WithMask<double> v_div_scale_f64(double a, double b, double c) { const auto r = num::div_scale_f64(a, b, c); return {r.value, r.vcc}; }
double v_div_fixup_f64(double a, double b, double c) { return num::div_fixup_f64(a, b, c); }
double v_trig_preop_f64(double a, uint32_t s) { return num::trig_preop_f64(a, s); }

// v_div_fmas reads VCC as a fourth operand that the text does not name.
template <class T, T (*F)(T, T, T, bool)> void div_fmas_lanes(const LaneRows* src, uint32_t* const* out, const LaneContext&) {
  for (int l = 0; l < 64; ++l)
    Lane<T>::store(out, l, F(Lane<T>::load(src[0], l), Lane<T>::load(src[1], l), Lane<T>::load(src[2], l), src[3].word[0][l] != 0));
}
constexpr Row div_fmas(const char* name, Type type, Lanes lanes) {
  Row row{};
  row.name = name;
  row.format = Format::Vector;
  row.flags = kReadsVcc;
  add_slot(row, Role::Dst, type);
  for (int n = 0; n < 3; ++n) add_slot(row, Role::Src, type);
  row.run = run_vector_with_vcc;
  row.lanes = lanes;
  return row;
}

constexpr Row kRows[] = {
    VOP(v_add_f32), VOP(v_sub_f32), VOP(v_subrev_f32), VOP(v_mul_f32), VOP(v_mul_legacy_f32), VOP(v_fma_f32), VOP(v_mad_f32),
    VOP_ACCUMULATE(v_fmac_f32), VOP(v_fmamk_f32), VOP(v_fmaak_f32), VOP(v_max_f32), VOP(v_min_f32), VOP(v_max3_f32), VOP(v_min3_f32),
    VOP(v_med3_f32), VOP(v_minimum3_f32), VOP(v_maximum3_f32), VOP(v_exp_f32, kNoFlush), VOP(v_log_f32, kNoFlush), VOP(v_exp_legacy_f32, kNoFlush), VOP(v_log_legacy_f32, kNoFlush), VOP(v_rcp_f32, kNoFlush),
    VOP(v_rcp_iflag_f32, kNoFlush), VOP(v_rsq_f32, kNoFlush), VOP(v_sqrt_f32, kNoFlush), VOP(v_sin_f32, kNoFlush), VOP(v_cos_f32, kNoFlush),
    VOP(v_fract_f32), VOP(v_trunc_f32), VOP(v_ceil_f32), VOP(v_floor_f32), VOP(v_rndne_f32), VOP(v_frexp_exp_i32_f32), VOP(v_frexp_mant_f32),
    VOP(v_ldexp_f32), VOP(v_div_scale_f32), VOP(v_div_fixup_f32),
    div_fmas("v_div_fmas_f32", Type::F32, &div_fmas_lanes<float, num::div_fmas_f32>),
    VOP(v_add_f64), VOP(v_mul_f64), VOP(v_fma_f64), VOP_ACCUMULATE(v_fmac_f64), VOP(v_max_f64), VOP(v_min_f64), VOP(v_rcp_f64, kNoFlush),
    VOP(v_rsq_f64, kNoFlush), VOP(v_sqrt_f64, kNoFlush), VOP(v_fract_f64), VOP(v_trunc_f64), VOP(v_ceil_f64), VOP(v_floor_f64), VOP(v_rndne_f64),
    VOP(v_frexp_exp_i32_f64), VOP(v_frexp_mant_f64), VOP(v_ldexp_f64), VOP(v_div_scale_f64), VOP(v_div_fixup_f64),
    VOP(v_trig_preop_f64, kNoFlush), div_fmas("v_div_fmas_f64", Type::F64, &div_fmas_lanes<double, num::div_fmas_f64>),
};

}  // namespace

Rows float_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
