// The environment, read at every launch so that a test may change it between two.
#include <cstdlib>
#include <cstring>

#include "engine/engine.h"

namespace gfx950 {

namespace {

bool on(const char* name) {
  const char* value = std::getenv(name);
  return value && *value && std::strcmp(value, "0") != 0;
}
uint64_t number(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  if (!value || !*value) return otherwise;
  char* end = nullptr;
  const unsigned long long n = std::strtoull(value, &end, 0);
  return *end ? otherwise : n;
}

}  // namespace

Settings Settings::from_environment() {
  Settings s;
  s.strict = on("GFX950_EMU_STRICT");
  s.null_launch = on("GFX950_EMU_NULL");
  s.bank_conflicts = on("GFX950_EMU_BANK_CONFLICTS");
  s.seed = number("GFX950_EMU_SEED", 0);
  s.threads = static_cast<unsigned>(number("GFX950_EMU_THREADS", 0));
  s.reports_kept = static_cast<unsigned>(number("GFX950_EMU_REPORTS", s.reports_kept));
  s.max_instructions = number("GFX950_EMU_MAX_INSTRUCTIONS", s.max_instructions);
  s.quantum = number("GFX950_EMU_QUANTUM", s.quantum);
  if (s.quantum == 0) s.quantum = 1;
  return s;
}

}  // namespace gfx950
