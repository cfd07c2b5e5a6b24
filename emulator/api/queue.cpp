#include "api/queue.h"

#include <chrono>
#include <cstdio>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "api/errors.h"
#include "api/process.h"
#include "api/text.h"

namespace gfx950::api {
namespace {

constexpr auto kExitPatience = std::chrono::seconds(2);  // a running kernel may finish; nobody waits longer for it

// Never destroyed: workers may outlive the static objects of the library.
struct All {
  std::mutex mutex;
  std::set<Queue*> queues;
  std::mutex running_mutex;
  std::condition_variable running_changed;
  int running = 0;
};
All& all() {
  static auto* all = new All;
  return *all;
}

thread_local bool t_on_worker = false;

struct Running {
  Running() { change(+1); }
  ~Running() { change(-1); }
  void change(int by) {
    std::lock_guard lock(all().running_mutex);
    all().running += by;
    all().running_changed.notify_all();
  }
};

void delay() {
  const unsigned microseconds = environment().stream_delay_us;
  if (!microseconds) return;
  std::unique_lock lock(all().running_mutex);
  all().running_changed.wait_for(lock, std::chrono::microseconds(microseconds), [] { return exiting(); });
}

}  // namespace

Queue::Queue() {
  std::lock_guard lock(all().mutex);
  all().queues.insert(this);
}

Queue::~Queue() {
  std::lock_guard lock(all().mutex);
  all().queues.erase(this);
}

uint64_t Queue::submit(Operation operation) {
  std::lock_guard lock(mutex_);
  if (!started_) {
    try {
      std::thread([self = shared_from_this()] { self->loop(); }).detach();
    } catch (const std::system_error& error) {  // nothing was queued: the next submission tries again
      throw Failure(hipErrorOutOfMemory, text("the stream's worker thread cannot be started: ", error.what()));
    }
    started_ = true;
  }
  pending_.push_back(std::move(operation));
  changed_.notify_all();
  return ++submitted_;
}

uint64_t Queue::submitted() const {
  std::lock_guard lock(mutex_);
  return submitted_;
}

bool Queue::finished(uint64_t sequence) const {
  std::lock_guard lock(mutex_);
  return completed_ >= sequence;
}

bool Queue::wait(uint64_t sequence) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= sequence || exiting(); });
  return completed_ >= sequence;
}

void Queue::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

Outcome Queue::take_error() {
  std::lock_guard lock(mutex_);
  return std::exchange(error_, Outcome{});
}

bool Queue::has_error() const {
  std::lock_guard lock(mutex_);
  return error_.code != hipSuccess;
}

bool Queue::on_worker() { return t_on_worker; }

void Queue::loop() {
  t_on_worker = true;
  for (;;) {
    Operation operation;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !pending_.empty() || closed_ || exiting(); });
      if (exiting() || pending_.empty()) return;
      operation = std::move(pending_.front());
      pending_.pop_front();
    }
    for (const Dependency& dependency : operation.after)
      if (!dependency.queue->wait(dependency.sequence)) return;
    run(operation);
    operation = {};  // releases what the work held before anyone learns that it is done
    std::lock_guard lock(mutex_);
    ++completed_;
    changed_.notify_all();
  }
}

void Queue::run(const Operation& operation) {
  if (!operation.work || exiting()) return;
  Outcome outcome = run_work(*operation.work);
  if (outcome.code == hipSuccess) return;
  std::lock_guard lock(mutex_);
  if (error_.code == hipSuccess) error_ = std::move(outcome);
}

Outcome run_work(const Work& work) {
  if (work.delayed()) delay();
  if (exiting()) return {};
  if (work.calls_the_user()) return work.run();  // no catch here: a thread that exits in a callback unwinds through
  Running running;
  try {
    return work.run();
  } catch (const std::exception& exception) {
    return {hipErrorUnknown, exception.what()};
  }
}

void Queue::stop_all() {
  {
    std::lock_guard lock(all().mutex);
    for (Queue* queue : all().queues) {
      std::lock_guard queue_lock(queue->mutex_);
      queue->changed_.notify_all();
    }
  }
  std::unique_lock lock(all().running_mutex);
  all().running_changed.notify_all();
  all().running_changed.wait_for(lock, kExitPatience, [] { return all().running == 0; });
}

}  // namespace gfx950::api
