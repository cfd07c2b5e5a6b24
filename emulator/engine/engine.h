// Running one kernel launch to its end on the calling thread (plus helpers for the workgroups).
//
// Owns:    the outcome: an error code, a text and, in strict mode, the reports.
// Refuses: launches whose sizes the hardware would refuse. Never throws, never aborts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "object/code_object.h"

namespace gfx950 {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

enum class ErrorCode {
  None,
  InvalidLaunch,       // sizes, kernarg length, LDS: nothing ran
  UnknownInstruction,  // an instruction, modifier or operand form that the emulator does not know
  IllegalAddress,      // an access outside live memory, or a misaligned one
  StrictViolation,     // strict mode only: see the reports
  Runaway,             // more instructions than the guard allows, or a barrier nobody can reach
  Trap,                // s_trap, s_endpgm_saved and their like
  Internal,            // a bug of the emulator
};
const char* name_of(ErrorCode code);

enum class ReportKind {
  MissingWait,      // a register or LDS byte used while a load into it is in flight
  LdsRace,          // two waves, one byte, one of them writes, no barrier between
  UnwrittenLds,     // a read of LDS nobody wrote
  UnwrittenMemory,  // a read of device memory nobody wrote
  BadAddress,       // outside live allocations
  BadLdsAddress,    // outside the workgroup's LDS where the hardware would not clamp quietly
  Misaligned,
  Hazard,           // EXEC not full where the instruction demands it, or too few wait states
  BadRegister,      // a vector register that was not allocated
};
const char* name_of(ReportKind kind);

struct Report {
  ReportKind kind = ReportKind::BadAddress;
  std::string kernel, instruction, detail;
  uint64_t pc = 0;         // ELF virtual address, as llvm-objdump prints it
  uint64_t kernel_pc = 0;  // the same, relative to the kernel's first instruction
  Dim3 workgroup{0, 0, 0};
  uint32_t wave = 0;
  int lane = -1;  // -1: not one lane's
  uint64_t address = 0;
  uint32_t size = 0;
  uint64_t issued_pc = 0;  // missing waits: where the load was issued; races: the other access
  std::string issued_instruction;

  std::string text() const;
};

struct Settings {
  bool strict = false;
  bool null_launch = false;  // GFX950_EMU_NULL=1: return at once
  bool bank_conflicts = false;  // count LDS bank conflicts per instruction (GFX950_EMU_BANK_CONFLICTS=1)
  uint64_t seed = 0;
  unsigned threads = 0;  // 0: all cores
  unsigned reports_kept = 16;
  uint64_t max_instructions = 1ull << 33;  // of one wave: the runaway guard (GFX950_EMU_MAX_INSTRUCTIONS)
  uint64_t quantum = 1 << 16;  // normal mode: instructions of a wave before the next has its turn (GFX950_EMU_QUANTUM)
  const std::atomic<bool>* stop = nullptr;      // set by another thread: the launch ends with ErrorCode::Runaway soon
  static Settings from_environment();           // reads the environment at every call
};

struct LaunchRequest {
  std::shared_ptr<const CodeObject> object;
  const Kernel* kernel = nullptr;
  Dim3 workgroups, block;
  uint32_t dynamic_lds_bytes = 0;
  std::vector<std::byte> kernarg;  // explicit arguments; the engine appends the hidden ones after them by the metadata
  int device = 0;
};

// Per instruction, only with Settings::bank_conflicts.
struct BankConflicts {
  uint64_t pc = 0;
  std::string instruction;
  uint64_t executed = 0, extra_cycles = 0;
};

struct LaunchOutcome {
  ErrorCode code = ErrorCode::None;
  std::string text;  // one or more lines for people; empty when code is None
  std::vector<Report> reports;
  uint64_t reports_total = 0;
  uint64_t instructions = 0;  // wave instructions executed
  std::vector<BankConflicts> bank_conflicts;
};

LaunchOutcome run(const LaunchRequest& request, const Settings& settings);

}  // namespace gfx950
