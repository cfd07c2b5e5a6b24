// Wait states that the hardware does not enforce itself. A wait state is an instruction (s_nop n: n + 1 of them); a rule says how many must
// lie between two instructions. Sources: the table of manually inserted wait states in the CDNA3 ISA (4.5), and for the numbers of gfx950
// LLVM 22's hazard recognizer: tests/emulator/test_hazards.py asks llc for them. Where AMD's hand-written gfx950 objects, which run right on
// hardware, keep less, theirs is the rule here: 1 instead of 2 between a comparison and the instruction that takes its mask, 1 instead of 2
// between two permlane swaps, none between writing M0 and an LDS DMA.
#include "engine/hazards.h"

#include <algorithm>
#include <string>

#include "decode/row.h"
#include "engine/launch.h"
#include "engine/strict.h"

namespace gfx950 {

namespace {

constexpr uint64_t kFarthestRecent = 5, kFarthestMatrix = 20;

std::string first_register(const RegisterSet& a, const RegisterSet& b) {
  for (int r = 0; r < kVectorRows; ++r)
    if ((a.vector[r / 64] & b.vector[r / 64]) >> (r % 64) & 1) return (r < kAccBase ? "v" : "a") + std::to_string(r % kAccBase);
  for (int r = 0; r < kScalars; ++r)
    if ((a.scalar[r / 64] & b.scalar[r / 64]) >> (r % 64) & 1) return r == kM0 ? "m0" : r / 2 == kVcc / 2 ? "vcc" : "s" + std::to_string(r);
  return "";
}

bool common_vectors(const RegisterSet& a, const RegisterSet& b) {
  uint64_t any = 0;
  for (int n = 0; n < 8; ++n) any |= a.vector[n] & b.vector[n];
  return any != 0;
}

bool common_scalars(const RegisterSet& a, const RegisterSet& b) {
  return (a.scalar[0] & b.scalar[0]) != 0 || (a.scalar[1] & b.scalar[1] & ~kNotSgprs) != 0;
}

bool overlap(const Operand& a, const Operand& b) {
  return a.kind == Operand::Vector && b.kind == Operand::Vector && a.index < b.index + b.words && b.index < a.index + a.words;
}

const Operand& accumulator(const Instruction& i) { return i.src[i.row->slots[0].role == Role::DstSrc ? i.sources - 1 : 2]; }

// Until a vector or memory instruction, or a matrix instruction as its operand, may read what a matrix instruction writes.
uint64_t until_read(const HazardClass& m, bool memory) {
  if (m.flags & kHazardDouble) return m.passes == 4 ? (memory ? 9 : 6) : (memory ? 18 : 19);
  return m.flags & kHazardXdl ? m.passes + (m.passes == 2 ? 3 : 4) : m.passes + 2;
}
uint64_t until_written(const HazardClass& m) {
  if (m.flags & kHazardDouble) return m.passes == 4 ? 6 : 11;
  return until_read(m, false);
}
// Until a vector instruction may overwrite the addend.
uint64_t until_addend_free(const HazardClass& m) { return m.flags & kHazardXdl ? m.passes - 1 : 0; }
// Until the next matrix instruction may read it as its addend. The same registers are forwarded; others that overlap are not.
uint64_t until_addend(const Instruction& first, const HazardClass& m, const Instruction& next, const HazardClass& n) {
  const Operand& c = accumulator(next);
  if (first.dst.index == c.index && first.dst.words == c.words) {
    if ((m.flags & n.flags & kHazardDouble) && m.passes == 4 && n.passes == 4) return 4;
    return m.passes == 2 ? 2 : 0;
  }
  const bool xdl = n.flags & kHazardXdl;
  if (m.flags & kHazardDouble) return xdl ? 0 : m.passes == 4 ? 4 : 17;
  if (m.flags & kHazardXdl) return xdl ? m.passes + 2 : m.passes + (m.passes == 2 ? 1 : 2);
  return xdl ? 0 : m.passes;
}

void report(Wave& w, const Instruction& i, const Instruction& first, const std::string& what, uint64_t need, uint64_t since) {
  w.group->strict->report(w, i, ReportKind::Hazard, what + "; wait states (s_nop) between: " + std::to_string(since) + ", needed: " + std::to_string(need), -1, 0, 0, &first);
}

}  // namespace

template <class F> void HazardTrace::each_matrix(F f) const {
  for (uint32_t n = 0; n < std::min(matrix_count_, kMatrix); ++n) {
    const Step& m = matrix_[(matrix_count_ - 1 - n) % kMatrix];
    const uint64_t since = now_ - m.after;
    if (since >= kFarthestMatrix || !f(m, since)) return;
  }
}

void HazardTrace::check_matrix(Wave& w, const Instruction& i, const HazardClass& c) {
  const bool matrix = c.flags & kHazardMatrix, memory = c.flags & (kHazardVmem | kHazardLds);
  auto judge = [&](const Step& m, uint64_t since, uint64_t need, const char* what, const Operand& o) {
    if (since >= need) return;
    RegisterSet a, b;
    a.add(o);
    b.add(m.inst->dst);
    if (!common_vectors(a, b)) b.add(accumulator(*m.inst));
    report(w, i, *m.inst, std::string(what) + " " + first_register(a, b), need, since);
  };
  for (int n = 0; n < i.sources; ++n) {
    const Operand& o = i.src[n];
    if (o.kind != Operand::Vector) continue;
    each_matrix([&](const Step& m, uint64_t since) {
      if (!overlap(m.inst->dst, o)) return true;
      const bool addend = matrix && &o == &accumulator(i);
      const uint64_t need = addend ? until_addend(*m.inst, m.what, i, c) : until_read(m.what, memory);
      judge(m, since, need, "reads a matrix instruction's result", o);
      return false;
    });
  }
  if (matrix) return;
  for (const Operand* o : {&i.dst, &i.dst2}) {
    if (o->kind != Operand::Vector) continue;
    each_matrix([&](const Step& m, uint64_t since) {
      if (!overlap(m.inst->dst, *o)) return true;
      judge(m, since, until_written(m.what), "overwrites a matrix instruction's result", *o);
      return false;
    });
    each_matrix([&](const Step& m, uint64_t since) {
      if (!(m.what.flags & kHazardXdl) || !overlap(accumulator(*m.inst), *o)) return true;
      judge(m, since, until_addend_free(m.what), "overwrites a matrix instruction's addend", *o);
      return false;
    });
  }
  if (c.flags & kHazardFma64)
    each_matrix([&](const Step& m, uint64_t since) {
      if (!(m.what.flags & kHazardDouble)) return since < 2;
      if (since < 2) report(w, i, *m.inst, "a double-precision fma after a double-precision matrix instruction", 2, since);
      return false;
    });
}

void HazardTrace::check_recent(Wave& w, const Instruction& i, const HazardClass& c) {
  const bool valu = c.flags & (kHazardValu | kHazardMatrix), memory = c.flags & (kHazardVmem | kHazardLds);
  RegisterSet later;  // what instructions in between write: their values are read then
  for (uint32_t n = 0; n < std::min(recent_count_, kRecent); ++n) {
    const Step& p = recent_[(recent_count_ - 1 - n) % kRecent];
    const uint64_t since = now_ - p.after;
    if (since >= kFarthestRecent) return;
    const Instruction& first = *p.inst;
    uint64_t need = 0;
    std::string what;
    auto demand = [&](uint64_t states, bool applies, const char* text, const RegisterSet* mine = nullptr) {
      if (!applies || states <= need || since >= states) return;
      std::string which;
      if (mine) {
        RegisterSet written = first.writes;
        for (int k = 0; k < 8; ++k) written.vector[k] &= ~later.vector[k];
        for (int k = 0; k < 2; ++k) written.scalar[k] &= ~later.scalar[k];
        written.scalar[1] &= ~kNotSgprs;
        which = first_register(written, *mine);
        if (which.empty()) return;
        which = " " + which;
      }
      need = states;
      what = text + which;
    };
    if (p.what.flags & kHazardValu) {
      if ((p.what.flags & kHazardWritesScalar) && common_scalars(first.writes, i.reads)) {
        demand(5, c.flags & kHazardVmem, "a memory instruction reads what a vector instruction wrote:", &i.reads);
        demand(4, c.flags & kHazardDivFmas, "v_div_fmas reads vcc, which a vector instruction wrote");
        if (c.flags & (kHazardReadLane | kHazardWriteLane)) {
          RegisterSet lane;
          if (i.sources > 1) lane.add(i.src[1]);
          demand(4, true, "the lane's number comes from a vector instruction:", &lane);
        }
        RegisterSet values = i.reads, masks;
        for (int k = 0; k < i.sources; ++k)
          if (i.src[k].type == Type::Mask) masks.add(i.src[k]);
        for (int k = 0; k < 2; ++k) values.scalar[k] &= ~masks.scalar[k];
        demand(2, valu, "a vector instruction reads a scalar that one wrote:", &values);
        demand(1, valu, "a vector instruction reads a mask that one wrote:", &masks);
      }
      if (p.what.flags & kHazardWritesExec) {
        demand(5, c.flags & kHazardDpp, "DPP after a vector instruction wrote EXEC");
        demand(4, c.flags & (kHazardReadLane | kHazardWriteLane | kHazardMatrix | kHazardSwapLanes), "a vector instruction wrote EXEC");
      }
      if (common_vectors(first.writes, i.reads)) {
        demand(2, (c.flags & kHazardMatrix) && !(p.what.flags & kHazardDot), "a matrix instruction reads what a vector instruction wrote:", &i.reads);
        demand(2, c.flags & kHazardDpp, "DPP reads what a vector instruction wrote:", &i.reads);
        demand(p.what.flags & kHazardSwapLanes ? 1 : 2, c.flags & kHazardSwapLanes, "v_permlane reads what a vector instruction wrote:", &i.reads);
        demand(1, c.flags & kHazardReadLane, "a lane is read that a vector instruction wrote:", &i.reads);
        demand(1, (p.what.flags & kHazardTrans) && valu && !(c.flags & kHazardTrans), "reads what a transcendental instruction wrote:", &i.reads);
      }
      if (p.what.flags & kHazardDstSelect) demand(1, valu, "touches what an instruction wrote in part:", &i.touched);
      if ((p.what.flags & kHazardDot) && !(c.flags & kHazardMatrix) && (valu || memory)) {
        RegisterSet used = i.reads;
        if (i.row == first.row) {  // of one kind the addend is forwarded
          used = {};
          for (int k = 0; k < 2; ++k) used.add(i.src[k]);
        } else {
          used.merge(i.writes);
        }
        demand(3, true, "touches what a dot product wrote:", &used);
      }
    }
    if ((p.what.flags & kHazardWideStore) && valu && since < 2) {
      RegisterSet data;
      data.add(first.src[first.row->format == Format::Buffer ? 0 : 1]);
      if (common_vectors(data, i.writes)) {
        need = 2;
        what = "overwrites " + first_register(data, i.writes) + ", which a store of more than two words may not have read";
      }
    }
    demand(1, (p.what.flags & kHazardWritesM0) && (c.flags & kHazardReadsM0), "reads m0, which a scalar instruction wrote");
    demand(2, (p.what.flags & kHazardSetsMode) && (c.flags & (kHazardSetsMode | kHazardGetsMode)) && ((first.imm ^ i.imm) & 63) == 0,
           "the hardware register was written");
    if (need) report(w, i, first, what, need, since);
    later.merge(first.writes);
  }
}

void HazardTrace::before(Wave& w, const Instruction& i, const HazardClass& c) {
  if (w.gpr_index_mode && (c.flags & kHazardValu)) {  // M0 moves its registers: those it names are not those it uses
    ++now_;
    return;
  }
  if (c.flags & kHazardNop) {
    now_ += static_cast<uint64_t>(i.imm & 15) + 1;
    return;
  }
  if (c.flags & (kHazardValu | kHazardMatrix | kHazardVmem | kHazardLds | kHazardReadsM0 | kHazardSetsMode | kHazardGetsMode)) {
    if (recent_count_) check_recent(w, i, c);
    if (matrix_count_ && now_ - matrix_[(matrix_count_ - 1) % kMatrix].after < kFarthestMatrix) check_matrix(w, i, c);
  }
  if (c.flags & kHazardBadRegister)
    w.group->strict->report(w, i, ReportKind::BadRegister, "a vector register that the kernel's descriptor does not allocate", -1, 0, 0);
  ++now_;
  if (c.flags & kHazardMatrix) matrix_[matrix_count_++ % kMatrix] = {&i, c, now_};
  else if (c.flags & kHazardProducer) recent_[recent_count_++ % kRecent] = {&i, c, now_};
}

}  // namespace gfx950
