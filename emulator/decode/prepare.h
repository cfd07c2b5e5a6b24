// From text to operands: fills an Instruction whose text, encoding and pc are set, by the row of its mnemonic.
#pragma once

#include <string>

#include "decode/instruction.h"

namespace gfx950 {

// False with the reason; the instruction is then unusable.
bool prepare(Instruction& i, std::string& error);

}  // namespace gfx950
