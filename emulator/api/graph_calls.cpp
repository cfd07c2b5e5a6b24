// Building, cloning, inspecting and destroying graphs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "api/call.h"
#include "api/capture.h"

namespace gfx950::api {
namespace {

// The HIP way of asking for a list: null asks for the count only; a longer array is filled up with nulls.
void give_list(const std::vector<NodePointer>& nodes, hipGraphNode_t* array, size_t* count) {
  need(count, "the count pointer");
  if (array)
    for (size_t i = 0; i < *count; ++i) array[i] = i < nodes.size() ? nodes[i]->handle : nullptr;
  *count = array ? std::min(*count, nodes.size()) : nodes.size();
}

std::vector<NodePointer> dependents(const Node& node) {
  std::vector<NodePointer> list;
  auto graph = node.graph.lock();
  if (!graph) return list;
  for (const NodePointer& other : graph->nodes)
    if (std::any_of(other->after.begin(), other->after.end(), [&](const NodePointer& before) { return before.get() == &node; })) list.push_back(other);
  return list;
}

std::vector<std::pair<NodePointer, NodePointer>> pairs(hipGraph_t handle, const hipGraphNode_t* from, const hipGraphNode_t* to, size_t count) {
  auto graph = graphs().need(handle);
  std::vector<std::pair<NodePointer, NodePointer>> list;
  for (size_t i = 0; i < count; ++i) {
    auto a = graph_nodes().need(need(from, "the list of sources")[i]), b = graph_nodes().need(need(to, "the list of targets")[i]);
    if (a->graph.lock() != graph || b->graph.lock() != graph) throw Failure(hipErrorInvalidValue, "an edge between nodes of another graph");
    list.emplace_back(std::move(a), std::move(b));
  }
  return list;
}

void write_dot(const Graph& graph, const char* path) {
  std::string dot = "digraph graph_1 {\n";
  for (const NodePointer& node : graph.nodes) {
    dot += text("  n", hex(node->handle), " [label=\"", node->child ? "child graph" : node->work->describe(), "\"];\n");
    for (const NodePointer& before : node->after) dot += text("  n", hex(before->handle), " -> n", hex(node->handle), ";\n");
  }
  dot += "}\n";
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw Failure(hipErrorOperatingSystem, text(path, " cannot be written"));
  const ssize_t written = write(file, dot.data(), dot.size());
  close(file);
  if (written != static_cast<ssize_t>(dot.size())) throw Failure(hipErrorOperatingSystem, text(path, " cannot be written"));
}

}  // namespace
}  // namespace gfx950::api

using namespace gfx950::api;

HIP_EXPORT hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags) {
  return call("hipGraphCreate", [&] {
    if (flags) throw Failure(hipErrorInvalidValue, text("flags is ", flags, ", not 0"));
    need(graph, "the graph pointer");
    std::lock_guard lock(graph_lock());
    return *graph = make_graph()->handle, hipSuccess;
  }, out("graph", graph));
}
HIP_EXPORT hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call("hipGraphDestroy", [&] {
    std::lock_guard lock(graph_lock());
    if (graphs().need(graph)->owned_by_node) throw Failure(hipErrorInvalidValue, "the graph belongs to a node of another graph");
    return graphs().remove(graph), hipSuccess;
  }, arg("graph", graph));
}
HIP_EXPORT hipError_t hipGraphClone(hipGraph_t* copy, hipGraph_t graph) {
  return call("hipGraphClone", [&] {
    need(copy, "the pointer to the clone");
    std::lock_guard lock(graph_lock());
    return *copy = clone(*graphs().need(graph))->handle, hipSuccess;
  }, out("clone", copy), arg("graph", graph));
}
HIP_EXPORT hipError_t hipGraphNodeFindInClone(hipGraphNode_t* found, hipGraphNode_t original, hipGraph_t clone_handle) {
  return call("hipGraphNodeFindInClone", [&] {
    need(found, "the pointer to the node");
    std::lock_guard lock(graph_lock());
    for (const NodePointer& node : graphs().need(clone_handle)->nodes)
      if (node->cloned_from == original) return *found = node->handle, hipSuccess;
    throw Failure(hipErrorInvalidValue, text("no node of graph ", hex(clone_handle), " was cloned from ", hex(original)));
  }, arg("node", original), arg("clone", clone_handle));
}

HIP_EXPORT hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return call("hipGraphGetNodes", [&] {
    std::lock_guard lock(graph_lock());
    return give_list(graphs().need(graph)->nodes, nodes, count), hipSuccess;
  }, arg("graph", graph), out("count", count));
}
HIP_EXPORT hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return call("hipGraphGetRootNodes", [&] {
    std::lock_guard lock(graph_lock());
    std::vector<NodePointer> roots;
    for (const NodePointer& node : graphs().need(graph)->nodes)
      if (node->after.empty()) roots.push_back(node);
    return give_list(roots, nodes, count), hipSuccess;
  }, arg("graph", graph), out("count", count));
}
HIP_EXPORT hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, size_t* count) {
  return call("hipGraphGetEdges", [&] {
    std::lock_guard lock(graph_lock());
    std::vector<NodePointer> sources, targets;
    for (const NodePointer& node : graphs().need(graph)->nodes)
      for (const NodePointer& before : node->after) sources.push_back(before), targets.push_back(node);
    size_t copy = *need(count, "the count pointer");
    if ((from == nullptr) != (to == nullptr)) throw Failure(hipErrorInvalidValue, "one of the two lists is null");
    give_list(sources, from, &copy);
    return give_list(targets, to, count), hipSuccess;
  }, arg("graph", graph), out("count", count));
}
HIP_EXPORT hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return call("hipGraphNodeGetDependencies", [&] {
    std::lock_guard lock(graph_lock());
    return give_list(graph_nodes().need(node)->after, nodes, count), hipSuccess;
  }, arg("node", node), out("count", count));
}
HIP_EXPORT hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return call("hipGraphNodeGetDependentNodes", [&] {
    std::lock_guard lock(graph_lock());
    return give_list(dependents(*graph_nodes().need(node)), nodes, count), hipSuccess;
  }, arg("node", node), out("count", count));
}
HIP_EXPORT hipError_t hipGraphNodeGetType(hipGraphNode_t node, int* type) {
  return call("hipGraphNodeGetType", [&] {
    std::lock_guard lock(graph_lock());
    return *need(type, "the type pointer") = graph_nodes().need(node)->type(), hipSuccess;
  }, arg("node", node), out("type", type));
}
HIP_EXPORT hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to, size_t count) {
  return call("hipGraphAddDependencies", [&] {
    std::lock_guard lock(graph_lock());
    for (const auto& [a, b] : pairs(graph, from, to, count)) add_dependency(a, b);
    return hipSuccess;
  }, arg("graph", graph), arg("count", count));
}
HIP_EXPORT hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to, size_t count) {
  return call("hipGraphRemoveDependencies", [&] {
    std::lock_guard lock(graph_lock());
    for (const auto& [a, b] : pairs(graph, from, to, count))
      if (!std::erase(b->after, a)) throw Failure(hipErrorInvalidValue, text("there is no edge from ", hex(a->handle), " to ", hex(b->handle)));
    return hipSuccess;
  }, arg("graph", graph), arg("count", count));
}
HIP_EXPORT hipError_t hipGraphDestroyNode(hipGraphNode_t node) {
  return call("hipGraphDestroyNode", [&] {
    std::lock_guard lock(graph_lock());
    return remove_node(graph_nodes().need(node)), hipSuccess;
  }, arg("node", node));
}
HIP_EXPORT hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char* path, unsigned flags) {
  return call("hipGraphDebugDotPrint", [&] {
    std::lock_guard lock(graph_lock());
    return write_dot(*graphs().need(graph), need(path, "the path")), hipSuccess;
  }, arg("graph", graph), arg("path", path), arg("flags", flags));
}

// ---- user objects: kept alive by graphs, destroyed by their last owner ----

namespace {
struct Owned {
  void* pointer;
  hipHostFn_t destroy;
  ~Owned() { destroy(pointer); }
};
struct UserHandle {
  std::shared_ptr<Owned> object;
  unsigned references;
};
Registry<hipUserObject_t, UserHandle, Kind::UserObject>& user_objects() {
  static auto* registry = new Registry<hipUserObject_t, UserHandle, Kind::UserObject>;
  return *registry;
}
void drop(hipUserObject_t handle, unsigned count) {
  auto object = user_objects().need(handle);
  if (!count || count > object->references) throw Failure(hipErrorInvalidValue, text("the object has ", object->references, " references, not ", count));
  if (!(object->references -= count)) user_objects().remove(handle);
}
}  // namespace

HIP_EXPORT hipError_t hipUserObjectCreate(hipUserObject_t* object, void* pointer, hipHostFn_t destroy, unsigned count, unsigned flags) {
  return call("hipUserObjectCreate", [&] {
    need(object, "the object pointer");
    if (!destroy || !count || flags != 1) throw Failure(hipErrorInvalidValue, "a destructor, a count of 1 or more and flags 1 (hipUserObjectNoDestructorSync) are required");
    auto owned = std::shared_ptr<Owned>(new Owned{pointer, destroy});
    return *object = user_objects().add(std::make_shared<UserHandle>(UserHandle{owned, count})), hipSuccess;
  }, out("object", object));
}
HIP_EXPORT hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count) {
  return call("hipUserObjectRetain", [&] { return user_objects().need(object)->references += count, hipSuccess; }, arg("object", object), arg("count", count));
}
HIP_EXPORT hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count) {
  return call("hipUserObjectRelease", [&] { return drop(object, count), hipSuccess; }, arg("object", object), arg("count", count));
}
HIP_EXPORT hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags) {
  return call("hipGraphRetainUserObject", [&] {
    std::lock_guard lock(graph_lock());
    auto kept = user_objects().need(object);
    if (!count) throw Failure(hipErrorInvalidValue, "the count is 0");
    graphs().need(graph)->kept.push_back({kept->object, count});
    if (flags & 1) drop(object, count);  // hipGraphUserObjectMove
    return hipSuccess;
  }, arg("graph", graph), arg("object", object));
}
HIP_EXPORT hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count) {
  return call("hipGraphReleaseUserObject", [&] {
    std::lock_guard lock(graph_lock());
    auto& kept = graphs().need(graph)->kept;
    auto owned = user_objects().need(object)->object;
    auto at = std::find_if(kept.begin(), kept.end(), [&](const UserObject& entry) { return entry.object == owned && entry.count >= count; });
    if (at == kept.end()) throw Failure(hipErrorInvalidValue, text("the graph does not hold ", count, " references to the object"));
    if (!(at->count -= count)) kept.erase(at);
    return hipSuccess;
  }, arg("graph", graph), arg("object", object));
}
