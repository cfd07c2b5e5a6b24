// The element kinds of the unscaled matrix instructions, and the tables that find_mfma() joins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "formats.h"
#include "mfma.h"

namespace gfx950::numerics {

struct F32 {
    static constexpr int kBits = 32;
    static float decode(uint32_t x) { return float_of(x); }
};
struct F16 {
    static constexpr int kBits = 16;
    static float decode(uint32_t x) { return f16_to_f32(static_cast<uint16_t>(x)); }
};
struct Bf16 {
    static constexpr int kBits = 16;
    static float decode(uint32_t x) { return bf16_to_f32(static_cast<uint16_t>(x)); }
};
struct Fp8 {
    static constexpr int kBits = 8;
    static float decode(uint32_t x) { return decode_small<Format::kFp8>(x); }
};
struct Bf8 {
    static constexpr int kBits = 8;
    static float decode(uint32_t x) { return decode_small<Format::kBf8>(x); }
};
struct I8 {
    static constexpr int kBits = 8;
    static float decode(uint32_t x) { return static_cast<int8_t>(x); }
};

// out[e][lane]: the e-th element of each lane, low bits first.
template <class Element, int kPerLane> inline void decode_lanes(const Row* rows, float (*out)[64]) {
    constexpr int kPerWord = 32 / Element::kBits;
    for (int e = 0; e < kPerLane; ++e) {
        const uint32_t* row = rows[e / kPerWord];
        for (int l = 0; l < 64; ++l) out[e][l] = Element::decode(row[l] >> (Element::kBits * (e % kPerWord)));
    }
}

struct MfmaTable {
    const MfmaRow* rows;
    size_t count;
};
MfmaTable dense_rows();
MfmaTable sparse_rows();

}  // namespace gfx950::numerics
