#include "api/devices.h"

#include <cstdio>
#include <cstring>

#include "api/call.h"
#include "api/streams.h"
#include "memory/memory.h"

namespace gfx950::api {
namespace {

thread_local int t_device = 0;

std::vector<std::unique_ptr<Device>>& table() {
  static auto* devices = [] {
    auto* made = new std::vector<std::unique_ptr<Device>>;
    for (int physical : environment().visible) {
      auto device = std::make_unique<Device>();
      device->ordinal = static_cast<int>(made->size());
      device->physical = physical;
      made->push_back(std::move(device));
    }
    return made;
  }();
  return *devices;
}

void bus_id(char* where, size_t length, const Device& device) { std::snprintf(where, length, "0000:%02x:00.0", 5 + 16 * (device.physical % 15)); }

}  // namespace

int device_count() { return static_cast<int>(table().size()); }

Device& device(int ordinal) {
  if (table().empty()) throw Failure(hipErrorNoDevice, "there is no device (GFX950_EMU_DEVICES, HIP_VISIBLE_DEVICES)");
  if (ordinal < 0 || ordinal >= device_count())
    throw Failure(hipErrorInvalidDevice, text("device ", ordinal, " does not exist: there ", device_count() == 1 ? "is 1 device" : text("are ", device_count(), " devices"),
                                              ", counted from 0 (GFX950_EMU_DEVICES sets how many)"));
  return *table()[static_cast<size_t>(ordinal)];
}

int current_device() { return device(t_device).ordinal; }
void set_current_device(int ordinal) { t_device = device(ordinal).ordinal; }
Device& current() { return device(t_device); }

}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipInit(unsigned flags) {
  return call("hipInit", [&] {
    if (flags) throw Failure(hipErrorInvalidValue, text("flags is ", flags, ", not 0"));
    return hipSuccess;
  }, arg("flags", flags));
}

HIP_EXPORT hipError_t hipRuntimeGetVersion(int* version) {
  return call("hipRuntimeGetVersion", [&] { return *need(version, "the version pointer") = kRuntimeVersion, hipSuccess; }, out("version", version));
}

HIP_EXPORT hipError_t hipDriverGetVersion(int* version) {
  return call("hipDriverGetVersion", [&] { return *need(version, "the version pointer") = kRuntimeVersion, hipSuccess; }, out("version", version));
}

HIP_EXPORT hipError_t hipGetDeviceCount(int* count) {
  return call("hipGetDeviceCount", [&] {
    *need(count, "the count pointer") = device_count();
    if (device_count() == 0) throw Failure(hipErrorNoDevice, "there is no device (GFX950_EMU_DEVICES, HIP_VISIBLE_DEVICES)");
    return hipSuccess;
  }, out("count", count));
}

HIP_EXPORT hipError_t hipGetDevice(int* ordinal) {
  return call("hipGetDevice", [&] { return *need(ordinal, "the device pointer") = current_device(), hipSuccess; }, out("device", ordinal));
}

HIP_EXPORT hipError_t hipSetDevice(int ordinal) {
  return call("hipSetDevice", [&] { return set_current_device(ordinal), hipSuccess; }, arg("device", ordinal));
}

HIP_EXPORT hipError_t hipSetValidDevices(int* ordinals, int count) {
  return call("hipSetValidDevices", [&] {
    for (int i = 0; i < count; ++i) device(need(ordinals, "the list")[i]);
    return hipSuccess;
  }, arg("count", count));
}

HIP_EXPORT hipError_t hipDeviceGet(hipDevice_t* handle, int ordinal) {
  return call("hipDeviceGet", [&] { return *need(handle, "the device pointer") = device(ordinal).ordinal, hipSuccess; }, out("device", handle), arg("ordinal", ordinal));
}

HIP_EXPORT hipError_t hipDeviceGetName(char* name, int length, hipDevice_t ordinal) {
  return call("hipDeviceGetName", [&] {
    device(ordinal);
    if (length <= 0) throw Failure(hipErrorInvalidValue, text("the length is ", length));
    std::snprintf(need(name, "the name"), static_cast<size_t>(length), "AMD Instinct MI355X");
    return hipSuccess;
  }, arg("device", ordinal));
}

HIP_EXPORT hipError_t hipDeviceGetUuid(char* uuid, hipDevice_t ordinal) {
  return call("hipDeviceGetUuid", [&] {
    char id[17];
    std::snprintf(id, sizeof id, "9509500000000%03d", device(ordinal).physical);
    std::memcpy(need(uuid, "the uuid"), id, 16);
    return hipSuccess;
  }, arg("device", ordinal));
}

HIP_EXPORT hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t ordinal) {
  return call("hipDeviceComputeCapability", [&] {
    device(ordinal);
    *need(major, "the major pointer") = 9;
    *need(minor, "the minor pointer") = 5;
    return hipSuccess;
  }, arg("device", ordinal));
}

HIP_EXPORT hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t ordinal) {
  return call("hipDeviceTotalMem", [&] { return device(ordinal), *need(bytes, "the size pointer") = kDeviceMemory, hipSuccess; }, arg("device", ordinal));
}

HIP_EXPORT hipError_t hipDeviceGetPCIBusId(char* id, int length, int ordinal) {
  return call("hipDeviceGetPCIBusId", [&] {
    if (length < 13) throw Failure(hipErrorInvalidValue, text("a length of ", length, " does not hold a bus id of 12 characters and its end"));
    bus_id(need(id, "the bus id"), static_cast<size_t>(length), device(ordinal));
    return hipSuccess;
  }, arg("device", ordinal));
}

HIP_EXPORT hipError_t hipDeviceGetByPCIBusId(int* ordinal, const char* id) {
  return call("hipDeviceGetByPCIBusId", [&] {
    need(ordinal, "the device pointer");
    for (int i = 0; i < device_count(); ++i) {
      char mine[16];
      bus_id(mine, sizeof mine, device(i));
      if (strcasecmp(mine, need(id, "the bus id")) == 0) return *ordinal = i, hipSuccess;
    }
    throw Failure(hipErrorInvalidValue, text("no device has the bus id ", id));
  }, arg("id", id));
}

HIP_EXPORT hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return call("hipMemGetInfo", [&] {
    const size_t live = gfx950::Memory::instance().live_bytes(current_device());
    *need(total_bytes, "the total pointer") = kDeviceMemory;
    *need(free_bytes, "the free pointer") = kDeviceMemory - std::min(live, kDeviceMemory);
    return hipSuccess;
  }, out("free", free_bytes), out("total", total_bytes));
}

HIP_EXPORT hipError_t hipGetDeviceFlags(unsigned* flags) {
  return call("hipGetDeviceFlags", [&] { return *need(flags, "the flags pointer") = current().flags, hipSuccess; }, out("flags", flags));
}

HIP_EXPORT hipError_t hipSetDeviceFlags(unsigned flags) {
  return call("hipSetDeviceFlags", [&] {
    if (flags & ~0x1fu) throw Failure(hipErrorInvalidValue, text("flags ", flags, " are not known"));
    current().flags = flags;
    return hipSuccess;
  }, arg("flags", flags));
}

HIP_EXPORT hipError_t hipDeviceSetCacheConfig(int config) {
  return call("hipDeviceSetCacheConfig", [&] { return current().cache_config = config, hipSuccess; }, arg("config", config));
}
HIP_EXPORT hipError_t hipDeviceGetCacheConfig(int* config) {
  return call("hipDeviceGetCacheConfig", [&] { return *need(config, "the pointer") = current().cache_config, hipSuccess; }, out("config", config));
}
HIP_EXPORT hipError_t hipDeviceSetSharedMemConfig(int config) {
  return call("hipDeviceSetSharedMemConfig", [&] { return current().shared_config = config, hipSuccess; }, arg("config", config));
}
HIP_EXPORT hipError_t hipDeviceGetSharedMemConfig(int* config) {
  return call("hipDeviceGetSharedMemConfig", [&] { return *need(config, "the pointer") = current().shared_config, hipSuccess; }, out("config", config));
}

HIP_EXPORT hipError_t hipDeviceGetLimit(size_t* value, int limit) {
  return call("hipDeviceGetLimit", [&] {
    if (limit < 0 || limit > 2) throw Failure(hipErrorUnsupportedLimit, text("limit ", limit, " is not one of stack (0), printf buffer (1), heap (2)"));
    return *need(value, "the value pointer") = current().limits[limit], hipSuccess;
  }, arg("limit", limit), out("value", value));
}

HIP_EXPORT hipError_t hipDeviceSetLimit(int limit, size_t value) {
  return call("hipDeviceSetLimit", [&] {
    if (limit < 0 || limit > 2) throw Failure(hipErrorUnsupportedLimit, text("limit ", limit, " is not one of stack (0), printf buffer (1), heap (2)"));
    return current().limits[limit] = value, hipSuccess;
  }, arg("limit", limit), arg("value", value));
}
