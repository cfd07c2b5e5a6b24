// Graphs, their nodes and the executable form.
//
// Owns:    structure. One lock (graph_lock) guards all graphs and captures; work in nodes is immutable and shared.
// Refuses: nodes of other graphs, cycles.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "api/registry.h"
#include "api/work.h"

namespace gfx950::api {

struct Graph;
struct Node;
using NodePointer = std::shared_ptr<Node>;

struct Node {
  std::weak_ptr<Graph> graph;
  hipGraphNode_t handle = nullptr;
  WorkPointer work;
  std::vector<NodePointer> after;   // dependencies; never a cycle
  std::shared_ptr<Graph> child;     // hipGraphNodeTypeGraph
  hipGraphNode_t cloned_from = nullptr;
  hipGraphNodeType type() const { return child ? hipGraphNodeTypeGraph : work->type(); }
};

struct UserObject {
  std::shared_ptr<void> object;
  unsigned count = 0;
};

struct Graph {
  hipGraph_t handle = nullptr;
  std::vector<NodePointer> nodes;  // in order of creation
  std::vector<UserObject> kept;
  bool owned_by_node = false;
  ~Graph();
};

struct ExecNode {
  hipGraphNode_t source;
  WorkPointer work;
  std::vector<size_t> after;  // indices of earlier nodes
  bool enabled = true;
  std::shared_ptr<struct GraphExec> child;
};

struct GraphExec {
  std::vector<ExecNode> nodes;  // in an order that respects the dependencies
  std::vector<UserObject> kept;
  unsigned long long flags = 0;
  hipGraphExec_t handle = nullptr;
  ExecNode* find(hipGraphNode_t source);
};

std::recursive_mutex& graph_lock();
Registry<hipGraph_t, Graph, Kind::Graph>& graphs();
Registry<hipGraphNode_t, Node, Kind::GraphNode>& graph_nodes();
Registry<hipGraphExec_t, GraphExec, Kind::GraphExec>& graph_execs();

std::shared_ptr<Graph> make_graph();
// Adds a node; throws when a dependency is of another graph.
NodePointer add_node(const std::shared_ptr<Graph>& graph, WorkPointer work, std::vector<NodePointer> after, std::shared_ptr<Graph> child = nullptr);
std::vector<NodePointer> resolve_nodes(const Graph& graph, const hipGraphNode_t* handles, size_t count);
void add_dependency(const NodePointer& from, const NodePointer& to);
void remove_node(const NodePointer& node);
std::shared_ptr<Graph> clone(const Graph& graph);
// Dependencies first; ties in order of creation.
std::vector<NodePointer> in_order(const Graph& graph);
std::shared_ptr<GraphExec> instantiate(const Graph& graph);

}  // namespace gfx950::api
