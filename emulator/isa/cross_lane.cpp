// Instructions that move values between lanes or between the vector and the scalar side.
#include <utility>

#include "isa/families.h"
#include "isa/scalars.h"

namespace gfx950::isa {
namespace {

// EXEC empty: lane 0 (ISA V_READFIRSTLANE_B32).
void v_readfirstlane_b32(Wave& w, const Instruction& i) {
  const uint64_t exec = w.exec();
  const int lane = exec ? std::countr_zero(exec) : 0;
  if (i.src[0].kind == Operand::Vector) w.s[i.dst.index] = w.v[i.src[0].index][lane];
  else w.s[i.dst.index] = read_scalar32(w, i.src[0]);
}
void v_readlane_b32(Wave& w, const Instruction& i) { w.s[i.dst.index] = w.v[i.src[0].index][read_scalar32(w, i.src[1]) & 63]; }
void v_writelane_b32(Wave& w, const Instruction& i) { w.v[i.dst.index][read_scalar32(w, i.src[1]) & 63] = read_scalar32(w, i.src[0]); }

void swap_rows(Wave& w, int a, int b, int first_a, int first_b, int count) {
  const uint64_t exec = w.exec();
  for (int n = 0; n < count; ++n) {
    uint32_t &x = w.v[a][first_a + n], &y = w.v[b][first_b + n];
    const uint32_t old_x = x, old_y = y;
    // Each side is written where its own lane is active.
    if (active(exec, first_a + n)) x = old_y;
    if (active(exec, first_b + n)) y = old_x;
  }
}
// vdst's upper half trades places with the source's lower half.
void v_permlane32_swap_b32(Wave& w, const Instruction& i) { swap_rows(w, i.dst.index, i.dst2.index, 32, 0, 32); }
void v_permlane16_swap_b32(Wave& w, const Instruction& i) {
  for (int half = 0; half < 64; half += 32) swap_rows(w, i.dst.index, i.dst2.index, half + 16, half, 16);
}
void v_swap_b32(Wave& w, const Instruction& i) { swap_rows(w, i.dst.index, i.dst2.index, 0, 0, 64); }

template <bool high> void mbcnt(Wave& w, const Instruction& i) {
  LaneRows rows[2];
  RowBuffer temp[2][2], out;
  fetch_source(w, i, 0, rows[0], temp[0]);
  fetch_source(w, i, 1, rows[1], temp[1]);
  for (int l = 0; l < 64; ++l) {
    const int bits = high ? (l > 32 ? l - 32 : 0) : (l < 32 ? l : 32);
    const uint32_t below = bits >= 32 ? ~0u : (1u << bits) - 1;
    out.lane[l] = static_cast<uint32_t>(std::popcount(rows[0].word[0][l] & below)) + rows[1].word[0][l];
  }
  write_row(w.v[i.dst.index], out.lane, w.exec());
}

constexpr Slot kScalar{Role::Dst, Type::U32}, kSrc{Role::Src, Type::U32}, kVector{Role::Dst, Type::U32}, kBoth{Role::Swap, Type::U32};
void nothing(Wave&, const Instruction&) {}
constexpr Row kRows[] = {
    custom("v_readfirstlane_b32", Format::Vector, v_readfirstlane_b32, {kScalar, kSrc}, kNoExec),
    custom("v_readlane_b32", Format::Vector, v_readlane_b32, {kScalar, kSrc, kSrc}, kNoExec),
    custom("v_writelane_b32", Format::Vector, v_writelane_b32, {kVector, kSrc, kSrc}, kNoExec),
    custom("v_permlane32_swap_b32", Format::Vector, v_permlane32_swap_b32, {kBoth, kBoth}),
    custom("v_permlane16_swap_b32", Format::Vector, v_permlane16_swap_b32, {kBoth, kBoth}),
    custom("v_swap_b32", Format::Vector, v_swap_b32, {kBoth, kBoth}),
    custom("v_mbcnt_lo_u32_b32", Format::Vector, mbcnt<false>, {kVector, kSrc, kSrc}),
    custom("v_mbcnt_hi_u32_b32", Format::Vector, mbcnt<true>, {kVector, kSrc, kSrc}),
    custom("v_nop", Format::Vector, nothing, {}), custom("v_clrexcp", Format::Vector, nothing, {}),
};

}  // namespace

Rows cross_lane_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
