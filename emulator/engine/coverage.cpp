// The instruction table as text, for tests and the documentation: one mnemonic a line.
#include <string>

#include "decode/row.h"

namespace gfx950 {

extern "C" __attribute__((visibility("default"))) const char* gfx950_emu_instructions() {
  static const std::string* const text = [] {
    auto* out = new std::string;
    if (const IsaTable* table = isa_table())
      for (size_t n = 0; n < table->count; ++n) *out += std::string(table->rows[n]->name) + "\n";
    return out;
  }();
  return text->c_str();
}

}  // namespace gfx950
