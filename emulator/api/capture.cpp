#include "api/capture.h"

#include <algorithm>
#include <set>

#include "api/call.h"

namespace gfx950::api {

std::atomic<int> detail::g_sessions{0};

namespace {

thread_local hipStreamCaptureMode t_mode = hipStreamCaptureModeGlobal;
uint64_t g_next_id = 1;  // under graph_lock

std::vector<std::shared_ptr<CaptureSession>>& sessions() {
  static auto* list = new std::vector<std::shared_ptr<CaptureSession>>;
  return *list;
}

const char* name_of(hipStreamCaptureMode mode) {
  switch (mode) {
    case hipStreamCaptureModeGlobal: return "global";
    case hipStreamCaptureModeThreadLocal: return "thread-local";
    case hipStreamCaptureModeRelaxed: return "relaxed";
  }
  return "unknown";
}

std::string of_session(const CaptureSession& session) {
  auto origin = session.origin.lock();
  return text("stream ", hex(origin ? origin->handle : nullptr), " is being captured (mode ", name_of(session.mode), ")");
}

void forget(const std::shared_ptr<CaptureSession>& session) {
  for (auto& [stream, nodes] : session->leaves) stream->capture.reset();
  session->leaves.clear();
  std::erase(sessions(), session);
  detail::g_sessions.store(static_cast<int>(sessions().size()), std::memory_order_release);
}

void drop_graph(const CaptureSession& session) {
  if (session.graph_is_ours && graphs().find(session.graph->handle)) graphs().remove(session.graph->handle);
}

bool forbidden_by(const CaptureSession& session) {
  if (session.status != hipStreamCaptureStatusActive || session.mode == hipStreamCaptureModeRelaxed) return false;
  if (t_mode == hipStreamCaptureModeRelaxed) return false;
  if (session.thread == std::this_thread::get_id()) return true;
  return session.mode == hipStreamCaptureModeGlobal && t_mode == hipStreamCaptureModeGlobal;
}

}  // namespace

void invalidate(CaptureSession& session, const std::string& why) {
  if (session.status != hipStreamCaptureStatusActive) return;
  session.status = hipStreamCaptureStatusInvalidated;
  session.invalidated_by = why;
}

std::shared_ptr<CaptureSession> detail::session_of(Stream& stream) {
  std::lock_guard lock(graph_lock());
  auto session = stream.capture;
  if (session && session->status == hipStreamCaptureStatusInvalidated)
    throw Failure(hipErrorStreamCaptureInvalidated, text("the capture was invalidated: ", session->invalidated_by));
  return session;
}

void detail::forbid(const char* name) {
  std::lock_guard lock(graph_lock());
  std::string first;
  for (const auto& session : sessions()) {
    if (!forbidden_by(*session)) continue;
    if (first.empty()) first = of_session(*session);
    invalidate(*session, text(name, " is not permitted during a capture"));
  }
  if (!first.empty()) throw Failure(hipErrorStreamCaptureUnsupported, text(first, ": ", name, " is not permitted and invalidates the capture"));
}

void detail::forbid_implicit(Stream& stream, const char* name, bool invalidating) {
  if (!stream.legacy) return;
  std::lock_guard lock(graph_lock());
  std::string first;
  for (const auto& session : sessions()) {
    const bool here = std::any_of(session->leaves.begin(), session->leaves.end(), [&](const auto& entry) { return entry.first->device == stream.device && entry.first->blocking(); });
    if (session->status != hipStreamCaptureStatusActive || !here) continue;
    if (first.empty()) first = of_session(*session);
    if (invalidating) invalidate(*session, text(name, " used the legacy default stream"));
  }
  if (!first.empty())
    throw Failure(hipErrorStreamCaptureImplicit, text(first, ": ", name, " in the legacy default stream would wait for it", invalidating ? ", and invalidates the capture" : ""));
}

void detail::forbid_device(int device, const char* name) {
  forbid(name);
  std::lock_guard lock(graph_lock());
  for (const auto& session : sessions())
    for (const auto& [stream, nodes] : session->leaves)
      if (stream->device == device && session->status == hipStreamCaptureStatusActive) {
        invalidate(*session, text(name, " would wait for the captured stream"));
        throw Failure(hipErrorStreamCaptureUnsupported, text(of_session(*session), ": ", name, " would wait for it, and invalidates the capture"));
      }
}

void forbid_wait(Stream& stream, const char* name) {
  if (!any_capture()) return;
  {
    std::lock_guard lock(graph_lock());
    if (auto session = stream.capture) {
      const bool active = session->status == hipStreamCaptureStatusActive;
      invalidate(*session, text(name, " on the captured stream"));
      if (!active) throw Failure(hipErrorStreamCaptureInvalidated, text("the capture was invalidated: ", session->invalidated_by));
      throw Failure(hipErrorStreamCaptureUnsupported, text(of_session(*session), ": ", name, " on it is not permitted and invalidates the capture"));
    }
  }
  detail::forbid_implicit(stream, name);
}

std::vector<NodePointer> leaves_of(CaptureSession& session, const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(graph_lock());
  return session.leaves[stream];
}

NodePointer record(CaptureSession& session, const std::shared_ptr<Stream>& stream, WorkPointer work) {
  std::lock_guard lock(graph_lock());
  auto& leaves = session.leaves[stream];
  auto node = add_node(session.graph, std::move(work), leaves);
  leaves = {node};
  return node;
}

void join(const std::shared_ptr<CaptureSession>& session, const std::shared_ptr<Stream>& stream, const std::vector<NodePointer>& nodes) {
  std::lock_guard lock(graph_lock());
  stream->capture = session;
  auto& leaves = session->leaves[stream];
  for (const NodePointer& node : nodes)
    if (std::find(leaves.begin(), leaves.end(), node) == leaves.end()) leaves.push_back(node);
}

void issue(Stream& stream, WorkPointer work, const char* name) {
  if (auto session = capturing(stream)) {
    std::lock_guard lock(graph_lock());
    for (const auto& [member, leaves] : session->leaves)
      if (member.get() == &stream) {
        record(*session, member, std::move(work));
        return;
      }
  }
  forbid_implicit_dependency(stream, name);
  enqueue(stream, std::move(work));
}

void stream_is_destroyed(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(graph_lock());
  auto session = stream->capture;
  if (!session) return;
  invalidate(*session, "a captured stream was destroyed");
  if (session->origin.lock() == stream) {
    forget(session);
    drop_graph(*session);
  } else {
    session->leaves.erase(stream);
    stream->capture.reset();
  }
}

namespace {

hipError_t begin(hipStream_t handle, hipStreamCaptureMode mode, bool per_thread, std::shared_ptr<Graph> into = nullptr, std::vector<NodePointer> after = {}) {
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) throw Failure(hipErrorInvalidValue, text("capture mode ", mode, " does not exist (0 to 2)"));
  auto stream = resolve_stream(handle, per_thread);
  if (stream->legacy) throw Failure(hipErrorStreamCaptureUnsupported, "the legacy default stream cannot be captured");
  std::lock_guard lock(graph_lock());
  if (stream->capture) throw Failure(hipErrorIllegalState, text("stream ", hex(stream->handle), " is being captured already"));
  auto session = std::make_shared<CaptureSession>();
  session->graph_is_ours = !into;
  session->graph = into ? std::move(into) : make_graph();
  session->origin = stream;
  session->mode = mode;
  session->thread = std::this_thread::get_id();
  session->id = g_next_id++;
  session->leaves[stream] = std::move(after);
  stream->capture = session;
  sessions().push_back(session);
  detail::g_sessions.store(static_cast<int>(sessions().size()), std::memory_order_release);
  return hipSuccess;
}

// Streams whose last captured work does not lead back into the origin.
bool joined(const CaptureSession& session, const std::shared_ptr<Stream>& origin) {
  std::set<Node*> before;
  std::vector<NodePointer> todo = session.leaves.at(origin);
  while (!todo.empty()) {
    NodePointer node = todo.back();
    todo.pop_back();
    if (before.insert(node.get()).second) todo.insert(todo.end(), node->after.begin(), node->after.end());
  }
  for (const auto& [stream, leaves] : session.leaves)
    for (const NodePointer& leaf : leaves)
      if (!before.count(leaf.get())) return false;
  return true;
}

hipError_t end(hipStream_t handle, hipGraph_t* graph, bool per_thread) {
  need(graph, "the pointer to the graph");
  auto stream = resolve_stream(handle, per_thread);
  std::lock_guard lock(graph_lock());
  auto session = stream->capture;
  *graph = nullptr;
  if (!session) throw Failure(hipErrorIllegalState, text("stream ", hex(stream->handle), " is not being captured"));
  if (session->origin.lock() != stream) throw Failure(hipErrorStreamCaptureUnmatched, "the capture was begun on another stream");
  if (session->mode != hipStreamCaptureModeRelaxed && session->thread != std::this_thread::get_id())
    throw Failure(hipErrorStreamCaptureWrongThread, "the capture was begun by another thread");
  const bool broken = session->status == hipStreamCaptureStatusInvalidated;
  const bool unjoined = !broken && !joined(*session, stream);
  session->status = hipStreamCaptureStatusNone;
  forget(session);
  if (broken || unjoined) drop_graph(*session);
  if (broken) throw Failure(hipErrorStreamCaptureInvalidated, text("the capture was invalidated: ", session->invalidated_by));
  if (unjoined) throw Failure(hipErrorStreamCaptureUnjoined, "a stream that joined the capture has work that the origin stream does not wait for");
  if (!graphs().find(session->graph->handle)) throw Failure(hipErrorInvalidHandle, "the graph was destroyed while it was being captured");
  return *graph = session->graph->handle, hipSuccess;
}

hipStreamCaptureStatus status_of(Stream& stream) {
  std::lock_guard lock(graph_lock());
  return stream.capture ? stream.capture->status : hipStreamCaptureStatusNone;
}

hipError_t is_capturing(const char* name, hipStream_t handle, hipStreamCaptureStatus* status, bool per_thread) {
  auto stream = resolve_stream(handle, per_thread);
  refuse_implicit_question(*stream, name);
  return *need(status, "the status pointer") = status_of(*stream), hipSuccess;
}

hipError_t info(const char* name, hipStream_t handle, hipStreamCaptureStatus* status, unsigned long long* id, hipGraph_t* graph, const hipGraphNode_t** nodes, size_t* count,
                bool per_thread) {
  auto stream = resolve_stream(handle, per_thread);
  refuse_implicit_question(*stream, name);
  std::lock_guard lock(graph_lock());
  *need(status, "the status pointer") = status_of(*stream);
  if (*status != hipStreamCaptureStatusActive) return hipSuccess;
  CaptureSession& session = *stream->capture;
  thread_local std::vector<hipGraphNode_t> t_handles;  // valid until the thread asks again
  t_handles.clear();
  for (const NodePointer& node : session.leaves[stream]) t_handles.push_back(node->handle);
  if (id) *id = session.id;
  if (graph) *graph = session.graph->handle;
  if (nodes) *nodes = t_handles.data();
  if (count) *count = t_handles.size();
  return hipSuccess;
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

#define TWINS(NAME, PARAMETERS, BODY, ...)                                                   \
  HIP_EXPORT hipError_t NAME PARAMETERS {                                                    \
    [[maybe_unused]] constexpr const char* name = #NAME;                                     \
    constexpr bool per_thread = false;                                                       \
    return call(#NAME, [&] { return BODY; }, __VA_ARGS__);                                   \
  }                                                                                          \
  HIP_EXPORT hipError_t NAME##_spt PARAMETERS {                                              \
    [[maybe_unused]] constexpr const char* name = #NAME "_spt";                              \
    constexpr bool per_thread = true;                                                        \
    return call(#NAME "_spt", [&] { return BODY; }, __VA_ARGS__);                            \
  }
TWINS(hipStreamBeginCapture, (hipStream_t stream, hipStreamCaptureMode mode), begin(stream, mode, per_thread), arg("stream", stream), arg("mode", mode))
TWINS(hipStreamEndCapture, (hipStream_t stream, hipGraph_t* graph), end(stream, graph, per_thread), arg("stream", stream), out("graph", graph))
TWINS(hipStreamIsCapturing, (hipStream_t stream, hipStreamCaptureStatus* status), is_capturing(name, stream, status, per_thread), arg("stream", stream), out("status", status))
TWINS(hipStreamGetCaptureInfo, (hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id),
      info(name, stream, status, id, nullptr, nullptr, nullptr, per_thread), arg("stream", stream), out("status", status))
TWINS(hipStreamGetCaptureInfo_v2,
      (hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, hipGraph_t* graph, const hipGraphNode_t** nodes, size_t* count),
      info(name, stream, status, id, graph, nodes, count, per_thread), arg("stream", stream), out("status", status))
#undef TWINS

HIP_EXPORT hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph, const hipGraphNode_t* dependencies, const hipGraphEdgeData*, size_t count,
                                                   hipStreamCaptureMode mode) {
  return call("hipStreamBeginCaptureToGraph", [&] {
    std::lock_guard lock(graph_lock());
    auto into = graphs().need(graph);
    return begin(stream, mode, false, into, resolve_nodes(*into, dependencies, count));
  }, arg("stream", stream), arg("graph", graph), arg("mode", mode));
}

HIP_EXPORT hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t* dependencies, size_t count, unsigned flags) {
  return call("hipStreamUpdateCaptureDependencies", [&] {
    auto target = resolve_stream(stream);
    auto session = capturing(*target);
    if (!session) throw Failure(hipErrorIllegalState, text("stream ", hex(stream), " is not being captured"));
    if (flags > 1) throw Failure(hipErrorInvalidValue, text("flags ", flags, ": add (0) and set (1) exist"));
    std::lock_guard lock(graph_lock());
    auto nodes = resolve_nodes(*session->graph, dependencies, count);
    if (flags == 1) session->leaves[target].clear();
    return join(session, target, nodes), hipSuccess;
  }, arg("stream", stream), arg("count", count), arg("flags", flags));
}

HIP_EXPORT hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return call("hipThreadExchangeStreamCaptureMode", [&] {
    if (*need(mode, "the mode pointer") < hipStreamCaptureModeGlobal || *mode > hipStreamCaptureModeRelaxed)
      throw Failure(hipErrorInvalidValue, text("capture mode ", *mode, " does not exist (0 to 2)"));
    return std::swap(*mode, t_mode), hipSuccess;
  }, out("mode", mode));
}
