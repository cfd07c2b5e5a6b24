// The exported stream calls.
#include <algorithm>

#include "api/call.h"
#include "api/capture.h"
#include "api/events.h"

namespace gfx950::api {

namespace {

hipError_t create(hipStream_t* handle, unsigned flags, int priority) {
  need(handle, "the pointer to the result");
  return *handle = create_stream(flags, priority)->handle, hipSuccess;
}

hipError_t destroy(hipStream_t handle) {
  if (!handle || handle == hipStreamLegacy || handle == hipStreamPerThread) throw Failure(hipErrorInvalidHandle, "a default stream cannot be destroyed");
  auto stream = streams().remove(handle);
  stream_is_destroyed(stream);
  return retire(stream), hipSuccess;
}

hipError_t wait_event(const char* name, hipStream_t handle, hipEvent_t event, unsigned flags, bool per_thread) {
  if (flags > 1) throw Failure(hipErrorInvalidValue, text("flags ", flags, " are not known"));
  return wait_for_event(resolve_stream(handle, per_thread), *events().need(event), name, flags == 1), hipSuccess;
}

hipError_t query(const char* name, hipStream_t handle, bool per_thread) {
  auto stream = resolve_stream(handle, per_thread);
  forbid_wait(*stream, name);
  if (!idle(*stream)) return hipErrorNotReady;
  return throw_pending_error(*stream->queue), hipSuccess;
}

hipError_t synchronise_call(const char* name, hipStream_t handle, bool per_thread) {
  auto stream = resolve_stream(handle, per_thread);
  forbid_wait(*stream, name);
  return synchronise(*stream), hipSuccess;
}

hipError_t host_function(const char* name, hipStream_t handle, hipHostFn_t function, void* data, bool per_thread) {
  if (!function) throw Failure(hipErrorInvalidValue, "the function is null");
  return issue(*resolve_stream(handle, per_thread), std::make_shared<HostFunctionWork>(function, data), name), hipSuccess;
}

class CallbackWork : public Work {
 public:
  CallbackWork(hipStream_t stream, hipStreamCallback_t function, void* data) : stream_(stream), function_(function), data_(data) {}
  Outcome run() const override {
    function_(stream_, hipSuccess, data_);
    return {};
  }
  hipGraphNodeType type() const override { return hipGraphNodeTypeHost; }
  std::string describe() const override { return "stream callback"; }
  bool calls_the_user() const override { return true; }

 private:
  hipStream_t stream_;
  hipStreamCallback_t function_;
  void* data_;
};

hipError_t callback(const char* name, hipStream_t handle, hipStreamCallback_t function, void* data, unsigned flags, bool per_thread) {
  if (!function) throw Failure(hipErrorInvalidValue, "the callback is null");
  if (flags) throw Failure(hipErrorInvalidValue, text("flags is ", flags, ", not 0"));
  return issue(*resolve_stream(handle, per_thread), std::make_shared<CallbackWork>(handle, function, data), name), hipSuccess;
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipStreamCreate(hipStream_t* stream) {
  return call("hipStreamCreate", [&] { return create(stream, 0, 0); }, out("stream", stream));
}
HIP_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return call("hipStreamCreateWithFlags", [&] { return create(stream, flags, 0); }, out("stream", stream), arg("flags", flags));
}
HIP_EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return call("hipStreamCreateWithPriority", [&] { return create(stream, flags, priority); }, out("stream", stream), arg("flags", flags), arg("priority", priority));
}
HIP_EXPORT hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, uint32_t words, const uint32_t* mask) {
  return call("hipExtStreamCreateWithCUMask", [&] {
    if (!words) throw Failure(hipErrorInvalidValue, "the mask has no words");
    need(mask, "the mask");
    return create(stream, 0, 0);
  }, out("stream", stream), arg("words", words));
}
HIP_EXPORT hipError_t hipExtStreamGetCUMask(hipStream_t stream, uint32_t words, uint32_t* mask) {
  return call("hipExtStreamGetCUMask", [&] {
    resolve_stream(stream);
    const uint32_t wanted = (static_cast<uint32_t>(environment().compute_units) + 31) / 32;
    if (words < wanted) throw Failure(hipErrorInvalidValue, text("a mask of ", words, " words does not hold ", environment().compute_units, " compute units"));
    std::fill_n(need(mask, "the mask"), words, 0u);
    for (int unit = 0; unit < environment().compute_units; ++unit) mask[unit / 32] |= 1u << (unit % 32);
    return hipSuccess;
  }, arg("stream", stream));
}
HIP_EXPORT hipError_t hipStreamDestroy(hipStream_t stream) {
  return call("hipStreamDestroy", [&] { return destroy(stream); }, arg("stream", stream));
}

HIP_EXPORT hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("hipDeviceGetStreamPriorityRange", [&] {
    current_device();
    if (least) *least = 1;
    if (greatest) *greatest = -1;
    return hipSuccess;
  });
}

// A call and its twin for code compiled with per-thread default streams.
#define TWINS(NAME, PARAMETERS, BODY, ...)                                                   \
  HIP_EXPORT hipError_t NAME PARAMETERS {                                                    \
    constexpr bool per_thread = false;                                                       \
    constexpr const char* name = #NAME;                                                      \
    return call(name, [&] { return BODY; }, __VA_ARGS__);                                    \
  }                                                                                          \
  HIP_EXPORT hipError_t NAME##_spt PARAMETERS {                                              \
    constexpr bool per_thread = true;                                                        \
    constexpr const char* name = #NAME "_spt";                                               \
    return call(name, [&] { return BODY; }, __VA_ARGS__);                                    \
  }

TWINS(hipStreamSynchronize, (hipStream_t stream), synchronise_call(name, stream, per_thread), arg("stream", stream))
TWINS(hipStreamQuery, (hipStream_t stream), query(name, stream, per_thread), arg("stream", stream))
TWINS(hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags), wait_event(name, stream, event, flags, per_thread),
      arg("stream", stream), arg("event", event), arg("flags", flags))
TWINS(hipLaunchHostFunc, (hipStream_t stream, hipHostFn_t function, void* data), host_function(name, stream, function, data, per_thread),
      arg("stream", stream), arg("function", reinterpret_cast<void*>(function)), arg("data", data))
TWINS(hipStreamAddCallback, (hipStream_t stream, hipStreamCallback_t function, void* data, unsigned flags),
      callback(name, stream, function, data, flags, per_thread), arg("stream", stream), arg("function", reinterpret_cast<void*>(function)))
TWINS(hipStreamGetFlags, (hipStream_t stream, unsigned* flags), (*need(flags, "the flags pointer") = resolve_stream(stream, per_thread)->flags, hipSuccess),
      arg("stream", stream), out("flags", flags))
TWINS(hipStreamGetPriority, (hipStream_t stream, int* priority),
      (*need(priority, "the priority pointer") = resolve_stream(stream, per_thread)->priority, hipSuccess), arg("stream", stream), out("priority", priority))
#undef TWINS

HIP_EXPORT hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  return call("hipStreamGetDevice", [&] { return *need(device, "the device pointer") = resolve_stream(stream)->device, hipSuccess; }, arg("stream", stream), out("device", device));
}
HIP_EXPORT hipError_t hipStreamGetId(hipStream_t stream, unsigned long long* id) {
  return call("hipStreamGetId", [&] { return *need(id, "the id pointer") = resolve_stream(stream)->id, hipSuccess; }, arg("stream", stream), out("id", id));
}
HIP_EXPORT int hipGetStreamDeviceId(hipStream_t stream) {
  int device = -1;
  call("hipGetStreamDeviceId", [&] { return device = resolve_stream(stream)->device, hipSuccess; }, arg("stream", stream));
  return device;
}

HIP_EXPORT hipError_t hipDeviceSynchronize() {
  return call("hipDeviceSynchronize", [&] {
    const int device = current_device();
    forbid_device_wait(device, "hipDeviceSynchronize");
    return synchronise_device(device), hipSuccess;
  });
}
HIP_EXPORT hipError_t hipCtxSynchronize() {
  return call("hipCtxSynchronize", [&] {
    const int device = current_device();
    forbid_device_wait(device, "hipCtxSynchronize");
    return synchronise_device(device), hipSuccess;
  });
}
