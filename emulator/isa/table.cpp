// The one table of this copy of the instruction set: dispatch and the coverage list come from it.
#include "isa/families.h"

namespace gfx950 {

#ifndef GFX950_ISA_ENTRY
#error "compiled once per vector width, with GFX950_ISA_ENTRY naming the copy"
#endif
#define GFX950_STRING2(x) #x
#define GFX950_STRING(x) GFX950_STRING2(x)

extern "C" const IsaTable* GFX950_ISA_ENTRY() {
  static const Row* rows[4096];
  static const IsaTable table = [] {
    using namespace isa;
    size_t n = 0;
    for (const auto& family :
         {scalar_rows(), scalar_immediate_rows(), program_rows(), scalar_memory_rows(), float_rows(), half_rows(), integer_rows(), convert_rows(),
          scaled_convert_rows(), compare_rows(), packed_rows(), cross_lane_rows(), matrix_rows(), lds_rows(), lds_atomic_rows(), buffer_rows(), flat_rows()})
      for (size_t k = 0; k < family.count && n < std::size(rows); ++k) rows[n++] = family.first + k;
    return IsaTable{GFX950_STRING(GFX950_ISA_ENTRY), rows, n};
  }();
  return &table;
}

}  // namespace gfx950
