#include "object/msgpack.h"

#include <cstring>
#include <utility>

namespace gfx950::msgpack {

namespace {

constexpr int kMaxDepth = 16;

class Reader {
 public:
  Reader(const uint8_t* data, size_t size, std::string& error) : at_(data), end_(data + size), error_(error) {}

  bool value(Value& out, int depth) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    uint64_t head = 0;
    if (!number(1, head)) return false;
    if (head <= 0x7f) return integer(out, static_cast<int64_t>(head));
    if (head >= 0xe0) return integer(out, static_cast<int8_t>(head));
    if (head <= 0x8f) return map(out, head & 15, depth);
    if (head <= 0x9f) return array(out, head & 15, depth);
    if (head <= 0xbf) return string(out, head & 31);
    uint64_t n = 0;
    switch (head) {
      case 0xc0: out.kind = Value::Nil; return true;
      case 0xc2: case 0xc3:
        out.kind = Value::Bool;
        out.integer = head & 1;
        return true;
      case 0xca: {
        if (!number(4, n)) return false;
        const uint32_t bits = static_cast<uint32_t>(n);
        float f;
        std::memcpy(&f, &bits, 4);
        out.kind = Value::Float;
        out.real = f;
        return true;
      }
      case 0xcb:
        if (!number(8, n)) return false;
        out.kind = Value::Float;
        std::memcpy(&out.real, &n, 8);
        return true;
      case 0xcc: return number(1, n) && integer(out, static_cast<int64_t>(n));
      case 0xcd: return number(2, n) && integer(out, static_cast<int64_t>(n));
      case 0xce: return number(4, n) && integer(out, static_cast<int64_t>(n));
      case 0xcf: return number(8, n) && integer(out, static_cast<int64_t>(n));
      case 0xd0: return number(1, n) && integer(out, static_cast<int8_t>(n));
      case 0xd1: return number(2, n) && integer(out, static_cast<int16_t>(n));
      case 0xd2: return number(4, n) && integer(out, static_cast<int32_t>(n));
      case 0xd3: return number(8, n) && integer(out, static_cast<int64_t>(n));
      case 0xd9: case 0xc4: return number(1, n) && string(out, n);
      case 0xda: case 0xc5: return number(2, n) && string(out, n);
      case 0xdb: case 0xc6: return number(4, n) && string(out, n);
      case 0xdc: return number(2, n) && array(out, n, depth);
      case 0xdd: return number(4, n) && array(out, n, depth);
      case 0xde: return number(2, n) && map(out, n, depth);
      case 0xdf: return number(4, n) && map(out, n, depth);
      default: return fail("unsupported type byte " + std::to_string(head));
    }
  }

 private:
  bool fail(const std::string& why) {
    error_ = "metadata: " + why;
    return false;
  }
  bool number(int bytes, uint64_t& out) {
    if (end_ - at_ < bytes) return fail("truncated");
    out = 0;
    for (int i = 0; i < bytes; ++i) out = out << 8 | *at_++;
    return true;
  }
  static bool integer(Value& out, int64_t n) {
    out.kind = Value::Integer;
    out.integer = n;
    return true;
  }
  bool string(Value& out, uint64_t n) {
    if (static_cast<uint64_t>(end_ - at_) < n) return fail("truncated");
    out.kind = Value::String;
    out.string.assign(reinterpret_cast<const char*>(at_), n);
    at_ += n;
    return true;
  }
  bool array(Value& out, uint64_t n, int depth) {
    if (static_cast<uint64_t>(end_ - at_) < n) return fail("truncated");  // an element takes a byte at least
    out.kind = Value::Array;
    for (uint64_t i = 0; i < n; ++i)
      if (!value(out.array.emplace_back(), depth + 1)) return false;
    return true;
  }
  bool map(Value& out, uint64_t n, int depth) {
    if (static_cast<uint64_t>(end_ - at_) / 2 < n) return fail("truncated");
    out.kind = Value::Map;
    for (uint64_t i = 0; i < n; ++i) {
      Value key;
      if (!value(key, depth + 1)) return false;
      if (key.kind != Value::String) return fail("a key that is no string");
      Entry& entry = out.map.emplace_back();
      entry.key = std::move(key.string);
      if (!value(entry.value, depth + 1)) return false;
    }
    return true;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  std::string& error_;
};

}  // namespace

Value::Value() = default;
Value::~Value() = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(Value&&) noexcept = default;

const Value* Value::get(const char* key) const {
  if (kind != Map) return nullptr;
  for (const auto& [name, value] : map)
    if (name == key) return &value;
  return nullptr;
}

int64_t Value::integer_or(const char* key, int64_t otherwise) const {
  const Value* v = get(key);
  return v && (v->kind == Integer || v->kind == Bool) ? v->integer : otherwise;
}

std::string Value::string_or(const char* key, const std::string& otherwise) const {
  const Value* v = get(key);
  return v && v->kind == String ? v->string : otherwise;
}

bool parse(const uint8_t* data, size_t size, Value& value, std::string& error) { return Reader(data, size, error).value(value, 0); }

}  // namespace gfx950::msgpack
