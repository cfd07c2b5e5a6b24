// One row of the instruction table: the mnemonic, how its text is read, and the handler.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decode/instruction.h"

namespace gfx950 {

enum class Format : uint8_t {
  Scalar,      // SOP1, SOP2, SOPC, SOPK
  Program,     // SOPP: the 16-bit immediate is all there is
  ScalarMemory,
  Vector,      // VOP1, VOP2, VOP3, VOPC, VOP3P, with DPP and SDWA
  Matrix,      // MFMA, SMFMAC
  Lds,
  Buffer,
  Flat,        // flat, global, scratch
};

enum class Role : uint8_t {
  Dst,         // a register that is written
  DstSrc,      // written, and read as the last source (accumulators)
  Dst2,        // the second result
  DstOptional, // written when sc0 is there (atomics that return), absent from the text otherwise
  SrcReturned, // read; with sc0 its first registers (the row's parameter: how many) are written as well
  DstUnlessLds,// absent when the `lds` modifier is there
  Src,
  Swap,        // read and written (v_swap, permlane swaps)
  Imm,         // in the text, but read from the encoding
};

struct Slot {
  Role role;
  Type type;   // Type::None: a register range of any width
};

enum RowFlag : uint32_t {
  kReadsScc = 1, kWritesScc = 2, kReadsVcc = 4, kWritesVcc = 8, kWritesExec = 16, kReadsM0 = 32,
  kPreserveHalf = 64,     // a 16-bit result keeps the other half of the register (others write zeros there)
  kMix = 128,             // v_fma_mix: op_sel_hi says which sources are f16
  kNoExec = 256,          // runs with EXEC empty as well (readlane and its like)
  kOpSelBytes = 512,      // op_sel selects bytes: left to the instruction
  kIntClamp = 1024,       // clamp means saturation and the function knows it
  kRawFloat = 2048,       // a float type only for the modifiers: no denormal flush (v_cndmask, moves)
  kUnordered = 4096,      // scalar memory: results come in any order
  kVmcnt = 8192, kLgkmcnt = 16384,
  kFullExec = 32768,      // EXEC must be all ones
  kNoFlush = 65536,       // float, but handles denormals itself whatever MODE says
  kPlainAddend = 131072,  // modifiers do not reach the last source (v_dot2_f32_bf16)
};

// What the handlers of vector instructions get: a pointer to 64 lanes for each word of each source, likewise for the results.
struct LaneRows {
  const uint32_t* word[2];
};
struct LaneContext {
  bool ieee = true, saturate = false;
  const Instruction* inst = nullptr;
};
// out[0], out[1]: the result's words; out[2]: the mask result (0 or 1 a lane).
using Lanes = void (*)(const LaneRows* sources, uint32_t* const* out, const LaneContext&);

struct Row {
  const char* name;
  Format format;
  uint32_t flags = 0;
  uint8_t slot_count = 0;
  Slot slots[6] = {};
  Run run = nullptr;
  Lanes lanes = nullptr;
  uint64_t parameter = 0;  // the family's own
  const void* data = nullptr;  // the family's own
};

struct IsaTable {
  const char* name;        // "avx512", "avx2"
  const Row* const* rows;
  size_t count;
};
// The copy that this machine runs (GFX950_EMU_ISA=avx2 forces the narrower one); null when it has not even AVX2 and FMA.
const IsaTable* isa_table();
const Row* find_row(const char* mnemonic);

}  // namespace gfx950
