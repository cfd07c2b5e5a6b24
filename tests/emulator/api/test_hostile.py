"""What no program should do: sizes that wrap, memory that goes away before its turn, graphs that wait for themselves, threads and forks at
the wrong moment. Each is an error by name, or harmless; never a crash, never a hang.

Each runs in a process of its own, which is killed if it hangs.
"""

import pytest

PITCHED = (
    "class Pitched(ctypes.Structure): _fields_ = [(n, ctypes.c_uint64) for n in ('pointer', 'pitch', 'x', 'y')]\n"
    "class Extent(ctypes.Structure): _fields_ = [(n, ctypes.c_uint64) for n in ('width', 'height', 'depth')]\n"
)
PAGE = (
    "libc = ctypes.CDLL(None)\n"
    "libc.mmap.restype = ctypes.c_void_p\n"
    "def page(protection=3): return libc.mmap(None, ctypes.c_size_t(4096), protection, 0x22, -1, ctypes.c_long(0))\n"
    "def unmap(address): assert libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(4096)) == 0\n"
)
GRAPH = (
    "stream, event, graph = hip.stream(), hip.event(), hip.get('hipGraphCreate', 0)\n"
    "def add(call, *after):\n"
    "    return hip.get(call, graph, (ctypes.c_uint64 * max(1, len(after)))(*after), len(after), event)\n"
)


@pytest.mark.parametrize(
    "call",
    [
        "'hipMemcpy2D', p, 16, h, 16, 16, 2**60 + 1, DEFAULT",
        "'hipMemcpy2DAsync', h, 16, p, 16, 16, 2**60 + 1, DEFAULT, 0",
        "'hipMemset2D', p, 16, 0, 16, 2**60 + 1",
        "'hipMemsetD2D32', p, 16, 0, 4, 2**60 + 1",
        "'hipMemset3D', Pitched(p, 16, 16, 1), 0, Extent(16, 1, 2**60 + 1)",
        "'hipGraphAddMemsetNode', ctypes.byref(node), graph, None, 0, ctypes.byref(MemsetParams(p, 4, 1, 0, 7, 2**62 + 1))",
    ],
)
def test_sizes_that_wrap_around(run_process, call):
    run_process(
        PITCHED
        + "p, h, graph, node = hip.malloc(4096), hip.pinned(4096), hip.get('hipGraphCreate', 0), ctypes.c_uint64()\n"
        f"assert hip({call}) == 'hipErrorInvalidValue', hip.text()\n"
        "hip.ok('hipDeviceSynchronize')\n",
        timeout=20,
    )


def test_a_copy_into_memory_that_may_not_be_written(run_process):
    run_process(
        PAGE + "p, to = hip.upload(bytes(4096)), page(1)\n"
        "assert hip('hipMemcpy', to, p, 4096, DEVICE_TO_HOST) == 'hipErrorIllegalAddress'\n"
        "hip.ok('hipMemcpy', p, to, 4096, HOST_TO_DEVICE)\n"
    )


@pytest.mark.parametrize(
    "work",
    [
        "'hipMemcpyAsync', p, host, 4096, HOST_TO_DEVICE, s",
        "'hipMemcpyAsync', host, p, 4096, DEVICE_TO_HOST, s",
        "'hipMemsetD32Async', host, 7, 1024, s",
    ],
)
def test_host_memory_unmapped_before_its_turn(run_process, work):
    run_process(
        PAGE + "p, s, host = hip.upload(bytes(4096)), hip.stream(), page()\n"
        "hip.ok('hipHostRegister', host, 4096, 0)\n"
        f"hip.ok({work})\n"
        "unmap(host)\n"
        "assert hip.error('hipStreamSynchronize', s)[0] == 'hipErrorIllegalAddress'\n"
        "assert 'when its turn came' in hip.text()\n"
        "hip.ok('hipMemsetAsync', p, 0, 4096, s); hip.ok('hipStreamSynchronize', s)\n",
        GFX950_EMU_STREAM_DELAY_US="200000",
    )


def test_a_graph_whose_memory_is_gone(run_process):
    run_process(
        PAGE + "p, q, s, host = hip.upload(bytes(4096)), hip.upload(bytes(4096)), hip.stream(), page()\n"
        "with hip.capture(s) as pageable: hip.ok('hipMemcpyAsync', p, host, 4096, HOST_TO_DEVICE, s)\n"
        "with hip.capture(s) as device: hip.ok('hipMemcpyAsync', p, q, 4096, DEVICE_TO_DEVICE, s)\n"
        "with hip.capture(s) as fill: hip.ok('hipMemsetAsync', q, 0, 4096, s)\n"
        "unmap(host); hip.ok('hipFree', q)\n"
        "for graph in (pageable, device, fill):\n"
        "    hip.ok('hipGraphLaunch', hip.instantiate(graph[0]), s)\n"
        "    assert hip('hipStreamSynchronize', s) == 'hipErrorIllegalAddress'\n"
    )


def test_pinned_memory_freed_under_the_copy_of_another_device(run_process):
    """hipHostFree waits for the device that the memory was allocated for, not for the others."""
    run_process(
        "h = hip.pinned(4096); hip.ok('hipSetDevice', 1); p, s = hip.malloc(4096), hip.stream()\n"
        "hip.ok('hipMemcpyAsync', p, h, 4096, HOST_TO_DEVICE, s)\n"
        "hip.ok('hipHostFree', h)\n"
        "assert hip.error('hipStreamSynchronize', s)[0] == 'hipErrorIllegalAddress' and 'which was freed' in hip.text()\n",
        GFX950_EMU_STREAM_DELAY_US="200000",
        GFX950_EMU_DEVICES="2",
    )


def test_a_value_whose_memory_is_freed_is_not_waited_for(run_process):
    run_process(
        "p, s, t = hip.upload(bytes(8)), hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING)\n"
        "hip.ok('hipStreamWaitValue32', s, p, 1, 1, 0xffffffff)\n"
        "hip.ok('hipFreeAsync', p, t)\n"
        "assert hip('hipStreamSynchronize', s) == 'hipErrorIllegalAddress'\n",
        timeout=20,
    )


@pytest.mark.parametrize("first, second", [("Record", "Wait"), ("Wait", "Record")])
def test_a_graph_that_records_and_waits_for_one_event(run_process, first, second):
    run_process(
        GRAPH + f"add('hipGraphAddEvent{second}Node', add('hipGraphAddEvent{first}Node'))\n"
        "executable = hip.instantiate(graph)\n"
        "for i in range(3): hip.ok('hipGraphLaunch', executable, stream)\n"
        "hip.ok('hipStreamSynchronize', stream); hip.ok('hipEventSynchronize', event)\n",
        timeout=20,
    )


def test_a_wait_in_a_graph_takes_what_is_recorded_at_the_launch(run_process):
    """The event is recorded again, behind the graph: taking that record would make each wait for the other."""
    run_process(
        GRAPH + "add('hipGraphAddEventWaitNode')\n"
        "other, between, p = hip.stream(NON_BLOCKING), hip.event(), hip.malloc(4)\n"
        "hip.ok('hipMemsetAsync', p, 0, 4, stream)\n"
        "hip.ok('hipGraphLaunch', hip.instantiate(graph), stream)\n"
        "hip.ok('hipEventRecord', between, stream); hip.ok('hipStreamWaitEvent', other, between, 0)\n"
        "hip.ok('hipEventRecord', event, other)\n"
        "hip.ok('hipStreamSynchronize', stream); hip.ok('hipStreamSynchronize', other)\n",
        timeout=20,
        GFX950_EMU_STREAM_DELAY_US="100000",
    )


def test_a_captured_graph_launch_orders_by_events_too(run_process):
    run_process(
        GRAPH + "add('hipGraphAddEventWaitNode', add('hipGraphAddEventRecordNode'))\n"
        "executable = hip.instantiate(graph)\n"
        "with hip.capture(stream) as outer: hip.ok('hipGraphLaunch', executable, stream)\n"
        "hip.ok('hipGraphLaunch', hip.instantiate(outer[0]), stream)\n"
        "hip.ok('hipStreamSynchronize', stream)\n"
        "assert hip('hipEventElapsedTime', ctypes.byref(ctypes.c_float()), event, event) == 'hipSuccess'\n",
        timeout=20,
    )


def test_very_long_graphs(run_process):
    """A chain that is walked or ended by recursion would take the stack with it."""
    run_process(
        "p, s = hip.malloc(4), hip.stream()\n"
        "arguments = [ctypes.c_uint64(v) for v in (p, 0, 4, s)]\n"
        "with hip.capture(s) as graph:\n"
        "    for i in range(300_000): hip.library.hipMemsetAsync(*arguments)\n"
        "executable = hip.instantiate(graph[0])\n"
        "hip.ok('hipGraphDestroy', graph[0]); hip.ok('hipGraphLaunch', executable, s); hip.ok('hipStreamSynchronize', s)\n"
        "assert hip.live('graph_nodes') == 0\n"
    )


def test_a_long_chain_made_from_its_end(run_process):
    run_process(
        "graph, count = hip.get('hipGraphCreate', 0), 5000\n"
        "nodes = (ctypes.c_uint64 * count)(*(hip.get('hipGraphAddEmptyNode', graph, None, 0) for i in range(count)))\n"
        "hip.ok('hipGraphAddDependencies', graph, ctypes.byref(nodes, 8), nodes, count - 1)\n"
        "def thread():\n"
        "    ends = ctypes.byref(nodes), ctypes.byref(nodes, 8 * (count - 1))\n"
        "    assert hip('hipGraphAddDependencies', graph, *ends, 1) == 'hipErrorInvalidValue' and 'cycle' in hip.text()\n"
        "    hip.instantiate(graph); hip.ok('hipGraphDestroy', graph); done.append(1)\n"
        "done = []; threading.stack_size(256 << 10); t = threading.Thread(target=thread); t.start(); t.join(); assert done\n"
    )


def test_a_stream_whose_thread_cannot_start_starts_it_later(run_process):
    run_process(
        "import resource\n"
        "p, s = hip.malloc(4), hip.stream(NON_BLOCKING)\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "limits = resource.getrlimit(resource.RLIMIT_AS)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20), limits[1]))\n"
        "code = hip.error('hipMemsetAsync', p, 0, 4, s)\n"
        "resource.setrlimit(resource.RLIMIT_AS, limits)\n"
        "assert code[0] == 'hipErrorOutOfMemory' and 'thread' in code[1], code\n"
        "hip.ok('hipMemsetAsync', p, 0, 4, s); hip.ok('hipStreamSynchronize', s)\n",
        timeout=20,
    )


def test_forking_while_threads_are_inside_the_library(run_process):
    """The child's exit runs this thread's destructors, and any lock may be held for ever by a thread that is not there."""
    run_process(
        "f, libc, p = load(), ctypes.CDLL(None), [hip.malloc(4) for i in range(5)]\n"
        "def busy(i):\n"
        "    while not stop:\n"
        "        hip.store(f, p[i], 1, PER_THREAD_STREAM); hip('hipStreamSynchronize', PER_THREAD_STREAM); hip('hipFree', 77)\n"
        "stop, threads = [], [threading.Thread(target=busy, args=(i,)) for i in range(4)]\n"
        "for t in threads: t.start()\n"
        "hip.store(f, p[4], 1, PER_THREAD_STREAM)\n"
        "late = 0\n"
        "for i in range(80):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        code = hip('hipMalloc', ctypes.byref(ctypes.c_uint64()), 64)\n"
        "        libc.exit(0 if code == 'hipErrorNotInitialized' and 'forked' in hip.text() else 3)\n"
        "    end = time.time() + 5\n"
        "    while not (status := os.waitpid(child, os.WNOHANG))[0]:\n"
        "        if time.time() > end: os.kill(child, 9); status = os.waitpid(child, 0); break\n"
        "        time.sleep(0.001)\n"
        "    late += status[1] != 0\n"
        "stop.append(1)\n"
        "for t in threads: t.join()\n"
        "assert late == 0, late\n",
    )


def test_waiting_for_work_that_the_exit_dropped(run_process):
    """A handler that was registered before the first HIP call runs after the library's own."""
    done = run_process(
        "@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)\n"
        "def last(status, data): os.write(1, hip('hipStreamSynchronize', s).encode())\n"
        "libc = ctypes.CDLL(None); libc.on_exit(last, None)\n"
        "p, s = hip.malloc(4), hip.stream(); hip.ok('hipMemsetAsync', p, 1, 4, s); hip.ok('hipMemsetAsync', p, 1, 4, s)\n"
        "libc.exit(0)\n",
        timeout=20,
        GFX950_EMU_STREAM_DELAY_US="2000000",
    )
    assert done.stdout == "hipErrorDeinitialized"


def test_a_thread_that_ends_while_its_stream_is_captured(run_process):
    run_process(
        "f, p = load(), hip.malloc(4)\n"
        "def body(): hip.ok('hipStreamBeginCapture', PER_THREAD_STREAM, GLOBAL); hip.store(f, p, 3, PER_THREAD_STREAM)\n"
        "t = threading.Thread(target=body); t.start(); t.join()\n"
        "while hip.live('graphs'): time.sleep(0.01)  # join() returns before the system's thread has gone\n"
        "hip.ok('hipFree', p); hip.ok('hipDeviceSynchronize')\n"
        "assert hip.live('graphs') == hip.live('graph_nodes') == 0\n"
    )


def test_captures_that_lose_their_stream_or_their_graph(run_process):
    run_process(
        "s, graph = hip.stream(), ctypes.c_uint64()\n"
        "hip.ok('hipStreamBeginCapture', s, GLOBAL); hip.ok('hipStreamDestroy', s)\n"
        "assert hip.live('graphs') == 0\n"
        "s, mine = hip.stream(), hip.get('hipGraphCreate', 0)\n"
        "hip.ok('hipStreamBeginCaptureToGraph', s, mine, None, None, 0, GLOBAL); hip.ok('hipGraphDestroy', mine)\n"
        "code, text = hip.error('hipStreamEndCapture', s, ctypes.byref(graph))\n"
        "assert (code, graph.value) == ('hipErrorInvalidHandle', 0) and 'was destroyed' in text\n"
    )


def test_a_launch_that_gets_no_threads_runs_on_those_there_are(run_process):
    run_process(
        "import resource\n"
        "f, p = load(), hip.malloc(64 * 256)\n"
        "kernarg = struct.pack('<QI4x', p, 1)\n"
        "hip.launch(f['spin'], kernarg, grid=(64, 1, 1)); hip.ok('hipDeviceSynchronize')\n"
        "size = int(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmSize'))) << 10\n"
        "limits = resource.getrlimit(resource.RLIMIT_AS)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20), limits[1]))\n"
        "hip.ok('hipMemset', p, 0, 4)\n"
        "hip.launch(f['spin'], kernarg, grid=(64, 1, 1)); hip.ok('hipDeviceSynchronize')\n"
        "assert hip.download(p, 4) != bytes(4)\n",
        GFX950_EMU_THREADS="64",
    )
