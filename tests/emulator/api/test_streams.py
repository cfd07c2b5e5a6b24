"""Streams run asynchronously, each by itself, and keep HIP's order: inside a stream, and around the legacy default stream."""

import ctypes
import threading
import time

import pytest

from tests.emulator.api.ctypes_hip import NON_BLOCKING

# In these processes each piece of work waits 50 ms first, so that an order that is missing shows.
DELAY = {"GFX950_EMU_STREAM_DELAY_US": "50000"}
PREPARE = (
    "p = hip.pinned(64); word = ctypes.c_uint32.from_address(p)\n"
    "word.value = 0\n"
    "def fill(value, stream): hip.ok('hipMemsetD32Async', p, value, 1, stream)\n"
    "blocking, other, free = hip.stream(), hip.stream(), hip.stream(NON_BLOCKING)\n"
)


def test_work_does_not_hold_up_the_caller(run_process):
    run_process(
        PREPARE + "start = time.perf_counter()\n"
        "for i in range(4): fill(i + 1, blocking)\n"
        "assert hip('hipStreamQuery', blocking) == 'hipErrorNotReady'\n"
        "hip.ok('hipStreamSynchronize', blocking)\n"
        "assert time.perf_counter() - start > 0.2 and word.value == 4\n"
        "hip.ok('hipStreamQuery', blocking)\n",
        **DELAY,
    )


def test_streams_run_side_by_side(run_process):
    run_process(
        PREPARE + "start = time.perf_counter()\n"
        "for s in [hip.stream() for _ in range(8)]:\n"
        "    for i in range(4): fill(1, s)\n"
        "hip.ok('hipDeviceSynchronize')\n"
        "assert 0.2 < time.perf_counter() - start < 1.5\n",  # one after the other they would take 1.6 s
        **DELAY,
    )


def test_the_legacy_stream_waits_for_blocking_streams_and_they_for_it(run_process):
    run_process(
        PREPARE + "seen = (ctypes.c_uint32 * 2).from_address(p + 8)\n"
        "def look(i, stream): hip.ok('hipMemcpyAsync', p + 8 + 4 * i, p, 4, DEFAULT, stream)\n"
        "fill(9, blocking); fill(1, blocking); look(0, 0); fill(9, 0); fill(2, 0); look(1, other); fill(3, other)\n"
        "hip.ok('hipStreamSynchronize', other)\n"
        "assert (*seen, word.value) == (1, 2, 3), (*seen, word.value)\n",
        **DELAY,
    )


def test_non_blocking_streams_take_no_part(run_process):
    run_process(
        PREPARE + "for i in range(3): fill(7, 0)\n"
        "q = hip.pinned(4); hip.ok('hipMemsetD32Async', q, 5, 1, free)\n"
        "hip.ok('hipStreamSynchronize', free)\n"
        "assert hip('hipStreamQuery', 0) == 'hipErrorNotReady'\n"
        "hip.ok('hipStreamSynchronize', 0)\n",
        **DELAY,
    )


def test_a_side_stream_without_an_event_is_out_of_order(run_process):
    run_process(
        PREPARE + "q = hip.pinned(4); copy = ctypes.c_uint32.from_address(q)\n"
        "def read(stream): hip.ok('hipMemcpyAsync', q, p, 4, DEFAULT, stream)\n"
        "side = hip.stream(NON_BLOCKING)\n"
        "for value in (1, 2, 3, 4, 9): fill(value, free)\n"
        "read(side)\n"
        "hip.ok('hipDeviceSynchronize'); assert copy.value != 9\n"
        "e = hip.event(); fill(10, free); fill(11, free); hip.ok('hipEventRecord', e, free)\n"
        "hip.ok('hipStreamWaitEvent', side, e, 0); read(side)\n"
        "hip.ok('hipDeviceSynchronize'); assert copy.value == 11\n",
        **DELAY,
    )


def test_per_thread_default_streams(run_process):
    run_process(
        PREPARE + "seen = []\n"
        "def work():\n"
        "    fill(1, PER_THREAD_STREAM)\n"
        "    hip.ok('hipStreamSynchronize', PER_THREAD_STREAM); seen.append(word.value)\n"
        "t = threading.Thread(target=work); t.start()\n"
        "assert hip('hipStreamQuery', PER_THREAD_STREAM) == 'hipSuccess'\n"  # this thread's own is idle
        "t.join(); assert seen == [1]\n"
        "fill(2, PER_THREAD_STREAM); fill(3, 0); hip.ok('hipStreamSynchronize', 0); assert word.value == 3\n",
        **DELAY,
    )


def test_synchronous_copies_wait(run_process):
    run_process(
        PREPARE + "d = hip.malloc(4)\n"
        "hip.ok('hipMemsetD32Async', d, 5, 1, blocking)\n"
        "assert hip.read_u32(d) == 5\n"  # hipMemcpy goes through the legacy stream, which waits for the blocking one
        "data = ctypes.create_string_buffer(4)\n"
        "hip.ok('hipMemsetD32Async', d, 6, 1, free)\n"
        "hip.ok('hipMemcpyAsync', data, d, 4, DEVICE_TO_HOST, free)\n"  # pageable memory: waits by itself
        "assert struct.unpack('<I', data.raw)[0] == 6\n",
        **DELAY,
    )


def test_freeing_waits_for_the_work(run_process):
    run_process(
        PREPARE + "d = hip.malloc(4)\n"
        "hip.ok('hipMemsetD32Async', d, 5, 1, free)\n"
        "hip.ok('hipFree', d)\n"
        "hip.ok('hipStreamQuery', free)\n",
        **DELAY,
    )


def test_a_destroyed_stream_finishes_its_work(run_process):
    run_process(
        PREPARE + "fill(1, blocking); fill(2, blocking); hip.ok('hipStreamDestroy', blocking)\n"
        "hip.ok('hipDeviceSynchronize'); assert word.value == 2\n",
        **DELAY,
    )


def test_handles_that_are_no_stream(hip, stream):
    hip.ok("hipStreamDestroy", stream)
    assert hip.error("hipStreamSynchronize", stream) == ("hipErrorInvalidHandle", f"stream {stream:#x} was destroyed")
    assert hip.error("hipStreamDestroy", stream) == ("hipErrorInvalidHandle", f"stream {stream:#x} was destroyed")
    assert hip.error("hipMemsetAsync", hip.malloc(4), 0, 4, stream)[0] == "hipErrorInvalidHandle"
    assert hip.error("hipStreamQuery", 0xDEAD0) == ("hipErrorInvalidHandle", "0xdead0 is not a stream")
    event = hip.event()
    assert hip.error("hipStreamSynchronize", event) == (
        "hipErrorInvalidHandle",
        f"{event:#x} is an event, not a stream",
    )
    assert hip.error("hipStreamDestroy", 0) == ("hipErrorInvalidHandle", "a default stream cannot be destroyed")


def test_what_a_stream_says_of_itself(hip):
    stream = hip.get("hipStreamCreateWithPriority", NON_BLOCKING, -5)
    assert hip.code("hipStreamGetFlags", stream, ctypes.byref(flags := ctypes.c_uint())) == 0
    assert hip.code("hipStreamGetPriority", stream, ctypes.byref(priority := ctypes.c_int())) == 0
    assert hip.code("hipStreamGetDevice", stream, ctypes.byref(device := ctypes.c_int(9))) == 0
    assert (flags.value, priority.value, device.value) == (NON_BLOCKING, -1, 0)
    hip.ok("hipStreamDestroy", stream)
    assert hip.error("hipStreamCreateWithFlags", ctypes.byref(ctypes.c_uint64()), 2)[1] == (
        "flags 2: hipStreamDefault (0) and hipStreamNonBlocking (1) exist"
    )


@pytest.mark.parametrize("call", ["hipLaunchHostFunc", "hipStreamAddCallback"])
def test_host_functions_run_in_order(hip, stream, call):
    seen = []
    if call == "hipLaunchHostFunc":
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: seen.append((data, threading.get_ident())))
        arguments = (ctypes.c_void_p(17),)
    else:
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(
            lambda _stream, status, data: seen.append((data, threading.get_ident()))
        )
        arguments = (ctypes.c_void_p(17), 0)
    hip.ok(call, stream, function, *arguments)
    hip.ok("hipStreamSynchronize", stream)
    assert seen[0][0] == 17 and seen[0][1] != threading.get_ident()
    assert hip.error(call, stream, None, *arguments)[0] == "hipErrorInvalidValue"


def test_a_host_function_that_waits_for_its_own_stream_is_told_so(hip, stream):
    seen = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
        lambda _: seen.extend([hip.error("hipStreamSynchronize", stream), hip.error("hipDeviceSynchronize")])
    )
    hip.ok("hipLaunchHostFunc", stream, function, None)
    hip.ok("hipStreamSynchronize", stream)
    answer = ("hipErrorIllegalState", "a host function called from a stream must not wait for a stream or a device")
    assert seen == [answer, answer]


def test_value_writes_and_waits(hip, stream):
    pointer, other = hip.pinned(8), hip.stream()
    ctypes.memset(pointer, 0, 8)
    hip.ok("hipStreamWaitValue32", stream, pointer, 5, 0, 0xFFFFFFFF)
    assert hip("hipStreamQuery", stream) == "hipErrorNotReady"
    hip.ok("hipStreamWriteValue32", other, pointer, 5, 0)
    hip.ok("hipStreamSynchronize", stream)
    assert (
        hip.error("hipStreamWriteValue32", stream, pointer + 2, 5, 0)[1]
        == f"{pointer + 2:#x} is not aligned to 4 bytes"
    )
    hip.ok("hipStreamDestroy", other)


def test_many_threads_many_streams(hip, functions):
    failures = []

    def work(seed):
        try:
            stream = hip.stream(seed % 2)
            for i in range(20):
                pointer = hip.malloc(256)
                assert hip.store(functions, pointer, seed * 100 + i, stream) == "hipSuccess"
                hip.ok("hipStreamSynchronize", stream)
                assert hip.read_u32(pointer) == seed * 100 + i
                hip.ok("hipFree", pointer)
            hip.ok("hipStreamDestroy", stream)
        except AssertionError as failure:
            failures.append(failure)

    before = hip.live("allocations"), hip.live("streams")
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert (hip.live("allocations"), hip.live("streams")) == before


def test_a_thousand_streams_cost_no_thousand_threads(hip):
    streams = [hip.stream() for _ in range(1000)]
    assert threading.active_count() < 50
    start = time.perf_counter()
    for stream in streams:
        hip.ok("hipStreamDestroy", stream)
    assert time.perf_counter() - start < 5


def test_the_work_of_a_thread_that_ended_is_still_waited_for(run_process):
    run_process(
        PREPARE + "t = threading.Thread(target=lambda: [fill(i, PER_THREAD_STREAM) for i in range(1, 5)])\n"
        "t.start(); t.join()\n"
        "hip.ok('hipDeviceSynchronize'); assert word.value == 4\n",
        **DELAY,
    )
