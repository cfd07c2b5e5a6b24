#include "decode/text.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace gfx950 {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::string current;
  int depth = 0;
  for (char c : text) {
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == separator && depth == 0) {
      if (!current.empty() || separator == ',') out.push_back(current);
      current.clear();
    } else if (!(c == ' ' && current.empty())) {
      current += c;
    }
  }
  if (!current.empty()) out.push_back(current);
  return out;
}

bool is_bare_flag(const std::string& t) {
  static const char* const kFlags[] = {"sc0", "sc1", "nt", "lds", "offen", "idxen", "clamp", "gds", "glc", "slc"};
  for (const char* flag : kFlags)
    if (t == flag) return true;
  return false;
}

bool register_range(const std::string& text, size_t prefix, int& first, int& count) {
  const std::string rest = text.substr(prefix);
  if (rest.empty()) return false;
  char* end = nullptr;
  if (rest[0] == '[') {
    first = static_cast<int>(std::strtol(rest.c_str() + 1, &end, 10));
    count = 1;
    if (*end == ':') {
      const int last = static_cast<int>(std::strtol(end + 1, &end, 10));
      count = last - first + 1;
    }
    return *end == ']' && end[1] == 0 && count >= 1 && first >= 0;
  }
  if (rest[0] < '0' || rest[0] > '9') return false;
  first = static_cast<int>(std::strtol(rest.c_str(), &end, 10));
  count = 1;
  return *end == 0;
}

struct NamedScalar {
  const char* name;
  uint16_t index;
  uint8_t words;
};
constexpr NamedScalar kNamed[] = {
    {"vcc", kVcc, 2}, {"vcc_lo", kVcc, 1}, {"vcc_hi", kVcc + 1, 1}, {"exec", kExec, 2}, {"exec_lo", kExec, 1}, {"exec_hi", kExec + 1, 1},
    {"m0", kM0, 1}, {"flat_scratch", kFlatScratch, 2}, {"flat_scratch_lo", kFlatScratch, 1}, {"flat_scratch_hi", kFlatScratch + 1, 1},
    {"xnack_mask", kXnackMask, 2}, {"xnack_mask_lo", kXnackMask, 1}, {"xnack_mask_hi", kXnackMask + 1, 1},
};
// The apertures of flat addresses: LDS and scratch (assumption: any values outside the address space of devices serve).
struct NamedConstant {
  const char* name;
  uint64_t value;
};
constexpr NamedConstant kConstants[] = {
    {"src_shared_base", uint64_t{1} << 48}, {"src_shared_limit", (uint64_t{1} << 48) + 0xffffffff},
    {"src_private_base", uint64_t{2} << 48}, {"src_private_limit", (uint64_t{2} << 48) + 0xffffffff},
};

uint16_t half_bits(double value) {  // only for inline constants, all of which are representable or 1/(2 pi)
  if (value == 0) return 0;
  const uint16_t sign = value < 0 ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude > 0.159 && magnitude < 0.1592) return sign | 0x3118;
  int exponent;
  const double mantissa = std::frexp(magnitude, &exponent);  // 0.5 <= mantissa < 1
  return static_cast<uint16_t>(sign | (exponent + 14) << 10 | static_cast<int>((mantissa * 2 - 1) * 1024));
}

uint64_t float_bits(double value, Type type) {
  const bool inv_two_pi = std::fabs(value) > 0.159 && std::fabs(value) < 0.1592;
  switch (type) {
    case Type::F16: case Type::PkF16: case Type::U16: case Type::I16: case Type::PkU16: case Type::PkI16: return half_bits(value);
    case Type::F64: case Type::U64: case Type::I64: {
      if (inv_two_pi) return 0x3fc45f306dc9c882ull;
      uint64_t bits;
      std::memcpy(&bits, &value, 8);
      return bits;
    }
    default: {
      if (inv_two_pi) return type == Type::BF16 || type == Type::PkBF16 ? 0x3e22u : 0x3e22f983u;
      const float f = static_cast<float>(value);
      uint32_t bits;
      std::memcpy(&bits, &f, 4);
      return type == Type::BF16 || type == Type::PkBF16 ? bits >> 16 : bits;
    }
  }
}

bool parse_constant(const std::string& text, Type type, Operand& out) {
  for (const auto& c : kConstants)
    if (text == c.name) {
      out.kind = Operand::Constant;
      out.value = words_of(type) == 2 ? c.value : c.value >> 32;
      return true;
    }
  if (text.starts_with("-0x")) {
    if (!parse_constant(text.substr(1), type, out)) return false;
    out.value = ~out.value + 1;
    if (words_of(type) == 1) out.value &= 0xffffffff;
    return true;
  }
  if (text.starts_with("0x")) {
    char* end = nullptr;
    const uint64_t literal = std::strtoull(text.c_str(), &end, 16);
    if (*end) return false;
    out.kind = Operand::Constant;
    out.literal = true;
    if (type == Type::F64 && literal <= 0xffffffff) out.value = literal << 32;
    else if (type == Type::I64) out.value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(literal)));
    else if (type == Type::PkF32) out.value = literal | literal << 32;
    else out.value = literal;
    return true;
  }
  char* end = nullptr;
  if (text.find('.') != std::string::npos) {
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end) return false;
    out.kind = Operand::Constant;
    out.value = float_bits(value, type);
    if (type == Type::PkF32) out.value |= out.value << 32;
    return true;
  }
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || *end) return false;
  out.kind = Operand::Constant;
  out.value = static_cast<uint64_t>(value);
  if (words_of(type) == 1) out.value &= 0xffffffff;
  if (type == Type::PkF32) out.value = (out.value & 0xffffffff) | out.value << 32;
  return true;
}

}  // namespace

Text::Text(const std::string& line) {
  const size_t space = line.find_first_of(" \t");
  mnemonic = line.substr(0, space);
  for (const char* s : {"e64_dpp", "e32", "e64", "dpp", "sdwa"}) {
    const std::string ending = std::string("_") + s;
    if (mnemonic.size() > ending.size() && mnemonic.ends_with(ending)) {
      suffix = s;
      mnemonic.resize(mnemonic.size() - ending.size());
      break;
    }
  }
  if (space == std::string::npos) return;
  std::vector<std::string> parts = split(line.substr(space + 1), ',');
  if (parts.empty()) return;
  std::vector<std::string> tail = split(parts.back(), ' ');
  parts.pop_back();
  operands = parts;
  for (size_t i = 0; i < tail.size(); ++i) {
    if (i == 0 && !is_bare_flag(tail[0])) operands.push_back(tail[0]);
    else modifiers_.push_back(tail[i]);
  }
}

bool Text::take_flag(const std::string& name) {
  for (size_t i = 0; i < modifiers_.size(); ++i)
    if (modifiers_[i] == name) {
      modifiers_.erase(modifiers_.begin() + i);
      return true;
    }
  return false;
}

std::optional<std::string> Text::take(const std::string& name) {
  for (size_t i = 0; i < modifiers_.size(); ++i)
    if (modifiers_[i].starts_with(name + ":")) {
      std::string value = modifiers_[i].substr(name.size() + 1);
      modifiers_.erase(modifiers_.begin() + i);
      return value;
    }
  return std::nullopt;
}

std::optional<std::vector<int>> Text::take_list(const std::string& name) {
  auto value = take(name);
  if (!value || value->size() < 2 || value->front() != '[' || value->back() != ']') return std::nullopt;
  std::vector<int> out;
  for (const auto& item : split(value->substr(1, value->size() - 2), ',')) out.push_back(std::atoi(item.c_str()));
  return out;
}

std::optional<long long> Text::take_number(const std::string& name) {
  auto value = take(name);
  return value ? parse_number(*value) : std::nullopt;
}

std::string Text::rest() const {
  std::string out;
  for (const auto& m : modifiers_) out += (out.empty() ? "" : " ") + m;
  return out;
}

std::optional<long long> parse_number(const std::string& text) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 0);
  if (end == text.c_str() || *end) return std::nullopt;
  return value;
}

bool parse_operand(std::string text, Type type, Operand& out) {
  out = Operand{};
  out.type = type;
  out.words = static_cast<uint8_t>(words_of(type));
  if (text.empty()) return false;
  auto unwrap = [&](const char* name) {
    const std::string head = std::string(name) + "(";
    if (!text.starts_with(head) || text.back() != ')') return false;
    text = text.substr(head.size(), text.size() - head.size() - 1);
    return true;
  };
  if (unwrap("sext")) out.sext = true;
  if (unwrap("neg")) out.neg = true;
  unwrap("lit");
  if (text.size() > 1 && text[0] == '-' && !(text[1] >= '0' && text[1] <= '9') && text[1] != '.') {
    out.neg = true;
    text.erase(0, 1);
  }
  if (text.size() > 2 && text[0] == '|' && text.back() == '|') {
    out.abs = true;
    text = text.substr(1, text.size() - 2);
  }
  if (unwrap("abs")) out.abs = true;
  if (text == "off") {
    out.kind = Operand::Off;
    out.words = 0;
    return true;
  }
  if (text == "src_scc" || text == "scc") {
    out.kind = Operand::Scc;
    return true;
  }
  for (const auto& n : kNamed)
    if (text == n.name) {
      out.kind = Operand::Scalar;
      out.index = n.index;
      if (out.words == 0) out.words = n.words;
      return n.words == out.words;
    }
  int first = 0, count = 0;
  const bool scalar_tmp = text.starts_with("ttmp");
  if (scalar_tmp ? register_range(text, 4, first, count) : text[0] == 's' && register_range(text, 1, first, count)) {
    out.kind = Operand::Scalar;
    out.index = static_cast<uint16_t>(first + (scalar_tmp ? kTtmp0 : 0));
    if (out.words == 0) out.words = static_cast<uint8_t>(count);
    return count == out.words && out.index + count <= kScalars;
  }
  if ((text[0] == 'v' || text[0] == 'a') && register_range(text, 1, first, count)) {
    out.kind = Operand::Vector;
    out.index = static_cast<uint16_t>(first + (text[0] == 'a' ? kAccBase : 0));
    if (out.words == 0) out.words = static_cast<uint8_t>(count);
    return count == out.words && first + count <= 256;
  }
  return parse_constant(text, type, out);
}

}  // namespace gfx950
