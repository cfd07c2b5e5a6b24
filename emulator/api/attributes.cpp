// hipDeviceGetAttribute: one row per attribute that has a value here.
#include <algorithm>
#include <limits>

#include "api/call.h"
#include "api/devices.h"
#include "api/properties.h"

namespace gfx950::api {
namespace {

int clamp(size_t value) { return static_cast<int>(std::min<size_t>(value, std::numeric_limits<int>::max())); }

struct Row {
  int attribute;
  int (*value)(const Properties&);
};

#define IS(expression) [](const Properties& p) -> int { (void)p; return expression; }
constexpr Row kRows[] = {
    {0, IS(p.ecc)}, {1, IS(p.access_policy_window)}, {2, IS(p.async_engines)}, {3, IS(p.can_map_host)}, {4, IS(p.host_pointer_for_registered)},
    {5, IS(p.clock_khz)}, {6, IS(p.compute_mode)}, {7, IS(p.compute_preemption)}, {8, IS(p.concurrent_kernels)}, {9, IS(p.concurrent_managed_access)},
    {10, IS(p.cooperative_launch)}, {11, IS(p.cooperative_multi_launch)}, {12, IS(p.device_overlap)}, {13, IS(p.direct_managed_from_host)},
    {14, IS(p.global_l1)}, {15, IS(p.host_native_atomics)}, {16, IS(p.integrated)}, {17, IS(p.multi_gpu_board)}, {18, IS(p.timeout_enabled)},
    {19, IS(p.l2_bytes)}, {20, IS(p.local_l1)}, {22, IS(static_cast<int>(p.luid_node_mask))}, {23, IS(p.major)}, {24, IS(p.managed_memory)},
    {25, IS(p.blocks_per_cu)}, {26, IS(p.block_dim[0])}, {27, IS(p.block_dim[1])}, {28, IS(p.block_dim[2])}, {29, IS(p.grid_dim[0])},
    {30, IS(p.grid_dim[1])}, {31, IS(p.grid_dim[2])}, {32, IS(p.surface_1d)}, {39, IS(p.texture_1d)}, {41, IS(p.texture_1d_linear)},
    {42, IS(p.texture_1d_mipmap)}, {43, IS(p.texture_2d[0])}, {44, IS(p.texture_2d[1])}, {49, IS(p.texture_3d[0])}, {50, IS(p.texture_3d[1])},
    {51, IS(p.texture_3d[2])}, {53, IS(p.texture_cube)}, {55, IS(p.block_dim[0])}, {56, IS(p.threads_per_block)}, {57, IS(p.threads_per_cu)},
    {58, IS(clamp(p.memory_pitch))}, {59, IS(p.memory_bus_bits)}, {60, IS(p.memory_clock_khz)}, {61, IS(p.minor)}, {62, IS(p.multi_gpu_group)},
    {63, IS(p.compute_units)}, {65, IS(p.pageable_access)}, {66, IS(p.pageable_uses_host_tables)}, {67, IS(p.pci_bus)}, {68, IS(p.pci_device)},
    {69, IS(p.pci_domain)}, {70, IS(p.persisting_l2_bytes)}, {71, IS(p.registers_per_block)}, {72, IS(p.registers_per_cu)},
    {73, IS(clamp(p.reserved_lds))}, {74, IS(clamp(p.lds_per_block))}, {75, IS(clamp(p.lds_per_block_optin))}, {76, IS(clamp(p.lds_per_cu))},
    {77, IS(p.single_to_double_ratio)}, {78, IS(p.stream_priorities)}, {79, IS(clamp(p.surface_alignment))}, {80, IS(p.tcc_driver)},
    {81, IS(clamp(p.texture_alignment))}, {82, IS(clamp(p.texture_pitch_alignment))}, {83, IS(clamp(p.constant_memory))},
    {84, IS(clamp(p.total_memory))}, {85, IS(p.unified_addressing)}, {87, IS(p.warp_size)}, {88, IS(p.memory_pools)}, {89, IS(0)},
    {90, IS(p.host_register)}, {91, IS(static_cast<int>(p.pool_handle_types))}, {92, IS(0)}, {93, IS(0)}, {94, IS(0)}, {95, IS(0)},
    {10000, IS(p.timer_khz)}, {10002, IS(clamp(p.max_lds_per_cu))}, {10007, IS(p.unmatched_function)}, {10008, IS(p.unmatched_grid)},
    {10009, IS(p.unmatched_block)}, {10010, IS(p.unmatched_lds)}, {10011, IS(p.large_bar)}, {10012, IS(p.asic_revision)}, {10013, IS(1)},
    {10014, IS(0)}, {10015, IS(p.compute_units)}, {10016, IS(1)}, {10017, IS(p.timer_khz)}, {10018, IS(std::max(1, p.compute_units / 32))},
    {10019, IS(512)}, {10020, IS(0x75a3)}, {10021, IS(0)}, {10022, IS(0)},
};
#undef IS

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipDeviceGetAttribute(int* value, int attribute, int device) {
  return call("hipDeviceGetAttribute", [&] {
    const Properties properties = properties_of(device);
    for (const Row& row : kRows)
      if (row.attribute == attribute) return *need(value, "the value pointer") = row.value(properties), hipSuccess;
    throw Failure(hipErrorInvalidValue, text("attribute ", attribute, " is not known to the emulator"));
  }, arg("attribute", attribute), arg("device", device), out("value", value));
}
