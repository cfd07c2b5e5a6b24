// Device only: transposing LDS reads, floating-point atomics and narrow LDS DMA, by clang's builtins. One wave each.
#include "device.h"

#define KERNEL KERNEL_OF(64, 64)

typedef VECTOR(int, 2) i32x2;
typedef VECTOR(int, 3) i32x3;
typedef VECTOR(int, 4) i32x4;
typedef VECTOR(short, 2) i16x2;
typedef VECTOR(short, 4) i16x4;
typedef VECTOR(_Float16, 2) f16x2;

LDS i32x4 cells[64];
LDS double doubles[64];

// Lane l reads from the cell of lane 5 * l: each lane's own address counts.
#define TRANSPOSED(name, builtin, type)                                                       \
    KERNEL name(GLOBAL type* out, GLOBAL const i32x4* in) {                                   \
        cells[id()] = in[id()];                                                               \
        __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");                                \
        out[id()] = __builtin_amdgcn_##builtin((SHARED type*)&cells[5 * id() % 64]);          \
    }
TRANSPOSED(transposed_4, ds_read_tr4_b64_v2i32, i32x2)
TRANSPOSED(transposed_8, ds_read_tr8_b64_v2i32, i32x2)
TRANSPOSED(transposed_6, ds_read_tr6_b96_v3i32, i32x3)
TRANSPOSED(transposed_16, ds_read_tr16_b64_v4i16, i16x4)

// cells[0..63] global, [64..127] by a buffer, [128..191] flat: odd lanes' addresses are LDS. old: what the flat and the global ones gave back.
#define ATOMIC(name, type, place, global, buffer, flat)                                                                     \
    KERNEL name(GLOBAL type* memory, GLOBAL const type* in, GLOBAL type* old) {                                             \
        SHARED type* local = (SHARED type*)place;                                                                           \
        unsigned i = id();                                                                                                  \
        type value = in[i];                                                                                                 \
        __amdgpu_buffer_rsrc_t buffered = __builtin_amdgcn_make_buffer_rsrc((void*)memory, 0, 192 * sizeof(type), 0x27000); \
        local[i] = memory[128 + i];                                                                                         \
        type* target = i & 1 ? (type*)(local + i) : (type*)(memory + 128 + i);                                              \
        old[i] = __builtin_amdgcn_##global(memory + i, value);                                                              \
        __builtin_amdgcn_raw_ptr_buffer_atomic_##buffer(value, buffered, (64 + i) * sizeof(type), 0, 0);                    \
        old[64 + i] = __builtin_amdgcn_##flat((__attribute__((address_space(0))) type*)target, value);                      \
        if (i & 1) memory[128 + i] = local[i];                                                                              \
    }
ATOMIC(add_f32, float, cells, global_atomic_fadd_f32, fadd_f32, flat_atomic_fadd_f32)
ATOMIC(add_f16, f16x2, cells, global_atomic_fadd_v2f16, fadd_v2f16, flat_atomic_fadd_v2f16)
ATOMIC(min_f64, double, doubles, global_atomic_fmin_f64, fmin_f64, flat_atomic_fmin_f64)
ATOMIC(max_f64, double, doubles, global_atomic_fmax_f64, fmax_f64, flat_atomic_fmax_f64)

KERNEL add_bf16(GLOBAL i16x2* memory, GLOBAL const i16x2* in, GLOBAL i16x2* old) {
    SHARED i16x2* local = (SHARED i16x2*)cells;
    unsigned i = id();
    local[i] = memory[64 + i];
    i16x2* target = i & 1 ? (i16x2*)(local + i) : (i16x2*)(memory + 128 + i);
    if (i & 1) local[i] = memory[128 + i];
    old[i] = __builtin_amdgcn_global_atomic_fadd_v2bf16(memory + i, in[i]);
    old[64 + i] = __builtin_amdgcn_flat_atomic_fadd_v2bf16((__attribute__((address_space(0))) i16x2*)target, in[i]);
    if (i & 1) memory[128 + i] = local[i];
    local[i] = memory[64 + i];
    __builtin_amdgcn_ds_atomic_fadd_v2bf16(local + i, in[i]);
    memory[64 + i] = local[i];
}

// A byte, then a half of each lane's word, each into one dword a lane of LDS.
KERNEL narrow_dma(GLOBAL unsigned* out, GLOBAL const unsigned char* in) {
    SHARED unsigned* local = (SHARED unsigned*)cells;
    __builtin_amdgcn_global_load_lds((GLOBAL void*)(in + 4 * id()), (SHARED void*)local, 1, 0, 0);
    __builtin_amdgcn_global_load_lds((GLOBAL void*)(in + 4 * id() + 2), (SHARED void*)(local + 64), 2, 0, 0);
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_waitcnt(0);
    out[id()] = local[id()];
    out[64 + id()] = local[64 + id()];
}
