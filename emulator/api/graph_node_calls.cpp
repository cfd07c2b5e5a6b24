// Nodes of every kind: adding them, reading and changing what they do.
#include "api/call.h"
#include "api/events.h"
#include "api/copy.h"
#include "api/graph_nodes.h"
#include "api/launch.h"

namespace gfx950::api {

WorkPointer kernel_work(const hipKernelNodeParams& p) {
  auto function = resolve_function(p.func);
  const Geometry geometry{p.gridDim, p.blockDim, p.sharedMemBytes};
  check_geometry(*function, geometry);
  return std::make_shared<KernelWork>(Launch{function, geometry, pack_arguments(*function, p.kernelParams, p.extra), launch_settings()});
}

WorkPointer copy_work(const Copy& copy) {
  if (copy.box.empty()) throw Failure(hipErrorInvalidValue, "the copy is empty");
  validate(copy);
  return std::make_shared<CopyWork>(copy);
}

WorkPointer fill_work(const hipMemsetParams& p) {
  const Fill fill = from_memset(p);
  if (fill.box.empty()) throw Failure(hipErrorInvalidValue, "the fill is empty");
  validate(fill);
  return std::make_shared<FillWork>(fill);
}

WorkPointer host_work(const hipHostNodeParams& p) {
  if (!p.fn) throw Failure(hipErrorInvalidValue, "the host function is null");
  return std::make_shared<HostFunctionWork>(p.fn, p.userData);
}

WorkPointer work_of(const hipGraphNodeParams& p) {
  switch (p.type) {
    case hipGraphNodeTypeKernel: return kernel_work(p.kernel);
    case hipGraphNodeTypeMemcpy: return copy_work(from_3d(p.memcpy.copyParams));
    case hipGraphNodeTypeMemset: return fill_work(p.memset);
    case hipGraphNodeTypeHost: return host_work(p.host);
    case hipGraphNodeTypeEmpty: return std::make_shared<EmptyWork>();
    case hipGraphNodeTypeEventRecord: return std::make_shared<EventRecordWork>(events().need(p.event), p.event, nullptr);
    case hipGraphNodeTypeWaitEvent: return std::make_shared<EventWaitWork>(events().need(p.event), p.event);
    default: throw Failure(hipErrorNotSupported, text("the gfx950 emulator does not make graph nodes of type ", static_cast<int>(p.type), " this way"));
  }
}

namespace {

hipError_t add(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count, WorkPointer work, std::shared_ptr<Graph> child = nullptr) {
  need(node, "the node pointer");
  auto resolved = graphs().need(graph);
  return *node = add_node(resolved, std::move(work), resolve_nodes(*resolved, after, count), std::move(child))->handle, hipSuccess;
}

hipError_t replace(hipGraphNode_t handle, WorkPointer work) {
  auto node = graph_nodes().need(handle);
  if (node->child || node->work->type() != work->type())
    throw Failure(hipErrorInvalidValue, text("the node is a ", node->child ? "child graph" : node->work->describe(), ", it cannot become a ", work->describe()));
  return node->work = std::move(work), hipSuccess;
}

template <class T>
const T& work_as(hipGraphNode_t handle, const char* what) {
  auto node = graph_nodes().need(handle);
  const T* work = dynamic_cast<const T*>(node->work.get());
  if (!work) throw Failure(hipErrorInvalidValue, text("node ", hex(handle), " is no ", what, " node"));
  return *work;
}

hipKernelNodeParams parameters_of(const KernelWork& work) {
  hipKernelNodeParams p{};
  const Geometry& g = work.launch.geometry;
  p.func = work.launch.function->handle;
  p.gridDim = g.grid, p.blockDim = g.block, p.sharedMemBytes = g.dynamic_lds;
  p.kernelParams = work.argument_pointers.empty() ? nullptr : const_cast<void**>(work.argument_pointers.data());
  return p;
}

hipMemcpy3DParms parameters_of(const CopyWork& work) {
  const Copy& copy = work.copy;
  auto rows = [](const Side& side, const Box& box) { return side.pitch ? std::max<size_t>(side.slice / side.pitch, box.height) : box.height; };
  hipMemcpy3DParms p{};
  p.srcPtr = {copy.from.base, copy.from.pitch ? copy.from.pitch : copy.box.width, copy.box.width, rows(copy.from, copy.box)};
  p.dstPtr = {copy.to.base, copy.to.pitch ? copy.to.pitch : copy.box.width, copy.box.width, rows(copy.to, copy.box)};
  p.extent = {copy.box.width, copy.box.height, copy.box.depth};
  p.kind = copy.kind;
  return p;
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

#define PLACE hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *after, size_t count
#define IN_GRAPH(NAME, WORK)                                                                                                              \
  return call(NAME, [&] {                                                                                                                 \
    std::lock_guard lock(graph_lock());                                                                                                   \
    return add(node, graph, after, count, WORK);                                                                                          \
  }, out("node", node), arg("graph", graph), arg("dependencies", count))
#define CHANGE(NAME, WORK)                                                                                                                \
  return call(NAME, [&] {                                                                                                                 \
    std::lock_guard lock(graph_lock());                                                                                                   \
    return replace(node, WORK);                                                                                                           \
  }, arg("node", node))
#define READ(NAME, TARGET, VALUE)                                                                                                         \
  return call(NAME, [&] {                                                                                                                 \
    std::lock_guard lock(graph_lock());                                                                                                   \
    return *need(TARGET, "the parameters pointer") = VALUE, hipSuccess;                                                                   \
  }, arg("node", node))

HIP_EXPORT hipError_t hipGraphAddKernelNode(PLACE, const hipKernelNodeParams* p) { IN_GRAPH("hipGraphAddKernelNode", kernel_work(*need(p, "the parameters"))); }
HIP_EXPORT hipError_t hipGraphAddMemcpyNode(PLACE, const hipMemcpy3DParms* p) { IN_GRAPH("hipGraphAddMemcpyNode", copy_work(from_3d(*need(p, "the parameters")))); }
HIP_EXPORT hipError_t hipGraphAddMemcpyNode1D(PLACE, void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  IN_GRAPH("hipGraphAddMemcpyNode1D", copy_work(linear(to, from, bytes, kind)));
}
HIP_EXPORT hipError_t hipGraphAddMemsetNode(PLACE, const hipMemsetParams* p) { IN_GRAPH("hipGraphAddMemsetNode", fill_work(*need(p, "the parameters"))); }
HIP_EXPORT hipError_t hipDrvGraphAddMemsetNode(PLACE, const hipMemsetParams* p, hipCtx_t) { IN_GRAPH("hipDrvGraphAddMemsetNode", fill_work(*need(p, "the parameters"))); }
HIP_EXPORT hipError_t hipGraphAddHostNode(PLACE, const hipHostNodeParams* p) { IN_GRAPH("hipGraphAddHostNode", host_work(*need(p, "the parameters"))); }
HIP_EXPORT hipError_t hipGraphAddEmptyNode(PLACE) { IN_GRAPH("hipGraphAddEmptyNode", std::make_shared<EmptyWork>()); }
HIP_EXPORT hipError_t hipGraphAddEventRecordNode(PLACE, hipEvent_t event) {
  IN_GRAPH("hipGraphAddEventRecordNode", std::make_shared<EventRecordWork>(events().need(event), event, nullptr));
}
HIP_EXPORT hipError_t hipGraphAddEventWaitNode(PLACE, hipEvent_t event) {
  IN_GRAPH("hipGraphAddEventWaitNode", std::make_shared<EventWaitWork>(events().need(event), event));
}
HIP_EXPORT hipError_t hipGraphAddNode(PLACE, hipGraphNodeParams* p) {
  return call("hipGraphAddNode", [&] {
    std::lock_guard lock(graph_lock());
    if (need(p, "the parameters")->type == hipGraphNodeTypeGraph) return add(node, graph, after, count, nullptr, clone(*graphs().need(p->graph)));
    return add(node, graph, after, count, work_of(*p));
  }, out("node", node), arg("graph", graph), arg("dependencies", count));
}
HIP_EXPORT hipError_t hipGraphAddChildGraphNode(PLACE, hipGraph_t child) {
  return call("hipGraphAddChildGraphNode", [&] {
    std::lock_guard lock(graph_lock());
    auto source = graphs().need(child);
    if (source == graphs().need(graph)) throw Failure(hipErrorInvalidValue, "a graph cannot contain itself");
    return add(node, graph, after, count, nullptr, clone(*source));
  }, out("node", node), arg("graph", graph), arg("child", child));
}
HIP_EXPORT hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* graph) {
  return call("hipGraphChildGraphNodeGetGraph", [&] {
    std::lock_guard lock(graph_lock());
    auto resolved = graph_nodes().need(node);
    if (!resolved->child) throw Failure(hipErrorInvalidValue, text("node ", hex(node), " is no child graph node"));
    return *need(graph, "the graph pointer") = resolved->child->handle, hipSuccess;
  }, arg("node", node), out("graph", graph));
}

HIP_EXPORT hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* p) {
  READ("hipGraphKernelNodeGetParams", p, parameters_of(work_as<KernelWork>(node, "kernel")));
}
HIP_EXPORT hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* p) {
  CHANGE("hipGraphKernelNodeSetParams", kernel_work(*need(p, "the parameters")));
}
HIP_EXPORT hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms* p) {
  READ("hipGraphMemcpyNodeGetParams", p, parameters_of(work_as<CopyWork>(node, "copy")));
}
HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms* p) {
  CHANGE("hipGraphMemcpyNodeSetParams", copy_work(from_3d(*need(p, "the parameters"))));
}
HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  CHANGE("hipGraphMemcpyNodeSetParams1D", copy_work(linear(to, from, bytes, kind)));
}
HIP_EXPORT hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* p) {
  READ("hipGraphMemsetNodeGetParams", p, to_memset(work_as<FillWork>(node, "fill").fill));
}
HIP_EXPORT hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams* p) {
  CHANGE("hipGraphMemsetNodeSetParams", fill_work(*need(p, "the parameters")));
}
HIP_EXPORT hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* p) {
  return call("hipGraphHostNodeGetParams", [&] {
    std::lock_guard lock(graph_lock());
    const auto& work = work_as<HostFunctionWork>(node, "host function");
    return *need(p, "the parameters pointer") = {work.function, work.data}, hipSuccess;
  }, arg("node", node));
}
HIP_EXPORT hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams* p) { CHANGE("hipGraphHostNodeSetParams", host_work(*need(p, "the parameters"))); }
HIP_EXPORT hipError_t hipGraphNodeSetParams(hipGraphNode_t node, hipGraphNodeParams* p) { CHANGE("hipGraphNodeSetParams", work_of(*need(p, "the parameters"))); }
HIP_EXPORT hipError_t hipGraphEventRecordNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
  READ("hipGraphEventRecordNodeGetEvent", event, work_as<EventRecordWork>(node, "event record").handle);
}
HIP_EXPORT hipError_t hipGraphEventRecordNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  CHANGE("hipGraphEventRecordNodeSetEvent", std::make_shared<EventRecordWork>(events().need(event), event, nullptr));
}
HIP_EXPORT hipError_t hipGraphEventWaitNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
  READ("hipGraphEventWaitNodeGetEvent", event, work_as<EventWaitWork>(node, "event wait").handle);
}
HIP_EXPORT hipError_t hipGraphEventWaitNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  CHANGE("hipGraphEventWaitNodeSetEvent", std::make_shared<EventWaitWork>(events().need(event), event));
}
HIP_EXPORT hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from, hipGraphNode_t to) {
  return call("hipGraphKernelNodeCopyAttributes", [&] {
    std::lock_guard lock(graph_lock());
    return work_as<KernelWork>(from, "kernel"), work_as<KernelWork>(to, "kernel"), hipSuccess;
  }, arg("from", from), arg("to", to));
}
