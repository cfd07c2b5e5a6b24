// Which copy of the instruction set runs here, and the look-up of rows by mnemonic.
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "decode/row.h"

namespace gfx950 {

extern "C" const IsaTable* gfx950_isa_avx2();
extern "C" const IsaTable* gfx950_isa_avx512();

const IsaTable* isa_table() {
  static const IsaTable* const chosen = []() -> const IsaTable* {
    __builtin_cpu_init();
    const bool narrow = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool wide = narrow && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
    const char* forced = std::getenv("GFX950_EMU_ISA");
    if (wide && !(forced && std::strcmp(forced, "avx2") == 0)) return gfx950_isa_avx512();
    return narrow ? gfx950_isa_avx2() : nullptr;
  }();
  return chosen;
}

const Row* find_row(const char* mnemonic) {
  static const auto* const index = [] {
    auto* map = new std::unordered_map<std::string_view, const Row*>;
    if (const IsaTable* table = isa_table())
      for (size_t n = 0; n < table->count; ++n) map->emplace(table->rows[n]->name, table->rows[n]);
    return map;
  }();
  auto found = index->find(mnemonic);
  return found == index->end() ? nullptr : found->second;
}

}  // namespace gfx950
