// The wrapper of vector instructions: from a pure function of operand values to a handler.
//
// A function named like its mnemonic takes and returns strong types (F16, float, int32_t, Pk<...>, bool for lane masks). vop<f>() makes
// the table row: operand types from the signature, a loop over 64 lanes that the compiler vectorises, and the family's handler, which
// alone knows EXEC, source and result modifiers, DPP, SDWA and write-back.
#pragma once

#include <bit>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "decode/row.h"
#include "engine/wave.h"

namespace gfx950::isa {

#if defined(__clang__)
#define GFX950_LANE_LOOP _Pragma("clang loop vectorize(assume_safety) interleave(disable)") for (int l = 0; l < 64; ++l)
#else
#define GFX950_LANE_LOOP _Pragma("GCC ivdep") for (int l = 0; l < 64; ++l)
#endif

struct F16 { uint16_t bits; };
struct BF16 { uint16_t bits; };
struct PkF16 { uint32_t bits; };
struct PkBF16 { uint32_t bits; };
struct PkU16 { uint32_t bits; };
struct PkI16 { uint32_t bits; };
struct PkF32 { float lo, hi; };
struct PkU32 { uint32_t lo, hi; };  // two registers, no float modifiers
template <class T> struct WithMask { T value; bool mask; };

template <class T> struct Lane;
template <class T, Type type, int words = 1> struct LaneBase {
  static constexpr Type kType = type;
  static constexpr int kWords = words;
};
#define GFX950_LANE32(T, TYPE, FROM, TO)                                                     \
  template <> struct Lane<T> : LaneBase<T, TYPE> {                                           \
    static T load(const LaneRows& r, int l) { const uint32_t b = r.word[0][l]; return FROM; } \
    static void store(uint32_t* const* out, int l, T x) { out[0][l] = TO; }                  \
  };
GFX950_LANE32(uint32_t, Type::U32, b, x)
GFX950_LANE32(int32_t, Type::I32, static_cast<int32_t>(b), static_cast<uint32_t>(x))
GFX950_LANE32(float, Type::F32, std::bit_cast<float>(b), std::bit_cast<uint32_t>(x))
GFX950_LANE32(uint16_t, Type::U16, static_cast<uint16_t>(b), x)
GFX950_LANE32(int16_t, Type::I16, static_cast<int16_t>(b), static_cast<uint16_t>(x))
GFX950_LANE32(F16, Type::F16, F16{static_cast<uint16_t>(b)}, x.bits)
GFX950_LANE32(BF16, Type::BF16, BF16{static_cast<uint16_t>(b)}, x.bits)
GFX950_LANE32(PkF16, Type::PkF16, PkF16{b}, x.bits)
GFX950_LANE32(PkBF16, Type::PkBF16, PkBF16{b}, x.bits)
GFX950_LANE32(PkU16, Type::PkU16, PkU16{b}, x.bits)
GFX950_LANE32(PkI16, Type::PkI16, PkI16{b}, x.bits)
#undef GFX950_LANE32
template <> struct Lane<bool> : LaneBase<bool, Type::Mask> {
  static bool load(const LaneRows& r, int l) { return r.word[0][l] != 0; }
  static void store(uint32_t* const* out, int l, bool x) { out[2][l] = x; }
};
template <> struct Lane<uint64_t> : LaneBase<uint64_t, Type::U64, 2> {
  static uint64_t load(const LaneRows& r, int l) { return r.word[0][l] | static_cast<uint64_t>(r.word[1][l]) << 32; }
  static void store(uint32_t* const* out, int l, uint64_t x) {
    out[0][l] = static_cast<uint32_t>(x);
    out[1][l] = static_cast<uint32_t>(x >> 32);
  }
};
template <> struct Lane<int64_t> : LaneBase<int64_t, Type::I64, 2> {
  static int64_t load(const LaneRows& r, int l) { return static_cast<int64_t>(Lane<uint64_t>::load(r, l)); }
  static void store(uint32_t* const* out, int l, int64_t x) { Lane<uint64_t>::store(out, l, static_cast<uint64_t>(x)); }
};
template <> struct Lane<double> : LaneBase<double, Type::F64, 2> {
  static double load(const LaneRows& r, int l) { return std::bit_cast<double>(Lane<uint64_t>::load(r, l)); }
  static void store(uint32_t* const* out, int l, double x) { Lane<uint64_t>::store(out, l, std::bit_cast<uint64_t>(x)); }
};
template <> struct Lane<PkF32> : LaneBase<PkF32, Type::PkF32, 2> {
  static PkF32 load(const LaneRows& r, int l) { return {std::bit_cast<float>(r.word[0][l]), std::bit_cast<float>(r.word[1][l])}; }
  static void store(uint32_t* const* out, int l, PkF32 x) {
    out[0][l] = std::bit_cast<uint32_t>(x.lo);
    out[1][l] = std::bit_cast<uint32_t>(x.hi);
  }
};
template <> struct Lane<PkU32> : LaneBase<PkU32, Type::U64, 2> {
  static PkU32 load(const LaneRows& r, int l) { return {r.word[0][l], r.word[1][l]}; }
  static void store(uint32_t* const* out, int l, PkU32 x) {
    out[0][l] = x.lo;
    out[1][l] = x.hi;
  }
};
template <class T> struct Lane<WithMask<T>> : LaneBase<T, Lane<T>::kType, Lane<T>::kWords> {
  static void store(uint32_t* const* out, int l, WithMask<T> x) {
    Lane<T>::store(out, l, x.value);
    out[2][l] = x.mask;
  }
};
template <class T> constexpr bool has_mask = false;
template <class T> constexpr bool has_mask<WithMask<T>> = true;

// The signature of a function, with or without a leading LaneContext.
template <class F> struct Signature;
template <class R, class... A> struct Signature<R (*)(A...)> {
  using Result = R;
  using Args = std::tuple<A...>;
  static constexpr bool kContext = false;
};
template <class R, class... A> struct Signature<R (*)(const LaneContext&, A...)> {
  using Result = R;
  using Args = std::tuple<A...>;
  static constexpr bool kContext = true;
};

template <auto F, size_t... I>
void lanes_of(const LaneRows* src, uint32_t* const* out_rows, const LaneContext& context, std::index_sequence<I...>) {
  using S = Signature<decltype(F)>;
  using Args = typename S::Args;
  uint32_t* const out[3] = {out_rows[0], out_rows[1], out_rows[2]};
  constexpr size_t n = sizeof...(I);
  LaneRows rows[n > 0 ? n : 1];
  for (size_t k = 0; k < n; ++k) rows[k] = src[k];
  GFX950_LANE_LOOP {
    if constexpr (S::kContext) Lane<typename S::Result>::store(out, l, F(context, Lane<std::tuple_element_t<I, Args>>::load(rows[I], l)...));
    else Lane<typename S::Result>::store(out, l, F(Lane<std::tuple_element_t<I, Args>>::load(rows[I], l)...));
  }
}
template <auto F> void lanes(const LaneRows* src, uint32_t* const* out, const LaneContext& context) {
  lanes_of<F>(src, out, context, std::make_index_sequence<std::tuple_size_v<typename Signature<decltype(F)>::Args>>());
}

// The handlers (vector.cpp).
void run_vector(Wave& w, const Instruction& i);
void run_compare(Wave& w, const Instruction& i);
// VCC's bits come as one source more, behind those of the text.
void run_vector_with_vcc(Wave& w, const Instruction& i);

constexpr void add_slot(Row& row, Role role, Type type) { row.slots[row.slot_count++] = Slot{role, type}; }

template <class Args, size_t... I> constexpr void add_sources(Row& row, size_t count, std::index_sequence<I...>) {
  ((I < count ? add_slot(row, Role::Src, Lane<std::tuple_element_t<I, Args>>::kType) : void()), ...);
}

// accumulate: the last argument is the destination's old value, which the text does not name again.
template <auto F> constexpr Row vop(const char* name, uint32_t flags = 0, bool accumulate = false) {
  using S = Signature<decltype(F)>;
  using R = typename S::Result;
  constexpr size_t n = std::tuple_size_v<typename S::Args>;
  Row row{};
  row.name = name;
  row.format = Format::Vector;
  row.flags = flags;
  add_slot(row, accumulate ? Role::DstSrc : Role::Dst, Lane<R>::kType);
  if constexpr (has_mask<R>) add_slot(row, Role::Dst2, Type::Mask);
  add_sources<typename S::Args>(row, accumulate ? n - 1 : n, std::make_index_sequence<n>());
  row.run = std::is_same_v<R, bool> ? run_compare : run_vector;
  row.lanes = &lanes<F>;
  return row;
}

#define VOP(f, ...) vop<&f>(#f __VA_OPT__(, ) __VA_ARGS__)
#define VOP_ACCUMULATE(f, ...) vop<&f>(#f, 0u __VA_OPT__(|) __VA_ARGS__, true)

// EXEC as a mask over lanes.
inline bool active(uint64_t exec, int lane) { return exec >> lane & 1; }

struct alignas(64) RowBuffer {
  uint32_t lane[64];
};

// Masked write-back and mask packing (vector.cpp).
void write_row(uint32_t* to, const uint32_t* from, uint64_t exec);
uint64_t pack_mask(const uint32_t* row);
void expand_mask(uint32_t* row, uint64_t mask);
// Source n of a vector instruction as rows, modifiers applied; temp holds what had to be made.
void fetch_source(Wave& w, const Instruction& i, int n, LaneRows& rows, RowBuffer* temp);

uint32_t read_scalar32(const Wave& w, const Operand& o);
uint64_t read_scalar64(const Wave& w, const Operand& o);

}  // namespace gfx950::isa
