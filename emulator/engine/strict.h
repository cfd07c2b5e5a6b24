// Strict mode's state. What it checks: engine/strict.cpp (waits, registers, memory) and engine/strict_lds.cpp (LDS races).
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "decode/instruction.h"
#include "engine/wave.h"

namespace gfx950 {

// An operation that counts on vmcnt or lgkmcnt and that no wait has covered yet.
struct Pending {
  std::unique_ptr<VectorAccess> vector;  // one of the two
  std::unique_ptr<ScalarAccess> scalar;
  bool vm = false, lgkm = false;
  bool effect_done = false;              // stores: performed at issue, only counted
  bool staged = false;                   // the values were read already (a later write of the same wave comes after this read)
  std::vector<uint32_t> data;            // staged rows
  RegisterSet writes;
  const Instruction* inst = nullptr;
  uint64_t dma_low = 0, dma_high = 0;    // LDS bytes a DMA will write
  uint64_t sequence = 0;
};

class StrictWave {
 public:
  std::deque<Pending> queue;             // in issue order
  RegisterSet in_flight;                 // union of the queue's writes
  int scalars = 0;                       // SMEM operations in the queue
  bool dma = false, lds_reads = false;

  void refresh();                        // recomputes the three above
};

// State of each LDS byte.
struct ByteState {
  uint32_t epoch = 0;                    // of the masks below
  uint16_t readers = 0, writers = 0, atomics = 0;  // waves that touched it in that epoch
  uint32_t last_write = 0, last_read = 0;  // index into accesses of the instruction
  uint8_t written = 0, in_flight = 0;    // DMA writes under way
};

class StrictWorkgroup {
 public:
  StrictWorkgroup(Launch& launch, Workgroup& group);
  StrictWave* wave(uint32_t index) { return &waves_[index]; }
  void start();
  void barrier();                        // all live waves have arrived
  void report(Wave& w, const Instruction& i, ReportKind kind, const std::string& detail, int lane, uint64_t address, uint32_t size,
              const Instruction* issued = nullptr);
  std::vector<Report> take_reports(uint64_t& total);

  // LDS accounting of one access, at issue and again at every barrier it is still open over.
  void touch_lds(Wave& w, const VectorAccess& a, bool first);
  void close_dma(const VectorAccess& a);
  void check_written(Wave& w, const VectorAccess& a);

 private:
  template <class F> void each_range(Wave& w, const VectorAccess& a, F f);
  uint32_t number(const Instruction* i);

  Launch& launch_;
  Workgroup& group_;
  std::deque<StrictWave> waves_;
  std::vector<ByteState> bytes_;
  uint32_t epoch_ = 1;
  std::vector<const Instruction*> instructions_;
  std::vector<Report> reports_;
  uint64_t total_ = 0;
};

// Before an instruction runs: does it use a register that is still in flight?
void strict_before_slow(Wave& w, const Instruction& i);
inline void strict_before(Wave& w, const Instruction& i) {
  StrictWave& s = *w.strict;
  if (!s.queue.empty() && s.in_flight.intersects(i.touched)) strict_before_slow(w, i);
}

}  // namespace gfx950
