// Allocating and freeing: device, managed, pinned and registered host memory.
#include "api/allocation.h"
#include "api/call.h"
#include "api/capture.h"
#include "api/host_memory.h"

namespace gfx950::api {

void* allocate(size_t size, MemoryKind kind, int device, unsigned flags) {
  if (!size) return nullptr;
  Memory& memory = Memory::instance();
  if (kind == MemoryKind::Device && size > kDeviceMemory - std::min(kDeviceMemory, memory.live_bytes(device)))
    throw Failure(hipErrorOutOfMemory, text(size, " bytes do not fit: device ", device, " has ", kDeviceMemory, " bytes, ", memory.live_bytes(device), " in use"));
  std::string error;
  void* pointer = memory.allocate(size, kind, device, error, flags);
  if (!pointer) throw Failure(hipErrorOutOfMemory, error);
  return pointer;
}

void free_memory(void* pointer) {
  std::string error;
  if (!Memory::instance().free(pointer, error)) throw Failure(hipErrorInvalidValue, error);
}

namespace {

hipError_t allocate_call(const char* name, void** where, size_t size, MemoryKind kind, unsigned flags = 0, unsigned known_flags = 0) {
  need(where, "the pointer to the result");
  if (flags & ~known_flags) throw Failure(hipErrorInvalidValue, text("flags ", hex(uint64_t{flags}), " are not known"));
  const int device = current_device();
  forbid_while_capturing(name);
  *where = allocate(size, kind, device, flags);
  return hipSuccess;
}

// Frees wait for all work of the device first, as HIP's do.
hipError_t free_call(const char* name, void* pointer, bool host) {
  const int current = current_device();
  if (!pointer) return hipSuccess;
  forbid_while_capturing(name);
  const auto allocation = Memory::instance().find(pointer);
  if (allocation && allocation->base == reinterpret_cast<uintptr_t>(pointer)) {
    const bool is_host = allocation->kind == MemoryKind::HostPinned;
    if (allocation->kind == MemoryKind::Registered || allocation->kind == MemoryKind::Image || is_host != host)
      throw Failure(hipErrorInvalidValue, text(hex(pointer), " is a ", name_of(allocation->kind), " allocation; ", name, " does not free it"));
    wait_for_device(allocation->device < device_count() ? allocation->device : current);
  }
  free_memory(pointer);
  return hipSuccess;
}

constexpr unsigned kHostFlags = 0xf | 0x20000000 | 0x40000000 | 0x80000000;

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;
using gfx950::Memory;
using gfx950::MemoryKind;

HIP_EXPORT hipError_t hipMalloc(void** pointer, size_t size) {
  return call("hipMalloc", [&] { return allocate_call("hipMalloc", pointer, size, MemoryKind::Device); }, out("pointer", pointer), arg("size", size));
}

HIP_EXPORT hipError_t hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags) {
  return call("hipExtMallocWithFlags", [&] { return allocate_call("hipExtMallocWithFlags", pointer, size, MemoryKind::Device, flags, 7); },
              out("pointer", pointer), arg("size", size), arg("flags", flags));
}

HIP_EXPORT hipError_t hipMallocManaged(void** pointer, size_t size, unsigned flags) {
  return call("hipMallocManaged", [&] {
    if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) throw Failure(hipErrorInvalidValue, text("flags ", flags, ": hipMemAttachGlobal (1) and hipMemAttachHost (2) exist"));
    return allocate_call("hipMallocManaged", pointer, size, MemoryKind::Managed, flags, 7);
  }, out("pointer", pointer), arg("size", size), arg("flags", flags));
}

HIP_EXPORT hipError_t hipFree(void* pointer) {
  return call("hipFree", [&] { return free_call("hipFree", pointer, false); }, arg("pointer", pointer));
}

#define HOST_ALLOCATION(NAME)                                                                                                              \
  HIP_EXPORT hipError_t NAME(void** pointer, size_t size, unsigned flags) {                                                                \
    return call(#NAME, [&] { return allocate_call(#NAME, pointer, size, MemoryKind::HostPinned, flags, kHostFlags); },                     \
                out("pointer", pointer), arg("size", size), arg("flags", flags));                                                          \
  }
HOST_ALLOCATION(hipHostMalloc)
HOST_ALLOCATION(hipHostAlloc)
HOST_ALLOCATION(hipExtHostAlloc)
#undef HOST_ALLOCATION

HIP_EXPORT hipError_t hipMallocHost(void** pointer, size_t size) {
  return call("hipMallocHost", [&] { return allocate_call("hipMallocHost", pointer, size, MemoryKind::HostPinned); }, out("pointer", pointer), arg("size", size));
}
HIP_EXPORT hipError_t hipMemAllocHost(void** pointer, size_t size) {
  return call("hipMemAllocHost", [&] { return allocate_call("hipMemAllocHost", pointer, size, MemoryKind::HostPinned); }, out("pointer", pointer), arg("size", size));
}

HIP_EXPORT hipError_t hipHostFree(void* pointer) {
  return call("hipHostFree", [&] { return free_call("hipHostFree", pointer, true); }, arg("pointer", pointer));
}
HIP_EXPORT hipError_t hipFreeHost(void* pointer) {
  return call("hipFreeHost", [&] { return free_call("hipFreeHost", pointer, true); }, arg("pointer", pointer));
}

HIP_EXPORT hipError_t hipHostRegister(void* pointer, size_t size, unsigned flags) {
  return call("hipHostRegister", [&] {
    need(pointer, "the host pointer");
    if (!size) throw Failure(hipErrorInvalidValue, "the size is 0");
    if (flags & ~0x1fu) throw Failure(hipErrorInvalidValue, text("flags ", flags, " are not known"));
    const int device = current_device();
    forbid_while_capturing("hipHostRegister");
    if (auto allocation = Memory::instance().find(pointer))
      throw Failure(hipErrorHostMemoryAlreadyRegistered, text(hex(pointer), " lies in a ", name_of(allocation->kind), " allocation at ", hex(allocation->base)));
    if (!host_readable(pointer, size)) throw Failure(hipErrorInvalidValue, text(hex(pointer), ": its ", size, " bytes are not all mapped"));
    std::string error;
    if (!Memory::instance().register_host(pointer, size, device, error, flags)) throw Failure(hipErrorHostMemoryAlreadyRegistered, error);
    return hipSuccess;
  }, arg("pointer", pointer), arg("size", size), arg("flags", flags));
}

HIP_EXPORT hipError_t hipHostUnregister(void* pointer) {
  return call("hipHostUnregister", [&] {
    need(pointer, "the host pointer");
    forbid_while_capturing("hipHostUnregister");
    const auto allocation = Memory::instance().find(pointer);
    if (!allocation || allocation->kind != MemoryKind::Registered) throw Failure(hipErrorHostMemoryNotRegistered, text(hex(pointer), " is not registered"));
    wait_for_device(allocation->device);
    std::string error;
    if (!Memory::instance().unregister_host(pointer, error)) throw Failure(hipErrorHostMemoryNotRegistered, error);
    return hipSuccess;
  }, arg("pointer", pointer));
}

HIP_EXPORT hipError_t hipHostGetDevicePointer(void** device_pointer, void* pointer, unsigned flags) {
  return call("hipHostGetDevicePointer", [&] {
    need(device_pointer, "the pointer to the result");
    if (flags) throw Failure(hipErrorInvalidValue, text("flags is ", flags, ", not 0"));
    const auto allocation = Memory::instance().find(need(pointer, "the host pointer"));
    const bool host = allocation && allocation->kind != MemoryKind::Device && allocation->kind != MemoryKind::Image;
    if (!host && !(Memory::instance().all_host_memory() && !allocation))
      throw Failure(hipErrorInvalidValue, text(hex(pointer), " is neither pinned nor registered host memory"));
    return *device_pointer = pointer, hipSuccess;
  }, out("device_pointer", device_pointer), arg("pointer", pointer));
}

HIP_EXPORT hipError_t hipHostGetFlags(unsigned* flags, void* pointer) {
  return call("hipHostGetFlags", [&] {
    const auto allocation = Memory::instance().find(need(pointer, "the host pointer"));
    if (!allocation || (allocation->kind != MemoryKind::HostPinned && allocation->kind != MemoryKind::Registered))
      throw Failure(hipErrorInvalidValue, text(hex(pointer), " is neither pinned nor registered host memory"));
    return *need(flags, "the flags pointer") = allocation->flags, hipSuccess;
  }, out("flags", flags), arg("pointer", pointer));
}

namespace {
constexpr size_t kPitch = 256;
hipError_t pitched(const char* name, void** pointer, size_t* pitch, size_t width, size_t rows) {
  need(pitch, "the pitch pointer");
  if (width > kDeviceMemory || (rows && width > kDeviceMemory / rows)) throw Failure(hipErrorOutOfMemory, text(width, " x ", rows, " bytes do not fit"));
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return allocate_call(name, pointer, *pitch * rows, MemoryKind::Device);
}
}  // namespace

HIP_EXPORT hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return call("hipMallocPitch", [&] { return pitched("hipMallocPitch", pointer, pitch, width, height); }, out("pointer", pointer), arg("width", width), arg("height", height));
}

HIP_EXPORT hipError_t hipMemAllocPitch(void** pointer, size_t* pitch, size_t width, size_t height, unsigned element) {
  return call("hipMemAllocPitch", [&] {
    if (element != 4 && element != 8 && element != 16) throw Failure(hipErrorInvalidValue, text("an element of ", element, " bytes: 4, 8 and 16 exist"));
    return pitched("hipMemAllocPitch", pointer, pitch, width, height);
  }, out("pointer", pointer), arg("width", width), arg("height", height));
}

HIP_EXPORT hipError_t hipMalloc3D(hipPitchedPtr* result, hipExtent extent) {
  return call("hipMalloc3D", [&] {
    need(result, "the pointer to the result");
    if (extent.height && extent.depth > kDeviceMemory / extent.height) throw Failure(hipErrorOutOfMemory, "the extent does not fit");
    pitched("hipMalloc3D", &result->ptr, &result->pitch, extent.width, extent.height * extent.depth);
    result->xsize = extent.width;
    result->ysize = extent.height;
    return hipSuccess;
  }, arg("width", extent.width), arg("height", extent.height), arg("depth", extent.depth));
}
