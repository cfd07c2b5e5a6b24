// What the emulator tells about itself, for tests: gfx950_emu_*. None of these is part of HIP; none initialises it.
#include <cstring>

#include "api/errors.h"
#include "api/events.h"
#include "api/graph_model.h"
#include "api/modules.h"
#include "api/pools.h"
#include "api/streams.h"
#include "memory/memory.h"

using namespace gfx950::api;

// The explanation of the newest failure of this thread's calls or of any kernel; "" when there was none. Valid until asked again.
HIP_EXPORT const char* gfx950_emu_last_error_text() { return last_error_text(); }

HIP_EXPORT const char* gfx950_emu_version() { return "gfx950 emulator 0.1.0, HIP 7.2"; }

// Live objects by kind: allocations, bytes, modules, functions, streams, events, graphs, graph_nodes, graph_execs, pools; -1 for another name.
HIP_EXPORT long long gfx950_emu_live_objects(const char* kind) {
  if (!kind) return -1;
  const auto is = [&](const char* name) { return std::strcmp(kind, name) == 0; };
  if (is("allocations")) return static_cast<long long>(gfx950::Memory::instance().statistics().live_allocations);
  if (is("bytes")) return static_cast<long long>(gfx950::Memory::instance().statistics().live_bytes);
  if (is("modules")) return static_cast<long long>(modules().size());
  if (is("functions")) return static_cast<long long>(functions().size());
  if (is("streams")) return static_cast<long long>(streams().size());
  if (is("events")) return static_cast<long long>(events().size());
  if (is("graphs")) return static_cast<long long>(graphs().size());
  if (is("graph_nodes")) return static_cast<long long>(graph_nodes().size());
  if (is("graph_execs")) return static_cast<long long>(graph_execs().size());
  if (is("pools")) return static_cast<long long>(pools().size());
  return -1;
}
