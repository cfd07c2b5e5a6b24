#include "api/errors.h"

#include <atomic>
#include <mutex>

#include "api/process.h"

namespace gfx950::api {
namespace {

struct Row {
  int code;
  const char *name, *meaning;
};

constexpr Row kRows[] = {
    {0, "hipSuccess", "no error"},
    {1, "hipErrorInvalidValue", "invalid argument"},
    {2, "hipErrorOutOfMemory", "out of memory"},
    {3, "hipErrorNotInitialized", "the runtime is not initialised in this process"},
    {4, "hipErrorDeinitialized", "the runtime is shutting down"},
    {5, "hipErrorProfilerDisabled", "profiling is switched off"},
    {6, "hipErrorProfilerNotInitialized", "the profiler was not initialised"},
    {7, "hipErrorProfilerAlreadyStarted", "the profiler runs already"},
    {8, "hipErrorProfilerAlreadyStopped", "the profiler has stopped already"},
    {9, "hipErrorInvalidConfiguration", "invalid launch configuration"},
    {12, "hipErrorInvalidPitchValue", "invalid pitch"},
    {13, "hipErrorInvalidSymbol", "invalid device symbol"},
    {17, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {21, "hipErrorInvalidMemcpyDirection", "invalid direction of a copy"},
    {35, "hipErrorInsufficientDriver", "the driver is too old for the runtime"},
    {52, "hipErrorMissingConfiguration", "a launch without a configuration"},
    {53, "hipErrorPriorLaunchFailure", "an earlier launch failed"},
    {98, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {100, "hipErrorNoDevice", "no device"},
    {101, "hipErrorInvalidDevice", "invalid device ordinal"},
    {200, "hipErrorInvalidImage", "invalid code object image"},
    {201, "hipErrorInvalidContext", "invalid context"},
    {202, "hipErrorContextAlreadyCurrent", "the context is current already"},
    {205, "hipErrorMapFailed", "mapping failed"},
    {206, "hipErrorUnmapFailed", "unmapping failed"},
    {207, "hipErrorArrayIsMapped", "the array is mapped"},
    {208, "hipErrorAlreadyMapped", "mapped already"},
    {209, "hipErrorNoBinaryForGpu", "no code object for this device's architecture"},
    {210, "hipErrorAlreadyAcquired", "acquired already"},
    {211, "hipErrorNotMapped", "not mapped"},
    {212, "hipErrorNotMappedAsArray", "not mapped as an array"},
    {213, "hipErrorNotMappedAsPointer", "not mapped as a pointer"},
    {214, "hipErrorECCNotCorrectable", "uncorrectable memory error"},
    {215, "hipErrorUnsupportedLimit", "the device does not support this limit"},
    {216, "hipErrorContextAlreadyInUse", "the context is in use"},
    {217, "hipErrorPeerAccessUnsupported", "peer access is not supported between these devices"},
    {218, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {219, "hipErrorInvalidGraphicsContext", "invalid graphics context"},
    {300, "hipErrorInvalidSource", "invalid source"},
    {301, "hipErrorFileNotFound", "file not found"},
    {302, "hipErrorSharedObjectSymbolNotFound", "a shared object lacks a symbol"},
    {303, "hipErrorSharedObjectInitFailed", "a shared object failed to initialise"},
    {304, "hipErrorOperatingSystem", "an operating system call failed"},
    {400, "hipErrorInvalidHandle", "invalid resource handle"},
    {401, "hipErrorIllegalState", "not legal in the present state"},
    {500, "hipErrorNotFound", "named symbol not found"},
    {600, "hipErrorNotReady", "work is not finished yet"},
    {700, "hipErrorIllegalAddress", "a kernel touched an address that is not its to touch"},
    {701, "hipErrorLaunchOutOfResources", "the launch needs more resources than there are"},
    {702, "hipErrorLaunchTimeOut", "the launch ran out of time"},
    {704, "hipErrorPeerAccessAlreadyEnabled", "peer access is enabled already"},
    {705, "hipErrorPeerAccessNotEnabled", "peer access was never enabled"},
    {708, "hipErrorSetOnActiveProcess", "not to be set once the device is in use"},
    {709, "hipErrorContextIsDestroyed", "the context was destroyed"},
    {710, "hipErrorAssert", "a device-side assertion failed"},
    {712, "hipErrorHostMemoryAlreadyRegistered", "the host memory is registered already"},
    {713, "hipErrorHostMemoryNotRegistered", "the host memory is not registered"},
    {719, "hipErrorLaunchFailure", "a kernel failed"},
    {720, "hipErrorCooperativeLaunchTooLarge", "too many workgroups for a cooperative launch"},
    {801, "hipErrorNotSupported", "not supported"},
    {900, "hipErrorStreamCaptureUnsupported", "not permitted while a stream is captured"},
    {901, "hipErrorStreamCaptureInvalidated", "the capture was invalidated by an earlier error"},
    {902, "hipErrorStreamCaptureMerge", "two captures would be merged"},
    {903, "hipErrorStreamCaptureUnmatched", "the capture was begun on another stream"},
    {904, "hipErrorStreamCaptureUnjoined", "a forked stream was not joined before the capture ended"},
    {905, "hipErrorStreamCaptureIsolation", "a dependency would cross the border of a capture"},
    {906, "hipErrorStreamCaptureImplicit", "the legacy default stream would wait for a captured stream"},
    {907, "hipErrorCapturedEvent", "the event was recorded in a capture"},
    {908, "hipErrorStreamCaptureWrongThread", "the capture was begun by another thread"},
    {910, "hipErrorGraphExecUpdateFailure", "the executable graph cannot be updated to this"},
    {911, "hipErrorInvalidChannelDescriptor", "invalid channel descriptor"},
    {912, "hipErrorInvalidTexture", "invalid texture"},
    {914, "hipErrorInvalidResourceType", "invalid resource type"},
    {915, "hipErrorInvalidResourceConfiguration", "invalid resource configuration"},
    {916, "hipErrorStreamDetached", "the stream is detached"},
    {999, "hipErrorUnknown", "unknown error"},
    {1052, "hipErrorRuntimeMemory", "the runtime's memory call failed"},
    {1053, "hipErrorRuntimeOther", "another runtime call failed"},
    {1054, "hipErrorInvalidClusterSize", "invalid cluster size"},
    {1055, "hipErrorTbd", "unnamed error"},
};

const Row* find_row(hipError_t code) {
  for (const Row& row : kRows)
    if (row.code == code) return &row;
  return nullptr;
}

thread_local hipError_t t_last = hipSuccess;

struct Explanation {
  uint64_t order = 0;
  std::string text;
};
std::atomic<uint64_t> g_order{1};
std::mutex& async_mutex() {
  static auto* mutex = new std::mutex;  // never destroyed: workers may outlive main()
  return *mutex;
}
Explanation& async_explanation() {
  static auto* explanation = new Explanation;
  return *explanation;
}
thread_local Explanation t_explanation;
thread_local std::string t_returned;

}  // namespace

const char* error_name(hipError_t code) {
  const Row* row = find_row(code);
  return row ? row->name : "hipErrorUnknown";
}

const char* error_string(hipError_t code) {
  const Row* row = find_row(code);
  return row ? row->meaning : "a code that HIP does not define";
}

void set_last_error(hipError_t code) { t_last = code; }
hipError_t last_error() { return t_last; }
hipError_t take_last_error() {
  hipError_t code = t_last;
  t_last = hipSuccess;
  return code;
}

void set_error_text(std::string text) {
  t_explanation.order = g_order.fetch_add(1, std::memory_order_relaxed);
  t_explanation.text = std::move(text);
}

void set_async_error_text(std::string text) {
  std::lock_guard lock(async_mutex());
  async_explanation().order = g_order.fetch_add(1, std::memory_order_relaxed);
  async_explanation().text = std::move(text);
}

const char* last_error_text() {
  if (forked()) return t_explanation.text.c_str();
  std::lock_guard lock(async_mutex());
  const Explanation& newest = async_explanation().order > t_explanation.order ? async_explanation() : t_explanation;
  t_returned = newest.text;
  return t_returned.c_str();
}

}  // namespace gfx950::api
