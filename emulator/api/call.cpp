#include "api/call.h"

#include <cstdio>

namespace gfx950::api {

hipError_t detail::refuse(const char* name, const std::string& why) {
  set_error_text(text(name, ": hipErrorNotInitialized: ", why));
  set_last_error(hipErrorNotInitialized);
  return hipErrorNotInitialized;
}

hipError_t detail::note(const char* name, hipError_t code, const std::string& why) {
  set_error_text(text(name, ": ", error_name(code), ": ", why));
  return code;
}

void not_supported(const char* name, const char* why) {
  throw Failure(hipErrorNotSupported, text("the gfx950 emulator does not implement ", name, why && *why ? ": " : "", why ? why : ""));
}

}  // namespace gfx950::api
