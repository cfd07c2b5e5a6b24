// The few float functions that are too long to inline.
#include "valu_float.h"

namespace gfx950::numerics {

uint16_t fma_f16(uint16_t a, uint16_t b, uint16_t c, bool sat) {
    double product = double{f16_to_f32(a)} * f16_to_f32(b), addend = f16_to_f32(c);
    double sum = product + addend;
    if (!is_nan(sum) && !is_inf(sum)) {
        // Round to odd: an inexact double sum gets its last bit set, so that narrowing to f16 rounds only once.
        double back = sum - product, error = (product - (sum - back)) + (addend - back);
        uint64_t bits = bits_of(sum);
        if (error != 0 && !(bits & 1)) sum = double_of((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
    }
    return static_cast<uint16_t>(encode(Format::kF16, sum, sat));
}

uint16_t div_fixup_f16(uint16_t quotient, uint16_t denominator, uint16_t numerator) {
    // The f16 form has no underflow case: the f32 one with its inputs widened reaches none either.
    return f32_to_f16(div_fixup(f16_to_f32(quotient), f16_to_f32(denominator), f16_to_f32(numerator)));
}

bool cmp_class_f16(uint16_t h, uint32_t mask) {
    uint32_t mag = h & 0x7fff;
    bool negative = h >> 15;
    int c;
    if (mag > 0x7c00) c = mag & 0x200 ? 1 : 0;
    else if (mag == 0x7c00) c = negative ? 2 : 9;
    else if (mag == 0) c = negative ? 5 : 6;
    else if (mag < 0x400) c = negative ? 4 : 7;
    else c = negative ? 3 : 8;
    return mask >> c & 1;
}

namespace {
// 2/pi in binary, 1216 bits from the first after the point (any arbitrary-precision tool prints them).
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull,
    0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
    0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull,
    0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull,
};
}  // namespace

double trig_preop_f64(double x, uint32_t segment) {
    // CDNA3 ISA V_TRIG_PREOP_F64: shift = S1[4:0]*53, more for exponents above 1077; result scaled by 2^(-53-shift).
    int shift = static_cast<int>(segment & 31) * 53, exponent = exponent_field(x);
    if (exponent > 1077) shift += exponent - 1077;
    uint64_t mantissa = 0;
    for (int i = 0; i < 53; ++i) {
        int bit = shift + i;
        uint64_t b = bit < 1216 ? kTwoOverPi[bit / 64] >> (63 - bit % 64) & 1 : 0;
        mantissa = mantissa << 1 | b;
    }
    int scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
    return ldexp_f64(static_cast<double>(mantissa), scale);
}

}  // namespace gfx950::numerics
