// Kernels of HIP programs compiled ahead: the loader's calls register fat binaries and host stubs, and a launch names the stub's address.
//
// Owns:    what was registered, before or after the first HIP call; code objects load at the first use on each device.
// Refuses: stubs that nobody registered.
#include <cstring>
#include <map>

#include "api/call.h"
#include "api/capture.h"
#include "api/copy.h"
#include "api/image.h"
#include "api/launch.h"

namespace gfx950::api {
namespace {

struct FatBinaryWrapper {  // in the program's .hipFatBinSegment
  uint32_t magic, version;
  const void* binary;
  void* unused;
};
constexpr uint32_t kWrapperMagic = 0x48495046;  // "HIPF"

struct FatBinary {
  const void* image = nullptr;
  std::map<int, std::shared_ptr<Module>> loaded;  // by device
};
struct Symbol {
  FatBinary* binary;
  std::string name;
};
struct Registered {
  std::mutex mutex;
  std::map<FatBinary*, std::unique_ptr<FatBinary>> binaries;
  std::map<const void*, Symbol> kernels, variables;
};
Registered& registered() {
  static auto* all = new Registered;
  return *all;
}

std::shared_ptr<Module> load_here(FatBinary& binary) {
  auto& module = binary.loaded[current_device()];
  if (!module) {
    const Image image = measure_image(binary.image);
    module = load_module_bytes(image.data, image.size);
  }
  return module;
}

GlobalSymbol find_variable(const void* host_address) {
  std::lock_guard lock(registered().mutex);
  auto at = registered().variables.find(host_address);
  if (at == registered().variables.end()) throw Failure(hipErrorInvalidSymbol, text(hex(host_address), " is no registered device variable"));
  const auto& globals = load_here(*at->second.binary)->object->globals();
  auto symbol = globals.find(at->second.name);
  if (symbol == globals.end()) throw Failure(hipErrorInvalidSymbol, text("the code object has no variable named ", at->second.name));
  return symbol->second;
}

struct CallConfiguration {
  dim3 grid, block;
  size_t lds;
  hipStream_t stream;
};
thread_local std::vector<CallConfiguration> t_configurations;

}  // namespace

std::shared_ptr<Function> find_static_function(const void* host_address) {
  std::lock_guard lock(registered().mutex);
  auto at = registered().kernels.find(host_address);
  if (at == registered().kernels.end()) return nullptr;
  return get_function(load_here(*at->second.binary), at->second.name);
}

// A part of a device variable, for hipMemcpyToSymbol and its like.
void* symbol_range(const void* symbol, size_t bytes, size_t offset) {
  const GlobalSymbol variable = find_variable(symbol);
  if (offset > variable.size || bytes > variable.size - offset)
    throw Failure(hipErrorInvalidValue, text(bytes, " bytes at offset ", offset, " leave the variable's ", variable.size));
  return reinterpret_cast<void*>(variable.address + offset);
}

}  // namespace gfx950::api

using namespace gfx950::api;

// These run before main(), possibly before a fork: they only take notes and do not initialise the runtime.
HIP_EXPORT void** __hipRegisterFatBinary(const void* data) {
  const auto* wrapper = static_cast<const FatBinaryWrapper*>(data);
  if (!wrapper || wrapper->magic != kWrapperMagic) return nullptr;
  auto binary = std::make_unique<FatBinary>();
  binary->image = wrapper->binary;
  FatBinary* handle = binary.get();
  std::lock_guard lock(registered().mutex);
  registered().binaries.emplace(handle, std::move(binary));
  return reinterpret_cast<void**>(handle);
}

namespace {
void add_symbol(std::map<const void*, Symbol> Registered::*list, void** modules, const void* host, const char* name) {
  std::lock_guard lock(registered().mutex);
  auto at = registered().binaries.find(reinterpret_cast<FatBinary*>(modules));
  if (at != registered().binaries.end() && name) (registered().*list)[host] = {at->second.get(), name};
}
}  // namespace

HIP_EXPORT void __hipRegisterFunction(void** modules, const void* host, char*, const char* name, unsigned, void*, void*, void*, void*, int*) {
  add_symbol(&Registered::kernels, modules, host, name);
}
HIP_EXPORT void __hipRegisterVar(void** modules, void* host, char*, char* name, int, size_t, int, int) { add_symbol(&Registered::variables, modules, host, name); }

HIP_EXPORT void __hipUnregisterFatBinary(void** modules) {
  std::lock_guard lock(registered().mutex);
  if (forked()) return;
  auto* binary = reinterpret_cast<FatBinary*>(modules);
  if (!registered().binaries.count(binary)) return;
  for (auto* list : {&registered().kernels, &registered().variables}) std::erase_if(*list, [&](const auto& entry) { return entry.second.binary == binary; });
  for (auto& [device, module] : binary->loaded) unload_module(module);
  registered().binaries.erase(binary);
}

HIP_EXPORT hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
  return call("__hipPushCallConfiguration", [&] { return t_configurations.push_back({grid, block, lds, stream}), hipSuccess; }, arg("grid", grid), arg("block", block));
}
HIP_EXPORT hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds, hipStream_t* stream) {
  return call("__hipPopCallConfiguration", [&] {
    if (t_configurations.empty()) throw Failure(hipErrorInvalidConfiguration, "no launch configuration was pushed in this thread");
    const CallConfiguration c = t_configurations.back();
    t_configurations.pop_back();
    *need(grid, "grid") = c.grid, *need(block, "block") = c.block, *need(lds, "lds") = c.lds, *need(stream, "stream") = c.stream;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGetSymbolAddress(void** pointer, const void* symbol) {
  return call("hipGetSymbolAddress", [&] { return *need(pointer, "the pointer to the result") = reinterpret_cast<void*>(find_variable(symbol).address), hipSuccess; }, arg("symbol", symbol));
}
HIP_EXPORT hipError_t hipGetSymbolSize(size_t* size, const void* symbol) {
  return call("hipGetSymbolSize", [&] { return *need(size, "the size pointer") = find_variable(symbol).size, hipSuccess; }, arg("symbol", symbol));
}
HIP_EXPORT hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, hipMemcpyKind kind) {
  return call("hipMemcpyToSymbol", [&] {
    auto stream = resolve_stream(nullptr);
    const Copy copy = linear(symbol_range(symbol, bytes, offset), from, bytes, kind);
    validate(copy);
    forbid_implicit_dependency(*stream, "hipMemcpyToSymbol");
    return enqueue(*stream, std::make_shared<CopyWork>(copy)), synchronise(*stream), hipSuccess;
  }, arg("symbol", symbol), arg("bytes", bytes));
}
HIP_EXPORT hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, hipMemcpyKind kind) {
  return call("hipMemcpyFromSymbol", [&] {
    auto stream = resolve_stream(nullptr);
    const Copy copy = linear(to, symbol_range(symbol, bytes, offset), bytes, kind);
    validate(copy);
    forbid_implicit_dependency(*stream, "hipMemcpyFromSymbol");
    return enqueue(*stream, std::make_shared<CopyWork>(copy)), synchronise(*stream), hipSuccess;
  }, arg("symbol", symbol), arg("bytes", bytes));
}

// Programs may register these; using them is what is not supported.
HIP_EXPORT void __hipRegisterManagedVar(void**, void**, void*, const char*, size_t, unsigned) {}
HIP_EXPORT void __hipRegisterSurface(void**, void*, char*, char*, int, int) {}
HIP_EXPORT void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}
