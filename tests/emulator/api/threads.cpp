// Many threads in the whole API at once, each checking its own results: threads.cpp's program LIBRARY CODE_OBJECT SECONDS THREADS.
//
// Built plain by test_threads.py. With the library and this program built by -fsanitize=thread it is the search for data races: a clean
// run prints nothing but the last line (docs/emulator_api.md).
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using Handle = void*;
void* library;

template <class... Arguments>
int hip(const char* name, Arguments... arguments) {
  void* function = dlsym(library, name);
  if (!function) std::fprintf(stderr, "no %s\n", name), std::_Exit(1);
  return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

template <class... Arguments>
void ok(const char* name, Arguments... arguments) {
  const int code = hip(name, arguments...);
  if (!code) return;
  auto text = reinterpret_cast<const char* (*)()>(dlsym(library, "gfx950_emu_last_error_text"));
  std::fprintf(stderr, "%s: %d: %s\n", name, code, text());
  std::_Exit(1);
}

void demand(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "wrong: %s\n", what), std::_Exit(1);
}

constexpr int kDefault = 4, kThreadLocal = 1, kShared = 4;
std::vector<char> image;
Handle shared_streams[kShared], shared_events[kShared], shared_module, shared_graph, shared_node, shared_exec, shared_pool;
std::atomic<long> host_nodes{0};
std::atomic<bool> stop{false};
std::atomic<long> rounds{0}, graphs{0};

class Thread {
 public:
  explicit Thread(unsigned seed) : random_(seed), value_(seed << 24) {}

  void run() {
    ok("hipSetDevice", static_cast<int>(random_() % 2));
    ok("hipModuleLoadData", &module_, static_cast<const void*>(image.data()));
    ok("hipModuleGetFunction", &store_, module_, "store");
    ok("hipStreamCreateWithFlags", &stream_, 1u);
    ok("hipEventCreateWithFlags", &event_, 0u);
    ok("hipMalloc", &buffer_, size_t{4096});
    ok("hipHostMalloc", reinterpret_cast<void**>(&pinned_), size_t{4096}, 0u);
    while (!stop) {
      round();
      ++rounds;
    }
    ok("hipStreamSynchronize", stream_);
    ok("hipFree", buffer_);
    ok("hipHostFree", static_cast<void*>(pinned_));
    ok("hipEventDestroy", event_);
    ok("hipStreamDestroy", stream_);
    ok("hipModuleUnload", module_);
  }

 private:
  void round() {
    switch (random_() % 15) {
      case 0: return launch_and_copy(stream_);
      case 1: return launch_and_copy(reinterpret_cast<Handle>(2));  // hipStreamPerThread
      case 2: return launch_and_copy(nullptr);
      case 3: return graph();
      case 4: return pools();
      case 5: return short_lived();
      case 6: return modules();
      case 7: return questions();
      case 8: return others();
      case 9: return mistakes();
      case 10: return host_function();
      case 11: return one_graph_for_all();
      case 12: return one_module_for_all();
      case 13: return registered_memory();
      default: hip("hipDeviceSynchronize");
    }
  }

  int launch(Handle stream) {
    struct {
      void* to;
      uint32_t value;
    } arguments{buffer_, ++value_};
    size_t size = 12;
    void* extra[] = {reinterpret_cast<void*>(1), &arguments, reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(3)};
    return hip("hipModuleLaunchKernel", store_, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, nullptr, static_cast<void**>(extra));
  }

  void expect(Handle stream, const char* what) {
    ok("hipMemcpyAsync", static_cast<void*>(pinned_), static_cast<const void*>(buffer_), size_t{4}, kDefault, stream);
    ok("hipStreamSynchronize", stream);
    demand(*pinned_ == value_, what);
  }

  void launch_and_copy(Handle stream) {
    if (!launch(stream)) expect(stream, "a kernel's store");
  }

  // Device-wide waits of other threads may invalidate the capture: the calls of the capture then fail, and all of it is thrown away.
  void graph() {
    Handle fork, graph, exec, joined, event;
    ok("hipStreamCreateWithFlags", &fork, 1u);
    ok("hipEventCreateWithFlags", &event, 2u);
    ok("hipEventCreateWithFlags", &joined, 2u);
    ok("hipStreamBeginCapture", stream_, kThreadLocal);
    hip("hipMemsetAsync", buffer_, 0, size_t{4096}, stream_);
    const bool forked = !hip("hipEventRecord", event, stream_) && !hip("hipStreamWaitEvent", fork, event, 0u);
    if (forked) launch(fork);
    if (forked) hip("hipEventRecord", joined, fork), hip("hipStreamWaitEvent", stream_, joined, 0u);
    if (!hip("hipStreamEndCapture", stream_, &graph) && forked) {
      ok("hipGraphInstantiateWithFlags", &exec, graph, 0ull);
      for (int i = 0; i < 3; ++i) ok("hipGraphLaunch", exec, stream_);
      ok("hipGraphExecDestroy", exec);
      ok("hipGraphDestroy", graph);
      expect(stream_, "a graph's kernel");
      ++graphs;
    }
    ok("hipStreamDestroy", fork);
    ok("hipEventDestroy", event);
    ok("hipEventDestroy", joined);
    hip("hipGetLastError");
  }

  void pools() {
    void* pointer;
    ok("hipMallocAsync", &pointer, size_t{256}, stream_);
    ok("hipMemsetAsync", pointer, static_cast<int>(value_ & 255), size_t{256}, stream_);
    ok("hipMemcpyAsync", static_cast<void*>(pinned_), static_cast<const void*>(pointer), size_t{4}, kDefault, stream_);
    ok("hipFreeAsync", pointer, stream_);
    ok("hipStreamSynchronize", stream_);
    demand(*pinned_ == (value_ & 255) * 0x01010101u, "a fill of stream-ordered memory");
  }

  void short_lived() {
    Handle stream, event;
    ok("hipStreamCreate", &stream);
    ok("hipEventCreate", &event);
    const bool launched = launch(stream) == 0;
    ok("hipEventRecord", event, stream);
    ok("hipStreamWaitEvent", stream_, event, 0u);
    ok("hipEventDestroy", event);
    ok("hipStreamDestroy", stream);
    if (launched) expect(stream_, "a store in a stream that was destroyed");
  }

  void modules() {
    Handle module, function;
    ok("hipModuleLoadData", &module, static_cast<const void*>(image.data()));
    ok("hipModuleGetFunction", &function, module, "store");
    std::swap(function, store_);
    demand(launch(stream_) == 0, "a launch");
    std::swap(function, store_);
    ok("hipModuleUnload", module);
    expect(stream_, "a store of a module that was unloaded");
  }

  void questions() {
    char space[4096];
    size_t bytes, total;
    ok("hipPointerGetAttributes", static_cast<void*>(space), static_cast<const void*>(buffer_));
    ok("hipMemGetInfo", &bytes, &total);
    ok("hipGetDevicePropertiesR0600", static_cast<void*>(space), 0);
    ok("hipDeviceGetLimit", &bytes, 0);
    ok("hipDeviceSetLimit", 0, size_t{1024} + random_() % 64);
    ok("hipSetDeviceFlags", static_cast<unsigned>(random_() % 2));
    ok("hipGetDeviceFlags", reinterpret_cast<unsigned*>(space));
    ok("hipCtxGetCurrent", reinterpret_cast<Handle*>(space));
    ok("hipDeviceSetCacheConfig", 1);
    ok("hipFuncGetAttribute", reinterpret_cast<int*>(space), 0, store_);
    ok("hipDevicePrimaryCtxGetState", 0, reinterpret_cast<unsigned*>(space), reinterpret_cast<int*>(space + 8));
  }

  // Streams and events that every thread uses at once, on both devices.
  void others() {
    const Handle stream = shared_streams[random_() % kShared], event = shared_events[random_() % kShared];
    hip("hipEventRecord", event, stream);
    ok("hipStreamWaitEvent", stream, event, 0u);
    ok("hipStreamWaitEvent", stream_, event, 0u);
    hip("hipEventQuery", event);
    hip("hipStreamQuery", stream);
    float milliseconds;
    hip("hipEventElapsedTime", &milliseconds, event, shared_events[random_() % kShared]);
    ok("hipEventSynchronize", event);
  }

  void mistakes() {
    Handle event;
    ok("hipEventCreate", &event);
    ok("hipEventDestroy", event);
    demand(hip("hipEventDestroy", event) == 400, "a second destruction is hipErrorInvalidHandle");
    demand(hip("hipFree", static_cast<void*>(pinned_ + 1)) == 1, "freeing an inner pointer is hipErrorInvalidValue");
    demand(hip("hipGetLastError") == 1, "the last error is the thread's own");
  }

  void host_function() {
    std::atomic<int> calls{0};
    void (*count)(void*) = [](void* data) { ++*static_cast<std::atomic<int>*>(data); };
    ok("hipLaunchHostFunc", stream_, count, static_cast<void*>(&calls));
    ok("hipStreamSynchronize", stream_);
    demand(calls == 1, "a host function runs once");
  }

  // Launched, updated, cloned and asked by every thread: a host function, and an event recorded and waited for.
  void one_graph_for_all() {
    Handle copy, nodes[8];
    size_t count = 8;
    ok("hipGraphLaunch", shared_exec, stream_);
    ok("hipGraphNodeSetEnabled", shared_exec, shared_node, static_cast<unsigned>(random_() % 2));
    ok("hipGraphExecUpdate", shared_exec, shared_graph, static_cast<Handle*>(nodes), static_cast<int*>(nullptr));
    ok("hipGraphGetNodes", shared_graph, static_cast<Handle*>(nodes), &count);
    demand(count == 3, "a graph has its nodes");
    ok("hipGraphClone", &copy, shared_graph);
    ok("hipGraphDestroy", copy);
    ok("hipStreamSynchronize", stream_);
  }

  void one_module_for_all() {
    Handle function;
    int value;
    size_t bytes;
    ok("hipModuleGetFunction", &function, shared_module, random_() % 2 ? "store" : "spin");
    ok("hipFuncSetAttribute", static_cast<const void*>(function), 9, static_cast<int>(random_() % 100));
    ok("hipFuncGetAttribute", &value, 9, function);
    ok("hipModuleGetGlobal", &function, &bytes, shared_module, "counter");
    demand(bytes == 4, "a variable has its size");
    uint64_t number = random_();
    ok("hipMemPoolSetAttribute", shared_pool, 4, static_cast<void*>(&number));
    ok("hipMemPoolGetAttribute", shared_pool, 4, static_cast<void*>(&number));
  }

  void registered_memory() {
    std::vector<uint32_t> mine(1024, value_);
    ok("hipHostRegister", static_cast<void*>(mine.data()), size_t{4096}, 0u);
    void* managed;
    ok("hipMallocManaged", &managed, size_t{4096}, 1u);
    ok("hipMemcpyAsync", managed, static_cast<const void*>(mine.data()), size_t{4096}, kDefault, stream_);
    ok("hipMemcpyAsync", static_cast<void*>(pinned_), static_cast<const void*>(managed), size_t{4096}, kDefault, stream_);
    ok("hipStreamSynchronize", stream_);
    demand(pinned_[1023] == value_, "a copy from registered memory");
    ok("hipHostUnregister", static_cast<void*>(mine.data()));
    ok("hipFree", managed);
  }

  std::minstd_rand random_;
  uint32_t value_;
  Handle module_, store_, stream_, event_;
  void* buffer_;
  uint32_t* pinned_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return std::fprintf(stderr, "LIBRARY CODE_OBJECT SECONDS THREADS\n"), 2;
  library = dlopen(arguments[1], RTLD_NOW);
  if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  std::ifstream file(arguments[2], std::ios::binary);
  image.assign(std::istreambuf_iterator<char>(file), {});
  for (int i = 0; i < kShared; ++i) {
    ok("hipSetDevice", i % 2);
    ok("hipStreamCreateWithFlags", &shared_streams[i], static_cast<unsigned>(i / 2));
    ok("hipEventCreate", &shared_events[i]);
  }
  ok("hipModuleLoadData", &shared_module, static_cast<const void*>(image.data()));
  ok("hipDeviceGetDefaultMemPool", &shared_pool, 0);
  struct {
    void (*function)(void*);
    void* data;
  } host{[](void*) { ++host_nodes; }, nullptr};
  Handle nodes[2];
  ok("hipGraphCreate", &shared_graph, 0u);
  ok("hipGraphAddHostNode", &shared_node, shared_graph, static_cast<Handle*>(nullptr), size_t{0}, static_cast<const void*>(&host));
  ok("hipGraphAddEventRecordNode", &nodes[0], shared_graph, &shared_node, size_t{1}, shared_events[0]);
  ok("hipGraphAddEventWaitNode", &nodes[1], shared_graph, &nodes[0], size_t{1}, shared_events[1]);
  ok("hipGraphInstantiateWithFlags", &shared_exec, shared_graph, 0ull);
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(arguments[4]); ++i) threads.emplace_back([i] { Thread(static_cast<unsigned>(i) + 1).run(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(std::atof(arguments[3]) * 1000)));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  demand(host_nodes > 0, "the host function of the graph runs");
  std::printf("%ld rounds, %ld graphs\n", rounds.load(), graphs.load());
}
