// Row forms of the packed conversions that inner loops use. Plain loops: the compiler makes them as wide as it is told.
// The result goes through a local row, since `out` may be one of the sources.
#include "convert.h"

#include <cstring>

namespace gfx950::numerics {

void cvt_pk_fp8_f32_row(const uint32_t* a, const uint32_t* b, uint32_t* out, bool saturate) {
    uint32_t row[64];
    for (int l = 0; l < 64; ++l) row[l] = cvt_pk_fp8_f32(float_of(a[l]), float_of(b[l]), saturate);
    std::memcpy(out, row, sizeof row);
}
void cvt_pk_bf8_f32_row(const uint32_t* a, const uint32_t* b, uint32_t* out, bool saturate) {
    uint32_t row[64];
    for (int l = 0; l < 64; ++l) row[l] = cvt_pk_bf8_f32(float_of(a[l]), float_of(b[l]), saturate);
    std::memcpy(out, row, sizeof row);
}
void cvt_pk_bf16_f32_row(const uint32_t* a, const uint32_t* b, uint32_t* out) {
    uint32_t row[64];
    for (int l = 0; l < 64; ++l) row[l] = cvt_pk_bf16_f32(float_of(a[l]), float_of(b[l]));
    std::memcpy(out, row, sizeof row);
}

}  // namespace gfx950::numerics
