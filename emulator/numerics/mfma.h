// Matrix instructions over register rows: a row is one VGPR, 64 lanes of 32 bits.
// Owns: layouts, block broadcast, accumulation order. Refuses: nothing at run time; a mnemonic not in the table is not found.
// EXEC does not matter to these instructions, and MODE neither: denormals are kept and rounding is to nearest even.
//
// Accumulation (the hardware's order and rounding are not public; assumption: mfma-order):
//   v_mfma_*, v_smfmac_*     f32: acc = C, then acc = fma(A[m][k], B[k][n], acc) for k ascending. i32: the sum modulo 2^32.
//                            f64: the same chain in double.
//   v_mfma_*_f8f6f4          for each group of 32 k ascending: dot = 0, dot = fma(a, b, dot) for k ascending (products are
//                            exact in f32), then acc = fma(dot, 2^(scale_a + scale_b - 254), acc). Where that power is not a
//                            normal f32, the sum is made in double and rounded to f32.
// A NaN result is 0x7fc00000 (f64: 0x7ff8000000000000) [assumption: mfma-nan].
// Layouts: AMD's matrix core posts and matrix instruction calculator; docs/emulator_numerics.md names what rests on analogy.
#pragma once

#include <cstdint>
#include <string_view>

#include "formats.h"

namespace gfx950::numerics {

using Row = uint32_t[64];

// The fields of the encoding. For f64, blgp is neg: bit 0 A, 1 B, 2 C. For smfmac, cbsz and abid choose the index set.
struct MfmaModifiers {
    int cbsz = 0, abid = 0, blgp = 0;
};

// One instruction: how many rows each operand has, and what it does. c and d may be the same rows or overlap, and d may
// overlap a and b: all sources are read first. A constant C is the caller's to spread over c_rows rows.
// For smfmac, `c` is the old d and `index` the row of src2; else index is null.
struct MfmaRow {
    const char* mnemonic;
    int a_rows, b_rows, c_rows, d_rows;
    bool sparse;
    void (*run)(const Row* a, const Row* b, const Row* c, Row* d, const MfmaModifiers& modifiers, const uint32_t* index);
};

// By the assembler's name (v_mfma_f32_32x32x16_f16, v_smfmac_i32_32x32x64_i8, ...); null when it is none of these.
const MfmaRow* find_mfma(std::string_view mnemonic);
// All of them, for coverage lists.
const MfmaRow* mfma_rows_begin();
const MfmaRow* mfma_rows_end();

// Rows of an operand of v_mfma_*_f8f6f4: 8, 6 or 4.
constexpr int f8f6f4_rows(Format format) { return traits_of(format).bits; }

// v_mfma_f32_32x32x64_f8f6f4 (m == 32) and 16x16x128 (m == 16), scaled or not. scale_*: 64 lanes' e8m0 bytes, null for 2^0;
// lane l holds the scale of row (column) l % m for the k group l / m.
void mfma_f8f6f4(int m, const Row* a, Format format_a, const Row* b, Format format_b, const Row* c, Row* d,
                 const uint8_t* scale_a = nullptr, const uint8_t* scale_b = nullptr);

}  // namespace gfx950::numerics
