// Allocation with this API's codes: throws Failure instead of returning null.
#pragma once

#include "api/devices.h"
#include "memory/memory.h"

namespace gfx950::api {

void* allocate(size_t size, MemoryKind kind, int device, unsigned flags = 0);  // null for size 0
void free_memory(void* pointer);

}  // namespace gfx950::api
