// Building texts for errors and the call log.
#pragma once

#include <sstream>
#include <string>

namespace gfx950::api {

struct Hex {
  uint64_t value;
};
inline Hex hex(const volatile void* pointer) { return {reinterpret_cast<uint64_t>(pointer)}; }
template <class T>
Hex hex(T* pointer) {
  return {reinterpret_cast<uint64_t>(pointer)};
}
inline Hex hex(uint64_t value) { return {value}; }

inline std::ostream& operator<<(std::ostream& out, Hex hex) {
  return out << "0x" << std::hex << hex.value << std::dec;
}

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace gfx950::api
