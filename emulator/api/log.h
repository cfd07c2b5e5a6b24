// The call log (GFX950_EMU_LOG=file): one line per API call, `name(argument=value, ...) = result`, appended with one write each.
#pragma once

#include <sstream>
#include <string>
#include <type_traits>

#include "api/abi.h"
#include "api/text.h"

namespace gfx950::api {

extern bool g_log_open;
inline bool log_open() { return g_log_open; }
void open_log(const std::string& path);  // throws Failure
void log_line(const std::string& line);

// One named argument of a call; pointers to results are shown with what they hold after the call.
template <class T>
struct Argument {
  const char* name;
  const T& value;
};
template <class T>
Argument<T> arg(const char* name, const T& value) {
  return {name, value};
}
template <class T>
struct Result {
  const char* name;
  T* where;
};
template <class T>
Result<T> out(const char* name, T* where) {
  return {name, where};
}

template <class T>
void show(std::ostream& stream, const T& value) {
  if constexpr (std::is_same_v<T, const char*> || std::is_same_v<T, char*>) {
    if (value) stream << '"' << value << '"';
    else stream << "null";
  } else if constexpr (std::is_pointer_v<T>) {
    stream << hex(reinterpret_cast<const void*>(value));
  } else if constexpr (std::is_enum_v<T>) {
    stream << static_cast<long long>(value);
  } else if constexpr (std::is_same_v<T, dim3>) {
    stream << '(' << value.x << ", " << value.y << ", " << value.z << ')';
  } else {
    stream << value;
  }
}
template <class T>
void show_argument(std::ostream& stream, bool&, const Argument<T>& argument) {
  stream << argument.name << '=';
  show(stream, argument.value);
}
template <class T>
void show_argument(std::ostream& stream, bool& failed, const Result<T>& result) {
  stream << result.name;
  if (!result.where) {
    stream << "=null";
  } else if (!failed) {
    stream << "->";
    show(stream, *result.where);
  }
}

template <class... Arguments>
std::string call_line(const char* name, [[maybe_unused]] bool failed, const char* result, const Arguments&... arguments) {
  std::ostringstream stream;
  stream << name << '(';
  [[maybe_unused]] const char* separator = "";
  ((stream << separator, show_argument(stream, failed, arguments), separator = ", "), ...);
  stream << ") = " << result;
  return std::move(stream).str();
}

}  // namespace gfx950::api
