// One decoded instruction: typed operands, modifiers, and what it reads and writes. Made once (decode/program.cpp), never changed after.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gfx950 {

struct Wave;
struct Instruction;
struct Row;

// How an operand's bits are meant. Width and float-ness follow (words_of, is_float).
enum class Type : uint8_t {
  None,
  U16, I16, F16, BF16,     // the low half of a register, unless op_sel or SDWA says otherwise
  U32, I32, F32,
  PkU16, PkI16, PkF16, PkBF16,  // two halves in one register
  U64, I64, F64,
  PkF32,                   // two floats in a register pair
  Mask,                    // one bit a lane, in a scalar register pair
  B96, B128, B160, B192, B256, B512, B1024,  // plain registers, of that many bits
};
int words_of(Type type);
bool is_float(Type type);
Type bits_type(int words);

constexpr int kAccBase = 256;     // AccVGPR n is register row 256 + n
constexpr int kVectorRows = 512;
enum ScalarIndex : uint16_t { kFlatScratch = 102, kXnackMask = 104, kVcc = 106, kTtmp0 = 108, kM0 = 124, kSccBit = 125, kExec = 126, kScalars = 128 };

using RowPointer = const uint32_t (*)[64];

struct Operand {
  enum Kind : uint8_t { None, Vector, Scalar, Constant, Off, Scc };
  Kind kind = None;
  Type type = Type::None;
  uint8_t words = 0;
  bool neg = false, abs = false, sext = false;
  bool literal = false;
  uint16_t index = 0;          // Vector: register row (0..511); Scalar: encoding (0..127)
  uint64_t value = 0;          // Constant: the bits, extended to the operand's width
  RowPointer rows = nullptr;   // Constant used by a vector instruction: the value, one row a word, 64 lanes each
};

// Registers as bits: rows 0..511, scalars 0..127 (SCC is bit 125).
struct RegisterSet {
  std::array<uint64_t, 8> vector{};
  std::array<uint64_t, 2> scalar{};

  void add_vector(int first, int count) {
    for (int i = first; i < first + count && i < kVectorRows; ++i) vector[i / 64] |= uint64_t{1} << (i % 64);
  }
  void add_scalar(int first, int count) {
    for (int i = first; i < first + count && i < kScalars; ++i) scalar[i / 64] |= uint64_t{1} << (i % 64);
  }
  void add(const Operand& o) {
    if (o.kind == Operand::Vector) add_vector(o.index, o.words);
    if (o.kind == Operand::Scalar) add_scalar(o.index, o.words);
    if (o.kind == Operand::Scc) add_scalar(kSccBit, 1);
  }
  bool intersects(const RegisterSet& other) const {
    uint64_t any = 0;
    for (int i = 0; i < 8; ++i) any |= vector[i] & other.vector[i];
    for (int i = 0; i < 2; ++i) any |= scalar[i] & other.scalar[i];
    return any != 0;
  }
  void merge(const RegisterSet& other) {
    for (int i = 0; i < 8; ++i) vector[i] |= other.vector[i];
    for (int i = 0; i < 2; ++i) scalar[i] |= other.scalar[i];
  }
};

enum class SdwaSel : uint8_t { Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword };
enum class SdwaUnused : uint8_t { Pad, Sext, Preserve };
enum class DppKind : uint8_t { QuadPerm, RowShl, RowShr, RowRor, WaveShl1, WaveRol1, WaveShr1, WaveRor1, RowMirror, RowHalfMirror, RowBcast15, RowBcast31, RowNewBcast };

struct Modifiers {
  bool clamp = false;
  uint8_t omod = 0;            // 0 none, 1 times 2, 2 times 4, 3 divided by 2
  uint8_t op_sel = 0, op_sel_hi = 0, neg_lo = 0, neg_hi = 0;  // bit i: source i (op_sel bit 3: the destination of a three-source instruction)
  bool dpp = false, bound_ctrl = false, fetch_inactive = false;
  DppKind dpp_kind = DppKind::QuadPerm;
  uint8_t dpp_value = 0, row_mask = 15, bank_mask = 15;
  bool sdwa = false;
  SdwaSel dst_sel = SdwaSel::Dword, src_sel[2] = {SdwaSel::Dword, SdwaSel::Dword};
  SdwaUnused dst_unused = SdwaUnused::Pad;
  uint8_t cbsz = 0, abid = 0, blgp = 0, bitop3 = 0;
  // Memory:
  int32_t offset = 0, offset1 = 0;
  bool offen = false, idxen = false, lds = false, sc0 = false, sc1 = false, nt = false, gds = false;
};

using Run = void (*)(Wave&, const Instruction&);

struct Instruction {
  Run run = nullptr;
  const Row* row = nullptr;
  Operand dst, dst2;           // dst2: a second result (carry, flags)
  Operand src[5];
  uint8_t sources = 0;
  uint8_t words = 1;           // size in dwords
  bool plain = true;           // no modifier that changes operands or the result: the fast path
  Modifiers mod;
  int32_t imm = 0;             // SOPK/SOPP immediate, sign-extended; hwreg fields are read from it
  uint32_t encoding[5] = {};
  uint64_t pc = 0;             // ELF virtual address
  RegisterSet reads, writes, touched;
  std::string text;
};

}  // namespace gfx950
