// Kernel launches: arguments packed, limits checked, work made.
//
// Refuses: before anything is queued: geometry, kernarg size, LDS, the wrong device, both or neither form of arguments.
#pragma once

#include "api/modules.h"
#include "api/streams.h"
#include "engine/engine.h"

namespace gfx950::api {

struct Geometry {
  dim3 grid, block;
  uint32_t dynamic_lds = 0;
};

Settings launch_settings();

struct Launch {
  std::shared_ptr<Function> function;
  Geometry geometry;
  std::vector<std::byte> kernarg;  // the explicit arguments at their offsets
  Settings settings;               // strict mode, seed, ...: as the environment is at the call, in the caller's thread
};

void check_geometry(const Function& function, const Geometry& geometry);
// From kernelParams (a pointer per argument) or extra (HIP_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END). Throws when the two do not fit the kernel.
std::vector<std::byte> pack_arguments(const Function& function, void** kernel_params, void** extra);
void launch(const char* call, const std::shared_ptr<Function>& function, const Geometry& geometry, hipStream_t stream, void** kernel_params, void** extra,
            bool per_thread = false);

class KernelWork : public Work {
 public:
  explicit KernelWork(Launch launch);
  Outcome run() const override;
  hipGraphNodeType type() const override { return hipGraphNodeTypeKernel; }
  std::string describe() const override;
  const Launch launch;
  // For hipGraphKernelNodeGetParams: pointers into launch.kernarg, one per explicit argument.
  std::vector<void*> argument_pointers;
};

}  // namespace gfx950::api
