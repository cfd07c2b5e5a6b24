// Row forms of the packed conversions that inner loops use. Plain loops: the compiler makes them as wide as it is told.
#include "convert.h"

namespace gfx950::numerics {

void cvt_pk_fp8_f32_row(const uint32_t* a, const uint32_t* b, uint32_t* out, bool saturate) {
    for (int l = 0; l < 64; ++l) out[l] = cvt_pk_fp8_f32(float_of(a[l]), float_of(b[l]), saturate);
}
void cvt_pk_bf8_f32_row(const uint32_t* a, const uint32_t* b, uint32_t* out, bool saturate) {
    for (int l = 0; l < 64; ++l) out[l] = cvt_pk_bf8_f32(float_of(a[l]), float_of(b[l]), saturate);
}
void cvt_pk_bf16_f32_row(const uint32_t* a, const uint32_t* b, uint32_t* out) {
    for (int l = 0; l < 64; ++l) out[l] = cvt_pk_bf16_f32(float_of(a[l]), float_of(b[l]));
}

}  // namespace gfx950::numerics
