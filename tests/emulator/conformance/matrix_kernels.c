// Device only: matrix instructions and 6-bit conversions that no wheel's program uses, by clang's builtins. One wave each.
#include "device.h"

#define KERNEL KERNEL_OF(64, 64)

typedef VECTOR(int, 2) i32x2;
typedef VECTOR(int, 4) i32x4;
typedef VECTOR(int, 8) i32x8;
typedef VECTOR(int, 16) i32x16;
typedef VECTOR(short, 4) i16x4;
typedef VECTOR(short, 8) i16x8;
typedef VECTOR(__bf16, 2) bf16x2;
typedef VECTOR(__bf16, 8) bf16x8;
typedef VECTOR(__bf16, 16) bf16x16;
typedef VECTOR(unsigned, 6) u32x6;
typedef VECTOR(float, 4) f32x4;
typedef VECTOR(float, 16) f32x16;
typedef VECTOR(float, 32) f32x32;
typedef VECTOR(_Float16, 4) f16x4;
typedef VECTOR(_Float16, 8) f16x8;
typedef VECTOR(_Float16, 16) f16x16;

// Formats 0 to 4: fp8, bf8, fp6, bf6, fp4. The scale's byte changes with the pair of formats.
#define SCALED(m, k, accumulator, a, b)                                                                                                   \
    KERNEL scaled_##m##_##a##_##b(GLOBAL accumulator* acc, GLOBAL const i32x8* in, GLOBAL const int* scale) {                             \
        acc[id()] = __builtin_amdgcn_mfma_scale_f32_##m##x##m##x##k##_f8f6f4(in[id()], in[64 + id()], acc[id()], a, b, (a + b) % 4,       \
                                                                             scale[id()], (a + 2 * b + 1) % 4, scale[64 + id()]);          \
    }
#define SCALED_A(m, k, accumulator, a)                                                                                                    \
    SCALED(m, k, accumulator, a, 0) SCALED(m, k, accumulator, a, 1) SCALED(m, k, accumulator, a, 2) SCALED(m, k, accumulator, a, 3)        \
    SCALED(m, k, accumulator, a, 4)
#define SCALED_ALL(m, k, accumulator)                                                                                                     \
    SCALED_A(m, k, accumulator, 0) SCALED_A(m, k, accumulator, 1) SCALED_A(m, k, accumulator, 2) SCALED_A(m, k, accumulator, 3)            \
    SCALED_A(m, k, accumulator, 4)
SCALED_ALL(32, 64, f32x16)
SCALED_ALL(16, 128, f32x4)

// Several blocks an instruction; cbsz and abid hand block abid of each 2^cbsz to its neighbours.
#define BLOCKS(shape, accumulator, cbsz, abid)                                                                      \
    KERNEL blocks_##shape##_##cbsz##_##abid(GLOBAL accumulator* acc, GLOBAL const f16x4* in) {                      \
        acc[id()] = __builtin_amdgcn_mfma_f32_##shape##f16(in[id()], in[64 + id()], acc[id()], cbsz, abid, 0);      \
    }
BLOCKS(4x4x4, f32x4, 0, 0)
BLOCKS(4x4x4, f32x4, 1, 1)
BLOCKS(4x4x4, f32x4, 3, 5)
BLOCKS(4x4x4, f32x4, 4, 11)
BLOCKS(16x16x4, f32x16, 0, 0)
BLOCKS(16x16x4, f32x16, 2, 3)
BLOCKS(32x32x4, f32x32, 0, 0)
BLOCKS(32x32x4, f32x32, 1, 1)

// Sparse A: abid names the set of indices.
#define SPARSE(shape, result, format, accumulator, half, whole, abid)                                                                       \
    KERNEL sparse_##shape##_##format##_##abid(GLOBAL accumulator* acc, GLOBAL const half* a, GLOBAL const whole* b,                         \
                                              GLOBAL const int* index) {                                                                    \
        acc[id()] = __builtin_amdgcn_smfmac_##result##_##shape##_##format(a[id()], b[id()], acc[id()], index[id()], 0, abid);               \
    }
SPARSE(16x16x32, f32, f16, f32x4, f16x4, f16x8, 0)
SPARSE(16x16x32, f32, f16, f32x4, f16x4, f16x8, 3)
SPARSE(32x32x16, f32, f16, f32x16, f16x4, f16x8, 2)
SPARSE(16x16x64, f32, f16, f32x4, f16x8, f16x16, 0)
SPARSE(16x16x64, f32, f16, f32x4, f16x8, f16x16, 1)
SPARSE(32x32x32, f32, f16, f32x16, f16x8, f16x16, 1)
SPARSE(16x16x32, f32, bf16, f32x4, i16x4, i16x8, 1)
SPARSE(32x32x16, f32, bf16, f32x16, i16x4, i16x8, 3)
SPARSE(16x16x64, f32, bf16, f32x4, bf16x8, bf16x16, 1)
SPARSE(32x32x32, f32, bf16, f32x16, bf16x8, bf16x16, 0)
SPARSE(16x16x64, i32, i8, i32x4, i32x2, i32x4, 1)
SPARSE(32x32x32, i32, i8, i32x16, i32x2, i32x4, 0)
SPARSE(16x16x128, i32, i8, i32x4, i32x4, i32x8, 0)
SPARSE(32x32x64, i32, i8, i32x16, i32x4, i32x8, 0)
#define SPARSE_8(a, b, abid)                                               \
    SPARSE(16x16x64, f32, a##_##b, f32x4, i32x2, i32x4, abid)              \
    SPARSE(32x32x32, f32, a##_##b, f32x16, i32x2, i32x4, abid)             \
    SPARSE(16x16x128, f32, a##_##b, f32x4, i32x4, i32x8, 0)                \
    SPARSE(32x32x64, f32, a##_##b, f32x16, i32x4, i32x8, 0)
SPARSE_8(fp8, fp8, 1)
SPARSE_8(fp8, bf8, 0)
SPARSE_8(bf8, fp8, 1)
SPARSE_8(bf8, bf8, 0)

KERNEL dot2_bf16(GLOBAL float* acc, GLOBAL const bf16x2* in) {
    acc[id()] = __builtin_amdgcn_fdot2_f32_bf16(in[id()], in[64 + id()], acc[id()], 0);
}

#define SIX(format)                                                                                                        \
    KERNEL narrow_##format(GLOBAL u32x6* out, GLOBAL const f32x16* in, float scale) {                                      \
        out[id()] = __builtin_amdgcn_cvt_scalef32_2xpk16_##format##_f32(in[2 * id()], in[2 * id() + 1], scale);            \
    }                                                                                                                      \
    KERNEL stochastic_##format(GLOBAL u32x6* out, GLOBAL const f32x32* in, GLOBAL const unsigned* random, float scale) {   \
        out[id()] = __builtin_amdgcn_cvt_scalef32_sr_pk32_##format##_f32(in[id()], random[id()], scale);                   \
    }                                                                                                                      \
    KERNEL widen_##format(GLOBAL f32x32* out, GLOBAL const u32x6* in, float scale) {                                       \
        out[id()] = __builtin_amdgcn_cvt_scalef32_pk32_f32_##format(in[id()], scale);                                      \
    }
SIX(fp6)
SIX(bf6)
