// Questions about host addresses that must not end in a crash.
#pragma once

#include <cstddef>

namespace gfx950::api {

// True when every byte can be read (asked of the kernel, page by page, without touching the bytes here).
bool host_readable(const void* pointer, size_t bytes);
// True for addresses that the emulator hands out as device memory, live or not.
bool in_device_space(const void* pointer);

}  // namespace gfx950::api
