"""Graphs built by hand, executable graphs, updates, clones and their lifetimes."""

import ctypes
import struct

import pytest

from tests.emulator.api.ctypes_hip import Dim3, KernelNodeParams, MemsetParams
from tests.emulator.api.test_capture import edges, types


@pytest.fixture
def graph(hip):
    handle = hip.get("hipGraphCreate", 0)
    yield handle
    hip("hipGraphDestroy", handle)


def store_params(functions, pointer, value):
    values = ctypes.c_uint64(pointer), ctypes.c_uint32(value)
    arguments = (ctypes.c_void_p * 2)(*map(ctypes.addressof, values))
    params = KernelNodeParams(
        block=Dim3(64, 1, 1), function=functions["store"], grid=Dim3(1, 1, 1), kernel_params=ctypes.addressof(arguments)
    )
    params.keep = values, arguments
    return params


def nodes_after(*nodes):
    return ((ctypes.c_uint64 * len(nodes))(*nodes) if nodes else None), len(nodes)


def run(hip, executable, stream):
    hip.ok("hipGraphLaunch", executable, stream)
    hip.ok("hipStreamSynchronize", stream)


def test_nodes_by_hand(hip, functions, graph, stream):
    pointer = hip.upload(bytes(16))
    first = hip.get("hipGraphAddKernelNode", graph, *nodes_after(), ctypes.byref(store_params(functions, pointer, 7)))
    fill = MemsetParams(to=pointer + 8, element=4, height=1, pitch=0, value=0x0A0B0C0D, width=2)
    second = hip.get("hipGraphAddMemsetNode", graph, *nodes_after(), ctypes.byref(fill))
    hip.get("hipGraphAddMemcpyNode1D", graph, *nodes_after(first, second), pointer + 4, pointer, 4, 3)
    assert types(hip, graph) == ["kernel", "fill", "copy"]
    run(hip, hip.instantiate(graph), stream)
    assert struct.unpack("<4I", hip.download(pointer, 16)) == (7, 7, 0x0A0B0C0D, 0x0A0B0C0D)


def test_dependencies_decide_the_order(hip, functions, graph, stream):
    pointer = hip.malloc(4)
    late = hip.get("hipGraphAddKernelNode", graph, *nodes_after(), ctypes.byref(store_params(functions, pointer, 1)))
    early = hip.get("hipGraphAddKernelNode", graph, *nodes_after(), ctypes.byref(store_params(functions, pointer, 2)))
    hip.ok("hipGraphAddDependencies", graph, nodes_after(early)[0], nodes_after(late)[0], 1)
    run(hip, hip.instantiate(graph), stream)
    assert hip.read_u32(pointer) == 1
    code, text = hip.error("hipGraphAddDependencies", graph, nodes_after(late)[0], nodes_after(early)[0], 1)
    assert (code, text) == ("hipErrorInvalidValue", f"an edge from {late:#x} to {early:#x} would close a cycle")
    code, text = hip.error("hipGraphAddDependencies", graph, nodes_after(early)[0], nodes_after(late)[0], 1)
    assert (code, text) == ("hipErrorInvalidValue", f"the edge from {early:#x} to {late:#x} exists already")
    hip.ok("hipGraphRemoveDependencies", graph, nodes_after(early)[0], nodes_after(late)[0], 1)
    assert edges(hip, graph) == 0


def test_kernel_parameters_of_a_captured_node(hip, functions, stream):
    pointer = hip.malloc(8)
    with hip.capture(stream) as captured:
        hip.store(functions, pointer, 11, stream)
    node = (ctypes.c_uint64 * 1)()
    hip.ok("hipGraphGetNodes", captured[0], node, ctypes.byref(ctypes.c_size_t(1)))
    params = KernelNodeParams()
    hip.ok("hipGraphKernelNodeGetParams", node[0], ctypes.byref(params))
    assert (params.grid.x, params.block.x, params.function) == (1, 64, functions["store"])
    arguments = (ctypes.c_void_p * 2).from_address(params.kernel_params)
    assert ctypes.c_uint64.from_address(arguments[0]).value == pointer
    assert ctypes.c_uint32.from_address(arguments[1]).value == 11
    executable = hip.instantiate(captured[0])
    changed = store_params(functions, pointer + 4, 12)
    hip.ok("hipGraphExecKernelNodeSetParams", executable, node[0], ctypes.byref(changed))
    run(hip, executable, stream)
    assert hip.read_u32(pointer, 1) == 12
    hip.ok("hipGraphKernelNodeSetParams", node[0], ctypes.byref(store_params(functions, pointer, 13)))
    run(hip, executable, stream)  # the executable graph does not follow the graph
    assert hip.read_u32(pointer, 1) == 12
    run(hip, hip.instantiate(captured[0]), stream)
    assert hip.read_u32(pointer) == 13


def test_bad_parameters_for_a_node(hip, functions, graph):
    params = store_params(functions, 0, 0)
    params.block = Dim3(0, 1, 1)
    assert hip.error(
        "hipGraphAddKernelNode", ctypes.byref(ctypes.c_uint64()), graph, None, 0, ctypes.byref(params)
    ) == (
        "hipErrorInvalidConfiguration",
        "kernel store: a workgroup of (0, 1, 1) work-items is empty",
    )
    fill = MemsetParams(to=hip.malloc(4), element=3, height=1, pitch=0, value=0, width=1)
    assert hip.error("hipGraphAddMemsetNode", ctypes.byref(ctypes.c_uint64()), graph, None, 0, ctypes.byref(fill)) == (
        "hipErrorInvalidValue",
        "elementSize is 3, not 1, 2 or 4",
    )
    empty = hip.get("hipGraphAddEmptyNode", graph, None, 0)
    assert (
        hip.error("hipGraphKernelNodeGetParams", empty, ctypes.byref(params))[1] == f"node {empty:#x} is no kernel node"
    )
    assert (
        hip.error("hipGraphKernelNodeSetParams", empty, ctypes.byref(store_params(functions, 0, 0)))[0]
        == "hipErrorInvalidValue"
    )


def test_update_of_the_whole(hip, functions, stream):
    pointer = hip.malloc(8)
    graphs = []
    for value in (1, 2):
        with hip.capture(stream) as captured:
            hip.store(functions, pointer, value, stream)
            hip.ok("hipMemsetAsync", pointer + 4, value, 4, stream)
        graphs.append(captured[0])
    executable = hip.instantiate(graphs[0])
    result = ctypes.c_int(9)
    hip.ok("hipGraphExecUpdate", executable, graphs[1], ctypes.byref(ctypes.c_uint64()), ctypes.byref(result))
    assert result.value == 0
    run(hip, executable, stream)
    assert struct.unpack("<II", hip.download(pointer, 8)) == (2, 0x02020202)
    with hip.capture(stream) as other:
        hip.store(functions, pointer, 3, stream)
    code, text = hip.error("hipGraphExecUpdate", executable, other[0], None, ctypes.byref(result))
    assert (code, text, result.value) == (
        "hipErrorGraphExecUpdateFailure",
        "the graph has 1 nodes, the executable one 2",
        2,
    )
    with hip.capture(stream) as swapped:
        hip.ok("hipMemsetAsync", pointer + 4, 1, 4, stream)
        hip.store(functions, pointer, 3, stream)
    assert (
        hip.error("hipGraphExecUpdate", executable, swapped[0], None, ctypes.byref(result))[1]
        == "node 0 changed its type"
    )
    assert result.value == 3
    run(hip, executable, stream)  # refused updates changed nothing
    assert hip.read_u32(pointer) == 2


def test_disabled_nodes(hip, functions, graph, stream):
    pointer = hip.upload(bytes(4))
    node = hip.get("hipGraphAddKernelNode", graph, None, 0, ctypes.byref(store_params(functions, pointer, 6)))
    executable = hip.instantiate(graph)
    hip.ok("hipGraphNodeSetEnabled", executable, node, 0)
    run(hip, executable, stream)
    assert hip.read_u32(pointer) == 0
    hip.ok("hipGraphNodeSetEnabled", executable, node, 1)
    run(hip, executable, stream)
    assert hip.read_u32(pointer) == 6


def test_child_graphs_and_clones(hip, functions, graph, stream):
    pointer = hip.upload(bytes(8))
    child = hip.get("hipGraphCreate", 0)
    inner = hip.get("hipGraphAddKernelNode", child, None, 0, ctypes.byref(store_params(functions, pointer, 3)))
    node = hip.get("hipGraphAddChildGraphNode", graph, None, 0, child)
    hip.get("hipGraphAddMemcpyNode1D", graph, *nodes_after(node), pointer + 4, pointer, 4, 3)
    clone = hip.get("hipGraphClone", graph)
    assert types(hip, clone) == ["graph", "copy"]
    assert hip.get("hipGraphNodeFindInClone", node, clone) not in (0, node)
    hip.ok("hipGraphDestroy", child)
    run(hip, hip.instantiate(clone), stream)
    assert struct.unpack("<II", hip.download(pointer, 8)) == (3, 3)
    inside = ctypes.c_uint64()
    hip.ok("hipGraphChildGraphNodeGetGraph", node, ctypes.byref(inside))
    assert hip.error("hipGraphDestroy", inside.value)[1] == "the graph belongs to a node of another graph"
    assert (
        hip.error("hipGraphNodeGetType", inner, ctypes.byref(ctypes.c_int()))[1]
        == f"graph node {inner:#x} was destroyed"
    )
    hip.ok("hipGraphDestroy", clone)


def test_events_in_graphs(hip, functions, graph, stream):
    begin, end = hip.event(), hip.event()
    first = hip.get("hipGraphAddEventRecordNode", graph, None, 0, begin)
    pointer = hip.malloc(4)
    middle = hip.get(
        "hipGraphAddKernelNode", graph, *nodes_after(first), ctypes.byref(store_params(functions, pointer, 1))
    )
    hip.get("hipGraphAddEventRecordNode", graph, *nodes_after(middle), end)
    hip.ok("hipGraphLaunch", hip.instantiate(graph), stream)
    hip.ok("hipEventSynchronize", end)
    time = ctypes.c_float(-1)
    hip.ok("hipEventElapsedTime", ctypes.byref(time), begin, end)
    assert time.value > 0
    assert hip.read_u32(pointer) == 1


def test_host_nodes(hip, graph, stream):
    seen = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    params = (ctypes.c_void_p * 2)(ctypes.cast(function, ctypes.c_void_p), 5)
    hip.get("hipGraphAddHostNode", graph, None, 0, params)
    run(hip, hip.instantiate(graph), stream)
    assert seen == [5]


def test_a_graph_outlived_by_its_module(hip, image, stream):
    module = hip.module(image)
    functions = {"store": hip.function(module, "store")}
    with hip.capture(stream) as captured:
        hip.store(functions, 0x40, 1, stream)
    executable = hip.instantiate(captured[0])
    hip.ok("hipModuleUnload", module)
    assert hip.error("hipGraphLaunch", executable, stream) == (
        "hipErrorInvalidHandle",
        "the graph launches kernel store, whose module was unloaded",
    )


def test_a_failing_kernel_in_a_graph(hip, functions, stream):
    with hip.capture(stream) as captured:
        hip.store(functions, 0x40, 1, stream)
    hip.ok("hipGraphLaunch", hip.instantiate(captured[0]), stream)
    assert hip("hipStreamSynchronize", stream) == "hipErrorIllegalAddress"


def test_lifetimes(hip, functions, stream):
    kinds = ("graphs", "graph_nodes", "graph_execs", "events", "streams", "allocations")
    pointer = hip.malloc(4)
    before = [hip.live(kind) for kind in kinds]
    for i in range(200):
        with hip.capture(stream) as captured:
            hip.store(functions, pointer, i, stream)
        executable = hip.instantiate(captured[0])
        hip.ok("hipGraphLaunch", executable, stream)
        hip.ok("hipGraphExecDestroy", executable)  # while it runs
        hip.ok("hipGraphDestroy", captured[0])
    hip.ok("hipStreamSynchronize", stream)
    assert hip.read_u32(pointer) == 199
    assert [hip.live(kind) for kind in kinds] == before
    assert hip.error("hipGraphDestroy", captured[0])[1] == f"graph {captured[0]:#x} was destroyed"
    assert hip.error("hipGraphLaunch", executable, stream)[1] == f"executable graph {executable:#x} was destroyed"


def test_user_objects_die_with_their_last_owner(hip, graph):
    seen = []
    destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    thing = hip.get("hipUserObjectCreate", ctypes.c_void_p(8), destroy, 1, 1)
    hip.ok("hipGraphRetainUserObject", graph, thing, 1, 1)
    assert hip.error("hipUserObjectRelease", thing, 1)[1] == f"user object {thing:#x} was destroyed"
    executable = hip.instantiate(graph)
    hip.ok("hipGraphDestroy", graph)
    assert seen == []
    hip.ok("hipGraphExecDestroy", executable)
    assert seen == [8]


def test_dot_file(hip, functions, graph, tmp_path):
    hip.get("hipGraphAddKernelNode", graph, None, 0, ctypes.byref(store_params(functions, 0, 0)))
    hip.ok("hipGraphDebugDotPrint", graph, str(tmp_path / "graph.dot"), 0)
    assert "kernel store grid (1, 1, 1) block (64, 1, 1)" in (tmp_path / "graph.dot").read_text()
