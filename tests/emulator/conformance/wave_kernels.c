// Device only: what a wave and a workgroup do together. C for clang with amdgcn builtins, no libraries. One workgroup of 256.
#include "device.h"

#define KERNEL KERNEL_OF(1, 256)

typedef unsigned u32;
typedef unsigned long u64;
typedef VECTOR(u32, 2) u32x2;
typedef VECTOR(u32, 4) u32x4;
typedef VECTOR(unsigned char, 16) u8x16;
typedef VECTOR(float, 2) f32x2;

static inline void barrier(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

LDS u32 cells[1024];

// Tree sum over the workgroup, and a rotation by `by` of all 256 values.
KERNEL reduce_and_rotate(GLOBAL const u32* in, GLOBAL u32* out, u32 by) {
    u32 i = id();
    cells[i] = in[i];
    barrier();
    out[1 + i] = cells[(i + by) % 256];
    for (u32 step = 128; step; step /= 2) {
        barrier();
        if (i < step) cells[i] += cells[i + step];
    }
    barrier();
    if (i == 0) out[0] = cells[0];
}

// Every width of LDS access: bytes, halves, pairs and quads, at offsets.
KERNEL lds_widths(GLOBAL const u32* in, GLOBAL u32* out) {
    u32 i = id();
    __attribute__((address_space(3))) unsigned char* bytes = (__attribute__((address_space(3))) unsigned char*)cells;
    __attribute__((address_space(3))) unsigned short* halves = (__attribute__((address_space(3))) unsigned short*)cells;
    bytes[4 * i] = (unsigned char)in[i];
    bytes[4 * i + 1] = (unsigned char)(in[i] >> 8);
    halves[2 * i + 1] = (unsigned short)(in[i] >> 16);
    barrier();
    u32x4 quad = ((__attribute__((address_space(3))) u32x4*)cells)[i / 4];
    out[4 * i] = quad.x, out[4 * i + 1] = quad.y, out[4 * i + 2] = quad.z, out[4 * i + 3] = quad.w;
    barrier();
    ((__attribute__((address_space(3))) u32x2*)cells)[i] = (u32x2){in[i], ~in[i]};
    barrier();
    out[1024 + i] = cells[511 - i];
    out[1280 + i] = (u32)(signed char)bytes[(i * 7) % 2048] ^ (u32)(short)halves[(i * 5) % 1024];
}

KERNEL global_atomics(GLOBAL const u32* in, GLOBAL u32* w, GLOBAL u64* d, GLOBAL float* f, GLOBAL double* g) {
    u32 i = __builtin_amdgcn_workgroup_id_x() * 256 + id(), v = in[i];
    __atomic_fetch_add(&w[0], v, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&w[1], v, __ATOMIC_RELAXED);
    __atomic_fetch_and(&w[2], v | 0xf0f0f0f0u, __ATOMIC_RELAXED);
    __atomic_fetch_or(&w[3], v & 0x11111111u, __ATOMIC_RELAXED);
    __atomic_fetch_xor(&w[4], v, __ATOMIC_RELAXED);
    __atomic_fetch_min((GLOBAL int*)&w[5], (int)v, __ATOMIC_RELAXED);
    __atomic_fetch_max((GLOBAL int*)&w[6], (int)v, __ATOMIC_RELAXED);
    __atomic_fetch_min(&w[7], v, __ATOMIC_RELAXED);
    __atomic_fetch_max(&w[8], v, __ATOMIC_RELAXED);
    u32 old = __atomic_load_n(&w[9], __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&w[9], &old, old * 3 + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    w[16 + i] = __atomic_fetch_add(&w[10], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&d[0], (u64)v << 20, __ATOMIC_RELAXED);
    __atomic_fetch_max(&d[1], (u64)v << 20 | i, __ATOMIC_RELAXED);
    __atomic_fetch_xor(&d[2], (u64)v << 32 | ~v, __ATOMIC_RELAXED);
    __atomic_fetch_add(f, (float)(v & 1023), __ATOMIC_RELAXED);
    __atomic_fetch_add(g, (double)(v & 1023), __ATOMIC_RELAXED);
}

KERNEL lds_atomics(GLOBAL const u32* in, GLOBAL u32* out) {
    u32 i = id(), v = in[i];
    if (i < 16) cells[i] = i == 2 || i == 5 ? ~0u : 0;
    barrier();
    __atomic_fetch_add(&cells[0], v, __ATOMIC_RELAXED);
    __atomic_fetch_or(&cells[1], 1u << v % 32, __ATOMIC_RELAXED);
    __atomic_fetch_and(&cells[2], ~(1u << v % 32), __ATOMIC_RELAXED);
    __atomic_fetch_xor(&cells[3], v, __ATOMIC_RELAXED);
    __atomic_fetch_max(&cells[4], v, __ATOMIC_RELAXED);
    __atomic_fetch_min(&cells[5], v, __ATOMIC_RELAXED);
    out[16 + i] = __atomic_fetch_add(&cells[6], 1, __ATOMIC_RELAXED);
    barrier();
    if (i < 16) out[i] = cells[i];
}

// out[row][lane], one row an operation; in has one word a lane.
KERNEL cross_lane(GLOBAL const u32* in, GLOBAL u32* out) {
    u32 i = id(), v = in[i];
    out += i;
#define PUT(value) (*out = (u32)(value), out += 64)
    PUT(__builtin_amdgcn_ds_bpermute((int)(4 * (63 - i)), (int)v));
    PUT(__builtin_amdgcn_ds_permute((int)(4 * ((i + 5) % 64)), (int)v));
    PUT(__builtin_amdgcn_ds_swizzle((int)v, 0x041f));  // lane ^ 1 within 32
    PUT(__builtin_amdgcn_ds_swizzle((int)v, 0x801b));  // quads reversed
    PUT(__builtin_amdgcn_readlane((int)v, 17));
    PUT(__builtin_amdgcn_readfirstlane((int)v));
    PUT(__builtin_amdgcn_update_dpp(0, (int)v, 0xb1, 0xf, 0xf, 1));     // quad_perm [1,0,3,2]
    PUT(__builtin_amdgcn_update_dpp(0, (int)v, 0x111, 0xf, 0xf, 1));    // row_shr:1, zeros come in
    PUT(__builtin_amdgcn_update_dpp(-1, (int)v, 0x104, 0xf, 0xf, 0));   // row_shl:4, the old value stays
    PUT(__builtin_amdgcn_update_dpp(0, (int)v, 0x123, 0xf, 0xf, 1));    // row_ror:3
    PUT(__builtin_amdgcn_update_dpp(0, (int)v, 0x140, 0xf, 0xf, 1));    // row_mirror
    PUT(__builtin_amdgcn_update_dpp(0, (int)v, 0x141, 0xf, 0xf, 1));    // row_half_mirror
    PUT(__builtin_amdgcn_update_dpp(-1, (int)v, 0x142, 0xa, 0xf, 0));   // row_bcast:15 into rows 1 and 3
    PUT(__builtin_amdgcn_update_dpp(-1, (int)v, 0x143, 0xc, 0xf, 0));   // row_bcast:31 into rows 2 and 3
    u32x2 p = __builtin_amdgcn_permlane32_swap(v, ~v, 0, 0), q = __builtin_amdgcn_permlane16_swap(v, ~v, 0, 0);
    PUT(p.x);
    PUT(p.y);
    PUT(q.x);
    PUT(q.y);
    u64 mask = __builtin_amdgcn_ballot_w64(v & 1);
    PUT((u32)mask);
    PUT((u32)(mask >> 32));
    PUT(__builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), __builtin_amdgcn_mbcnt_lo((u32)mask, 0)));
    u32 mine = 0;
    if (v & 2) mine = (u32)__builtin_popcountl(__builtin_amdgcn_ballot_w64(1));
    PUT(mine);
}

KERNEL bit_tricks(GLOBAL const u32* in, GLOBAL u32* out) {
    u32 i = id(), a = in[i], b = in[64 + i], c = in[128 + i];
    out += i;
    PUT(__builtin_amdgcn_perm(a, b, c & 0x07070707));
    PUT(__builtin_amdgcn_alignbit(a, b, c));
    PUT(__builtin_amdgcn_alignbyte(a, b, c));
    PUT(__builtin_amdgcn_ubfe(a, b & 31, c & 31));
    PUT((u32)__builtin_amdgcn_sbfe((int)a, b & 31, c & 31));
    PUT(__builtin_amdgcn_sad_u8(a, b, c));
    PUT(__builtin_amdgcn_bitop3_b32(a, b, c, 0xca));
    PUT((u32)__builtin_amdgcn_sdot4((int)a, (int)b, (int)c, 0));
    PUT(__builtin_amdgcn_udot4(a, b, c, 0));
    PUT((u32)__builtin_amdgcn_sdot8((int)a, (int)b, (int)c, 0));
    PUT(__builtin_amdgcn_prng_b32(a));
    PUT(__builtin_amdgcn_lerp(a, b, c));
}

static inline u32 bits(float x) { return __builtin_bit_cast(u32, x); }
static inline float value(u32 x) { return __builtin_bit_cast(float, x); }

KERNEL float_builtins(GLOBAL const float* in, GLOBAL u32* out) {
    u32 i = id();
    float a = in[i], b = in[64 + i], c = in[128 + i];
    out += i;
    PUT(bits(__builtin_amdgcn_exp2f(a)));
    PUT(bits(__builtin_amdgcn_logf(a)));
    PUT(bits(__builtin_amdgcn_rcpf(a)));
    PUT(bits(__builtin_amdgcn_rsqf(a)));
    PUT(bits(__builtin_amdgcn_sqrtf(a)));
    PUT(bits(__builtin_amdgcn_sinf(a)));
    PUT(bits(__builtin_amdgcn_cosf(a)));
    PUT(bits(__builtin_amdgcn_fractf(a)));
    PUT(bits(__builtin_amdgcn_fmed3f(a, b, c)));
    PUT((u32)__builtin_amdgcn_frexp_expf(a));
    PUT(bits(__builtin_amdgcn_frexp_mantf(a)));
    PUT(bits(__builtin_amdgcn_ldexpf(a, (int)i - 30)));
    PUT((u32)__builtin_amdgcn_classf(a, 0x1f8));
    PUT((u32)__builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0, 0));
    PUT((u32)__builtin_amdgcn_cvt_pk_bf8_f32(a, b, 0x12345678, 1));
    PUT(bits(__builtin_amdgcn_cvt_f32_fp8((int)bits(a), 1)));
    PUT(bits(__builtin_amdgcn_cvt_f32_bf8((int)bits(a), 3)));
    PUT(__builtin_bit_cast(u32, __builtin_amdgcn_cvt_pkrtz(a, b)));
    PUT((u32)__builtin_amdgcn_cvt_sr_fp8_f32(a, (int)bits(b), 0, 2));
    f32x2 pair = __builtin_amdgcn_cvt_pk_f32_fp8((int)bits(b), 1);
    PUT(bits(pair.x));
    PUT(bits(pair.y));
}
