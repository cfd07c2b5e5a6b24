#include "memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gfx950 {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kGuard = 64 << 10;
constexpr size_t kLargeGuard = 1 << 20;
constexpr size_t kFreedRemembered = 1 << 16;
constexpr uintptr_t kHighestAddress = uintptr_t{1} << 47;

uintptr_t round_up(uintptr_t value, uintptr_t unit) { return (value + unit - 1) / unit * unit; }

void* map_sparse(size_t size) {
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

std::string hex(uintptr_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string of_allocation(const Allocation& a) {
  return std::string("a ") + name_of(a.kind) + " allocation of " + std::to_string(a.size) + " bytes at " + hex(a.base);
}

// Bits [begin, end) of a bitmap, to `on`. Other threads may change neighbouring bits, so partial bytes are changed atomically.
void set_bits(uint8_t* bits, size_t begin, size_t end, bool on) {
  auto change = [&](size_t index, uint8_t mask) {
    uint8_t* byte = bits + index;
    if (!on) __atomic_fetch_and(byte, static_cast<uint8_t>(~mask), __ATOMIC_RELAXED);
    else if ((__atomic_load_n(byte, __ATOMIC_RELAXED) & mask) != mask) __atomic_fetch_or(byte, mask, __ATOMIC_RELAXED);
  };
  const size_t first = begin / 8, last = end / 8;
  const uint8_t head = static_cast<uint8_t>(0xff << (begin % 8)), tail = static_cast<uint8_t>((1u << (end % 8)) - 1);
  if (first == last) {
    if (head & tail) change(first, head & tail);
    return;
  }
  change(first, head);
  if (last > first + 1) std::memset(bits + first + 1, on ? 0xff : 0, last - first - 1);
  if (tail) change(last, tail);
}

bool bit(const uint8_t* bits, size_t index) { return __atomic_load_n(bits + index / 8, __ATOMIC_RELAXED) >> (index % 8) & 1; }

}  // namespace

const char* name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Device: return "device";
    case MemoryKind::HostPinned: return "pinned host";
    case MemoryKind::Managed: return "managed";
    case MemoryKind::Registered: return "registered host";
    case MemoryKind::Image: return "code object";
  }
  return "unknown";
}

const Allocation* Ranges::find(uintptr_t address) const {
  auto after = std::upper_bound(live.begin(), live.end(), address, [](uintptr_t a, const Allocation& r) { return a < r.base; });
  if (after == live.begin()) return nullptr;
  const Allocation& candidate = *std::prev(after);
  return address < candidate.end() ? &candidate : nullptr;
}

Memory& Memory::instance() {
  static Memory* memory = new Memory;  // never destroyed: other libraries' destructors may still free
  return *memory;
}

Memory::Memory() {
  auto on = [](const char* name) {
    const char* value = std::getenv(name);
    return value && *value && std::strcmp(value, "0") != 0;
  };
  tracking_ = true;  // strict mode may be switched on for any later launch
  all_host_memory_ = on("GFX950_EMU_ALL_HOST_MEMORY");
}

void Memory::set_all_host_memory(bool on) {
  std::lock_guard lock(mutex_);
  all_host_memory_ = on;
  publish();
}

void Memory::publish() { version_.fetch_add(1, std::memory_order_release); }

std::shared_ptr<const Ranges> Memory::ranges() const {
  std::lock_guard lock(mutex_);
  const uint64_t version = version_.load();
  if (!ranges_ || ranges_->version != version) {
    auto fresh = std::make_shared<Ranges>();
    fresh->version = version;
    fresh->live.reserve(live_.size());
    for (const auto& [base, allocation] : live_) fresh->live.push_back(allocation);
    const_cast<Memory*>(this)->ranges_ = std::move(fresh);
  }
  return ranges_;
}

bool Memory::reserve_arena(size_t size, std::string& error) {
  const size_t count = arena_count_.load();
  if (count == kMaxArenas) {
    error = "out of memory: the address space for device memory is used up";
    return false;
  }
  for (size_t span = size_t{4} << 40; span >= (size_t{1} << 28); span /= 8) {
    if (span < size) break;
    void* shadow = map_sparse(span / 8);
    void* base = shadow ? map_sparse(span) : nullptr;
    if (!base) {
      if (shadow) munmap(shadow, span / 8);
      continue;
    }
    madvise(base, span, MADV_DONTDUMP);
    madvise(shadow, span / 8, MADV_DONTDUMP);
    Arena& arena = arenas_[count];
    arena.base = arena.next = reinterpret_cast<uintptr_t>(base);
    arena.end = arena.base + span;
    arena.next += kGuard;
    arena.shadow = static_cast<uint8_t*>(shadow);
    arena_count_.store(count + 1, std::memory_order_release);
    return true;
  }
  error = "out of memory: the host refused " + std::to_string(size) + " bytes of address space";
  return false;
}

const Memory::Arena* Memory::arena_of(uintptr_t address) const {
  const size_t count = arena_count_.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i)
    if (address >= arenas_[i].base && address < arenas_[i].end) return &arenas_[i];
  return nullptr;
}

void* Memory::allocate(size_t size, MemoryKind kind, int device, std::string& error, unsigned flags) {
  error.clear();
  if (size == 0) return nullptr;
  if (size > kHighestAddress / 4) {
    error = "out of memory: " + std::to_string(size) + " bytes asked for";
    return nullptr;
  }
  std::lock_guard lock(mutex_);
  const size_t guard = size >= kLargeGuard ? kLargeGuard : kGuard;
  const size_t span = round_up(size, kPage) + guard;
  const size_t count = arena_count_.load();
  if (count == 0 || arenas_[count - 1].end - arenas_[count - 1].next < span) {
    if (!reserve_arena(span + kGuard, error)) return nullptr;
  }
  Arena& arena = arenas_[arena_count_.load() - 1];
  Allocation a;
  a.base = arena.next;
  a.size = size;
  a.kind = kind;
  a.device = device;
  a.flags = flags;
  a.id = next_id_++;
  arena.next += span;
  live_.emplace(a.base, a);
  statistics_.live_bytes += size;
  statistics_.live_allocations += 1;
  statistics_.total_allocations += 1;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.live_bytes);
  publish();
  return reinterpret_cast<void*>(a.base);
}

bool Memory::free(void* pointer, std::string& error) {
  error.clear();
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::unique_lock lock(mutex_);
  auto found = live_.find(address);
  if (found == live_.end() || found->second.kind == MemoryKind::Registered) {
    lock.unlock();
    error = "cannot free " + hex(address) + ": it is " + describe(address);
    return false;
  }
  const Allocation was = found->second;
  live_.erase(found);
  freed_[was.base] = was;
  freed_order_.push_back(was.base);
  if (freed_order_.size() > kFreedRemembered) {
    freed_.erase(freed_order_.front());
    freed_order_.pop_front();
  }
  statistics_.live_bytes -= was.size;
  statistics_.live_allocations -= 1;
  statistics_.total_frees += 1;
  publish();
  // The pages stay mapped, so that a kernel still running on stale ranges reads zeros instead of killing the process.
  madvise(reinterpret_cast<void*>(was.base), round_up(was.size, kPage), MADV_DONTNEED);
  return true;
}

bool Memory::register_host(void* pointer, size_t size, int device, std::string& error, unsigned flags) {
  error.clear();
  const auto base = reinterpret_cast<uintptr_t>(pointer);
  if (!pointer || size == 0 || base >= kHighestAddress || size > kHighestAddress - base) {
    error = "cannot register " + std::to_string(size) + " bytes at " + hex(base);
    return false;
  }
  std::lock_guard lock(mutex_);
  auto after = live_.lower_bound(base);
  if ((after != live_.end() && after->second.base < base + size) || (after != live_.begin() && std::prev(after)->second.end() > base)) {
    error = "cannot register " + hex(base) + ": it overlaps memory that is allocated or registered already";
    return false;
  }
  Allocation a;
  a.base = base;
  a.size = size;
  a.kind = MemoryKind::Registered;
  a.device = device;
  a.flags = flags;
  a.id = next_id_++;
  live_.emplace(base, a);
  publish();
  return true;
}

bool Memory::unregister_host(void* pointer, std::string& error) {
  error.clear();
  const auto base = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard lock(mutex_);
  auto found = live_.find(base);
  if (found == live_.end() || found->second.kind != MemoryKind::Registered) {
    error = "cannot unregister " + hex(base) + ": it is not registered";
    return false;
  }
  live_.erase(found);
  publish();
  return true;
}

std::optional<Allocation> Memory::find(const void* pointer) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard lock(mutex_);
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return std::nullopt;
  const Allocation& candidate = std::prev(after)->second;
  if (address >= candidate.end()) return std::nullopt;
  return candidate;
}

std::string Memory::describe(uintptr_t address) const {
  std::lock_guard lock(mutex_);
  auto below = [&](const std::map<uintptr_t, Allocation>& map) -> const Allocation* {
    auto after = map.upper_bound(address);
    return after == map.begin() ? nullptr : &std::prev(after)->second;
  };
  const Allocation* live = below(live_);
  const Allocation* freed = below(freed_);
  if (live && address < live->end()) return "byte " + std::to_string(address - live->base) + " of " + of_allocation(*live);
  if (freed && address < freed->end()) return "byte " + std::to_string(address - freed->base) + " of " + of_allocation(*freed) + ", which was freed";
  if (live && address - live->end() < kLargeGuard && (!freed || freed->base < live->base))
    return std::to_string(address - live->end()) + " bytes past the end of " + of_allocation(*live);
  auto above = live_.upper_bound(address);
  if (above != live_.end() && above->first - address <= kLargeGuard)
    return std::to_string(above->first - address) + " bytes before " + of_allocation(above->second);
  if (freed && address - freed->end() < kLargeGuard)
    return std::to_string(address - freed->end()) + " bytes past the end of " + of_allocation(*freed) + ", which was freed";
  if (address < 4096) return "a null pointer";
  return "in no allocation";
}

MemoryStatistics Memory::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

size_t Memory::live_bytes(int device) const {
  std::lock_guard lock(mutex_);
  size_t total = 0;
  for (const auto& [base, a] : live_)
    if (a.device == device && (a.kind == MemoryKind::Device || a.kind == MemoryKind::Managed || a.kind == MemoryKind::Image)) total += a.size;
  return total;
}

void Memory::mark(const void* pointer, size_t size, bool written) {
  if (!tracking_.load(std::memory_order_relaxed) || size == 0) return;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const Arena* arena = arena_of(address);
  if (arena && size <= arena->end - address) set_bits(arena->shadow, address - arena->base, address - arena->base + size, written);
}

void Memory::copy_written(const void* dst, const void* src, size_t size) {
  if (!tracking_.load(std::memory_order_relaxed)) return;
  const auto from = reinterpret_cast<uintptr_t>(src);
  const Arena* arena = arena_of(from);
  const auto allocation = find(src);
  if (!arena || (allocation && allocation->host_writable())) return mark_written(dst, size);
  const size_t offset = from - arena->base;
  for (size_t i = 0; i < size;) {
    const bool written = bit(arena->shadow, offset + i);
    size_t run = i + 1;
    while (run < size && bit(arena->shadow, offset + run) == written) ++run;
    mark(static_cast<const char*>(dst) + i, run - i, written);
    i = run;
  }
}

bool Memory::is_written(const void* pointer, size_t size, size_t* first_bad) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const Arena* arena = arena_of(address);
  if (!arena) return true;
  const size_t offset = address - arena->base;
  if (size <= 32 && offset % 8 == 0 && size % 8 == 0) {  // the common case: whole bytes of the bitmap
    bool all = true;
    for (size_t i = 0; i < size / 8; ++i) all &= __atomic_load_n(arena->shadow + offset / 8 + i, __ATOMIC_RELAXED) == 0xff;
    if (all) return true;
  }
  for (size_t i = 0; i < size; ++i) {
    if (!bit(arena->shadow, offset + i)) {
      if (first_bad) *first_bad = i;
      return false;
    }
  }
  return true;
}

}  // namespace gfx950
