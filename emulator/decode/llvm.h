// LLVM's disassembler for gfx950, through its C API, opened with dlopen on first use (GFX950_EMU_LIBLLVM names the library; by
// default libLLVM.so.22.1 and its neighbours are tried). No LLVM header or development package is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace gfx950 {

class Disassembler {
 public:
  static Disassembler& instance();
  // Size in bytes of the instruction at `bytes`, 0 when it is none or LLVM is missing (`error` tells).
  size_t decode(const uint8_t* bytes, size_t size, uint64_t pc, std::string& text, std::string& error);

 private:
  bool open(std::string& error);
  std::mutex mutex_;
  void* context_ = nullptr;
  size_t (*instruction_)(void*, uint8_t*, uint64_t, uint64_t, char*, size_t) = nullptr;
  std::string open_error_;
  bool tried_ = false;
};

}  // namespace gfx950
