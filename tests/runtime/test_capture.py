"""Graph capture: legal when warm, refused with the line that warms when cold; replays see new lengths and pages."""

PREAMBLE = """
        from hip import hip
        import numpy as np
        import paged_attn_runtime as par
        from tests.runtime.scenario import Call, hip_synchronize, make_plan, new_stream
        MODE = hip.hipStreamCaptureMode.hipStreamCaptureModeGlobal
        def done(result):
            assert result[0] == 0, result
            return result[1] if len(result) > 1 else None
        stream = new_stream()
"""


def test_a_replay_sees_changed_lengths_and_page_tables(fresh_process):
    program = (
        PREAMBLE
        + """
        call = Call()
        other = Call(lengths=((5, 40), (1, 100), (20, 60)), seed=7)
        pages = max(call.tensors[1].shape[0], other.tensors[1].shape[0])
        width = max(call.keywords["block_table"].shape[1], other.keywords["block_table"].shape[1])
        table = par.DeviceArray.zeros((3, width), "<i4")
        lengths = par.DeviceArray.zeros((3,), "<i4")
        k = par.DeviceArray.zeros((pages, *call.tensors[1].shape[1:]), "|u1")
        v = par.DeviceArray.zeros((pages, *call.tensors[2].shape[1:]), "|u1")
        q = call.tensors[0]
        out, lse = call.out, call.lse
        def load(c):
            def padded(array, shape):
                whole = np.full(shape, 0x7F, array.dtype)
                whole[tuple(slice(n) for n in array.shape)] = array
                return whole
            q.copy_from_numpy(c.problem.q)
            k.copy_from_numpy(padded(c.problem.k_cache, k.shape))
            v.copy_from_numpy(padded(c.problem.v_cache, v.shape))
            table.copy_from_numpy(padded(c.problem.block_table(), table.shape))
            lengths.copy_from_numpy(c.problem.lengths_k)
        load(call)
        keywords = call.keywords | {"block_table": table, "seqlens_k": lengths, "max_seqlen_k": 200}
        keywords |= {"out": out, "lse": lse, "stream": stream}
        par.paged_prefill(q, k, v, **keywords)
        done(hip.hipStreamSynchronize(stream))
        done(hip.hipStreamBeginCapture(stream, MODE))
        par.paged_prefill(q, k, v, **keywords)
        graph = done(hip.hipStreamEndCapture(stream))
        executable = done(hip.hipGraphInstantiateWithFlags(graph, 0))
        for c in (call, other, call):
            load(c)
            call.clear()
            done(hip.hipGraphLaunch(executable, stream))
            done(hip.hipStreamSynchronize(stream))
            c.verify(out, lse)
        print("right")
        """
    )
    assert "right" in fresh_process(program)


def test_a_plan_is_warm(fresh_process):
    program = (
        PREAMBLE
        + """
        call, plan = Call(), make_plan()
        done(hip.hipStreamBeginCapture(stream, MODE))
        call.run(plan, stream=stream)
        graph = done(hip.hipStreamEndCapture(stream))
        done(hip.hipGraphLaunch(done(hip.hipGraphInstantiateWithFlags(graph, 0)), stream))
        done(hip.hipStreamSynchronize(stream))
        call.verify()
        """
    )
    fresh_process(program)


def test_cold_names_the_line_that_warms(fresh_process):
    program = (
        PREAMBLE
        + """
        call = Call()
        done(hip.hipStreamBeginCapture(stream, MODE))
        try:
            call.prefill(stream=stream)
        except par.HipError as error:
            print(error)
        graph = done(hip.hipStreamEndCapture(stream))  # the capture is still good
        print(eval("par.warmup(head_dim=192, v_head_dim=128, page_size=64, device=0)")[0])
        done(hip.hipStreamBeginCapture(stream, MODE))
        call.prefill(stream=stream)
        graph = done(hip.hipStreamEndCapture(stream))
        done(hip.hipGraphLaunch(done(hip.hipGraphInstantiateWithFlags(graph, 0)), stream))
        done(hip.hipStreamSynchronize(stream))
        call.verify()
        """
    )
    text = fresh_process(program)
    assert text.startswith("ColdCapture: paged_prefill_d192_v128_p64_vectorized_5d_")
    assert "paged_attn_runtime.warmup(head_dim=192, v_head_dim=128, page_size=64, device=0)" in text


def test_cold_on_another_stream_than_the_captured_one(fresh_process):
    program = (
        PREAMBLE
        + """
        error, blocking = hip.hipStreamCreate()
        call = Call()
        done(hip.hipStreamBeginCapture(blocking, MODE))
        try:
            call.prefill(stream=stream)
        except par.HipError as error:
            print(error.name)
        done(hip.hipStreamEndCapture(blocking))
        """
    )
    assert fresh_process(program).strip() == "ColdCapture"


def test_outputs_are_not_allocated_inside(fresh_process):
    program = (
        PREAMBLE
        + """
        call = Call()
        call.prefill()
        hip_synchronize()
        done(hip.hipStreamBeginCapture(stream, MODE))
        try:
            call.prefill(stream=stream, out=None)
        except par.HipError as error:
            print(error)
        done(hip.hipStreamEndCapture(stream))
        """
    )
    assert "ColdCapture: outputs cannot be allocated while a stream is captured; pass out=" in fresh_process(program)


def test_the_checking_mode_is_not_for_captures(fresh_process):
    program = (
        PREAMBLE
        + """
        call = Call()
        call.prefill(stream=stream)
        done(hip.hipStreamSynchronize(stream))
        par.set_checking(True)
        done(hip.hipStreamBeginCapture(stream, MODE))
        try:
            call.prefill(stream=stream)
        except par.HipError as error:
            print(error.name)
        done(hip.hipStreamEndCapture(stream))
        """
    )
    assert fresh_process(program).strip() == "CheckingInCapture"
