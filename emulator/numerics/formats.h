// The small float formats of gfx950: what a code means, and the code nearest to a value.
// Owns: fp8 e4m3fn, bf8 e5m2, fp6 e2m3, bf6 e3m2, fp4 e2m1, e8m0, f16, bf16.
// Refuses nothing: a code has only the bits of its format; callers mask.
// Sources: OCP 8-bit floating point 1.0, OCP Microscaling (MX) 1.0, IEEE 754 binary16; NaN and saturation: see encode().
#pragma once

#include <cstdint>

#include "bits.h"

namespace gfx950::numerics {

// The first five in the order of the cbsz/blgp fields of v_mfma_*_f8f6f4.
enum class Format : uint8_t { kFp8 = 0, kBf8 = 1, kFp6 = 2, kBf6 = 3, kFp4 = 4, kF16 = 5, kBf16 = 6 };

struct FormatTraits {
    int bits, mantissa, bias;
    bool has_inf;       // e5m2, f16, bf16: exponent all ones is inf or NaN
    bool has_nan;       // e4m3fn: only S.1111.111
    uint32_t max_code;  // greatest finite magnitude
    uint32_t nan_code;  // quiet NaN without sign
    uint32_t inf_code;
};

constexpr FormatTraits traits_of(Format f) {
    switch (f) {
        case Format::kFp8: return {8, 3, 7, false, true, 0x7e, 0x7f, 0};
        case Format::kBf8: return {8, 2, 15, true, true, 0x7b, 0x7f, 0x7c};
        case Format::kFp6: return {6, 3, 1, false, false, 0x1f, 0, 0};
        case Format::kBf6: return {6, 2, 3, false, false, 0x1f, 0, 0};
        case Format::kFp4: return {4, 1, 1, false, false, 0x7, 0, 0};
        case Format::kF16: return {16, 10, 15, true, true, 0x7bff, 0x7e00, 0x7c00};
        case Format::kBf16: return {16, 7, 127, true, true, 0x7f7f, 0x7fc0, 0x7f80};
    }
    return {};
}

// Exact, branch-free (loops over lanes vectorise) and without host denormals. A NaN of an 8-bit format is 0x7fc00000 with its
// sign. `code` may have bits above the format's.
template <Format format> inline float decode_small(uint32_t code) {
    constexpr FormatTraits t = traits_of(format);
    static_assert(t.bits <= 8);
    constexpr uint32_t kLowest = 1u << t.mantissa;  // the first normal magnitude
    constexpr float kStep = std::bit_cast<float>(static_cast<uint32_t>(1 - t.bias - t.mantissa + 127) << 23);
    uint32_t sign = (code >> (t.bits - 1) & 1) << 31, magnitude = code & ((1u << (t.bits - 1)) - 1);
    uint32_t normal = (magnitude << (23 - t.mantissa)) + (static_cast<uint32_t>(127 - t.bias) << 23);
    uint32_t small = bits_of(static_cast<float>(static_cast<int32_t>(magnitude)) * kStep);
    uint32_t bits = magnitude < kLowest ? small : normal;
    if constexpr (format == Format::kFp8) bits = magnitude == 0x7f ? kQuietNanF32 : bits;
    if constexpr (format == Format::kBf8) bits = magnitude > 0x7c ? kQuietNanF32 : magnitude == 0x7c ? 0x7f800000u : bits;
    return float_of(sign | bits);
}

// The same with the format as a value. f16 and bf16 NaNs keep their payload and are made quiet.
float decode(Format format, uint32_t code);

inline float f16_to_f32(uint16_t h) {
    uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, mag = h & 0x7fff;
    if (mag >= 0x7c00) return float_of(sign | 0x7f800000u | (mag > 0x7c00 ? 0x00400000u | (mag & 0x3ff) << 13 : 0));
    // Scaling by 2^112 moves the exponent's bias and normalises a subnormal; both exact.
    return float_of(sign | bits_of(float_of(mag << 13) * 0x1p112f));
}
inline float bf16_to_f32(uint16_t h) {
    uint32_t b = static_cast<uint32_t>(h) << 16;
    return float_of((b & 0x7fffffffu) > 0x7f800000u ? b | 0x00400000u : b);
}

enum class Rounding : uint8_t { kNearestEven, kTowardZero, kUp, kDown, kStochastic };

// The code for x. `x` is double because f32, f16 and bf16 divided by a power of two are exact in it.
// kStochastic adds the top bits of `random` to the dropped bits and truncates (v_cvt_sr_*: S1[31:12] for f32 to fp8).
// Overflow: `saturate` (MODE.FP16_OVFL) gives the greatest finite value, else inf, or NaN where the format has no inf;
// fp6 and fp4 have neither and always saturate. An infinite x follows the same rule. NaN stays NaN (quiet, sign kept); in
// fp6 and fp4, which have none, it gives the greatest magnitude of its sign [assumption: fp6-fp4-nan].
uint32_t encode(Format format, double x, bool saturate = false, Rounding rounding = Rounding::kNearestEven, uint32_t random = 0);

// 2^(code-127); 255 is NaN (OCP MX 1.0, 5.4.1).
inline double e8m0_to_f64(uint32_t code) {
    if ((code & 0xff) == 0xff) return double_of(kQuietNanF64);
    return double_of(static_cast<uint64_t>((code & 0xff) - 127 + 1023) << 52);
}

// f32 to f16 and bf16, nearest even, NaN quiet with the payload's top bits. Inline: these are in inner loops.
inline uint16_t f32_to_f16(float x, bool saturate = false) {
    uint32_t b = bits_of(x), sign = (b >> 16) & 0x8000u, mag = b & 0x7fffffffu;
    uint32_t nan = 0x7e00u | ((mag >> 13) & 0x3ffu);
    uint32_t normal = (mag + 0xfffu + ((mag >> 13) & 1u) - (112u << 23)) >> 13;
    uint32_t tiny = bits_of(float_of(mag) + 0.5f) - bits_of(0.5f);  // below 2^-14: the ulp of 0.5 is 2^-24
    uint32_t top = saturate && mag != 0x7f800000u ? 0x7bffu : 0x7c00u;
    uint32_t r = mag > 0x7f800000u ? nan : mag >= 0x477ff000u ? top : mag < 0x38800000u ? tiny : normal;
    return static_cast<uint16_t>(sign | r);
}
inline uint16_t f32_to_bf16(float x) {
    uint32_t b = bits_of(x);
    uint32_t r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
    return static_cast<uint16_t>((b & 0x7fffffffu) > 0x7f800000u ? (b >> 16) | 0x40u : r);
}
inline uint8_t f32_to_fp8(float x, bool saturate = false) {
    uint32_t b = bits_of(x), sign = (b >> 24) & 0x80u, mag = b & 0x7fffffffu;
    uint32_t normal = ((mag + 0x7ffffu + ((mag >> 20) & 1u)) >> 20) - (120u << 3);
    uint32_t tiny = bits_of(float_of(mag) + 0x1p14f) - bits_of(0x1p14f);  // below 2^-6: the ulp of 2^14 is 2^-9
    uint32_t top = saturate && mag <= 0x7f800000u ? 0x7eu : 0x7fu;
    uint32_t r = mag > 0x43e80000u ? top : mag < 0x3c800000u ? tiny : normal;  // 464 ties to 448 (docs/emulator.md)
    return static_cast<uint8_t>(sign | r);
}
inline uint8_t f32_to_bf8(float x, bool saturate = false) {
    uint32_t b = bits_of(x), sign = (b >> 24) & 0x80u, mag = b & 0x7fffffffu;
    uint32_t normal = ((mag + 0xfffffu + ((mag >> 21) & 1u)) >> 21) - (112u << 2);
    uint32_t tiny = bits_of(float_of(mag) + 0x1p7f) - bits_of(0x1p7f);  // below 2^-14: the ulp of 2^7 is 2^-16
    uint32_t top = mag > 0x7f800000u ? 0x7fu : saturate ? 0x7bu : 0x7cu;
    uint32_t r = mag >= 0x47700000u ? top : mag < 0x38800000u ? tiny : normal;  // 61440 ties to 65536: overflow
    return static_cast<uint8_t>(sign | r);
}

}  // namespace gfx950::numerics
