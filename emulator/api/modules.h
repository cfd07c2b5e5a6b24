// Modules and functions.
//
// Owns:    the code object of a module, the handles of its functions. A launch under way keeps the code object; handles die at unload.
// Refuses: images that are no gfx950 code object (which code says why), names that do not exist, functions of unloaded modules.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/registry.h"
#include "object/code_object.h"

namespace gfx950::api {

struct Module;

struct Function {
  std::weak_ptr<Module> module;
  std::shared_ptr<const CodeObject> object;
  const Kernel* kernel = nullptr;
  int device = 0;
  uint32_t explicit_bytes = 0;  // end of the last argument that the caller gives
  std::vector<const KernelArgument*> explicit_args;
  std::atomic<bool> unloaded{false};
  std::atomic<int> max_dynamic_lds{0}, carveout{-1};
  hipFunction_t handle = nullptr;
};

struct Module {
  std::shared_ptr<CodeObject> object;
  int device = 0;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Function>> functions;
  hipModule_t handle = nullptr;
};

Registry<hipModule_t, Module, Kind::Module>& modules();
Registry<hipFunction_t, Function, Kind::Function>& functions();

std::shared_ptr<Module> load_module(const void* image, const char* name_of_call);
std::shared_ptr<Module> load_module_bytes(const void* data, size_t size);
std::shared_ptr<Function> get_function(const std::shared_ptr<Module>& module, const std::string& name);
void unload_module(const std::shared_ptr<Module>& module);

// A hipFunction_t, or the host address of a kernel that a HIP program registered (static_kernels.cpp).
std::shared_ptr<Function> resolve_function(const void* handle_or_host_address);
std::shared_ptr<Function> find_static_function(const void* host_address);

}  // namespace gfx950::api
