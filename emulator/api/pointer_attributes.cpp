// What HIP knows about a pointer.
#include "api/call.h"
#include "api/devices.h"
#include "api/host_memory.h"
#include "memory/memory.h"

using namespace gfx950::api;
using gfx950::Allocation;
using gfx950::Memory;
using gfx950::MemoryKind;

namespace {

constexpr int kNoDevice = -2;  // hipInvalidDeviceId

hipMemoryType type_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Device:
    case MemoryKind::Image: return hipMemoryTypeDevice;
    case MemoryKind::Managed: return hipMemoryTypeManaged;
    case MemoryKind::HostPinned:
    case MemoryKind::Registered: return hipMemoryTypeHost;
  }
  return hipMemoryTypeUnregistered;
}

hipPointerAttribute_t attributes_of(const void* pointer) {
  hipPointerAttribute_t a{};
  void* address = const_cast<void*>(pointer);
  if (const auto allocation = Memory::instance().find(pointer)) {
    a.type = type_of(allocation->kind);
    a.device = allocation->device;
    a.devicePointer = address;
    a.hostPointer = a.type == hipMemoryTypeDevice ? nullptr : address;
    a.isManaged = a.type == hipMemoryTypeManaged;
    a.allocationFlags = allocation->flags;
  } else if (Memory::instance().all_host_memory() && !in_device_space(pointer) && host_readable(pointer, 1)) {
    a.type = hipMemoryTypeHost;
    a.device = current_device();
    a.devicePointer = a.hostPointer = address;
  } else {
    a.type = hipMemoryTypeUnregistered;
    a.device = kNoDevice;
  }
  return a;
}

void write_attribute(void* data, int attribute, const void* pointer) {
  need(data, "the data pointer");
  const auto allocation = Memory::instance().find(pointer);
  const hipPointerAttribute_t a = attributes_of(pointer);
  if (a.type == hipMemoryTypeUnregistered) throw Failure(hipErrorInvalidValue, text(hex(pointer), " is no memory that HIP knows"));
  const uintptr_t base = allocation ? allocation->base : reinterpret_cast<uintptr_t>(pointer);
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_CONTEXT: *static_cast<hipCtx_t*>(data) = device(a.device).context; return;
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned*>(data) = static_cast<unsigned>(a.type); return;
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<void**>(data) = a.devicePointer; return;
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!a.hostPointer) throw Failure(hipErrorInvalidValue, text(hex(pointer), " is device memory without a host pointer"));
      *static_cast<void**>(data) = a.hostPointer;
      return;
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS: *static_cast<unsigned*>(data) = 0; return;
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<uint64_t*>(data) = allocation ? allocation->id : 0; return;
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned*>(data) = static_cast<unsigned>(a.isManaged); return;
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(data) = a.device; return;
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<uintptr_t*>(data) = base; return;
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<unsigned*>(data) = static_cast<unsigned>(allocation ? allocation->size : 0); return;
    case HIP_POINTER_ATTRIBUTE_MAPPED: *static_cast<unsigned*>(data) = 1; return;
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS: *static_cast<unsigned*>(data) = 3; return;
    default: throw Failure(hipErrorNotSupported, text("the gfx950 emulator does not know pointer attribute ", attribute));
  }
}

const Allocation live_allocation(const void* pointer) {
  const auto allocation = Memory::instance().find(pointer);
  if (!allocation) throw Failure(hipErrorNotFound, text(hex(pointer), " is ", Memory::instance().describe(reinterpret_cast<uintptr_t>(pointer))));
  return *allocation;
}

}  // namespace

HIP_EXPORT hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  return call("hipPointerGetAttributes", [&] { return *need(attributes, "the attributes pointer") = attributes_of(need(pointer, "the pointer")), hipSuccess; },
              arg("pointer", pointer));
}

HIP_EXPORT hipError_t hipPointerGetAttribute(void* data, int attribute, void* pointer) {
  return call("hipPointerGetAttribute", [&] { return write_attribute(data, attribute, need(pointer, "the pointer")), hipSuccess; },
              arg("attribute", attribute), arg("pointer", pointer));
}

HIP_EXPORT hipError_t hipDrvPointerGetAttributes(unsigned count, int* attributes, void** data, void* pointer) {
  return call("hipDrvPointerGetAttributes", [&] {
    for (unsigned i = 0; i < count; ++i) write_attribute(need(data, "the data list")[i], need(attributes, "the attribute list")[i], need(pointer, "the pointer"));
    return hipSuccess;
  }, arg("count", count), arg("pointer", pointer));
}

HIP_EXPORT hipError_t hipPointerSetAttribute(const void* value, int attribute, void* pointer) {
  return call("hipPointerSetAttribute", [&] {
    need(value, "the value pointer");
    live_allocation(need(pointer, "the pointer"));
    if (attribute != HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS) throw Failure(hipErrorInvalidValue, text("pointer attribute ", attribute, " cannot be set"));
    return hipSuccess;
  }, arg("attribute", attribute), arg("pointer", pointer));
}

HIP_EXPORT hipError_t hipMemGetAddressRange(void** base, size_t* size, void* pointer) {
  return call("hipMemGetAddressRange", [&] {
    const Allocation allocation = live_allocation(need(pointer, "the pointer"));
    if (base) *base = reinterpret_cast<void*>(allocation.base);
    if (size) *size = allocation.size;
    return hipSuccess;
  }, arg("pointer", pointer));
}

HIP_EXPORT hipError_t hipMemPtrGetInfo(void* pointer, size_t* size) {
  return call("hipMemPtrGetInfo", [&] { return *need(size, "the size pointer") = live_allocation(need(pointer, "the pointer")).size, hipSuccess; }, arg("pointer", pointer));
}
