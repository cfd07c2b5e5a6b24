// Double-precision series, independent of the host's libm.
#include "transcendental.h"

#include <cstring>

namespace gfx950::numerics {

namespace {

// log2 of a positive finite double: m in [sqrt(1/2), sqrt(2)), log2 m = 2/ln2 * atanh((m-1)/(m+1)).
double log2_series(double x) {
    int e = 0;
    double m = std::frexp(x, &e);
    if (m < 0.70710678118654752440) {
        m *= 2;
        --e;
    }
    double s = (m - 1) / (m + 1), z = s * s, sum = 0;
    for (int k = 21; k >= 1; k -= 2) sum = sum * z + 1.0 / k;  // z <= 0.0295: the first dropped term is below 2^-60
    return e + s * sum * 2.88539008177792681472;               // 2/ln 2
}

// 2^x for the f16 form.
double exp2_series(double x) {
    double n = std::floor(x + 0.5), y = (x - n) * 0.69314718055994530942, sum = 1;
    for (int k = 14; k >= 1; --k) sum = sum * y / k + 1;
    return std::scalbn(sum, static_cast<int>(n));
}

// sin and cos of 2 pi x: whole turns and quarter turns leave exactly, then Taylor over [-pi/4, pi/4].
double sin_turns(double x, int quarter_offset) {
    double r = x - std::floor(x + 0.5), q = std::floor(4 * r + 0.5);
    double a = (r - q / 4) * 6.28318530717958647693, z = a * a;
    int quadrant = (static_cast<int>(q) + quarter_offset) & 3;
    double sum = 0;
    if (quadrant & 1) {
        for (int k = 16; k >= 2; k -= 2) sum = (sum + 1) * (-z / (k * (k - 1)));
        sum += 1;
    } else {
        for (int k = 17; k >= 3; k -= 2) sum = (sum + 1) * (-z / (k * (k - 1)));
        sum = (sum + 1) * a;
    }
    return quadrant & 2 ? -sum : sum;
}

uint16_t to_f16(double x) { return static_cast<uint16_t>(encode(Format::kF16, x)); }

// Correctly rounded f32 of a double needs no help from here: a cast rounds to nearest even (HostFloatScope).
float log_of(float x) {
    if (is_nan(x)) return quiet(x);
    if (x == 0) return float_of(0xff800000u);
    if (x < 0) return float_of(kQuietNanF32);
    if (is_inf(x)) return x;
    return static_cast<float>(log2_series(x));
}
float rsq_of(float x) {
    if (is_nan(x)) return quiet(x);
    if (x == 0) return float_of((bits_of(x) & 0x80000000u) | 0x7f800000u);
    if (x < 0) return float_of(kQuietNanF32);
    return static_cast<float>(1.0 / std::sqrt(double{x}));
}
float sqrt_of(float x) {
    if (is_nan(x)) return quiet(x);
    if (x < 0) return float_of(kQuietNanF32);
    return static_cast<float>(std::sqrt(double{x}));
}
float turns_of(float x, int quarter_offset, float outside) {
    if (is_nan(x)) return quiet(x);
    if (is_inf(x)) return float_of(kQuietNanF32);
    if (std::fabs(x) > 256.0f) return outside;
    if (x == 0) return quarter_offset ? 1.0f : x;
    return static_cast<float>(sin_turns(x, quarter_offset));
}

}  // namespace

void exp_f32_row(const uint32_t* in, uint32_t* out) {
    uint32_t row[64];  // out may be in
    for (int l = 0; l < 64; ++l) row[l] = bits_of(exp_f32(float_of(in[l])));
    std::memcpy(out, row, sizeof row);
}

float log_f32(float x) { return log_of(flush_denormal(x)); }
float rcp_f32(float x) {
    if (is_nan(x)) return quiet(x);
    return flush_denormal(1.0f / flush_denormal(x));
}
float rsq_f32(float x) { return rsq_of(flush_denormal(x)); }
float sqrt_f32(float x) { return sqrt_of(flush_denormal(x)); }
float sin_f32(float x) { return turns_of(x, 0, 0.0f); }
float cos_f32(float x) { return turns_of(x, 1, 1.0f); }

uint16_t exp_f16(uint16_t h) {
    float x = f16_to_f32(h);
    if (is_nan(x)) return f32_to_f16(x);
    if (x > 100.0f) return 0x7c00;
    if (x < -100.0f) return 0;
    return to_f16(exp2_series(x));
}
uint16_t log_f16(uint16_t h) { return f32_to_f16(log_of(f16_to_f32(h))); }
uint16_t rcp_f16(uint16_t h) {
    float x = f16_to_f32(h);
    return is_nan(x) ? f32_to_f16(x) : to_f16(1.0 / x);
}
uint16_t rsq_f16(uint16_t h) {
    float x = f16_to_f32(h);
    return is_nan(x) || x <= 0 ? f32_to_f16(rsq_of(x)) : to_f16(1.0 / std::sqrt(double{x}));
}
uint16_t sqrt_f16(uint16_t h) {
    float x = f16_to_f32(h);
    return is_nan(x) || x < 0 ? f32_to_f16(sqrt_of(x)) : to_f16(std::sqrt(double{x}));
}
uint16_t sin_f16(uint16_t h) { return f32_to_f16(turns_of(f16_to_f32(h), 0, 0.0f)); }
uint16_t cos_f16(uint16_t h) { return f32_to_f16(turns_of(f16_to_f32(h), 1, 1.0f)); }

double rcp_f64(double x) { return is_nan(x) ? quiet(x) : 1.0 / x; }
double rsq_f64(double x) {
    if (is_nan(x)) return quiet(x);
    if (x == 0) return double_of((bits_of(x) & (1ull << 63)) | 0x7ff0000000000000ull);
    if (x < 0) return double_of(kQuietNanF64);
    return 1.0 / std::sqrt(x);
}
double sqrt_f64(double x) {
    if (is_nan(x)) return quiet(x);
    if (x < 0) return double_of(kQuietNanF64);
    return std::sqrt(x);
}

}  // namespace gfx950::numerics
