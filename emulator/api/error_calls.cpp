// The calls that ask about errors. Names and texts are pure functions: they neither initialise the runtime nor change the last error.
#include "api/call.h"

using namespace gfx950::api;

HIP_EXPORT const char* hipGetErrorName(hipError_t code) { return error_name(code); }
HIP_EXPORT const char* hipGetErrorString(hipError_t code) { return error_string(code); }

HIP_EXPORT hipError_t hipDrvGetErrorName(hipError_t code, const char** name) {
  if (!name) return hipErrorInvalidValue;
  *name = error_name(code);
  return hipSuccess;
}

HIP_EXPORT hipError_t hipDrvGetErrorString(hipError_t code, const char** string) {
  if (!string) return hipErrorInvalidValue;
  *string = error_string(code);
  return hipSuccess;
}

namespace {
// These answer with an error that is not theirs, so call() is not for them.
hipError_t ask(const char* name, hipError_t (*answer)()) {
  std::string why;
  if (!enter(why)) return detail::refuse(name, why);
  const hipError_t code = answer();
  if (log_open()) log_line(call_line(name, false, error_name(code)));
  return code;
}
}  // namespace

HIP_EXPORT hipError_t hipGetLastError() { return ask("hipGetLastError", take_last_error); }
HIP_EXPORT hipError_t hipExtGetLastError() { return ask("hipExtGetLastError", take_last_error); }
HIP_EXPORT hipError_t hipPeekAtLastError() { return ask("hipPeekAtLastError", last_error); }
