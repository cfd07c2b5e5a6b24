// The state of a wave and of its workgroup, as the instruction handlers see it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decode/instruction.h"
#include "engine/engine.h"
#include "memory/memory.h"

namespace gfx950 {

struct Wave;
struct Workgroup;
struct VectorAccess;
class StrictWave;
class StrictWorkgroup;
struct Launch;

// Typed fault: thrown by fault() only, caught once in the engine.
struct Fault {
  ErrorCode code;
  std::string text;
};
[[noreturn]] void fault(const Wave& w, ErrorCode code, const std::string& detail, int lane = -1);

enum class Stop : uint8_t { None, Barrier, End };

// MODE register bits (hwreg 1).
enum ModeBits : uint32_t {
  kModeRound32 = 3, kModeRound64 = 12, kModeDenorm32 = 0x30, kModeDenorm64 = 0xc0, kModeDx10Clamp = 0x100, kModeIeee = 0x200,
  kModeFp16Ovfl = 1u << 23, kModeGprIdx = 1u << 27, kModeVskip = 1u << 28,
};
// What a mode asks for and nothing here does, or null.
inline const char* unmodelled_mode(uint32_t mode) {
  if (mode & (kModeRound32 | kModeRound64)) return "a rounding mode other than to nearest even is not modelled";
  for (const uint32_t field : {kModeDenorm32, kModeDenorm64})
    if ((mode & field) != 0 && (mode & field) != field) return "a denormal mode that flushes only sources or only results is not modelled";
  return nullptr;
}

// Flat addresses: an aperture's high word says LDS or scratch.
constexpr uint64_t kSharedBase = uint64_t{1} << 48, kPrivateBase = uint64_t{2} << 48;

struct AddressRange {
  uintptr_t begin = 0, end = 0;
  bool host_writable = false;
};

struct Wave {
  alignas(64) uint32_t v[kVectorRows][64];
  alignas(8) uint32_t s[kScalars + 4];
  bool scc = false;
  bool special_mode = false;   // MODE or relative indexing asks for the slow path
  Stop stop = Stop::None;
  uint32_t mode = 0;
  uint64_t pc = 0, next = 0;   // ELF virtual addresses
  const Instruction* current = nullptr;
  Workgroup* group = nullptr;
  uint32_t index = 0;          // in the workgroup
  uint64_t launched_lanes = 0; // the lanes that exist
  uint8_t* scratch = nullptr;  // private memory, lane after lane
  uint32_t scratch_size = 0;   // a lane's
  uint64_t executed = 0;
  uint32_t gpr_index_mode = 0; // s_set_gpr_idx: bits 0..3 SRC0, SRC1, SRC2, DST
  StrictWave* strict = nullptr;
  static constexpr int kRanges = 8;
  AddressRange ranges[kRanges];
  uint64_t ranges_version = 0;

  uint64_t exec() const { return pair(kExec); }
  void set_exec(uint64_t value) { set_pair(kExec, value); }
  uint64_t vcc() const { return pair(kVcc); }
  uint64_t pair(int index) const {
    uint64_t value;
    std::memcpy(&value, &s[index], 8);
    return value;
  }
  void set_pair(int index, uint64_t value) { std::memcpy(&s[index], &value, 8); }
  void mode_changed() { special_mode = (mode & kModeDenorm32) == 0 || (mode & kModeDenorm64) == 0 || (mode & kModeGprIdx) != 0; }
};

struct Workgroup {
  Launch* launch = nullptr;
  Dim3 id{0, 0, 0};
  uint64_t linear = 0;
  std::vector<uint8_t> lds;
  uint32_t lds_size = 0;
  std::vector<Wave*> waves;
  StrictWorkgroup* strict = nullptr;
  bool count_conflicts = false;  // then conflicts: instruction -> (executed, extra cycles)
  std::map<const Instruction*, std::pair<uint64_t, uint64_t>>* conflicts = nullptr;
  Wave* running = nullptr;
};

// One vector memory operation, captured at issue. In normal mode it is performed at once; in strict mode loads wait in a queue.
enum class Space : uint8_t { Global, Lds, Scratch };
enum class Action : uint8_t { Load, Store, Atomic, Dma };

struct VectorAccess {
  const Instruction* inst = nullptr;
  Space space = Space::Global;
  Action action = Action::Load;
  bool vm = false, lgkm = false;   // the counters it counts on
  uint8_t bytes = 4;               // a lane's, at each address
  uint8_t parts = 1;               // addresses a lane (ds_read2: 2)
  uint8_t words = 1;               // registers delivered
  uint16_t dst = 0;                // first register row delivered to
  int32_t second = 0;              // distance of the second address
  uint32_t lds_base = 0;           // DMA: where lane 0's bytes go; lane l's follow at l * lds_stride
  uint32_t lds_stride = 0;
  uint8_t lds_bytes = 4;           // DMA: what a lane writes there (narrow loads are extended to a dword)
  uint32_t alignment = 1;
  uint64_t exec = 0;
  uint64_t valid[4] = {~0ull, ~0ull, ~0ull, ~0ull};  // in range, per dword; the rest reads 0 and writes nothing
  alignas(64) uint64_t address[64];                  // device addresses, LDS offsets or scratch offsets
  // While a store is being checked: the values, a row a word (high: the upper halves).
  const uint32_t* const* stored = nullptr;
  bool stored_high = false;
  // Reads memory into rows; puts rows into registers (or into LDS).
  void (*fetch)(Wave&, const VectorAccess&, uint32_t (*data)[64]) = nullptr;
  void (*deliver)(Wave&, const VectorAccess&, const uint32_t (*data)[64]) = nullptr;
};

// A scalar load, likewise.
struct ScalarAccess {
  const Instruction* inst = nullptr;
  uint64_t address = 0;
  uint16_t dst = 0;
  uint8_t words = 1;
  uint32_t valid_words = 16;       // s_buffer_load: the rest reads 0
};

// --- engine services for the handlers (engine/access.cpp, engine/strict.cpp)

// Is [at, at + size) inside [0, limit)? Addresses at the far end of 64 bits must not wrap into it.
inline bool fits(uint64_t at, uint64_t size, uint64_t limit) { return at <= limit && size <= limit - at; }

// Is [address, address + size) inside one live range? Fills the wave's cache. Slow path; handlers look at the cache first.
bool resolve_range(Wave& w, uint64_t address, uint64_t size);
std::string describe_access(uint64_t address, uint32_t size);
[[noreturn]] void bad_address(Wave& w, uint64_t address, uint32_t size, int lane, bool store);
void mark_written(Wave& w, uint64_t address, uint32_t size);

inline bool in_range(Wave& w, uint64_t address, uint64_t size) {
  if (w.ranges_version == Memory::instance().version())
    for (const AddressRange& r : w.ranges)
      if (address >= r.begin && fits(address - r.begin, size, r.end - r.begin)) return true;
  return resolve_range(w, address, size);
}

// Strict mode's entries. A load that the checks refuse is not queued.
void strict_load(Wave& w, const VectorAccess& a);
// Before a store or an atomic is performed; clears lanes whose access is refused. True: perform it. Atomics that return give
// their old values through strict_atomic_result.
bool strict_before_store(Wave& w, VectorAccess& a);
void strict_after_store(Wave& w, const VectorAccess& a);
void strict_atomic_result(Wave& w, const VectorAccess& a, const uint32_t (*old)[64]);
void strict_scalar_load(Wave& w, const ScalarAccess& a);
void strict_wait(Wave& w, int vmcnt, int lgkmcnt);
void strict_report(Wave& w, ReportKind kind, const std::string& detail, int lane = -1, uint64_t address = 0, uint32_t size = 0);
void perform_scalar_load(Wave& w, const ScalarAccess& a);
void count_bank_conflicts(Wave& w, const VectorAccess& a);

}  // namespace gfx950
