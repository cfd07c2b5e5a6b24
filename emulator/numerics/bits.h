// Views of a value as its bits, and the host float state that every other file here relies on.
// Owns: bit casts, NaN tests on bits, HostFloatScope. Units: none. No engine types.
#pragma once

#include <bit>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gfx950::numerics {

inline uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t bits_of(double x) { return std::bit_cast<uint64_t>(x); }
inline float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }
inline double double_of(uint64_t bits) { return std::bit_cast<double>(bits); }

inline constexpr uint32_t kQuietNanF32 = 0x7fc00000u;
inline constexpr uint64_t kQuietNanF64 = 0x7ff8000000000000ull;
inline constexpr uint16_t kQuietNanF16 = 0x7e00u;

inline bool is_nan(float x) { return (bits_of(x) & 0x7fffffffu) > 0x7f800000u; }
inline bool is_nan(double x) { return (bits_of(x) & ~(1ull << 63)) > 0x7ff0000000000000ull; }
inline bool is_nan_f16(uint16_t h) { return (h & 0x7fff) > 0x7c00; }
inline bool is_signaling(float x) { return is_nan(x) && !(bits_of(x) & 0x00400000u); }
inline bool is_signaling(double x) { return is_nan(x) && !(bits_of(x) & 0x0008000000000000ull); }
inline float quiet(float nan) { return float_of(bits_of(nan) | 0x00400000u); }
inline double quiet(double nan) { return double_of(bits_of(nan) | 0x0008000000000000ull); }
inline bool is_inf(float x) { return (bits_of(x) & 0x7fffffffu) == 0x7f800000u; }
inline bool is_inf(double x) { return (bits_of(x) & ~(1ull << 63)) == 0x7ff0000000000000ull; }
inline bool is_denormal(float x) { uint32_t m = bits_of(x) & 0x7fffffffu; return m != 0 && m < 0x00800000u; }
inline bool is_denormal(double x) {
    uint64_t m = bits_of(x) & ~(1ull << 63);
    return m != 0 && m < 0x0010000000000000ull;
}
// A denormal becomes a zero of its sign: MODE.denorm == 0, and the transcendental units always.
inline float flush_denormal(float x) { return is_denormal(x) ? float_of(bits_of(x) & 0x80000000u) : x; }

// x86 makes 0xffc00000 out of an invalid operation (inf - inf), the GPU 0x7fc00000: results that are NaN are made this one
// where nothing says which NaN of the inputs survives.
inline float canonical_nan(float x) { return is_nan(x) ? float_of(kQuietNanF32) : x; }

// Sets the host's float state to round-to-nearest with denormals kept for the life of the object. A thread inherits MXCSR
// from its creator, and a host program may have switched denormals off: every thread that executes waves holds one.
class HostFloatScope {
  public:
#if defined(__x86_64__)
    HostFloatScope() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }  // exceptions masked, to nearest, no FTZ, no DAZ
    ~HostFloatScope() { _mm_setcsr(saved_); }
#else
    HostFloatScope() : saved_(0) {}
#endif
    HostFloatScope(const HostFloatScope&) = delete;
    HostFloatScope& operator=(const HostFloatScope&) = delete;

  private:
    unsigned saved_;
};

}  // namespace gfx950::numerics
