// Memory pools. Basic: a pool counts what it gave out; memory goes back to the device when it is freed, not into the pool.
#pragma once

#include <memory>
#include <mutex>

#include "api/devices.h"
#include "api/registry.h"

namespace gfx950::api {

struct Pool {
  int device = 0;
  bool is_default = false;
  hipMemPool_t handle = nullptr;
  std::mutex mutex;
  uint64_t used = 0, high = 0, release_threshold = 0;
  int reuse[3] = {1, 1, 1};  // the three reuse attributes: kept, without effect
};

Registry<hipMemPool_t, Pool, Kind::Pool>& pools();
std::shared_ptr<Pool> current_pool(int device);

}  // namespace gfx950::api
