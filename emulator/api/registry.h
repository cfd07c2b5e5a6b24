// Live objects by handle.
//
// Owns:    one table per kind. A handle is a number that is never given out twice, so that a stale one is known for what it is.
// Refuses: handles of another kind, destroyed ones, and pointers that never were handles; describe() says which.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/errors.h"
#include "api/text.h"

namespace gfx950::api {

enum class Kind : uint64_t { Stream = 1, Event, Module, Function, Graph, GraphNode, GraphExec, Pool, Context, UserObject };
const char* name_of(Kind kind);

constexpr uint64_t kHandleBase = 0x6900'0000'0000;
constexpr int kKindShift = 36;

std::string describe_handle(uint64_t value, Kind wanted, uint64_t next_id);

template <class Handle, class T, Kind kind>
class Registry {
 public:
  Handle add(std::shared_ptr<T> object) {
    std::unique_lock lock(mutex_);
    const uint64_t id = next_++;
    live_.emplace(id, std::move(object));
    return reinterpret_cast<Handle>(kHandleBase | static_cast<uint64_t>(kind) << kKindShift | id << 4);
  }
  // Null when the handle is not live.
  std::shared_ptr<T> find(Handle handle) const {
    const uint64_t id = id_of(handle);
    std::shared_lock lock(mutex_);
    auto at = live_.find(id);
    return at == live_.end() ? nullptr : at->second;
  }
  // Throws hipErrorInvalidHandle with a text.
  std::shared_ptr<T> need(Handle handle) const {
    auto object = find(handle);
    if (!object) [[unlikely]]
      refuse(handle);
    return object;
  }
  // Takes it out; throws when it is not live.
  std::shared_ptr<T> remove(Handle handle) {
    std::unique_lock lock(mutex_);
    auto at = live_.find(id_of(handle));
    if (at == live_.end()) {
      lock.unlock();
      refuse(handle);
    }
    auto object = std::move(at->second);
    live_.erase(at);
    return object;
  }
  [[noreturn]] void refuse(Handle handle) const {
    throw Failure(hipErrorInvalidHandle, describe_handle(reinterpret_cast<uint64_t>(handle), kind, next_id()));
  }
  size_t size() const {
    std::shared_lock lock(mutex_);
    return live_.size();
  }
  std::vector<std::shared_ptr<T>> all() const {
    std::shared_lock lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    for (const auto& [id, object] : live_) objects.push_back(object);
    return objects;
  }

 private:
  static uint64_t id_of(Handle handle) {
    const uint64_t value = reinterpret_cast<uint64_t>(handle);
    const uint64_t base = kHandleBase | static_cast<uint64_t>(kind) << kKindShift;
    return (value & 15) == 0 && value > base && value - base < (1ull << kKindShift) ? (value - base) >> 4 : 0;
  }
  uint64_t next_id() const {
    std::shared_lock lock(mutex_);
    return next_;
  }
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<T>> live_;
  uint64_t next_ = 1;
};

}  // namespace gfx950::api
