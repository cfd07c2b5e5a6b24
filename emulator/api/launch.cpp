#include "api/launch.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "api/bank_conflicts.h"
#include "api/call.h"
#include "api/capture.h"
#include "api/events.h"

namespace gfx950::api {
namespace {

constexpr uint64_t kMostWorkgroups = 1 << 28;  // at 10 us each, 20 minutes on two cores

[[noreturn]] void refuse_geometry(const Function& function, const std::string& why) {
  throw Failure(hipErrorInvalidConfiguration, text("kernel ", function.kernel->name, ": ", why));
}

void check_lds(const Function& function, uint32_t dynamic) {
  const uint64_t total = uint64_t{function.kernel->group_size} + dynamic;
  if (total > kLdsBytes)
    throw Failure(hipErrorInvalidValue, text("kernel ", function.kernel->name, ": ", function.kernel->group_size, " bytes of its own LDS and ", dynamic,
                                             " dynamic ones exceed the workgroup's ", kLdsBytes));
}

struct Extra {
  const void* buffer = nullptr;
  size_t size = 0;
};
Extra read_extra(void** extra) {
  Extra result;
  const size_t* size = nullptr;
  for (int i = 0; i < 8; i += 2) {
    if (extra[i] == HIP_LAUNCH_PARAM_END) {
      if (!result.buffer || !size) throw Failure(hipErrorInvalidValue, "extra gives no HIP_LAUNCH_PARAM_BUFFER_POINTER or no HIP_LAUNCH_PARAM_BUFFER_SIZE");
      result.size = *size;
      return result;
    }
    if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER) result.buffer = extra[i + 1];
    else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE) size = static_cast<const size_t*>(extra[i + 1]);
    else throw Failure(hipErrorInvalidValue, text("entry ", i, " of extra is ", hex(extra[i]), ", no HIP_LAUNCH_PARAM_ value"));
  }
  throw Failure(hipErrorInvalidValue, "extra does not end in HIP_LAUNCH_PARAM_END");
}

// Checks that cost nothing to make twice; the null mode stops after them.
void check_arguments(const Function& function, void** kernel_params, void** extra) {
  if (kernel_params && extra) throw Failure(hipErrorInvalidValue, "both kernelParams and extra are given");
  const char* name = function.kernel->name.c_str();
  if (extra) {
    const size_t size = read_extra(extra).size;
    if (size < function.explicit_bytes)
      throw Failure(hipErrorInvalidValue, text("kernel ", name, ": the argument buffer has ", size, " bytes, the kernel's arguments take ", function.explicit_bytes,
                                               function.kernel->kernarg_size > function.explicit_bytes ? text(" (", function.kernel->kernarg_size, " with hidden ones)") : std::string()));
  } else if (!kernel_params && !function.explicit_args.empty()) {
    throw Failure(hipErrorInvalidValue, text("kernel ", name, " takes ", function.explicit_args.size(), " arguments, but neither kernelParams nor extra is given"));
  }
}

// A bad address is hipErrorIllegalAddress in strict mode, too, where it comes as a report among others.
hipError_t code_of(const LaunchOutcome& outcome) {
  for (const Report& report : outcome.reports)
    if (report.kind == ReportKind::BadAddress) return hipErrorIllegalAddress;
  switch (outcome.code) {
    case ErrorCode::None: return hipSuccess;
    case ErrorCode::InvalidLaunch: return hipErrorInvalidConfiguration;
    case ErrorCode::IllegalAddress: return hipErrorIllegalAddress;
    case ErrorCode::UnknownInstruction:
    case ErrorCode::StrictViolation:
    case ErrorCode::Runaway:
    case ErrorCode::Trap: return hipErrorLaunchFailure;
    case ErrorCode::Internal: return hipErrorUnknown;
  }
  return hipErrorUnknown;
}

void tell(const std::string& explanation) {
  set_async_error_text(explanation);
  const std::string line = text("gfx950 emulator: ", explanation, "\n");
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

Settings launch_settings() {
  Settings settings = Settings::from_environment();
  settings.stop = exit_flag();
  return settings;
}

void check_geometry(const Function& function, const Geometry& g) {
  auto show = [](const dim3& d) { return text('(', d.x, ", ", d.y, ", ", d.z, ')'); };
  if (!g.grid.x || !g.grid.y || !g.grid.z) refuse_geometry(function, text("a grid of ", show(g.grid), " workgroups is empty"));
  if (!g.block.x || !g.block.y || !g.block.z) refuse_geometry(function, text("a workgroup of ", show(g.block), " work-items is empty"));
  if (g.grid.x > kMaxGridX || g.grid.y > kMaxGridYZ || g.grid.z > kMaxGridYZ)
    refuse_geometry(function, text("a grid of ", show(g.grid), " workgroups exceeds (", kMaxGridX, ", ", kMaxGridYZ, ", ", kMaxGridYZ, ")"));
  if (g.block.x > 1024 || g.block.y > 1024 || g.block.z > 1024) refuse_geometry(function, text("a workgroup of ", show(g.block), " work-items exceeds 1024 in one direction"));
  const uint64_t threads = uint64_t{g.block.x} * g.block.y * g.block.z;
  if (threads > kMaxBlockThreads) refuse_geometry(function, text("a workgroup of ", show(g.block), " = ", threads, " work-items exceeds ", kMaxBlockThreads));
  if (threads > function.kernel->max_flat_workgroup_size)
    refuse_geometry(function, text("a workgroup of ", show(g.block), " = ", threads, " work-items exceeds the ", function.kernel->max_flat_workgroup_size, " that the kernel was compiled for"));
  if (uint64_t{g.grid.x} * g.block.x > UINT32_MAX || uint64_t{g.grid.y} * g.block.y > UINT32_MAX || uint64_t{g.grid.z} * g.block.z > UINT32_MAX)
    refuse_geometry(function, text("a grid of ", show(g.grid), " workgroups of ", show(g.block), " has more than 2^32 - 1 work-items in one direction"));
  const uint64_t workgroups = uint64_t{g.grid.x} * g.grid.y;  // below 2^48
  if (workgroups > kMostWorkgroups || workgroups * g.grid.z > kMostWorkgroups)
    refuse_geometry(function, text("a grid of ", show(g.grid), " workgroups has more than the ", kMostWorkgroups, " that the emulator would ever finish"));
  const uint32_t(&required)[3] = function.kernel->required_workgroup_size;
  if (required[0] && (required[0] != g.block.x || required[1] != g.block.y || required[2] != g.block.z))
    refuse_geometry(function, text("a workgroup of ", show(g.block), " work-items is not the (", required[0], ", ", required[1], ", ", required[2], ") that the kernel requires"));
  check_lds(function, g.dynamic_lds);
}

std::vector<std::byte> pack_arguments(const Function& function, void** kernel_params, void** extra) {
  check_arguments(function, kernel_params, extra);
  std::vector<std::byte> kernarg(function.explicit_bytes);
  if (extra) {
    const Extra given = read_extra(extra);
    const auto* bytes = static_cast<const std::byte*>(given.buffer);
    kernarg.assign(bytes, bytes + std::min<size_t>(given.size, std::max(function.kernel->kernarg_size, function.explicit_bytes)));  // HIP ignores the rest
    return kernarg;
  }
  for (size_t i = 0; i < function.explicit_args.size(); ++i) {
    const KernelArgument& argument = *function.explicit_args[i];
    if (!kernel_params[i]) throw Failure(hipErrorInvalidValue, text("kernel ", function.kernel->name, ": kernelParams[", i, "]", argument.name.empty() ? "" : text(" (", argument.name, ")"), " is null"));
    std::memcpy(kernarg.data() + argument.offset, kernel_params[i], argument.size);
  }
  return kernarg;
}

namespace {
uint32_t clamped(size_t lds) { return static_cast<uint32_t>(std::min<size_t>(lds, UINT32_MAX)); }

// What a launch refuses it refuses here, before anything is queued. Null where launches do nothing (GFX950_EMU_NULL).
std::shared_ptr<KernelWork> kernel_work(const Stream& stream, const std::shared_ptr<Function>& function, const Geometry& geometry, void** kernel_params, void** extra) {
  check_geometry(*function, geometry);
  if (function->device != stream.device)
    throw Failure(hipErrorInvalidDevice, text("kernel ", function->kernel->name, " was loaded on device ", function->device, ", the stream belongs to device ", stream.device));
  if (environment().null_launch && !any_capture()) {
    check_arguments(*function, kernel_params, extra);
    return nullptr;
  }
  return std::make_shared<KernelWork>(Launch{function, geometry, pack_arguments(*function, kernel_params, extra), launch_settings()});
}
}  // namespace

void launch(const char* name, const std::shared_ptr<Function>& function, const Geometry& geometry, hipStream_t handle, void** kernel_params, void** extra, bool per_thread) {
  auto stream = resolve_stream(handle, per_thread);
  if (auto work = kernel_work(*stream, function, geometry, kernel_params, extra)) issue(*stream, std::move(work), name);
}

KernelWork::KernelWork(Launch given) : launch(std::move(given)) {
  for (const KernelArgument* argument : launch.function->explicit_args)
    argument_pointers.push_back(const_cast<std::byte*>(launch.kernarg.data()) + std::min<size_t>(argument->offset, launch.kernarg.size()));
}

std::string KernelWork::describe() const {
  const Geometry& g = launch.geometry;
  return text("kernel ", launch.function->kernel->name, " grid (", g.grid.x, ", ", g.grid.y, ", ", g.grid.z, ") block (", g.block.x, ", ", g.block.y, ", ", g.block.z, ")");
}

Outcome KernelWork::run() const {
  if (environment().null_launch) return {};
  const Geometry& g = launch.geometry;
  LaunchRequest request;
  request.object = launch.function->object;
  request.kernel = launch.function->kernel;
  request.workgroups = {g.grid.x, g.grid.y, g.grid.z};
  request.block = {g.block.x, g.block.y, g.block.z};
  request.dynamic_lds_bytes = g.dynamic_lds;
  request.kernarg = launch.kernarg;
  request.device = launch.function->device;
  LaunchOutcome outcome = gfx950::run(request, launch.settings);
  keep_bank_conflicts(outcome);
  if (outcome.code == ErrorCode::None || exiting()) return {};  // at exit launches are stopped: no failure of theirs
  tell(outcome.text);
  return {code_of(outcome), std::move(outcome.text)};
}

}  // namespace gfx950::api

using namespace gfx950::api;

#define GEOMETRY_ARGUMENTS arg("grid", dim3{gx, gy, gz}), arg("block", dim3{bx, by, bz}), arg("lds", lds)

HIP_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                            hipStream_t stream, void** kernel_params, void** extra) {
  return call("hipModuleLaunchKernel", [&] {
    return launch("hipModuleLaunchKernel", resolve_function(function), {{gx, gy, gz}, {bx, by, bz}, lds}, stream, kernel_params, extra), hipSuccess;
  }, arg("function", function), GEOMETRY_ARGUMENTS, arg("stream", stream));
}

HIP_EXPORT hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                                       unsigned lds, hipStream_t stream, void** kernel_params) {
  return call("hipModuleLaunchCooperativeKernel", [&]() -> hipError_t {
    resolve_function(function);
    not_supported("hipModuleLaunchCooperativeKernel", "its workgroups do not run all at once");
  }, arg("function", function), GEOMETRY_ARGUMENTS, arg("stream", stream));
}

namespace {
void check_launch_attributes(const hipLaunchAttribute* attributes, unsigned count, const char* name) {
  for (unsigned i = 0; i < count; ++i) {
    const hipLaunchAttribute& a = need(attributes, "the attribute list")[i];
    if (a.id == hipLaunchAttributeCooperative && a.value.cooperative) not_supported(name, "cooperative launches: workgroups do not run all at once");
    if (a.id == hipLaunchAttributeClusterDimension && uint64_t{a.value.clusterDim.x} * a.value.clusterDim.y * a.value.clusterDim.z > 1)
      not_supported(name, "workgroup clusters, which gfx950 does not have");
  }
}
}  // namespace

HIP_EXPORT hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* config, hipFunction_t function, void** kernel_params, void** extra) {
  return call("hipDrvLaunchKernelEx", [&] {
    const HIP_LAUNCH_CONFIG& c = *need(config, "the configuration");
    check_launch_attributes(c.attrs, c.numAttrs, "hipDrvLaunchKernelEx");
    launch("hipDrvLaunchKernelEx", resolve_function(function), {{c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ}, c.sharedMemBytes},
           c.hStream, kernel_params, extra);
    return hipSuccess;
  }, arg("function", function));
}

HIP_EXPORT hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* config, const void* function, void** arguments) {
  return call("hipLaunchKernelExC", [&] {
    const hipLaunchConfig_t& c = *need(config, "the configuration");
    check_launch_attributes(c.attrs, c.numAttrs, "hipLaunchKernelExC");
    launch("hipLaunchKernelExC", resolve_function(function), {c.gridDim, c.blockDim, clamped(c.dynamicSmemBytes)}, c.stream, arguments, nullptr);
    return hipSuccess;
  }, arg("function", function));
}

#define LAUNCH_BY_ADDRESS(NAME, PER_THREAD)                                                                                                \
  HIP_EXPORT hipError_t NAME(const void* function, dim3 grid, dim3 block, void** arguments, size_t lds, hipStream_t stream) {              \
    return call(#NAME, [&] {                                                                                                               \
      launch(#NAME, resolve_function(function), {grid, block, clamped(lds)}, stream, arguments, nullptr, PER_THREAD);                      \
      return hipSuccess;                                                                                                                   \
    }, arg("function", function), arg("grid", grid), arg("block", block), arg("lds", lds), arg("stream", stream));                        \
  }
LAUNCH_BY_ADDRESS(hipLaunchKernel, false)
LAUNCH_BY_ADDRESS(hipLaunchKernel_spt, true)
#undef LAUNCH_BY_ADDRESS

namespace {
// Events around a launch. Everything is looked up and checked before anything is queued.
void launch_between(const char* name, const std::shared_ptr<Function>& function, const Geometry& geometry, hipStream_t stream, void** kernel_params, void** extra,
                    hipEvent_t start, hipEvent_t stop) {
  const auto first = start ? events().need(start) : nullptr, last = stop ? events().need(stop) : nullptr;
  auto resolved = resolve_stream(stream);
  auto work = kernel_work(*resolved, function, geometry, kernel_params, extra);
  if (first) record_event(resolved, first, start, name, false);
  if (work) issue(*resolved, std::move(work), name);
  if (last) record_event(resolved, last, stop, name, false);
}
}  // namespace

HIP_EXPORT hipError_t hipExtModuleLaunchKernel(hipFunction_t function, unsigned items_x, unsigned items_y, unsigned items_z, unsigned bx, unsigned by, unsigned bz,
                                               size_t lds, hipStream_t stream, void** kernel_params, void** extra, hipEvent_t start, hipEvent_t stop, unsigned flags) {
  return call("hipExtModuleLaunchKernel", [&] {
    auto resolved = resolve_function(function);
    if (!bx || !by || !bz || items_x % bx || items_y % by || items_z % bz)
      throw Failure(hipErrorInvalidConfiguration, "the number of work-items is no multiple of the workgroup's");
    launch_between("hipExtModuleLaunchKernel", resolved, {{items_x / bx, items_y / by, items_z / bz}, {bx, by, bz}, clamped(lds)}, stream, kernel_params, extra, start, stop);
    return hipSuccess;
  }, arg("function", function), arg("flags", flags), arg("stream", stream), arg("start", start), arg("stop", stop));
}
HIP_EXPORT hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t lds, hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags) {
  return call("hipExtLaunchKernel", [&] {
    launch_between("hipExtLaunchKernel", resolve_function(function), {grid, block, clamped(lds)}, stream, arguments, nullptr, start, stop);
    return hipSuccess;
  }, arg("function", function), arg("grid", grid), arg("block", block), arg("flags", flags), arg("stream", stream), arg("start", start), arg("stop", stop));
}
