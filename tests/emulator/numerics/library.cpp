// The numerics as a shared object for ctypes: arrays in, arrays out, functions by name.
#include <cstring>

#include "numerics/convert.h"
#include "numerics/formats.h"
#include "numerics/mfma.h"
#include "numerics/transcendental.h"
#include "numerics/valu_float.h"

using namespace gfx950::numerics;

namespace {

template <class F> struct Named {
    const char* name;
    F* function;
};
template <class F, size_t N> F* find(const Named<F> (&table)[N], const char* name) {
    for (const Named<F>& row : table)
        if (!std::strcmp(row.name, name)) return row.function;
    return nullptr;
}

const Named<float(float)> kUnaryF32[] = {
    {"exp_f32", [](float x) { return exp_f32(x); }}, {"log_f32", log_f32}, {"rcp_f32", rcp_f32}, {"rsq_f32", rsq_f32},
    {"sqrt_f32", sqrt_f32}, {"sin_f32", sin_f32}, {"cos_f32", cos_f32}, {"fract_f32", fract_f32},
    {"trunc_f32", trunc_num<float>}, {"ceil_f32", ceil_num<float>}, {"floor_f32", floor_num<float>}, {"rndne_f32", rndne_num<float>},
    {"frexp_mant_f32", frexp_mant<float>},
    {"frexp_exp_i32_f32", [](float x) { return float_of(static_cast<uint32_t>(frexp_exp(x))); }},
    {"cvt_i32_f32", [](float x) { return float_of(static_cast<uint32_t>(cvt_i32_f32(x))); }},
    {"cvt_u32_f32", [](float x) { return float_of(cvt_u32_f32(x)); }},
    {"cvt_rpi_i32_f32", [](float x) { return float_of(static_cast<uint32_t>(cvt_rpi_i32_f32(x))); }},
    {"cvt_flr_i32_f32", [](float x) { return float_of(static_cast<uint32_t>(cvt_flr_i32_f32(x))); }},
    {"cvt_f32_i32", [](float x) { return cvt_f32_i32(static_cast<int32_t>(bits_of(x))); }},
    {"cvt_f32_u32", [](float x) { return cvt_f32_u32(bits_of(x)); }},
    {"cvt_off_f32_i4", [](float x) { return cvt_off_f32_i4(bits_of(x)); }},
    {"cvt_pk_u8_f32", [](float x) { return float_of(cvt_pk_u8_f32(x, 2, 0xaabbccdd)); }},
    {"prng_b32", [](float x) { return float_of(prng_b32(bits_of(x))); }},
};
const Named<float(float, float, float)> kTernaryF32[] = {
    {"min_f32", [](float a, float b, float) { return min_f32(a, b); }},
    {"max_f32", [](float a, float b, float) { return max_f32(a, b); }},
    {"min_f32_no_ieee", [](float a, float b, float) { return min_f32(a, b, false); }},
    {"max_f32_no_ieee", [](float a, float b, float) { return max_f32(a, b, false); }},
    {"med3_f32", [](float a, float b, float c) { return med3_f32(a, b, c); }},
    {"min3_f32", [](float a, float b, float c) { return min3_f32(a, b, c); }},
    {"max3_f32", [](float a, float b, float c) { return max3_f32(a, b, c); }},
    {"minimum3_f32", minimum3_f32}, {"maximum3_f32", maximum3_f32}, {"div_fixup_f32", div_fixup_f32},
    {"ldexp_f32", [](float a, float b, float) { return ldexp_f32(a, static_cast<int32_t>(bits_of(b))); }},
    {"cvt_pk_f16_f32", [](float a, float b, float) { return float_of(cvt_pk_f16_f32(a, b)); }},
    {"cvt_pk_bf16_f32", [](float a, float b, float) { return float_of(cvt_pk_bf16_f32(a, b)); }},
    {"cvt_pkrtz_f16_f32", [](float a, float b, float) { return float_of(cvt_pkrtz_f16_f32(a, b)); }},
    {"cvt_pk_fp8_f32", [](float a, float b, float) { return float_of(cvt_pk_fp8_f32(a, b)); }},
    {"cvt_pknorm_i16_f32", [](float a, float b, float) { return float_of(cvt_pknorm_i16_f32(a, b)); }},
    {"cvt_pknorm_u16_f32", [](float a, float b, float) { return float_of(cvt_pknorm_u16_f32(a, b)); }},
    {"cvt_pk_i16_i32", [](float a, float b, float) { return float_of(cvt_pk_i16_i32(static_cast<int32_t>(bits_of(a)), static_cast<int32_t>(bits_of(b)))); }},
    {"cvt_pk_u16_u32", [](float a, float b, float) { return float_of(cvt_pk_u16_u32(bits_of(a), bits_of(b))); }},
    // LLVM's sequence for a correctly rounded a / b with denormals on; c is not used.
    {"divide", [](float a, float b, float) {
         Scaled<float> den = div_scale_f32(b, b, a), num = div_scale_f32(a, b, a);
         float r = rcp_f32(den.value), e = std::fma(-den.value, r, 1.0f);
         r = std::fma(e, r, r);
         float q = num.value * r, f = std::fma(-den.value, q, num.value);
         q = std::fma(f, r, q);
         f = std::fma(-den.value, q, num.value);
         return div_fixup_f32(div_fmas_f32(f, r, q, num.vcc), b, a);
     }},
};
const Named<uint16_t(uint16_t)> kUnaryF16[] = {
    {"exp_f16", exp_f16}, {"log_f16", log_f16}, {"rcp_f16", rcp_f16}, {"rsq_f16", rsq_f16}, {"sqrt_f16", sqrt_f16},
    {"sin_f16", sin_f16}, {"cos_f16", cos_f16}, {"trunc_f16", trunc_f16}, {"ceil_f16", ceil_f16}, {"floor_f16", floor_f16},
    {"rndne_f16", rndne_f16}, {"fract_f16", fract_f16}, {"frexp_mant_f16", frexp_mant_f16},
    {"frexp_exp_i16_f16", [](uint16_t h) { return static_cast<uint16_t>(frexp_exp_f16(h)); }},
    {"cvt_i16_f16", [](uint16_t h) { return static_cast<uint16_t>(cvt_i16_f16(h)); }}, {"cvt_u16_f16", cvt_u16_f16},
    {"cvt_f16_i16", [](uint16_t h) { return cvt_f16_i16(static_cast<int16_t>(h)); }},
    {"cvt_f16_u16", [](uint16_t h) { return cvt_f16_u16(h); }},
    {"cvt_norm_i16_f16", [](uint16_t h) { return static_cast<uint16_t>(cvt_norm_i16_f16(h)); }}, {"cvt_norm_u16_f16", cvt_norm_u16_f16},
};
const Named<uint16_t(uint16_t, uint16_t, uint16_t)> kTernaryF16[] = {
    {"add_f16", [](uint16_t a, uint16_t b, uint16_t) { return add_f16(a, b); }},
    {"sub_f16", [](uint16_t a, uint16_t b, uint16_t) { return sub_f16(a, b); }},
    {"mul_f16", [](uint16_t a, uint16_t b, uint16_t) { return mul_f16(a, b); }},
    {"fma_f16", [](uint16_t a, uint16_t b, uint16_t c) { return fma_f16(a, b, c); }},
    {"min_f16", [](uint16_t a, uint16_t b, uint16_t) { return min_f16(a, b); }},
    {"max_f16", [](uint16_t a, uint16_t b, uint16_t) { return max_f16(a, b); }},
    {"med3_f16", [](uint16_t a, uint16_t b, uint16_t c) { return med3_f16(a, b, c); }},
    {"maximum3_f16", maximum3_f16}, {"minimum3_f16", minimum3_f16}, {"div_fixup_f16", div_fixup_f16},
    {"ldexp_f16", [](uint16_t a, uint16_t b, uint16_t) { return ldexp_f16(a, static_cast<int16_t>(b)); }},
};
const Named<double(double, double, double)> kF64[] = {
    {"rcp_f64", [](double a, double, double) { return rcp_f64(a); }}, {"rsq_f64", [](double a, double, double) { return rsq_f64(a); }},
    {"sqrt_f64", [](double a, double, double) { return sqrt_f64(a); }}, {"fract_f64", [](double a, double, double) { return fract_f64(a); }},
    {"rndne_f64", [](double a, double, double) { return rndne_num(a); }},
    {"min_f64", [](double a, double b, double) { return min_f64(a, b); }}, {"max_f64", [](double a, double b, double) { return max_f64(a, b); }},
    {"ldexp_f64", [](double a, double b, double) { return ldexp_f64(a, static_cast<int32_t>(b)); }},
    {"frexp_mant_f64", [](double a, double, double) { return frexp_mant(a); }},
    {"frexp_exp_f64", [](double a, double, double) { return double(frexp_exp(a)); }},
    {"cvt_i32_f64", [](double a, double, double) { return double(cvt_i32_f64(a)); }}, {"cvt_u32_f64", [](double a, double, double) { return double(cvt_u32_f64(a)); }},
    {"trig_preop_f64", [](double a, double b, double) { return trig_preop_f64(a, static_cast<uint32_t>(b)); }},
    {"divide", [](double a, double b, double) {
         Scaled<double> den = div_scale_f64(b, b, a), num = div_scale_f64(a, b, a);
         double r = rcp_f64(den.value);
         for (int i = 0; i < 2; ++i) r = std::fma(std::fma(-den.value, r, 1.0), r, r);
         double q = num.value * r;
         return div_fixup_f64(div_fmas_f64(std::fma(-den.value, q, num.value), r, q, num.vcc), b, a);
     }},
};

}  // namespace

#define API extern "C" __attribute__((visibility("default")))

API bool unary_f32(const char* name, const uint32_t* in, uint32_t* out, size_t n) {
    HostFloatScope scope;
    auto* f = find(kUnaryF32, name);
    if (!f) return false;
    for (size_t i = 0; i < n; ++i) out[i] = bits_of(f(float_of(in[i])));
    return true;
}
API bool ternary_f32(const char* name, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* out, size_t n) {
    HostFloatScope scope;
    auto* f = find(kTernaryF32, name);
    if (!f) return false;
    for (size_t i = 0; i < n; ++i) out[i] = bits_of(f(float_of(a[i]), float_of(b[i]), float_of(c[i])));
    return true;
}
API bool unary_f16(const char* name, const uint16_t* in, uint16_t* out, size_t n) {
    HostFloatScope scope;
    auto* f = find(kUnaryF16, name);
    if (!f) return false;
    for (size_t i = 0; i < n; ++i) out[i] = f(in[i]);
    return true;
}
API bool ternary_f16(const char* name, const uint16_t* a, const uint16_t* b, const uint16_t* c, uint16_t* out, size_t n) {
    HostFloatScope scope;
    auto* f = find(kTernaryF16, name);
    if (!f) return false;
    for (size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i], c[i]);
    return true;
}
API bool ternary_f64(const char* name, const double* a, const double* b, const double* c, double* out, size_t n) {
    HostFloatScope scope;
    auto* f = find(kF64, name);
    if (!f) return false;
    for (size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i], c[i]);
    return true;
}
API void decode_codes(int format, const uint32_t* codes, float* out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = decode(static_cast<Format>(format), codes[i]);
}
API void encode_values(int format, const double* x, bool saturate, int rounding, const uint32_t* random, uint32_t* out, size_t n) {
    for (size_t i = 0; i < n; ++i)
        out[i] = encode(static_cast<Format>(format), x[i], saturate, static_cast<Rounding>(rounding), random ? random[i] : 0);
}
// The inline f32 forms, which must agree with encode().
API void encode_f32(int format, const float* x, bool saturate, uint32_t* out, size_t n) {
    HostFloatScope scope;
    for (size_t i = 0; i < n; ++i) switch (static_cast<Format>(format)) {
            case Format::kFp8: out[i] = f32_to_fp8(x[i], saturate); break;
            case Format::kBf8: out[i] = f32_to_bf8(x[i], saturate); break;
            case Format::kF16: out[i] = f32_to_f16(x[i], saturate); break;
            case Format::kBf16: out[i] = f32_to_bf16(x[i]); break;
            default: out[i] = 0xffffffff;
        }
}
API double e8m0(uint32_t code) { return e8m0_to_f64(code); }
API float scalef32_from(int format, uint32_t code, float scale) { return cvt_scalef32_f32(static_cast<Format>(format), code, scale); }
API uint32_t scalef32_to(int format, float x, float scale, bool saturate) { return cvt_scalef32_to(static_cast<Format>(format), x, scale, saturate); }
API bool class_f32(uint32_t x, uint32_t mask) { return cmp_class(float_of(x), mask); }
API bool class_f16(uint16_t x, uint32_t mask) { return cmp_class_f16(x, mask); }
API void exp_row(const uint32_t* in, uint32_t* out) {
    HostFloatScope scope;
    exp_f32_row(in, out);
}
API void packed_row(int format, const uint32_t* a, const uint32_t* b, uint32_t* out, bool saturate) {
    HostFloatScope scope;
    if (format == 0) cvt_pk_fp8_f32_row(a, b, out, saturate);
    if (format == 1) cvt_pk_bf8_f32_row(a, b, out, saturate);
    if (format == 6) cvt_pk_bf16_f32_row(a, b, out);
}
API void packed_codes(int bits, const uint32_t* codes, int count, uint32_t* words, uint32_t* back) {
    for (int i = 0; i < count; ++i) set_packed_element(words, bits, i, codes[i]);
    for (int i = 0; i < count; ++i) back[i] = packed_element(words, bits, i);
}
API size_t mfma_count() { return mfma_rows_end() - mfma_rows_begin(); }
API const char* mfma_name(size_t i) { return mfma_rows_begin()[i].mnemonic; }
API bool mfma_operands(const char* name, int* a, int* b, int* c, int* d) {
    const MfmaRow* row = find_mfma(name);
    if (!row) return false;
    *a = row->a_rows, *b = row->b_rows, *c = row->c_rows, *d = row->d_rows;
    return true;
}
API bool mfma_run(const char* name, const Row* a, const Row* b, const Row* c, Row* d, int cbsz, int abid, int blgp, const uint32_t* index) {
    HostFloatScope scope;
    const MfmaRow* row = find_mfma(name);
    if (!row) return false;
    row->run(a, b, c, d, {cbsz, abid, blgp}, index);
    return true;
}
API void mfma_scaled(int m, const Row* a, int format_a, const Row* b, int format_b, const Row* c, Row* d, const uint8_t* scale_a, const uint8_t* scale_b) {
    HostFloatScope scope;
    mfma_f8f6f4(m, a, static_cast<Format>(format_a), b, static_cast<Format>(format_b), c, d, scale_a, scale_b);
}
