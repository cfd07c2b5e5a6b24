// Streams: the legacy default stream of each device, a default stream per thread, and those that programs make.
//
// Owns:    ordering between streams. Work in the legacy stream waits for all earlier work of the device's blocking streams; later work in
//          those waits for it. Non-blocking streams take no part. A per-thread default stream is a blocking stream.
// Refuses: handles that are no live stream.
#pragma once

#include <memory>

#include "api/devices.h"
#include "api/queue.h"
#include "api/registry.h"

namespace gfx950::api {

struct CaptureSession;

class Stream {
 public:
  Stream(int device, unsigned flags, int priority, bool legacy) : device(device), flags(flags), priority(priority), legacy(legacy) {}
  bool blocking() const { return !(flags & hipStreamNonBlocking); }

  const int device;
  const unsigned flags;
  const int priority;
  const bool legacy;
  bool per_thread = false;
  const std::shared_ptr<Queue> queue = std::make_shared<Queue>();
  hipStream_t handle = nullptr;
  uint64_t id = 0;
  std::shared_ptr<CaptureSession> capture;  // guarded by the capture lock (capture.h)
};

Registry<hipStream_t, Stream, Kind::Stream>& streams();

// The stream behind a handle: null and hipStreamLegacy mean the current device's legacy stream (the thread's own with per_thread),
// hipStreamPerThread the thread's own.
std::shared_ptr<Stream> resolve_stream(hipStream_t handle, bool per_thread = false);
std::shared_ptr<Stream> legacy_stream(int device);

std::shared_ptr<Stream> create_stream(unsigned flags, int priority);  // on the current device
// Ends a stream whose handle is gone: what was submitted still runs, and the device still waits for it.
void retire(const std::shared_ptr<Stream>& stream);

// Puts work into a stream, after what the default-stream rules and `after` demand. Returns its place.
Dependency enqueue(Stream& stream, WorkPointer work, std::vector<Dependency> after = {});
// Waits for one piece of work. Throws hipErrorIllegalState in a stream's own worker (a host function), which would wait for itself.
void wait_for(const Dependency& dependency);
// Waits for all that the stream would wait for; then throws the first asynchronous failure found on the way.
void synchronise(Stream& stream);
void synchronise_device(int device);
// As synchronise_device, but failures stay pending (for calls such as hipFree that wait but answer for themselves).
void wait_for_device(int device);
bool idle(Stream& stream);
void throw_pending_error(Queue& queue);

}  // namespace gfx950::api
