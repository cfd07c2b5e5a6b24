// An in-order queue with a worker thread of its own, started at the first submission.
//
// Owns:    the order of work in one stream, waiting for other queues, the pending asynchronous error.
// Refuses: work, when its thread cannot be started; at process exit work not begun is dropped, and what runs is waited for a bounded time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "api/work.h"

namespace gfx950::api {

class Queue;

struct Dependency {
  std::shared_ptr<Queue> queue;
  uint64_t sequence;
};

struct Operation {
  WorkPointer work;  // null: a marker, only its dependencies count
  std::vector<Dependency> after;
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue();
  ~Queue();

  uint64_t submit(Operation operation);  // the sequence number; they count up from 1
  uint64_t submitted() const;
  bool finished(uint64_t sequence) const;
  bool idle() const { return finished(submitted()); }
  // False when the process exits before the work is done.
  bool wait(uint64_t sequence) const;
  // The worker leaves when what was submitted is done.
  void close();
  // The first failure since the last call.
  Outcome take_error();
  bool has_error() const;

  static void stop_all();  // at exit
  static bool on_worker();  // is the calling thread some queue's worker?

 private:
  void loop();
  void run(const Operation& operation);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Operation> pending_;
  uint64_t submitted_ = 0, completed_ = 0;
  bool started_ = false, closed_ = false;
  Outcome error_;
};

// Runs work the way a worker does: the delay first. Used by queues and by graph launches for each node.
Outcome run_work(const Work& work);

}  // namespace gfx950::api
