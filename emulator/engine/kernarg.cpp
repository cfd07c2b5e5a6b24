#include "engine/kernarg.h"

#include <cstring>

namespace gfx950 {

bool fill_hidden_arguments(const LaunchRequest& request, std::vector<std::byte>& bytes, std::string& error) {
  const Kernel& kernel = *request.kernel;
  auto put = [&](const KernelArgument& a, uint64_t value) {
    std::memcpy(bytes.data() + a.offset, &value, a.size < 8 ? a.size : 8);
  };
  const uint32_t blocks[3] = {request.workgroups.x, request.workgroups.y, request.workgroups.z};
  const uint32_t sizes[3] = {request.block.x, request.block.y, request.block.z};
  for (const auto& a : kernel.args) {
    const std::string& kind = a.value_kind;
    if (!kind.starts_with("hidden_")) continue;
    const int axis = kind.empty() ? 0 : kind.back() - 'x';
    if (kind.starts_with("hidden_block_count_")) put(a, blocks[axis]);
    else if (kind.starts_with("hidden_group_size_")) put(a, sizes[axis]);
    else if (kind.starts_with("hidden_remainder_")) put(a, 0);
    else if (kind.starts_with("hidden_global_offset_")) put(a, 0);
    else if (kind == "hidden_grid_dims") put(a, blocks[2] * sizes[2] > 1 ? 3 : blocks[1] * sizes[1] > 1 ? 2 : 1);
    else if (kind == "hidden_dynamic_lds_size") put(a, request.dynamic_lds_bytes);
    else if (kind == "hidden_shared_base") put(a, uint64_t{1} << 16);
    else if (kind == "hidden_private_base") put(a, uint64_t{2} << 16);
    else if (kind == "hidden_none" || kind == "hidden_printf_buffer" || kind == "hidden_hostcall_buffer" || kind == "hidden_default_queue" ||
             kind == "hidden_completion_action" || kind == "hidden_multigrid_sync_arg" || kind == "hidden_heap_v1" || kind == "hidden_queue_ptr") put(a, 0);
    else {
      error = "kernel " + kernel.name + " wants the hidden argument " + kind + ", which the emulator does not provide";
      return false;
    }
  }
  return true;
}

}  // namespace gfx950
