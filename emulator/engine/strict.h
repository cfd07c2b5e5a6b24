// Strict mode's state. What it checks: engine/strict.cpp (waits, registers, memory) and engine/strict_lds.cpp (LDS races).
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "decode/instruction.h"
#include "decode/row.h"
#include "engine/hazards.h"
#include "engine/wave.h"

namespace gfx950 {

// An operation that counts on vmcnt or lgkmcnt and that no wait has covered yet.
struct Pending {
  std::unique_ptr<VectorAccess> vector;  // one of the two
  std::unique_ptr<ScalarAccess> scalar;
  bool vm = false, lgkm = false;         // the counters that no wait has covered yet
  bool flat = false;                     // it counts on both, and returns out of order with either
  bool effect_done = false;              // stores: performed at issue, only counted
  bool staged = false;                   // the values were read already (a later write of the same wave comes after this read)
  std::vector<uint32_t> data;            // staged rows
  RegisterSet writes;
  const Instruction* inst = nullptr;
};

class StrictWave {
 public:
  std::deque<Pending> queue;             // in issue order
  HazardTrace hazards;
  RegisterSet in_flight;                 // union of the queue's writes
  bool dma = false;                      // an LDS DMA is in the queue

  void refresh();                        // recomputes the two above
};

// State of each LDS byte.
struct ByteState {
  uint32_t epoch = 0;                    // of the masks below
  uint16_t readers = 0, writers = 0, movers = 0, atomics = 0;  // waves that touched it in that epoch (movers: by a DMA)
  uint32_t last_write = 0, last_read = 0;  // index into accesses of the instruction
  uint8_t written = 0, in_flight = 0;    // DMA writes under way

  void enter(uint32_t now) {
    if (epoch == now) return;
    epoch = now;
    readers = writers = movers = atomics = 0;
  }
  void touch(Action action, uint16_t wave, uint32_t instruction) {
    if (action == Action::Load) {
      readers |= wave;
      last_read = instruction;
      return;
    }
    (action == Action::Store ? writers : action == Action::Dma ? movers : atomics) |= wave;
    last_write = instruction;
  }
};

class StrictWorkgroup {
 public:
  StrictWorkgroup(Launch& launch, Workgroup& group);
  StrictWave* wave(uint32_t index) { return &waves_[index]; }
  HazardClasses hazard_classes;
  void start();
  void barrier();                        // all live waves have arrived
  void report(Wave& w, const Instruction& i, ReportKind kind, const std::string& detail, int lane, uint64_t address, uint32_t size,
              const Instruction* issued = nullptr);
  std::vector<Report> take_reports(uint64_t& total);

  // LDS accounting of one access at its issue, and again at every barrier it is still open over.
  void touch_lds(Wave& w, const VectorAccess& a);
  void open_over_barrier(const VectorAccess& a, uint32_t wave);
  void close_dma(const VectorAccess& a);
  // A DMA and this wave's own LDS operations that no wait covers come in any order.
  void check_dma_order(Wave& w, const VectorAccess& dma);
  void check_written(Wave& w, const VectorAccess& a);

 private:
  template <class F> void each_range(const VectorAccess& a, F f);
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

// Before an instruction runs: does it keep its distance, does it use a register that is still in flight?
void strict_before_slow(Wave& w, const Instruction& i, const RegisterSet& reads, const RegisterSet& touched);
// The same where M0 moves the registers' numbers (s_movrel*, s_set_gpr_idx_*).
void strict_before_relative(Wave& w, const Instruction& i);
inline void strict_before(Wave& w, const Instruction& i) {
  StrictWave& s = *w.strict;
  s.hazards.before(w, i, w.group->strict->hazard_classes.of(i));
  if (s.queue.empty()) return;
  if (w.gpr_index_mode || i.row->format == Format::Scalar) return strict_before_relative(w, i);
  if (s.in_flight.intersects(i.touched)) strict_before_slow(w, i, i.reads, i.touched);
}

}  // namespace gfx950
