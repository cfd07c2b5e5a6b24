// v_mfma_f32_32x32x64_f8f6f4, v_mfma_f32_16x16x128_f8f6f4 and their scaled forms: the hot ones.
//
// Element e of lane l (low bits first) is row l % M at k:
//   8-bit formats   in two halves of 16 bytes: k = (K/2)*(e/16) + 16*(l/M) + e%16
//   6 and 4 bits    contiguous: k = 32*(l/M) + e
// (AMD matrix core post of 2025, 5.4 and 5.5, for 32x32x64; composable_kernel's test/mx_mfma_op for both shapes and 6 bits; Triton's
// layouts agree: mixtures of 8 and 4 bits with scales that differ by k block run right, see tests/emulator/conformance.)
#include "mfma.h"
#include "mfma_tile.h"

namespace gfx950::numerics {

namespace {

// out[e][lane] for the 32 elements of each lane.
template <Format format> void decode_operand(const Row* rows, float (*out)[64]) {
    constexpr int kBits = traits_of(format).bits;
    if constexpr (32 % kBits == 0) {
        constexpr int kPerWord = 32 / kBits;
        for (int w = 0; w < kBits; ++w)
            for (int p = 0; p < kPerWord; ++p)
                for (int l = 0; l < 64; ++l) out[w * kPerWord + p][l] = decode_small<format>(rows[w][l] >> (kBits * p));
    } else {
        for (int e = 0; e < 32; ++e) {
            int word = e * kBits / 32, shift = e * kBits % 32, next = word + 1 < kBits ? word + 1 : word;
            for (int l = 0; l < 64; ++l) {
                uint64_t pair = static_cast<uint64_t>(rows[next][l]) << 32 | rows[word][l];
                out[e][l] = decode_small<format>(static_cast<uint32_t>(pair >> shift));
            }
        }
    }
}

void decode_operand(Format format, const Row* rows, float (*out)[64]) {
    switch (format) {
        case Format::kFp8: return decode_operand<Format::kFp8>(rows, out);
        case Format::kBf8: return decode_operand<Format::kBf8>(rows, out);
        case Format::kFp6: return decode_operand<Format::kFp6>(rows, out);
        case Format::kBf6: return decode_operand<Format::kBf6>(rows, out);
        case Format::kFp4: return decode_operand<Format::kFp4>(rows, out);
        case Format::kF16:
        case Format::kBf16: break;
    }
    __builtin_unreachable();  // the encoding's three bits name no other format; the decoder refuses 5 to 7
}

// slice[k] points at the M values of index k.
template <int M> void slices(Format format, const float (*elements)[64], const float** slice) {
    constexpr int kGroups = 64 / M, kDepth = 32 * kGroups;
    bool halves = traits_of(format).bits == 8;
    for (int k = 0; k < kDepth; ++k) {
        int e, group;
        if (halves) {
            int half = k / (kDepth / 2), within = k % (kDepth / 2);
            e = 16 * half + within % 16;
            group = within / 16;
        } else {
            e = k % 32;
            group = k / 32;
        }
        slice[k] = elements[e] + M * group;
    }
}

bool uniform(const uint8_t* scale) {
    for (int l = 1; l < 64; ++l)
        if (scale[l] != scale[0]) return false;
    return true;
}

// A group whose scales leave the normal f32 range: element by element, the sum in double.
template <int M>
void extreme_group(const float* const* a, const float* const* b, const uint8_t* scale_a, const uint8_t* scale_b, float* acc) {
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < M; ++n) {
            float dot = 0, *at = acc + tile_offset<M>(m) + n;
            for (int k = 0; k < 32; ++k) dot = __builtin_fmaf(a[k][m], b[k][n], dot);
            if (scale_a[m] == 255 || scale_b[n] == 255) {
                *at = float_of(kQuietNanF32);
                continue;
            }
            int e = scale_a[m] + scale_b[n] - 254;
            double power = double_of(static_cast<uint64_t>(e + 1023) << 52);
            if (e >= -126 && e <= 127) *at = __builtin_fmaf(dot, static_cast<float>(power), *at);
            else *at = static_cast<float>(double{dot} * power + double{*at});
        }
}

template <int M>
void run(const Row* a, Format format_a, const Row* b, Format format_b, const Row* c, Row* d, const uint8_t* scale_a,
         const uint8_t* scale_b) {
    constexpr int kGroups = 64 / M, kDepth = 32 * kGroups, kRows = M * M / 64;
    alignas(64) float ea[32][64], eb[32][64], acc[kRows * 64];
    const float *sa[kDepth], *sb[kDepth];
    static constexpr auto kOnes = [] {
        struct { uint8_t v[64]; } ones{};
        for (auto& x : ones.v) x = 127;
        return ones;
    }();
    decode_operand(format_a, a, ea);
    decode_operand(format_b, b, eb);
    slices<M>(format_a, ea, sa);
    slices<M>(format_b, eb, sb);
    std::memcpy(acc, c, sizeof acc);
    if (!scale_a) scale_a = kOnes.v;
    if (!scale_b) scale_b = kOnes.v;
    bool same = uniform(scale_a) && uniform(scale_b);
    for (int g = 0; g < kGroups; ++g) {
        const uint8_t *ga = scale_a + M * g, *gb = scale_b + M * g;
        auto factor_bits = [](int x, int y) { return static_cast<uint32_t>(x + y - 127) << 23; };
        auto normal = [](int x, int y) { return x != 255 && y != 255 && x + y - 254 >= -126 && x + y - 254 <= 127; };
        if (same && normal(ga[0], gb[0])) {
            float factor = float_of(factor_bits(ga[0], gb[0]));
            multiply_scale_add<M>(sa + 32 * g, sb + 32 * g, &factor, 0, acc);
            continue;
        }
        alignas(64) float factors[M * M];
        bool all_normal = true;
        for (int m = 0; m < M; ++m)
            for (int n = 0; n < M; ++n) {
                all_normal &= normal(ga[m], gb[n]);
                factors[m * M + n] = float_of(factor_bits(ga[m], gb[n]));
            }
        if (all_normal) multiply_scale_add<M>(sa + 32 * g, sb + 32 * g, factors, M, acc);
        else extreme_group<M>(sa + 32 * g, sb + 32 * g, ga, gb, acc);
    }
    store_canonical(acc, d, kRows);
}

}  // namespace

void mfma_f8f6f4(int m, const Row* a, Format format_a, const Row* b, Format format_b, const Row* c, Row* d,
                 const uint8_t* scale_a, const uint8_t* scale_b) {
    if (m == 32) run<32>(a, format_a, b, format_b, c, d, scale_a, scale_b);
    else run<16>(a, format_a, b, format_b, c, d, scale_a, scale_b);
}

}  // namespace gfx950::numerics
