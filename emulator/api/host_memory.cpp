#include "api/host_memory.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "memory/memory.h"

namespace gfx950::api {
namespace {

constexpr uintptr_t kPage = 4096;
constexpr size_t kBatch = 256;  // pages per system call

// Where process_vm_readv is forbidden, mapped is taken for readable.
bool mapped(uintptr_t first, uintptr_t last) {
  unsigned char states[kBatch];
  for (uintptr_t page = first; page <= last; page += kBatch * kPage) {
    const size_t pages = std::min<size_t>(kBatch, (last - page) / kPage + 1);
    if (mincore(reinterpret_cast<void*>(page), pages * kPage, states)) return false;
  }
  return true;
}

}  // namespace

bool host_readable(const void* pointer, size_t bytes) {
  if (!bytes) return true;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(pointer), end = begin + bytes;
  if (end < begin) return false;
  const uintptr_t first = begin / kPage * kPage, last = (end - 1) / kPage * kPage;
  for (uintptr_t page = first; page <= last; page += kBatch * kPage) {
    const size_t pages = std::min<size_t>(kBatch, (last - page) / kPage + 1);
    iovec remote[kBatch];
    char sink[kBatch];
    for (size_t i = 0; i < pages; ++i) remote[i] = {reinterpret_cast<void*>(page + i * kPage), 1};
    iovec local{sink, pages};
    const ssize_t read = process_vm_readv(getpid(), &local, 1, remote, pages, 0);
    if (read < 0 && (errno == ENOSYS || errno == EPERM)) return mapped(first, last);
    if (read != static_cast<ssize_t>(pages)) return false;
  }
  return true;
}

bool in_device_space(const void* pointer) { return Memory::instance().owns(pointer); }

}  // namespace gfx950::api
