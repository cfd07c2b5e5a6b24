#include "api/graph_model.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace gfx950::api {

std::recursive_mutex& graph_lock() {
  static auto* lock = new std::recursive_mutex;
  return *lock;
}
Registry<hipGraph_t, Graph, Kind::Graph>& graphs() {
  static auto* registry = new Registry<hipGraph_t, Graph, Kind::Graph>;
  return *registry;
}
Registry<hipGraphNode_t, Node, Kind::GraphNode>& graph_nodes() {
  static auto* registry = new Registry<hipGraphNode_t, Node, Kind::GraphNode>;
  return *registry;
}
Registry<hipGraphExec_t, GraphExec, Kind::GraphExec>& graph_execs() {
  static auto* registry = new Registry<hipGraphExec_t, GraphExec, Kind::GraphExec>;
  return *registry;
}

// The nodes' handles die with their graph, whoever else still holds a node. The edges go first: each node would otherwise end the one
// before it, and a long chain the stack. The same length is why no walk here is recursive.
Graph::~Graph() {
  for (const NodePointer& node : nodes) {
    if (graph_nodes().find(node->handle)) graph_nodes().remove(node->handle);
    node->after.clear();
  }
}

std::shared_ptr<Graph> make_graph() {
  auto graph = std::make_shared<Graph>();
  graph->handle = graphs().add(graph);
  return graph;
}

NodePointer add_node(const std::shared_ptr<Graph>& graph, WorkPointer work, std::vector<NodePointer> after, std::shared_ptr<Graph> child) {
  for (const NodePointer& node : after)
    if (node->graph.lock() != graph) throw Failure(hipErrorInvalidValue, text("dependency ", hex(node->handle), " is a node of another graph"));
  auto node = std::make_shared<Node>();
  node->graph = graph;
  node->work = std::move(work);
  node->after = std::move(after);
  node->child = std::move(child);
  if (node->child) node->child->owned_by_node = true;
  node->handle = graph_nodes().add(node);
  graph->nodes.push_back(node);
  return node;
}

std::vector<NodePointer> resolve_nodes(const Graph& graph, const hipGraphNode_t* handles, size_t count) {
  std::vector<NodePointer> nodes;
  if (count && !handles) throw Failure(hipErrorInvalidValue, text("the list of ", count, " dependencies is null"));
  for (size_t i = 0; i < count; ++i) {
    auto node = graph_nodes().need(handles[i]);
    if (node->graph.lock().get() != &graph) throw Failure(hipErrorInvalidValue, text("dependency ", hex(handles[i]), " is a node of another graph"));
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) throw Failure(hipErrorInvalidValue, text("dependency ", hex(handles[i]), " is named twice"));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

namespace {
bool reaches(const NodePointer& from, const NodePointer& target) {
  std::unordered_set<Node*> seen;
  std::vector<Node*> todo{from.get()};
  while (!todo.empty()) {
    Node* node = todo.back();
    todo.pop_back();
    if (node == target.get()) return true;
    if (!seen.insert(node).second) continue;
    for (const NodePointer& before : node->after) todo.push_back(before.get());
  }
  return false;
}
}  // namespace

void add_dependency(const NodePointer& from, const NodePointer& to) {
  if (std::find(to->after.begin(), to->after.end(), from) != to->after.end())
    throw Failure(hipErrorInvalidValue, text("the edge from ", hex(from->handle), " to ", hex(to->handle), " exists already"));
  if (reaches(from, to)) throw Failure(hipErrorInvalidValue, text("an edge from ", hex(from->handle), " to ", hex(to->handle), " would close a cycle"));
  to->after.push_back(from);
}

void remove_node(const NodePointer& node) {
  auto graph = node->graph.lock();
  graph_nodes().remove(node->handle);
  if (!graph) return;
  std::erase(graph->nodes, node);
  for (const NodePointer& other : graph->nodes) std::erase(other->after, node);
}

std::vector<NodePointer> in_order(const Graph& graph) {
  std::vector<NodePointer> order;
  std::unordered_set<Node*> begun;
  std::vector<std::pair<NodePointer, size_t>> path;  // a node, and how many of its dependencies were visited
  for (const NodePointer& root : graph.nodes) {
    if (begun.insert(root.get()).second) path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [node, visited] = path.back();
      if (visited < node->after.size()) {
        const NodePointer& before = node->after[visited++];
        if (begun.insert(before.get()).second) path.emplace_back(before, 0);
      } else {
        order.push_back(node);
        path.pop_back();
      }
    }
  }
  return order;
}

std::shared_ptr<Graph> clone(const Graph& graph) {
  auto copy = make_graph();
  std::map<Node*, NodePointer> twins;
  for (const NodePointer& node : in_order(graph)) {
    std::vector<NodePointer> after;
    for (const NodePointer& before : node->after) after.push_back(twins.at(before.get()));
    auto twin = add_node(copy, node->work, std::move(after), node->child ? clone(*node->child) : nullptr);
    twin->cloned_from = node->handle;
    twins[node.get()] = twin;
  }
  copy->kept = graph.kept;
  return copy;
}

std::shared_ptr<GraphExec> instantiate(const Graph& graph) {
  auto exec = std::make_shared<GraphExec>();
  std::map<Node*, size_t> index;
  for (const NodePointer& node : in_order(graph)) {
    ExecNode made{node->handle, node->work, {}, true, node->child ? instantiate(*node->child) : nullptr};
    for (const NodePointer& before : node->after) made.after.push_back(index.at(before.get()));
    index[node.get()] = exec->nodes.size();
    exec->nodes.push_back(std::move(made));
  }
  exec->kept = graph.kept;
  return exec;
}

ExecNode* GraphExec::find(hipGraphNode_t source) {
  for (ExecNode& node : nodes)
    if (node.source == source) return &node;
  return nullptr;
}

}  // namespace gfx950::api
