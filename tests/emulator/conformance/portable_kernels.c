// Plain C, compiled twice: by clang for gfx950 as kernels of one work-item an element, and by clang for the host as loops. No libraries.
// Each kernel takes (const unsigned* a, const unsigned* b, unsigned long* out): words in, 16 results of 64 bits an element out.
#ifdef __AMDGCN__
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL(name) \
    static inline __attribute__((always_inline)) void name##_body(unsigned a, unsigned b, GLOBAL unsigned long* out); \
    __attribute__((amdgpu_kernel, visibility("protected"))) void name(GLOBAL const unsigned* a, GLOBAL const unsigned* b, GLOBAL unsigned long* out) { \
        unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(); \
        name##_body(a[i], b[i], out + 16 * i); \
    } \
    static inline void name##_body(unsigned a, unsigned b, GLOBAL unsigned long* out)
#define FUNCTION static __attribute__((noinline))
#else
#define GLOBAL
#define KERNEL(name) \
    static void name##_body(unsigned a, unsigned b, unsigned long* out); \
    void name(const unsigned* a, const unsigned* b, unsigned long* out, unsigned count) { \
        for (unsigned i = 0; i < count; ++i) name##_body(a[i], b[i], out + 16 * i); \
    } \
    static void name##_body(unsigned a, unsigned b, unsigned long* out)
#define FUNCTION static __attribute__((noinline))
#endif

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned long u64;
typedef long i64;
typedef _Float16 f16;

static inline u64 bits32(float x) {
    unsigned u;
    __builtin_memcpy(&u, &x, 4);
    return x != x ? 0x7fc00000u : u;  // which NaN is not C's business
}
static inline u64 bits64(double x) {
    u64 u;
    __builtin_memcpy(&u, &x, 8);
    return x != x ? 0x7ff8000000000000ul : u;
}
static inline u64 bits16(f16 x) {
    u16 u;
    __builtin_memcpy(&u, &x, 2);
    return x != x ? 0x7e00 : u;
}
static inline float float_of(unsigned u) {
    float x;
    __builtin_memcpy(&x, &u, 4);
    return x;
}
static inline f16 half_of(unsigned u) {
    u16 s = (u16)u;
    f16 x;
    __builtin_memcpy(&x, &s, 2);
    return x;
}
static inline double double_of(unsigned high, unsigned low) {
    u64 u = (u64)high << 32 | low;
    double x;
    __builtin_memcpy(&x, &u, 8);
    return x;
}

KERNEL(integers_32) {
    int x = (int)a, y = (int)b;
    unsigned d = b | 1;
    int s = (int)d;
    out[0] = a + b, out[1] = a - b, out[2] = a * b, out[3] = (u64)a * b;
    out[4] = a / d, out[5] = a % d;
    out[6] = (u64)(i64)(x == -2147483647 - 1 && s == -1 ? 0 : x / s), out[7] = (u64)(i64)(x == -2147483647 - 1 && s == -1 ? 0 : x % s);
    out[8] = a << (b & 31), out[9] = a >> (b & 31), out[10] = (u64)(i64)(x >> (b & 31));
    out[11] = (u64)((i64)x * y), out[12] = x < y ? a & b : a | b, out[13] = a < b ? a ^ b : ~a;
    out[14] = a ? (unsigned)__builtin_clz(a) + 64 * (unsigned)__builtin_ctz(a) : 7, out[15] = (unsigned)__builtin_popcount(a) + 64 * __builtin_bitreverse32(b);
}

KERNEL(integers_64) {
    u64 x = (u64)a << 32 | b, y = ((u64)b << 29 ^ a) >> (a & 31), d = y | 1;
    i64 p = (i64)x, q = (i64)(d >> 1 | 1);
    out[0] = x + y, out[1] = x - y, out[2] = x * y, out[3] = x / d, out[4] = x % d, out[5] = (u64)(p / q), out[6] = (u64)(p % q);
    out[7] = x << (b & 63), out[8] = x >> (b & 63), out[9] = (u64)(p >> (b & 63)), out[10] = p < (i64)y, out[11] = x > y;
    out[12] = (u64)__builtin_popcountl(x), out[13] = x ? (u64)__builtin_clzl(x) : 1, out[14] = x ? (u64)__builtin_ctzl(x) : 1;
    out[15] = (u64)((unsigned __int128)x * y >> 64);
}

KERNEL(integers_small) {
    i8 p = (i8)a, q = (i8)b;
    i16 r = (i16)a, s = (i16)b;
    u8 t = (u8)(a >> 8), u = (u8)(b >> 8 | 1);
    u16 v = (u16)(a >> 16), w = (u16)(b >> 16 | 1);
    out[0] = (u64)(i64)(i8)(p * q), out[1] = (u64)(i64)(i16)(r * s), out[2] = (u8)(t + u), out[3] = (u16)(v - w), out[4] = t / u, out[5] = v % w;
    out[6] = (u64)(i64)(p < q ? p : q), out[7] = (u64)(i64)(r > s ? r : s), out[8] = (u16)(v << (w & 15)), out[9] = (u64)(i64)(i16)(r >> (w & 15));
    out[10] = (u8)(t > u ? t - u : u - t), out[11] = (u64)(i64)(r * s + p * q), out[12] = (a & 0xffffff) * (b & 0xffffff);
    out[13] = (u64)(i64)((int)(a << 8) >> 8) * ((int)(b << 8) >> 8), out[14] = (u16)__builtin_bitreverse16(v), out[15] = __builtin_bswap32(a) ^ __builtin_bswap64((u64)b << 8 | t);
}

KERNEL(floats_32) {
    float x = float_of(a), y = float_of(b);
    out[0] = bits32(x + y), out[1] = bits32(x - y), out[2] = bits32(x * y), out[3] = bits32(x / y), out[4] = bits32(__builtin_fmaf(x, y, x));
    out[5] = bits32(__builtin_sqrtf(x < 0 ? -x : x)), out[6] = bits32(__builtin_floorf(x)), out[7] = bits32(__builtin_ceilf(y)), out[8] = bits32(__builtin_truncf(x));
    out[9] = bits32(__builtin_rintf(y)), out[10] = bits32(__builtin_fabsf(x)), out[11] = bits32(__builtin_copysignf(x, y));
    out[12] = (u64)(x < y) | (u64)(x <= y) << 1 | (u64)(x == y) << 2 | (u64)(x != y) << 3 | (u64)__builtin_isunordered(x, y) << 4;
    out[13] = bits32(x == x && y == y && x != y ? __builtin_fminf(x, y) : 0), out[14] = bits32(x == x && y == y && x != y ? __builtin_fmaxf(x, y) : 0), out[15] = bits32(-x);
}

KERNEL(floats_64) {
    double x = double_of(a, b), y = double_of(b, a ^ 0x9e3779b9u);
    out[0] = bits64(x + y), out[1] = bits64(x - y), out[2] = bits64(x * y), out[3] = bits64(x / y), out[4] = bits64(__builtin_fma(x, y, x));
    out[5] = bits64(__builtin_sqrt(x < 0 ? -x : x)), out[6] = bits64(__builtin_floor(x)), out[7] = bits64(__builtin_ceil(y)), out[8] = bits64(__builtin_trunc(x));
    out[9] = bits64(__builtin_rint(y)), out[10] = bits32((float)x), out[11] = bits64((double)float_of(b));
    out[12] = (u64)(x < y) | (u64)(x >= y) << 1 | (u64)(x == y) << 2 | (u64)__builtin_isunordered(x, y) << 4;
    out[13] = bits64(x == x && y == y && x != y ? __builtin_fmin(x, y) : 0), out[14] = bits64((double)(i64)((u64)a << 32 | b)), out[15] = bits64((double)((u64)a << 32 | b));
}

KERNEL(floats_16) {
    f16 x = half_of(a), y = half_of(b), z = half_of(a >> 16);
    out[0] = bits16(x + y), out[1] = bits16(x - y), out[2] = bits16(x * y), out[3] = bits16(x / y), out[4] = bits32((float)x), out[5] = bits16((f16)float_of(a));
    out[6] = (u64)(x < y) | (u64)(x == y) << 1, out[7] = bits16(-z), out[8] = bits16((f16)(float)(i16)b), out[9] = bits16((f16)(u16)b);
    out[10] = bits32((float)x * (float)y + (float)z), out[11] = bits16((f16)((float)x + (float)z)), out[12] = bits64((double)x);
    out[13] = bits16(x == x && y == y && x != y ? (x < y ? x : y) : (f16)0), out[14] = bits16((f16)(i16)a), out[15] = 0;
}

KERNEL(conversions) {
    float x = float_of((a & 0x80ffffffu) | (b % 60 + 105) << 24 >> 1);  // moderate exponents: in range of every integer below
    double d = x;
    float small = x / 65536.0f;
    out[0] = (u64)(i64)(int)(small), out[1] = (unsigned)(small < 0 ? -small : small), out[2] = (u64)(i64)x, out[3] = (u64)(x < 0 ? -x : x);
    out[4] = (u64)(i64)d, out[5] = (u64)(d < 0 ? -d : d), out[6] = (u64)(i64)(int)(d / 65536), out[7] = bits32((float)(int)a), out[8] = bits32((float)a);
    out[9] = bits64((double)(int)a), out[10] = bits64((double)b), out[11] = bits32((float)(i64)((u64)a << 32 | b)), out[12] = bits32((float)((u64)a << 32 | b));
    out[13] = bits32((float)(u8)a), out[14] = bits32((float)(i8)(b >> 8)), out[15] = bits32((float)(u8)(a >> 16) + (float)(u8)(a >> 24));
}

// Loops that end apart, breaks, nested conditions, a switch.
KERNEL(control_flow) {
    unsigned n = a % 37, total = 0, steps = 0;
    for (unsigned i = 0; i < n; ++i) {
        if ((i ^ b) % 5 == 3) continue;
        for (unsigned j = i; j; j >>= 1) {
            total += j ^ b;
            if (total % 97 == 13) break;
        }
        if (total > 0xf0000000u) break;
    }
    unsigned long v = a % 1000 + 1;
    while (v != 1 && steps < 300) v = v % 2 ? 3 * v + 1 : v / 2, ++steps;
    switch (b % 9) {
        case 0: total ^= 0x1111; break;
        case 1: total += a; break;
        case 2: total -= a;  // falls through
        case 3: total *= 3; break;
        case 4: total = __builtin_bitreverse32(total); break;
        case 7: total >>= 3; break;
        case 8: total = ~total; break;
        default: total += 77; break;
    }
    out[0] = total, out[1] = steps, out[2] = v;
}

// Private arrays with indices known only at run time: scratch memory.
KERNEL(scratch) {
    unsigned cells[64];
    u8 bytes[40];
    for (unsigned i = 0; i < 64; ++i) cells[i] = a * (i + 1) ^ b;
    for (unsigned i = 0; i < 40; ++i) bytes[i] = (u8)(a >> i % 24);
    for (unsigned i = 0; i < 64; ++i) {
        unsigned j = (cells[i] ^ bytes[i % 40]) % 64, t = cells[i];
        cells[i] = cells[j] + i, cells[j] = t ^ bytes[j % 40];
    }
    for (unsigned i = 0; i < 16; ++i) out[i] = (u64)cells[(a + 7 * i) % 64] << 8 | bytes[(b + i) % 40];
}

// Calls that are not inlined, one of them recursive.
FUNCTION unsigned mixed(unsigned x, unsigned y, unsigned z) { return (x ^ y) * 0x85ebca6bu + (z >> 3 | z << 29); }
FUNCTION unsigned ackermann_like(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    unsigned inner = ackermann_like(m - 1, n);
    return inner + mixed(inner, m, n) % 3;
}
KERNEL(calls) {
    out[0] = mixed(a, b, a + b);
    out[1] = mixed(mixed(a, 1, b), mixed(b, 2, a), 3);
    out[2] = ackermann_like(a % 6, b % 100);
}
