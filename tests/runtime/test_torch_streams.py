"""torch's streams and its GPU tensors, by a stand-in for torch: this has not run with a real torch on a GPU yet."""

import pytest

STANDIN = """
        from hip import hip
        import paged_attn_runtime as par
        from tests.runtime import torch_standin
        from tests.runtime.scenario import Call, make_plan, new_stream
        stream = new_stream()
        torch = torch_standin.install(lambda device: int(stream) + device, raw={raw})
        call = Call()
        call.tensors = [torch_standin.tensor(torch, a) for a in call.tensors]
        for name, value in call.keywords.items():
            if isinstance(value, par.DeviceArray):
                call.keywords[name] = torch_standin.tensor(torch, value)
        out = torch_standin.tensor(torch, call.out)
        lse = torch_standin.tensor(torch, call.lse)
"""
DELAYED = {"GFX950_EMU_STREAM_DELAY_US": "20000", "GFX950_EMU_STRICT": None}


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("launch", ["call.prefill(out=out, lse=lse)", "call.run(make_plan(), out=out, lse=lse)"])
def test_torchs_current_stream_is_the_default(fresh_process, emulated, raw, launch):
    program = f"""
        {launch}
        assert hip.hipStreamQuery(stream)[0] == hip.hipError_t.hipErrorNotReady
        assert hip.hipStreamSynchronize(stream)[0] == 0
        call.verify()
        """
    fresh_process(STANDIN.format(raw=raw) + program, **DELAYED)


def test_a_torch_stream_is_honoured_and_outputs_are_made_on_it(fresh_process, emulated):
    program = """
        class Stream:
            cuda_stream = int(new_stream())
        made, made_lse = call.prefill(out=None, lse=None, return_lse=True, stream=Stream())
        assert hip.hipStreamSynchronize(Stream.cuda_stream)[0] == 0
        call.verify(made.array, made_lse.array)
        handle = Stream.cuda_stream
        assert torch_standin.CALLS == [
            ("stream", handle), ("full", (26, 4, 128), 0.0, "bfloat16"),
            ("stream", handle), ("full", (4, 26), float("-inf"), "float32"),
        ], torch_standin.CALLS
        """
    fresh_process(STANDIN.format(raw=True) + program, **DELAYED)


def test_a_worker_forked_after_torch_used_the_device_is_told(fresh_process, emulated):
    program = """
        import sys, types
        import paged_attn_runtime as par
        torch = types.ModuleType("torch")
        torch.cuda = types.SimpleNamespace(_is_in_bad_fork=lambda: True)
        sys.modules["torch"] = torch
        try:
            par.warmup()
        except par.HipError as error:
            print(error)
        """
    assert fresh_process(program).startswith("ForkedProcess: this process was forked after torch had used HIP")
