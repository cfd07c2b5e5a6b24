// Encoding by one integer routine for all formats.
#include "formats.h"

namespace gfx950::numerics {

float decode(Format format, uint32_t code) {
    switch (format) {
        case Format::kFp8: return decode_small<Format::kFp8>(code);
        case Format::kBf8: return decode_small<Format::kBf8>(code);
        case Format::kFp6: return decode_small<Format::kFp6>(code);
        case Format::kBf6: return decode_small<Format::kBf6>(code);
        case Format::kFp4: return decode_small<Format::kFp4>(code);
        case Format::kF16: return f16_to_f32(static_cast<uint16_t>(code));
        case Format::kBf16: return bf16_to_f32(static_cast<uint16_t>(code));
    }
    return float_of(kQuietNanF32);
}

uint32_t encode(Format format, double x, bool saturate, Rounding rounding, uint32_t random) {
    FormatTraits t = traits_of(format);
    uint64_t bits = bits_of(x);
    bool negative = bits >> 63;
    uint32_t sign = static_cast<uint32_t>(negative) << (t.bits - 1);
    if (is_nan(x)) {
        if (!t.has_nan) return sign | t.max_code;
        // f16 and bf16 keep the payload's top bits, as the f32 routines do.
        uint32_t payload = t.bits == 16 ? static_cast<uint32_t>((bits >> (52 - t.mantissa)) & ((1u << t.mantissa) - 1)) : 0;
        return sign | t.nan_code | payload;
    }
    uint32_t beyond = t.has_inf ? t.inf_code : t.has_nan ? t.nan_code : t.max_code;
    if (is_inf(x)) return sign | (saturate && t.bits == 8 ? t.max_code : beyond);
    uint64_t magnitude = bits & ~(1ull << 63);
    if (magnitude == 0) return sign;
    int exponent = static_cast<int>(magnitude >> 52) - 1023;
    uint64_t significand = (magnitude & ((1ull << 52) - 1)) | (1ull << 52);
    if (magnitude < (1ull << 52)) {  // a denormal double lies far below every format here
        exponent = -1022;
        significand = magnitude;
    }
    // Place the significand so that its unit is the format's ulp: normal ulp = 2^(exponent-mantissa), fixed below 2^(1-bias).
    int lowest = 1 - t.bias, ulp_exponent = (exponent < lowest ? lowest : exponent) - t.mantissa;
    int drop = ulp_exponent - (exponent - 52);
    uint64_t kept, rest;
    bool up = false;
    if (drop > 62) {
        kept = 0;
        rest = 1;  // not zero, below half an ulp
        up = (rounding == Rounding::kUp && !negative) || (rounding == Rounding::kDown && negative);
    } else {
        kept = significand >> drop;
        rest = significand & ((1ull << drop) - 1);
        uint64_t half = 1ull << (drop - 1);
        switch (rounding) {
            case Rounding::kNearestEven: up = rest > half || (rest == half && (kept & 1)); break;
            case Rounding::kTowardZero: break;
            case Rounding::kUp: up = rest && !negative; break;
            case Rounding::kDown: up = rest && negative; break;
            case Rounding::kStochastic: {
                // The random word's top bits meet the f32 bits that are dropped (23-mantissa of them in a normal result).
                int f32_drop = drop - 29;
                uint64_t noise = f32_drop >= 32  ? static_cast<uint64_t>(random) << (f32_drop - 32)
                                 : f32_drop <= 0 ? 0
                                                 : static_cast<uint64_t>(random >> (32 - f32_drop));
                up = rest + (noise << 29) >= (1ull << drop);
                break;
            }
        }
    }
    kept += up;
    // Adding the exponent's field lets a carry out of the mantissa become the next exponent, also out of the subnormals.
    uint64_t biased = exponent < lowest ? 0 : static_cast<uint64_t>(exponent - lowest);
    uint64_t code = kept + (biased << t.mantissa);
    bool away = rounding == Rounding::kNearestEven || rounding == Rounding::kStochastic ||
                (rounding == Rounding::kUp && !negative) || (rounding == Rounding::kDown && negative);
    if (code > t.max_code) return sign | (saturate || !away ? t.max_code : beyond);
    return sign | static_cast<uint32_t>(code);
}

}  // namespace gfx950::numerics
