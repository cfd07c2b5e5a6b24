// The inner loops of the matrix instructions: operands already decoded to one f32 (or i32) per element.
// Owns: the accumulator's layout and the multiply-add loops. Operands come as pointers to k-slices: a[k][m], b[k][n].
#pragma once

#include <cstdint>
#include <cstring>

#include "bits.h"
#include "mfma.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace gfx950::numerics {

// A vector of f32 of the width that this file is compiled for; every operation is the IEEE one, so the width does not show.
#if defined(__AVX512F__)
struct Vec {
    static constexpr int kLanes = 16, kRowsAtOnce32 = 8, kRowsAtOnce16 = 16;
    __m512 v;
    static Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
    static Vec all(float x) { return {_mm512_set1_ps(x)}; }
    void store(float* p) const { _mm512_storeu_ps(p, v); }
};
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
#elif defined(__AVX2__)
struct Vec {
    static constexpr int kLanes = 8, kRowsAtOnce32 = 2, kRowsAtOnce16 = 4;
    __m256 v;
    static Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
    static Vec all(float x) { return {_mm256_set1_ps(x)}; }
    void store(float* p) const { _mm256_storeu_ps(p, v); }
};
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
#else
struct Vec {
    static constexpr int kLanes = 1, kRowsAtOnce32 = 1, kRowsAtOnce16 = 1;
    float v;
    static Vec load(const float* p) { return {*p}; }
    static Vec all(float x) { return {x}; }
    void store(float* p) const { *p = v; }
};
inline Vec fma(Vec a, Vec b, Vec c) { return {__builtin_fmaf(a.v, b.v, c.v)}; }
#endif

// Where row m of an M x M tile starts in 64-lane rows (32x32: 16 rows of two tile rows, 16x16: 4 rows of four).
template <int M> constexpr int tile_offset(int m) {
    if constexpr (M == 32) return 64 * (4 * (m / 8) + m % 4) + 32 * (m / 4 % 2);
    else return 64 * (m % 4) + 16 * (m / 4);
}

// acc (M x M in register layout) gets, for each slice k, a[k][m] * b[k][n]; a chain that starts from acc.
template <int M> inline void multiply_add(const float* const* a, const float* const* b, int slices, float* acc) {
    constexpr int kAcross = M / Vec::kLanes, kDown = M == 32 ? Vec::kRowsAtOnce32 : Vec::kRowsAtOnce16;
    for (int m0 = 0; m0 < M; m0 += kDown) {
        Vec sum[kDown][kAcross];
        for (int i = 0; i < kDown; ++i)
            for (int j = 0; j < kAcross; ++j) sum[i][j] = Vec::load(acc + tile_offset<M>(m0 + i) + j * Vec::kLanes);
        for (int k = 0; k < slices; ++k) {
            Vec bk[kAcross];
            for (int j = 0; j < kAcross; ++j) bk[j] = Vec::load(b[k] + j * Vec::kLanes);
            for (int i = 0; i < kDown; ++i) {
                Vec ak = Vec::all(a[k][m0 + i]);
                for (int j = 0; j < kAcross; ++j) sum[i][j] = fma(ak, bk[j], sum[i][j]);
            }
        }
        for (int i = 0; i < kDown; ++i)
            for (int j = 0; j < kAcross; ++j) sum[i][j].store(acc + tile_offset<M>(m0 + i) + j * Vec::kLanes);
    }
}

// One group of 32 k of the f8f6f4 instructions: acc = fma(dot, factor, acc), the dot product a chain from zero.
// factor: one for the tile (factor_step 0), or M x M values in tile layout order m * M + n (factor_step M).
template <int M>
inline void multiply_scale_add(const float* const* a, const float* const* b, const float* factor, int factor_step, float* acc) {
    constexpr int kAcross = M / Vec::kLanes, kDown = M == 32 ? Vec::kRowsAtOnce32 : Vec::kRowsAtOnce16;
    for (int m0 = 0; m0 < M; m0 += kDown) {
        Vec sum[kDown][kAcross];
        for (int i = 0; i < kDown; ++i)
            for (int j = 0; j < kAcross; ++j) sum[i][j] = Vec::all(0.0f);
        for (int k = 0; k < 32; ++k) {
            Vec bk[kAcross];
            for (int j = 0; j < kAcross; ++j) bk[j] = Vec::load(b[k] + j * Vec::kLanes);
            for (int i = 0; i < kDown; ++i) {
                Vec ak = Vec::all(a[k][m0 + i]);
                for (int j = 0; j < kAcross; ++j) sum[i][j] = fma(ak, bk[j], sum[i][j]);
            }
        }
        for (int i = 0; i < kDown; ++i)
            for (int j = 0; j < kAcross; ++j) {
                float* at = acc + tile_offset<M>(m0 + i) + j * Vec::kLanes;
                Vec f = factor_step ? Vec::load(factor + (m0 + i) * factor_step + j * Vec::kLanes) : Vec::all(*factor);
                fma(sum[i][j], f, Vec::load(at)).store(at);
            }
    }
}

// Stores an accumulator, NaNs made one.
inline void store_canonical(const float* acc, Row* d, int rows) {
    uint32_t* out = d[0];
    for (int i = 0; i < rows * 64; ++i) {
        uint32_t b = bits_of(acc[i]);
        out[i] = (b & 0x7fffffffu) > 0x7f800000u ? kQuietNanF32 : b;
    }
}

// i8: the products' sum is below 64 * 2^14 = 2^20 in magnitude, so the f32 loops give it exactly; only C needs integers.
inline void store_integer(const float* acc, const Row* c, Row* d, int rows) {
    uint32_t sum[32 * 64];
    for (int i = 0; i < rows * 64; ++i) sum[i] = c[0][i] + static_cast<uint32_t>(static_cast<int32_t>(acc[i]));
    std::memcpy(d, sum, sizeof(Row) * rows);
}

}  // namespace gfx950::numerics
