// The instructions of one code object, decoded on first use and kept. Thread-safe.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "decode/instruction.h"

namespace gfx950 {

class CodeObject;

class Program {
 public:
  explicit Program(const CodeObject& object);

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  bool contains(uint64_t pc) const { return pc >= begin_ && pc < end_ && pc % 4 == 0; }
  // The decoded instruction at an ELF virtual address inside [begin, end), or null: not decoded yet.
  const Instruction* cached(uint64_t pc) const { return slots_[(pc - begin_) >> 2].load(std::memory_order_acquire); }
  // Decodes if need be. Null with the reason (and the text, as far as there is one) in `error`.
  const Instruction* decode(uint64_t pc, std::string& error);

 private:
  RowPointer constant_rows(uint64_t value, int words);

  const CodeObject& object_;
  uint64_t begin_ = 0, end_ = 0;
  std::unique_ptr<std::atomic<const Instruction*>[]> slots_;
  std::mutex mutex_;
  std::deque<Instruction> instructions_;
  struct alignas(64) ConstantRows {
    uint32_t rows[2][64];
  };
  std::map<uint64_t, std::unique_ptr<ConstantRows>> constants_;
};

}  // namespace gfx950
