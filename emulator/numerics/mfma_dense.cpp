// v_mfma_* with one format per operand and no scales: f32, f16, bf16, fp8/bf8, i8, f64.
//
// Lane l of A holds row l % M of block (l / M) % blocks; with one block, l / M is the group of k: k = KL * (l / M) + e for
// element e of the lane's KL (low bits first). B likewise with columns. C and D: tile_offset() for 32x32 and 16x16, one tile
// after the other per block; 4x4: lane 4 * block + n, row m in register m. (AMD matrix instruction calculator, CDNA3.)
#include "mfma.h"
#include "mfma_tables.h"
#include "mfma_tile.h"

namespace gfx950::numerics {

namespace {

// blgp moves whole lanes of B: lane l is fed by (first + l % span) % 64.
struct LanePattern {
    int first, span;
};
constexpr LanePattern kPatterns[8] = {{0, 64}, {0, 32}, {32, 32}, {16, 64}, {0, 16}, {16, 16}, {32, 16}, {48, 16}};

const Row* rearranged(const Row* b, int rows, int blgp, Row* scratch) {
    if (blgp == 0) return b;
    LanePattern pattern = kPatterns[blgp & 7];
    for (int r = 0; r < rows; ++r)
        for (int l = 0; l < 64; ++l) scratch[r][l] = b[r][(pattern.first + l % pattern.span) % 64];
    return scratch;
}

// The block of A that block `b` multiplies: cbsz makes groups of 2^cbsz neighbours share the abid-th of them.
int feeding_block(const MfmaModifiers& m, int b) {
    int mask = (1 << m.cbsz) - 1;
    return (b & ~mask) | (m.abid & mask);
}

template <int M, int K, int kBlocks, class A, class B>
void run(const Row* a, const Row* b, const Row* c, Row* d, const MfmaModifiers& modifiers, const uint32_t*) {
    constexpr bool kInteger = std::is_same_v<A, I8>;
    static_assert(!kInteger || K <= 64);
    constexpr int kGroups = 64 / (M * kBlocks), kPerLane = K / kGroups, kRows = M * M * kBlocks / 64;
    Row moved[kPerLane * B::kBits / 32];
    b = rearranged(b, kPerLane * B::kBits / 32, modifiers.blgp, moved);
    alignas(64) float ea[kPerLane][64], eb[kPerLane][64], acc[kRows * 64];
    decode_lanes<A, kPerLane>(a, ea);
    decode_lanes<B, kPerLane>(b, eb);
    if constexpr (kInteger) std::memset(acc, 0, sizeof acc);
    else std::memcpy(acc, c, sizeof acc);
    if constexpr (M == 4) {
        for (int e = 0; e < kPerLane; ++e)
            for (int m = 0; m < 4; ++m)
                for (int l = 0; l < 64; ++l)
                    acc[64 * m + l] = __builtin_fmaf(ea[e][4 * feeding_block(modifiers, l / 4) + m], eb[e][l], acc[64 * m + l]);
    } else {
        for (int block = 0; block < kBlocks; ++block) {
            const float *sa[K], *sb[K];
            for (int k = 0; k < K; ++k) {
                int group = k / kPerLane, e = k % kPerLane;
                sa[k] = ea[e] + M * (kBlocks > 1 ? feeding_block(modifiers, block) : group);
                sb[k] = eb[e] + M * (kBlocks > 1 ? block : group);
            }
            multiply_add<M>(sa, sb, K, acc + block * M * M);
        }
    }
    if constexpr (kInteger) store_integer(acc, c, d, kRows);
    else store_canonical(acc, d, kRows);
}

// f64: a register pair per value; D's pair v of lane l is row 4 * v + l / 16 (16x16), or l / 16 of block l / 4 % 4 (4x4).
struct F64Negation {
    bool a, b, c;
    explicit F64Negation(int neg) : a(neg & 1), b(neg & 2), c(neg & 4) {}
};
double f64_at(const Row* rows, int pair, int lane, bool negate) {
    uint64_t bits = static_cast<uint64_t>(rows[2 * pair + 1][lane]) << 32 | rows[2 * pair][lane];
    return double_of(negate ? bits ^ 1ull << 63 : bits);
}
void set_f64(Row* rows, int pair, int lane, double x) {
    uint64_t bits = is_nan(x) ? kQuietNanF64 : bits_of(x);
    rows[2 * pair][lane] = static_cast<uint32_t>(bits);
    rows[2 * pair + 1][lane] = static_cast<uint32_t>(bits >> 32);
}
void run_f64_16x16x4(const Row* a, const Row* b, const Row* c, Row* d, const MfmaModifiers& modifiers, const uint32_t*) {
    F64Negation neg(modifiers.blgp);
    double out[4][64];
    for (int v = 0; v < 4; ++v)
        for (int l = 0; l < 64; ++l) {
            double acc = f64_at(c, v, l, neg.c);
            int m = 4 * v + l / 16, n = l % 16;
            for (int k = 0; k < 4; ++k) acc = __builtin_fma(f64_at(a, 0, 16 * k + m, neg.a), f64_at(b, 0, 16 * k + n, neg.b), acc);
            out[v][l] = acc;
        }
    for (int v = 0; v < 4; ++v)
        for (int l = 0; l < 64; ++l) set_f64(d, v, l, out[v][l]);
}
void run_f64_4x4x4(const Row* a, const Row* b, const Row* c, Row* d, const MfmaModifiers& modifiers, const uint32_t*) {
    F64Negation neg(modifiers.blgp);
    double out[64];
    for (int l = 0; l < 64; ++l) {
        double acc = f64_at(c, 0, l, neg.c);
        int m = l / 16, block = l / 4 % 4, n = l % 4, from = feeding_block(modifiers, block);
        for (int k = 0; k < 4; ++k)
            acc = __builtin_fma(f64_at(a, 0, 16 * k + 4 * from + m, neg.a), f64_at(b, 0, 16 * k + 4 * block + n, neg.b), acc);
        out[l] = acc;
    }
    for (int l = 0; l < 64; ++l) set_f64(d, 0, l, out[l]);
}

template <int M, int K, int kBlocks, class A, class B> constexpr MfmaRow dense(const char* mnemonic) {
    constexpr int kPerLane = K * M * kBlocks / 64, kRows = M * M * kBlocks / 64;
    return {mnemonic, kPerLane * A::kBits / 32, kPerLane * B::kBits / 32, kRows, kRows, false, run<M, K, kBlocks, A, B>};
}

constexpr MfmaRow kDense[] = {
    dense<32, 1, 2, F32, F32>("v_mfma_f32_32x32x1_2b_f32"),
    dense<16, 1, 4, F32, F32>("v_mfma_f32_16x16x1_4b_f32"),
    dense<4, 1, 16, F32, F32>("v_mfma_f32_4x4x1_16b_f32"),
    dense<32, 2, 1, F32, F32>("v_mfma_f32_32x32x2_f32"),
    dense<16, 4, 1, F32, F32>("v_mfma_f32_16x16x4_f32"),
    dense<32, 4, 2, F16, F16>("v_mfma_f32_32x32x4_2b_f16"),
    dense<16, 4, 4, F16, F16>("v_mfma_f32_16x16x4_4b_f16"),
    dense<4, 4, 16, F16, F16>("v_mfma_f32_4x4x4_16b_f16"),
    dense<32, 8, 1, F16, F16>("v_mfma_f32_32x32x8_f16"),
    dense<16, 16, 1, F16, F16>("v_mfma_f32_16x16x16_f16"),
    dense<32, 16, 1, F16, F16>("v_mfma_f32_32x32x16_f16"),
    dense<16, 32, 1, F16, F16>("v_mfma_f32_16x16x32_f16"),
    dense<32, 4, 2, Bf16, Bf16>("v_mfma_f32_32x32x4_2b_bf16"),
    dense<16, 4, 4, Bf16, Bf16>("v_mfma_f32_16x16x4_4b_bf16"),
    dense<4, 4, 16, Bf16, Bf16>("v_mfma_f32_4x4x4_16b_bf16"),
    dense<32, 8, 1, Bf16, Bf16>("v_mfma_f32_32x32x8_bf16"),
    dense<16, 16, 1, Bf16, Bf16>("v_mfma_f32_16x16x16_bf16"),
    dense<32, 16, 1, Bf16, Bf16>("v_mfma_f32_32x32x16_bf16"),
    dense<16, 32, 1, Bf16, Bf16>("v_mfma_f32_16x16x32_bf16"),
    dense<32, 16, 1, Fp8, Fp8>("v_mfma_f32_32x32x16_fp8_fp8"),
    dense<32, 16, 1, Fp8, Bf8>("v_mfma_f32_32x32x16_fp8_bf8"),
    dense<32, 16, 1, Bf8, Fp8>("v_mfma_f32_32x32x16_bf8_fp8"),
    dense<32, 16, 1, Bf8, Bf8>("v_mfma_f32_32x32x16_bf8_bf8"),
    dense<16, 32, 1, Fp8, Fp8>("v_mfma_f32_16x16x32_fp8_fp8"),
    dense<16, 32, 1, Fp8, Bf8>("v_mfma_f32_16x16x32_fp8_bf8"),
    dense<16, 32, 1, Bf8, Fp8>("v_mfma_f32_16x16x32_bf8_fp8"),
    dense<16, 32, 1, Bf8, Bf8>("v_mfma_f32_16x16x32_bf8_bf8"),
    dense<32, 4, 2, I8, I8>("v_mfma_i32_32x32x4_2b_i8"),
    dense<16, 4, 4, I8, I8>("v_mfma_i32_16x16x4_4b_i8"),
    dense<4, 4, 16, I8, I8>("v_mfma_i32_4x4x4_16b_i8"),
    dense<32, 16, 1, I8, I8>("v_mfma_i32_32x32x16_i8"),
    dense<16, 32, 1, I8, I8>("v_mfma_i32_16x16x32_i8"),
    dense<32, 32, 1, I8, I8>("v_mfma_i32_32x32x32_i8"),
    dense<16, 64, 1, I8, I8>("v_mfma_i32_16x16x64_i8"),
    {"v_mfma_f64_16x16x4_f64", 2, 2, 8, 8, false, run_f64_16x16x4},
    {"v_mfma_f64_4x4x4_4b_f64", 2, 2, 2, 2, false, run_f64_4x4x4},
};

}  // namespace

MfmaTable dense_rows() { return {kDense, std::size(kDense)}; }

}  // namespace gfx950::numerics
