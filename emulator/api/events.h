// Events: marks in streams, with the time at which the work before them was done.
//
// Owns:    a record is one call of hipEventRecord: its place in a queue and, once reached, its time. Waiting takes the record of the
//          moment; a later record does not change what an earlier wait waits for.
// Refuses: events recorded in a capture where a real time or a real wait is asked for.
#pragma once

#include <atomic>

#include "api/capture.h"

namespace gfx950::api {

struct Record {
  Dependency place{nullptr, 0};
  std::atomic<int64_t> nanoseconds{0};  // 0: not reached
  bool reached() const { return nanoseconds.load(std::memory_order_acquire) != 0; }
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  std::mutex mutex;
  std::shared_ptr<Record> record;              // null: never recorded
  std::shared_ptr<CaptureSession> session;     // recorded in this capture
  std::vector<NodePointer> captured;
};

Registry<hipEvent_t, Event, Kind::Event>& events();

class EventRecordWork : public Work {
 public:
  EventRecordWork(std::shared_ptr<Event> event, hipEvent_t handle, std::shared_ptr<Record> record) : event(std::move(event)), handle(handle), record(std::move(record)) {}
  Outcome run() const override;
  hipGraphNodeType type() const override { return hipGraphNodeTypeEventRecord; }
  std::string describe() const override { return "event record"; }
  bool delayed() const override { return false; }
  const std::shared_ptr<Event> event;
  const hipEvent_t handle;
  const std::shared_ptr<Record> record;  // null in a graph node: each launch makes its own
};

// A graph node; a stream waits through dependencies. Each launch puts in its place what was recorded at the launch (place): a record of
// later could be waiting for this graph.
class EventWaitWork : public Work {
 public:
  EventWaitWork(std::shared_ptr<Event> event, hipEvent_t handle, Dependency place = {nullptr, 0}) : event(std::move(event)), handle(handle), place(std::move(place)) {}
  Outcome run() const override;
  hipGraphNodeType type() const override { return hipGraphNodeTypeWaitEvent; }
  std::string describe() const override { return "event wait"; }
  bool delayed() const override { return false; }
  const std::shared_ptr<Event> event;
  const hipEvent_t handle;
  const Dependency place;
};

void wait_for_event(const std::shared_ptr<Stream>& stream, Event& event, const char* call, bool external);
void record_event(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event, hipEvent_t handle, const char* call, bool external);

}  // namespace gfx950::api
