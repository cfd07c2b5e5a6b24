#include "api/properties.h"

#include <cstdio>
#include <cstring>

#include "api/call.h"
#include "api/devices.h"

namespace gfx950::api {
namespace {

constexpr unsigned kAllFeatures = 0xffff;  // atomics, doubles, votes, shuffles, fences, 3-D grids; not dynamic parallelism

template <size_t N, class... Values>
void fill(int (&array)[N], Values... values) {
  const int given[] = {values...};
  for (size_t i = 0; i < N; ++i) array[i] = given[i < sizeof...(values) ? i : sizeof...(values) - 1];
}

void fill_images(Properties& p) {
  p.texture_1d = p.texture_1d_mipmap = 16384;
  p.texture_1d_linear = 1 << 27;
  fill(p.texture_2d, 16384);
  fill(p.texture_3d, 16384, 16384, 8192);
  p.texture_alignment = p.texture_pitch_alignment = p.surface_alignment = 256;
}

}  // namespace

Properties properties_of(int ordinal) {
  const Device& device = api::device(ordinal);
  Properties p{};
  std::snprintf(p.name, sizeof p.name, "AMD Instinct MI355X");
  std::snprintf(p.architecture, sizeof p.architecture, "%s", kArchitecture);
  char id[17];
  std::snprintf(id, sizeof id, "9509500000000%03d", device.physical);
  std::memcpy(p.uuid, id, 16);
  p.total_memory = kDeviceMemory;
  p.lds_per_block = p.lds_per_block_optin = p.lds_per_cu = p.max_lds_per_cu = kLdsBytes;
  p.registers_per_block = p.registers_per_cu = 131072;
  p.warp_size = kWaveLanes;
  p.memory_pitch = p.constant_memory = 2147483647;
  p.threads_per_block = kMaxBlockThreads;
  fill(p.block_dim, 1024);
  fill(p.grid_dim, static_cast<int>(kMaxGridX), static_cast<int>(kMaxGridYZ));
  p.clock_khz = 2'400'000;
  p.memory_clock_khz = 2'000'000;
  p.memory_bus_bits = 8192;
  p.timer_khz = 100'000;
  p.major = 9;
  p.minor = 5;
  p.compute_units = environment().compute_units;
  p.l2_bytes = 4 << 20;
  p.threads_per_cu = 2048;
  p.blocks_per_cu = 32;
  p.async_engines = 8;
  p.pci_bus = 5 + 16 * (device.physical % 15);
  p.can_map_host = p.concurrent_kernels = p.ecc = p.unified_addressing = p.stream_priorities = p.device_overlap = 1;
  p.managed_memory = p.host_pointer_for_registered = p.host_register = p.memory_pools = p.large_bar = 1;
  p.concurrent_managed_access = p.unified_function_pointers = 1;
  p.pageable_access = p.pageable_uses_host_tables = environment().all_host_memory;
  p.single_to_double_ratio = 2;
  p.feature_bits = kAllFeatures;
  fill_images(p);
  return p;
}

namespace {

OldProperties old_properties_of(int ordinal) {
  const Properties p = properties_of(ordinal);
  OldProperties o{};
  std::memcpy(o.name, p.name, sizeof o.name);
  std::memcpy(o.architecture, p.architecture, sizeof o.architecture);
  o.total_memory = p.total_memory, o.lds_per_block = p.lds_per_block, o.registers_per_block = p.registers_per_block, o.warp_size = p.warp_size;
  o.threads_per_block = p.threads_per_block;
  std::memcpy(o.block_dim, p.block_dim, sizeof o.block_dim);
  std::memcpy(o.grid_dim, p.grid_dim, sizeof o.grid_dim);
  o.clock_khz = p.clock_khz, o.memory_clock_khz = p.memory_clock_khz, o.memory_bus_bits = p.memory_bus_bits, o.constant_memory = p.constant_memory;
  o.major = p.major, o.minor = p.minor, o.compute_units = p.compute_units, o.l2_bytes = p.l2_bytes, o.threads_per_cu = p.threads_per_cu;
  o.timer_khz = p.timer_khz, o.feature_bits = p.feature_bits, o.concurrent_kernels = p.concurrent_kernels, o.pci_bus = p.pci_bus;
  o.max_lds_per_cu = p.max_lds_per_cu, o.can_map_host = p.can_map_host, o.gcn_number = 950, o.cooperative_launch = p.cooperative_launch;
  o.texture_1d = p.texture_1d, o.texture_1d_linear = p.texture_1d_linear;
  std::memcpy(o.texture_2d, p.texture_2d, sizeof o.texture_2d);
  std::memcpy(o.texture_3d, p.texture_3d, sizeof o.texture_3d);
  o.memory_pitch = p.memory_pitch, o.texture_alignment = p.texture_alignment, o.texture_pitch_alignment = p.texture_pitch_alignment, o.ecc = p.ecc;
  o.large_bar = p.large_bar, o.managed_memory = p.managed_memory, o.concurrent_managed_access = p.concurrent_managed_access;
  o.pageable_access = p.pageable_access, o.pageable_uses_host_tables = p.pageable_uses_host_tables;
  return o;
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipGetDevicePropertiesR0600(Properties* properties, int device) {
  return call("hipGetDevicePropertiesR0600", [&] { return *need(properties, "the properties pointer") = properties_of(device), hipSuccess; }, arg("device", device));
}

HIP_EXPORT hipError_t hipGetDevicePropertiesR0000(OldProperties* properties, int device) {
  return call("hipGetDevicePropertiesR0000", [&] { return *need(properties, "the properties pointer") = old_properties_of(device), hipSuccess; }, arg("device", device));
}

HIP_EXPORT hipError_t hipGetDeviceProperties(OldProperties* properties, int device) {
  return call("hipGetDeviceProperties", [&] { return *need(properties, "the properties pointer") = old_properties_of(device), hipSuccess; }, arg("device", device));
}

namespace {
// All devices are alike, so the first fits whenever any does.
hipError_t choose(const char* name, int* device, const void* wanted) {
  return call(name, [&] {
    need(wanted, "the properties");
    return *need(device, "the device pointer") = gfx950::api::device(0).ordinal, hipSuccess;
  }, out("device", device));
}
}  // namespace

HIP_EXPORT hipError_t hipChooseDeviceR0600(int* device, const Properties* wanted) { return choose("hipChooseDeviceR0600", device, wanted); }
HIP_EXPORT hipError_t hipChooseDeviceR0000(int* device, const OldProperties* wanted) { return choose("hipChooseDeviceR0000", device, wanted); }
HIP_EXPORT hipError_t hipChooseDevice(int* device, const OldProperties* wanted) { return choose("hipChooseDevice", device, wanted); }
