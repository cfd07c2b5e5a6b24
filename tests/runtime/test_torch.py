"""torch: tensors, operators, torch.compile.

The tensors are on the CPU, in memory that the emulator calls device-accessible (GFX950_EMU_ALL_HOST_MEMORY).
"""

import re

import pytest

ALL_HOST = {"GFX950_EMU_ALL_HOST_MEMORY": "1", "GFX950_EMU_STRICT": None}
PREAMBLE = """
        import torch
        import numpy as np
        import paged_attn_runtime as par
        from tests.reference.compare import compare
        from tests.runtime.scenario import Call, expected, hip_synchronize, problem
        def tensors(fp8=torch.uint8, **options):
            p = problem(**options)
            t = lambda a: torch.from_numpy(np.array(a))
            caches = [t(a).view(fp8) for a in (p.q, p.k_cache, p.v_cache)]
            lengths = {"cu_seqlens_q": t(p.cu_seqlens_q), "seqlens_k": t(p.lengths_k)}
            return caches, lengths | {"block_table": t(p.block_table())}
        def scales(names=("q_descale", "k_descale", "v_descale")):
            return {name: getattr(problem(), name) for name in names}
        BOUNDS = {"max_seqlen_q": problem().max_seqlen_q, "max_seqlen_k": problem().max_seqlen_k}
        SCALE = problem().softmax_scale
        def verify(out, lse=None):
            hip_synchronize()
            assert out.dtype is torch.bfloat16
            verdict = compare(expected(), out.double().numpy(), None if lse is None else lse.double().numpy())
            assert verdict.ok, str(verdict)
"""


@pytest.fixture(autouse=True)
def needs_torch():
    pytest.importorskip("torch")


@pytest.mark.parametrize("fp8", ["uint8", "float8_e4m3fn"])
def test_tensors(fresh_process, emulated, fp8):
    program = f"""
        (q, k, v), metadata = tensors(torch.{fp8})
        out = torch.zeros(len(q), 4, 128, dtype=torch.bfloat16)
        lse = torch.zeros(4, len(q))
        keywords = metadata | BOUNDS | scales() | {{"softmax_scale": SCALE}}
        assert par.paged_prefill(q, k, v, **keywords, out=out, lse=lse) is out
        verify(out, lse)
        out, lse = par.paged_prefill(q, k, v, **keywords, return_lse=True)
        assert isinstance(out, torch.Tensor) and isinstance(lse, torch.Tensor)
        verify(out, lse)
        """
    fresh_process(PREAMBLE + program, **ALL_HOST)


def test_descale_tensors_views_and_plans(fresh_process, emulated):
    program = """
        from tests.runtime.scenario import make_plan
        (q, k, v), metadata = tensors()
        pool = torch.full((k.shape[0], 2, *k.shape[1:]), 0x7F, dtype=torch.uint8)
        pool[:, 1] = k
        on_device = {name: torch.tensor(value) for name, value in scales().items()}
        out = torch.zeros(len(q), 4, 128, dtype=torch.bfloat16)
        for check in (True, True, False):
            out.zero_()
            make_plan().run(q, pool[:, 1], v, **metadata, **on_device, out=out, check=check)
            verify(out)
        """
    fresh_process(PREAMBLE + program, **ALL_HOST)


def test_memory_that_the_device_cannot_reach_is_refused(fresh_process, emulated):
    program = """
        (q, k, v), metadata = tensors()
        try:
            par.paged_prefill(q, k, v, **metadata, **BOUNDS, **scales())
        except ValueError as error:
            print(error)
        """
    text = fresh_process(PREAMBLE + program, GFX950_EMU_STRICT=None)
    assert "q is host memory that the device cannot reach" in text and "q = q.to('cuda')" in text


REFUSALS = [
    ("q = q.to(torch.float16)", "TypeError: q is float16; allowed: float8_e4m3fn, uint8"),
    ("q = q.view(torch.float8_e5m2)", "TypeError: q is float8_e5m2"),
    ("k = k.view(torch.float8_e4m3fnuz)", "TypeError: k_cache is float8_e4m3fnuz"),
    ("q = q.to('meta')", "TypeError: q is on meta; allowed: a GPU"),
    ("q = q.float().to_sparse()", "TypeError: "),
    ("q = q[:, :, ::2]", "ValueError: "),
    ("q = q.transpose(1, 2)", "ValueError: q has 192 heads and k_cache 1|ValueError: q has head dim 4"),
    (
        "metadata['block_table'] = metadata['block_table'].double()",
        "TypeError: block_table is float64; allowed: int32, int64",
    ),
    ("metadata['seqlens_k'] = metadata['seqlens_k'].long()", r"seqlens_k = seqlens_k.to\(torch.int32\)"),
]


def test_refusals(fresh_process, emulated):
    """All in one process: importing torch takes seconds."""
    program = f"""
        for change in {[change for change, _ in REFUSALS]!r}:
            (q, k, v), metadata = tensors()
            exec(change)
            try:
                par.paged_prefill(q, k, v, **metadata, **BOUNDS, **scales())
            except (TypeError, ValueError) as error:
                print(type(error).__name__, error, sep=": ")
            else:
                print("taken")
        """
    lines = fresh_process(PREAMBLE + program, **ALL_HOST).splitlines()
    assert len(lines) == len(REFUSALS)
    for line, (change, said) in zip(lines, REFUSALS):
        assert re.search(said, line), change


def test_operators_pass_opcheck(fresh_process, emulated):
    program = """
        (q, k, v), metadata = tensors()
        args = (q, k, v, metadata["cu_seqlens_q"], BOUNDS["max_seqlen_q"], BOUNDS["max_seqlen_k"])
        keywords = {"seqlens_k": metadata["seqlens_k"], "block_table": metadata["block_table"], "softmax_scale": SCALE}
        keywords |= {"q_descale": torch.tensor([0.5]), "k_descale_value": 2.0, "v_descale_value": 0.25}
        torch.library.opcheck(torch.ops.paged_attn.prefill.default, args, keywords)
        torch.library.opcheck(torch.ops.paged_attn.prefill_with_lse.default, args, keywords)
        out, lse = torch.zeros(len(q), 4, 128, dtype=torch.bfloat16), torch.zeros(4, len(q))
        torch.library.opcheck(torch.ops.paged_attn.prefill_out.default, (out, lse, *args), keywords)
        torch.library.opcheck(torch.ops.paged_attn.prefill_out.default, (out, None, *args), keywords)
        hip_synchronize = lambda: None  # who reads a CPU tensor waits for no stream
        verify(torch.ops.paged_attn.prefill(*args, **keywords))
        verify(*torch.ops.paged_attn.prefill_with_lse(*args, **keywords))
        torch.ops.paged_attn.prefill_out(out, lse, *args, **keywords)
        verify(out, lse)
        """
    fresh_process(PREAMBLE + program, **ALL_HOST)


def test_torch_compile_has_no_graph_break(fresh_process, emulated):
    program = """
        (q, k, v), metadata = tensors()
        keywords = {"seqlens_k": metadata["seqlens_k"], "block_table": metadata["block_table"], "softmax_scale": SCALE}
        keywords |= {"q_descale_value": 0.5, "k_descale_value": 2.0, "v_descale_value": 0.25}
        def layer(q, k, v, cu):
            out = torch.ops.paged_attn.prefill(q, k, v, cu, BOUNDS["max_seqlen_q"], BOUNDS["max_seqlen_k"], **keywords)
            return out + 0
        def into(out, q, k, v, cu):
            torch.ops.paged_attn.prefill_out(out, None, q, k, v, cu, *BOUNDS.values(), **keywords)
            return out * 1
        cu = metadata["cu_seqlens_q"]
        verify(torch.compile(layer, fullgraph=True, backend="aot_eager")(q, k, v, cu))
        out = torch.zeros(len(q), 4, 128, dtype=torch.bfloat16)
        verify(torch.compile(into, fullgraph=True, backend="aot_eager")(out, q, k, v, cu))
        verify(out)
        assert torch._dynamo.explain(layer)(q, k, v, cu).graph_break_count == 0
        """
    fresh_process(PREAMBLE + program, **ALL_HOST)
