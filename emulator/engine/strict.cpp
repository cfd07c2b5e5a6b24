// Strict mode: results come as late as the counters allow.
//
// Counter rules (CDNA3 ISA 4.4; docs/emulator.md): vmcnt operations complete in issue order; LDS operations likewise on lgkmcnt; scalar
// loads in any order, so with any of them outstanding only lgkmcnt(0) says something about them, and of the LDS operations only as
// many are sure as exceed the wait by themselves. Stores are performed at issue and count until waited for. A load's value is
// read when it completes, or earlier when the same wave writes what it reads (a wave's own accesses stay in order).
#include "engine/strict.h"

#include <algorithm>
#include <cstring>

#include "decode/row.h"
#include "engine/launch.h"

namespace gfx950 {

namespace {

constexpr int kMaxVmcnt = 63, kMaxLgkmcnt = 15, kNoWait = 1 << 30;

void complete(Wave& w, Pending& p);

bool overlaps(const VectorAccess& a, const VectorAccess& b) {
  if (a.space != b.space) return false;
  auto span = [](const VectorAccess& x, uint64_t& low, uint64_t& high) {
    low = ~uint64_t{0};
    high = 0;
    for (int l = 0; l < 64; ++l) {
      if (!(x.exec >> l & 1)) continue;
      for (int part = 0; part < x.parts; ++part) {
        const uint64_t at = x.address[l] + (part ? static_cast<int64_t>(x.second) : 0);
        low = std::min(low, at);
        high = std::max(high, at + x.bytes);
      }
    }
  };
  if (a.space == Space::Scratch) return true;
  uint64_t a_low, a_high, b_low, b_high;
  span(a, a_low, a_high);
  span(b, b_low, b_high);
  return a_low < b_high && b_low < a_high;
}

void check_memory_written(Wave& w, const VectorAccess& a) {
  if (a.space == Space::Lds) return w.group->strict->check_written(w, a);
  if (a.space != Space::Global) return;
  Memory& memory = Memory::instance();
  const int words = a.bytes <= 4 ? 1 : a.bytes / 4, unit = a.bytes < 4 ? a.bytes : 4;
  for (int l = 0; l < 64; ++l) {
    if (!(a.exec >> l & 1)) continue;
    uint64_t all = ~uint64_t{0};
    for (int k = 0; k < words; ++k) all &= a.valid[k];
    if (all >> l & 1) {
      size_t bad = 0;
      if (memory.is_written(reinterpret_cast<const void*>(a.address[l]), a.bytes, &bad)) continue;
      if (auto range = memory.find(reinterpret_cast<const void*>(a.address[l])); range && range->host_writable()) continue;
      w.group->strict->report(w, *a.inst, ReportKind::UnwrittenMemory, "nobody wrote byte " + std::to_string(bad) + " of it, in " + memory.describe(a.address[l] + bad), l,
                              a.address[l], a.bytes);
      continue;
    }
    for (int k = 0; k < words; ++k) {
      if (!(a.valid[k] >> l & 1)) continue;
      const uint64_t at = a.address[l] + 4 * k;
      size_t bad = 0;
      if (memory.is_written(reinterpret_cast<const void*>(at), unit, &bad)) continue;
      if (auto range = memory.find(reinterpret_cast<const void*>(at)); range && range->host_writable()) continue;
      w.group->strict->report(w, *a.inst, ReportKind::UnwrittenMemory, "nobody wrote it: " + memory.describe(at), l, at, unit);
    }
  }
}

// Every atomic reads, but a swap whose old value nobody takes.
bool atomic_reads(const Instruction& i) { return std::strstr(i.row->name, "_swap") == nullptr || i.mod.sc0; }

void stage(Wave& w, Pending& p) {
  if (p.staged || !p.vector || p.effect_done) return;
  VectorAccess& a = *p.vector;
  check_memory_written(w, a);
  const size_t rows = std::max<size_t>(8, a.words);
  p.data.assign(rows * 64 + 16, 0);
  alignas(64) uint32_t data[8][64];
  std::memset(data, 0, sizeof data);
  if (a.exec) a.fetch(w, a, data);
  std::memcpy(p.data.data(), data, sizeof data);
  p.staged = true;
}

void complete(Wave& w, Pending& p) {
  if (p.scalar) {
    ScalarAccess& a = *p.scalar;
    const uint32_t words = std::min<uint32_t>(a.words, a.valid_words);
    if (words) {
      size_t bad = 0;
      Memory& memory = Memory::instance();
      if (!memory.is_written(reinterpret_cast<const void*>(a.address), words * 4, &bad)) {
        auto range = memory.find(reinterpret_cast<const void*>(a.address));
        if (!range || !range->host_writable())
          w.group->strict->report(w, *a.inst, ReportKind::UnwrittenMemory, "nobody wrote byte " + std::to_string(bad) + " of it, in " + memory.describe(a.address + bad), -1,
                                  a.address, words * 4);
      }
    }
    perform_scalar_load(w, a);
    return;
  }
  if (!p.vector || p.effect_done) return;
  stage(w, p);
  alignas(64) uint32_t data[8][64];
  std::memcpy(data, p.data.data(), sizeof data);
  p.vector->deliver(w, *p.vector, data);
  if (p.vector->action == Action::Dma) w.group->strict->close_dma(*p.vector);
}

// Clears the lanes whose access leaves live memory, and reports them. A buffer's out-of-range dwords are not accesses.
void check_addresses(Wave& w, VectorAccess& a, bool store) {
  StrictWorkgroup& s = *w.group->strict;
  const int words = a.bytes <= 4 ? 1 : a.bytes / 4, unit = a.bytes < 4 ? a.bytes : 4;
  for (int l = 0; l < 64; ++l) {
    if (!(a.exec >> l & 1)) continue;
    if (a.alignment > 1 && a.address[l] % a.alignment)
      s.report(w, *a.inst, ReportKind::Misaligned, "the address must be a multiple of " + std::to_string(a.alignment), l, a.address[l], a.bytes);
    if (a.space == Space::Scratch) {
      if (!fits(a.address[l], a.bytes, w.scratch_size))
        s.report(w, *a.inst, ReportKind::BadAddress, "outside the lane's " + std::to_string(w.scratch_size) + " bytes of scratch", l, a.address[l], a.bytes);
      continue;
    }
    if (a.space == Space::Lds) {
      for (int part = 0; part < a.parts; ++part) {
        const uint64_t at = a.address[l] + (part ? static_cast<int64_t>(a.second) : 0);
        if (!fits(at, a.bytes, w.group->lds_size))
          s.report(w, *a.inst, ReportKind::BadLdsAddress, "the workgroup has " + std::to_string(w.group->lds_size) + " bytes of LDS", l, at, a.bytes);
      }
      continue;
    }
    uint64_t all = ~uint64_t{0};
    for (int k = 0; k < words; ++k) all &= a.valid[k];
    auto test = [&](uint64_t at, uint32_t size, int k) {
      if (in_range(w, at, size)) return;
      s.report(w, *a.inst, ReportKind::BadAddress, std::string(store ? "store to " : "load from ") + describe_access(at, size), l, at, size);
      for (int n = 0; n < 4; ++n)
        if (k < 0 || n == k) a.valid[n] &= ~(uint64_t{1} << l);
    };
    if (all >> l & 1) test(a.address[l], a.bytes, -1);
    else
      for (int k = 0; k < words; ++k)
        if (a.valid[k] >> l & 1) test(a.address[l] + 4 * k, unit, k);
  }
}

void enqueue(Wave& w, Pending&& p) {
  StrictWave& s = *w.strict;
  p.flat = p.vm && p.lgkm;
  s.queue.push_back(std::move(p));
  s.in_flight.merge(s.queue.back().writes);
  const Pending& back = s.queue.back();
  if (back.vector && back.vector->action == Action::Dma) s.dma = true;
}

// Finishes everything up to and with position n of the queue that shares its counter.
void complete_through(Wave& w, size_t n) {
  StrictWave& s = *w.strict;
  const bool scalar = static_cast<bool>(s.queue[n].scalar), vm = s.queue[n].vm, flat = s.queue[n].flat;
  std::deque<Pending> rest;
  for (size_t k = 0; k < s.queue.size(); ++k) {
    Pending& p = s.queue[k];
    const bool same = k == n || (!scalar && !flat && !p.scalar && !p.flat && p.vm == vm && k < n);
    if (same) complete(w, p);
    else rest.push_back(std::move(p));
  }
  s.queue = std::move(rest);
  s.refresh();
}

}  // namespace

void StrictWave::refresh() {
  in_flight = {};
  dma = false;
  for (const Pending& p : queue) {
    in_flight.merge(p.writes);
    dma |= p.vector && p.vector->action == Action::Dma;
  }
}

void strict_before_slow(Wave& w, const Instruction& i, const RegisterSet& reads_set, const RegisterSet& touched) {
  StrictWave& s = *w.strict;
  const bool vector_load = i.row->flags & kVmcnt;
  for (size_t n = 0; n < s.queue.size(); ++n) {
    const Pending& p = s.queue[n];
    if (!p.writes.intersects(touched)) continue;
    const bool reads = p.writes.intersects(reads_set);
    // Loads of one kind return in order: a later one may write the same register.
    if (!reads && vector_load && p.vm && !p.flat && !(i.row->flags & kLgkmcnt)) continue;
    if (!reads && !p.scalar && p.lgkm && !p.flat && i.row->format == Format::Lds) continue;
    std::string which;
    for (int r = 0; r < kVectorRows && which.empty(); ++r)
      if ((p.writes.vector[r / 64] & touched.vector[r / 64]) >> (r % 64) & 1) which = (r < kAccBase ? "v" : "a") + std::to_string(r % kAccBase);
    for (int r = 0; r < kScalars && which.empty(); ++r)
      if ((p.writes.scalar[r / 64] & touched.scalar[r / 64]) >> (r % 64) & 1) which = "s" + std::to_string(r);
    w.group->strict->report(w, i, ReportKind::MissingWait,
                            std::string(reads ? "reads " : "overwrites ") + which + " while a load into it is in flight (no s_waitcnt " + (p.vm ? "vmcnt" : "lgkmcnt") + " covers it)",
                            -1, 0, 0, p.inst);
    complete_through(w, n);  // so that one missing wait is one report
    n = static_cast<size_t>(-1);
  }
}

void strict_before_relative(Wave& w, const Instruction& i) {
  const StrictWave& s = *w.strict;
  const bool scalar = i.row->format == Format::Scalar && (i.row->flags & kReadsM0), vector = w.gpr_index_mode && i.row->format == Format::Vector;
  if (!scalar && !vector) {
    if (s.in_flight.intersects(i.touched)) strict_before_slow(w, i, i.reads, i.touched);
    return;
  }
  // s_movrels_*: the source's number moves; s_movreld_*: the destination's; s_set_gpr_idx_*: a bit for each operand.
  const bool destination = scalar ? std::strncmp(i.row->name, "s_movreld", 9) == 0 : (w.gpr_index_mode & 8) != 0;
  const auto by = static_cast<uint16_t>(vector ? w.s[kM0] & 0xff : w.s[kM0] < kScalars ? w.s[kM0] : 0);
  auto moved = [&](Operand o, bool moves) {
    if (moves && o.kind == (scalar ? Operand::Scalar : Operand::Vector)) o.index = static_cast<uint16_t>(o.index + by);
    return o;
  };
  RegisterSet reads, writes;
  reads.scalar = i.reads.scalar;
  if (scalar) reads.scalar = {};
  if (scalar) reads.add_scalar(kM0, 1);
  for (int n = 0; n < i.sources; ++n) reads.add(moved(i.src[n], scalar ? !destination : n < 3 && (w.gpr_index_mode >> n & 1)));
  writes.add(moved(i.dst, destination));
  writes.add(i.dst2);
  RegisterSet touched = reads;
  touched.merge(writes);
  if (vector) touched.scalar = i.touched.scalar;
  if (s.in_flight.intersects(touched)) strict_before_slow(w, i, reads, touched);
}

void strict_load(Wave& w, const VectorAccess& given) {
  StrictWorkgroup& group = *w.group->strict;
  Pending p;
  p.vector = std::make_unique<VectorAccess>(given);
  VectorAccess& a = *p.vector;
  check_addresses(w, a, false);
  p.inst = a.inst;
  p.vm = a.vm;
  p.lgkm = a.lgkm;
  if (a.action == Action::Dma) {
    for (int l = 0; l < 64; ++l) {
      const uint64_t at = a.lds_base + static_cast<uint64_t>(l) * a.lds_stride;
      if (!(a.exec >> l & 1) || fits(at, a.lds_bytes, w.group->lds_size)) continue;
      group.report(w, *a.inst, ReportKind::BadLdsAddress, "the DMA goes past the workgroup's " + std::to_string(w.group->lds_size) + " bytes of LDS", l, at, a.lds_bytes);
      break;
    }
    if (a.exec && a.lds_base % 4)
      group.report(w, *a.inst, ReportKind::Misaligned, "the LDS address of a DMA (M0 + offset) must be a multiple of 4", -1, a.lds_base, a.lds_bytes);
    group.check_dma_order(w, a);
    group.touch_lds(w, a);
  } else {
    p.writes.add_vector(a.dst, a.words);
    if (a.space == Space::Lds) group.touch_lds(w, a);
  }
  enqueue(w, std::move(p));
}

bool strict_before_store(Wave& w, VectorAccess& a) {
  check_addresses(w, a, true);
  for (Pending& p : w.strict->queue)
    if (p.vector && !p.effect_done && !p.staged && p.vector->bytes && overlaps(*p.vector, a)) stage(w, p);
  if (a.action == Action::Atomic && atomic_reads(*a.inst)) check_memory_written(w, a);
  if (a.space == Space::Lds) w.group->strict->touch_lds(w, a);
  return true;
}

void strict_after_store(Wave& w, const VectorAccess& a) {
  Pending p;
  p.vector = std::make_unique<VectorAccess>(a);
  p.inst = a.inst;
  p.vm = a.vm;
  p.lgkm = a.lgkm;
  p.effect_done = true;
  if (a.action == Action::Atomic && a.words) return;  // counted once, by its result
  enqueue(w, std::move(p));
}

void strict_atomic_result(Wave& w, const VectorAccess& a, const uint32_t (*old)[64]) {
  Pending p;
  p.vector = std::make_unique<VectorAccess>(a);
  p.inst = a.inst;
  p.vm = a.vm;
  p.lgkm = a.lgkm;
  p.staged = true;
  p.data.assign(8 * 64, 0);
  std::memcpy(p.data.data(), old, a.words * 256u);
  p.writes.add_vector(a.dst, a.words);
  enqueue(w, std::move(p));
}

void strict_scalar_load(Wave& w, const ScalarAccess& a) {
  const uint32_t words = std::min<uint32_t>(a.words, a.valid_words);
  ScalarAccess kept = a;
  if (words && !in_range(w, a.address, words * 4)) {
    w.group->strict->report(w, *a.inst, ReportKind::BadAddress, "load from " + describe_access(a.address, words * 4), -1, a.address, words * 4);
    kept.valid_words = 0;
  }
  Pending p;
  p.scalar = std::make_unique<ScalarAccess>(kept);
  p.inst = a.inst;
  p.lgkm = true;
  p.writes.add_scalar(a.dst, a.words);
  enqueue(w, std::move(p));
}

void strict_wait(Wave& w, int vmcnt, int lgkmcnt) {
  StrictWave& s = *w.strict;
  if (s.queue.empty()) return;
  // A counter's greatest value is no wait: it holds at any time.
  if (vmcnt == kMaxVmcnt) vmcnt = kNoWait;
  if (lgkmcnt == kMaxLgkmcnt) lgkmcnt = kNoWait;
  int vm = 0, lds = 0;  // flat operations and scalar loads may be any of those that are left: they prove nothing about the rest
  for (const Pending& p : s.queue) {
    vm += p.vm && !p.flat;
    lds += p.lgkm && !p.flat && !p.scalar;
  }
  int vm_done = std::max(0, vm - vmcnt), lds_done = std::max(0, lds - lgkmcnt);
  std::deque<Pending> rest;
  for (Pending& p : s.queue) {
    bool done;
    if (p.scalar) {
      done = lgkmcnt == 0;
    } else if (p.flat) {  // both counters, and only their zeroes are sure
      if (vmcnt == 0) p.vm = false;
      if (lgkmcnt == 0) p.lgkm = false;
      done = !p.vm && !p.lgkm;
    } else {
      int& left = p.vm ? vm_done : lds_done;
      done = left > 0;
      left -= done;
    }
    if (done) complete(w, p);
    else rest.push_back(std::move(p));
  }
  s.queue = std::move(rest);
  s.refresh();
}

void strict_report(Wave& w, ReportKind kind, const std::string& detail, int lane, uint64_t address, uint32_t size) {
  w.group->strict->report(w, *w.current, kind, detail, lane, address, size);
}

}  // namespace gfx950
