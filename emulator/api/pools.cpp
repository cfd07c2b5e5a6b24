#include "api/pools.h"

#include <map>

#include "api/allocation.h"
#include "api/call.h"
#include "api/capture.h"

namespace gfx950::api {

Registry<hipMemPool_t, Pool, Kind::Pool>& pools() {
  static auto* registry = new Registry<hipMemPool_t, Pool, Kind::Pool>;
  return *registry;
}

namespace {

// Which pool an allocation came from, while it lives.
struct Origins {
  std::mutex mutex;
  std::map<void*, std::pair<std::shared_ptr<Pool>, size_t>> by_pointer;
};
Origins& origins() {
  static auto* origins = new Origins;
  return *origins;
}

std::shared_ptr<Pool> default_pool(int ordinal) {
  Device& device = api::device(ordinal);
  std::lock_guard lock(device.order);
  if (!device.default_pool) {
    auto pool = std::make_shared<Pool>();
    pool->device = ordinal;
    pool->is_default = true;
    pool->handle = pools().add(pool);
    device.default_pool = pool;
    if (!device.current_pool) device.current_pool = pool;
  }
  return device.default_pool;
}

void give_back(void* pointer) {
  std::lock_guard lock(origins().mutex);
  auto at = origins().by_pointer.find(pointer);
  if (at == origins().by_pointer.end()) return;
  auto& [pool, size] = at->second;
  std::lock_guard pool_lock(pool->mutex);
  pool->used -= size;
  origins().by_pointer.erase(at);
}

class AllocateWork : public EmptyWork {  // the memory exists from the call on; the node stands for its place in the order
 public:
  AllocateWork(void* pointer, size_t size) : pointer(pointer), size(size) {}
  hipGraphNodeType type() const override { return hipGraphNodeTypeMemAlloc; }
  std::string describe() const override { return text("allocation of ", size, " bytes at ", hex(pointer)); }
  void* const pointer;
  const size_t size;
};

class FreeWork : public Work {
 public:
  explicit FreeWork(void* pointer) : pointer(pointer) {}
  Outcome run() const override {
    give_back(pointer);
    std::string error;
    if (!Memory::instance().free(pointer, error)) return {hipErrorInvalidValue, text("hipFreeAsync: ", error)};
    return {};
  }
  hipGraphNodeType type() const override { return hipGraphNodeTypeMemFree; }
  std::string describe() const override { return text("free of ", hex(pointer)); }
  void* const pointer;
};

// In a graph the memory lives as long as the graph, since each launch uses the same address.
class GraphFreeWork : public EmptyWork {
 public:
  explicit GraphFreeWork(void* pointer) : pointer(pointer) {}
  hipGraphNodeType type() const override { return hipGraphNodeTypeMemFree; }
  std::string describe() const override { return text("free of ", hex(pointer)); }
  void* const pointer;
};

class OwnedAllocateWork : public AllocateWork {
 public:
  using AllocateWork::AllocateWork;
  ~OwnedAllocateWork() override {
    give_back(pointer);
    std::string ignored;
    Memory::instance().free(pointer, ignored);
  }
};

hipError_t allocate_async(const char* name, void** where, size_t size, const std::shared_ptr<Pool>& pool, Stream& stream) {
  need(where, "the pointer to the result");
  *where = nullptr;
  if (!size) return hipSuccess;
  auto session = capturing(stream);
  if (!session) forbid_implicit_dependency(stream, name);
  *where = allocate(size, MemoryKind::Device, pool->device);
  {
    std::lock_guard lock(origins().mutex);
    origins().by_pointer[*where] = {pool, size};
    std::lock_guard pool_lock(pool->mutex);
    pool->used += size;
    pool->high = std::max(pool->high, pool->used);
  }
  if (session) issue(stream, std::make_shared<OwnedAllocateWork>(*where, size), name);
  return hipSuccess;
}

hipError_t free_async(void* pointer, Stream& stream) {
  if (!pointer) throw Failure(hipErrorInvalidValue, "the pointer is null");
  const auto allocation = Memory::instance().find(pointer);
  if (!allocation || allocation->base != reinterpret_cast<uintptr_t>(pointer) || allocation->kind != MemoryKind::Device)
    throw Failure(hipErrorInvalidValue, text(hex(pointer), " is not the start of device memory: ", Memory::instance().describe(reinterpret_cast<uintptr_t>(pointer))));
  if (capturing(stream)) issue(stream, std::make_shared<GraphFreeWork>(pointer), "hipFreeAsync");
  else issue(stream, std::make_shared<FreeWork>(pointer), "hipFreeAsync");
  return hipSuccess;
}

std::shared_ptr<Pool> pool_at(const hipMemLocation* location) {
  if (need(location, "the location")->type != 1) throw Failure(hipErrorNotSupported, "the gfx950 emulator has memory pools of devices only");
  return current_pool(location->id);
}

uint64_t* counter(Pool& pool, int attribute) {
  switch (attribute) {
    case hipMemPoolAttrReleaseThreshold: return &pool.release_threshold;
    case hipMemPoolAttrReservedMemCurrent:
    case hipMemPoolAttrUsedMemCurrent: return &pool.used;
    case hipMemPoolAttrReservedMemHigh:
    case hipMemPoolAttrUsedMemHigh: return &pool.high;
    default: return nullptr;
  }
}

[[noreturn]] void no_such_attribute(int attribute) { throw Failure(hipErrorInvalidValue, text("memory pool attribute ", attribute, " does not exist or cannot be set")); }

}  // namespace

std::shared_ptr<Pool> current_pool(int ordinal) {
  auto fallback = default_pool(ordinal);
  Device& device = api::device(ordinal);
  std::lock_guard lock(device.order);
  return device.current_pool ? device.current_pool : fallback;
}

}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipMallocAsync(void** pointer, size_t size, hipStream_t stream) {
  return call("hipMallocAsync", [&] {
    auto resolved = resolve_stream(stream);
    return allocate_async("hipMallocAsync", pointer, size, current_pool(resolved->device), *resolved);
  }, out("pointer", pointer), arg("size", size), arg("stream", stream));
}
HIP_EXPORT hipError_t hipMallocFromPoolAsync(void** pointer, size_t size, hipMemPool_t pool, hipStream_t stream) {
  return call("hipMallocFromPoolAsync", [&] { return allocate_async("hipMallocFromPoolAsync", pointer, size, pools().need(pool), *resolve_stream(stream)); },
              out("pointer", pointer), arg("size", size), arg("pool", pool), arg("stream", stream));
}
HIP_EXPORT hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  return call("hipFreeAsync", [&] { return free_async(pointer, *resolve_stream(stream)); }, arg("pointer", pointer), arg("stream", stream));
}

HIP_EXPORT hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) {
  return call("hipDeviceGetDefaultMemPool", [&] { return *need(pool, "the pool pointer") = default_pool(device)->handle, hipSuccess; }, out("pool", pool), arg("device", device));
}
HIP_EXPORT hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device) {
  return call("hipDeviceGetMemPool", [&] { return *need(pool, "the pool pointer") = current_pool(device)->handle, hipSuccess; }, out("pool", pool), arg("device", device));
}
HIP_EXPORT hipError_t hipDeviceSetMemPool(int ordinal, hipMemPool_t pool) {
  return call("hipDeviceSetMemPool", [&] {
    auto resolved = pools().need(pool);
    Device& owner = device(ordinal);
    if (resolved->device != ordinal) throw Failure(hipErrorInvalidDevice, text("the pool belongs to device ", resolved->device));
    std::lock_guard lock(owner.order);
    return owner.current_pool = resolved, hipSuccess;
  }, arg("device", ordinal), arg("pool", pool));
}
HIP_EXPORT hipError_t hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* properties) {
  return call("hipMemPoolCreate", [&] {
    need(pool, "the pool pointer");
    const hipMemPoolProps& p = *need(properties, "the properties");
    if (p.allocType != 1 || p.location.type != 1) throw Failure(hipErrorInvalidValue, "a pool holds pinned (1) allocations at a device (1)");
    if (p.handleTypes) not_supported("hipMemPoolCreate", "pools that are shared between processes");
    auto made = std::make_shared<Pool>();
    made->device = device(p.location.id).ordinal;
    return *pool = made->handle = pools().add(made), hipSuccess;
  }, out("pool", pool));
}
HIP_EXPORT hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  return call("hipMemPoolDestroy", [&] {
    auto resolved = pools().need(pool);
    if (resolved->is_default) throw Failure(hipErrorInvalidValue, "a device's default pool cannot be destroyed");
    Device& owner = device(resolved->device);
    std::lock_guard lock(owner.order);
    if (owner.current_pool == resolved) owner.current_pool = owner.default_pool;
    return pools().remove(pool), hipSuccess;
  }, arg("pool", pool));
}
HIP_EXPORT hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t bytes) {
  return call("hipMemPoolTrimTo", [&] { return pools().need(pool), hipSuccess; }, arg("pool", pool), arg("bytes", bytes));
}
HIP_EXPORT hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, int attribute, void* value) {
  return call("hipMemPoolGetAttribute", [&] {
    auto resolved = pools().need(pool);
    need(value, "the value pointer");
    std::lock_guard lock(resolved->mutex);
    if (attribute >= 1 && attribute <= 3) *static_cast<int*>(value) = resolved->reuse[attribute - 1];
    else if (const uint64_t* number = counter(*resolved, attribute)) *static_cast<uint64_t*>(value) = *number;
    else no_such_attribute(attribute);
    return hipSuccess;
  }, arg("pool", pool), arg("attribute", attribute));
}
HIP_EXPORT hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, int attribute, void* value) {
  return call("hipMemPoolSetAttribute", [&] {
    auto resolved = pools().need(pool);
    need(value, "the value pointer");
    std::lock_guard lock(resolved->mutex);
    if (attribute >= 1 && attribute <= 3) resolved->reuse[attribute - 1] = *static_cast<int*>(value);
    else if (attribute == hipMemPoolAttrReleaseThreshold) resolved->release_threshold = *static_cast<uint64_t*>(value);
    else if (attribute == hipMemPoolAttrReservedMemHigh || attribute == hipMemPoolAttrUsedMemHigh) resolved->high = resolved->used;
    else no_such_attribute(attribute);
    return hipSuccess;
  }, arg("pool", pool), arg("attribute", attribute));
}
HIP_EXPORT hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* list, size_t count) {
  return call("hipMemPoolSetAccess", [&] {
    pools().need(pool);
    for (size_t i = 0; i < count; ++i) device(need(list, "the list")[i].location.id);
    return hipSuccess;
  }, arg("pool", pool), arg("count", count));
}
HIP_EXPORT hipError_t hipMemPoolGetAccess(int* flags, hipMemPool_t pool, hipMemLocation* location) {
  return call("hipMemPoolGetAccess", [&] {
    pools().need(pool);
    device(need(location, "the location")->id);
    return *need(flags, "the flags pointer") = 3, hipSuccess;  // every device reads and writes every other's memory
  }, arg("pool", pool));
}
HIP_EXPORT hipError_t hipMemGetMemPool(hipMemPool_t* pool, hipMemLocation* location, int) {
  return call("hipMemGetMemPool", [&] { return *need(pool, "the pool pointer") = pool_at(location)->handle, hipSuccess; }, out("pool", pool));
}
HIP_EXPORT hipError_t hipMemGetDefaultMemPool(hipMemPool_t* pool, hipMemLocation* location, int) {
  return call("hipMemGetDefaultMemPool", [&] { return pool_at(location), *need(pool, "the pool pointer") = default_pool(location->id)->handle, hipSuccess; }, out("pool", pool));
}
