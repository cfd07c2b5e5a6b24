#include "api/registry.h"

namespace gfx950::api {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::Stream: return "stream";
    case Kind::Event: return "event";
    case Kind::Module: return "module";
    case Kind::Function: return "function";
    case Kind::Graph: return "graph";
    case Kind::GraphNode: return "graph node";
    case Kind::GraphExec: return "executable graph";
    case Kind::Pool: return "memory pool";
    case Kind::Context: return "context";
    case Kind::UserObject: return "user object";
  }
  return "object";
}

namespace {
std::string with_article(Kind kind) {
  const std::string name = name_of(kind);
  return (name[0] == 'e' ? "an " : "a ") + name;
}
}  // namespace

std::string describe_handle(uint64_t value, Kind wanted, uint64_t next_id) {
  if (value == 0) return text("the ", name_of(wanted), " is null");
  constexpr uint64_t kind_mask = 0xfull << kKindShift;
  const uint64_t kind = (value & kind_mask) >> kKindShift;
  const bool is_handle = (value & ~(kind_mask | ((1ull << kKindShift) - 1))) == kHandleBase && kind >= 1 &&
                         kind <= static_cast<uint64_t>(Kind::UserObject) && (value & 15) == 0;
  if (!is_handle) return text(hex(value), " is not ", with_article(wanted));
  if (kind != static_cast<uint64_t>(wanted)) return text(hex(value), " is ", with_article(static_cast<Kind>(kind)), ", not ", with_article(wanted));
  const uint64_t id = (value & ((1ull << kKindShift) - 1)) >> 4;
  if (id >= next_id) return text(hex(value), " is not ", with_article(wanted));
  return text(name_of(wanted), " ", hex(value), wanted == Kind::Module || wanted == Kind::Function ? " was unloaded" : " was destroyed");
}

}  // namespace gfx950::api
