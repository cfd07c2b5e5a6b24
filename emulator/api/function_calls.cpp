// Questions about kernels: attributes and occupancy.
#include <algorithm>

#include "api/call.h"
#include "api/launch.h"

namespace gfx950::api {
namespace {

constexpr uint32_t kVgprsPerLane = 512, kVgprGranule = 8, kMaxWavesPerSimd = 8, kSimds = 4, kMaxBlocksPerCu = 32;

int attribute_of(const Function& function, int attribute) {
  const Kernel& kernel = *function.kernel;
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return static_cast<int>(kernel.max_flat_workgroup_size);
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return static_cast<int>(kernel.group_size);
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: return 0;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return static_cast<int>(kernel.private_size);
    case HIP_FUNC_ATTRIBUTE_NUM_REGS: return static_cast<int>(kernel.vgprs);
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION: return 95;
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA: return 0;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return static_cast<int>(kLdsBytes - std::min(kLdsBytes, kernel.group_size));
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return function.carveout;
    default: throw Failure(hipErrorInvalidValue, text("function attribute ", attribute, " does not exist here (0 to 9)"));
  }
}

hipFuncAttributes attributes_of(const Function& function) {
  hipFuncAttributes a{};
  a.binaryVersion = a.ptxVersion = 95;
  a.localSizeBytes = function.kernel->private_size;
  a.maxDynamicSharedSizeBytes = attribute_of(function, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  a.maxThreadsPerBlock = static_cast<int>(function.kernel->max_flat_workgroup_size);
  a.numRegs = static_cast<int>(function.kernel->vgprs);
  a.preferredShmemCarveout = function.carveout;
  a.sharedSizeBytes = function.kernel->group_size;
  return a;
}

void set_attribute(Function& function, int attribute, int value) {
  if (attribute == HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    const int most = attribute_of(function, attribute);
    if (value < 0 || value > most) throw Failure(hipErrorInvalidValue, text("kernel ", function.kernel->name, ": ", value, " bytes of dynamic LDS, there are 0 to ", most));
    function.max_dynamic_lds = value;
  } else if (attribute == HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    function.carveout = value;
  } else {
    throw Failure(hipErrorInvalidValue, text("function attribute ", attribute, " cannot be set (8 and 9 can)"));
  }
}

// Workgroups that fit on a compute unit at once: by registers, LDS and wave slots.
int active_blocks(const Function& function, int block, size_t dynamic_lds) {
  if (block <= 0) throw Failure(hipErrorInvalidValue, text("a workgroup of ", block, " work-items"));
  if (static_cast<uint32_t>(block) > function.kernel->max_flat_workgroup_size) return 0;
  const uint32_t vgprs = std::max(kVgprGranule, (function.kernel->vgprs + kVgprGranule - 1) / kVgprGranule * kVgprGranule);
  const uint32_t waves_per_cu = std::min(kMaxWavesPerSimd, kVgprsPerLane / vgprs) * kSimds;
  const uint32_t waves = (static_cast<uint32_t>(block) + kWaveLanes - 1) / kWaveLanes;
  const uint64_t lds = function.kernel->group_size + dynamic_lds;
  if (lds > kLdsBytes) return 0;
  const uint64_t by_lds = lds ? kLdsBytes / lds : kMaxBlocksPerCu;
  return static_cast<int>(std::min<uint64_t>({waves_per_cu / waves, by_lds, kMaxBlocksPerCu}));
}

hipError_t count_blocks(int* blocks, const void* function, int block, size_t lds) {
  return *need(blocks, "the block count pointer") = active_blocks(*resolve_function(function), block, lds), hipSuccess;
}

// The largest block that keeps the most waves busy.
hipError_t best_block(int* grid, int* block, const void* handle, size_t lds, int limit) {
  const auto function = resolve_function(handle);
  const int most = static_cast<int>(std::min<uint32_t>(function->kernel->max_flat_workgroup_size, limit > 0 ? static_cast<uint32_t>(limit) : kMaxBlockThreads));
  int best = 0, best_items = 0, best_blocks = 0;
  for (int size = most < 64 ? most : most / 64 * 64; size > 0; size -= 64) {
    const int blocks = active_blocks(*function, size, lds);
    if (blocks * size > best_items) best = size, best_items = blocks * size, best_blocks = blocks;
  }
  *need(block, "the block size pointer") = best;
  *need(grid, "the grid size pointer") = best_blocks * environment().compute_units;
  return hipSuccess;
}

void check_flags(unsigned flags) {
  if (flags > 1) throw Failure(hipErrorInvalidValue, text("flags ", flags, " are not known"));
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipFuncGetAttribute(int* value, int attribute, hipFunction_t function) {
  return call("hipFuncGetAttribute", [&] { return *need(value, "the value pointer") = attribute_of(*resolve_function(function), attribute), hipSuccess; },
              out("value", value), arg("attribute", attribute), arg("function", function));
}
HIP_EXPORT hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  return call("hipFuncGetAttributes", [&] { return *need(attributes, "the attributes pointer") = attributes_of(*resolve_function(function)), hipSuccess; }, arg("function", function));
}
HIP_EXPORT hipError_t hipFuncSetAttribute(const void* function, int attribute, int value) {
  return call("hipFuncSetAttribute", [&] { return set_attribute(*resolve_function(function), attribute, value), hipSuccess; },
              arg("function", function), arg("attribute", attribute), arg("value", value));
}
HIP_EXPORT hipError_t hipFuncSetCacheConfig(const void* function, int config) {
  return call("hipFuncSetCacheConfig", [&] { return resolve_function(function), hipSuccess; }, arg("function", function), arg("config", config));
}
HIP_EXPORT hipError_t hipFuncSetSharedMemConfig(const void* function, int config) {
  return call("hipFuncSetSharedMemConfig", [&] { return resolve_function(function), hipSuccess; }, arg("function", function), arg("config", config));
}
HIP_EXPORT hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* symbol) {
  return call("hipGetFuncBySymbol", [&] { return *need(function, "the function pointer") = resolve_function(symbol)->handle, hipSuccess; }, out("function", function), arg("symbol", symbol));
}
HIP_EXPORT const char* hipKernelNameRef(hipFunction_t function) {
  const char* name = nullptr;
  call("hipKernelNameRef", [&] { return name = resolve_function(function)->kernel->name.c_str(), hipSuccess; }, arg("function", function));
  return name;
}
HIP_EXPORT const char* hipKernelNameRefByPtr(const void* function, hipStream_t) {
  const char* name = nullptr;
  call("hipKernelNameRefByPtr", [&] { return name = resolve_function(function)->kernel->name.c_str(), hipSuccess; }, arg("function", function));
  return name;
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function, int block, size_t lds) {
  return call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", [&] { return count_blocks(blocks, function, block, lds); }, out("blocks", blocks), arg("function", function));
}
HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, hipFunction_t function, int block, size_t lds, unsigned flags) {
  return call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", [&] { return check_flags(flags), count_blocks(blocks, function, block, lds); },
              out("blocks", blocks), arg("function", function));
}
HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block, size_t lds) {
  return call("hipOccupancyMaxActiveBlocksPerMultiprocessor", [&] { return count_blocks(blocks, function, block, lds); }, out("blocks", blocks), arg("function", function));
}
HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int block, size_t lds, unsigned flags) {
  return call("hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", [&] { return check_flags(flags), count_blocks(blocks, function, block, lds); },
              out("blocks", blocks), arg("function", function));
}
HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t function, size_t lds, int limit) {
  return call("hipModuleOccupancyMaxPotentialBlockSize", [&] { return best_block(grid, block, function, lds, limit); }, out("grid", grid), out("block", block), arg("function", function));
}
HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, hipFunction_t function, size_t lds, int limit, unsigned flags) {
  return call("hipModuleOccupancyMaxPotentialBlockSizeWithFlags", [&] { return check_flags(flags), best_block(grid, block, function, lds, limit); },
              out("grid", grid), out("block", block), arg("function", function));
}
HIP_EXPORT hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* function, size_t lds, int limit) {
  return call("hipOccupancyMaxPotentialBlockSize", [&] { return best_block(grid, block, function, lds, limit); }, out("grid", grid), out("block", block), arg("function", function));
}
HIP_EXPORT hipError_t hipOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks, int block) {
  return call("hipOccupancyAvailableDynamicSMemPerBlock", [&] {
    const auto resolved = resolve_function(function);
    if (blocks <= 0 || block <= 0) throw Failure(hipErrorInvalidValue, text(blocks, " workgroups of ", block, " work-items"));
    const uint32_t share = kLdsBytes / static_cast<uint32_t>(blocks);
    return *need(bytes, "the size pointer") = share - std::min(share, resolved->kernel->group_size), hipSuccess;
  }, arg("function", function), arg("blocks", blocks), arg("block", block));
}
