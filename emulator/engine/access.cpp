// The handlers' way to memory and to errors, in both modes.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "engine/launch.h"

namespace gfx950 {

namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// A mapped host range around an address, for GFX950_EMU_ALL_HOST_MEMORY. Neighbouring maps are joined.
bool host_map(uint64_t address, AddressRange& out) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  bool inside = false;
  while (std::getline(maps, line)) {
    unsigned long long begin, end;
    char read = '-', write = '-';
    if (std::sscanf(line.c_str(), "%llx-%llx %c%c", &begin, &end, &read, &write) != 4 || read != 'r' || write != 'w') continue;
    if (inside && begin == out.end) {
      out.end = end;
      continue;
    }
    if (inside) return true;
    if (address >= begin && address < end) {
      out = {begin, end, true};
      inside = true;
    }
  }
  return inside;
}

}  // namespace

void fault(const Wave& w, ErrorCode code, const std::string& detail, int lane) {
  const Launch& launch = *w.group->launch;
  std::ostringstream text;
  text << name_of(code) << " in kernel " << launch.kernel->name << " at pc " << hex(w.pc);
  if (w.pc >= launch.kernel->entry) text << " (+" << hex(w.pc - launch.kernel->entry) << ")";
  if (w.current) text << " '" << w.current->text << "'";
  text << ", workgroup (" << w.group->id.x << "," << w.group->id.y << "," << w.group->id.z << "), wave " << w.index;
  if (lane >= 0) text << ", lane " << lane;
  text << ": " << detail;
  throw Fault{code, text.str()};
}

bool resolve_range(Wave& w, uint64_t address, uint64_t size) {
  const uint64_t version = Memory::instance().version();
  if (w.ranges_version != version) {
    for (AddressRange& r : w.ranges) r = {};
    w.ranges_version = version;
  }
  AddressRange found;
  const auto ranges = Memory::instance().ranges();
  if (const Allocation* a = ranges->find(address)) found = {a->base, a->end(), a->host_writable()};
  else if (!Memory::instance().all_host_memory() || Memory::instance().owns(reinterpret_cast<void*>(address)) || !host_map(address, found)) return false;
  for (int n = Wave::kRanges - 1; n > 0; --n) w.ranges[n] = w.ranges[n - 1];
  w.ranges[0] = found;
  return address >= found.begin && fits(address - found.begin, size, found.end - found.begin);
}

std::string describe_access(uint64_t address, uint32_t size) {
  const std::string where = Memory::instance().describe(address);
  // The first byte may be fine and only the end outside.
  if (const auto inside = Memory::instance().find(reinterpret_cast<void*>(address)); inside && size > inside->end() - address)
    return where + ", running " + std::to_string(address + size - inside->end()) + " bytes past its end";
  return where;
}

void bad_address(Wave& w, uint64_t address, uint32_t size, int lane, bool store) {
  fault(w, ErrorCode::IllegalAddress,
        std::string(store ? "store" : "load") + " of " + std::to_string(size) + " bytes at " + hex(address) + ": " + describe_access(address, size), lane);
}

void mark_written(Wave&, uint64_t address, uint32_t size) { Memory::instance().mark_written(reinterpret_cast<void*>(address), size); }

void perform_scalar_load(Wave& w, const ScalarAccess& a) {
  const uint32_t words = a.words < a.valid_words ? a.words : a.valid_words;
  if (words && !in_range(w, a.address, words * 4)) bad_address(w, a.address, words * 4, -1, false);
  for (uint32_t k = 0; k < a.words; ++k) {
    uint32_t value = 0;
    if (k < words) std::memcpy(&value, reinterpret_cast<const void*>(a.address + 4 * k), 4);
    if (a.dst + k < static_cast<uint32_t>(kScalars)) w.s[a.dst + k] = value;
  }
}

uint64_t code_address(const Wave& w, uint64_t pc) { return w.group->launch->object->load_bias() + pc; }

uint64_t code_offset(const Wave& w, uint64_t address) { return address - w.group->launch->object->load_bias(); }

}  // namespace gfx950
