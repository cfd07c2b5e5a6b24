// Results of calls: names and texts of the codes, the last error of a thread, and the text that explains the latest failure.
//
// Owns: what hipGetLastError, hipGetErrorName, hipGetErrorString and gfx950_emu_last_error_text say.
#pragma once

#include <exception>
#include <string>

#include "api/abi.h"

namespace gfx950::api {

// Thrown inside the library, caught once in call() (call.h); never crosses the C boundary.
struct Failure : std::exception {
  hipError_t code;
  std::string text;
  Failure(hipError_t code, std::string text) : code(code), text(std::move(text)) {}
  const char* what() const noexcept override { return text.c_str(); }
};

const char* error_name(hipError_t code);    // "hipErrorUnknown" for codes that do not exist
const char* error_string(hipError_t code);

// The thread's last error: kept until hipGetLastError takes it. hipErrorNotReady is an answer, not an error.
void set_last_error(hipError_t code);
hipError_t last_error();
hipError_t take_last_error();

// The explanation of the newest failure: of this thread's calls, or of asynchronous work of any thread, whichever came later.
void set_error_text(std::string text);         // this thread's
void set_async_error_text(std::string text);   // every thread's
const char* last_error_text();                 // valid until this thread asks again

}  // namespace gfx950::api
