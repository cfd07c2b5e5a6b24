// Copies and fills: boxes of bytes (width x height x depth with pitches), checked against what is allocated before they are queued.
//
// Refuses: ranges that leave an allocation, device sides that are no device memory, freed memory, host memory that is not mapped. What was
//          freed or unmapped between the call and its turn in the stream is hipErrorIllegalAddress then.
// Units:   bytes; heights in rows, depths in slices.
#pragma once

#include <string>

#include "api/work.h"

namespace gfx950::api {

struct Box {
  size_t width = 0, height = 1, depth = 1;
  bool empty() const { return !width || !height || !depth; }
};

struct Side {
  char* base = nullptr;
  size_t pitch = 0, slice = 0;
  // Bytes from the first to the last; false when they exceed the address space.
  bool span(const Box& box, size_t& bytes) const;
};

struct Copy {
  Side to, from;
  Box box;
  hipMemcpyKind kind = hipMemcpyDefault;
};

enum class Place { Pageable, Host, Device };  // pageable host; pinned, registered or managed; device
struct CopyPlaces {
  Place to, from;
  bool asynchronous() const { return to != Place::Pageable && from != Place::Pageable; }
  bool device_to_device() const { return to == Place::Device && from == Place::Device; }
};

// Throws hipErrorInvalidValue or hipErrorInvalidMemcpyDirection.
CopyPlaces validate(const Copy& copy);
Copy linear(void* to, const void* from, size_t bytes, hipMemcpyKind kind);
Copy from_3d(const hipMemcpy3DParms& parameters);

class CopyWork : public Work {
 public:
  explicit CopyWork(const Copy& copy) : copy(copy) {}
  Outcome run() const override;
  hipGraphNodeType type() const override { return hipGraphNodeTypeMemcpy; }
  std::string describe() const override;
  const Copy copy;
};

struct Fill {
  Side to;
  Box box;                     // width in bytes
  uint32_t value = 0;
  unsigned element = 1;        // 1, 2 or 4 bytes
};

Place validate(const Fill& fill);
Fill from_memset(const hipMemsetParams& parameters);
hipMemsetParams to_memset(const Fill& fill);

class FillWork : public Work {
 public:
  explicit FillWork(const Fill& fill) : fill(fill) {}
  Outcome run() const override;
  hipGraphNodeType type() const override { return hipGraphNodeTypeMemset; }
  std::string describe() const override;
  const Fill fill;
};

}  // namespace gfx950::api
