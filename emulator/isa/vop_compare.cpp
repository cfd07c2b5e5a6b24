// Vector comparisons, v_cmp_* and v_cmpx_*, of every type. Float conditions: CDNA3 ISA 12.9 (an unordered pair fulfils the negated ones).
#include "isa/families.h"
#include "isa/lanes.h"
#include "numerics/valu_float.h"

namespace gfx950::isa {
namespace {

namespace num = numerics;

template <class T> T value(T x) { return x; }
inline float value(F16 x) { return num::f16_to_f32(x.bits); }

struct F { template <class T> static bool test(T, T) { return false; } };
struct Lt { template <class T> static bool test(T a, T b) { return a < b; } };
struct Eq { template <class T> static bool test(T a, T b) { return a == b; } };
struct Le { template <class T> static bool test(T a, T b) { return a <= b; } };
struct Gt { template <class T> static bool test(T a, T b) { return a > b; } };
struct Lg { template <class T> static bool test(T a, T b) { return (a < b) | (a > b); } };
struct Ge { template <class T> static bool test(T a, T b) { return a >= b; } };
struct O { template <class T> static bool test(T a, T b) { return (a == a) & (b == b); } };
struct U { template <class T> static bool test(T a, T b) { return (a != a) | (b != b); } };
struct Nge { template <class T> static bool test(T a, T b) { return !(a >= b); } };
struct Nlg { template <class T> static bool test(T a, T b) { return !((a < b) | (a > b)); } };
struct Ngt { template <class T> static bool test(T a, T b) { return !(a > b); } };
struct Nle { template <class T> static bool test(T a, T b) { return !(a <= b); } };
struct Neq { template <class T> static bool test(T a, T b) { return a != b; } };
struct Nlt { template <class T> static bool test(T a, T b) { return !(a < b); } };
struct Tru { template <class T> static bool test(T, T) { return true; } };

template <class Condition, class T> bool v_cmp(T a, T b) { return Condition::test(value(a), value(b)); }

bool v_cmp_class_f32(float a, uint32_t mask) { return num::cmp_class(a, mask); }
bool v_cmp_class_f64(double a, uint32_t mask) { return num::cmp_class(a, mask); }
bool v_cmp_class_f16(F16 a, uint32_t mask) { return num::cmp_class_f16(a.bits, mask); }

#define BOTH(condition, T, name) vop<&v_cmp<condition, T>>("v_cmp_" name), vop<&v_cmp<condition, T>>("v_cmpx_" name, kWritesExec)
#define INTEGERS(T, suffix)                                                                                                       \
  BOTH(F, T, "f_" suffix), BOTH(Lt, T, "lt_" suffix), BOTH(Eq, T, "eq_" suffix), BOTH(Le, T, "le_" suffix), BOTH(Gt, T, "gt_" suffix), \
      BOTH(Lg, T, "ne_" suffix), BOTH(Ge, T, "ge_" suffix), BOTH(Tru, T, "t_" suffix)
#define FLOATS(T, suffix)                                                                                                           \
  BOTH(F, T, "f_" suffix), BOTH(Lt, T, "lt_" suffix), BOTH(Eq, T, "eq_" suffix), BOTH(Le, T, "le_" suffix), BOTH(Gt, T, "gt_" suffix),   \
      BOTH(Lg, T, "lg_" suffix), BOTH(Ge, T, "ge_" suffix), BOTH(O, T, "o_" suffix), BOTH(U, T, "u_" suffix), BOTH(Nge, T, "nge_" suffix), \
      BOTH(Nlg, T, "nlg_" suffix), BOTH(Ngt, T, "ngt_" suffix), BOTH(Nle, T, "nle_" suffix), BOTH(Neq, T, "neq_" suffix),             \
      BOTH(Nlt, T, "nlt_" suffix), BOTH(Tru, T, "tru_" suffix)
#define CLASS(f, name) vop<&f>("v_cmp_class_" name, kNoFlush), vop<&f>("v_cmpx_class_" name, kNoFlush | kWritesExec)

constexpr Row kRows[] = {
    INTEGERS(uint32_t, "u32"), INTEGERS(int32_t, "i32"), INTEGERS(uint64_t, "u64"), INTEGERS(int64_t, "i64"), INTEGERS(uint16_t, "u16"),
    INTEGERS(int16_t, "i16"), FLOATS(float, "f32"), FLOATS(double, "f64"), FLOATS(F16, "f16"), CLASS(v_cmp_class_f32, "f32"),
    CLASS(v_cmp_class_f64, "f64"), CLASS(v_cmp_class_f16, "f16"),
};

}  // namespace

Rows compare_rows() { return {kRows, std::size(kRows)}; }

}  // namespace gfx950::isa
