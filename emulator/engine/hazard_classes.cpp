// What each instruction is to the wait-state rules: by its mnemonic, its encoding and its operands.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "decode/program.h"
#include "decode/row.h"
#include "engine/hazards.h"
#include "engine/launch.h"

namespace gfx950 {

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_trans(std::string_view name) {
  for (const char* stem : {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    if (name.starts_with(stem)) return true;
  return false;
}

// Bit 14 of a VOP3 encoding is op_sel of the destination; VOP3P and the forms with a second result use it otherwise.
bool writes_high_half(const Instruction& i) {
  const uint32_t e = i.encoding[0];
  return e >> 26 == 0x34 && e >> 23 != 0x1a7 && i.dst.kind == Operand::Vector && i.dst2.kind == Operand::None && (e >> 14 & 1);
}

bool selects_destination(const Instruction& i, std::string_view name) {
  if (i.mod.sdwa && i.mod.dst_sel != SdwaSel::Dword) return true;
  if (writes_high_half(i)) return true;
  if (!name.starts_with("v_cvt_")) return false;
  return has(name, "_sr_pk_fp4_") || ((has(name, "_sr_fp8_") || has(name, "_sr_bf8_")) && (i.encoding[0] >> 13 & 1));
}

// Passes of four cycles, from LLVM's scheduling model of gfx950 (measured with llc: tests/emulator/test_hazards.py).
uint8_t passes_of(const Instruction& i, std::string_view name) {
  if (has(name, "_f64_")) return has(name, "16x16") ? 16 : 4;
  if (has(name, "f8f6f4")) return static_cast<uint8_t>((has(name, "32x32") ? 8 : 4) * (i.mod.cbsz < 2 || i.mod.blgp < 2 ? 2 : 1));
  const bool single = name.ends_with("_f32") && !has(name, "smfmac");  // f32 operands: the other pipe
  if (has(name, "4x4x")) return 2;
  const uint8_t once = has(name, "32x32x") ? 8 : 4;
  return static_cast<uint8_t>(once * (single || has(name, "_2b_") || has(name, "_4b_") ? 2 : 1));
}

uint32_t memory_flags(const Instruction& i) {
  uint32_t flags = kHazardVmem;
  const bool buffer = i.row->format == Format::Buffer, stores = has(i.row->name, "store") || has(i.row->name, "atomic");
  const Operand& data = i.src[buffer ? 0 : 1];
  const bool held_back = buffer && i.sources > 3 && i.src[3].kind == Operand::Scalar;  // a scalar offset delays the next instruction
  if (stores && data.kind == Operand::Vector && data.words > 2 && !held_back) flags |= kHazardWideStore | kHazardProducer;
  return flags;
}

uint32_t vector_flags(const Instruction& i, std::string_view name) {
  uint32_t flags = kHazardValu | kHazardProducer;
  if (i.writes.scalar[0] | (i.writes.scalar[1] & ~kNotSgprs)) flags |= kHazardWritesScalar;
  if (i.writes.scalar[kExec / 64] >> (kExec % 64) & 3) flags |= kHazardWritesExec;
  if (is_trans(name)) flags |= kHazardTrans;
  if (name.starts_with("v_dot")) flags |= kHazardDot;
  if (i.mod.dpp) flags |= kHazardDpp;
  if (name == "v_readlane_b32" || name == "v_readfirstlane_b32") flags |= kHazardReadLane;
  if (name == "v_writelane_b32") flags |= kHazardWriteLane;
  if (name.starts_with("v_permlane")) flags |= kHazardSwapLanes;
  if (name.starts_with("v_div_fmas")) flags |= kHazardDivFmas;
  if (name == "v_fma_f64" || name == "v_fmac_f64") flags |= kHazardFma64;
  if (selects_destination(i, name)) flags |= kHazardDstSelect;
  return flags;
}

uint32_t scalar_flags(const Instruction& i, std::string_view name) {
  uint32_t flags = 0;
  if (name.starts_with("s_movrel")) flags |= kHazardReadsM0;
  if (name.starts_with("s_setreg")) flags |= kHazardSetsMode | kHazardProducer;
  if (name == "s_getreg_b32") flags |= kHazardGetsMode;
  if (i.writes.scalar[kM0 / 64] >> (kM0 % 64) & 1) flags |= kHazardWritesM0 | kHazardProducer;
  return flags;
}

}  // namespace

HazardClass hazard_class(const Instruction& i, const RegisterSet& not_allocated) {
  const std::string_view name = i.row->name;
  HazardClass c;
  switch (i.row->format) {
    case Format::Vector: c.flags = vector_flags(i, name); break;
    case Format::Matrix:
      c.flags = kHazardMatrix;
      c.passes = passes_of(i, name);
      if (has(name, "_f64_")) c.flags |= kHazardDouble;
      else if (!name.ends_with("_f32") || has(name, "smfmac")) c.flags |= kHazardXdl;
      break;
    case Format::Buffer: case Format::Flat: c.flags = memory_flags(i); break;
    case Format::Lds: c.flags = kHazardLds | (has(name, "addtid") ? kHazardReadsM0 : 0u); break;
    case Format::Scalar: c.flags = scalar_flags(i, name); break;
    case Format::Program: c.flags = name == "s_nop" ? uint32_t{kHazardNop} : name == "s_sendmsg" ? uint32_t{kHazardReadsM0} : 0; break;
    default: break;
  }
  c.flags |= kHazardKnown;
  // What only overwrites a register counts as well: who reads it then does not read what came before.
  uint64_t written = i.writes.scalar[0] | i.writes.scalar[1];
  for (uint64_t rows : i.writes.vector) written |= rows;
  if (written) c.flags |= kHazardProducer;
  if (i.touched.intersects(not_allocated)) c.flags |= kHazardBadRegister;
  return c;
}

HazardClasses::HazardClasses(const Launch& launch) : begin_(launch.program->begin()), classes_((launch.program->end() - launch.program->begin()) / 4 + 1) {
  // The descriptor's granules: 8 registers in all, 4 for where the AccVGPRs begin. Vector registers may reach over that border (AMD's own
  // attention objects do so): they are the same registers as the AccVGPRs there.
  const int all = static_cast<int>((launch.kernel->descriptor.rsrc1 & 63) + 1) * 8, first_acc = static_cast<int>((launch.kernel->descriptor.rsrc3 & 63) + 1) * 4;
  const int vector = std::min(all, kAccBase), acc = std::clamp(all - first_acc, 0, kVectorRows - kAccBase);
  not_allocated_.add_vector(vector, kAccBase - vector);
  not_allocated_.add_vector(kAccBase + acc, kVectorRows - kAccBase - acc);
}

const HazardClass& HazardClasses::of(const Instruction& i) {
  HazardClass& c = classes_[(i.pc - begin_) / 4];
  if (!c.flags) c = hazard_class(i, not_allocated_);
  return c;
}

}  // namespace gfx950
