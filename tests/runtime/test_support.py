"""warmup, is_supported, device_description."""

import pytest

import paged_attn_runtime as par
from paged_attn_runtime import modules

from .conftest import edit_manifest
from .scenario import Call


def test_warmup_loads_what_was_named_and_says_so():
    names = par.warmup(head_dim=192, v_head_dim=128, page_size=16)
    assert names and all(name.startswith("paged_prefill_d192_v128_p16_vectorized_5d_") for name in names)
    loaded = modules.loaded_count()
    assert par.warmup(head_dim=192, v_head_dim=128, page_size=16, device=[0]) == names
    assert modules.loaded_count() == loaded
    call = Call(page_size=16)
    call.prefill()
    assert modules.loaded_count() == loaded
    call.verify()


def test_warmup_of_what_is_not_there(damaged):
    edit_manifest(damaged, lambda m: m.update(variants=[v for v in m["variants"] if v["key"]["page_size"] == 64]))
    with pytest.raises(
        par.VariantNotFoundError, match="no prebuilt paged_prefill_d192_v128_p16_vectorized_5d_longest_first"
    ):
        par.warmup(page_size=16)


def test_warmup_on_a_device_that_is_not_there():
    with pytest.raises(ValueError, match=r"device is 7; this process has \d+ devices?, numbered from 0"):
        par.warmup(head_dim=192, device=7)


FINE = {"head_dim": 192, "v_head_dim": 128, "page_size": 64}


def test_supported():
    assert par.is_supported(**FINE) == (True, "")
    assert par.is_supported(**FINE, num_q_heads=16, num_kv_heads=1, batch_policy="single", device=0, causal=True) == (
        True,
        "",
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"head_dim": 64}, "head_dim/v_head_dim is 64/128; allowed"),
        ({"page_size": 32}, "page_size is 32; allowed"),
        ({"kv_layout": "linear"}, "kv_layout is 'linear' with page_size 64"),
        ({"num_q_heads": 3, "num_kv_heads": 2}, "num_q_heads is 3 and num_kv_heads 2"),
        ({"num_kv_heads": 0}, "num_q_heads is 1 and num_kv_heads 0"),
        ({"batch_policy": "best"}, "batch_policy is 'best'"),
        ({"window_size": (128, 0)}, "window_size=(128, 0): sliding windows are not served"),
        ({"device": 9}, "device is 9; this process has "),
        ({"colour": 3}, "unexpected keyword argument 'colour'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_not_supported(change, said):
    supported, reason = par.is_supported(**FINE | change)
    assert not supported and said in reason


def test_not_prebuilt(damaged):
    edit_manifest(damaged, lambda m: m.update(variants=[v for v in m["variants"] if v["key"]["head_dim"] == 128]))
    supported, reason = par.is_supported(**FINE)
    assert not supported and reason.startswith("no prebuilt paged_prefill_d192_v128_p64")


def test_no_objects_at_all(monkeypatch, tmp_path):
    monkeypatch.setenv("PAGED_ATTN_PREBUILT", str(tmp_path))
    supported, reason = par.is_supported(**FINE)
    assert not supported and "python build_kernels.py" in reason


def test_description(emulated):
    text = par.device_description()
    assert (
        text.startswith("device 0: ")
        and "gfx950:sramecc+:xnack-, 256 CUs" in text
        and "(the emulator, on a CPU)" in text
    )
