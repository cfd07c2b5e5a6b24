// Device memory: who owns which bytes, and which of them anyone ever wrote.
//
// Owns:    every allocation a kernel may touch. Device pointers are real host addresses (the memory is host memory, mapped lazily),
//          so the host side can memcpy; a kernel's accesses go through View, which knows the live ranges.
// Refuses: addresses outside live ranges. Ranges lie apart (guard space), are not used again, and freed ones are remembered, so that a
//          stale pointer is called by its name.
// Units:   bytes, everywhere.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gfx950 {

enum class MemoryKind { Device, HostPinned, Managed, Registered, Image };
const char* name_of(MemoryKind kind);

struct Allocation {
  uintptr_t base = 0;
  size_t size = 0;
  MemoryKind kind = MemoryKind::Device;
  int device = 0;
  unsigned flags = 0;  // the caller's, kept for hipPointerGetAttributes and its like
  uint64_t id = 0;     // unique in the process, grows with every allocation

  uintptr_t end() const { return base + size; }
  // What the host can write without telling us counts as written.
  bool host_writable() const { return kind != MemoryKind::Device && kind != MemoryKind::Image; }
};

struct MemoryStatistics {
  size_t live_bytes = 0, live_allocations = 0, peak_bytes = 0;
  uint64_t total_allocations = 0, total_frees = 0;
};

// The live ranges at one moment, sorted by address; immutable, shared by all waves of a launch.
struct Ranges {
  uint64_t version = 0;
  std::vector<Allocation> live;
  const Allocation* find(uintptr_t address) const;
};

class Memory {
 public:
  static Memory& instance();

  // Size 0 gives nullptr with an empty error. `error` tells why on failure (nullptr).
  void* allocate(size_t size, MemoryKind kind, int device, std::string& error, unsigned flags = 0);
  // Exactly a pointer that allocate() returned; a double free or a foreign pointer is refused, with the reason.
  bool free(void* pointer, std::string& error);
  bool register_host(void* pointer, size_t size, int device, std::string& error, unsigned flags = 0);
  bool unregister_host(void* pointer, std::string& error);

  // The live allocation that contains the address.
  std::optional<Allocation> find(const void* pointer) const;
  // Whether device memory may ever live at the address (allocated, freed or not yet used): no host program may touch it itself.
  bool owns(const void* pointer) const { return arena_of(reinterpret_cast<uintptr_t>(pointer)) != nullptr; }
  // What lies at an address, in words: "12 bytes past the end of a device allocation of 4096 bytes at 0x...", "in memory freed ...".
  std::string describe(uintptr_t address) const;
  MemoryStatistics statistics() const;
  // Bytes that live on one device (MemoryKind::Device and Managed), for hipMemGetInfo.
  size_t live_bytes(int device) const;

  // Written-bytes shadow (one bit a byte, always, unless set_tracking(false)).
  void set_tracking(bool on) { tracking_ = on; }
  bool tracking() const { return tracking_; }
  void mark_written(const void* pointer, size_t size) { mark(pointer, size, true); }
  // Copies carry the unwritten state along: dst's bytes become written exactly where src's were.
  void copy_written(const void* dst, const void* src, size_t size);
  // True when all bytes are written; else `first_bad` (if given) is the offset of the first that is not.
  bool is_written(const void* pointer, size_t size, size_t* first_bad = nullptr) const;

  // Every mapped host page is accessible to kernels (GFX950_EMU_ALL_HOST_MEMORY=1), as under HMM.
  void set_all_host_memory(bool on);
  bool all_host_memory() const { return all_host_memory_; }

  std::shared_ptr<const Ranges> ranges() const;
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  Memory();
  struct Arena {
    uintptr_t base = 0, next = 0, end = 0, committed = 0;
    uint8_t* shadow = nullptr;  // (end - base) / 8 bytes, sparse
  };
  struct Freed {
    Allocation was;
  };
  void mark(const void* pointer, size_t size, bool written);
  bool reserve_arena(size_t size, std::string& error);
  const Arena* arena_of(uintptr_t address) const;
  void publish();

  mutable std::mutex mutex_;
  std::map<uintptr_t, Allocation> live_;
  std::map<uintptr_t, Allocation> freed_;
  std::deque<uintptr_t> freed_order_;
  static constexpr size_t kMaxArenas = 16;
  Arena arenas_[kMaxArenas];
  std::atomic<size_t> arena_count_{0};
  std::shared_ptr<const Ranges> ranges_;
  std::atomic<uint64_t> version_{1};
  uint64_t next_id_ = 1;
  MemoryStatistics statistics_;
  std::atomic<bool> tracking_{false};
  bool all_host_memory_ = false;
};

}  // namespace gfx950
