#include "api/copy.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "api/errors.h"
#include "api/host_memory.h"
#include "api/text.h"
#include "memory/memory.h"

namespace gfx950::api {
namespace {

Place place_of(const char* what, const Side& side, const Box& box, bool must_be_device, hipMemcpyKind kind) {
  const char* pointer = side.base;
  if (!pointer) throw Failure(hipErrorInvalidValue, text(what, " is null"));
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  size_t span = 0;
  if (!side.span(box, span)) throw Failure(hipErrorInvalidValue, text(what, ": ", box.depth, " x ", box.height, " rows of ", box.width, " bytes exceed the address space"));
  if (address + span < address) throw Failure(hipErrorInvalidValue, text(what, " ", hex(pointer), " plus ", span, " bytes wraps around"));
  Memory& memory = Memory::instance();
  if (auto allocation = memory.find(pointer)) {
    if (address + span > allocation->end())
      throw Failure(hipErrorInvalidValue, text(what, " ", hex(pointer), ": ", span, " bytes run ", address + span - allocation->end(), " past the end of a ",
                                               name_of(allocation->kind), " allocation of ", allocation->size, " bytes at ", hex(allocation->base)));
    return allocation->host_writable() ? Place::Host : Place::Device;
  }
  if (in_device_space(pointer)) throw Failure(hipErrorInvalidValue, text(what, " ", hex(pointer), " is ", memory.describe(address)));
  if (must_be_device && !memory.all_host_memory())
    throw Failure(hipErrorInvalidValue, text(what, " ", hex(pointer), " is no device memory, as copy kind ", static_cast<int>(kind), " demands"));
  if (!host_readable(pointer, span)) throw Failure(hipErrorInvalidValue, text(what, " ", hex(pointer), ": its ", span, " bytes are not all mapped"));
  return memory.all_host_memory() ? Place::Host : Place::Pageable;
}

void check_pitch(const char* what, const Side& side, const Box& box) {
  size_t plane = 0;
  if ((box.height > 1 && side.pitch < box.width) ||
      (box.depth > 1 && (__builtin_mul_overflow(box.height, side.pitch, &plane) || side.slice < plane)))
    throw Failure(hipErrorInvalidPitchValue, text(what, " has a pitch of ", side.pitch, " bytes for rows of ", box.width));
}

template <class Row>
void each_row(const Box& box, Row row) {
  for (size_t z = 0; z < box.depth; ++z)
    for (size_t y = 0; y < box.height; ++y) row(y, z);
}

char* at(const Side& side, size_t y, size_t z) { return side.base + z * side.slice + y * side.pitch; }

// Device memory can be freed between the call and the work's turn; host memory is left to move().
Outcome check_still_there(const char* what, const char* role, const Side& side, const Box& box) {
  if (!in_device_space(side.base)) return {};
  size_t span = 0;
  side.span(box, span);
  const auto address = reinterpret_cast<uintptr_t>(side.base);
  const auto allocation = Memory::instance().find(side.base);
  if (allocation && address + span <= allocation->end()) return {};
  return {hipErrorIllegalAddress, text(what, ": when its turn came, the ", role, " was ", Memory::instance().describe(address))};
}

// memmove that fails where it would kill the process: the kernel copies, and knows what is unmapped or read-only.
bool move(char* to, const char* from, size_t bytes) {
  const bool apart = to + bytes <= from || from + bytes <= to;
  const bool ours = in_device_space(to) && in_device_space(from);  // stays mapped for ever
  while (apart && !ours && bytes) {
    iovec local{to, bytes}, remote{const_cast<char*>(from), bytes};
    const ssize_t done = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (done < 0 && (errno == ENOSYS || errno == EPERM)) break;  // forbidden here: as good as it gets
    if (done <= 0) return false;
    to += done, from += done, bytes -= static_cast<size_t>(done);
  }
  std::memmove(to, from, bytes);
  return true;
}

}  // namespace

bool Side::span(const Box& box, size_t& bytes) const {
  size_t slices = 0, rows = 0;
  return !__builtin_mul_overflow(box.depth - 1, slice, &slices) && !__builtin_mul_overflow(box.height - 1, pitch, &rows) &&
         !__builtin_add_overflow(slices, rows, &bytes) && !__builtin_add_overflow(bytes, box.width, &bytes);
}

CopyPlaces validate(const Copy& copy) {
  const int kind = copy.kind;
  if ((kind < 0 || kind > hipMemcpyDefault) && kind != hipMemcpyDeviceToDeviceNoCU)
    throw Failure(hipErrorInvalidMemcpyDirection, text("copy kind ", kind, " does not exist (0 to 4, and 1024)"));
  check_pitch("the destination", copy.to, copy.box);
  check_pitch("the source", copy.from, copy.box);
  const bool to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice || kind == hipMemcpyDeviceToDeviceNoCU;
  const bool from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice || kind == hipMemcpyDeviceToDeviceNoCU;
  return {place_of("the destination", copy.to, copy.box, to_device, copy.kind),
          place_of("the source", copy.from, copy.box, from_device, copy.kind)};
}

Copy linear(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  Copy copy;
  copy.to.base = static_cast<char*>(to);
  copy.from.base = const_cast<char*>(static_cast<const char*>(from));
  copy.box.width = bytes;
  copy.kind = kind;
  return copy;
}

Copy from_3d(const hipMemcpy3DParms& p) {
  if (p.srcArray || p.dstArray) throw Failure(hipErrorNotSupported, "the gfx950 emulator has no arrays (images): pass pitched pointers");
  auto side = [](const hipPitchedPtr& pointer, const hipPos& position) {
    Side side;
    side.pitch = pointer.pitch;
    side.slice = pointer.pitch * pointer.ysize;
    side.base = static_cast<char*>(pointer.ptr) + position.z * side.slice + position.y * side.pitch + position.x;
    return side;
  };
  Copy copy;
  copy.to = side(p.dstPtr, p.dstPos);
  copy.from = side(p.srcPtr, p.srcPos);
  copy.box = {p.extent.width, p.extent.height, p.extent.depth};
  copy.kind = p.kind;
  return copy;
}

Outcome CopyWork::run() const {
  Memory& memory = Memory::instance();
  Outcome outcome = check_still_there("a copy", "destination", copy.to, copy.box);
  if (outcome.code == hipSuccess) outcome = check_still_there("a copy", "source", copy.from, copy.box);
  each_row(copy.box, [&](size_t y, size_t z) {
    if (outcome.code != hipSuccess) return;
    char *to = at(copy.to, y, z), *from = at(copy.from, y, z);
    if (!move(to, from, copy.box.width)) {
      outcome = {hipErrorIllegalAddress, text("a copy of ", copy.box.width, " bytes from ", hex(from), " to ", hex(to),
                                              ": when its turn came, the source was not mapped, or the destination not writable")};
      return;
    }
    const auto source = memory.find(from);
    if (source && !source->host_writable()) memory.copy_written(to, from, copy.box.width);
    else memory.mark_written(to, copy.box.width);
  });
  return outcome;
}

std::string CopyWork::describe() const {
  return text("copy of ", copy.box.width, "x", copy.box.height, "x", copy.box.depth, " bytes from ", hex(copy.from.base), " to ", hex(copy.to.base));
}

Place validate(const Fill& fill) {
  check_pitch("the destination", fill.to, fill.box);
  return place_of("the destination", fill.to, fill.box, true, hipMemcpyHostToDevice);
}

Fill from_memset(const hipMemsetParams& p) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) throw Failure(hipErrorInvalidValue, text("elementSize is ", p.elementSize, ", not 1, 2 or 4"));
  Fill fill;
  fill.to.base = static_cast<char*>(p.dst);
  fill.to.pitch = p.pitch;
  if (__builtin_mul_overflow(p.width, size_t{p.elementSize}, &fill.box.width)) throw Failure(hipErrorInvalidValue, text(p.width, " elements do not fit in memory"));
  fill.box.height = p.height ? p.height : 1;
  fill.value = p.value;
  fill.element = p.elementSize;
  return fill;
}

hipMemsetParams to_memset(const Fill& fill) {
  return {fill.to.base, fill.element, fill.box.height, fill.to.pitch, fill.value, fill.box.width / fill.element};
}

Outcome FillWork::run() const {
  Memory& memory = Memory::instance();
  Outcome outcome = check_still_there("a fill", "destination", fill.to, fill.box);
  if (outcome.code != hipSuccess) return outcome;
  auto set = [&](char* to, size_t bytes) {
    if (fill.element == 1) std::memset(to, static_cast<int>(fill.value & 0xff), bytes);
    else
      for (size_t i = 0; i < bytes; i += fill.element) std::memcpy(to + i, &fill.value, fill.element);
  };
  std::vector<char> pattern;
  if (!in_device_space(fill.to.base)) {  // registered memory, which its owner may have unmapped
    pattern.resize(std::min<size_t>(fill.box.width, 1 << 16));
    set(pattern.data(), pattern.size());
  }
  each_row(fill.box, [&](size_t y, size_t z) {
    char* to = at(fill.to, y, z);
    if (pattern.empty()) set(to, fill.box.width);
    for (size_t done = 0; !pattern.empty() && done < fill.box.width && outcome.code == hipSuccess; done += pattern.size())
      if (!move(to + done, pattern.data(), std::min(pattern.size(), fill.box.width - done)))
        outcome = {hipErrorIllegalAddress, text("a fill of ", fill.box.width, " bytes at ", hex(to), ": when its turn came, they were not mapped and writable")};
    memory.mark_written(to, fill.box.width);
  });
  return outcome;
}

std::string FillWork::describe() const {
  return text("fill of ", fill.box.width, "x", fill.box.height, "x", fill.box.depth, " bytes at ", hex(fill.to.base), " with ", hex(uint64_t{fill.value}));
}

}  // namespace gfx950::api
