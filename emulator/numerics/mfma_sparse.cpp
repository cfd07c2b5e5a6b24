// v_smfmac_*: A holds two of every four k, src2 the two-bit positions, D accumulates in place.
//
// A lane of A holds KL elements for 2*KL values of k. Element e sits at k = 2*KL*(l/M) + 4*(e/2) + position, position = bits
// 2*e+1:2*e of the lane's index set. Only the two chosen values of B are multiplied (an Inf elsewhere does no harm).
// The set of an index register: 2*KL bits wide; of the 32/(2*KL) sets abid chooses one when cbsz is 0, else the first.
// (AMD matrix instruction calculator for CDNA3; the widths of gfx950's deeper shapes: LLVM's mlir sparse_mfma verifier, PR 193541.
// Their k order within a lane follows the CDNA3 rule [assumption: smfmac-gfx950].)
#include "mfma.h"
#include "mfma_tables.h"
#include "mfma_tile.h"

namespace gfx950::numerics {

namespace {

template <int M, int K, class A, class B>
void run(const Row* a, const Row* b, const Row* c, Row* d, const MfmaModifiers& modifiers, const uint32_t* index) {
    constexpr bool kInteger = std::is_same_v<A, I8>;
    constexpr int kGroups = 64 / M, kDense = K / kGroups, kHeld = kDense / 2, kSetBits = 2 * kHeld, kSets = 32 / kSetBits;
    constexpr int kRows = M * M / 64;
    alignas(64) float ea[kHeld][64], eb[kDense][64], acc[kRows * 64];
    decode_lanes<A, kHeld>(a, ea);
    decode_lanes<B, kDense>(b, eb);
    if constexpr (kInteger) std::memset(acc, 0, sizeof acc);
    else std::memcpy(acc, c, sizeof acc);
    int set = modifiers.cbsz == 0 ? modifiers.abid % kSets : 0;
    for (int m = 0; m < M; ++m) {
        float* row = acc + tile_offset<M>(m);
        for (int group = 0; group < kGroups; ++group) {
            uint32_t positions = index[M * group + m] >> (kSetBits * set % 32);
            for (int e = 0; e < kHeld; ++e) {
                float value = ea[e][M * group + m];
                const float* column = eb[4 * (e / 2) + (positions >> (2 * e) & 3)] + M * group;
                for (int n = 0; n < M; ++n) row[n] = __builtin_fmaf(value, column[n], row[n]);
            }
        }
    }
    if constexpr (kInteger) store_integer(acc, c, d, kRows);
    else store_canonical(acc, d, kRows);
}

template <int M, int K, class A, class B> constexpr MfmaRow sparse(const char* mnemonic) {
    constexpr int kDense = K * M / 64, kRows = M * M / 64;
    return {mnemonic, kDense / 2 * A::kBits / 32, kDense * B::kBits / 32, kRows, kRows, true, run<M, K, A, B>};
}

constexpr MfmaRow kSparse[] = {
    sparse<16, 32, F16, F16>("v_smfmac_f32_16x16x32_f16"),
    sparse<32, 16, F16, F16>("v_smfmac_f32_32x32x16_f16"),
    sparse<16, 64, F16, F16>("v_smfmac_f32_16x16x64_f16"),
    sparse<32, 32, F16, F16>("v_smfmac_f32_32x32x32_f16"),
    sparse<16, 32, Bf16, Bf16>("v_smfmac_f32_16x16x32_bf16"),
    sparse<32, 16, Bf16, Bf16>("v_smfmac_f32_32x32x16_bf16"),
    sparse<16, 64, Bf16, Bf16>("v_smfmac_f32_16x16x64_bf16"),
    sparse<32, 32, Bf16, Bf16>("v_smfmac_f32_32x32x32_bf16"),
    sparse<16, 64, I8, I8>("v_smfmac_i32_16x16x64_i8"),
    sparse<32, 32, I8, I8>("v_smfmac_i32_32x32x32_i8"),
    sparse<16, 128, I8, I8>("v_smfmac_i32_16x16x128_i8"),
    sparse<32, 64, I8, I8>("v_smfmac_i32_32x32x64_i8"),
    sparse<16, 64, Fp8, Fp8>("v_smfmac_f32_16x16x64_fp8_fp8"),
    sparse<16, 64, Fp8, Bf8>("v_smfmac_f32_16x16x64_fp8_bf8"),
    sparse<16, 64, Bf8, Fp8>("v_smfmac_f32_16x16x64_bf8_fp8"),
    sparse<16, 64, Bf8, Bf8>("v_smfmac_f32_16x16x64_bf8_bf8"),
    sparse<32, 32, Fp8, Fp8>("v_smfmac_f32_32x32x32_fp8_fp8"),
    sparse<32, 32, Fp8, Bf8>("v_smfmac_f32_32x32x32_fp8_bf8"),
    sparse<32, 32, Bf8, Fp8>("v_smfmac_f32_32x32x32_bf8_fp8"),
    sparse<32, 32, Bf8, Bf8>("v_smfmac_f32_32x32x32_bf8_bf8"),
    sparse<16, 128, Fp8, Fp8>("v_smfmac_f32_16x16x128_fp8_fp8"),
    sparse<16, 128, Fp8, Bf8>("v_smfmac_f32_16x16x128_fp8_bf8"),
    sparse<16, 128, Bf8, Fp8>("v_smfmac_f32_16x16x128_bf8_fp8"),
    sparse<16, 128, Bf8, Bf8>("v_smfmac_f32_16x16x128_bf8_bf8"),
    sparse<32, 64, Fp8, Fp8>("v_smfmac_f32_32x32x64_fp8_fp8"),
    sparse<32, 64, Fp8, Bf8>("v_smfmac_f32_32x32x64_fp8_bf8"),
    sparse<32, 64, Bf8, Fp8>("v_smfmac_f32_32x32x64_bf8_fp8"),
    sparse<32, 64, Bf8, Bf8>("v_smfmac_f32_32x32x64_bf8_bf8"),
};

}  // namespace

MfmaTable sparse_rows() { return {kSparse, std::size(kSparse)}; }

}  // namespace gfx950::numerics
