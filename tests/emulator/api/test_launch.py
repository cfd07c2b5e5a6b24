"""Launches: both forms of arguments, limits, failures that show later, the null mode."""

import ctypes
import struct

import pytest

from tests.emulator.api.ctypes_hip import Dim3


def parameters(*values):
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    pointers.keep = values
    return pointers


def test_by_extra(hip, functions):
    pointer = hip.malloc(4)
    assert hip.store(functions, pointer, 0x1234) == "hipSuccess"
    assert hip.read_u32(pointer) == 0x1234


def test_by_kernel_params(hip, functions):
    pointer = hip.malloc(8)
    values = parameters(
        ctypes.c_uint8(200), ctypes.c_uint64(1 << 40), ctypes.c_uint16(60_000), ctypes.c_uint64(pointer)
    )
    hip.ok("hipModuleLaunchKernel", functions["mixed"], 1, 1, 1, 64, 1, 1, 0, 0, values, None)
    assert struct.unpack("<Q", hip.download(pointer, 8))[0] == (1 << 40) + 200 + 60_000


def test_a_grid(hip, functions):
    count = 1000
    source = hip.upload(struct.pack(f"<{count}I", *range(count)))
    target = hip.malloc(4 * count)
    assert hip.launch(functions["add_one"], struct.pack("<QQI", target, source, count), grid=(16, 1, 1)) == "hipSuccess"
    assert struct.unpack(f"<{count}I", hip.download(target, 4 * count)) == tuple(range(1, count + 1))


def test_configuration_structure(hip, functions):
    pointer = hip.malloc(4)
    config = (ctypes.c_uint32 * 14)(1, 1, 1, 64, 1, 1, 0)
    values = parameters(ctypes.c_uint64(pointer), ctypes.c_uint32(5))
    hip.ok("hipDrvLaunchKernelEx", config, functions["store"], values, None)
    assert hip.read_u32(pointer) == 5


@pytest.mark.parametrize(
    ("grid", "block", "why"),
    [
        ((0, 1, 1), (64, 1, 1), "a grid of (0, 1, 1) workgroups is empty"),
        ((1, 1, 1), (64, 0, 1), "a workgroup of (64, 0, 1) work-items is empty"),
        ((1, 65537, 1), (64, 1, 1), "a grid of (1, 65537, 1) workgroups exceeds (2147483647, 65536, 65536)"),
        ((0xFFFFFFFF, 1, 1), (1, 1, 1), "a grid of (4294967295, 1, 1) workgroups exceeds (2147483647, 65536, 65536)"),
        ((1, 1, 1), (2048, 1, 1), "a workgroup of (2048, 1, 1) work-items exceeds 1024 in one direction"),
        ((1, 1, 1), (64, 64, 1), "a workgroup of (64, 64, 1) = 4096 work-items exceeds 1024"),
        (
            (1, 1, 1),
            (512, 1, 1),
            "a workgroup of (512, 1, 1) = 512 work-items exceeds the 256 that the kernel was compiled for",
        ),
        (
            (65536, 4097, 1),
            (1, 1, 1),
            "a grid of (65536, 4097, 1) workgroups has more than the 268435456 that the emulator would ever finish",
        ),
        (
            (1 << 30, 1, 1),
            (64, 1, 1),
            "a grid of (1073741824, 1, 1) workgroups of (64, 1, 1) has more than 2^32 - 1 work-items in one direction",
        ),
    ],
)
def test_geometry(hip, functions, grid, block, why):
    assert hip.store(functions, 0, 0, grid=grid, block=block, call=hip.error) == (
        "hipErrorInvalidConfiguration",
        f"kernel store: {why}",
    )


def test_required_workgroup_size(hip, functions):
    code, text = hip.launch(functions["one_wave"], bytes(8), block=(32, 1, 1), call=hip.error)
    assert (code, text) == (
        "hipErrorInvalidConfiguration",
        "kernel one_wave: a workgroup of (32, 1, 1) work-items is not the (64, 1, 1) that the kernel requires",
    )


def test_lds(hip, functions):
    code, text = hip.launch(functions["with_lds"], bytes(8), lds=100_000, call=hip.error)
    assert (code, text) == (
        "hipErrorInvalidValue",
        "kernel with_lds: 65536 bytes of its own LDS and 100000 dynamic ones exceed the workgroup's 163840",
    )
    pointer = hip.malloc(256)
    assert hip.launch(functions["with_lds"], struct.pack("<Q", pointer), lds=98304) == "hipSuccess"
    assert hip.read_u32(pointer) == 63


@pytest.mark.parametrize("size", [0, 8, 11])
def test_argument_buffer_that_is_too_short(hip, functions, size):
    assert hip.launch(functions["store"], bytes(size), call=hip.error) == (
        "hipErrorInvalidValue",
        f"kernel store: the argument buffer has {size} bytes, the kernel's arguments take 12",
    )


def test_argument_buffer_that_is_longer_than_needed(hip, functions):
    """Programs pass host structs with a member that the kernel does not know; HIP copies what the kernel takes."""
    pointer = hip.malloc(4)
    assert hip.launch(functions["store"], struct.pack("<QI", pointer, 6) + b"\xff" * 100) == "hipSuccess"
    assert hip.read_u32(pointer) == 6


def test_argument_forms(hip, functions):
    launch = ("hipModuleLaunchKernel", functions["store"], 1, 1, 1, 64, 1, 1, 0, 0)
    both = parameters(ctypes.c_uint64(), ctypes.c_uint32())
    assert hip.error(*launch, both, both)[1] == "both kernelParams and extra are given"
    assert (
        hip.error(*launch, None, None)[1]
        == "kernel store takes 2 arguments, but neither kernelParams nor extra is given"
    )
    assert hip.error(*launch, (ctypes.c_void_p * 2)(), None)[1] == "kernel store: kernelParams[0] is null"
    assert (
        hip.error(*launch, None, (ctypes.c_void_p * 8)(7, 0, 3))[1]
        == "entry 0 of extra is 0x7, no HIP_LAUNCH_PARAM_ value"
    )
    assert hip.error(*launch, None, (ctypes.c_void_p * 8)(3))[1] == (
        "extra gives no HIP_LAUNCH_PARAM_BUFFER_POINTER or no HIP_LAUNCH_PARAM_BUFFER_SIZE"
    )


def test_what_is_no_function(hip, module):
    assert hip.launch(0, bytes(12), call=hip.error) == ("hipErrorInvalidHandle", "the function is null")
    assert hip.launch(0x123450, bytes(12), call=hip.error) == ("hipErrorInvalidHandle", "0x123450 is not a function")
    assert hip.launch(module, bytes(12), call=hip.error) == (
        "hipErrorInvalidHandle",
        f"{module:#x} is a module, not a function",
    )


def test_cooperative_launches_say_so(hip, functions):
    code, text = hip.error("hipModuleLaunchCooperativeKernel", functions["store"], 1, 1, 1, 64, 1, 1, 0, 0, None)
    assert code == "hipErrorNotSupported"
    assert text == (
        "the gfx950 emulator does not implement hipModuleLaunchCooperativeKernel: its workgroups do not run all at once"
    )


def test_no_device_claims_cooperative_launches(hip):
    assert hip.get("hipDeviceGetAttribute", 10, 0, of=ctypes.c_int) == 0


def test_launches_between_two_events(hip, functions, stream):
    pointer, begin, end, time = hip.malloc(4), hip.event(), hip.event(), ctypes.c_float(-1)
    values = ctypes.c_uint64(pointer), ctypes.c_uint32(5)
    arguments = (ctypes.c_void_p * 2)(*map(ctypes.addressof, values))
    hip.ok(
        "hipExtModuleLaunchKernel", functions["store"], 128, 1, 1, 64, 1, 1, 0, stream, arguments, None, begin, end, 0
    )
    hip.ok("hipEventSynchronize", end)
    hip.ok("hipEventElapsedTime", ctypes.byref(time), begin, end)
    assert time.value > 0 and hip.read_u32(pointer) == 5
    values[1].value = 6
    hip.ok("hipExtLaunchKernel", functions["store"], Dim3(2, 1, 1), Dim3(64, 1, 1), arguments, 0, stream, begin, end, 0)
    hip.ok("hipEventSynchronize", end)
    assert hip.read_u32(pointer) == 6
    hip.ok("hipEventDestroy", end)
    code, text = hip.error(
        "hipExtLaunchKernel", functions["store"], Dim3(2, 1, 1), Dim3(64, 1, 1), arguments, 0, stream, begin, end, 0
    )
    assert code == "hipErrorInvalidHandle" and "was destroyed" in text


def test_a_failed_kernel_shows_at_the_next_synchronisation(hip, functions, stream, capfd):
    assert hip.store(functions, 0x40, 1, stream) == "hipSuccess"
    code, text = hip.error("hipStreamSynchronize", stream)
    assert code == "hipErrorIllegalAddress"
    assert "store" in text and "0x40" in text
    assert capfd.readouterr().err.count("gfx950 emulator: ") == 1
    hip.ok("hipStreamSynchronize", stream)  # told once
    assert hip("hipGetLastError") == "hipErrorIllegalAddress"
    assert hip("hipGetLastError") == "hipSuccess"
    pointer = hip.malloc(4)
    assert hip.store(functions, pointer, 9, stream) == "hipSuccess"  # the process lives on
    assert hip.read_u32(pointer) == 9


@pytest.mark.parametrize("how", ["device", "event", "query", "copy", "legacy"])
def test_where_a_failure_shows(hip, functions, stream, how):
    event = hip.event()
    assert hip.store(functions, 0x40, 1, stream) == "hipSuccess"
    hip.ok("hipEventRecord", event, stream)
    if how == "device":
        code = hip("hipDeviceSynchronize")
    elif how == "event":
        code = hip("hipEventSynchronize", event)
    elif how == "query":
        while (code := hip("hipStreamQuery", stream)) == "hipErrorNotReady":
            pass
    elif how == "copy":
        code = hip("hipMemcpy", hip.malloc(4), ctypes.create_string_buffer(4), 4, 1)
    else:
        code = hip("hipStreamSynchronize", 0)
    assert code == "hipErrorIllegalAddress"


def test_the_text_reaches_other_threads(run_process):
    run_process(
        "functions = load(); s = hip.stream(); texts = []\n"
        "hip.store(functions, 0x40, 1, s); time.sleep(0.5)\n"
        "t = threading.Thread(target=lambda: texts.append(hip.text())); t.start(); t.join()\n"
        "assert 'store' in texts[0], texts\n"
    )


def test_null_mode(run_process):
    run_process(
        "functions = load(); p = hip.upload(bytes(4)); s = hip.stream()\n"
        "assert hip.store(functions, p, 7) == 'hipSuccess' and hip.read_u32(p) == 0\n"
        "assert hip.store(functions, p, 7, grid=(0, 1, 1)) == 'hipErrorInvalidConfiguration'\n"
        "assert hip.launch(functions['store'], bytes(3)) == 'hipErrorInvalidValue'\n"
        "assert hip.launch(functions['store'] + (1 << 20), bytes(12)) == 'hipErrorInvalidHandle'\n"
        "with hip.capture(s) as graph: assert hip.store(functions, p, 7, s) == 'hipSuccess'\n"
        "e = hip.instantiate(graph[0]); hip.ok('hipGraphLaunch', e, s); hip.ok('hipStreamSynchronize', s)\n"
        "assert hip.read_u32(p) == 0\n",
        GFX950_EMU_NULL="1",
    )


def test_settings_of_the_engine_are_those_of_the_moment_of_the_launch(run_process):
    """Strict mode may be switched between two launches; here it turns a read of memory that nobody wrote into a failure."""
    run_process(
        "functions = load(); source, target = hip.malloc(256), hip.malloc(256); s = hip.stream()\n"
        "kernarg = struct.pack('<QQI', target, source, 1)\n"
        "assert hip.launch(functions['add_one'], kernarg, s) == 'hipSuccess'\n"
        "os.environ['GFX950_EMU_STRICT'] = '0'\n"
        "assert hip.launch(functions['add_one'], kernarg, s) == 'hipSuccess'\n"
        "assert hip('hipStreamSynchronize', s) == 'hipErrorLaunchFailure' and 'add_one' in hip.text()\n"
        "assert hip.launch(functions['add_one'], kernarg, s) == 'hipSuccess'\n"
        "hip.ok('hipStreamSynchronize', s)\n",
        GFX950_EMU_STRICT="1",
        GFX950_EMU_STREAM_DELAY_US="20000",
    )
