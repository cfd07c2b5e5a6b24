"""Stream capture: what is recorded, what is forbidden meanwhile, and how a capture ends badly."""

import ctypes
import struct
import threading

import pytest

from tests.emulator.api.ctypes_hip import GLOBAL, NON_BLOCKING, RELAXED, THREAD_LOCAL

INVALIDATED = "hipErrorStreamCaptureInvalidated"


def status(hip, stream):
    value = ctypes.c_int(9)
    hip.ok("hipStreamIsCapturing", stream, ctypes.byref(value))
    return ("none", "active", "invalidated")[value.value]


def end(hip, stream):
    graph = ctypes.c_uint64(5)
    code, text = hip.error("hipStreamEndCapture", stream, ctypes.byref(graph))
    return code, text, graph.value


def types(hip, graph):
    count = ctypes.c_size_t()
    hip.ok("hipGraphGetNodes", graph, None, ctypes.byref(count))
    nodes = (ctypes.c_uint64 * count.value)()
    hip.ok("hipGraphGetNodes", graph, nodes, ctypes.byref(count))
    kinds = ("kernel", "copy", "fill", "host", "graph", "empty", "wait", "record", "", "", "alloc", "free")
    result = []
    for node in nodes:
        kind = ctypes.c_int()
        hip.ok("hipGraphNodeGetType", node, ctypes.byref(kind))
        result.append(kinds[kind.value])
    return result


def edges(hip, graph):
    count = ctypes.c_size_t()
    hip.ok("hipGraphGetEdges", graph, None, None, ctypes.byref(count))
    return count.value


def test_nothing_runs_until_the_launch(hip, functions, stream):
    pointer = hip.upload(bytes(8))
    with hip.capture(stream) as graph:
        assert status(hip, stream) == "active"
        assert hip.store(functions, pointer, 5, stream) == "hipSuccess"
        hip.ok("hipMemcpyAsync", pointer + 4, pointer, 4, 3, stream)
        hip.ok("hipMemsetAsync", pointer, 1, 1, stream)
    assert status(hip, stream) == "none"
    assert hip.download(pointer, 8) == bytes(8)
    assert types(hip, graph[0]) == ["kernel", "copy", "fill"]
    assert edges(hip, graph[0]) == 2
    executable = hip.instantiate(graph[0])
    for _ in range(2):
        hip.ok("hipGraphLaunch", executable, stream)
    hip.ok("hipStreamSynchronize", stream)
    assert struct.unpack("<II", hip.download(pointer, 8)) == (1, 5)
    hip.ok("hipGraphExecDestroy", executable)
    hip.ok("hipGraphDestroy", graph[0])


def test_arguments_are_taken_at_the_capture_and_data_at_the_launch(hip, functions, stream):
    source, target = hip.upload(struct.pack("<I", 10)), hip.malloc(4)
    kernarg = bytearray(struct.pack("<QQI", target, source, 1))
    with hip.capture(stream) as graph:
        assert hip.launch(functions["add_one"], kernarg, stream) == "hipSuccess"
    kernarg[:] = bytes(20)
    executable = hip.instantiate(graph[0])
    hip.ok("hipMemsetD32", source, 41, 1)
    hip.ok("hipGraphLaunch", executable, stream)
    hip.ok("hipStreamSynchronize", stream)
    assert hip.read_u32(target) == 42


def test_fork_and_join_through_events(hip, functions, stream):
    side, fork, joined = hip.stream(), hip.event(), hip.event()
    pointer = hip.upload(bytes(12))
    with hip.capture(stream) as graph:
        hip.store(functions, pointer, 1, stream)
        hip.ok("hipEventRecord", fork, stream)
        hip.ok("hipStreamWaitEvent", side, fork, 0)
        assert status(hip, side) == "active"
        hip.store(functions, pointer + 4, 2, side)
        hip.store(functions, pointer + 8, 3, stream)
        hip.ok("hipEventRecord", joined, side)
        hip.ok("hipStreamWaitEvent", stream, joined, 0)
        hip.ok("hipMemsetAsync", pointer, 9, 1, stream)
    assert status(hip, side) == "none"
    assert (types(hip, graph[0]), edges(hip, graph[0])) == (["kernel", "kernel", "kernel", "fill"], 4)
    assert hip("hipEventQuery", joined) == "hipErrorCapturedEvent"


def test_a_side_stream_that_is_not_joined(hip, functions, stream):
    side, fork = hip.stream(), hip.event()
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    hip.ok("hipEventRecord", fork, stream)
    hip.ok("hipStreamWaitEvent", side, fork, 0)
    hip.store(functions, 0, 2, side)
    assert end(hip, side)[:2] == ("hipErrorStreamCaptureUnmatched", "the capture was begun on another stream")
    assert end(hip, stream) == (
        "hipErrorStreamCaptureUnjoined",
        "a stream that joined the capture has work that the origin stream does not wait for",
        0,
    )
    assert (status(hip, side), status(hip, stream)) == ("none", "none")


@pytest.mark.parametrize(
    "call",
    [
        "hipMalloc",
        "hipFree",
        "hipHostMalloc",
        "hipModuleLoadData",
        "hipDeviceSynchronize",
        "hipStreamSynchronize",
        "hipStreamQuery",
    ],
)
def test_calls_that_a_capture_forbids(hip, image, stream, functions, call):
    spare, result = hip.malloc(64), ctypes.byref(ctypes.c_uint64())
    arguments = {
        "hipMalloc": (result, 64),
        "hipFree": (spare,),
        "hipHostMalloc": (result, 64, 0),
        "hipModuleLoadData": (result, ctypes.c_char_p(image)),
        "hipDeviceSynchronize": (),
    }
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    code, text = hip.error(call, *arguments.get(call, (stream,)))
    assert code == "hipErrorStreamCaptureUnsupported"
    assert text.startswith(f"stream {stream:#x} is being captured (mode global): {call} ")
    assert text.endswith("invalidates the capture")
    assert hip.store(functions, spare, 1, stream) == INVALIDATED
    code, text, graph = end(hip, stream)
    assert (code, graph) == (INVALIDATED, 0)
    assert text.startswith(f"the capture was invalidated: {call} ")
    hip.ok("hipFree", spare)  # and the process goes on as before


@pytest.mark.parametrize(
    ("mode", "same_thread", "code"),
    [
        (GLOBAL, True, "hipErrorStreamCaptureUnsupported"),
        (GLOBAL, False, "hipErrorStreamCaptureUnsupported"),
        (THREAD_LOCAL, True, "hipErrorStreamCaptureUnsupported"),
        (THREAD_LOCAL, False, "hipSuccess"),
        (RELAXED, True, "hipSuccess"),
        (RELAXED, False, "hipSuccess"),
    ],
)
def test_modes(hip, stream, mode, same_thread, code):
    seen = []

    def allocate():
        pointer = ctypes.c_uint64()
        seen.append(hip("hipMalloc", ctypes.byref(pointer), 64))
        if pointer.value:
            seen.append(hip("hipFree", pointer.value))

    hip.ok("hipStreamBeginCapture", stream, mode)
    if same_thread:
        allocate()
    else:
        thread = threading.Thread(target=allocate)
        thread.start()
        thread.join()
    assert set(seen) == {code}
    assert end(hip, stream)[0] == ("hipSuccess" if code == "hipSuccess" else INVALIDATED)


def test_a_thread_may_relax_its_own_mode(hip, stream):
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    mode = ctypes.c_int(RELAXED)
    hip.ok("hipThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    assert mode.value == GLOBAL
    pointer = hip.malloc(64)
    hip.ok("hipThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    assert end(hip, stream)[0] == "hipSuccess"
    hip.ok("hipFree", pointer)


def test_the_legacy_stream_during_a_capture(hip, functions, stream):
    pointer = hip.malloc(64)
    hip.ok("hipStreamBeginCapture", stream, RELAXED)
    code, text = hip.store(functions, pointer, 1, 0, call=hip.error)
    assert code == "hipErrorStreamCaptureImplicit"
    assert text == (
        f"stream {stream:#x} is being captured (mode relaxed): hipModuleLaunchKernel in the legacy default stream would wait for it, "
        "and invalidates the capture"
    )
    assert end(hip, stream)[0] == INVALIDATED
    free = hip.stream(NON_BLOCKING)
    hip.ok("hipStreamBeginCapture", free, RELAXED)  # a non-blocking stream does not concern the legacy stream
    hip.ok("hipMemset", pointer, 1, 64)
    assert end(hip, free)[0] == "hipSuccess"


def test_asking_the_legacy_stream_during_a_capture_is_harmless(hip, stream):
    hip.ok("hipStreamBeginCapture", stream, RELAXED)
    assert hip.error("hipStreamIsCapturing", 0, ctypes.byref(ctypes.c_int())) == (
        "hipErrorStreamCaptureImplicit",
        f"stream {stream:#x} is being captured (mode relaxed): hipStreamIsCapturing in the legacy default stream would wait for it",
    )
    assert end(hip, stream)[0] == "hipSuccess"


def test_synchronous_copies_during_a_capture(hip, stream):
    pointer = hip.malloc(64)
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    assert hip.error("hipMemcpy", pointer, ctypes.create_string_buffer(4), 4, 1)[0] == "hipErrorStreamCaptureImplicit"
    assert end(hip, stream)[0] == INVALIDATED


def test_other_streams_go_on(hip, functions, stream):
    other, pointer = hip.stream(), hip.malloc(4)
    hip.ok("hipStreamBeginCapture", stream, THREAD_LOCAL)
    assert hip.store(functions, pointer, 3, other) == "hipSuccess"
    hip.ok("hipStreamSynchronize", other)
    assert end(hip, stream)[0] == "hipSuccess"
    assert hip.read_u32(pointer) == 3


def test_crossing_the_border(hip, stream):
    other, event = hip.stream(), hip.event()
    hip.ok("hipEventRecord", event, other)
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    assert hip.error("hipStreamWaitEvent", stream, event, 0) == (
        "hipErrorStreamCaptureIsolation",
        "the stream is captured, but the event was recorded outside the capture",
    )
    assert end(hip, stream)[0] == INVALIDATED


def test_two_captures_do_not_merge(hip, stream):
    other, event = hip.stream(), hip.event()
    hip.ok("hipStreamBeginCapture", stream, RELAXED)
    hip.ok("hipStreamBeginCapture", other, RELAXED)
    hip.ok("hipEventRecord", event, other)
    assert hip("hipStreamWaitEvent", stream, event, 0) == "hipErrorStreamCaptureMerge"
    assert (end(hip, stream)[0], end(hip, other)[0]) == (INVALIDATED, INVALIDATED)


def test_begin_and_end_out_of_turn(hip, stream):
    assert end(hip, stream)[:2] == ("hipErrorIllegalState", f"stream {stream:#x} is not being captured")
    assert hip.error("hipStreamBeginCapture", 0, GLOBAL) == (
        "hipErrorStreamCaptureUnsupported",
        "the legacy default stream cannot be captured",
    )
    assert hip.error("hipStreamBeginCapture", stream, 3)[1] == "capture mode 3 does not exist (0 to 2)"
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    assert hip.error("hipStreamBeginCapture", stream, GLOBAL) == (
        "hipErrorIllegalState",
        f"stream {stream:#x} is being captured already",
    )
    assert end(hip, stream)[0] == "hipSuccess"


def test_end_by_another_thread(hip, stream):
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(end(hip, stream)[0]))
    thread.start()
    thread.join()
    assert seen == ["hipErrorStreamCaptureWrongThread"]
    assert end(hip, stream)[0] == "hipSuccess"


def test_destroying_a_captured_stream(hip):
    stream = hip.stream()
    graphs = hip.live("graphs")
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    hip.ok("hipStreamDestroy", stream)
    hip.ok("hipFree", hip.malloc(64))
    assert hip.live("graphs") <= graphs + 1


def test_capture_information(hip, functions, stream):
    hip.ok("hipStreamBeginCapture", stream, GLOBAL)
    assert hip.store(functions, 0x40, 1, stream) == "hipSuccess"
    state, number, graph = ctypes.c_int(), ctypes.c_ulonglong(), ctypes.c_uint64()
    nodes, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
    hip.ok("hipStreamGetCaptureInfo_v2", stream, *map(ctypes.byref, (state, number, graph, nodes, count)))
    assert (state.value, count.value) == (1, 1) and number.value > 0
    assert types(hip, graph.value) == ["kernel"] and nodes[0] != 0
    code, _, captured = end(hip, stream)
    assert (code, captured) == ("hipSuccess", graph.value)


def test_allocation_inside_a_capture(hip, functions, stream):
    before = hip.live("allocations")
    result = hip.pinned(4)
    with hip.capture(stream) as graph:
        pointer = hip.get("hipMallocAsync", 64, stream)
        hip.store(functions, pointer, 4, stream)
        hip.ok("hipMemcpyAsync", result, pointer, 4, 4, stream)
        hip.ok("hipFreeAsync", pointer, stream)
    assert types(hip, graph[0]) == ["alloc", "kernel", "copy", "free"]
    executable = hip.instantiate(graph[0])
    for _ in range(3):
        hip.ok("hipGraphLaunch", executable, stream)
    hip.ok("hipStreamSynchronize", stream)
    assert ctypes.c_uint32.from_address(result).value == 4
    hip.ok("hipGraphExecDestroy", executable)
    hip.ok("hipGraphDestroy", graph[0])
    assert hip.live("allocations") == before + 1  # the pinned word
