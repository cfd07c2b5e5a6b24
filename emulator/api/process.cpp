#include "api/process.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "api/log.h"
#include "api/queue.h"
#include "api/text.h"
#include "memory/memory.h"

namespace gfx950::api {
namespace detail {
std::atomic<ProcessState> g_state{ProcessState::Fresh};
std::atomic<bool> g_exiting{false};
}  // namespace detail

namespace {

Environment& mutable_environment() {
  static auto* environment = new Environment;
  return *environment;
}
std::string& misconfiguration() {
  static auto* why = new std::string;
  return *why;
}
pid_t g_parent = 0;

long long read_integer(const char* name, long long fallback, long long low, long long high) {
  const char* value = std::getenv(name);
  if (!value || !*value) return fallback;
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(value, &end, 10);
  if (errno || *end || number < low || number > high)
    throw Failure(hipErrorNotInitialized, text(name, "=", value, " is not a whole number from ", low, " to ", high));
  return number;
}

bool read_flag(const char* name) { return read_integer(name, 0, 0, 1) != 0; }

std::vector<int> read_visible(int devices) {
  std::vector<int> visible;
  const char* list = std::getenv("HIP_VISIBLE_DEVICES");
  if (!list) {
    for (int i = 0; i < devices; ++i) visible.push_back(i);
    return visible;
  }
  for (const char* at = list; *at;) {
    char* end = nullptr;
    const long ordinal = std::strtol(at, &end, 10);
    if (end == at || ordinal < 0 || ordinal >= devices) break;  // as the real runtime: the list ends at the first invalid entry
    visible.push_back(static_cast<int>(ordinal));
    at = *end == ',' ? end + 1 : end;
    if (*end && *end != ',') break;
  }
  return visible;
}

// A misspelt setting would otherwise be taken for one that is off.
void warn_of_unknown_settings() {
  static constexpr const char* kKnown[] = {"ALL_HOST_MEMORY", "BANK_CONFLICTS", "CUS", "DEVICES", "ISA", "LIBLLVM", "LOG", "MAX_INSTRUCTIONS", "NULL", "QUANTUM", "REPORTS", "SEED",
                                             "STREAM_DELAY_US", "STRICT", "THREADS"};
  constexpr std::string_view prefix = "GFX950_EMU_";
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable(*entry, std::strcspn(*entry, "="));
    if (variable.substr(0, prefix.size()) != prefix) continue;
    const auto is = [&](const char* name) { return variable.substr(prefix.size()) == name; };
    if (std::any_of(std::begin(kKnown), std::end(kKnown), is)) continue;
    std::string line = text("gfx950 emulator: ", variable, " is no setting; there are");
    for (const char* name : kKnown) line += text(" ", prefix, name);
    line += '\n';
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  }
}

void read_environment(Environment& e) {
  warn_of_unknown_settings();
  e.devices = static_cast<int>(read_integer("GFX950_EMU_DEVICES", 1, 0, 64));
  e.compute_units = static_cast<int>(read_integer("GFX950_EMU_CUS", 256, 1, 256));
  e.stream_delay_us = static_cast<unsigned>(read_integer("GFX950_EMU_STREAM_DELAY_US", 0, 0, 60'000'000));
  e.all_host_memory = read_flag("GFX950_EMU_ALL_HOST_MEMORY");
  e.null_launch = read_flag("GFX950_EMU_NULL");
  if (const char* path = std::getenv("GFX950_EMU_LOG")) e.log_path = path;
  e.visible = read_visible(e.devices);
  for (const char* name : {"GFX950_EMU_STRICT", "GFX950_EMU_BANK_CONFLICTS"}) read_flag(name);
  for (const char* name : {"GFX950_EMU_SEED", "GFX950_EMU_MAX_INSTRUCTIONS", "GFX950_EMU_QUANTUM"}) read_integer(name, 0, 0, INT64_MAX);
  read_integer("GFX950_EMU_THREADS", 0, 0, 4096);
  read_integer("GFX950_EMU_REPORTS", 0, 0, 1'000'000);
}

void in_forked_child() {
  if (detail::g_state.load(std::memory_order_relaxed) != ProcessState::Fresh)
    detail::g_state.store(ProcessState::Forked, std::memory_order_release);
}

[[gnu::constructor]] void watch_forks() { pthread_atfork(nullptr, nullptr, in_forked_child); }

void at_exit() {
  if (detail::g_state.load(std::memory_order_acquire) != ProcessState::Live) return;  // a forked child has no workers
  detail::g_exiting.store(true, std::memory_order_release);
  Queue::stop_all();
}

void initialise() {
  Environment& e = mutable_environment();
  try {
    read_environment(e);
    if (!e.log_path.empty()) open_log(e.log_path);
  } catch (const Failure& failure) {
    misconfiguration() = failure.text;
    detail::g_state.store(ProcessState::Misconfigured, std::memory_order_release);
    return;
  }
  Memory::instance().set_all_host_memory(e.all_host_memory);
  std::atexit(at_exit);
  detail::g_state.store(ProcessState::Live, std::memory_order_release);
}

}  // namespace

bool detail::enter_slow(std::string& why) {
  static std::mutex mutex;
  // Before the lock, so that a child forked while another thread is inside finds a state that is not Fresh, instead of a lock held for ever.
  ProcessState fresh = ProcessState::Fresh;
  if (g_state.compare_exchange_strong(fresh, ProcessState::Starting)) g_parent = getpid();
  if (g_state.load(std::memory_order_acquire) == ProcessState::Forked) {
    why = text("this process was forked after its parent (pid ", g_parent,
               ") had made its first HIP call; HIP cannot be used here: fork before the first call, or start workers with spawn");
    return false;
  }
  std::lock_guard lock(mutex);
  if (g_state.load(std::memory_order_acquire) == ProcessState::Starting) initialise();
  if (g_state.load(std::memory_order_acquire) == ProcessState::Live) return true;
  why = misconfiguration();
  return false;
}

const Environment& environment() { return mutable_environment(); }

}  // namespace gfx950::api
