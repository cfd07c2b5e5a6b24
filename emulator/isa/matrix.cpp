// MFMA and SMFMAC: operands out of the register file, arithmetic in numerics/mfma.h. EXEC is ignored, as on the hardware.
#include <cstring>
#include <string>

#include "isa/families.h"
#include "isa/scalars.h"
#include "numerics/mfma.h"

namespace gfx950::isa {
namespace {

using numerics::Format;
using MatrixRow = numerics::Row;

struct alignas(64) Accumulator {
  uint32_t rows[32][64];
};

const MatrixRow* rows_of(Wave& w, const Operand& o) {
  if (o.kind != Operand::Vector) fault(w, ErrorCode::UnknownInstruction, "a matrix operand that is no register");
  return &w.v[o.index];
}
// C may be an inline constant: the same value everywhere (in f64 instructions a double, decoded as such).
const MatrixRow* accumulator_of(Wave& w, const Operand& o, int rows, bool f64, Accumulator& spread) {
  if (o.kind == Operand::Vector) return &w.v[o.index];
  if (o.kind != Operand::Constant) fault(w, ErrorCode::UnknownInstruction, "a matrix addend that is no register and no constant");
  uint64_t value = o.value;
  if (f64) {  // decoded as 32 bits: a small integer or a float constant
    const auto bits = static_cast<uint32_t>(value);
    const bool integer = bits <= 64 || bits >= 0xfffffff0u;
    value = integer ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits))) : std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(bits)));
  }
  for (int k = 0; k < rows; ++k)
    for (int l = 0; l < 64; ++l) spread.rows[k][l] = static_cast<uint32_t>(f64 && (k & 1) ? value >> 32 : value);
  return spread.rows;
}

void mfma(Wave& w, const Instruction& i) {
  const auto& row = *static_cast<const numerics::MfmaRow*>(i.row->data);
  if (i.src[0].words != row.a_rows || i.src[1].words != row.b_rows || i.dst.words != row.d_rows)
    fault(w, ErrorCode::UnknownInstruction, "register widths that the matrix table does not have");
  Accumulator spread;
  const numerics::MfmaModifiers modifiers{i.mod.cbsz, i.mod.abid, i.mod.blgp | i.mod.neg_lo};
  const bool f64 = i.row->parameter & 1;
  const MatrixRow* c = row.sparse ? &w.v[i.dst.index] : accumulator_of(w, i.src[2], row.c_rows, f64, spread);
  const uint32_t* index = row.sparse ? w.v[i.src[2].index] : nullptr;
  row.run(rows_of(w, i.src[0]), rows_of(w, i.src[1]), c, &w.v[i.dst.index], modifiers, index);
}

// parameter bits 8..: 32 or 16. Scaled forms have two sources more; op_sel and op_sel_hi name the scale's byte.
void mfma_f8f6f4(Wave& w, const Instruction& i) {
  const int m = static_cast<int>(i.row->parameter >> 8);
  if (i.mod.cbsz > 4 || i.mod.blgp > 4) fault(w, ErrorCode::UnknownInstruction, "a matrix format that is not known");
  const auto fa = static_cast<Format>(i.mod.cbsz), fb = static_cast<Format>(i.mod.blgp);
  if (i.src[0].words != numerics::f8f6f4_rows(fa) || i.src[1].words != numerics::f8f6f4_rows(fb))
    fault(w, ErrorCode::UnknownInstruction, "a register width that does not fit the matrix format");
  Accumulator spread;
  const int rows = m == 32 ? 16 : 4;
  const MatrixRow* c = accumulator_of(w, i.src[2], rows, false, spread);
  uint8_t scales[2][64];
  const uint8_t* scale[2] = {nullptr, nullptr};
  if (i.sources > 3) {
    for (int n = 0; n < 2; ++n) {
      LaneRows source;
      RowBuffer temp[2];
      fetch_source(w, i, 3 + n, source, temp);
      const int shift = 8 * ((i.mod.op_sel >> n & 1) + 2 * (i.mod.op_sel_hi >> n & 1));
      for (int l = 0; l < 64; ++l) scales[n][l] = static_cast<uint8_t>(source.word[0][l] >> shift);
      bool one = true;
      for (int l = 0; l < 64; ++l) one &= scales[n][l] == 127;
      scale[n] = one ? nullptr : scales[n];
    }
    // Both or neither, with 2^0 spelt out.
    for (int n = 0; n < 2; ++n)
      if (!scale[n] && scale[1 - n]) scale[n] = scales[n];
  }
  numerics::mfma_f8f6f4(m, rows_of(w, i.src[0]), fa, rows_of(w, i.src[1]), fb, c, &w.v[i.dst.index], scale[0], scale[1]);
}

constexpr Slot kDst{Role::Dst, Type::None}, kAny{Role::Src, Type::None}, kScale{Role::Src, Type::U32};
constexpr Row kScaled[] = {
    custom("v_mfma_f32_32x32x64_f8f6f4", gfx950::Format::Matrix, mfma_f8f6f4, {kDst, kAny, kAny, kAny}, 0, 32 << 8),
    custom("v_mfma_f32_16x16x128_f8f6f4", gfx950::Format::Matrix, mfma_f8f6f4, {kDst, kAny, kAny, kAny}, 0, 16 << 8),
    custom("v_mfma_scale_f32_32x32x64_f8f6f4", gfx950::Format::Matrix, mfma_f8f6f4, {kDst, kAny, kAny, kAny, kScale, kScale}, 0, 32 << 8),
    custom("v_mfma_scale_f32_16x16x128_f8f6f4", gfx950::Format::Matrix, mfma_f8f6f4, {kDst, kAny, kAny, kAny, kScale, kScale}, 0, 16 << 8),
};

}  // namespace

Rows matrix_rows() {
  struct Table {
    Row rows[160];
    size_t count = 0;
  };
  static Table* table = [] {
    auto* t = new Table;
    for (const Row& r : kScaled) t->rows[t->count++] = r;
    for (const numerics::MfmaRow* m = numerics::mfma_rows_begin(); m != numerics::mfma_rows_end() && t->count < std::size(t->rows); ++m) {
      const bool f64 = std::strstr(m->mnemonic, "f64") != nullptr;
      Row r = custom(m->mnemonic, gfx950::Format::Matrix, mfma, {{m->sparse ? Role::DstSrc : Role::Dst, Type::None}, kAny, kAny}, 0, f64, m);
      if (m->sparse) add_slot(r, Role::Src, Type::U32);
      else add_slot(r, Role::Src, Type::None);
      t->rows[t->count++] = r;
    }
    return t;
  }();
  return {table->rows, table->count};
}

}  // namespace gfx950::isa
