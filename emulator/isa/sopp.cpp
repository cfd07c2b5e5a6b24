// Program control, immediates and hardware registers: SOPP, SOPK, s_getpc and its like.
#include "isa/families.h"
#include "isa/scalars.h"
#include "object/code_object.h"
#include "engine/launch.h"

namespace gfx950::isa {
namespace {

void nothing(Wave&, const Instruction&) {}
void s_endpgm(Wave& w, const Instruction&) { w.stop = Stop::End; }
void s_barrier(Wave& w, const Instruction&) { w.stop = Stop::Barrier; }
void branch(Wave& w, const Instruction& i) { w.next = i.pc + 4 + static_cast<int64_t>(i.imm) * 4; }
void s_cbranch_scc0(Wave& w, const Instruction& i) { if (!w.scc) branch(w, i); }
void s_cbranch_scc1(Wave& w, const Instruction& i) { if (w.scc) branch(w, i); }
void s_cbranch_vccz(Wave& w, const Instruction& i) { if (w.vcc() == 0) branch(w, i); }
void s_cbranch_vccnz(Wave& w, const Instruction& i) { if (w.vcc() != 0) branch(w, i); }
void s_cbranch_execz(Wave& w, const Instruction& i) { if (w.exec() == 0) branch(w, i); }
void s_cbranch_execnz(Wave& w, const Instruction& i) { if (w.exec() != 0) branch(w, i); }
void s_trap(Wave& w, const Instruction& i) { fault(w, ErrorCode::Trap, "s_trap " + std::to_string(i.imm & 0xff)); }
// vmcnt bits 3:0 and 15:14, lgkmcnt bits 11:8 (expcnt, bits 6:4, counts nothing here).
void s_waitcnt(Wave& w, const Instruction& i) {
  if (!w.strict) return;
  const int simm = i.imm & 0xffff;
  strict_wait(w, (simm & 15) | (simm >> 14 & 3) << 4, simm >> 8 & 15);
}
void s_set_gpr_idx_off(Wave& w, const Instruction&) {
  w.mode &= ~kModeGprIdx;
  w.gpr_index_mode = 0;
  w.mode_changed();
}
void s_set_gpr_idx_mode(Wave& w, const Instruction& i) { w.gpr_index_mode = i.imm & 15; w.mode = w.gpr_index_mode ? w.mode | kModeGprIdx : w.mode & ~kModeGprIdx; w.mode_changed(); }
void s_set_gpr_idx_on(Wave& w, const Instruction& i) {
  w.s[kM0] = (w.s[kM0] & ~0xffu) | (read_scalar32(w, i.src[0]) & 0xff);
  w.gpr_index_mode = i.encoding[0] >> 8 & 15;
  w.mode |= kModeGprIdx;
  w.mode_changed();
}
// VSKIP = bit S1 of S0: while it is set, the engine passes over vector and vector memory instructions.
void s_setvskip(Wave& w, const Instruction& i) {
  const bool skip = read_scalar32(w, i.src[0]) >> (read_scalar32(w, i.src[1]) & 31) & 1;
  w.mode = skip ? w.mode | kModeVskip : w.mode & ~kModeVskip;
}
void s_set_gpr_idx_idx(Wave& w, const Instruction& i) { w.s[kM0] = (w.s[kM0] & ~0xffu) | (read_scalar32(w, i.src[0]) & 0xff); }

// SOPK
void s_movk_i32(Wave& w, const Instruction& i) { w.s[i.dst.index] = static_cast<uint32_t>(i.imm); }
void s_cmovk_i32(Wave& w, const Instruction& i) { if (w.scc) w.s[i.dst.index] = static_cast<uint32_t>(i.imm); }
void s_addk_i32(Wave& w, const Instruction& i) {
  const uint32_t a = w.s[i.dst.index], b = static_cast<uint32_t>(i.imm), r = a + b;
  w.s[i.dst.index] = r;
  w.scc = (~(a ^ b) & (a ^ r)) >> 31;
}
void s_mulk_i32(Wave& w, const Instruction& i) { w.s[i.dst.index] *= static_cast<uint32_t>(i.imm); }
enum Compare { kEq, kLg, kGt, kGe, kLt, kLe };
template <class T> bool compare(uint64_t how, T a, T b) {
  switch (how) {
    case kEq: return a == b;
    case kLg: return a != b;
    case kGt: return a > b;
    case kGe: return a >= b;
    case kLt: return a < b;
    default: return a <= b;
  }
}
void s_cmpk_i32(Wave& w, const Instruction& i) { w.scc = compare<int32_t>(i.row->parameter, static_cast<int32_t>(read_scalar32(w, i.src[0])), i.imm); }
void s_cmpk_u32(Wave& w, const Instruction& i) { w.scc = compare<uint32_t>(i.row->parameter, read_scalar32(w, i.src[0]), static_cast<uint32_t>(i.imm) & 0xffff); }

// Hardware registers: id bits 5:0, offset 10:6, width - 1 bits 15:11.
enum HardwareRegister { kHwMode = 1, kHwStatus = 2, kHwTrapStatus = 3, kHwId = 4, kHwGprAlloc = 5, kHwLdsAlloc = 6, kHwIbStatus = 7, kHwXccId = 20 };
uint32_t read_hardware(Wave& w, int id) {
  switch (id) {
    case kHwMode: return w.mode;
    case kHwStatus: return static_cast<uint32_t>(w.scc) | (w.exec() == 0) << 9 | (w.vcc() == 0) << 10;
    case kHwTrapStatus: case kHwIbStatus: return 0;
    case kHwId: return w.index;                              // assumption: slot bits are the wave's number, nothing else
    case kHwLdsAlloc: return (w.group->lds_size + 511) / 512 << 12;
    case kHwXccId: return static_cast<uint32_t>(w.group->linear % 8);  // workgroups go round the eight dies
    default: fault(w, ErrorCode::UnknownInstruction, "hardware register " + std::to_string(id) + " is not modelled");
  }
}
void s_getreg_b32(Wave& w, const Instruction& i) {
  const int id = i.imm & 63, offset = i.imm >> 6 & 31, width = (i.imm >> 11 & 31) + 1;
  const uint32_t value = read_hardware(w, id) >> offset;
  w.s[i.dst.index] = width == 32 ? value : value & ((1u << width) - 1);
}
void s_setreg(Wave& w, const Instruction& i) {
  const int id = i.imm & 63, offset = i.imm >> 6 & 31, width = (i.imm >> 11 & 31) + 1;
  if (id != kHwMode) fault(w, ErrorCode::UnknownInstruction, "writing hardware register " + std::to_string(id) + " is not modelled");
  const uint32_t mask = (width == 32 ? ~0u : (1u << width) - 1) << offset;
  const uint32_t value = read_scalar32(w, i.src[0]) << offset;
  w.mode = (w.mode & ~mask) | (value & mask);
  if (const char* text = unmodelled_mode(w.mode)) fault(w, ErrorCode::UnknownInstruction, text);
  w.mode_changed();
}

void s_getpc_b64(Wave& w, const Instruction& i) { w.set_pair(i.dst.index, code_address(w, i.pc + 4)); }
void s_setpc_b64(Wave& w, const Instruction& i) { w.next = code_offset(w, w.pair(i.src[0].index)); }
void s_swappc_b64(Wave& w, const Instruction& i) {
  const uint64_t target = w.pair(i.src[0].index);
  w.set_pair(i.dst.index, code_address(w, i.pc + 4));
  w.next = code_offset(w, target);
}
void s_call_b64(Wave& w, const Instruction& i) {
  w.set_pair(i.dst.index, code_address(w, i.pc + 4));
  branch(w, i);
}
// Relative scalar registers: M0 is added to the source's (movrels) or the destination's (movreld) number.
template <int words, bool destination> void movrel(Wave& w, const Instruction& i) {
  const uint32_t from = i.src[0].index + (destination ? 0 : w.s[kM0]), to = i.dst.index + (destination ? w.s[kM0] : 0);
  if (i.src[0].kind != Operand::Scalar || from + words > 102 || to + words > 102) fault(w, ErrorCode::IllegalAddress, "relative register index past the file");
  for (int k = 0; k < words; ++k) w.s[to + k] = w.s[from + k];
}
void s_memtime(Wave& w, const Instruction& i) { w.set_pair(i.dst.index, w.executed); }

constexpr Row program(const char* name, Run run, uint32_t flags = 0) { return custom(name, Format::Program, run, {}, flags); }
constexpr Row kProgram[] = {
    program("s_nop", nothing), program("s_endpgm", s_endpgm), program("s_barrier", s_barrier), program("s_branch", branch),
    program("s_cbranch_scc0", s_cbranch_scc0, kReadsScc), program("s_cbranch_scc1", s_cbranch_scc1, kReadsScc),
    program("s_cbranch_vccz", s_cbranch_vccz, kReadsVcc), program("s_cbranch_vccnz", s_cbranch_vccnz, kReadsVcc),
    program("s_cbranch_execz", s_cbranch_execz), program("s_cbranch_execnz", s_cbranch_execnz), program("s_trap", s_trap),
    program("s_waitcnt", s_waitcnt), program("s_setprio", nothing), program("s_sleep", nothing), program("s_wakeup", nothing),
    program("s_sethalt", nothing), program("s_icache_inv", nothing), program("s_incperflevel", nothing), program("s_decperflevel", nothing),
    program("s_ttracedata", nothing), program("s_setkill", nothing), program("s_sendmsg", nothing), program("s_set_gpr_idx_off", s_set_gpr_idx_off),
    program("s_set_gpr_idx_mode", s_set_gpr_idx_mode), program("s_dcache_inv", nothing), program("s_dcache_wb", nothing),
    program("s_dcache_inv_vol", nothing), program("s_dcache_wb_vol", nothing), program("buffer_wbl2", nothing), program("buffer_inv", nothing),
};

constexpr Slot kDst32{Role::Dst, Type::U32}, kSrc32{Role::Src, Type::U32}, kDst64{Role::Dst, Type::U64}, kSrc64{Role::Src, Type::U64};
constexpr Slot kImm{Role::Imm, Type::None}, kInOut{Role::DstSrc, Type::U32};
constexpr Row cmpk(const char* name, Run run, Compare how) { return custom(name, Format::Scalar, run, {kSrc32, kImm}, kWritesScc, how); }
constexpr Row kImmediate[] = {
    custom("s_movk_i32", Format::Scalar, s_movk_i32, {kDst32, kImm}), custom("s_cmovk_i32", Format::Scalar, s_cmovk_i32, {kInOut, kImm}, kReadsScc),
    custom("s_addk_i32", Format::Scalar, s_addk_i32, {kInOut, kImm}, kWritesScc), custom("s_mulk_i32", Format::Scalar, s_mulk_i32, {kInOut, kImm}),
    cmpk("s_cmpk_eq_i32", s_cmpk_i32, kEq), cmpk("s_cmpk_lg_i32", s_cmpk_i32, kLg), cmpk("s_cmpk_gt_i32", s_cmpk_i32, kGt),
    cmpk("s_cmpk_ge_i32", s_cmpk_i32, kGe), cmpk("s_cmpk_lt_i32", s_cmpk_i32, kLt), cmpk("s_cmpk_le_i32", s_cmpk_i32, kLe),
    cmpk("s_cmpk_eq_u32", s_cmpk_u32, kEq), cmpk("s_cmpk_lg_u32", s_cmpk_u32, kLg), cmpk("s_cmpk_gt_u32", s_cmpk_u32, kGt),
    cmpk("s_cmpk_ge_u32", s_cmpk_u32, kGe), cmpk("s_cmpk_lt_u32", s_cmpk_u32, kLt), cmpk("s_cmpk_le_u32", s_cmpk_u32, kLe),
    custom("s_getreg_b32", Format::Scalar, s_getreg_b32, {kDst32, kImm}), custom("s_setreg_b32", Format::Scalar, s_setreg, {kImm, kSrc32}),
    custom("s_setreg_imm32_b32", Format::Scalar, s_setreg, {kImm, kSrc32}), custom("s_getpc_b64", Format::Scalar, s_getpc_b64, {kDst64}),
    custom("s_setpc_b64", Format::Scalar, s_setpc_b64, {kSrc64}), custom("s_swappc_b64", Format::Scalar, s_swappc_b64, {kDst64, kSrc64}),
    custom("s_call_b64", Format::Scalar, s_call_b64, {kDst64, kImm}), custom("s_set_gpr_idx_on", Format::Scalar, s_set_gpr_idx_on, {kSrc32, kImm}),
    custom("s_set_gpr_idx_idx", Format::Scalar, s_set_gpr_idx_idx, {kSrc32}), custom("s_setvskip", Format::Scalar, s_setvskip, {kSrc32, kSrc32}),
    custom("s_memtime", Format::Scalar, s_memtime, {kDst64}),
    custom("s_movrels_b32", Format::Scalar, movrel<1, false>, {kDst32, kSrc32}, kReadsM0), custom("s_movreld_b32", Format::Scalar, movrel<1, true>, {kDst32, kSrc32}, kReadsM0),
    custom("s_movrels_b64", Format::Scalar, movrel<2, false>, {kDst64, kSrc64}, kReadsM0), custom("s_movreld_b64", Format::Scalar, movrel<2, true>, {kDst64, kSrc64}, kReadsM0),
    custom("s_memrealtime", Format::Scalar, s_memtime, {kDst64}),
};

}  // namespace

Rows program_rows() { return {kProgram, std::size(kProgram)}; }
Rows scalar_immediate_rows() { return {kImmediate, std::size(kImmediate)}; }

}  // namespace gfx950::isa
