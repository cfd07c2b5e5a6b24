// Executable graphs: instantiating, launching, updating.
//
// A launch is one piece of work in its stream: the nodes run one after the other, in an order that respects the dependencies. It takes the
// nodes as they are at the call; a later update does not reach it.
#include <algorithm>

#include "api/call.h"
#include "api/events.h"
#include "api/graph_nodes.h"
#include "api/launch.h"

namespace gfx950::api {
namespace {

class GraphLaunchWork : public Work {
 public:
  explicit GraphLaunchWork(std::vector<WorkPointer> nodes, std::vector<UserObject> kept) : nodes_(std::move(nodes)), kept_(std::move(kept)) {}
  Outcome run() const override {
    for (const WorkPointer& node : nodes_) {
      Outcome outcome = run_work(*node);
      if (outcome.code != hipSuccess) return outcome;
    }
    return {};
  }
  hipGraphNodeType type() const override { return hipGraphNodeTypeGraph; }
  std::string describe() const override { return "graph launch"; }
  bool delayed() const override { return false; }
  bool calls_the_user() const override {
    return std::any_of(nodes_.begin(), nodes_.end(), [](const WorkPointer& node) { return node->calls_the_user(); });
  }
  const std::vector<WorkPointer>& nodes() const { return nodes_; }
  const std::vector<UserObject>& kept() const { return kept_; }

 private:
  const std::vector<WorkPointer> nodes_;
  const std::vector<UserObject> kept_;
};

void flatten(const GraphExec& exec, std::vector<WorkPointer>& list, std::vector<UserObject>& kept) {
  kept.insert(kept.end(), exec.kept.begin(), exec.kept.end());
  for (const ExecNode& node : exec.nodes) {
    if (!node.enabled) continue;
    if (node.child) {
      flatten(*node.child, list, kept);
    } else if (const auto* captured = dynamic_cast<const GraphLaunchWork*>(node.work.get())) {
      list.insert(list.end(), captured->nodes().begin(), captured->nodes().end());
      kept.insert(kept.end(), captured->kept().begin(), captured->kept().end());
    } else {
      list.push_back(node.work);
    }
  }
}

using Records = std::vector<std::pair<std::shared_ptr<Event>, std::shared_ptr<Record>>>;

// Each launch makes its own records, so that waits see this launch and not the next; waits take what is recorded now.
Records bind_events(std::vector<WorkPointer>& nodes) {
  Records records;
  for (WorkPointer& node : nodes) {
    if (const auto* mark = dynamic_cast<const EventRecordWork*>(node.get())) {
      records.emplace_back(mark->event, std::make_shared<Record>());
      node = std::make_shared<EventRecordWork>(mark->event, mark->handle, records.back().second);
    } else if (const auto* wait = dynamic_cast<const EventWaitWork*>(node.get())) {
      const bool earlier_here = std::any_of(records.begin(), records.end(), [&](const auto& entry) { return entry.first == wait->event; });
      std::lock_guard lock(wait->event->mutex);
      const auto& record = wait->event->record;
      node = std::make_shared<EventWaitWork>(wait->event, wait->handle, earlier_here || !record ? Dependency{nullptr, 0} : record->place);
    }
  }
  return records;
}

void check_ready(const std::vector<WorkPointer>& nodes, const Stream& stream) {
  for (const WorkPointer& node : nodes) {
    const auto* kernel = dynamic_cast<const KernelWork*>(node.get());
    if (!kernel) continue;
    const Function& function = *kernel->launch.function;
    if (function.unloaded) throw Failure(hipErrorInvalidHandle, text("the graph launches kernel ", function.kernel->name, ", whose module was unloaded"));
    if (function.device != stream.device)
      throw Failure(hipErrorInvalidDevice, text("kernel ", function.kernel->name, " was loaded on device ", function.device, ", the stream belongs to device ", stream.device));
  }
}

hipError_t launch_graph(const char* name, hipGraphExec_t handle, hipStream_t stream_handle, bool per_thread) {
  auto stream = resolve_stream(stream_handle, per_thread);
  std::vector<WorkPointer> nodes;
  std::vector<UserObject> kept;
  {
    std::lock_guard lock(graph_lock());
    auto exec = graph_execs().need(handle);
    flatten(*exec, nodes, kept);
  }
  check_ready(nodes, *stream);
  Records records;
  if (!capturing(*stream)) records = bind_events(nodes);
  auto work = std::make_shared<GraphLaunchWork>(std::move(nodes), std::move(kept));
  if (records.empty()) return issue(*stream, work, name), hipSuccess;
  forbid_implicit_dependency(*stream, name);
  const Dependency place = enqueue(*stream, work);
  for (auto& [event, record] : records) {
    std::lock_guard lock(event->mutex);
    record->place = place;
    event->record = record;
  }
  return hipSuccess;
}

hipError_t instantiate_call(hipGraphExec_t* handle, hipGraph_t graph, unsigned long long flags) {
  need(handle, "the pointer to the result");
  if (flags & ~0xfull) throw Failure(hipErrorInvalidValue, text("flags ", flags, " are not known"));
  std::lock_guard lock(graph_lock());
  auto exec = instantiate(*graphs().need(graph));
  exec->flags = flags;
  return *handle = exec->handle = graph_execs().add(exec), hipSuccess;
}

ExecNode& exec_node(hipGraphExec_t exec, hipGraphNode_t node) {
  ExecNode* found = graph_execs().need(exec)->find(node);
  if (!found) throw Failure(hipErrorInvalidValue, text("executable graph ", hex(exec), " was not made from node ", hex(node)));
  return *found;
}

hipError_t replace(hipGraphExec_t exec, hipGraphNode_t handle, const WorkPointer& work) {
  ExecNode& node = exec_node(exec, handle);
  if (node.child || node.work->type() != work->type())
    throw Failure(hipErrorInvalidValue, text("the node is a ", node.child ? "child graph" : node.work->describe(), ", it cannot become a ", work->describe()));
  return node.work = work, hipSuccess;
}

struct Mismatch {
  hipGraphNode_t node;
  hipGraphExecUpdateResult result;
  std::string why;
};

// Throws Mismatch when the two cannot stand for each other.
void check_same_shape(const GraphExec& exec, const GraphExec& fresh) {
  if (exec.nodes.size() != fresh.nodes.size())
    throw Mismatch{nullptr, hipGraphExecUpdateErrorTopologyChanged, text("the graph has ", fresh.nodes.size(), " nodes, the executable one ", exec.nodes.size())};
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    const ExecNode &old = exec.nodes[i], &now = fresh.nodes[i];
    if (!old.child != !now.child || (!old.child && old.work->type() != now.work->type())) throw Mismatch{now.source, hipGraphExecUpdateErrorNodeTypeChanged, text("node ", i, " changed its type")};
    if (old.after != now.after) throw Mismatch{now.source, hipGraphExecUpdateErrorTopologyChanged, text("node ", i, " has other dependencies")};
    if (old.child) check_same_shape(*old.child, *now.child);
  }
}

// The handles of the nodes it was made from stay those that later updates name.
void take_over(GraphExec& exec, GraphExec& fresh) {
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    if (exec.nodes[i].child) take_over(*exec.nodes[i].child, *fresh.nodes[i].child);
    exec.nodes[i].work = fresh.nodes[i].work;
  }
  exec.kept = fresh.kept;
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t* bad_node, char* log, size_t log_size) {
  return call("hipGraphInstantiate", [&] {
    if (bad_node) *bad_node = nullptr;
    if (log && log_size) *log = 0;
    return instantiate_call(exec, graph, 0);
  }, out("exec", exec), arg("graph", graph));
}
HIP_EXPORT hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph, unsigned long long flags) {
  return call("hipGraphInstantiateWithFlags", [&] { return instantiate_call(exec, graph, flags); }, out("exec", exec), arg("graph", graph), arg("flags", flags));
}
HIP_EXPORT hipError_t hipGraphInstantiateWithParams(hipGraphExec_t* exec, hipGraph_t graph, hipGraphInstantiateParams* p) {
  return call("hipGraphInstantiateWithParams", [&] {
    need(p, "the parameters")->errNode_out = nullptr;
    p->result_out = 1;
    instantiate_call(exec, graph, p->flags);
    return p->result_out = 0, hipSuccess;
  }, out("exec", exec), arg("graph", graph));
}
HIP_EXPORT hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return call("hipGraphExecDestroy", [&] { return graph_execs().remove(exec), hipSuccess; }, arg("exec", exec));
}
HIP_EXPORT hipError_t hipGraphExecGetFlags(hipGraphExec_t exec, unsigned long long* flags) {
  return call("hipGraphExecGetFlags", [&] { return *need(flags, "the flags pointer") = graph_execs().need(exec)->flags, hipSuccess; }, arg("exec", exec), out("flags", flags));
}
HIP_EXPORT hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return call("hipGraphLaunch", [&] { return launch_graph("hipGraphLaunch", exec, stream, false); }, arg("exec", exec), arg("stream", stream));
}
HIP_EXPORT hipError_t hipGraphLaunch_spt(hipGraphExec_t exec, hipStream_t stream) {
  return call("hipGraphLaunch_spt", [&] { return launch_graph("hipGraphLaunch_spt", exec, stream, true); }, arg("exec", exec), arg("stream", stream));
}
HIP_EXPORT hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
  return call("hipGraphUpload", [&] { return graph_execs().need(exec), resolve_stream(stream), hipSuccess; }, arg("exec", exec), arg("stream", stream));
}

HIP_EXPORT hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t* bad_node, hipGraphExecUpdateResult* result) {
  return call("hipGraphExecUpdate", [&] {
    std::lock_guard lock(graph_lock());
    auto target = graph_execs().need(exec);
    auto fresh = instantiate(*graphs().need(graph));
    if (bad_node) *bad_node = nullptr;
    try {
      check_same_shape(*target, *fresh);
    } catch (const Mismatch& mismatch) {
      if (bad_node) *bad_node = mismatch.node;
      if (result) *result = mismatch.result;
      throw Failure(hipErrorGraphExecUpdateFailure, mismatch.why);
    }
    take_over(*target, *fresh);
    if (result) *result = hipGraphExecUpdateSuccess;
    return hipSuccess;
  }, arg("exec", exec), arg("graph", graph), out("result", result));
}

#define UPDATE(NAME, WORK)                                                                                                                \
  return call(NAME, [&] {                                                                                                                 \
    std::lock_guard lock(graph_lock());                                                                                                   \
    return replace(exec, node, WORK);                                                                                                     \
  }, arg("exec", exec), arg("node", node))

HIP_EXPORT hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipKernelNodeParams* p) {
  UPDATE("hipGraphExecKernelNodeSetParams", kernel_work(*need(p, "the parameters")));
}
HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipMemcpy3DParms* p) {
  UPDATE("hipGraphExecMemcpyNodeSetParams", copy_work(from_3d(*need(p, "the parameters"))));
}
HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  UPDATE("hipGraphExecMemcpyNodeSetParams1D", copy_work(linear(to, from, bytes, kind)));
}
HIP_EXPORT hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipMemsetParams* p) {
  UPDATE("hipGraphExecMemsetNodeSetParams", fill_work(*need(p, "the parameters")));
}
HIP_EXPORT hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipHostNodeParams* p) {
  UPDATE("hipGraphExecHostNodeSetParams", host_work(*need(p, "the parameters")));
}
HIP_EXPORT hipError_t hipGraphExecNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraphNodeParams* p) {
  UPDATE("hipGraphExecNodeSetParams", work_of(*need(p, "the parameters")));
}
HIP_EXPORT hipError_t hipGraphExecEventRecordNodeSetEvent(hipGraphExec_t exec, hipGraphNode_t node, hipEvent_t event) {
  UPDATE("hipGraphExecEventRecordNodeSetEvent", std::make_shared<EventRecordWork>(events().need(event), event, nullptr));
}
HIP_EXPORT hipError_t hipGraphExecEventWaitNodeSetEvent(hipGraphExec_t exec, hipGraphNode_t node, hipEvent_t event) {
  UPDATE("hipGraphExecEventWaitNodeSetEvent", std::make_shared<EventWaitWork>(events().need(event), event));
}
HIP_EXPORT hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraph_t child) {
  return call("hipGraphExecChildGraphNodeSetParams", [&] {
    std::lock_guard lock(graph_lock());
    ExecNode& target = exec_node(exec, node);
    if (!target.child) throw Failure(hipErrorInvalidValue, text("node ", hex(node), " is no child graph node"));
    auto fresh = instantiate(*graphs().need(child));
    try {
      check_same_shape(*target.child, *fresh);
    } catch (const Mismatch& mismatch) {
      throw Failure(hipErrorInvalidValue, mismatch.why);
    }
    return target.child = fresh, hipSuccess;
  }, arg("exec", exec), arg("node", node), arg("child", child));
}
HIP_EXPORT hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned enabled) {
  return call("hipGraphNodeSetEnabled", [&] {
    std::lock_guard lock(graph_lock());
    return exec_node(exec, node).enabled = enabled != 0, hipSuccess;
  }, arg("exec", exec), arg("node", node), arg("enabled", enabled));
}
HIP_EXPORT hipError_t hipGraphNodeGetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned* enabled) {
  return call("hipGraphNodeGetEnabled", [&] {
    std::lock_guard lock(graph_lock());
    return *need(enabled, "the enabled pointer") = exec_node(exec, node).enabled, hipSuccess;
  }, arg("exec", exec), arg("node", node));
}
