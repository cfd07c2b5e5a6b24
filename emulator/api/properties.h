// The device-properties structs that programs were compiled against: R0600 (HIP 6 and 7) and R0000 (the unversioned name).
#pragma once

#include <cstddef>

namespace gfx950::api {

struct Properties {  // hipDeviceProp_tR0600
  char name[256];
  char uuid[16], luid[8];
  unsigned luid_node_mask;
  size_t total_memory, lds_per_block;
  int registers_per_block, warp_size;
  size_t memory_pitch;
  int threads_per_block, block_dim[3], grid_dim[3], clock_khz;
  size_t constant_memory;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int device_overlap, compute_units, timeout_enabled, integrated, can_map_host, compute_mode;
  int texture_1d, texture_1d_mipmap, texture_1d_linear, texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2], texture_3d[3],
      texture_3d_alternate[3], texture_cube, texture_1d_layered[2], texture_2d_layered[3], texture_cube_layered[2];
  int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cube, surface_cube_layered[2];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc_driver, async_engines, unified_addressing, memory_clock_khz, memory_bus_bits, l2_bytes,
      persisting_l2_bytes, threads_per_cu, stream_priorities, global_l1, local_l1;
  size_t lds_per_cu;
  int registers_per_cu, managed_memory, multi_gpu_board, multi_gpu_group, host_native_atomics, single_to_double_ratio, pageable_access,
      concurrent_managed_access, compute_preemption, host_pointer_for_registered, cooperative_launch, cooperative_multi_launch;
  size_t lds_per_block_optin;
  int pageable_uses_host_tables, direct_managed_from_host, blocks_per_cu, access_policy_window;
  size_t reserved_lds;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools, rdma;
  unsigned rdma_flush_options;
  int rdma_ordering;
  unsigned pool_handle_types;
  int deferred_mapping, ipc_events, cluster_launch, unified_function_pointers;
  int reserved[63], hip_reserved[32];
  char architecture[256];
  size_t max_lds_per_cu;
  int timer_khz;
  unsigned feature_bits;
  unsigned *hdp_memory_flush, *hdp_register_flush;
  int unmatched_function, unmatched_grid, unmatched_block, unmatched_lds, large_bar, asic_revision;
};
static_assert(sizeof(Properties) == 1472);

struct OldProperties {  // hipDeviceProp_tR0000
  char name[256];
  size_t total_memory, lds_per_block;
  int registers_per_block, warp_size, threads_per_block, block_dim[3], grid_dim[3], clock_khz, memory_clock_khz, memory_bus_bits;
  size_t constant_memory;
  int major, minor, compute_units, l2_bytes, threads_per_cu, compute_mode, timer_khz;
  unsigned feature_bits;
  int concurrent_kernels, pci_domain, pci_bus, pci_device;
  size_t max_lds_per_cu;
  int multi_gpu_board, can_map_host, gcn_number;
  char architecture[256];
  int integrated, cooperative_launch, cooperative_multi_launch, texture_1d_linear, texture_1d, texture_2d[2], texture_3d[3];
  unsigned *hdp_memory_flush, *hdp_register_flush;
  size_t memory_pitch, texture_alignment, texture_pitch_alignment;
  int timeout_enabled, ecc, tcc_driver, unmatched_function, unmatched_grid, unmatched_block, unmatched_lds, large_bar, asic_revision, managed_memory,
      direct_managed_from_host, concurrent_managed_access, pageable_access, pageable_uses_host_tables;
};

Properties properties_of(int ordinal);  // throws for a device that does not exist

}  // namespace gfx950::api
