// Conversions. Rules and roundings are numerics/convert.h's.
#include "isa/families.h"
#include "isa/lanes.h"
#include "numerics/convert.h"

namespace gfx950::isa {
namespace {

namespace num = numerics;
using Ctx = const LaneContext&;
using u16 = uint16_t;
using u32 = uint32_t;

float v_cvt_f32_i32(int32_t a) { return num::cvt_f32_i32(a); }
float v_cvt_f32_u32(u32 a) { return num::cvt_f32_u32(a); }
int32_t v_cvt_i32_f32(float a) { return num::cvt_i32_f32(a); }
u32 v_cvt_u32_f32(float a) { return num::cvt_u32_f32(a); }
int32_t v_cvt_rpi_i32_f32(float a) { return num::cvt_rpi_i32_f32(a); }
int32_t v_cvt_flr_i32_f32(float a) { return num::cvt_flr_i32_f32(a); }
double v_cvt_f64_i32(int32_t a) { return num::cvt_f64_i32(a); }
double v_cvt_f64_u32(u32 a) { return num::cvt_f64_u32(a); }
int32_t v_cvt_i32_f64(double a) { return num::cvt_i32_f64(a); }
u32 v_cvt_u32_f64(double a) { return num::cvt_u32_f64(a); }
float v_cvt_f32_f64(double a) { return num::cvt_f32_f64(a); }
double v_cvt_f64_f32(float a) { return num::cvt_f64_f32(a); }
float v_cvt_f32_f16(F16 a) { return num::f16_to_f32(a.bits); }
F16 v_cvt_f16_f32(Ctx c, float a) { return {num::f32_to_f16(a, c.saturate)}; }
float v_cvt_f32_bf16(BF16 a) { return num::bf16_to_f32(a.bits); }
F16 v_cvt_f16_u16(Ctx c, u16 a) { return {num::cvt_f16_u16(a, c.saturate)}; }
F16 v_cvt_f16_i16(int16_t a) { return {num::cvt_f16_i16(a)}; }
u16 v_cvt_u16_f16(F16 a) { return num::cvt_u16_f16(a.bits); }
int16_t v_cvt_i16_f16(F16 a) { return num::cvt_i16_f16(a.bits); }
int16_t v_cvt_norm_i16_f16(F16 a) { return num::cvt_norm_i16_f16(a.bits); }
u16 v_cvt_norm_u16_f16(F16 a) { return num::cvt_norm_u16_f16(a.bits); }
float v_cvt_f32_ubyte0(u32 a) { return num::cvt_f32_ubyte(a, 0); }
float v_cvt_f32_ubyte1(u32 a) { return num::cvt_f32_ubyte(a, 1); }
float v_cvt_f32_ubyte2(u32 a) { return num::cvt_f32_ubyte(a, 2); }
float v_cvt_f32_ubyte3(u32 a) { return num::cvt_f32_ubyte(a, 3); }
float v_cvt_off_f32_i4(u32 a) { return num::cvt_off_f32_i4(a); }
// The low byte, or word of two bytes; SDWA has selected it.
float v_cvt_f32_fp8(u32 a) { return num::decode_small<num::Format::kFp8>(a & 0xff); }
float v_cvt_f32_bf8(u32 a) { return num::decode_small<num::Format::kBf8>(a & 0xff); }
PkF32 v_cvt_pk_f32_fp8(u32 a) { return {num::decode_small<num::Format::kFp8>(a & 0xff), num::decode_small<num::Format::kFp8>(a >> 8 & 0xff)}; }
PkF32 v_cvt_pk_f32_bf8(u32 a) { return {num::decode_small<num::Format::kBf8>(a & 0xff), num::decode_small<num::Format::kBf8>(a >> 8 & 0xff)}; }

u32 v_cvt_pk_f16_f32(Ctx c, float a, float b) { return num::cvt_pk_f16_f32(a, b, c.saturate); }
u32 v_cvt_pk_bf16_f32(float a, float b) { return num::cvt_pk_bf16_f32(a, b); }
u32 v_cvt_pkrtz_f16_f32(float a, float b) { return num::cvt_pkrtz_f16_f32(a, b); }
u32 v_cvt_pknorm_i16_f32(float a, float b) { return num::cvt_pknorm_i16_f32(a, b); }
u32 v_cvt_pknorm_u16_f32(float a, float b) { return num::cvt_pknorm_u16_f32(a, b); }
u32 v_cvt_pknorm_i16_f16(F16 a, F16 b) { return num::cvt_pknorm_i16_f16(a.bits, b.bits); }
u32 v_cvt_pknorm_u16_f16(F16 a, F16 b) { return num::cvt_pknorm_u16_f16(a.bits, b.bits); }
u32 v_cvt_pk_u16_u32(u32 a, u32 b) { return num::cvt_pk_u16_u32(a, b); }
u32 v_cvt_pk_i16_i32(int32_t a, int32_t b) { return num::cvt_pk_i16_i32(a, b); }
u32 v_cvt_pk_u8_f32(float a, u32 byte, u32 into) { return num::cvt_pk_u8_f32(a, byte, into); }
u32 v_cvt_pkaccum_u8_f32(float a, u32 byte, u32 old) { return num::cvt_pk_u8_f32(a, byte, old); }
u32 v_pack_b32_f16(F16 a, F16 b) { return num::pack16(a.bits, b.bits); }
// A 16-bit result: op_sel's last bit picks the half, the other is kept.
u16 v_cvt_pk_fp8_f32(Ctx c, float a, float b) { return num::cvt_pk_fp8_f32(a, b, c.saturate); }
u16 v_cvt_pk_bf8_f32(Ctx c, float a, float b) { return num::cvt_pk_bf8_f32(a, b, c.saturate); }

// One byte of the destination: op_sel bits 2 and 3 name it. The old value comes as the last source.
inline u32 put_byte(u32 into, Ctx c, u32 value) {
  const int at = 8 * (c.inst->mod.op_sel >> 2 & 3);
  return (into & ~(0xffu << at)) | value << at;
}
u32 v_cvt_sr_fp8_f32(Ctx c, float a, u32 random, u32 old) { return put_byte(old, c, num::cvt_sr_fp8_f32(a, random, c.saturate)); }
u32 v_cvt_sr_bf8_f32(Ctx c, float a, u32 random, u32 old) { return put_byte(old, c, num::cvt_sr_bf8_f32(a, random, c.saturate)); }
u16 v_cvt_sr_f16_f32(Ctx c, float a, u32 random) { return num::cvt_sr_f16_f32(a, random, c.saturate); }
u16 v_cvt_sr_bf16_f32(float a, u32 random) { return num::cvt_sr_bf16_f32(a, random); }

constexpr Row kRows[] = {
    VOP(v_cvt_f32_i32), VOP(v_cvt_f32_u32), VOP(v_cvt_i32_f32), VOP(v_cvt_u32_f32), VOP(v_cvt_rpi_i32_f32), VOP(v_cvt_flr_i32_f32),
    VOP(v_cvt_f64_i32), VOP(v_cvt_f64_u32), VOP(v_cvt_i32_f64), VOP(v_cvt_u32_f64), VOP(v_cvt_f32_f64), VOP(v_cvt_f64_f32), VOP(v_cvt_f32_f16),
    VOP(v_cvt_f16_f32), VOP(v_cvt_f32_bf16), VOP(v_cvt_f16_u16), VOP(v_cvt_f16_i16), VOP(v_cvt_u16_f16), VOP(v_cvt_i16_f16),
    VOP(v_cvt_norm_i16_f16), VOP(v_cvt_norm_u16_f16), VOP(v_cvt_f32_ubyte0), VOP(v_cvt_f32_ubyte1), VOP(v_cvt_f32_ubyte2), VOP(v_cvt_f32_ubyte3),
    VOP(v_cvt_off_f32_i4), VOP(v_cvt_f32_fp8), VOP(v_cvt_f32_bf8), VOP(v_cvt_pk_f32_fp8), VOP(v_cvt_pk_f32_bf8), VOP(v_cvt_pk_f16_f32),
    VOP(v_cvt_pk_bf16_f32), VOP(v_cvt_pkrtz_f16_f32), VOP(v_cvt_pknorm_i16_f32), VOP(v_cvt_pknorm_u16_f32), VOP(v_cvt_pknorm_i16_f16),
    VOP(v_cvt_pknorm_u16_f16), VOP(v_cvt_pk_u16_u32), VOP(v_cvt_pk_i16_i32), VOP(v_cvt_pk_u8_f32), VOP_ACCUMULATE(v_cvt_pkaccum_u8_f32), VOP(v_pack_b32_f16, kRawFloat),
    VOP(v_cvt_pk_fp8_f32, kPreserveHalf), VOP(v_cvt_pk_bf8_f32, kPreserveHalf), VOP_ACCUMULATE(v_cvt_sr_fp8_f32, kOpSelBytes),
    VOP_ACCUMULATE(v_cvt_sr_bf8_f32, kOpSelBytes), VOP(v_cvt_sr_f16_f32, kPreserveHalf), VOP(v_cvt_sr_bf16_f32, kPreserveHalf),
};

}  // namespace

Rows convert_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
