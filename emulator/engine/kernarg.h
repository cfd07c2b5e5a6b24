// The arguments that a compiler adds behind the program's own: grid and block sizes, offsets, bases of the apertures.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace gfx950 {

// `bytes` is the whole kernarg segment. Services of a real runtime (hostcall, heap, queues) get null pointers.
bool fill_hidden_arguments(const LaunchRequest& request, std::vector<std::byte>& bytes, std::string& error);

}  // namespace gfx950
