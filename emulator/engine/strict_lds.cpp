// Strict mode's view of LDS: races between waves, bytes nobody wrote, DMA in flight; and the reports themselves.
//
// Barriers cut a workgroup's time into epochs. An access is open from its issue to the wait that covers it; it counts in every epoch in
// which it is open. Two accesses of different waves to a byte in one epoch, one of them a write, race. Two stores of the same value do not:
// compilers let all waves write a small replicated tensor. Atomics race with plain accesses, not with each other.
#include <algorithm>
#include <utility>

#include "engine/launch.h"
#include "engine/strict.h"


namespace gfx950 {

StrictWorkgroup::StrictWorkgroup(Launch& launch, Workgroup& group) : hazard_classes(launch), launch_(launch), group_(group) {
  waves_.resize(launch.waves_per_group);
  bytes_.resize(launch.lds_bytes);
}

void StrictWorkgroup::start() {
  for (StrictWave& w : waves_) {
    w.queue.clear();
    w.hazards.start();
    w.refresh();
  }
  std::fill(bytes_.begin(), bytes_.end(), ByteState{});
  epoch_ = 1;
}

uint32_t StrictWorkgroup::number(const Instruction* i) {
  for (size_t n = 0; n < instructions_.size(); ++n)
    if (instructions_[n] == i) return static_cast<uint32_t>(n);
  instructions_.push_back(i);
  return static_cast<uint32_t>(instructions_.size() - 1);
}

void StrictWorkgroup::report(Wave& w, const Instruction& i, ReportKind kind, const std::string& detail, int lane, uint64_t address, uint32_t size, const Instruction* issued) {
  ++total_;
  // One report for a place (and the place it conflicts with) in a workgroup; the rest is counted.
  for (const Report& r : reports_)
    if (r.kind == kind && r.pc == i.pc && r.issued_pc == (issued ? issued->pc : 0)) return;
  if (reports_.size() >= launch_.settings->reports_kept) return;
  Report r;
  r.kind = kind;
  r.kernel = launch_.kernel->name;
  r.instruction = i.text;
  r.detail = detail;
  r.pc = i.pc;
  r.kernel_pc = i.pc - launch_.kernel->entry;
  r.workgroup = group_.id;
  r.wave = w.index;
  r.lane = lane;
  r.address = address;
  r.size = size;
  if (issued) {
    r.issued_pc = issued->pc;
    r.issued_instruction = issued->text;
  }
  reports_.push_back(std::move(r));
}

std::vector<Report> StrictWorkgroup::take_reports(uint64_t& total) {
  total = total_;
  total_ = 0;
  return std::exchange(reports_, {});
}

// f(lane, begin, size) for each range of LDS bytes; false from f ends it.
template <class F> void StrictWorkgroup::each_range(const VectorAccess& a, F f) {
  for (int l = 0; l < 64; ++l) {
    if (!(a.exec >> l & 1)) continue;
    if (a.action == Action::Dma) {
      const uint64_t at = a.lds_base + static_cast<uint64_t>(l) * a.lds_stride;
      if (fits(at, a.lds_bytes, bytes_.size()) && !f(l, at, a.lds_bytes)) return;
      continue;
    }
    for (int part = 0; part < a.parts; ++part) {
      const uint64_t at = a.address[l] + (part ? static_cast<int64_t>(a.second) : 0);
      if (fits(at, a.bytes, bytes_.size()) && !f(l, at, a.bytes)) return;
    }
  }
}

void StrictWorkgroup::touch_lds(Wave& w, const VectorAccess& a) {
  const bool write = a.action != Action::Load, dma = a.action == Action::Dma, atomic = a.action == Action::Atomic;
  const uint16_t me = static_cast<uint16_t>(1u << w.index);
  const uint32_t here = number(a.inst), epoch = epoch_;
  bool racy = false, flying = false;
  int race_lane = 0, flying_lane = 0;
  uint64_t race_at = 0, flying_at = 0;
  uint32_t other = 0;
  const uint8_t* lds = group_.lds.data();
  const int words = a.bytes < 4 ? 1 : a.bytes / 4;
  each_range(a, [&](int lane, uint64_t at, uint32_t size) {
    const int part = a.action != Action::Dma && at != a.address[lane] ? 1 : 0;
    auto same = [&](uint32_t n) {
      if (!a.stored) return false;
      const uint32_t word = a.stored[part * words + n / 4][lane] >> (a.stored_high ? 16 : 0);
      return static_cast<uint8_t>(word >> (8 * (n % 4))) == lds[at + n];
    };
    for (uint32_t n = 0; n < size; ++n) {
      ByteState& b = bytes_[at + n];
      b.enter(epoch);
      const auto others = static_cast<uint16_t>(~me);
      // Only two plain stores of one value are harmless: what a DMA or an atomic leaves depends on who came first.
      const uint16_t others_store = b.writers & others, others_change = (b.movers | (atomic ? 0 : b.atomics)) & others;
      const uint16_t others_read = write ? b.readers & others : 0;
      if (!racy && (others_read || others_change || (others_store && !same(n)))) {
        racy = true;
        race_lane = lane;
        race_at = at + n;
        other = others_store || others_change ? b.last_write : b.last_read;
      }
      if (b.in_flight && !dma && !flying && w.strict->dma) {
        flying = true;
        flying_lane = lane;
        flying_at = at + n;
      }
      b.touch(a.action, me, here);
      if (write && !dma) b.written = 1;
      if (dma && b.in_flight < 255) ++b.in_flight;
    }
    return true;
  });
  if (racy)
    report(w, *a.inst, ReportKind::LdsRace, std::string(write ? "writes" : "reads") + " a byte of LDS that another wave " + "accesses with no barrier (and wait before it) between", race_lane, race_at, a.bytes,
           instructions_[other]);
  if (flying) {  // only when the DMA is this wave's own: another wave's is a race
    for (const Pending& p : w.strict->queue) {
      if (!p.vector || p.vector->action != Action::Dma) continue;
      const VectorAccess& d = *p.vector;
      bool covers = false;
      for (int l = 0; l < 64; ++l) {
        const uint64_t at = d.lds_base + static_cast<uint64_t>(l) * d.lds_stride;
        covers |= (d.exec >> l & 1) && flying_at >= at && flying_at < at + d.lds_bytes;
      }
      if (!covers) continue;
      report(w, *a.inst, ReportKind::MissingWait, std::string(write ? "writes" : "reads") + " LDS that a DMA still in flight will write (no s_waitcnt vmcnt covers it)", flying_lane, flying_at, a.bytes,
             p.inst);
      break;
    }
  }
}

// What is open at a barrier is open in the epoch behind it as well. Two such operations have met before it: nothing to compare here.
void StrictWorkgroup::open_over_barrier(const VectorAccess& a, uint32_t wave) {
  const uint32_t here = number(a.inst);
  each_range(a, [&](int, uint64_t at, uint32_t size) {
    for (uint32_t n = 0; n < size; ++n) {
      bytes_[at + n].enter(epoch_);
      bytes_[at + n].touch(a.action, static_cast<uint16_t>(1u << wave), here);
    }
    return true;
  });
}

void StrictWorkgroup::check_dma_order(Wave& w, const VectorAccess& dma) {
  const uint64_t low = dma.lds_base, high = low + 63ull * dma.lds_stride + dma.lds_bytes;
  auto moved = [&](uint64_t at) {
    return at >= low && at < high && (at - low) % dma.lds_stride < dma.lds_bytes && (dma.exec >> ((at - low) / dma.lds_stride) & 1);
  };
  for (const Pending& p : w.strict->queue) {
    if (!p.vector || p.vector->space != Space::Lds || !p.vector->bytes) continue;
    const std::string verb = p.vector->action == Action::Load ? "read" : "write";
    each_range(*p.vector, [&](int lane, uint64_t at, uint32_t size) {
      if (at >= high || at + size <= low) return true;
      for (uint32_t n = 0; n < size; ++n)
        if (moved(at + n)) {
          report(w, *dma.inst, ReportKind::MissingWait, "the DMA overwrites LDS that a " + verb + " still in flight may not have reached (no s_waitcnt lgkmcnt covers it)",
                 lane, at, size, p.inst);
          return false;
        }
      return true;
    });
  }
}

void StrictWorkgroup::close_dma(const VectorAccess& a) {
  each_range(a, [&](int, uint64_t at, uint32_t size) {
    for (uint32_t n = 0; n < size; ++n) {
      ByteState& b = bytes_[at + n];
      b.written = 1;
      if (b.in_flight) --b.in_flight;
    }
    return true;
  });
}

void StrictWorkgroup::check_written(Wave& w, const VectorAccess& a) {
  each_range(a, [&](int lane, uint64_t at, uint32_t size) {
    for (uint32_t n = 0; n < size; ++n)
      if (!bytes_[at + n].written) {
        report(w, *a.inst, ReportKind::UnwrittenLds, "nobody wrote this byte of LDS", lane, at + n, a.bytes);
        return false;
      }
    return true;
  });
}

void StrictWorkgroup::barrier() {
  ++epoch_;
  for (Wave* w : group_.waves)
    for (const Pending& p : waves_[w->index].queue) {
      if (!p.vector || !p.vector->bytes) continue;
      if (p.vector->space == Space::Lds || p.vector->action == Action::Dma) open_over_barrier(*p.vector, w->index);
    }
}

}  // namespace gfx950
