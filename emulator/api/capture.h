// Stream capture: which streams are recorded into which graph, and what is forbidden meanwhile.
//
// Owns:    capture sessions, the thread's capture mode, the one lock that guards graphs and captures.
// Refuses: as HIP does, by mode. An illegal call returns its code and invalidates the capture, which then ends in
//          hipErrorStreamCaptureInvalidated.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/graph_model.h"
#include "api/streams.h"

namespace gfx950::api {

struct CaptureSession {
  std::shared_ptr<Graph> graph;
  bool graph_is_ours = true;  // false: begun into the caller's graph
  std::weak_ptr<Stream> origin;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  std::thread::id thread;
  hipStreamCaptureStatus status = hipStreamCaptureStatusActive;
  std::string invalidated_by;
  uint64_t id = 0;
  std::map<std::shared_ptr<Stream>, std::vector<NodePointer>> leaves;  // of every stream that takes part
};

namespace detail {
extern std::atomic<int> g_sessions;
std::shared_ptr<CaptureSession> session_of(Stream& stream);
void forbid(const char* call);
void forbid_implicit(Stream& stream, const char* call, bool invalidating = true);
void forbid_device(int device, const char* call);
}  // namespace detail
inline bool any_capture() { return detail::g_sessions.load(std::memory_order_acquire) != 0; }

// The active session of a stream, null when it is not captured. Throws hipErrorStreamCaptureInvalidated for a broken one.
inline std::shared_ptr<CaptureSession> capturing(Stream& stream) { return any_capture() ? detail::session_of(stream) : nullptr; }

// For calls that may touch other streams' work behind the scenes (allocation, freeing, module loading): throws
// hipErrorStreamCaptureUnsupported when this thread may not make them now.
inline void forbid_while_capturing(const char* call) {
  if (any_capture()) detail::forbid(call);
}
// For work that goes into, or waits for, a stream outside the capture: the legacy stream would wait for captured work.
inline void forbid_implicit_dependency(Stream& stream, const char* call) {
  if (any_capture()) detail::forbid_implicit(stream, call);
}
// For questions about the stream's capture: the same answer, but the capture goes on.
inline void refuse_implicit_question(Stream& stream, const char* call) {
  if (any_capture()) detail::forbid_implicit(stream, call, false);
}
// For waits and queries: throws when the stream (or any of the device) is captured.
void forbid_wait(Stream& stream, const char* call);
inline void forbid_device_wait(int device, const char* call) {
  if (any_capture()) detail::forbid_device(device, call);
}

// Runs work in the stream, or records it when the stream is captured.
void issue(Stream& stream, WorkPointer work, const char* call);
NodePointer record(CaptureSession& session, const std::shared_ptr<Stream>& stream, WorkPointer work);

// Events in captures (events.cpp). The nodes that a captured record stands for:
std::vector<NodePointer> leaves_of(CaptureSession& session, const std::shared_ptr<Stream>& stream);
// The stream joins the session if it is in none, and what it records next comes after the nodes.
void join(const std::shared_ptr<CaptureSession>& session, const std::shared_ptr<Stream>& stream, const std::vector<NodePointer>& nodes);
void invalidate(CaptureSession& session, const std::string& why);
void stream_is_destroyed(const std::shared_ptr<Stream>& stream);

}  // namespace gfx950::api
