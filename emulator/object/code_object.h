// A loaded gfx950 code object: its kernels, its global symbols and the image of its segments in device memory.
//
// Owns:    the image (a MemoryKind::Image allocation, freed with the last reference) with relocations applied.
// Refuses: everything that is not a complete, consistent amdgcn ELF for gfx950 with AMDGPU metadata; the reason is in `error`.
//          An offload bundle or a fat binary is opened when it holds exactly one gfx950 entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "memory/memory.h"

namespace gfx950 {

struct KernelArgument {
  std::string name, value_kind, address_space, type_name;
  uint32_t offset = 0, size = 0;
};

// The 64 bytes at `<kernel>.kd`.
struct KernelDescriptor {
  uint32_t group_segment_fixed_size = 0, private_segment_fixed_size = 0, kernarg_size = 0;
  int64_t code_entry_offset = 0;
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  uint16_t properties = 0, kernarg_preload = 0;
};

struct Kernel {
  std::string name;    // as in the metadata and for hipModuleGetFunction
  std::string symbol;  // `<name>.kd`
  KernelDescriptor descriptor;
  uint64_t entry = 0;  // ELF virtual address of the code
  // From the metadata notes:
  uint32_t kernarg_size = 0, kernarg_align = 8, group_size = 0, private_size = 0;
  uint32_t vgprs = 0, agprs = 0, sgprs = 0, vgpr_spills = 0, sgpr_spills = 0;
  uint32_t max_flat_workgroup_size = 1024, wavefront_size = 64;
  uint32_t required_workgroup_size[3] = {0, 0, 0};  // reqd_workgroup_size, zeros: none
  bool uses_dynamic_stack = false;
  std::vector<KernelArgument> args;
};

struct GlobalSymbol {
  uintptr_t address = 0;  // in device memory
  size_t size = 0;
};

class Program;  // decode/program.h: the decoded instructions, filled in lazily

class CodeObject {
 public:
  static std::shared_ptr<CodeObject> load(const void* data, size_t size, std::string& error, int device = 0);
  ~CodeObject();
  CodeObject(const CodeObject&) = delete;
  CodeObject& operator=(const CodeObject&) = delete;

  const Kernel* find(const std::string& name) const;
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::map<std::string, GlobalSymbol>& globals() const { return globals_; }
  int device() const { return device_; }

  // Device address of ELF virtual address 0, and the span of the image.
  uintptr_t load_bias() const { return bias_; }
  uint64_t low_address() const { return low_; }
  uint64_t high_address() const { return high_; }
  // The executable range (ELF virtual addresses) around an address; false when there is none.
  bool executable(uint64_t address, uint64_t& begin, uint64_t& end) const;
  // Name of the function symbol that covers an ELF virtual address, "" when none does.
  std::string function_at(uint64_t address) const;

  Program& program() const { return *program_; }

 private:
  CodeObject();
  friend class ElfReader;
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Kernel> kernels_;
  std::map<std::string, GlobalSymbol> globals_;
  std::map<uint64_t, std::pair<uint64_t, std::string>> functions_;  // begin -> (end, name)
  std::vector<Range> code_;
  void* image_ = nullptr;
  uintptr_t bias_ = 0;
  uint64_t low_ = 0, high_ = 0;
  int device_ = 0;
  std::unique_ptr<Program> program_;
};

}  // namespace gfx950
