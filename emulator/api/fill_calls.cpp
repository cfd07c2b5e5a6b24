// hipMemset and its family. A fill of device memory does not make the host wait; one of host memory does, unless its name says Async.
#include "api/call.h"
#include "api/capture.h"
#include "api/copy.h"

namespace gfx950::api {
namespace {

hipError_t fill_now(const char* name, const Fill& fill, hipStream_t stream_handle, bool asynchronous, bool per_thread = false) {
  auto stream = resolve_stream(stream_handle, per_thread);
  if (fill.box.empty()) return hipSuccess;
  const Place place = validate(fill);
  auto work = std::make_shared<FillWork>(fill);
  if (asynchronous) return issue(*stream, work, name), hipSuccess;
  forbid_implicit_dependency(*stream, name);
  forbid_wait(*stream, name);
  enqueue(*stream, work);
  if (place != Place::Device) synchronise(*stream);
  return hipSuccess;
}

Fill rows_of(void* to, size_t pitch, uint32_t value, unsigned element, size_t width, size_t height = 1) {
  if (width > SIZE_MAX / element) throw Failure(hipErrorInvalidValue, text(width, " elements do not fit in memory"));
  Fill fill;
  fill.to.base = static_cast<char*>(to);
  fill.to.pitch = pitch;
  fill.box = {width * element, height, 1};
  fill.value = value;
  fill.element = element;
  return fill;
}

Fill box_of(const hipPitchedPtr& to, int value, const hipExtent& extent) {
  Fill fill = rows_of(to.ptr, to.pitch, static_cast<uint32_t>(value), 1, extent.width, extent.height);
  fill.to.slice = to.pitch * to.ysize;
  fill.box.depth = extent.depth;
  return fill;
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

#define LINEAR(NAME, ASYNC_NAME, TYPE, ELEMENT)                                                                                            \
  HIP_EXPORT hipError_t NAME(void* to, TYPE value, size_t count) {                                                                         \
    return call(#NAME, [&] { return fill_now(#NAME, rows_of(to, 0, static_cast<uint32_t>(value), ELEMENT, count), nullptr, false); },     \
                arg("to", to), arg("value", +value), arg("count", count));                                                                 \
  }                                                                                                                                        \
  HIP_EXPORT hipError_t ASYNC_NAME(void* to, TYPE value, size_t count, hipStream_t stream) {                                               \
    return call(#ASYNC_NAME, [&] { return fill_now(#ASYNC_NAME, rows_of(to, 0, static_cast<uint32_t>(value), ELEMENT, count), stream, true); }, \
                arg("to", to), arg("value", +value), arg("count", count), arg("stream", stream));                                         \
  }
LINEAR(hipMemset, hipMemsetAsync, int, 1)
LINEAR(hipMemsetD8, hipMemsetD8Async, unsigned char, 1)
LINEAR(hipMemsetD16, hipMemsetD16Async, unsigned short, 2)
LINEAR(hipMemsetD32, hipMemsetD32Async, int, 4)
#undef LINEAR

HIP_EXPORT hipError_t hipMemset_spt(void* to, int value, size_t count) {
  return call("hipMemset_spt", [&] { return fill_now("hipMemset_spt", rows_of(to, 0, static_cast<uint32_t>(value), 1, count), nullptr, false, true); }, arg("to", to), arg("count", count));
}
HIP_EXPORT hipError_t hipMemsetAsync_spt(void* to, int value, size_t count, hipStream_t stream) {
  return call("hipMemsetAsync_spt", [&] { return fill_now("hipMemsetAsync_spt", rows_of(to, 0, static_cast<uint32_t>(value), 1, count), stream, true, true); },
              arg("to", to), arg("count", count), arg("stream", stream));
}

#define ROWS(NAME, TYPE, ELEMENT)                                                                                                          \
  HIP_EXPORT hipError_t NAME(void* to, size_t pitch, TYPE value, size_t width, size_t height) {                                            \
    return call(#NAME, [&] { return fill_now(#NAME, rows_of(to, pitch, static_cast<uint32_t>(value), ELEMENT, width, height), nullptr, false); }, \
                arg("to", to), arg("value", +value), arg("width", width), arg("height", height));                                          \
  }                                                                                                                                        \
  HIP_EXPORT hipError_t NAME##Async(void* to, size_t pitch, TYPE value, size_t width, size_t height, hipStream_t stream) {                 \
    return call(#NAME "Async", [&] { return fill_now(#NAME "Async", rows_of(to, pitch, static_cast<uint32_t>(value), ELEMENT, width, height), stream, true); }, \
                arg("to", to), arg("value", +value), arg("width", width), arg("height", height), arg("stream", stream));                  \
  }
ROWS(hipMemset2D, int, 1)
ROWS(hipMemsetD2D8, unsigned char, 1)
ROWS(hipMemsetD2D16, unsigned short, 2)
ROWS(hipMemsetD2D32, unsigned, 4)
#undef ROWS

HIP_EXPORT hipError_t hipMemset2D_spt(void* to, size_t pitch, int value, size_t width, size_t height) {
  return call("hipMemset2D_spt", [&] { return fill_now("hipMemset2D_spt", rows_of(to, pitch, static_cast<uint32_t>(value), 1, width, height), nullptr, false, true); }, arg("to", to));
}
HIP_EXPORT hipError_t hipMemset2DAsync_spt(void* to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream) {
  return call("hipMemset2DAsync_spt", [&] { return fill_now("hipMemset2DAsync_spt", rows_of(to, pitch, static_cast<uint32_t>(value), 1, width, height), stream, true, true); },
              arg("to", to), arg("stream", stream));
}

#define BOX(NAME, PER_THREAD)                                                                                                              \
  HIP_EXPORT hipError_t NAME(hipPitchedPtr to, int value, hipExtent extent) {                                                              \
    return call(#NAME, [&] { return fill_now(#NAME, box_of(to, value, extent), nullptr, false, PER_THREAD); }, arg("to", to.ptr), arg("value", value)); \
  }
BOX(hipMemset3D, false)
BOX(hipMemset3D_spt, true)
#undef BOX
#define BOX(NAME, PER_THREAD)                                                                                                              \
  HIP_EXPORT hipError_t NAME(hipPitchedPtr to, int value, hipExtent extent, hipStream_t stream) {                                          \
    return call(#NAME, [&] { return fill_now(#NAME, box_of(to, value, extent), stream, true, PER_THREAD); }, arg("to", to.ptr), arg("value", value), arg("stream", stream)); \
  }
BOX(hipMemset3DAsync, false)
BOX(hipMemset3DAsync_spt, true)
#undef BOX
