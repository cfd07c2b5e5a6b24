"""Order on streams that really run asynchronously: the emulator delays its work, so that a missing order shows."""

DELAYED = {"GFX950_EMU_STREAM_DELAY_US": "20000", "GFX950_EMU_STRICT": None}


def test_inputs_written_late_on_the_same_stream_are_seen(fresh_process, emulated):
    program = """
        from hip import hip
        import numpy as np
        from tests.runtime.scenario import Call, hip_synchronize, new_stream
        call, stream = Call(), new_stream()
        source = call.problem.q.copy()
        call.tensors[0].fill(0)
        hip_synchronize()
        kind = hip.hipMemcpyKind.hipMemcpyDefault
        copied = hip.hipMemcpyAsync(call.tensors[0].pointer, source.ctypes.data, source.nbytes, kind, stream)
        assert copied[0] == 0
        call.prefill(stream=stream)
        assert hip.hipStreamSynchronize(stream)[0] == 0
        call.verify()
        """
    fresh_process(program, **DELAYED)


def test_a_call_returns_before_its_work_is_done(fresh_process, emulated):
    program = """
        from hip import hip
        from tests.runtime.scenario import Call, hip_synchronize, new_stream
        call, stream = Call(), new_stream()
        call.prefill(stream=stream)
        assert hip.hipStreamQuery(stream)[0] == hip.hipError_t.hipErrorNotReady
        assert hip.hipStreamSynchronize(stream)[0] == 0
        call.verify()
        """
    fresh_process(program, **DELAYED)


def test_another_stream_waits_for_an_event(fresh_process, emulated):
    program = """
        from hip import hip
        import numpy as np
        from tests.runtime.scenario import Call, hip_synchronize, new_stream
        call, first, second = Call(), new_stream(), new_stream()
        error, event = hip.hipEventCreate()
        call.prefill(stream=first)
        assert hip.hipEventRecord(event, first)[0] == 0
        assert hip.hipStreamWaitEvent(second, event, 0)[0] == 0
        host = np.zeros(call.out.shape, np.uint16)
        kind = hip.hipMemcpyKind.hipMemcpyDefault
        copied = hip.hipMemcpyAsync(host.ctypes.data, call.out.pointer, host.nbytes, kind, second)
        assert copied[0] == 0 and hip.hipStreamSynchronize(second)[0] == 0
        call.verify()
        assert (host == call.out.to_numpy()).all()
        """
    fresh_process(program, **DELAYED)


def test_allocated_outputs_are_filled_on_the_calls_stream(fresh_process, emulated):
    program = """
        from hip import hip
        import numpy as np
        from tests.runtime.scenario import Call, new_stream
        call, stream = Call(rows_after=4), new_stream()
        out, lse = call.prefill(out=None, lse=None, return_lse=True, stream=stream)
        assert hip.hipStreamSynchronize(stream)[0] == 0
        call.verify(out, lse)
        assert (out.to_numpy()[-4:] == 0).all() and np.isneginf(lse.to_numpy()[:, -4:]).all()
        """
    fresh_process(program, **DELAYED)


def test_first_use_on_a_side_stream(fresh_process, emulated):
    program = """
        import paged_attn_runtime as par
        from hip import hip
        from tests.runtime.scenario import Call, new_stream
        stream = new_stream()
        call = Call()
        call.prefill(stream=stream)
        assert hip.hipStreamSynchronize(stream)[0] == 0
        call.verify()
        """
    fresh_process(program, **DELAYED)


def test_the_stream_of_an_array_interface_is_the_default(fresh_process, emulated):
    program = """
        from hip import hip
        import paged_attn_runtime as par
        from tests.runtime.scenario import Call, new_stream
        class Foreign:
            def __init__(self, array, stream):
                self.__cuda_array_interface__ = array.__cuda_array_interface__ | {"stream": stream}
        call, stream, other = Call(), new_stream(), new_stream()
        q = call.tensors[0]
        call.tensors[0] = Foreign(q, int(stream))
        call.prefill()
        assert hip.hipStreamQuery(other)[0] == 0
        assert hip.hipStreamQuery(stream)[0] == hip.hipError_t.hipErrorNotReady
        assert hip.hipStreamSynchronize(stream)[0] == 0
        call.verify()
        k = call.tensors[1]
        call.tensors[1] = Foreign(k, int(other))
        try:
            call.prefill()
        except ValueError as error:
            print(error)
        """
    assert "ask for different streams" in fresh_process(program, **DELAYED)
