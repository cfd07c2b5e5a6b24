// The families' rows; table.cpp joins them.
#pragma once

#include <cstddef>
#include <iterator>

#include "decode/row.h"

namespace gfx950::isa {

struct Rows {
  const Row* first;
  size_t count;
};

Rows scalar_rows();
Rows scalar_immediate_rows();
Rows program_rows();
Rows scalar_memory_rows();
Rows float_rows();
Rows half_rows();
Rows integer_rows();
Rows convert_rows();
Rows scaled_convert_rows();
Rows compare_rows();
Rows packed_rows();
Rows cross_lane_rows();
Rows matrix_rows();
Rows lds_rows();
Rows lds_atomic_rows();
Rows buffer_rows();
Rows flat_rows();

}  // namespace gfx950::isa
