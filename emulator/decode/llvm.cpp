#include "decode/llvm.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace gfx950 {

namespace {
// Another LLVM in the process (a compiler's) must not serve this one. Sanitizers cannot live with that flag.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kOpen = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kOpen = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif
}  // namespace

Disassembler& Disassembler::instance() {
  static Disassembler* one = new Disassembler;
  return *one;
}

bool Disassembler::open(std::string& error) {
  if (!tried_) {
    tried_ = true;
    std::vector<std::string> names;
    if (const char* given = std::getenv("GFX950_EMU_LIBLLVM")) {
      names = {given};
    } else {
      names = {"libLLVM.so.22.1", "libLLVM-22.so", "/usr/lib/llvm-22/lib/libLLVM.so.22.1", "/usr/lib/llvm-22/lib/libLLVM.so", "libLLVM.so.21.1",
               "libLLVM.so.20.1"};
    }
    void* library = nullptr;
    for (const auto& name : names) {
      library = dlopen(name.c_str(), kOpen);
      if (library) break;
    }
    if (!library) {
      open_error_ = "cannot open LLVM's library (tried";
      for (const auto& name : names) open_error_ += " " + name;
      open_error_ += "); install libllvm22 or set GFX950_EMU_LIBLLVM";
    } else {
      using Init = void (*)();
      using Create = void* (*)(const char*, const char*, void*, int, void*, void*);
      auto info = reinterpret_cast<Init>(dlsym(library, "LLVMInitializeAMDGPUTargetInfo"));
      auto mc = reinterpret_cast<Init>(dlsym(library, "LLVMInitializeAMDGPUTargetMC"));
      auto disassembler = reinterpret_cast<Init>(dlsym(library, "LLVMInitializeAMDGPUDisassembler"));
      auto create = reinterpret_cast<Create>(dlsym(library, "LLVMCreateDisasmCPU"));
      instruction_ = reinterpret_cast<decltype(instruction_)>(dlsym(library, "LLVMDisasmInstruction"));
      if (!info || !mc || !disassembler || !create || !instruction_) {
        open_error_ = "LLVM's library has no AMDGPU disassembler";
      } else {
        info();
        mc();
        disassembler();
        context_ = create("amdgcn-amd-amdhsa", "gfx950", nullptr, 0, nullptr, nullptr);
        if (!context_) open_error_ = "LLVM's library does not know gfx950 (20 or newer is needed)";
      }
    }
  }
  if (!context_) error = open_error_;
  return context_ != nullptr;
}

size_t Disassembler::decode(const uint8_t* bytes, size_t size, uint64_t pc, std::string& text, std::string& error) {
  std::lock_guard lock(mutex_);
  if (!open(error)) return 0;
  char buffer[512];
  const size_t used = instruction_(context_, const_cast<uint8_t*>(bytes), size, pc, buffer, sizeof buffer);
  if (used == 0) {
    error = "not a gfx950 instruction";
    return 0;
  }
  const char* start = buffer;
  while (*start == '\t' || *start == ' ') ++start;
  text = start;
  return used;
}

}  // namespace gfx950
