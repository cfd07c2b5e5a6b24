// Float VALU semantics that a C++ operator does not give, named like the mnemonic without its "v_".
// Owns: min/max families, rounding, frexp/ldexp, the division helpers, classes; f32, f64 and f16 (as bits).
// EXEC, modifiers (abs, neg, omod, clamp) and denormal modes belong to the caller. Rules: CDNA3 ISA reference, chapter 12
// pseudo code, unless a line says otherwise. add, mul, fma and pk_ forms are the C++ operators and std::fma.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "bits.h"
#include "formats.h"

namespace gfx950::numerics {

template <class T> struct FloatFields;
template <> struct FloatFields<float> {
    using Bits = uint32_t;
    static constexpr int kMantissa = 23, kBias = 127, kMax = 255;
};
template <> struct FloatFields<double> {
    using Bits = uint64_t;
    static constexpr int kMantissa = 52, kBias = 1023, kMax = 2047;
};

template <class T> int exponent_field(T x) {
    return static_cast<int>((bits_of(x) >> FloatFields<T>::kMantissa) & FloatFields<T>::kMax);
}
template <class T> bool sign_of(T x) { return bits_of(x) >> (sizeof(T) * 8 - 1); }
template <class T> T signed_value(bool negative, T magnitude) {
    using B = typename FloatFields<T>::Bits;
    B top = B{1} << (sizeof(T) * 8 - 1), b = bits_of(magnitude) & ~top;
    return std::bit_cast<T>(static_cast<B>(b | (negative ? top : 0)));
}

// --- min and max. `ieee` is MODE.IEEE (rsrc1 bit 23): it makes a signalling NaN the (quieted) result. -0 < +0.
template <class T> T min_num(T a, T b, bool ieee = true) {
    if (ieee && is_signaling(a)) return quiet(a);
    if (ieee && is_signaling(b)) return quiet(b);
    if (is_nan(a)) return b;
    if (is_nan(b)) return a;
    if (a == b) return sign_of(a) ? a : b;
    return a < b ? a : b;
}
template <class T> T max_num(T a, T b, bool ieee = true) {
    if (ieee && is_signaling(a)) return quiet(a);
    if (ieee && is_signaling(b)) return quiet(b);
    if (is_nan(a)) return b;
    if (is_nan(b)) return a;
    if (a == b) return sign_of(a) ? b : a;
    return a > b ? a : b;
}
// v_minimum3/v_maximum3 (gfx950): IEEE 754-2019 minimum/maximum, a NaN wins.
template <class T> T minimum(T a, T b) {
    if (is_nan(a)) return quiet(a);
    if (is_nan(b)) return quiet(b);
    return min_num(a, b, false);
}
template <class T> T maximum(T a, T b) {
    if (is_nan(a)) return quiet(a);
    if (is_nan(b)) return quiet(b);
    return max_num(a, b, false);
}
inline float min_f32(float a, float b, bool ieee = true) { return min_num(a, b, ieee); }
inline float max_f32(float a, float b, bool ieee = true) { return max_num(a, b, ieee); }
inline double min_f64(double a, double b, bool ieee = true) { return min_num(a, b, ieee); }
inline double max_f64(double a, double b, bool ieee = true) { return max_num(a, b, ieee); }
inline float min3_f32(float a, float b, float c, bool ieee = true) { return min_num(min_num(a, b, ieee), c, ieee); }
inline float max3_f32(float a, float b, float c, bool ieee = true) { return max_num(max_num(a, b, ieee), c, ieee); }
inline float minimum3_f32(float a, float b, float c) { return minimum(minimum(a, b), c); }
inline float maximum3_f32(float a, float b, float c) { return maximum(maximum(a, b), c); }
inline float med3_f32(float a, float b, float c, bool ieee = true) {
    if (is_nan(a) || is_nan(b) || is_nan(c)) return min3_f32(a, b, c, ieee);
    float top = max3_f32(a, b, c, ieee);
    if (bits_of(top) == bits_of(a)) return max_num(b, c, ieee);
    if (bits_of(top) == bits_of(b)) return max_num(a, c, ieee);
    return max_num(a, b, ieee);
}

// --- f16 on bits: widen, operate exactly, narrow. Selections return one of their inputs, so no rounding happens.
template <class F> uint16_t select_f16(F f, uint16_t a, uint16_t b) {
    auto wide = [](uint16_t h) {  // keeps a signalling NaN signalling
        float w = f16_to_f32(h);
        return is_nan_f16(h) && !(h & 0x200) ? float_of(bits_of(w) & ~0x00400000u) : w;
    };
    return f32_to_f16(f(wide(a), wide(b)));
}
inline uint16_t min_f16(uint16_t a, uint16_t b, bool ieee = true) {
    return select_f16([=](float x, float y) { return min_num(x, y, ieee); }, a, b);
}
inline uint16_t max_f16(uint16_t a, uint16_t b, bool ieee = true) {
    return select_f16([=](float x, float y) { return max_num(x, y, ieee); }, a, b);
}
inline uint16_t minimum_f16(uint16_t a, uint16_t b) { return select_f16([](float x, float y) { return minimum(x, y); }, a, b); }
inline uint16_t maximum_f16(uint16_t a, uint16_t b) { return select_f16([](float x, float y) { return maximum(x, y); }, a, b); }
inline uint16_t minimum3_f16(uint16_t a, uint16_t b, uint16_t c) { return minimum_f16(minimum_f16(a, b), c); }
inline uint16_t maximum3_f16(uint16_t a, uint16_t b, uint16_t c) { return maximum_f16(maximum_f16(a, b), c); }
inline uint16_t min3_f16(uint16_t a, uint16_t b, uint16_t c, bool ieee = true) { return min_f16(min_f16(a, b, ieee), c, ieee); }
inline uint16_t max3_f16(uint16_t a, uint16_t b, uint16_t c, bool ieee = true) { return max_f16(max_f16(a, b, ieee), c, ieee); }
inline uint16_t med3_f16(uint16_t a, uint16_t b, uint16_t c, bool ieee = true) {
    if (is_nan_f16(a) || is_nan_f16(b) || is_nan_f16(c)) return min3_f16(a, b, c, ieee);
    return f32_to_f16(med3_f32(f16_to_f32(a), f16_to_f32(b), f16_to_f32(c), ieee));
}
// Products and sums of f16 are exact in double but for sums of far apart exponents, where double still has 53 bits: the f16
// result of one operation is the correctly rounded one (2*11+2 <= 53). A fused multiply-add has up to 22 product bits and an
// addend at most 2^40 away from the product's last bit: 22+40 > 53, so its sum is made sticky by two_sum before narrowing.
inline uint16_t add_f16(uint16_t a, uint16_t b, bool sat = false) {
    return static_cast<uint16_t>(encode(Format::kF16, double{f16_to_f32(a)} + f16_to_f32(b), sat));
}
inline uint16_t sub_f16(uint16_t a, uint16_t b, bool sat = false) { return add_f16(a, is_nan_f16(b) ? b : b ^ 0x8000, sat); }
inline uint16_t mul_f16(uint16_t a, uint16_t b, bool sat = false) {
    return static_cast<uint16_t>(encode(Format::kF16, double{f16_to_f32(a)} * f16_to_f32(b), sat));
}
uint16_t fma_f16(uint16_t a, uint16_t b, uint16_t c, bool sat = false);
// v_mad_mix/fma_mix: one f32 fma whose result may be narrowed; the caller widens its f16 operands with f16_to_f32.

// --- rounding to integers (value stays a float; -0 is kept, NaN made quiet)
template <class T> T trunc_num(T x) { return is_nan(x) ? quiet(x) : std::trunc(x); }
template <class T> T ceil_num(T x) { return is_nan(x) ? quiet(x) : std::ceil(x); }
template <class T> T floor_num(T x) { return is_nan(x) ? quiet(x) : std::floor(x); }
template <class T> T rndne_num(T x) {  // ties to even whatever the host's rounding mode
    if (is_nan(x)) return quiet(x);
    T whole = std::trunc(x), rest = std::fabs(x - whole);
    if (!(std::fabs(x) < T(1ull << FloatFields<T>::kMantissa))) return x;
    bool odd = std::fmod(whole, T(2)) != 0;
    if (rest > T(0.5) || (rest == T(0.5) && odd)) whole += sign_of(x) ? T(-1) : T(1);
    return signed_value(sign_of(x), whole);
}
// v_fract: S0 - floor(S0), never 1.0 (the largest value below one instead). ISA pseudo code: S0 + -floor(S0).
inline float fract_f32(float x) {
    if (is_nan(x)) return quiet(x);
    if (is_inf(x)) return float_of(kQuietNanF32);
    float r = x - std::floor(x);
    return r >= 1.0f ? 0x1.fffffep-1f : r;
}
inline double fract_f64(double x) {
    if (is_nan(x)) return quiet(x);
    if (is_inf(x)) return double_of(kQuietNanF64);
    double r = x - std::floor(x);
    return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
}
template <class F> uint16_t through_f32(F f, uint16_t h) { return f32_to_f16(f(f16_to_f32(h))); }
inline uint16_t trunc_f16(uint16_t h) { return through_f32(trunc_num<float>, h); }
inline uint16_t ceil_f16(uint16_t h) { return through_f32(ceil_num<float>, h); }
inline uint16_t floor_f16(uint16_t h) { return through_f32(floor_num<float>, h); }
inline uint16_t rndne_f16(uint16_t h) { return through_f32(rndne_num<float>, h); }
inline uint16_t fract_f16(uint16_t h) {
    float x = f16_to_f32(h);
    if (is_nan(x) || is_inf(x)) return f32_to_f16(fract_f32(x));
    uint16_t r = f32_to_f16(x - std::floor(x));
    return r >= 0x3c00 && r < 0x8000 ? 0x3bff : r;
}

// --- exponent and mantissa. Inf and NaN: exponent 0, mantissa the input itself (ISA V_FREXP_*).
template <class T> int frexp_exp(T x) {
    if (is_nan(x) || is_inf(x) || x == 0) return 0;
    int e = 0;
    std::frexp(x, &e);
    return e;
}
template <class T> T frexp_mant(T x) {
    if (is_nan(x)) return quiet(x);
    if (is_inf(x) || x == 0) return x;
    int e = 0;
    return std::frexp(x, &e);
}
inline int16_t frexp_exp_f16(uint16_t h) { return static_cast<int16_t>(frexp_exp(f16_to_f32(h))); }
inline uint16_t frexp_mant_f16(uint16_t h) { return f32_to_f16(frexp_mant(f16_to_f32(h))); }
inline float ldexp_f32(float x, int32_t e) {  // one rounding: the double is exact over the whole range
    if (is_nan(x)) return quiet(x);
    int c = e > 600 ? 600 : e < -600 ? -600 : e;
    return static_cast<float>(double{x} * double_of(static_cast<uint64_t>(c + 1023) << 52));
}
inline double ldexp_f64(double x, int32_t e) {
    if (is_nan(x)) return quiet(x);
    return std::scalbn(x, e > 5000 ? 5000 : e < -5000 ? -5000 : e);
}
inline uint16_t ldexp_f16(uint16_t h, int16_t e) {
    int c = e > 100 ? 100 : e < -100 ? -100 : e;
    return static_cast<uint16_t>(encode(Format::kF16, double{f16_to_f32(h)} * double_of(static_cast<uint64_t>(c + 1023) << 52)));
}

// --- division: v_div_scale, v_div_fmas, v_div_fixup. Tested as LLVM's whole sequence: the quotient is correctly rounded.
// An overflowing quotient reaches div_fixup as inf or NaN (the refinement subtracts inf from inf) and must leave as inf: the
// ISA's overflow clause is read as one on the quotient's exponent [assumption: div-fixup-overflow].
template <class T> struct Scaled {
    T value;
    bool vcc;
};
template <class T> Scaled<T> div_scale(T s0, T denominator, T numerator) {
    constexpr bool kDouble = sizeof(T) == 8;
    constexpr int kFar = kDouble ? 768 : 96, kShift = kDouble ? 128 : 64, kTiny = kDouble ? 53 : 23;
    auto up = [&](T x) { return kDouble ? T(ldexp_f64(x, kShift)) : T(ldexp_f32(static_cast<float>(x), kShift)); };
    auto down = [&](T x) { return kDouble ? T(ldexp_f64(x, -kShift)) : T(ldexp_f32(static_cast<float>(x), -kShift)); };
    bool is_denominator = bits_of(s0) == bits_of(denominator), is_numerator = bits_of(s0) == bits_of(numerator);
    if (denominator == 0 || numerator == 0) return {std::bit_cast<T>(kDouble ? typename FloatFields<T>::Bits(kQuietNanF64)
                                                                            : typename FloatFields<T>::Bits(kQuietNanF32)), false};
    if (exponent_field(numerator) - exponent_field(denominator) >= kFar) return {is_denominator ? up(s0) : s0, true};
    if (is_denormal(denominator)) return {up(s0), false};
    bool small_reciprocal = is_denormal(T(1) / denominator), small_quotient = is_denormal(numerator / denominator);
    if (small_reciprocal && small_quotient) return {is_denominator ? down(s0) : s0, true};  // up would overflow
    if (small_reciprocal) return {down(s0), false};
    if (small_quotient) return {is_numerator ? up(s0) : s0, true};
    if (exponent_field(numerator) <= kTiny) return {up(s0), false};
    return {s0, false};
}
inline Scaled<float> div_scale_f32(float a, float b, float c) { return div_scale(a, b, c); }
inline Scaled<double> div_scale_f64(double a, double b, double c) { return div_scale(a, b, c); }
// r * 2^k for an r that is fma's rounding of a sum `residual` away from it: where the result is denormal, one rounding of the
// exact sum, not two.
template <class T> T scaled_once(T r, T residual, int k) {
    using B = typename FloatFields<T>::Bits;
    constexpr int kMantissa = FloatFields<T>::kMantissa;
    int exponent = exponent_field(r);
    if (exponent == 0 || exponent == FloatFields<T>::kMax || exponent + k >= 1) return T(sizeof(T) == 8 ? ldexp_f64(r, k) : ldexp_f32(float(r), k));
    int drop = 1 - (exponent + k);
    if (drop > kMantissa + 1) return signed_value(sign_of(r), T(0));
    B significand = (bits_of(r) & ((B{1} << kMantissa) - 1)) | B{1} << kMantissa;
    B kept = significand >> drop, rest = significand & ((B{1} << drop) - 1), half = B{1} << (drop - 1);
    bool beyond = residual != 0 && sign_of(residual) == sign_of(r), short_of = residual != 0 && !beyond;
    kept += rest > half || (rest == half && (beyond || (!short_of && (kept & 1))));
    return signed_value(sign_of(r), std::bit_cast<T>(kept));
}
template <class T> T div_fmas(T a, T b, T c, bool vcc) {
    constexpr int kShift = sizeof(T) == 8 ? 128 : 64;
    T r = std::fma(a, b, c);
    if (!vcc) return r;
    T product = a * b, tail = std::fma(a, b, -product), sum = product + c, back = sum - product;
    T residual = ((product - (sum - back)) + (c - back)) + tail + (sum - r);
    return scaled_once(r, residual, exponent_field(c) > FloatFields<T>::kBias ? kShift : -kShift);
}
inline float div_fmas_f32(float a, float b, float c, bool vcc) { return div_fmas(a, b, c, vcc); }
inline double div_fmas_f64(double a, double b, double c, bool vcc) { return div_fmas(a, b, c, vcc); }
template <class T> T div_fixup(T quotient, T denominator, T numerator) {
    constexpr int kUnderflow = sizeof(T) == 8 ? -1075 : -150;
    using B = typename FloatFields<T>::Bits;
    const T infinity = std::bit_cast<T>(static_cast<B>(B{FloatFields<T>::kMax} << FloatFields<T>::kMantissa));
    const T invalid = std::bit_cast<T>(static_cast<B>(bits_of(quiet(infinity)) | B{1} << (sizeof(T) * 8 - 1)));
    bool negative = sign_of(denominator) != sign_of(numerator);
    if (is_nan(numerator)) return quiet(numerator);
    if (is_nan(denominator)) return quiet(denominator);
    if (denominator == 0 && numerator == 0) return invalid;
    if (is_inf(denominator) && is_inf(numerator)) return invalid;
    if (denominator == 0 || is_inf(numerator)) return signed_value(negative, infinity);
    if (is_inf(denominator) || numerator == 0) return signed_value(negative, T(0));
    if (exponent_field(numerator) - exponent_field(denominator) < kUnderflow) return signed_value(negative, T(0));
    if (exponent_field(quotient) == FloatFields<T>::kMax) return signed_value(negative, infinity);
    return signed_value(negative, quotient);
}
inline float div_fixup_f32(float q, float d, float n) { return div_fixup(q, d, n); }
inline double div_fixup_f64(double q, double d, double n) { return div_fixup(q, d, n); }
uint16_t div_fixup_f16(uint16_t quotient, uint16_t denominator, uint16_t numerator);

// --- v_cmp_class: bit n of `mask` asks for class n: 0 sNaN, 1 qNaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0,
// 7 +denormal, 8 +normal, 9 +inf.
template <class T> bool cmp_class(T x, uint32_t mask) {
    int c;
    if (is_nan(x)) c = is_signaling(x) ? 0 : 1;
    else if (is_inf(x)) c = sign_of(x) ? 2 : 9;
    else if (x == 0) c = sign_of(x) ? 5 : 6;
    else if (is_denormal(x)) c = sign_of(x) ? 4 : 7;
    else c = sign_of(x) ? 3 : 8;
    return mask >> c & 1;
}
bool cmp_class_f16(uint16_t h, uint32_t mask);

// v_trig_preop_f64: 1200 bits of 2/pi, 53 of them from bit S1*53 on, scaled for a large S0.
double trig_preop_f64(double x, uint32_t segment);

}  // namespace gfx950::numerics
