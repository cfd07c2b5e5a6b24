// v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos for f32, f16 and f64.
// The hardware's are approximations of 1 ulp or so, whose exact bits are not public. Here: the same bits on every host.
// Assumptions (no document states the bits), by name:
//   exp-flush     v_exp_f32 gives 0 for x < -126 (a denormal result). LLVM's lowering of exp2 scales around it.
//   log-flush     v_log_f32 takes a denormal as a zero of its sign: -inf. LLVM's lowering of log2 scales around it.
//   rcp-flush     v_rcp_f32, v_rsq_f32 and v_sqrt_f32 take a denormal input as zero, and v_rcp_f32 flushes a denormal result.
//   rounding      rcp, rsq, sqrt are correctly rounded; exp is within 0.79 ulp and exact on integers; the others are within
//                 0.51 ulp. Hardware documents 1 ulp for the f32 forms and less for f64 (v_rcp_f64, v_rsq_f64).
// The f16 and f64 forms keep denormals.
#pragma once

#include <cmath>
#include <cstdint>

#include "bits.h"
#include "formats.h"

namespace gfx950::numerics {

// 2^x. n = rint(x) by the magic number, 2^(x-n) by a polynomial, the exponent added in the integer domain. Each step is one
// IEEE operation, so that any vector width gives the same bits. Written without branches: loops over lanes vectorise.
inline float exp_f32(float x) {
    float c = x < -200.0f ? -200.0f : x;
    c = c > 200.0f ? 200.0f : c;
    float shifted = c + 0x1.8p23f;
    float n = shifted - 0x1.8p23f;
    float r = c - n;
    float q = 0x1.00c0e8p-16f;
    q = __builtin_fmaf(q, r, 0x1.444004p-13f);
    q = __builtin_fmaf(q, r, 0x1.5d8776p-10f);
    q = __builtin_fmaf(q, r, 0x1.3b2a1cp-7f);
    q = __builtin_fmaf(q, r, 0x1.c6b08ep-5f);
    q = __builtin_fmaf(q, r, 0x1.ebfbe0p-3f);
    q = __builtin_fmaf(q, r, 0x1.62e430p-1f);
    float p = __builtin_fmaf(q, r, 1.0f);
    uint32_t exponent = (bits_of(shifted) - bits_of(0x1.8p23f)) << 23;
    uint32_t result = bits_of(p) + exponent;
    result = x < -126.0f ? 0u : result;
    result = x >= 128.0f ? 0x7f800000u : result;
    result = x != x ? bits_of(x) | 0x00400000u : result;
    return float_of(result);
}
// 64 lanes at once, by the host's widest vectors; the same bits as exp_f32 lane by lane. in == out is fine.
void exp_f32_row(const uint32_t* in, uint32_t* out);

float log_f32(float x);
float rcp_f32(float x);
float rsq_f32(float x);
float sqrt_f32(float x);
// The input is in revolutions: sin(2 pi x). Outside [-256, 256]: 0 and 1 (ISA: "valid input domain"). Inf and NaN: NaN.
float sin_f32(float x);
float cos_f32(float x);
inline float rcp_iflag_f32(float x) { return rcp_f32(x); }

uint16_t exp_f16(uint16_t h);
uint16_t log_f16(uint16_t h);
uint16_t rcp_f16(uint16_t h);
uint16_t rsq_f16(uint16_t h);
uint16_t sqrt_f16(uint16_t h);
uint16_t sin_f16(uint16_t h);
uint16_t cos_f16(uint16_t h);

double rcp_f64(double x);
double rsq_f64(double x);
double sqrt_f64(double x);

// v_prng_b32 (gfx950): one step of a 32-bit linear feedback register, CDNA4 ISA: (x << 1) ^ (x[31] ? 197 : 0).
inline uint32_t prng_b32(uint32_t x) { return x << 1 ^ (x >> 31 ? 197u : 0u); }

}  // namespace gfx950::numerics
