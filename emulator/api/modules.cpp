#include "api/modules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/call.h"
#include "api/capture.h"
#include "api/image.h"

namespace gfx950::api {

Registry<hipModule_t, Module, Kind::Module>& modules() {
  static auto* registry = new Registry<hipModule_t, Module, Kind::Module>;
  return *registry;
}
Registry<hipFunction_t, Function, Kind::Function>& functions() {
  static auto* registry = new Registry<hipFunction_t, Function, Kind::Function>;
  return *registry;
}

std::shared_ptr<Module> load_module_bytes(const void* data, size_t size) {
  auto module = std::make_shared<Module>();
  module->device = current_device();
  std::string error;
  module->object = CodeObject::load(data, size, error, module->device);
  if (!module->object) throw Failure(hipErrorInvalidImage, error);
  return module;
}

std::shared_ptr<Module> load_module(const void* image, const char* name) {
  need(image, "the image");
  current_device();
  forbid_while_capturing(name);
  const Image measured = measure_image(image);
  auto module = load_module_bytes(measured.data, measured.size);
  module->handle = modules().add(module);
  return module;
}

namespace {

bool is_hidden(const KernelArgument& argument) { return argument.value_kind.rfind("hidden_", 0) == 0; }

std::shared_ptr<Function> make_function(const std::shared_ptr<Module>& module, const Kernel& kernel) {
  auto function = std::make_shared<Function>();
  function->module = module;
  function->object = module->object;
  function->kernel = &kernel;
  function->device = module->device;
  for (const KernelArgument& argument : kernel.args) {
    if (is_hidden(argument)) continue;
    function->explicit_args.push_back(&argument);
    function->explicit_bytes = std::max(function->explicit_bytes, argument.offset + argument.size);
  }
  function->handle = functions().add(function);
  return function;
}

std::string list_of_kernels(const CodeObject& object) {
  std::string list;
  for (const Kernel& kernel : object.kernels()) list += (list.empty() ? "" : ", ") + kernel.name;
  return list.empty() ? "none" : list;
}

std::vector<char> read_file(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) throw Failure(hipErrorFileNotFound, text(path, ": ", std::strerror(errno)));
  struct stat status;
  std::vector<char> bytes;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) bytes.resize(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + done, bytes.size() - done);
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  close(file);
  if (done != bytes.size() || bytes.empty()) throw Failure(hipErrorInvalidImage, text(path, " is empty or cannot be read"));
  return bytes;
}

}  // namespace

std::shared_ptr<Function> get_function(const std::shared_ptr<Module>& module, const std::string& name) {
  std::lock_guard lock(module->mutex);
  auto known = module->functions.find(name);
  if (known != module->functions.end()) return known->second;
  const Kernel* kernel = module->object->find(name);
  if (!kernel) throw Failure(hipErrorNotFound, text("the module has no kernel named ", name, "; it has: ", list_of_kernels(*module->object)));
  return module->functions[name] = make_function(module, *kernel);
}

void unload_module(const std::shared_ptr<Module>& module) {
  std::lock_guard lock(module->mutex);
  for (auto& [name, function] : module->functions) {
    function->unloaded = true;
    functions().remove(function->handle);
  }
  module->functions.clear();
}

std::shared_ptr<Function> resolve_function(const void* handle) {
  auto found = functions().find(reinterpret_cast<hipFunction_t>(const_cast<void*>(handle)));
  if (found) return found;
  if (handle)
    if (auto registered = find_static_function(handle)) return registered;
  functions().refuse(reinterpret_cast<hipFunction_t>(const_cast<void*>(handle)));
}

}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return call("hipModuleLoadData", [&] { return *need(module, "the module pointer") = load_module(image, "hipModuleLoadData")->handle, hipSuccess; },
              out("module", module), arg("image", image));
}
HIP_EXPORT hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned options, int*, void**) {
  return call("hipModuleLoadDataEx", [&] { return *need(module, "the module pointer") = load_module(image, "hipModuleLoadDataEx")->handle, hipSuccess; },
              out("module", module), arg("image", image), arg("options", options));
}
HIP_EXPORT hipError_t hipModuleLoadFatBinary(hipModule_t* module, const void* image) {
  return call("hipModuleLoadFatBinary", [&] { return *need(module, "the module pointer") = load_module(image, "hipModuleLoadFatBinary")->handle, hipSuccess; },
              out("module", module), arg("image", image));
}
HIP_EXPORT hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  return call("hipModuleLoad", [&] {
    need(module, "the module pointer");
    current_device();
    forbid_while_capturing("hipModuleLoad");
    const std::vector<char> bytes = read_file(need(path, "the path"));
    const Image image = measure_image(bytes.data(), bytes.size());
    auto loaded = load_module_bytes(image.data, image.size);
    return *module = loaded->handle = modules().add(loaded), hipSuccess;
  }, out("module", module), arg("path", path));
}
HIP_EXPORT hipError_t hipModuleUnload(hipModule_t module) {
  return call("hipModuleUnload", [&] {
    if (modules().find(module)) forbid_while_capturing("hipModuleUnload");
    return unload_module(modules().remove(module)), hipSuccess;
  }, arg("module", module));
}
HIP_EXPORT hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return call("hipModuleGetFunction", [&] {
    need(function, "the function pointer");
    return *function = get_function(modules().need(module), need(name, "the name"))->handle, hipSuccess;
  }, out("function", function), arg("module", module), arg("name", name));
}
HIP_EXPORT hipError_t hipModuleGetFunctionCount(unsigned* count, hipModule_t module) {
  return call("hipModuleGetFunctionCount", [&] {
    return *need(count, "the count pointer") = static_cast<unsigned>(modules().need(module)->object->kernels().size()), hipSuccess;
  }, arg("module", module), out("count", count));
}
HIP_EXPORT hipError_t hipModuleGetGlobal(void** pointer, size_t* bytes, hipModule_t module, const char* name) {
  return call("hipModuleGetGlobal", [&] {
    const auto loaded = modules().need(module);
    const auto& globals = loaded->object->globals();
    const auto symbol = globals.find(need(name, "the name"));
    if (symbol == globals.end()) throw Failure(hipErrorNotFound, text("the module has no variable named ", name));
    if (pointer) *pointer = reinterpret_cast<void*>(symbol->second.address);
    if (bytes) *bytes = symbol->second.size;
    return hipSuccess;
  }, out("pointer", pointer), arg("module", module), arg("name", name));
}
