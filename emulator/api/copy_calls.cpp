// hipMemcpy and its family. Pageable host memory makes a copy wait for its end; so does every call without "Async" in its name, except
// from device to device.
#include "api/call.h"
#include "api/capture.h"
#include "api/copy.h"

namespace gfx950::api {
namespace {

enum class Wait { ForEnd, OnlyPageable };

hipError_t copy_now(const char* name, const Copy& copy, hipStream_t stream_handle, Wait wait, bool per_thread = false) {
  auto stream = resolve_stream(stream_handle, per_thread);
  if (copy.box.empty()) return hipSuccess;
  const CopyPlaces places = validate(copy);
  auto work = std::make_shared<CopyWork>(copy);
  if (wait == Wait::OnlyPageable) {
    const bool recorded = capturing(*stream) != nullptr;
    issue(*stream, work, name);
    if (!recorded && !places.asynchronous()) synchronise(*stream);
    return hipSuccess;
  }
  forbid_implicit_dependency(*stream, name);
  forbid_wait(*stream, name);
  enqueue(*stream, work);
  if (!places.device_to_device()) synchronise(*stream);
  return hipSuccess;
}

Copy box_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, hipMemcpyKind kind) {
  Copy copy = linear(to, from, width, kind);
  copy.to.pitch = to_pitch;
  copy.from.pitch = from_pitch;
  copy.box.height = height;
  return copy;
}

Side driver_side(hipMemoryType type, const void* host, void* device, void* array, size_t pitch, size_t rows, size_t x, size_t y, size_t z, size_t width) {
  if (type == hipMemoryTypeArray || array) throw Failure(hipErrorNotSupported, "the gfx950 emulator has no arrays (images): pass pointers");
  Side side;
  side.pitch = pitch ? pitch : width;
  side.slice = side.pitch * rows;
  side.base = static_cast<char*>(type == hipMemoryTypeHost ? const_cast<void*>(host) : device) + z * side.slice + y * side.pitch + x;
  return side;
}

Copy from_driver(const hip_Memcpy2D& p) {
  Copy copy;
  copy.to = driver_side(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstPitch, 0, p.dstXInBytes, p.dstY, 0, p.WidthInBytes);
  copy.from = driver_side(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcPitch, 0, p.srcXInBytes, p.srcY, 0, p.WidthInBytes);
  copy.box = {p.WidthInBytes, p.Height, 1};
  return copy;
}

Copy from_driver(const HIP_MEMCPY3D& p) {
  Copy copy;
  copy.to = driver_side(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstPitch, p.dstHeight, p.dstXInBytes, p.dstY, p.dstZ, p.WidthInBytes);
  copy.from = driver_side(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcPitch, p.srcHeight, p.srcXInBytes, p.srcY, p.srcZ, p.WidthInBytes);
  copy.box = {p.WidthInBytes, p.Height, p.Depth};
  return copy;
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

#define COPY_ARGUMENTS arg("to", to), arg("from", from), arg("bytes", bytes)

HIP_EXPORT hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return call("hipMemcpy", [&] { return copy_now("hipMemcpy", linear(to, from, bytes, kind), nullptr, Wait::ForEnd); }, COPY_ARGUMENTS, arg("kind", kind));
}
HIP_EXPORT hipError_t hipMemcpy_spt(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return call("hipMemcpy_spt", [&] { return copy_now("hipMemcpy_spt", linear(to, from, bytes, kind), nullptr, Wait::ForEnd, true); }, COPY_ARGUMENTS, arg("kind", kind));
}
HIP_EXPORT hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return call("hipMemcpyWithStream", [&] { return copy_now("hipMemcpyWithStream", linear(to, from, bytes, kind), stream, Wait::ForEnd); },
              COPY_ARGUMENTS, arg("kind", kind), arg("stream", stream));
}
HIP_EXPORT hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return call("hipMemcpyAsync", [&] { return copy_now("hipMemcpyAsync", linear(to, from, bytes, kind), stream, Wait::OnlyPageable); },
              COPY_ARGUMENTS, arg("kind", kind), arg("stream", stream));
}
HIP_EXPORT hipError_t hipMemcpyAsync_spt(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return call("hipMemcpyAsync_spt", [&] { return copy_now("hipMemcpyAsync_spt", linear(to, from, bytes, kind), stream, Wait::OnlyPageable, true); },
              COPY_ARGUMENTS, arg("kind", kind), arg("stream", stream));
}

#define DIRECTED(NAME, FROM_TYPE, KIND)                                                                                                    \
  HIP_EXPORT hipError_t NAME(void* to, FROM_TYPE from, size_t bytes) {                                                                     \
    return call(#NAME, [&] { return copy_now(#NAME, linear(to, from, bytes, KIND), nullptr, Wait::ForEnd); }, COPY_ARGUMENTS);             \
  }                                                                                                                                        \
  HIP_EXPORT hipError_t NAME##Async(void* to, FROM_TYPE from, size_t bytes, hipStream_t stream) {                                          \
    return call(#NAME "Async", [&] { return copy_now(#NAME "Async", linear(to, from, bytes, KIND), stream, Wait::OnlyPageable); },         \
                COPY_ARGUMENTS, arg("stream", stream));                                                                                    \
  }
DIRECTED(hipMemcpyHtoD, const void*, hipMemcpyHostToDevice)
DIRECTED(hipMemcpyDtoH, void*, hipMemcpyDeviceToHost)
DIRECTED(hipMemcpyDtoD, void*, hipMemcpyDeviceToDevice)
#undef DIRECTED

HIP_EXPORT hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return call("hipMemcpyPeer", [&] {
    device(to_device), device(from_device);
    return copy_now("hipMemcpyPeer", linear(to, from, bytes, hipMemcpyDeviceToDevice), nullptr, Wait::ForEnd);
  }, COPY_ARGUMENTS, arg("to_device", to_device), arg("from_device", from_device));
}
HIP_EXPORT hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, hipStream_t stream) {
  return call("hipMemcpyPeerAsync", [&] {
    device(to_device), device(from_device);
    return copy_now("hipMemcpyPeerAsync", linear(to, from, bytes, hipMemcpyDeviceToDevice), stream, Wait::OnlyPageable);
  }, COPY_ARGUMENTS, arg("to_device", to_device), arg("from_device", from_device), arg("stream", stream));
}

#define COPY_2D(NAME, PER_THREAD)                                                                                                          \
  HIP_EXPORT hipError_t NAME(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, hipMemcpyKind kind) { \
    return call(#NAME, [&] { return copy_now(#NAME, box_2d(to, to_pitch, from, from_pitch, width, height, kind), nullptr, Wait::ForEnd, PER_THREAD); }, \
                arg("to", to), arg("from", from), arg("width", width), arg("height", height), arg("kind", kind));                         \
  }
COPY_2D(hipMemcpy2D, false)
COPY_2D(hipMemcpy2D_spt, true)
#undef COPY_2D
#define COPY_2D(NAME, PER_THREAD)                                                                                                          \
  HIP_EXPORT hipError_t NAME(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, hipMemcpyKind kind, \
                             hipStream_t stream) {                                                                                         \
    return call(#NAME, [&] { return copy_now(#NAME, box_2d(to, to_pitch, from, from_pitch, width, height, kind), stream, Wait::OnlyPageable, PER_THREAD); }, \
                arg("to", to), arg("from", from), arg("width", width), arg("height", height), arg("kind", kind), arg("stream", stream));  \
  }
COPY_2D(hipMemcpy2DAsync, false)
COPY_2D(hipMemcpy2DAsync_spt, true)
#undef COPY_2D

#define STRUCTURED(NAME, STRUCT, READ, PER_THREAD)                                                                                         \
  HIP_EXPORT hipError_t NAME(const STRUCT* parameters) {                                                                                   \
    return call(#NAME, [&] { return copy_now(#NAME, READ(*need(parameters, "the parameters")), nullptr, Wait::ForEnd, PER_THREAD); });     \
  }
STRUCTURED(hipMemcpyParam2D, hip_Memcpy2D, from_driver, false)
STRUCTURED(hipDrvMemcpy2DUnaligned, hip_Memcpy2D, from_driver, false)
STRUCTURED(hipMemcpy3D, hipMemcpy3DParms, from_3d, false)
STRUCTURED(hipMemcpy3D_spt, hipMemcpy3DParms, from_3d, true)
STRUCTURED(hipDrvMemcpy3D, HIP_MEMCPY3D, from_driver, false)
#undef STRUCTURED
#define STRUCTURED(NAME, STRUCT, READ, PER_THREAD)                                                                                         \
  HIP_EXPORT hipError_t NAME(const STRUCT* parameters, hipStream_t stream) {                                                               \
    return call(#NAME, [&] { return copy_now(#NAME, READ(*need(parameters, "the parameters")), stream, Wait::OnlyPageable, PER_THREAD); }, \
                arg("stream", stream));                                                                                                    \
  }
STRUCTURED(hipMemcpyParam2DAsync, hip_Memcpy2D, from_driver, false)
STRUCTURED(hipMemcpy3DAsync, hipMemcpy3DParms, from_3d, false)
STRUCTURED(hipMemcpy3DAsync_spt, hipMemcpy3DParms, from_3d, true)
STRUCTURED(hipDrvMemcpy3DAsync, HIP_MEMCPY3D, from_driver, false)
#undef STRUCTURED
