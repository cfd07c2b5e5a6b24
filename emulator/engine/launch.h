// One launch in flight: what all its workgroups share, and the collector of its faults and reports.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "engine/wave.h"
#include "object/code_object.h"

namespace gfx950 {

class Program;

struct Launch {
  const LaunchRequest* request = nullptr;
  const Settings* settings = nullptr;
  const Kernel* kernel = nullptr;
  const CodeObject* object = nullptr;
  Program* program = nullptr;
  uintptr_t kernarg = 0;
  uint32_t lds_bytes = 0;
  uint32_t scratch_bytes = 0;  // a lane's
  uint32_t waves_per_group = 0;
  std::vector<uint32_t> kernarg_dwords;

  std::atomic<uint64_t> next_group{0};
  std::atomic<bool> failed{false};
  std::atomic<uint64_t> instructions{0};

  // A fault ends the launch; of several the one of the lowest workgroup is told, in strict mode reports go on.
  void add_fault(uint64_t group, const Fault& f);
  void add_reports(std::vector<Report>&& reports, uint64_t total);
  void add_conflicts(const std::map<const Instruction*, std::pair<uint64_t, uint64_t>>& counts);
  void finish(LaunchOutcome& outcome);

 private:
  std::mutex mutex_;
  void keep_first_reports();
  bool faulted_ = false;
  uint64_t fault_group_ = 0;
  Fault fault_{ErrorCode::None, ""};
  std::vector<Report> reports_;
  uint64_t reports_total_ = 0;
  std::map<const Instruction*, std::pair<uint64_t, uint64_t>> conflicts_;
};

// Addresses of code: device address of an ELF address and back (a fault when it is no code of this object).
uint64_t code_address(const Wave& w, uint64_t pc);
uint64_t code_offset(const Wave& w, uint64_t address);

// Runs one workgroup to its end; throws Fault.
class GroupRunner {
 public:
  explicit GroupRunner(Launch& launch);
  ~GroupRunner();
  GroupRunner(const GroupRunner&) = delete;
  GroupRunner& operator=(const GroupRunner&) = delete;
  void run(uint64_t linear);
  std::vector<Report> take_reports(uint64_t& total);
  std::map<const Instruction*, std::pair<uint64_t, uint64_t>> conflicts;

 private:
  void start_wave(Wave& w, uint32_t index);
  void step(Wave& w, uint64_t limit);
  void schedule_plain();
  void schedule_seeded(uint64_t linear);
  bool release_barrier();

  Launch& launch_;
  Workgroup group_;
  std::vector<std::unique_ptr<Wave>> waves_;
  std::vector<uint8_t> scratch_;
  std::unique_ptr<StrictWorkgroup> strict_;
};

}  // namespace gfx950
