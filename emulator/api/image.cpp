#include "api/image.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "api/errors.h"
#include "api/host_memory.h"
#include "api/text.h"

namespace gfx950::api {
namespace {

constexpr size_t kLargestImage = size_t{4} << 30;
constexpr uint16_t kMachineAmdgpu = 224;
constexpr uint32_t kMachGfx950 = 0x4f, kMachGfx9_4Generic = 0x5f;
constexpr char kBundle[] = "__CLANG_OFFLOAD_BUNDLE__";

template <class T>
T read(const char* data, size_t offset) {
  T value;
  std::memcpy(&value, data + offset, sizeof value);
  return value;
}

// Bytes at the image's start that may be read, up to `wanted`.
void demand(const void* data, size_t wanted, size_t known_size, const char* what) {
  if (known_size && wanted > known_size)
    throw Failure(hipErrorInvalidImage, text("the image ends after ", known_size, " bytes, inside ", what, " that needs ", wanted, ": it is truncated or damaged"));
  if (wanted > kLargestImage) throw Failure(hipErrorInvalidImage, text(what, " claims ", wanted, " bytes: the image is damaged"));
  if (!known_size && !host_readable(data, wanted))
    throw Failure(hipErrorInvalidImage, text(what, " needs ", wanted, " bytes, which are not all mapped at ", hex(data), ": the image is truncated or damaged"));
}

size_t elf_size(const char* data, size_t known_size) {
  demand(data, 64, known_size, "the ELF header");
  if (data[4] != 2 || data[5] != 1) throw Failure(hipErrorInvalidImage, "the image is no 64-bit little-endian ELF");
  const auto machine = read<uint16_t>(data, 18);
  if (machine != kMachineAmdgpu) throw Failure(hipErrorNoBinaryForGpu, text("the image is an ELF for machine ", machine, ", not for an AMD GPU (", kMachineAmdgpu, ")"));
  const auto mach = read<uint32_t>(data, 48) & 0xff;
  if (mach != kMachGfx950 && mach != kMachGfx9_4Generic)
    throw Failure(hipErrorNoBinaryForGpu, text("the code object is for another architecture (e_flags machine ", hex(uint64_t{mach}), "), the device is gfx950 (", hex(uint64_t{kMachGfx950}), ")"));
  const auto program = read<uint64_t>(data, 32), section = read<uint64_t>(data, 40);
  const auto program_entry = read<uint16_t>(data, 54), programs = read<uint16_t>(data, 56), section_entry = read<uint16_t>(data, 58), sections = read<uint16_t>(data, 60);
  uint64_t end = 64;
  auto extend = [&](uint64_t offset, uint64_t bytes, const char* what) {
    if (bytes > kLargestImage || offset > kLargestImage) throw Failure(hipErrorInvalidImage, text(what, " lies at ", offset, " with ", bytes, " bytes: the image is damaged"));
    end = std::max(end, offset + bytes);
    demand(data, end, known_size, what);
  };
  extend(program, uint64_t{program_entry} * programs, "the program headers");
  extend(section, uint64_t{section_entry} * sections, "the section headers");
  if (programs && program_entry >= 56)
    for (unsigned i = 0; i < programs; ++i)
      extend(read<uint64_t>(data, program + uint64_t{i} * program_entry + 8), read<uint64_t>(data, program + uint64_t{i} * program_entry + 32), "a segment");
  if (sections && section_entry >= 64)
    for (unsigned i = 0; i < sections; ++i) {
      const uint64_t header = section + uint64_t{i} * section_entry;
      if (read<uint32_t>(data, header + 4) != 8 /* SHT_NOBITS */) extend(read<uint64_t>(data, header + 24), read<uint64_t>(data, header + 32), "a section");
    }
  return end;
}

// Entries of a bundle: offset, size, length of the target's name, name.
Image in_bundle(const char* data, size_t known_size) {
  size_t at = sizeof kBundle - 1;
  demand(data, at + 8, known_size, "the bundle's header");
  const auto entries = read<uint64_t>(data, at);
  at += 8;
  std::string targets;
  for (uint64_t i = 0; i < entries && i < 1024; ++i) {
    demand(data, at + 24, known_size, "a bundle entry");
    const auto offset = read<uint64_t>(data, at), size = read<uint64_t>(data, at + 8), length = read<uint64_t>(data, at + 16);
    demand(data, at + 24 + std::min<uint64_t>(length, kLargestImage), known_size, "a bundle entry's target");
    if (length > 1024) throw Failure(hipErrorInvalidImage, "a bundle entry's target is longer than 1024 bytes: the image is damaged");
    const std::string target(data + at + 24, length);
    at += 24 + length;
    targets += (targets.empty() ? "" : ", ") + target;
    const bool ours = target.find("gfx950") != std::string::npos || target.find("gfx9-4-generic") != std::string::npos;
    if (!ours || target.compare(0, 4, "host") == 0 || !size) continue;
    if (target.find("xnack+") != std::string::npos || target.find("sramecc-") != std::string::npos) continue;
    demand(data, std::min<uint64_t>(offset, kLargestImage) + std::min<uint64_t>(size, kLargestImage), known_size, "a bundle's code object");
    return measure_image(data + offset, size);
  }
  throw Failure(hipErrorNoBinaryForGpu, text("the bundle holds no code object for gfx950:sramecc+:xnack-; it holds: ", targets));
}

}  // namespace

Image measure_image(const void* data, size_t known_size) {
  const char* bytes = static_cast<const char*>(data);
  if (known_size && known_size < 4) throw Failure(hipErrorInvalidImage, text("the image has ", known_size, " bytes: no code object is that short"));
  demand(data, 4, known_size, "the magic number");
  if (std::memcmp(bytes, "\177ELF", 4) == 0) return {data, known_size ? (elf_size(bytes, known_size), known_size) : elf_size(bytes, 0)};
  if (std::memcmp(bytes, "CCOB", 4) == 0) throw Failure(hipErrorNotSupported, "the gfx950 emulator does not open compressed offload bundles (compile with --no-offload-compress)");
  if (!known_size || known_size >= sizeof kBundle - 1) {
    demand(data, sizeof kBundle - 1, known_size, "the magic number");
    if (std::memcmp(bytes, kBundle, sizeof kBundle - 1) == 0) return in_bundle(bytes, known_size);
  }
  throw Failure(hipErrorInvalidImage, "the image is neither an ELF nor an offload bundle");
}

}  // namespace gfx950::api
