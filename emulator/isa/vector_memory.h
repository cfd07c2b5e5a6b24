// What the vector memory families share: moving lanes' bytes between memory and register rows, checks, issue.
#pragma once

#include "isa/lanes.h"

namespace gfx950::isa {

// How loaded bytes become a register, or which half of a register is stored.
enum class Convert : uint8_t { Plain, U8, I8, U16, I16, LowU8, LowI8, Low16, HighU8, HighI8, High16 };

// row.parameter of a load or store: bytes, conversion, and what the family adds above bit 16.
constexpr uint64_t form(int bytes, Convert convert = Convert::Plain) { return static_cast<uint64_t>(bytes) | static_cast<uint64_t>(convert) << 8; }
inline int form_bytes(const Row& row) { return static_cast<int>(row.parameter & 0xff); }
inline Convert form_convert(const Row& row) { return static_cast<Convert>(row.parameter >> 8 & 0xff); }
constexpr Type type_of_bytes(int bytes) { return bytes <= 4 ? Type::U32 : bytes == 8 ? Type::U64 : bytes == 12 ? Type::B96 : Type::B128; }

// Performs a load now (normal mode) or queues it (strict mode).
void issue_load(Wave& w, const VectorAccess& a);
// data: rows of the stored values.
void issue_store(Wave& w, VectorAccess& a, const uint32_t* const* data, Convert convert);

// Normal mode: every active lane must lie in a live range, else a fault. (Strict mode checks lane by lane and reports.)
void check_lanes(Wave& w, const VectorAccess& a, bool store);

void set_load(VectorAccess& a, Space space, int bytes, Convert convert, uint16_t dst);
// Makes the load an LDS DMA: registers are left alone, lane l's bytes go to lds_base + l * lds_stride.
void set_dma(Wave& w, VectorAccess& a, int bytes, uint32_t instruction_offset);

// Where an access of this space really lies, for lane l (part p); null when it is out of the space's bounds.
uint8_t* host_pointer(Wave& w, const VectorAccess& a, int lane, int part);

inline const uint32_t* row_of(const Wave& w, const Operand& o, int word) { return w.v[o.index + word]; }

}  // namespace gfx950::isa
