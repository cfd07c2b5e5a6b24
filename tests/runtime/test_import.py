"""Importing the package is cheap, and has no effect that a user could notice."""

import pytest

ALLOWED_MILLISECONDS = 50


def test_loads_no_hip_python_torch_flydsl_numpy_or_yaml(fresh_process):
    loaded = fresh_process("import paged_attn_runtime, sys; print(*sorted(sys.modules))").split()
    for name in ("hip", "rocm", "torch", "flydsl", "numpy", "yaml", "kernels", "builder"):
        assert name not in loaded


def test_takes_less_than_fifty_milliseconds(fresh_process, tmp_path):
    """Compiled, as pip leaves it; beyond hip-python's own; of processor time, since the machine may have other
    things to do.
    """
    program = """
        from hip import hip
        import time
        before = time.process_time()
        import paged_attn_runtime
        print(1e3 * (time.process_time() - before))
        """
    compiled = {"PYTHONDONTWRITEBYTECODE": None, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    assert min(float(fresh_process(program, **compiled)) for _ in range(4)) < ALLOWED_MILLISECONDS


def test_makes_no_hip_call(fresh_process, emulated, tmp_path):
    log = tmp_path / "calls"
    fresh_process(
        "import paged_attn_runtime as par; par.is_supported(head_dim=128, v_head_dim=128, page_size=64)",
        GFX950_EMU_LOG=str(log),
    )
    assert not log.exists() or log.read_text() == ""


def test_catalogue_and_listing_need_no_hip_python(fresh_process):
    program = """
        import sys
        sys.modules["hip"] = None  # an import of it fails
        from paged_attn_runtime.cli import main
        assert main(["list"]) == 0 and main(["verify"]) == 0
        """
    assert "variants for gfx950" in fresh_process(program)


def test_missing_hip_python_is_named_at_first_use(fresh_process):
    program = """
        import sys
        sys.modules["hip"] = None
        import paged_attn_runtime as par
        try:
            par.DeviceArray.zeros(4, "<f4")
        except par.HipError as error:
            print(error)
        """
    text = fresh_process(program)
    assert text.startswith("HipUnavailable: hip-python cannot be imported") and "pip install" in text


def test_missing_rocm_is_named_at_first_use(fresh_process, tmp_path):
    program = """
        import paged_attn_runtime as par
        try:
            par.DeviceArray.zeros(4, "<f4")
        except par.HipError as error:
            print(error)
        """
    text = fresh_process(program, ROCM_PATH=str(tmp_path), LD_LIBRARY_PATH="")
    assert text.startswith("HipUnavailable: hip-python cannot load the HIP runtime") and "ROCM_PATH" in text


@pytest.mark.parametrize("before", [True, False])
def test_operators_are_registered_when_torch_is_there(fresh_process, before):
    pytest.importorskip("torch")
    first, second = (
        ("torch", "paged_attn_runtime") if before else ("paged_attn_runtime", "paged_attn_runtime.torch_ops")
    )
    text = fresh_process(f"import {first}, {second}, torch; print(torch.ops.paged_attn.prefill.default._schema)")
    assert text.startswith("paged_attn::prefill(Tensor q, Tensor k_cache")


def test_every_public_name_is_there():
    import paged_attn_runtime as par

    assert [name for name in par.__all__ if not hasattr(par, name)] == []
