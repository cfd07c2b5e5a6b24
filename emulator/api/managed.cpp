// Managed memory and its hints. Host and device share one copy here, so prefetches and advice are checked and then have nothing to do.
#include "api/call.h"
#include "api/capture.h"
#include "memory/memory.h"

using namespace gfx950::api;
using gfx950::Memory;
using gfx950::MemoryKind;

namespace {

constexpr int kHost = -1;

void need_managed(const void* pointer, size_t bytes) {
  if (!bytes) throw Failure(hipErrorInvalidValue, "the size is 0");
  const auto allocation = Memory::instance().find(need(pointer, "the pointer"));
  if (!allocation && Memory::instance().all_host_memory()) return;
  if (!allocation || allocation->kind != MemoryKind::Managed) throw Failure(hipErrorInvalidValue, text(hex(pointer), " is not managed memory"));
  if (reinterpret_cast<uintptr_t>(pointer) + bytes > allocation->end()) throw Failure(hipErrorInvalidValue, text(hex(pointer), ": ", bytes, " bytes run past the end of the allocation"));
}

void need_place(int ordinal) {
  if (ordinal != kHost) device(ordinal);
}

hipError_t range_attribute(void* data, size_t size, int attribute, const void* pointer, size_t bytes) {
  need_managed(pointer, bytes);
  if (size < 4 || size % 4) throw Failure(hipErrorInvalidValue, text("a result of ", size, " bytes"));
  int* values = static_cast<int*>(need(data, "the data pointer"));
  for (size_t i = 0; i < size / 4; ++i) values[i] = attribute == 2 || attribute == 4 || attribute == 3 ? -2 : 0;  // -2: none
  if (attribute < 1 || (attribute > 4 && attribute != 100)) throw Failure(hipErrorInvalidValue, text("range attribute ", attribute, " does not exist"));
  return hipSuccess;
}

}  // namespace

HIP_EXPORT hipError_t hipMemPrefetchAsync(const void* pointer, size_t bytes, int place, hipStream_t stream) {
  return call("hipMemPrefetchAsync", [&] {
    need_managed(pointer, bytes);
    need_place(place);
    return issue(*resolve_stream(stream), std::make_shared<EmptyWork>(), "hipMemPrefetchAsync"), hipSuccess;
  }, arg("pointer", pointer), arg("bytes", bytes), arg("place", place), arg("stream", stream));
}
HIP_EXPORT hipError_t hipMemPrefetchAsync_v2(const void* pointer, size_t bytes, hipMemLocation place, unsigned flags, hipStream_t stream) {
  return call("hipMemPrefetchAsync_v2", [&] {
    need_managed(pointer, bytes);
    if (flags) throw Failure(hipErrorInvalidValue, text("flags is ", flags, ", not 0"));
    if (place.type == 1) device(place.id);
    return issue(*resolve_stream(stream), std::make_shared<EmptyWork>(), "hipMemPrefetchAsync_v2"), hipSuccess;
  }, arg("pointer", pointer), arg("bytes", bytes), arg("stream", stream));
}
HIP_EXPORT hipError_t hipMemAdvise(const void* pointer, size_t bytes, int advice, int place) {
  return call("hipMemAdvise", [&] { return need_managed(pointer, bytes), need_place(place), hipSuccess; }, arg("pointer", pointer), arg("bytes", bytes), arg("advice", advice));
}
HIP_EXPORT hipError_t hipMemAdvise_v2(const void* pointer, size_t bytes, int advice, hipMemLocation) {
  return call("hipMemAdvise_v2", [&] { return need_managed(pointer, bytes), hipSuccess; }, arg("pointer", pointer), arg("bytes", bytes), arg("advice", advice));
}
HIP_EXPORT hipError_t hipMemRangeGetAttribute(void* data, size_t size, int attribute, const void* pointer, size_t bytes) {
  return call("hipMemRangeGetAttribute", [&] { return range_attribute(data, size, attribute, pointer, bytes); }, arg("attribute", attribute), arg("pointer", pointer));
}
HIP_EXPORT hipError_t hipMemRangeGetAttributes(void** data, size_t* sizes, int* attributes, size_t count, const void* pointer, size_t bytes) {
  return call("hipMemRangeGetAttributes", [&] {
    for (size_t i = 0; i < count; ++i) range_attribute(need(data, "the data list")[i], need(sizes, "the sizes")[i], need(attributes, "the attributes")[i], pointer, bytes);
    return hipSuccess;
  }, arg("count", count), arg("pointer", pointer));
}
HIP_EXPORT hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* pointer, size_t bytes, unsigned flags) {
  return call("hipStreamAttachMemAsync", [&] {
    if (flags != 1 && flags != 2 && flags != 4) throw Failure(hipErrorInvalidValue, text("flags ", flags, ": global (1), host (2) and single (4) exist"));
    resolve_stream(stream);
    return need_managed(pointer, bytes ? bytes : 1), hipSuccess;
  }, arg("stream", stream), arg("pointer", pointer));
}
