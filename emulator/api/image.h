// Finding where a code object in memory ends: hipModuleLoadData gives an address and no size.
#pragma once

#include <cstddef>

namespace gfx950::api {

struct Image {
  const void* data = nullptr;
  size_t size = 0;
};

// Measures an ELF or an offload bundle at `data`, reading only mapped memory. Throws Failure: hipErrorInvalidImage for what is neither,
// hipErrorNoBinaryForGpu for another architecture. `known_size` (0: unknown) bounds it.
Image measure_image(const void* data, size_t known_size = 0);

}  // namespace gfx950::api
