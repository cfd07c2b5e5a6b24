// Functions of the HIP API that the emulator does not implement: each is there, says so by name, and answers hipErrorNotSupported.
//
// Owns: unsupported.def, one NAME(function, why) a line. tests/emulator/api/test_exports.py checks that it and the implemented functions
//       together are all that the hip-python packages know.
#include <unistd.h>

#include <atomic>

#include "api/call.h"

namespace gfx950::api {
namespace {

hipError_t refuse(const char* name, const char* why, std::atomic<bool>& said) {
  return call(name, [&]() -> hipError_t {
    if (!said.exchange(true)) {
      const std::string line = text("gfx950 emulator: ", name, " is not implemented", *why ? ": " : "", why, "\n");
      [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    }
    not_supported(name, why);
  });
}

}  // namespace
}  // namespace gfx950::api

// The arguments do not matter: the caller owns their places in the calling convention.
#define NAME(FUNCTION, WHY)                                         \
  HIP_EXPORT hipError_t FUNCTION() {                                \
    static std::atomic<bool> said{false};                           \
    return gfx950::api::refuse(#FUNCTION, WHY, said);               \
  }
#include "api/unsupported.def"
#undef NAME
