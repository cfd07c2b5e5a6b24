// The devices: how many, which is current in this thread, and what each owns.
//
// Owns:    per device its legacy default stream, the list of its streams, its peers, its primary context's flags.
// Refuses: ordinals that do not exist, with how many there are.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "api/abi.h"

namespace gfx950::api {

class Stream;
struct Pool;

struct Device {
  int ordinal = 0;   // as the program counts
  int physical = 0;  // before HIP_VISIBLE_DEVICES
  std::mutex order;  // makes "look at the other streams, then submit" one step
  std::shared_ptr<Stream> legacy;                  // made at first use
  std::vector<std::weak_ptr<Stream>> streams;      // all but the legacy one
  std::shared_ptr<Pool> default_pool, current_pool;
  std::set<int> peers;
  std::atomic<unsigned> flags{0};
  std::atomic<int> cache_config{0}, shared_config{0};
  std::atomic<size_t> limits[3] = {1024, 1 << 20, 8 << 20};  // stack, printf buffer, heap: kept, not enforced
  std::atomic<hipCtx_t> context{nullptr};
  std::atomic<int> context_references{0};
};

int device_count();
Device& device(int ordinal);  // throws hipErrorInvalidDevice, or hipErrorNoDevice when there is none
int current_device();         // throws hipErrorNoDevice when there is none
void set_current_device(int ordinal);
Device& current();

constexpr size_t kDeviceMemory = 309'220'868'096;  // bytes; an MI355X reports 288 GiB less what the firmware keeps
constexpr uint32_t kLdsBytes = 160 * 1024;
constexpr uint32_t kMaxBlockThreads = 1024, kMaxGridX = 2147483647, kMaxGridYZ = 65536, kWaveLanes = 64;
constexpr char kArchitecture[] = "gfx950:sramecc+:xnack-";
constexpr int kRuntimeVersion = 70'253'211;  // 7.2.53211

}  // namespace gfx950::api
