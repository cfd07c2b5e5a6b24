"""Events: time, order, waits, and the states in which they have none."""

import ctypes

from tests.emulator.api.ctypes_hip import NON_BLOCKING

DISABLE_TIMING = 2


def elapsed(hip, begin, end):
    result = ctypes.c_float()
    hip.ok("hipEventElapsedTime", ctypes.byref(result), begin, end)
    return result.value


def test_time_between_two_events(hip, stream, functions):
    begin, end = hip.event(), hip.event()
    hip.ok("hipEventRecord", begin, stream)
    pointer = hip.malloc(4)
    assert hip.store(functions, pointer, 1, stream) == "hipSuccess"
    hip.ok("hipEventRecord", end, stream)
    hip.ok("hipEventSynchronize", end)
    assert 0 < elapsed(hip, begin, end) < 10_000
    assert elapsed(hip, begin, begin) == 0
    assert elapsed(hip, end, begin) < 0


def test_time_shows_the_delay(run_process):
    run_process(
        "s = hip.stream(); a, b = hip.event(), hip.event(); p = hip.malloc(4)\n"
        "hip.ok('hipEventRecord', a, s); hip.ok('hipMemsetAsync', p, 0, 4, s); hip.ok('hipEventRecord', b, s)\n"
        "t = ctypes.c_float()\n"
        "assert hip('hipEventElapsedTime', ctypes.byref(t), a, b) == 'hipErrorNotReady'\n"
        "assert hip('hipEventQuery', b) == 'hipErrorNotReady'\n"
        "hip.ok('hipEventSynchronize', b); hip.ok('hipEventQuery', b)\n"
        "hip.ok('hipEventElapsedTime', ctypes.byref(t), a, b); assert 40 < t.value < 2000, t.value\n"
        "assert hip('hipPeekAtLastError') == 'hipSuccess'\n",  # not ready is an answer, not an error
        GFX950_EMU_STREAM_DELAY_US="40000",
    )


def test_an_event_never_recorded(hip, stream):
    event, other = hip.event(), hip.event()
    hip.ok("hipEventQuery", event)
    hip.ok("hipEventSynchronize", event)
    hip.ok("hipStreamWaitEvent", stream, event, 0)
    hip.ok("hipEventRecord", other, stream)
    hip.ok("hipEventSynchronize", other)
    assert hip.error("hipEventElapsedTime", ctypes.byref(ctypes.c_float()), event, other) == (
        "hipErrorInvalidHandle",
        "the first event was never recorded",
    )


def test_an_event_without_timing(hip, stream):
    event = hip.event(DISABLE_TIMING)
    hip.ok("hipEventRecord", event, stream)
    hip.ok("hipEventSynchronize", event)
    assert hip.error("hipEventElapsedTime", ctypes.byref(ctypes.c_float()), event, event) == (
        "hipErrorInvalidHandle",
        "the first event was made without timing",
    )


def test_a_wait_is_for_the_record_of_its_moment(run_process):
    run_process(
        "slow, quick = hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING)\n"
        "e = hip.event(); p = hip.malloc(4)\n"
        "hip.ok('hipEventRecord', e, slow)\n"
        "hip.ok('hipStreamWaitEvent', quick, e, 0)\n"
        "for _ in range(10): hip.ok('hipMemsetAsync', p, 0, 4, slow)\n"
        "hip.ok('hipEventRecord', e, slow)\n"
        "start = time.perf_counter(); hip.ok('hipStreamSynchronize', quick)\n"
        "assert time.perf_counter() - start < 0.4\n"
        "hip.ok('hipEventSynchronize', e); assert time.perf_counter() - start > 0.4\n",
        GFX950_EMU_STREAM_DELAY_US="50000",
    )


def test_destroyed_events(hip, stream):
    event = hip.event()
    hip.ok("hipEventDestroy", event)
    expected = ("hipErrorInvalidHandle", f"event {event:#x} was destroyed")
    for call in ("hipEventDestroy", "hipEventQuery", "hipEventSynchronize"):
        assert hip.error(call, event) == expected
    assert hip.error("hipEventRecord", event, stream) == expected
    assert hip.error("hipStreamWaitEvent", stream, event, 0) == expected


def test_flags(hip):
    assert hip.error("hipEventCreateWithFlags", ctypes.byref(ctypes.c_uint64()), 64) == (
        "hipErrorInvalidValue",
        "flags 0x40 are not known",
    )
    assert hip.error("hipEventCreateWithFlags", ctypes.byref(ctypes.c_uint64()), 4)[1] == (
        "an interprocess event must disable timing"
    )


def test_event_of_another_device(run_process):
    run_process(
        "e = hip.event(); hip.ok('hipSetDevice', 1); s = hip.stream()\n"
        "assert hip.error('hipEventRecord', e, s) == ('hipErrorInvalidHandle', 'the event belongs to device 0, the stream to device 1')\n"
        "hip.ok('hipStreamWaitEvent', s, e, 0)\n",
        GFX950_EMU_DEVICES="2",
    )


def test_waiting_across_non_blocking_streams(hip, functions):
    a, b = hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING)
    pointer, event = hip.malloc(4), hip.event()
    for value in range(1, 30):
        first, second = (a, b) if value % 2 else (b, a)
        hip.store(functions, pointer, value, first)
        hip.ok("hipEventRecord", event, first)
        hip.ok("hipStreamWaitEvent", second, event, 0)
    hip.ok("hipStreamSynchronize", b)
    hip.ok("hipStreamSynchronize", a)
    assert hip.read_u32(pointer) == 29
