#include "decode/program.h"

#include <cstring>

#include "decode/llvm.h"
#include "decode/prepare.h"
#include "decode/row.h"
#include "decode/text.h"
#include "object/code_object.h"

namespace gfx950 {

Program::Program(const CodeObject& object) : object_(object) {
  uint64_t at = object.low_address();
  bool any = false;
  while (at < object.high_address()) {  // the span of all executable ranges
    uint64_t begin, end;
    if (object.executable(at, begin, end)) {
      if (!any) begin_ = begin;
      end_ = end;
      any = true;
      at = end;
    } else {
      at += 4;
    }
  }
  begin_ &= ~uint64_t{3};
  slots_ = std::make_unique<std::atomic<const Instruction*>[]>((end_ - begin_) / 4 + 1);
}

RowPointer Program::constant_rows(uint64_t value, int words) {
  auto& entry = constants_[value];
  if (!entry) {
    entry = std::make_unique<ConstantRows>();
    for (int lane = 0; lane < 64; ++lane) {
      entry->rows[0][lane] = static_cast<uint32_t>(value);
      entry->rows[1][lane] = static_cast<uint32_t>(value >> 32);
    }
  }
  return entry->rows;
}

const Instruction* Program::decode(uint64_t pc, std::string& error) {
  if (!contains(pc)) {
    error = "the program counter left the code";
    return nullptr;
  }
  std::lock_guard lock(mutex_);
  if (const Instruction* known = cached(pc)) return known;
  uint64_t begin, end;
  if (!object_.executable(pc, begin, end)) {
    error = "the program counter left the code";
    return nullptr;
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(object_.load_bias() + pc);
  std::string text;
  const size_t size = Disassembler::instance().decode(bytes, end - pc, pc, text, error);
  if (size == 0) return nullptr;
  Instruction& i = instructions_.emplace_back();
  i.pc = pc;
  i.words = static_cast<uint8_t>(size / 4);
  std::memcpy(i.encoding, bytes, std::min(size, sizeof i.encoding));
  i.text = text;
  for (char& c : i.text)
    if (c == '\t') c = ' ';
  std::string why;
  if (!gfx950::prepare(i, why)) {
    error = "unknown instruction '" + i.text + "': " + why;
    instructions_.pop_back();
    return nullptr;
  }
  if (i.row->format == Format::Vector || i.row->format == Format::Matrix || i.row->format == Format::Lds)
    for (Operand& o : i.src)
      if (o.kind == Operand::Constant) o.rows = constant_rows(o.value, o.words);
  slots_[(pc - begin_) >> 2].store(&i, std::memory_order_release);
  return &i;
}

}  // namespace gfx950
