// What an atomic does to a value: pure functions of the old value and the operands, shared by LDS and memory.
#pragma once

#include <bit>
#include <cstdint>

#include "numerics/formats.h"
#include "numerics/valu_float.h"

namespace gfx950::isa::atomic {

namespace num = numerics;
template <class T> T swap(T, T data, T) { return data; }
template <class T> T cmpswap(T old, T data, T compare) { return old == compare ? data : old; }
template <class T> T add(T old, T data, T) { return old + data; }
template <class T> T sub(T old, T data, T) { return old - data; }
template <class T> T rsub(T old, T data, T) { return data - old; }
template <class T> T inc(T old, T data, T) { return old >= data ? 0 : old + 1; }
template <class T> T dec(T old, T data, T) { return old == 0 || old > data ? data : old - 1; }
template <class T> T umin(T old, T data, T) { return data < old ? data : old; }
template <class T> T umax(T old, T data, T) { return data > old ? data : old; }
template <class T> T smin(T old, T data, T) { return static_cast<std::make_signed_t<T>>(data) < static_cast<std::make_signed_t<T>>(old) ? data : old; }
template <class T> T smax(T old, T data, T) { return static_cast<std::make_signed_t<T>>(data) > static_cast<std::make_signed_t<T>>(old) ? data : old; }
template <class T> T bit_and(T old, T data, T) { return old & data; }
template <class T> T bit_or(T old, T data, T) { return old | data; }
template <class T> T bit_xor(T old, T data, T) { return old ^ data; }
template <class T> T mskor(T old, T mask, T data) { return (old & ~mask) | data; }

inline uint32_t add_f32(uint32_t old, uint32_t data, uint32_t) { return num::bits_of(num::float_of(old) + num::float_of(data)); }
inline uint32_t min_f32(uint32_t old, uint32_t data, uint32_t) { return num::bits_of(num::min_f32(num::float_of(old), num::float_of(data))); }
inline uint32_t max_f32(uint32_t old, uint32_t data, uint32_t) { return num::bits_of(num::max_f32(num::float_of(old), num::float_of(data))); }
inline uint32_t cmpswap_f32(uint32_t old, uint32_t data, uint32_t compare) { return num::float_of(old) == num::float_of(compare) ? data : old; }
inline uint64_t cmpswap_f64(uint64_t old, uint64_t data, uint64_t compare) { return num::double_of(old) == num::double_of(compare) ? data : old; }
// Each half is written where its new value's top bit is set, without that bit.
inline uint64_t condxchg32(uint64_t old, uint64_t data, uint64_t) {
  uint64_t out = old;
  if (data >> 31 & 1) out = (out & ~uint64_t{0xffffffff}) | (data & 0x7fffffff);
  if (data >> 63) out = (out & 0xffffffff) | (data & 0x7fffffff00000000);
  return out;
}
inline uint64_t add_f64(uint64_t old, uint64_t data, uint64_t) { return num::bits_of(num::double_of(old) + num::double_of(data)); }
inline uint64_t min_f64(uint64_t old, uint64_t data, uint64_t) { return num::bits_of(num::min_f64(num::double_of(old), num::double_of(data))); }
inline uint64_t max_f64(uint64_t old, uint64_t data, uint64_t) { return num::bits_of(num::max_f64(num::double_of(old), num::double_of(data))); }
inline uint32_t pk_add_f16(uint32_t old, uint32_t data, uint32_t) {
  return num::add_f16(static_cast<uint16_t>(old), static_cast<uint16_t>(data)) |
         static_cast<uint32_t>(num::add_f16(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(data >> 16))) << 16;
}
inline uint32_t pk_add_bf16(uint32_t old, uint32_t data, uint32_t) {
  auto one = [](uint32_t a, uint32_t b) -> uint32_t {
    return num::f32_to_bf16(num::bf16_to_f32(static_cast<uint16_t>(a)) + num::bf16_to_f32(static_cast<uint16_t>(b)));
  };
  return one(old & 0xffff, data & 0xffff) | one(old >> 16, data >> 16) << 16;
}

using Op32 = uint32_t (*)(uint32_t old, uint32_t data, uint32_t other);
using Op64 = uint64_t (*)(uint64_t old, uint64_t data, uint64_t other);

struct Operation {
  Op32 op32 = nullptr;
  Op64 op64 = nullptr;
  bool two = false;         // a second operand
  bool compare_first = false;  // memory cmpswap: data in the first register(s), compare in the next
  bool wide = false;           // op64 is the one (sanitizers forbid asking a pointer in a constant expression)
};

}  // namespace gfx950::isa::atomic
