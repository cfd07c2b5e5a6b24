// Calls that fit nowhere else: looking functions up by name, waiting for and writing values, profiler marks, device reset.
#include <dlfcn.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "api/call.h"
#include "api/capture.h"
#include "memory/memory.h"

namespace gfx950::api {
namespace {

// In this copy of the library, should a process hold two.
void* look_up(const char* name) {
  static void* const self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&look_up), &info);
    return info.dli_fname ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  }();
  const std::string_view wanted = name;
  return self && (wanted.substr(0, 3) == "hip" || wanted.substr(0, 5) == "__hip") ? dlsym(self, name) : nullptr;
}

void* need_device_value(void* pointer, size_t bytes) {
  const auto allocation = Memory::instance().find(need(pointer, "the pointer"));
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!allocation || address + bytes > allocation->end())
    throw Failure(hipErrorInvalidValue, text(hex(pointer), " is not ", bytes, " bytes of memory that the device knows: ", Memory::instance().describe(address)));
  if (address % bytes) throw Failure(hipErrorInvalidValue, text(hex(pointer), " is not aligned to ", bytes, " bytes"));
  return pointer;
}

// Memory freed since the call is neither written nor waited for.
Outcome gone(const void* pointer) {
  return {hipErrorIllegalAddress, text("the value's memory was freed before its turn came or the wait ended: ", Memory::instance().describe(reinterpret_cast<uintptr_t>(pointer)))};
}

template <class T>
class WriteValueWork : public EmptyWork {
 public:
  WriteValueWork(void* pointer, T value) : pointer_(static_cast<T*>(pointer)), value_(value) {}
  Outcome run() const override {
    if (!Memory::instance().find(pointer_)) return gone(pointer_);
    __atomic_store_n(pointer_, value_, __ATOMIC_RELEASE);
    Memory::instance().mark_written(pointer_, sizeof(T));
    return {};
  }
  std::string describe() const override { return "value write"; }

 private:
  T* pointer_;
  T value_;
};

template <class T>
class WaitValueWork : public EmptyWork {
 public:
  WaitValueWork(void* pointer, T value, unsigned how, T mask) : pointer_(static_cast<T*>(pointer)), value_(value), mask_(mask), how_(how) {}
  Outcome run() const override {
    while (Memory::instance().find(pointer_)) {
      if (holds() || exiting()) return {};
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return gone(pointer_);
  }
  std::string describe() const override { return "value wait"; }
  bool calls_the_user() const override { return true; }  // may wait for long: not waited for at exit

 private:
  bool holds() const {
    const T now = __atomic_load_n(pointer_, __ATOMIC_ACQUIRE) & mask_;
    switch (how_) {
      case 0: return static_cast<std::make_signed_t<T>>(now - value_) >= 0;
      case 1: return now == value_;
      case 2: return (now & value_) != 0;
      default: return static_cast<T>(~(now | value_)) != 0;
    }
  }
  T* pointer_;
  T value_, mask_;
  unsigned how_;
};

template <class T>
hipError_t write_value(const char* name, hipStream_t stream, void* pointer, T value) {
  return issue(*resolve_stream(stream), std::make_shared<WriteValueWork<T>>(need_device_value(pointer, sizeof(T)), value), name), hipSuccess;
}
template <class T>
hipError_t wait_value(const char* name, hipStream_t stream, void* pointer, T value, unsigned how, T mask) {
  if (how > 3) throw Failure(hipErrorInvalidValue, text("flags ", how, ": greater-or-equal (0), equal (1), and (2) and nor (3) exist"));
  return issue(*resolve_stream(stream), std::make_shared<WaitValueWork<T>>(need_device_value(pointer, sizeof(T)), value, how, mask), name), hipSuccess;
}

// Programs of HIP 6 and later mean the longer properties struct, whose functions have another name in the library.
constexpr int kLongerProperties = 600;
enum : uint64_t { kDefaultStream = 0, kLegacyStream = 1, kPerThreadStream = 2 };

hipError_t entry_point(const char* name, void** function, int version, uint64_t flags, int* status) {
  need(function, "the function pointer");
  if (flags > kPerThreadStream) throw Failure(hipErrorInvalidValue, text("flags ", flags, ": default (0), legacy stream (1) and per-thread stream (2) exist"));
  std::string wanted = need(name, "the name");
  if (version >= kLongerProperties && (wanted == "hipGetDeviceProperties" || wanted == "hipChooseDevice")) wanted += "R0600";
  *function = flags == kPerThreadStream ? look_up((wanted + "_spt").c_str()) : nullptr;
  if (!*function) *function = look_up(wanted.c_str());
  if (status) *status = *function ? 0 : 1;
  if (!*function) throw Failure(hipErrorInvalidValue, text("libamdhip64 has no function named ", name));
  return hipSuccess;
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer, uint32_t value, unsigned) {
  return call("hipStreamWriteValue32", [&] { return write_value<uint32_t>("hipStreamWriteValue32", stream, pointer, value); }, arg("stream", stream), arg("pointer", pointer));
}
HIP_EXPORT hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer, uint64_t value, unsigned) {
  return call("hipStreamWriteValue64", [&] { return write_value<uint64_t>("hipStreamWriteValue64", stream, pointer, value); }, arg("stream", stream), arg("pointer", pointer));
}
HIP_EXPORT hipError_t hipStreamWaitValue32(hipStream_t stream, void* pointer, uint32_t value, unsigned flags, uint32_t mask) {
  return call("hipStreamWaitValue32", [&] { return wait_value<uint32_t>("hipStreamWaitValue32", stream, pointer, value, flags, mask); }, arg("stream", stream), arg("pointer", pointer));
}
HIP_EXPORT hipError_t hipStreamWaitValue64(hipStream_t stream, void* pointer, uint64_t value, unsigned flags, uint64_t mask) {
  return call("hipStreamWaitValue64", [&] { return wait_value<uint64_t>("hipStreamWaitValue64", stream, pointer, value, flags, mask); }, arg("stream", stream), arg("pointer", pointer));
}

HIP_EXPORT hipError_t hipGetProcAddress(const char* name, void** function, int version, uint64_t flags, int* status) {
  return call("hipGetProcAddress", [&] { return entry_point(name, function, version, flags, status); }, arg("name", name), arg("version", version), arg("flags", flags));
}
HIP_EXPORT hipError_t hipGetProcAddress_spt(const char* name, void** function, int version, uint64_t flags, int* status) {
  return call("hipGetProcAddress_spt", [&] { return entry_point(name, function, version, flags == kDefaultStream ? uint64_t{kPerThreadStream} : flags, status); },
              arg("name", name), arg("version", version), arg("flags", flags));
}
HIP_EXPORT hipError_t hipGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* status) {
  return call("hipGetDriverEntryPoint", [&] { return entry_point(name, function, kLongerProperties, flags, status); }, arg("name", name), arg("flags", flags));
}
HIP_EXPORT hipError_t hipGetDriverEntryPoint_spt(const char* name, void** function, unsigned long long flags, int* status) {
  return call("hipGetDriverEntryPoint_spt", [&] { return entry_point(name, function, kLongerProperties, flags == kDefaultStream ? uint64_t{kPerThreadStream} : flags, status); },
              arg("name", name), arg("flags", flags));
}

HIP_EXPORT hipError_t hipProfilerStart() {
  return call("hipProfilerStart", [&] { return hipSuccess; });
}
HIP_EXPORT hipError_t hipProfilerStop() {
  return call("hipProfilerStop", [&] { return hipSuccess; });
}

// Waits for the device. What was allocated, loaded and made stays, which a program that resets at its end does not notice.
HIP_EXPORT hipError_t hipDeviceReset() {
  return call("hipDeviceReset", [&] {
    const int device = current_device();
    forbid_device_wait(device, "hipDeviceReset");
    return synchronise_device(device), hipSuccess;
  });
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxReset(hipDevice_t ordinal) {
  return call("hipDevicePrimaryCtxReset", [&] {
    forbid_device_wait(device(ordinal).ordinal, "hipDevicePrimaryCtxReset");
    return synchronise_device(ordinal), hipSuccess;
  }, arg("device", ordinal));
}

struct hipChannelFormatDesc {
  int x, y, z, w, format;
};
HIP_EXPORT hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, int format) { return {x, y, z, w, format}; }

HIP_EXPORT const char* hipApiName(uint32_t) { return "unknown"; }
