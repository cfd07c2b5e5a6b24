#include "api/bank_conflicts.h"

#include <mutex>
#include <string>

#include "api/abi.h"
#include "api/text.h"

namespace gfx950::api {
namespace {

struct Kept {
  std::mutex mutex;
  std::string text;
};

Kept& kept() {
  static auto* one = new Kept;
  return *one;
}

}  // namespace

void keep_bank_conflicts(const LaunchOutcome& outcome) {
  if (outcome.bank_conflicts.empty()) return;
  std::string lines;
  for (const BankConflicts& b : outcome.bank_conflicts)
    lines += text(b.executed, " ", b.extra_cycles, " ", hex(b.pc), " ", b.instruction, "\n");
  std::lock_guard lock(kept().mutex);
  kept().text = std::move(lines);
}

}  // namespace gfx950::api

// One line an LDS instruction: times executed, cycles lost to conflicts, pc, text. Valid until this thread asks again.
HIP_EXPORT const char* gfx950_emu_bank_conflicts() {
  thread_local std::string copy;
  std::lock_guard lock(gfx950::api::kept().mutex);
  copy = gfx950::api::kept().text;
  return copy.c_str();
}
