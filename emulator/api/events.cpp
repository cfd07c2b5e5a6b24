#include "api/events.h"

#include <chrono>

#include "api/call.h"

namespace gfx950::api {
namespace {

int64_t now() { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Seen {
  std::shared_ptr<Record> record;
  std::shared_ptr<CaptureSession> session;
  std::vector<NodePointer> captured;
};
Seen look(Event& event) {
  std::lock_guard lock(event.mutex);
  return {event.record, event.session, event.captured};
}

void refuse_captured(const Seen& seen) {
  if (!seen.session) return;
  std::lock_guard lock(graph_lock());
  if (seen.session->status == hipStreamCaptureStatusActive) invalidate(*seen.session, "a captured event was queried or waited for by the host");
  throw Failure(hipErrorCapturedEvent, "the event was last recorded in a capture: it has no time and cannot be waited for by the host");
}

}  // namespace

Registry<hipEvent_t, Event, Kind::Event>& events() {
  static auto* registry = new Registry<hipEvent_t, Event, Kind::Event>;
  return *registry;
}

Outcome EventRecordWork::run() const {
  if (record) record->nanoseconds.store(now(), std::memory_order_release);
  return {};
}

Outcome EventWaitWork::run() const {
  if (place.queue) place.queue->wait(place.sequence);
  return {};
}

void record_event(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event, hipEvent_t handle, const char* name, bool external) {
  if (event->device != stream->device)
    throw Failure(hipErrorInvalidHandle, text("the event belongs to device ", event->device, ", the stream to device ", stream->device));
  if (auto session = capturing(*stream)) {
    if (external) {
      record(*session, stream, std::make_shared<EventRecordWork>(event, handle, nullptr));
      return;
    }
    auto nodes = leaves_of(*session, stream);
    std::lock_guard lock(event->mutex);
    event->session = session;
    event->captured = std::move(nodes);
    event->record.reset();
    return;
  }
  forbid_implicit_dependency(*stream, name);
  auto fresh = std::make_shared<Record>();
  std::lock_guard lock(event->mutex);
  fresh->place = enqueue(*stream, std::make_shared<EventRecordWork>(nullptr, handle, fresh));
  event->record = std::move(fresh);
  event->session.reset();
  event->captured.clear();
}

void wait_for_event(const std::shared_ptr<Stream>& stream, Event& event, const char* name, bool external) {
  const Seen seen = look(event);
  auto session = capturing(*stream);
  if (seen.session && !external) {
    std::shared_ptr<CaptureSession> of_event = seen.session;
    {
      std::lock_guard lock(graph_lock());
      if (of_event->status == hipStreamCaptureStatusInvalidated) throw Failure(hipErrorStreamCaptureInvalidated, text("the event's capture was invalidated: ", of_event->invalidated_by));
      if (of_event->status != hipStreamCaptureStatusActive) throw Failure(hipErrorCapturedEvent, "the event was recorded in a capture that has ended");
      if (session && session != of_event) {
        invalidate(*session, "a wait for an event of another capture");
        invalidate(*of_event, "a wait from another capture");
        throw Failure(hipErrorStreamCaptureMerge, "the stream and the event belong to two captures");
      }
      if (stream->legacy) throw Failure(hipErrorStreamCaptureImplicit, "the legacy default stream cannot join a capture");
    }
    join(of_event, stream, seen.captured);
    return;
  }
  if (session) {
    std::lock_guard lock(graph_lock());
    invalidate(*session, text(name, ": a wait for an event recorded outside the capture"));
    throw Failure(hipErrorStreamCaptureIsolation, "the stream is captured, but the event was recorded outside the capture");
  }
  forbid_implicit_dependency(*stream, name);
  if (!seen.record) return;  // an event that was never recorded is complete
  enqueue(*stream, nullptr, {seen.record->place});
}

}  // namespace gfx950::api

using namespace gfx950::api;

namespace {
hipError_t create(hipEvent_t* handle, unsigned flags) {
  constexpr unsigned known = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess | 0x20000000 | 0x40000000 | 0x80000000;
  need(handle, "the pointer to the result");
  if (flags & ~known) throw Failure(hipErrorInvalidValue, text("flags ", hex(uint64_t{flags}), " are not known"));
  if ((flags & hipEventInterprocess) && !(flags & hipEventDisableTiming)) throw Failure(hipErrorInvalidValue, "an interprocess event must disable timing");
  auto event = std::make_shared<Event>();
  event->device = current_device();
  event->flags = flags;
  return *handle = events().add(event), hipSuccess;
}

hipError_t record_call(const char* name, hipEvent_t handle, hipStream_t stream, unsigned flags, bool per_thread) {
  if (flags > 1) throw Failure(hipErrorInvalidValue, text("flags ", flags, " are not known"));
  return record_event(resolve_stream(stream, per_thread), events().need(handle), handle, name, flags == 1), hipSuccess;
}

const Record& timed(const char* which, const Event& event, const Seen& seen) {
  if (event.flags & hipEventDisableTiming) throw Failure(hipErrorInvalidHandle, text("the ", which, " event was made without timing"));
  refuse_captured(seen);
  if (!seen.record) throw Failure(hipErrorInvalidHandle, text("the ", which, " event was never recorded"));
  return *seen.record;
}
}  // namespace

HIP_EXPORT hipError_t hipEventCreate(hipEvent_t* event) {
  return call("hipEventCreate", [&] { return create(event, 0); }, out("event", event));
}
HIP_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return call("hipEventCreateWithFlags", [&] { return create(event, flags); }, out("event", event), arg("flags", flags));
}
HIP_EXPORT hipError_t hipEventDestroy(hipEvent_t event) {
  return call("hipEventDestroy", [&] { return events().remove(event), hipSuccess; }, arg("event", event));
}
HIP_EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call("hipEventRecord", [&] { return record_call("hipEventRecord", event, stream, 0, false); }, arg("event", event), arg("stream", stream));
}
HIP_EXPORT hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream) {
  return call("hipEventRecord_spt", [&] { return record_call("hipEventRecord_spt", event, stream, 0, true); }, arg("event", event), arg("stream", stream));
}
HIP_EXPORT hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  return call("hipEventRecordWithFlags", [&] { return record_call("hipEventRecordWithFlags", event, stream, flags, false); },
              arg("event", event), arg("stream", stream), arg("flags", flags));
}

HIP_EXPORT hipError_t hipEventQuery(hipEvent_t handle) {
  return call("hipEventQuery", [&] {
    auto event = events().need(handle);
    const Seen seen = look(*event);
    refuse_captured(seen);
    if (!seen.record) return hipSuccess;
    if (!seen.record->place.queue->finished(seen.record->place.sequence)) return hipErrorNotReady;
    return throw_pending_error(*seen.record->place.queue), hipSuccess;
  }, arg("event", handle));
}

HIP_EXPORT hipError_t hipEventSynchronize(hipEvent_t handle) {
  return call("hipEventSynchronize", [&] {
    auto event = events().need(handle);
    const Seen seen = look(*event);
    refuse_captured(seen);
    if (!seen.record) return hipSuccess;
    wait_for(seen.record->place);
    return throw_pending_error(*seen.record->place.queue), hipSuccess;
  }, arg("event", handle));
}

HIP_EXPORT hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t begin, hipEvent_t end) {
  return call("hipEventElapsedTime", [&] {
    need(milliseconds, "the time pointer");
    auto first = events().need(begin), last = events().need(end);
    const Seen seen_first = look(*first), seen_last = look(*last);
    const Record &from = timed("first", *first, seen_first), &to = timed("second", *last, seen_last);
    if (!from.reached() || !to.reached()) return hipErrorNotReady;
    *milliseconds = static_cast<float>(static_cast<double>(to.nanoseconds - from.nanoseconds) * 1e-6);
    return hipSuccess;
  }, arg("begin", begin), arg("end", end), out("milliseconds", milliseconds));
}
