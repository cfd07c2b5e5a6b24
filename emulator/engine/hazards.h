// Strict mode's check of the wait states that gfx950 demands in software: s_nop, or other instructions, between two that depend on each
// other. A compiler inserts them; hand-written code and inline assembly have to. Numbers and sources: engine/hazards.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/instruction.h"

namespace gfx950 {

struct Launch;
struct Wave;

// M0, SCC and EXEC in the second word of a register set: they have rules of their own or none, unlike SGPRs and VCC.
constexpr uint64_t kNotSgprs = uint64_t{1} << (kM0 % 64) | uint64_t{1} << (kSccBit % 64) | uint64_t{3} << (kExec % 64);

// What an instruction is to the rules; found once for each instruction of a launch (engine/hazard_classes.cpp).
struct HazardClass {
  uint32_t flags = 0;  // 0: not looked at yet
  uint8_t passes = 0;  // of a matrix instruction
};
enum HazardFlag : uint32_t {
  kHazardKnown = 1, kHazardValu = 2, kHazardMatrix = 4, kHazardVmem = 8, kHazardLds = 16,
  kHazardProducer = 32,       // it obliges later instructions, or writes what they might have read
  kHazardTrans = 64, kHazardDot = 128, kHazardXdl = 256, kHazardDouble = 512,
  kHazardWritesScalar = 1 << 10,  // a vector instruction that writes an SGPR or VCC
  kHazardWritesExec = 1 << 11,    // a vector instruction that writes EXEC
  kHazardDstSelect = 1 << 12,     // writes a part of its register, or shifts into it
  kHazardWideStore = 1 << 13, kHazardDpp = 1 << 14, kHazardReadLane = 1 << 15, kHazardWriteLane = 1 << 16, kHazardSwapLanes = 1 << 17,
  kHazardDivFmas = 1 << 18, kHazardFma64 = 1 << 19, kHazardWritesM0 = 1 << 20, kHazardReadsM0 = 1 << 21, kHazardSetsMode = 1 << 22,
  kHazardGetsMode = 1 << 23, kHazardNop = 1 << 24, kHazardBadRegister = 1 << 25,
};
HazardClass hazard_class(const Instruction& i, const RegisterSet& not_allocated);

class HazardClasses {
 public:
  explicit HazardClasses(const Launch& launch);
  const HazardClass& of(const Instruction& i);

 private:
  uint64_t begin_;
  std::vector<HazardClass> classes_;
  RegisterSet not_allocated_;
};

// One wave's newest instructions that later ones have to keep away from.
class HazardTrace {
 public:
  void start() { *this = {}; }
  void before(Wave& w, const Instruction& i, const HazardClass& c);

 private:
  struct Step {
    const Instruction* inst = nullptr;
    HazardClass what;
    uint64_t after = 0;  // the time right behind it
  };
  void check_recent(Wave& w, const Instruction& i, const HazardClass& c);
  void check_matrix(Wave& w, const Instruction& i, const HazardClass& c);
  template <class F> void each_matrix(F f) const;  // newest first, f(step, wait states since); false ends it

  static constexpr uint32_t kRecent = 8, kMatrix = 32;  // powers of two beyond the greatest distances
  Step recent_[kRecent], matrix_[kMatrix];
  uint32_t recent_count_ = 0, matrix_count_ = 0;
  uint64_t now_ = 0;  // wait states since the wave started
};

}  // namespace gfx950
