"""The library in a process: fork, exit, the call log, unloading, what is not implemented."""

import ctypes
import threading
import time

import pytest

FORK = (
    "import signal\n"
    "def in_child(body):\n"
    "    child = os.fork()\n"
    "    if child == 0:\n"
    "        signal.alarm(20)\n"
    "        try: body(); os._exit(0)\n"
    "        except BaseException as e: print(e, file=sys.stderr); os._exit(1)\n"
    "    assert os.waitpid(child, 0)[1] == 0\n"
)


def test_fork_before_the_first_call_works(run_process):
    run_process(
        FORK + "def body():\n"
        "    functions = load(); p = hip.malloc(4)\n"
        "    assert hip.store(functions, p, 3) == 'hipSuccess' and hip.read_u32(p) == 3\n"
        "in_child(body); in_child(body); body()\n"
    )


def test_fork_after_the_first_call_is_refused_in_the_child(run_process):
    run_process(
        FORK + "functions = load(); p = hip.malloc(4); s = hip.stream()\n"
        "hip.store(functions, p, 1, s); hip.ok('hipDeviceSynchronize')\n"
        "parent = os.getpid(); allocations = hip.live('allocations')\n"
        "def body():\n"
        "    wanted = ('hipErrorNotInitialized', f'this process was forked after its parent (pid {parent}) had made its first HIP call; '\n"
        "              'HIP cannot be used here: fork before the first call, or start workers with spawn')\n"
        "    u = ctypes.byref(ctypes.c_uint64())\n"
        "    for call in (('hipMalloc', u, 64), ('hipGetDevice', u), ('hipStreamSynchronize', s), ('hipFree', p), ('hipDeviceSynchronize',),\n"
        "                 ('hipGetLastError',), ('hipModuleLoadData', u, ctypes.c_char_p(image)), ('hipIpcGetMemHandle', u, p)):\n"
        "        assert hip.error(*call) == wanted, hip.text()\n"
        "    assert hip.launch(functions['store'], bytes(12)) == 'hipErrorNotInitialized'\n"
        "    assert hip.live('allocations') == allocations\n"
        "    assert hip.library.hipGetErrorString(3) == b'the runtime is not initialised in this process'\n"
        "in_child(body)\n"
        "assert hip.store(functions, p, 2, s) == 'hipSuccess'; assert hip.read_u32(p) == 2\n"  # the parent goes on
    )


def test_fork_while_streams_work(run_process):
    run_process(
        FORK + "p = hip.malloc(4); s = hip.stream()\n"
        "for i in range(8): hip.ok('hipMemsetAsync', p, i, 4, s)\n"
        "def body(): assert hip('hipGetDevice', ctypes.byref(ctypes.c_int())) == 'hipErrorNotInitialized'\n"
        "for _ in range(5): in_child(body)\n"
        "hip.ok('hipStreamSynchronize', s)\n",
        GFX950_EMU_STREAM_DELAY_US="20000",
    )


def test_exit_of_a_forked_child_does_not_hang(run_process):
    run_process(
        "p = hip.malloc(4); s = hip.stream(); hip.ok('hipMemsetAsync', p, 1, 4, s)\n"
        "child = os.fork()\n"
        "if child == 0: sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n",
        timeout=20,
    )


@pytest.mark.parametrize("work", ["fills", "kernels", "host functions", "waits"])
def test_exit_with_work_pending(run_process, work):
    start = time.perf_counter()
    done = run_process(
        "functions = load(); s = hip.stream(); p = hip.pinned(64); f = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: time.sleep(0.01))\n"
        "ctypes.memset(p, 0, 64)\n"
        "for i in range(200):\n"
        f"    if {work!r} == 'fills': hip.ok('hipMemsetAsync', p, 1, 4, s)\n"
        f"    elif {work!r} == 'kernels': hip.launch(functions['spin'], struct.pack('<QI', p, 100000), s)\n"
        f"    elif {work!r} == 'waits': hip.ok('hipStreamWaitValue32', s, p, 1, 1, 0xFFFFFFFF)\n"
        "    else: hip.ok('hipLaunchHostFunc', s, f, None)\n",
        timeout=30,
        GFX950_EMU_STREAM_DELAY_US="1000" if work == "fills" else "0",
    )
    assert done.stderr == ""
    assert time.perf_counter() - start < 10


def test_call_log(run_process, tmp_path):
    log = tmp_path / "log"
    run_process(
        "functions = load(); p = hip.malloc(4096)\n"
        "hip.store(functions, p, 1); hip('hipFree', 12); hip.ok('hipDeviceSynchronize')\n",
        GFX950_EMU_LOG=str(log),
    )
    lines = [line.rsplit(" [thread ", 1)[0] for line in log.read_text().splitlines()]
    assert lines[0].startswith("hipModuleLoadData(module->0x")
    assert lines[1].startswith("hipModuleGetFunction(function->0x") and lines[1].endswith(
        ', name="store") = hipSuccess'
    )
    assert any(
        line.startswith("hipMalloc(pointer->0x") and line.endswith(", size=4096) = hipSuccess") for line in lines
    )
    launch = next(line for line in lines if line.startswith("hipModuleLaunchKernel("))
    assert launch.endswith(", grid=(1, 1, 1), block=(64, 1, 1), lds=0, stream=0x0) = hipSuccess")
    assert lines[-2:] == ["hipFree(pointer=0xc) = hipErrorInvalidValue", "hipDeviceSynchronize() = hipSuccess"]


def test_what_is_not_implemented_says_so(hip, capfd):
    code, text = hip.error("hipIpcGetMemHandle", ctypes.create_string_buffer(64), 0)
    assert code == "hipErrorNotSupported"
    assert text == "the gfx950 emulator does not implement hipIpcGetMemHandle: nothing is shared between processes"
    hip("hipMallocArray", None, None, 1, 1, 0)
    hip("hipMallocArray", None, None, 1, 1, 0)
    err = capfd.readouterr().err
    assert (
        err.count("gfx950 emulator: hipMallocArray is not implemented: there are no images, textures or arrays\n") == 1
    )


def test_last_error_is_per_thread_and_kept(hip):
    assert hip("hipFree", 12) == "hipErrorInvalidValue"
    hip.ok("hipSetDevice", 0)  # a success does not clear it
    seen = []
    thread = threading.Thread(target=lambda: seen.append(hip("hipPeekAtLastError")))
    thread.start()
    thread.join()
    assert seen == ["hipSuccess"]
    assert [hip("hipPeekAtLastError"), hip("hipGetLastError"), hip("hipGetLastError")] == [
        "hipErrorInvalidValue",
        "hipErrorInvalidValue",
        "hipSuccess",
    ]


def test_look_up_by_name(hip):
    function = ctypes.c_void_p()
    status = ctypes.c_int(9)
    hip.ok("hipGetProcAddress", "hipMalloc", ctypes.byref(function), 600, 0, ctypes.byref(status))
    assert function.value == ctypes.cast(hip.library.hipMalloc, ctypes.c_void_p).value and status.value == 0
    assert hip.error("hipGetProcAddress", "hipNothing", ctypes.byref(function), 600, 0, ctypes.byref(status)) == (
        "hipErrorInvalidValue",
        "libamdhip64 has no function named hipNothing",
    )
    assert status.value == 1


@pytest.mark.parametrize(
    "call, name, arguments, found",
    [
        ("hipGetProcAddress", "hipGetDeviceProperties", (70253211, 0), "hipGetDevicePropertiesR0600"),
        ("hipGetProcAddress", "hipGetDeviceProperties", (600, 0), "hipGetDevicePropertiesR0600"),
        ("hipGetProcAddress", "hipGetDeviceProperties", (599, 0), "hipGetDeviceProperties"),
        ("hipGetProcAddress", "hipChooseDevice", (600, 0), "hipChooseDeviceR0600"),
        ("hipGetProcAddress", "hipMemcpyAsync", (600, 2), "hipMemcpyAsync_spt"),
        ("hipGetProcAddress", "hipMemcpyAsync", (600, 1), "hipMemcpyAsync"),
        ("hipGetProcAddress", "hipMalloc", (600, 2), "hipMalloc"),
        ("hipGetProcAddress_spt", "hipMemcpyAsync", (600, 0), "hipMemcpyAsync_spt"),
        ("hipGetDriverEntryPoint", "hipGetDeviceProperties", (0,), "hipGetDevicePropertiesR0600"),
        ("hipGetDriverEntryPoint_spt", "hipStreamQuery", (0,), "hipStreamQuery_spt"),
    ],
)
def test_look_up_by_name_version_and_default_stream(hip, call, name, arguments, found):
    """Code compiled for HIP 6 means the longer struct: Triton's driver asks this way."""
    function = ctypes.c_void_p()
    hip.ok(call, name, ctypes.byref(function), *arguments, None)
    assert function.value == ctypes.cast(getattr(hip.library, found), ctypes.c_void_p).value


def test_live_objects_by_unknown_name(hip):
    assert hip.live("nothing") == -1
    assert hip.library.gfx950_emu_version().startswith(b"gfx950 emulator ")


def test_two_copies_in_one_process_are_two_runtimes(run_process, library, tmp_path):
    other = tmp_path / library.name
    other.write_bytes(library.read_bytes())
    run_process(
        f"other = Hip({str(other)!r})\n"
        "p, q = hip.malloc(64), other.malloc(64)\n"
        "assert hip.live('allocations') == 1 and other.live('allocations') == 1\n"
        "a = PointerAttributes()\n"
        "hip.ok('hipPointerGetAttributes', ctypes.byref(a), q); assert a.type == 0\n"
        "other.ok('hipPointerGetAttributes', ctypes.byref(a), q); assert a.type == 2\n"
        "f = ctypes.c_void_p(); mine = ctypes.cast(other.library.hipMalloc, ctypes.c_void_p).value\n"
        "other.ok('hipGetProcAddress', 'hipMalloc', ctypes.byref(f), 600, 0, None); assert f.value == mine\n"
        "for h, x in ((hip, p), (other, q)):\n"
        "    functions = {'store': h.function(h.module(image), 'store')}\n"
        "    assert h.store(functions, x, 5) == 'hipSuccess' and h.read_u32(x) == 5\n"
    )
