// Contexts, the older face of devices: each device has one primary context, and its handle says which device is meant.
#include <map>

#include "api/call.h"
#include "api/streams.h"
#include "memory/memory.h"

namespace gfx950::api {
namespace {

struct Context {
  int device;
};
Registry<hipCtx_t, Context, Kind::Context>& contexts() {
  static auto* registry = new Registry<hipCtx_t, Context, Kind::Context>;
  return *registry;
}

thread_local std::vector<hipCtx_t> t_stack;

hipCtx_t primary(int ordinal) {
  Device& device = api::device(ordinal);
  std::lock_guard lock(device.order);
  if (!device.context) device.context = contexts().add(std::make_shared<Context>(Context{ordinal}));
  return device.context;
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipCtxCreate(hipCtx_t* context, unsigned flags, hipDevice_t ordinal) {
  return call("hipCtxCreate", [&] {
    *need(context, "the context pointer") = primary(ordinal);
    set_current_device(ordinal);
    return t_stack.push_back(*context), hipSuccess;
  }, out("context", context), arg("flags", flags), arg("device", ordinal));
}
HIP_EXPORT hipError_t hipCtxDestroy(hipCtx_t context) {
  return call("hipCtxDestroy", [&] {
    contexts().need(context);
    if (!t_stack.empty() && t_stack.back() == context) t_stack.pop_back();
    return hipSuccess;
  }, arg("context", context));
}
HIP_EXPORT hipError_t hipCtxPushCurrent(hipCtx_t context) {
  return call("hipCtxPushCurrent", [&] { return set_current_device(contexts().need(context)->device), t_stack.push_back(context), hipSuccess; }, arg("context", context));
}
HIP_EXPORT hipError_t hipCtxPopCurrent(hipCtx_t* context) {
  return call("hipCtxPopCurrent", [&] {
    if (t_stack.empty()) throw Failure(hipErrorInvalidContext, "no context was pushed in this thread");
    if (context) *context = t_stack.back();
    t_stack.pop_back();
    if (!t_stack.empty()) set_current_device(contexts().need(t_stack.back())->device);
    return hipSuccess;
  }, out("context", context));
}
HIP_EXPORT hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return call("hipCtxSetCurrent", [&] {
    if (!context) return t_stack.clear(), hipSuccess;
    set_current_device(contexts().need(context)->device);
    if (!t_stack.empty()) t_stack.pop_back();
    return t_stack.push_back(context), hipSuccess;
  }, arg("context", context));
}
HIP_EXPORT hipError_t hipCtxGetCurrent(hipCtx_t* context) {
  return call("hipCtxGetCurrent", [&] { return *need(context, "the context pointer") = primary(current_device()), hipSuccess; }, out("context", context));
}
HIP_EXPORT hipError_t hipCtxGetDevice(hipDevice_t* ordinal) {
  return call("hipCtxGetDevice", [&] { return *need(ordinal, "the device pointer") = current_device(), hipSuccess; }, out("device", ordinal));
}
HIP_EXPORT hipError_t hipCtxGetApiVersion(hipCtx_t context, unsigned* version) {
  return call("hipCtxGetApiVersion", [&] {
    if (context) contexts().need(context);
    return *need(version, "the version pointer") = 4, hipSuccess;
  }, arg("context", context));
}
HIP_EXPORT hipError_t hipCtxGetFlags(unsigned* flags) {
  return call("hipCtxGetFlags", [&] { return *need(flags, "the flags pointer") = current().flags, hipSuccess; }, out("flags", flags));
}
HIP_EXPORT hipError_t hipCtxGetCacheConfig(int* config) {
  return call("hipCtxGetCacheConfig", [&] { return *need(config, "the pointer") = current().cache_config, hipSuccess; }, out("config", config));
}
HIP_EXPORT hipError_t hipCtxSetCacheConfig(int config) {
  return call("hipCtxSetCacheConfig", [&] { return current().cache_config = config, hipSuccess; }, arg("config", config));
}
HIP_EXPORT hipError_t hipCtxGetSharedMemConfig(int* config) {
  return call("hipCtxGetSharedMemConfig", [&] { return *need(config, "the pointer") = current().shared_config, hipSuccess; }, out("config", config));
}
HIP_EXPORT hipError_t hipCtxSetSharedMemConfig(int config) {
  return call("hipCtxSetSharedMemConfig", [&] { return current().shared_config = config, hipSuccess; }, arg("config", config));
}

HIP_EXPORT hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t ordinal) {
  return call("hipDevicePrimaryCtxRetain", [&] {
    *need(context, "the context pointer") = primary(ordinal);
    std::lock_guard lock(device(ordinal).order);
    return ++device(ordinal).context_references, hipSuccess;
  }, out("context", context), arg("device", ordinal));
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxRelease(hipDevice_t ordinal) {
  return call("hipDevicePrimaryCtxRelease", [&] {
    std::lock_guard lock(device(ordinal).order);
    if (device(ordinal).context_references == 0) throw Failure(hipErrorInvalidContext, text("the primary context of device ", ordinal, " is not retained"));
    return --device(ordinal).context_references, hipSuccess;
  }, arg("device", ordinal));
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxGetState(hipDevice_t ordinal, unsigned* flags, int* active) {
  return call("hipDevicePrimaryCtxGetState", [&] {
    *need(flags, "the flags pointer") = device(ordinal).flags;
    return *need(active, "the active pointer") = device(ordinal).context_references > 0 || ordinal == current_device(), hipSuccess;
  }, arg("device", ordinal));
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t ordinal, unsigned flags) {
  return call("hipDevicePrimaryCtxSetFlags", [&] { return device(ordinal).flags = flags, hipSuccess; }, arg("device", ordinal), arg("flags", flags));
}

// ---- peers: every device reaches every other's memory; the enabling calls keep their books as HIP's do ----

HIP_EXPORT hipError_t hipDeviceCanAccessPeer(int* can, int from, int to) {
  return call("hipDeviceCanAccessPeer", [&] { return device(from), device(to), *need(can, "the answer pointer") = from != to, hipSuccess; }, arg("from", from), arg("to", to));
}

namespace {
hipError_t enable_peer(int peer, unsigned flags) {
  if (flags) throw Failure(hipErrorInvalidValue, text("flags is ", flags, ", not 0"));
  Device& mine = current();
  if (device(peer).ordinal == mine.ordinal) throw Failure(hipErrorInvalidDevice, "a device is no peer of itself");
  std::lock_guard lock(mine.order);
  if (!mine.peers.insert(peer).second) throw Failure(hipErrorPeerAccessAlreadyEnabled, text("device ", mine.ordinal, " has access to device ", peer, " already"));
  return hipSuccess;
}
hipError_t disable_peer(int peer) {
  Device& mine = current();
  device(peer);
  std::lock_guard lock(mine.order);
  if (!mine.peers.erase(peer)) throw Failure(hipErrorPeerAccessNotEnabled, text("device ", mine.ordinal, " was never given access to device ", peer));
  return hipSuccess;
}
}  // namespace

HIP_EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call("hipDeviceEnablePeerAccess", [&] { return enable_peer(peer, flags); }, arg("peer", peer), arg("flags", flags));
}
HIP_EXPORT hipError_t hipDeviceDisablePeerAccess(int peer) {
  return call("hipDeviceDisablePeerAccess", [&] { return disable_peer(peer); }, arg("peer", peer));
}
HIP_EXPORT hipError_t hipCtxEnablePeerAccess(hipCtx_t peer, unsigned flags) {
  return call("hipCtxEnablePeerAccess", [&] { return enable_peer(contexts().need(peer)->device, flags); }, arg("peer", peer), arg("flags", flags));
}
HIP_EXPORT hipError_t hipCtxDisablePeerAccess(hipCtx_t peer) {
  return call("hipCtxDisablePeerAccess", [&] { return disable_peer(contexts().need(peer)->device); }, arg("peer", peer));
}
HIP_EXPORT hipError_t hipDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
  return call("hipDeviceGetP2PAttribute", [&] {
    if (device(from).ordinal == device(to).ordinal) throw Failure(hipErrorInvalidDevice, "a device is no peer of itself");
    if (attribute < 0 || attribute > 3) throw Failure(hipErrorInvalidValue, text("peer attribute ", attribute, " does not exist (0 to 3)"));
    return *need(value, "the value pointer") = attribute == 0 ? 0 : attribute != 3, hipSuccess;
  }, arg("attribute", attribute), arg("from", from), arg("to", to));
}
HIP_EXPORT hipError_t hipExtGetLinkTypeAndHopCount(int from, int to, uint32_t* type, uint32_t* hops) {
  return call("hipExtGetLinkTypeAndHopCount", [&] {
    if (device(from).ordinal == device(to).ordinal) throw Failure(hipErrorInvalidValue, "a device has no link to itself");
    *need(type, "the type pointer") = 4;  // XGMI
    return *need(hops, "the hop count pointer") = 1, hipSuccess;
  }, arg("from", from), arg("to", to));
}
