// A strict little MessagePack reader for code object metadata. Refuses truncated input, deep nesting and extension types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gfx950::msgpack {

struct Entry;

struct Value {
  enum Kind { Nil, Bool, Integer, Float, String, Array, Map } kind = Nil;
  int64_t integer = 0;  // Bool and Integer
  double real = 0;
  std::string string;
  std::vector<Value> array;
  std::vector<Entry> map;  // keys that are no strings are refused

  Value();
  ~Value();
  Value(Value&&) noexcept;
  Value& operator=(Value&&) noexcept;

  const Value* get(const char* key) const;
  int64_t integer_or(const char* key, int64_t otherwise) const;
  std::string string_or(const char* key, const std::string& otherwise) const;
};

struct Entry {
  std::string key;
  Value value;
};

// False with the reason in `error`.
bool parse(const uint8_t* data, size_t size, Value& value, std::string& error);

}  // namespace gfx950::msgpack
