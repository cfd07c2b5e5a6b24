// The disassembler's text taken apart: mnemonic, encoding suffix, operands, modifiers. What nobody takes is an error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decode/instruction.h"

namespace gfx950 {

class Text {
 public:
  explicit Text(const std::string& line);

  std::string mnemonic;               // without _e32, _e64, _dpp, _sdwa
  std::string suffix;                 // "e32", "e64", "dpp", "sdwa" or ""
  std::vector<std::string> operands;

  bool take_flag(const std::string& name);
  std::optional<std::string> take(const std::string& name);                 // name:value
  std::optional<std::vector<int>> take_list(const std::string& name);       // name:[a,b,...]
  std::optional<long long> take_number(const std::string& name);
  // The modifiers nobody took, "" when none.
  std::string rest() const;

 private:
  std::vector<std::string> modifiers_;
};

std::optional<long long> parse_number(const std::string& text);
// False when the text is no operand that this type allows.
bool parse_operand(std::string text, Type type, Operand& out);

}  // namespace gfx950
