// The library's life in a process: settings from the environment, first use, fork, exit.
//
// Owns:    the state machine Fresh -> Starting -> Live -> (in a forked child) Forked. The settings here are read once, at the first HIP call; those
//          of the engine (strict mode, seed, ...) are checked then, and read at every launch (launch.h).
// Refuses: every call in a child forked after the first HIP call; every call when a GFX950_EMU_ variable has a value that makes no sense.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "api/errors.h"

namespace gfx950::api {

struct Environment {
  int devices = 1;                 // GFX950_EMU_DEVICES
  int compute_units = 256;         // GFX950_EMU_CUS
  unsigned stream_delay_us = 0;    // GFX950_EMU_STREAM_DELAY_US
  bool all_host_memory = false;    // GFX950_EMU_ALL_HOST_MEMORY
  bool null_launch = false;        // GFX950_EMU_NULL
  std::string log_path;            // GFX950_EMU_LOG
  std::vector<int> visible;        // HIP_VISIBLE_DEVICES: physical ordinal of each visible device
};

enum class ProcessState : int { Fresh, Starting, Live, Forked, Misconfigured };

namespace detail {
extern std::atomic<ProcessState> g_state;
extern std::atomic<bool> g_exiting;
bool enter_slow(std::string& why);
}  // namespace detail

// True when calls may proceed. Initialises at the first call. `why` says what is wrong otherwise.
inline bool enter(std::string& why) {
  if (detail::g_state.load(std::memory_order_acquire) == ProcessState::Live) [[likely]]
    return true;
  return detail::enter_slow(why);
}

// In a forked child any lock may be held for ever by a thread that is not there.
inline bool forked() { return detail::g_state.load(std::memory_order_acquire) == ProcessState::Forked; }

const Environment& environment();  // only after enter()
inline const std::atomic<bool>* exit_flag() { return &detail::g_exiting; }
inline bool exiting() { return detail::g_exiting.load(std::memory_order_acquire); }

}  // namespace gfx950::api
