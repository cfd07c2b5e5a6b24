#include "engine/engine.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

#include "decode/program.h"
#include "decode/row.h"
#include "engine/kernarg.h"
#include "engine/launch.h"
#include "numerics/bits.h"

namespace gfx950 {

namespace {

constexpr uint32_t kMaxLds = 160 << 10;
constexpr uint32_t kMaxThreads = 1024;
constexpr uint64_t kMaxScratchLane = 1 << 20;

// The wave takes its mode from rsrc1; what is not modelled is refused before anything runs.
std::string refuse(const LaunchRequest& r) {
  if (!r.object || !r.kernel) return "no kernel";
  const Kernel& k = *r.kernel;
  const auto dims = [](const Dim3& d) { return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")"; };
  for (uint64_t n : {r.workgroups.x, r.workgroups.y, r.workgroups.z})
    if (n == 0 || n > 0x7fffffff) return "a grid of " + dims(r.workgroups) + " workgroups: each size must be 1 to 2^31 - 1";
  if (r.block.x == 0 || r.block.y == 0 || r.block.z == 0) return "a block of " + dims(r.block) + " threads";
  const uint64_t threads = uint64_t{r.block.x} * r.block.y * r.block.z;
  const uint64_t most = std::min<uint64_t>(kMaxThreads, k.max_flat_workgroup_size);
  if (r.block.x > kMaxThreads || r.block.y > kMaxThreads || r.block.z > kMaxThreads || threads > most)
    return "a block of " + dims(r.block) + " threads: kernel " + k.name + " takes at most " + std::to_string(most);
  if (k.required_workgroup_size[0]) {
    const uint32_t* q = k.required_workgroup_size;
    if (q[0] != r.block.x || q[1] != r.block.y || q[2] != r.block.z)
      return "a block of " + dims(r.block) + " threads: kernel " + k.name + " requires (" + std::to_string(q[0]) + ", " + std::to_string(q[1]) + ", " + std::to_string(q[2]) + ")";
  }
  const uint64_t lds = uint64_t{k.descriptor.group_segment_fixed_size} + r.dynamic_lds_bytes;
  if (lds > kMaxLds) return std::to_string(lds) + " bytes of LDS; gfx950 has " + std::to_string(kMaxLds);
  if (k.descriptor.private_segment_fixed_size > kMaxScratchLane) return std::to_string(k.descriptor.private_segment_fixed_size) + " bytes of scratch a lane";
  const char* mode = unmodelled_mode(k.descriptor.rsrc1 >> 12 & 0xff);
  return mode ? "kernel " + k.name + ": " + mode : "";
}

}  // namespace

void Launch::add_fault(uint64_t group, const Fault& f) {
  std::lock_guard lock(mutex_);
  if (f.text == "stopped from outside" && faulted_) return;
  if (!faulted_ || group < fault_group_) {
    if (f.text == "stopped from outside" && failed.load()) return;
    fault_ = f;
    fault_group_ = group;
    faulted_ = true;
  }
  failed = true;
}

namespace {

// Reports come in this order, and of too many the first in this order are kept: the same ones whatever the threads did.
bool comes_before(const Report& a, const Report& b) {
  auto key = [](const Report& r) { return std::tuple(r.workgroup.z, r.workgroup.y, r.workgroup.x, r.pc, r.wave, static_cast<int>(r.kind), r.lane, r.address, r.issued_pc); };
  return key(a) < key(b);
}

}  // namespace

void Launch::keep_first_reports() {
  std::sort(reports_.begin(), reports_.end(), comes_before);
  if (reports_.size() > settings->reports_kept) reports_.resize(settings->reports_kept);
}

void Launch::add_reports(std::vector<Report>&& reports, uint64_t total) {
  std::lock_guard lock(mutex_);
  reports_total_ += total;
  for (auto& r : reports) reports_.push_back(std::move(r));
  // Not one list for a grid of a million workgroups that are all wrong.
  if (reports_.size() > 1024 + 2ull * settings->reports_kept) keep_first_reports();
}

void Launch::add_conflicts(const std::map<const Instruction*, std::pair<uint64_t, uint64_t>>& counts) {
  std::lock_guard lock(mutex_);
  for (const auto& [i, c] : counts) {
    conflicts_[i].first += c.first;
    conflicts_[i].second += c.second;
  }
}

void Launch::finish(LaunchOutcome& out) {
  keep_first_reports();
  out.reports = std::move(reports_);
  out.reports_total = reports_total_;
  out.instructions = instructions;
  if (faulted_) {
    out.code = fault_.code;
    out.text = fault_.text;
  }
  if (reports_total_) {
    if (out.code == ErrorCode::None) out.code = ErrorCode::StrictViolation;
    if (!out.text.empty()) out.text += "\n";
    out.text += "strict mode: " + std::to_string(reports_total_) + " report" + (reports_total_ == 1 ? "" : "s") + " in kernel " + kernel->name;
    if (reports_total_ > out.reports.size()) out.text += ", the first " + std::to_string(out.reports.size()) + ":";
    for (const auto& r : out.reports) out.text += "\n  " + r.text();
  }
  for (const auto& [i, c] : conflicts_) out.bank_conflicts.push_back({i->pc, i->text, c.first, c.second});
  std::sort(out.bank_conflicts.begin(), out.bank_conflicts.end(), [](const BankConflicts& a, const BankConflicts& b) { return a.pc < b.pc; });
}

namespace {

void work(Launch& launch, uint64_t groups) {
  numerics::HostFloatScope floats;
  std::unique_ptr<GroupRunner> runner;
  for (;;) {
    const uint64_t group = launch.next_group.fetch_add(1);
    if (group >= groups) break;
    if (launch.failed.load() && !launch.settings->strict) break;
    try {
      if (!runner) runner = std::make_unique<GroupRunner>(launch);
      runner->run(group);
    } catch (const Fault& f) {
      launch.add_fault(group, f);
      if (launch.settings->strict && f.code == ErrorCode::Runaway) launch.next_group = groups;
    } catch (const std::exception& e) {
      launch.add_fault(group, {ErrorCode::Internal, std::string("internal error in kernel ") + launch.kernel->name + ": " + e.what()});
    }
    if (runner) {
      uint64_t total = 0;
      auto reports = runner->take_reports(total);
      launch.add_reports(std::move(reports), total);
    }
  }
  if (runner) launch.add_conflicts(runner->conflicts);
}

}  // namespace

LaunchOutcome run(const LaunchRequest& request, const Settings& settings) {
  LaunchOutcome out;
  try {
    const std::string refused = refuse(request);
    if (!refused.empty()) {
      out.code = ErrorCode::InvalidLaunch;
      out.text = "invalid launch: " + refused;
      return out;
    }
    if (!isa_table()) {
      out.code = ErrorCode::Internal;
      out.text = "the emulator needs a CPU with AVX2, FMA and BMI2";
      return out;
    }
    if (settings.null_launch) return out;
    const Kernel& kernel = *request.kernel;
    std::vector<std::byte> kernarg(request.kernarg);
    if (kernarg.size() > kernel.kernarg_size && kernel.kernarg_size) kernarg.resize(kernel.kernarg_size);
    const size_t given = kernarg.size();
    for (const auto& a : kernel.args)
      if (!a.value_kind.starts_with("hidden_") && a.offset + a.size > given) {
        out.code = ErrorCode::InvalidLaunch;
        out.text = "invalid launch: kernel " + kernel.name + " takes arguments up to byte " + std::to_string(a.offset + a.size) + ", " + std::to_string(given) + " were given";
        return out;
      }
    kernarg.resize((std::max<size_t>(kernel.kernarg_size, kernarg.size()) + 15) / 16 * 16 + 16);
    if (!fill_hidden_arguments(request, kernarg, out.text)) {
      out.code = ErrorCode::InvalidLaunch;
      return out;
    }
    Launch launch;
    launch.request = &request;
    launch.settings = &settings;
    launch.kernel = &kernel;
    launch.object = request.object.get();
    launch.program = &request.object->program();
    launch.lds_bytes = kernel.descriptor.group_segment_fixed_size + request.dynamic_lds_bytes;
    launch.scratch_bytes = kernel.descriptor.private_segment_fixed_size ? (kernel.descriptor.private_segment_fixed_size + 15) / 16 * 16 : 0;
    if (kernel.uses_dynamic_stack) launch.scratch_bytes += 16 << 10;
    launch.waves_per_group = (request.block.x * request.block.y * request.block.z + 63) / 64;
    std::string error;
    void* device_kernarg = Memory::instance().allocate(kernarg.size(), MemoryKind::Image, request.device, error);
    if (!device_kernarg) {
      out.code = ErrorCode::Internal;
      out.text = error;
      return out;
    }
    std::memcpy(device_kernarg, kernarg.data(), kernarg.size());
    // Compilers read the segment in whole units of 16 bytes, its alignment. Reading behind them is reading what nobody wrote.
    Memory::instance().mark_written(device_kernarg, kernel.kernarg_size ? (kernel.kernarg_size + 15) / 16 * 16 : kernarg.size());
    launch.kernarg = reinterpret_cast<uintptr_t>(device_kernarg);
    launch.kernarg_dwords.resize(kernarg.size() / 4);
    std::memcpy(launch.kernarg_dwords.data(), kernarg.data(), launch.kernarg_dwords.size() * 4);

    const uint64_t groups = uint64_t{request.workgroups.x} * request.workgroups.y * request.workgroups.z;
    uint64_t threads = settings.threads ? settings.threads : std::max(1u, std::thread::hardware_concurrency());
    threads = std::min<uint64_t>({threads, groups, 256});
    {
      std::vector<std::jthread> helpers;
      try {
        for (uint64_t n = 1; n < threads; ++n) helpers.emplace_back([&] { work(launch, groups); });
      } catch (const std::system_error&) {  // no more threads to be had: those that started, and this one, do it all
      }
      work(launch, groups);
    }
    launch.finish(out);
    Memory::instance().free(device_kernarg, error);
  } catch (const std::exception& e) {
    out.code = ErrorCode::Internal;
    out.text = std::string("internal error: ") + e.what();
  }
  return out;
}

}  // namespace gfx950
