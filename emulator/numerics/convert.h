// v_cvt_*: one lane at a time, named like the mnemonic without its "v_".
// Owns: integer/float conversions and their saturation, packed conversions, the scaled (scalef32) and stochastic ones.
// op_sel (which half or byte is read or written) belongs to the caller unless the name says a selector.
// Rules: CDNA3 ISA reference chapter 12; gfx950's own from the CDNA4 one. FP16_OVFL is the `saturate` argument.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "bits.h"
#include "formats.h"
#include "valu_float.h"

namespace gfx950::numerics {

// --- float to integer: toward zero, out of range to the nearest bound, NaN to 0
template <class I, class T> I saturating_int(T x) {
    constexpr T low = static_cast<T>(std::numeric_limits<I>::min());
    constexpr double high = static_cast<double>(std::numeric_limits<I>::max());
    if (is_nan(x)) return 0;
    if (x <= low) return std::numeric_limits<I>::min();
    if (static_cast<double>(x) >= high) return std::numeric_limits<I>::max();
    return static_cast<I>(x);
}
inline int32_t cvt_i32_f32(float x) { return saturating_int<int32_t>(x); }
inline uint32_t cvt_u32_f32(float x) { return saturating_int<uint32_t>(x); }
inline int32_t cvt_i32_f64(double x) { return saturating_int<int32_t>(x); }
inline uint32_t cvt_u32_f64(double x) { return saturating_int<uint32_t>(x); }
inline int16_t cvt_i16_f16(uint16_t h) { return saturating_int<int16_t>(f16_to_f32(h)); }
inline uint16_t cvt_u16_f16(uint16_t h) { return saturating_int<uint16_t>(f16_to_f32(h)); }
inline int32_t cvt_rpi_i32_f32(float x) { return saturating_int<int32_t>(is_nan(x) ? x : std::floor(x + 0.5f)); }
inline int32_t cvt_flr_i32_f32(float x) { return saturating_int<int32_t>(is_nan(x) ? x : std::floor(x)); }

// --- integer to float
inline float cvt_f32_i32(int32_t x) { return static_cast<float>(x); }
inline float cvt_f32_u32(uint32_t x) { return static_cast<float>(x); }
inline double cvt_f64_i32(int32_t x) { return x; }
inline double cvt_f64_u32(uint32_t x) { return x; }
inline uint16_t cvt_f16_i16(int16_t x) { return f32_to_f16(x); }
inline uint16_t cvt_f16_u16(uint16_t x, bool saturate = false) { return f32_to_f16(x, saturate); }
inline float cvt_f32_ubyte(uint32_t x, int byte) { return static_cast<float>(x >> (8 * byte) & 0xff); }
inline float cvt_off_f32_i4(uint32_t x) { return static_cast<float>(static_cast<int32_t>(x << 28) >> 28) * 0.0625f; }

// --- float to float
inline float cvt_f32_f16(uint16_t h) { return f16_to_f32(h); }
inline uint16_t cvt_f16_f32(float x, bool saturate = false) { return f32_to_f16(x, saturate); }
inline float cvt_f32_bf16(uint16_t h) { return bf16_to_f32(h); }
inline float cvt_f32_f64(double x) { return static_cast<float>(x); }
inline double cvt_f64_f32(float x) { return is_nan(x) ? double{quiet(x)} : double{x}; }
inline float cvt_f32_fp8(uint32_t x, int byte) { return decode(Format::kFp8, x >> (8 * byte) & 0xff); }
inline float cvt_f32_bf8(uint32_t x, int byte) { return decode(Format::kBf8, x >> (8 * byte) & 0xff); }

// --- packed: the first source is the low part
inline uint32_t pack16(uint32_t low, uint32_t high) { return (low & 0xffff) | high << 16; }
inline uint32_t cvt_pk_f16_f32(float a, float b, bool saturate = false) { return pack16(f32_to_f16(a, saturate), f32_to_f16(b, saturate)); }
inline uint32_t cvt_pk_bf16_f32(float a, float b) { return pack16(f32_to_bf16(a), f32_to_bf16(b)); }
inline uint32_t cvt_pkrtz_f16_f32(float a, float b) {
    return pack16(encode(Format::kF16, a, false, Rounding::kTowardZero), encode(Format::kF16, b, false, Rounding::kTowardZero));
}
// 16 bits: the caller puts them into the half that op_sel[2] names and keeps the other.
inline uint16_t cvt_pk_fp8_f32(float a, float b, bool saturate = false) {
    return static_cast<uint16_t>(f32_to_fp8(a, saturate) | f32_to_fp8(b, saturate) << 8);
}
inline uint16_t cvt_pk_bf8_f32(float a, float b, bool saturate = false) {
    return static_cast<uint16_t>(f32_to_bf8(a, saturate) | f32_to_bf8(b, saturate) << 8);
}
// 64 lanes, vectorised by the host: out[l] = cvt_pk_*(a[l], b[l]) in the low 16 bits (bf16: all 32). out may be a or b.
void cvt_pk_fp8_f32_row(const uint32_t* a, const uint32_t* b, uint32_t* out, bool saturate);
void cvt_pk_bf8_f32_row(const uint32_t* a, const uint32_t* b, uint32_t* out, bool saturate);
void cvt_pk_bf16_f32_row(const uint32_t* a, const uint32_t* b, uint32_t* out);

inline uint32_t cvt_pk_i16_i32(int32_t a, int32_t b) {
    auto clamp = [](int32_t v) { return static_cast<uint32_t>(v < -32768 ? -32768 : v > 32767 ? 32767 : v); };
    return pack16(clamp(a), clamp(b));
}
inline uint32_t cvt_pk_u16_u32(uint32_t a, uint32_t b) { return pack16(a > 65535 ? 65535 : a, b > 65535 ? 65535 : b); }
inline int16_t snorm16(float x) {  // round(clamp(x, -1, 1) * 32767), nearest even; NaN 0
    if (is_nan(x)) return 0;
    return static_cast<int16_t>(rndne_num(double{x < -1 ? -1.0f : x > 1 ? 1.0f : x} * 32767.0));
}
inline uint16_t unorm16(float x) {
    if (is_nan(x)) return 0;
    return static_cast<uint16_t>(rndne_num(double{x < 0 ? 0.0f : x > 1 ? 1.0f : x} * 65535.0));
}
inline uint32_t cvt_pknorm_i16_f32(float a, float b) { return pack16(static_cast<uint16_t>(snorm16(a)), static_cast<uint16_t>(snorm16(b))); }
inline uint32_t cvt_pknorm_u16_f32(float a, float b) { return pack16(unorm16(a), unorm16(b)); }
inline uint32_t cvt_pknorm_i16_f16(uint16_t a, uint16_t b) { return cvt_pknorm_i16_f32(f16_to_f32(a), f16_to_f32(b)); }
inline uint32_t cvt_pknorm_u16_f16(uint16_t a, uint16_t b) { return cvt_pknorm_u16_f32(f16_to_f32(a), f16_to_f32(b)); }
inline int16_t cvt_norm_i16_f16(uint16_t h) { return snorm16(f16_to_f32(h)); }
inline uint16_t cvt_norm_u16_f16(uint16_t h) { return unorm16(f16_to_f32(h)); }
inline uint32_t cvt_pk_u8_f32(float x, uint32_t byte, uint32_t into) {
    uint32_t v = is_nan(x) ? 0 : saturating_int<uint8_t>(rndne_num(x)), shift = 8 * (byte & 3);
    return (into & ~(0xffu << shift)) | v << shift;
}

// --- stochastic rounding (8 bits, or 16): `random` is S1. The caller places the byte that op_sel names.
inline uint8_t cvt_sr_fp8_f32(float x, uint32_t random, bool saturate = false) {
    return static_cast<uint8_t>(encode(Format::kFp8, x, saturate, Rounding::kStochastic, random));
}
inline uint8_t cvt_sr_bf8_f32(float x, uint32_t random, bool saturate = false) {
    return static_cast<uint8_t>(encode(Format::kBf8, x, saturate, Rounding::kStochastic, random));
}
inline uint16_t cvt_sr_f16_f32(float x, uint32_t random, bool saturate = false) {
    return static_cast<uint16_t>(encode(Format::kF16, x, saturate, Rounding::kStochastic, random));
}
inline uint16_t cvt_sr_bf16_f32(float x, uint32_t random) {
    return static_cast<uint16_t>(encode(Format::kBf16, x, false, Rounding::kStochastic, random));
}

// --- v_cvt_scalef32_*: only the exponent field of the scale counts: 2^(field - 127), 255 is NaN (as an e8m0 would be).
// From a small format the value is multiplied, to one it is divided, before the one rounding. [assumption: scalef32-exponent]
inline double scale_of(float scale) { return e8m0_to_f64(bits_of(scale) >> 23 & 0xff); }
inline float cvt_scalef32_f32(Format from, uint32_t code, float scale) { return static_cast<float>(double{decode(from, code)} * scale_of(scale)); }
inline uint16_t cvt_scalef32_f16(Format from, uint32_t code, float scale, bool saturate = false) {
    return static_cast<uint16_t>(encode(Format::kF16, double{decode(from, code)} * scale_of(scale), saturate));
}
inline uint16_t cvt_scalef32_bf16(Format from, uint32_t code, float scale) {
    return static_cast<uint16_t>(encode(Format::kBf16, double{decode(from, code)} * scale_of(scale)));
}
// x is the source widened to f32 (f16_to_f32, bf16_to_f32).
inline uint32_t cvt_scalef32_to(Format to, float x, float scale, bool saturate = false) {
    return encode(to, double{x} / scale_of(scale), saturate);
}
inline uint32_t cvt_scalef32_sr_to(Format to, float x, uint32_t random, float scale, bool saturate = false) {
    return encode(to, double{x} / scale_of(scale), saturate, Rounding::kStochastic, random);
}
// Element `index` of a packed string of `bits`-wide codes, low bits first (the pk32 forms: 32 codes in 6 registers).
inline uint32_t packed_element(const uint32_t* words, int bits, int index) {
    int at = bits * index, word = at / 32, shift = at % 32;
    uint64_t pair = words[word];
    if (shift + bits > 32) pair |= static_cast<uint64_t>(words[word + 1]) << 32;
    return static_cast<uint32_t>(pair >> shift) & ((1u << bits) - 1);
}
inline void set_packed_element(uint32_t* words, int bits, int index, uint32_t code) {  // ORs into zeroed words
    int at = bits * index, word = at / 32, shift = at % 32;
    words[word] |= code << shift;
    if (shift + bits > 32) words[word + 1] |= code >> (32 - shift);
}

}  // namespace gfx950::numerics
