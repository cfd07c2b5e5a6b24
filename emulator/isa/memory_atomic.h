// Atomics on device memory, for the buffer and flat families.
#pragma once

#include "isa/atomic_operations.h"
#include "isa/vector_memory.h"

namespace gfx950::isa {

// `a` has addresses, exec and validity; data comes from source `data_source`. For cmpswap the register(s) after the new value hold
// the comparison. With sc0 the old value is returned.
void memory_atomic(Wave& w, const Instruction& i, VectorAccess& a, int data_source);

struct MemoryAtomic {
  const char* suffix;
  atomic::Operation op;
};
extern const MemoryAtomic kMemoryAtomics[];
constexpr int kMemoryAtomicCount = 35;

}  // namespace gfx950::isa
