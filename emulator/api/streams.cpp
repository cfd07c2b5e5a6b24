#include "api/streams.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "api/call.h"
#include "api/capture.h"

namespace gfx950::api {
namespace {

std::atomic<uint64_t> g_next_stream_id{1};

// Streams that nobody else holds are forgotten on the way.
std::vector<std::shared_ptr<Stream>> streams_of(Device& device) {
  std::vector<std::shared_ptr<Stream>> live;
  auto gone = std::remove_if(device.streams.begin(), device.streams.end(), [&](const std::weak_ptr<Stream>& weak) {
    auto stream = weak.lock();
    if (stream) live.push_back(stream);
    return !stream;
  });
  device.streams.erase(gone, device.streams.end());
  return live;
}

std::shared_ptr<Stream> legacy_locked(Device& device) {
  if (!device.legacy) device.legacy = std::make_shared<Stream>(device.ordinal, 0, 0, true);
  return device.legacy;
}

void add_unfinished(std::vector<Dependency>& list, const std::shared_ptr<Queue>& queue) {
  const uint64_t sequence = queue->submitted();
  if (!queue->finished(sequence)) list.push_back({queue, sequence});
}

// What work entering `stream` now must wait for in other streams.
std::vector<Dependency> implied(Device& device, const Stream& stream) {
  std::vector<Dependency> list;
  if (stream.legacy) {
    for (const auto& other : streams_of(device))
      if (other->blocking()) add_unfinished(list, other->queue);
  } else if (stream.blocking() && device.legacy) {
    add_unfinished(list, device.legacy->queue);
  }
  return list;
}

void add_to_device(const std::shared_ptr<Stream>& stream) {
  Device& device = api::device(stream->device);
  std::lock_guard lock(device.order);
  std::erase_if(device.streams, [](const std::weak_ptr<Stream>& weak) { return weak.expired(); });
  device.streams.push_back(stream);
}

// Holds a stream until its work is done.
class LastWork : public EmptyWork {
 public:
  explicit LastWork(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}

 private:
  std::shared_ptr<Stream> stream_;
};

// One default stream per device for each thread; it goes with the thread.
struct ThreadStreams {
  std::map<int, std::shared_ptr<Stream>> by_device;
  ~ThreadStreams() {
    if (forked()) {  // the main thread of a child at its end: these are the parent's
      new auto(std::move(by_device));
      return;
    }
    for (auto& [device, stream] : by_device) {
      stream_is_destroyed(stream);
      retire(stream);
    }
  }
};

std::shared_ptr<Stream> thread_stream(int ordinal) {
  thread_local ThreadStreams mine;
  auto& stream = mine.by_device[ordinal];
  if (!stream) {
    stream = std::make_shared<Stream>(ordinal, 0, 0, false);
    stream->per_thread = true;
    stream->handle = hipStreamPerThread;
    stream->id = g_next_stream_id++;
    add_to_device(stream);
  }
  return stream;
}

std::vector<std::shared_ptr<Queue>> queues_of(int ordinal) {
  Device& device = api::device(ordinal);
  std::lock_guard lock(device.order);
  std::vector<std::shared_ptr<Queue>> queues;
  if (device.legacy) queues.push_back(device.legacy->queue);
  for (const auto& stream : streams_of(device)) queues.push_back(stream->queue);
  return queues;
}

}  // namespace

Registry<hipStream_t, Stream, Kind::Stream>& streams() {
  static auto* registry = new Registry<hipStream_t, Stream, Kind::Stream>;
  return *registry;
}

std::shared_ptr<Stream> legacy_stream(int ordinal) {
  Device& device = api::device(ordinal);
  std::lock_guard lock(device.order);
  return legacy_locked(device);
}

std::shared_ptr<Stream> resolve_stream(hipStream_t handle, bool per_thread) {
  if (handle == hipStreamPerThread || (!handle && per_thread)) return thread_stream(current_device());
  if (!handle || handle == hipStreamLegacy) return legacy_stream(current_device());
  return streams().need(handle);
}

Dependency enqueue(Stream& stream, WorkPointer work, std::vector<Dependency> after) {
  Device& device = api::device(stream.device);
  std::lock_guard lock(device.order);
  std::vector<Dependency> waits = implied(device, stream);
  for (Dependency& dependency : after)
    if (!dependency.queue->finished(dependency.sequence)) waits.push_back(std::move(dependency));
  const uint64_t sequence = stream.queue->submit({std::move(work), std::move(waits)});
  return {stream.queue, sequence};
}

void throw_pending_error(Queue& queue) {
  if (!queue.has_error()) return;
  Outcome outcome = queue.take_error();
  if (outcome.code != hipSuccess) throw Failure(outcome.code, outcome.text);
}

void synchronise(Stream& stream) {
  std::vector<Dependency> waits;
  std::vector<std::shared_ptr<Queue>> asked{stream.queue};
  {
    Device& device = api::device(stream.device);
    std::lock_guard lock(device.order);
    waits = implied(device, stream);
    add_unfinished(waits, stream.queue);
    if (stream.legacy)
      for (const auto& other : streams_of(device))
        if (other->blocking()) asked.push_back(other->queue);
  }
  for (const Dependency& dependency : waits) wait_for(dependency);
  for (const auto& queue : asked) throw_pending_error(*queue);
}

bool idle(Stream& stream) {
  Device& device = api::device(stream.device);
  std::lock_guard lock(device.order);
  return stream.queue->idle() && (!stream.legacy || implied(device, stream).empty());
}

void wait_for(const Dependency& dependency) {
  if (Queue::on_worker()) throw Failure(hipErrorIllegalState, "a host function called from a stream must not wait for a stream or a device");
  if (!dependency.queue->wait(dependency.sequence)) throw Failure(hipErrorDeinitialized, "the process exits: what was not finished will not be");
}

void wait_for_device(int ordinal) {
  for (const auto& queue : queues_of(ordinal)) wait_for({queue, queue->submitted()});
}

void synchronise_device(int ordinal) {
  const auto queues = queues_of(ordinal);
  for (const auto& queue : queues) wait_for({queue, queue->submitted()});
  for (const auto& queue : queues) throw_pending_error(*queue);
}

std::shared_ptr<Stream> create_stream(unsigned flags, int priority) {
  if (flags & ~static_cast<unsigned>(hipStreamNonBlocking)) throw Failure(hipErrorInvalidValue, text("flags ", flags, ": hipStreamDefault (0) and hipStreamNonBlocking (1) exist"));
  Device& device = current();
  auto stream = std::make_shared<Stream>(device.ordinal, flags, std::clamp(priority, -1, 1), false);
  stream->id = g_next_stream_id++;
  stream->handle = streams().add(stream);
  add_to_device(stream);
  return stream;
}

void retire(const std::shared_ptr<Stream>& stream) {
  if (stream->queue->submitted()) enqueue(*stream, std::make_shared<LastWork>(stream));
  stream->queue->close();
}

}  // namespace gfx950::api
