// The wrapper of scalar instructions: a pure function of values becomes a table row.
// Scc as an argument reads SCC; WithScc<T> or Scc as a result writes it.
#pragma once

#include "isa/lanes.h"

namespace gfx950::isa {

struct Scc { bool value; };
template <class T> struct WithScc { T value; bool scc; };

template <class T> struct ScalarValue;
template <> struct ScalarValue<uint32_t> {
  static constexpr Type kType = Type::U32;
  static uint32_t load(const Wave& w, const Operand& o) { return read_scalar32(w, o); }
  static void store(Wave& w, const Operand& o, uint32_t x) { w.s[o.index] = x; }
};
template <> struct ScalarValue<int32_t> {
  static constexpr Type kType = Type::I32;
  static int32_t load(const Wave& w, const Operand& o) { return static_cast<int32_t>(read_scalar32(w, o)); }
  static void store(Wave& w, const Operand& o, int32_t x) { w.s[o.index] = static_cast<uint32_t>(x); }
};
template <> struct ScalarValue<uint64_t> {
  static constexpr Type kType = Type::U64;
  static uint64_t load(const Wave& w, const Operand& o) { return read_scalar64(w, o); }
  static void store(Wave& w, const Operand& o, uint64_t x) { w.set_pair(o.index, x); }
};
template <> struct ScalarValue<int64_t> {
  static constexpr Type kType = Type::I64;
  static int64_t load(const Wave& w, const Operand& o) { return static_cast<int64_t>(read_scalar64(w, o)); }
  static void store(Wave& w, const Operand& o, int64_t x) { w.set_pair(o.index, static_cast<uint64_t>(x)); }
};
template <class T> struct ScalarResult {
  static constexpr Type kType = ScalarValue<T>::kType;
  static void store(Wave& w, const Operand& o, T x) { ScalarValue<T>::store(w, o, x); }
};
template <class T> struct ScalarResult<WithScc<T>> {
  static constexpr Type kType = ScalarValue<T>::kType;
  static void store(Wave& w, const Operand& o, WithScc<T> x) {
    ScalarValue<T>::store(w, o, x.value);
    w.scc = x.scc;
  }
};
template <> struct ScalarResult<Scc> {
  static constexpr Type kType = Type::None;
  static void store(Wave& w, const Operand&, Scc x) { w.scc = x.value; }
};
template <class T> constexpr bool writes_scc = std::is_same_v<T, Scc>;
template <class T> constexpr bool writes_scc<WithScc<T>> = true;

// Number of operand arguments (not Scc) before argument I.
template <class Args, size_t I> constexpr int operand_index() {
  int n = 0;
  [&]<size_t... K>(std::index_sequence<K...>) { ((n += K < I && !std::is_same_v<std::tuple_element_t<K, Args>, Scc>), ...); }
  (std::make_index_sequence<std::tuple_size_v<Args>>());
  return n;
}
template <class Args, size_t I> auto scalar_argument(const Wave& w, const Instruction& i) {
  using T = std::tuple_element_t<I, Args>;
  if constexpr (std::is_same_v<T, Scc>) return Scc{w.scc};
  else return ScalarValue<T>::load(w, i.src[operand_index<Args, I>()]);
}
template <auto F> void run_scalar(Wave& w, const Instruction& i) {
  using S = Signature<decltype(F)>;
  [&]<size_t... I>(std::index_sequence<I...>) {
    ScalarResult<typename S::Result>::store(w, i.dst, F(scalar_argument<typename S::Args, I>(w, i)...));
  }(std::make_index_sequence<std::tuple_size_v<typename S::Args>>());
}

// accumulate: the last operand argument is the destination's old value.
template <auto F> constexpr Row sop(const char* name, bool accumulate = false) {
  using S = Signature<decltype(F)>;
  using Args = typename S::Args;
  using R = typename S::Result;
  Row row{};
  row.name = name;
  row.format = Format::Scalar;
  if constexpr (!std::is_same_v<R, Scc>) add_slot(row, accumulate ? Role::DstSrc : Role::Dst, ScalarResult<R>::kType);
  if (writes_scc<R>) row.flags |= kWritesScc;
  [&]<size_t... I>(std::index_sequence<I...>) {
    constexpr size_t n = sizeof...(I);
    constexpr int operands = operand_index<Args, n>();
    ((std::is_same_v<std::tuple_element_t<I, Args>, Scc>
          ? void(row.flags |= kReadsScc)
          : operand_index<Args, I>() < operands - (accumulate ? 1 : 0) ? add_slot(row, Role::Src, [] {
              if constexpr (std::is_same_v<std::tuple_element_t<I, Args>, Scc>) return Type::None;
              else return ScalarValue<std::tuple_element_t<I, Args>>::kType;
            }()) : void()), ...);
  }(std::make_index_sequence<std::tuple_size_v<Args>>());
  row.run = &run_scalar<F>;
  return row;
}
#define SOP(f) sop<&f>(#f)
#define SOP_ACCUMULATE(f) sop<&f>(#f, true)

// A row with a handler of its own: slots given in text order.
constexpr Row custom(const char* name, Format format, Run run, std::initializer_list<Slot> slots, uint32_t flags = 0, uint64_t parameter = 0,
                     const void* data = nullptr) {
  Row row{};
  row.name = name;
  row.format = format;
  row.flags = flags;
  for (const Slot& s : slots) row.slots[row.slot_count++] = s;
  row.run = run;
  row.parameter = parameter;
  row.data = data;
  return row;
}

}  // namespace gfx950::isa
