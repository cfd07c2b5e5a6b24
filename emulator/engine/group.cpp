// One workgroup: the initial state of its waves, and their schedule.
#include <algorithm>
#include <cstring>

#include "decode/program.h"
#include "decode/row.h"
#include "engine/launch.h"
#include "engine/strict.h"

namespace gfx950 {

namespace {


// A small generator with a fixed sequence on every host.
struct Random {
  uint64_t state;
  uint32_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>(state >> 33);
  }
};

}  // namespace

GroupRunner::GroupRunner(Launch& launch) : launch_(launch) {
  group_.launch = &launch;
  group_.lds_size = launch.lds_bytes;
  group_.lds.resize(launch.lds_bytes + 64);
  group_.count_conflicts = launch.settings->bank_conflicts;
  group_.conflicts = &conflicts;
  waves_.resize(launch.waves_per_group);
  for (uint32_t n = 0; n < launch.waves_per_group; ++n) {
    waves_[n] = std::make_unique<Wave>();
    waves_[n]->group = &group_;
    waves_[n]->index = n;
    group_.waves.push_back(waves_[n].get());
  }
  if (launch.scratch_bytes) scratch_.resize(static_cast<size_t>(launch.scratch_bytes) * 64 * launch.waves_per_group);
  if (launch.settings->strict) {
    strict_ = std::make_unique<StrictWorkgroup>(launch, group_);
    group_.strict = strict_.get();
    for (auto& w : waves_) w->strict = strict_->wave(w->index);
  }
}

GroupRunner::~GroupRunner() = default;

// Registers as the command processor leaves them; the rest holds a pattern that is no number anybody expects.
void GroupRunner::start_wave(Wave& w, uint32_t index) {
  const Kernel& k = *launch_.kernel;
  const uint32_t rows = k.vgprs ? std::min<uint32_t>(256, k.vgprs) : 256;
  for (uint32_t r = 0; r < rows; ++r) std::fill(std::begin(w.v[r]), std::end(w.v[r]), 0x7fa5a5a5u);
  if (k.agprs || !k.vgprs)
    for (int r = 256; r < kVectorRows; ++r) std::fill(std::begin(w.v[r]), std::end(w.v[r]), 0x7fa5a5a5u);
  std::fill(std::begin(w.s), std::end(w.s), 0x7fa5a5a5u);
  w.scc = false;
  w.stop = Stop::None;
  w.executed = 0;
  w.gpr_index_mode = 0;
  w.current = nullptr;
  const uint32_t rsrc1 = k.descriptor.rsrc1, rsrc2 = k.descriptor.rsrc2;
  w.mode = (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9 | (rsrc1 >> 26 & 1) << 23;
  w.mode_changed();
  w.set_pair(kVcc, 0);
  w.s[kM0] = 0;
  w.pc = w.next = k.entry;

  const uint32_t threads = launch_.request->block.x * launch_.request->block.y * launch_.request->block.z;
  const uint32_t first = index * 64, lanes = std::min<uint32_t>(64, threads - first);
  w.launched_lanes = lanes == 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1;
  w.set_exec(w.launched_lanes);
  const Dim3& block = launch_.request->block;
  for (uint32_t l = 0; l < 64; ++l) {
    const uint32_t id = first + l, x = id % block.x, y = id / block.x % block.y, z = id / block.x / block.y;
    w.v[0][l] = l < lanes ? x | y << 10 | z << 20 : 0;
  }

  uint32_t s = 0;
  const uint16_t properties = k.descriptor.properties;
  auto pair = [&](uint64_t value) {
    w.set_pair(static_cast<int>(s), value);
    s += 2;
  };
  if (properties & 1) s += 4;                      // private segment buffer: scratch goes through flat_scratch here
  if (properties & 2) pair(0);                     // dispatch packet
  if (properties & 4) pair(0);                     // queue
  if (properties & 8) pair(launch_.kernarg);
  if (properties & 16) pair(0);                    // dispatch id
  if (properties & 32) pair(0);                    // flat scratch: architected
  if (properties & 64) w.s[s++] = launch_.scratch_bytes;
  const uint32_t preload = k.descriptor.kernarg_preload & 127, preload_from = k.descriptor.kernarg_preload >> 7;
  for (uint32_t n = 0; n < preload && s < 16; ++n, ++s)
    w.s[s] = preload_from + n < launch_.kernarg_dwords.size() ? launch_.kernarg_dwords[preload_from + n] : 0;
  if (preload) w.pc = w.next = k.entry + 256;      // behind the code that loads them on older firmware
  s = std::max(s, rsrc2 >> 1 & 31u);
  if (rsrc2 >> 7 & 1) w.s[s++] = group_.id.x;
  if (rsrc2 >> 8 & 1) w.s[s++] = group_.id.y;
  if (rsrc2 >> 9 & 1) w.s[s++] = group_.id.z;
  if (rsrc2 >> 10 & 1) w.s[s++] = 0;
  w.scratch_size = launch_.scratch_bytes;
  w.scratch = scratch_.empty() ? nullptr : scratch_.data() + static_cast<size_t>(index) * 64 * launch_.scratch_bytes;
  w.set_pair(kFlatScratch, kPrivateBase);
}

void GroupRunner::step(Wave& w, uint64_t limit) {
  Program& program = *launch_.program;
  StrictWave* const strict = w.strict;
  for (uint64_t n = 0; n < limit; ++n) {
    if (!program.contains(w.pc)) fault(w, ErrorCode::IllegalAddress, "the program counter left the code");
    const Instruction* i = program.cached(w.pc);
    if (!i) {
      std::string error;
      w.current = nullptr;
      i = program.decode(w.pc, error);
      if (!i) fault(w, ErrorCode::UnknownInstruction, error);
    }
    w.current = i;
    w.next = w.pc + i->words * 4;
    if ((w.mode & kModeVskip) && i->row->format >= Format::Vector) {
      w.pc = w.next;
      ++w.executed;
      continue;
    }
    if (strict) strict_before(w, *i);
    i->run(w, *i);
    w.pc = w.next;
    ++w.executed;
    if (w.stop != Stop::None) return;
  }
}

bool GroupRunner::release_barrier() {
  bool waiting = false;
  for (auto& w : waves_) {
    if (w->stop == Stop::None) return false;
    waiting |= w->stop == Stop::Barrier;
  }
  if (!waiting) return false;
  if (strict_) strict_->barrier();
  for (auto& w : waves_)
    if (w->stop == Stop::Barrier) w->stop = Stop::None;
  return true;
}

void GroupRunner::schedule_plain() {
  const uint64_t limit = launch_.settings->max_instructions;
  const auto* stop = launch_.settings->stop;
  for (;;) {
    bool ran = false;
    for (auto& w : waves_) {
      if (w->stop != Stop::None) continue;
      ran = true;
      group_.running = w.get();
      step(*w, launch_.settings->quantum);
      if (w->executed > limit) fault(*w, ErrorCode::Runaway, "more than " + std::to_string(limit) + " instructions");
      if ((stop && stop->load(std::memory_order_relaxed)) || launch_.failed.load(std::memory_order_relaxed)) throw Fault{ErrorCode::Runaway, "stopped from outside"};
    }
    if (!ran && !release_barrier()) return;
  }
}

void GroupRunner::schedule_seeded(uint64_t linear) {
  Random random{launch_.settings->seed * 0x9e3779b97f4a7c15ull + linear * 0xbf58476d1ce4e5b9ull + 1};
  random.next();
  const uint64_t limit = launch_.settings->max_instructions;
  const auto* stop = launch_.settings->stop;
  std::vector<Wave*> ready;
  for (;;) {
    ready.clear();
    for (auto& w : waves_)
      if (w->stop == Stop::None) ready.push_back(w.get());
    if (ready.empty()) {
      if (!release_barrier()) return;
      continue;
    }
    Wave& w = *ready[random.next() % ready.size()];
    group_.running = &w;
    // Short turns mostly, long ones at times, so that waves drift apart as well.
    const uint64_t turn = random.next() % 8 ? 1 + random.next() % 64 : 1 + random.next() % 2048;
    step(w, turn);
    if (w.executed > limit) fault(w, ErrorCode::Runaway, "more than " + std::to_string(limit) + " instructions");
    if (stop && stop->load(std::memory_order_relaxed)) throw Fault{ErrorCode::Runaway, "stopped from outside"};
  }
}

void GroupRunner::run(uint64_t linear) {
  const Dim3& grid = launch_.request->workgroups;
  group_.linear = linear;
  group_.id = {static_cast<uint32_t>(linear % grid.x), static_cast<uint32_t>(linear / grid.x % grid.y), static_cast<uint32_t>(linear / grid.x / grid.y)};
  if (!strict_) std::memset(group_.lds.data(), 0, group_.lds.size());
  else std::memset(group_.lds.data(), 0xa5, group_.lds.size());
  if (strict_) {
    strict_->start();
    // Private memory as nobody expects it, and not as the last workgroup of this thread left it.
    std::fill(scratch_.begin(), scratch_.end(), uint8_t{0xa5});
  }
  for (uint32_t n = 0; n < waves_.size(); ++n) start_wave(*waves_[n], n);
  try {
    if (strict_) schedule_seeded(linear);
    else schedule_plain();
  } catch (...) {
    for (auto& w : waves_) launch_.instructions += w->executed;
    throw;
  }
  for (auto& w : waves_) launch_.instructions += w->executed;
}

std::vector<Report> GroupRunner::take_reports(uint64_t& total) {
  if (!strict_) {
    total = 0;
    return {};
  }
  return strict_->take_reports(total);
}

}  // namespace gfx950
