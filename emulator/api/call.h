// The one way into the library: every exported function is a call() around its body.
//
// Owns: initialisation and fork check, exceptions turned into codes, the last error, its text, the log line.
#pragma once

#include <new>

#include "api/errors.h"
#include "api/log.h"
#include "api/process.h"

namespace gfx950::api {

namespace detail {
hipError_t refuse(const char* name, const std::string& why);
hipError_t note(const char* name, hipError_t code, const std::string& why);
}  // namespace detail

// Body returns hipError_t (for answers such as hipErrorNotReady) or throws Failure.
template <class Body, class... Arguments>
hipError_t call(const char* name, Body&& body, const Arguments&... arguments) {
  std::string why;
  hipError_t code;
  if (!enter(why)) [[unlikely]]
    return detail::refuse(name, why);
  try {
    code = body();
  } catch (const Failure& failure) {
    code = detail::note(name, failure.code, failure.text);
  } catch (const std::bad_alloc&) {
    code = detail::note(name, hipErrorOutOfMemory, "the host is out of memory");
  } catch (const std::exception& exception) {
    code = detail::note(name, hipErrorUnknown, exception.what());
  }
  if (code != hipSuccess && code != hipErrorNotReady) [[unlikely]]
    set_last_error(code);
  if (log_open()) [[unlikely]]
    log_line(call_line(name, code != hipSuccess, error_name(code), arguments...));
  return code;
}

// For arguments that must not be null.
template <class T>
T* need(T* pointer, const char* what) {
  if (!pointer) [[unlikely]]
    throw Failure(hipErrorInvalidValue, std::string(what) + " is null");
  return pointer;
}

[[noreturn]] void not_supported(const char* name, const char* why);

}  // namespace gfx950::api
