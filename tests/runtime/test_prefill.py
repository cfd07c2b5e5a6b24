"""paged_prefill on a device: results, outputs, strides, streams, and what is left behind by errors."""

import numpy as np
import pytest

import paged_attn_runtime as par
from paged_attn_runtime import driver as hip
from paged_attn_runtime import prefill
from tests.reference.compare import compare
from tests.reference.paged import from_bf16

from .scenario import Call, hip_synchronize, live_objects, new_stream


@pytest.mark.parametrize("page_size", [1, 16, 64, 1024])
@pytest.mark.parametrize("id_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("metadata", ["block_table", "csr"])
def test_results(page_size, metadata, id_dtype):
    call = Call(page_size=page_size, metadata=metadata, id_dtype=id_dtype)
    assert call.prefill() is call.out
    call.verify()


def test_a_second_call_of_its_kind_is_looked_up_and_right():
    prefill.forget()
    Call(seed=1).prefill()
    entries = dict(prefill._memo)
    call = Call(seed=2)
    call.prefill()
    call.verify()
    assert dict(prefill._memo) == entries


def test_bounds_of_numpy_are_the_same_kind_of_call():
    prefill.forget()
    call = Call()
    for kind in (int, np.int64, np.array):
        call.prefill(max_seqlen_q=kind(100), max_seqlen_k=kind(200))
        call.verify()
    assert len(prefill._memo) == 1


def test_kinds_of_call_are_forgotten_in_time(monkeypatch):
    monkeypatch.setattr(prefill, "MEMO_ENTRIES", 3)
    prefill.forget()
    call = Call()
    for bound in range(100, 110):
        call.prefill(max_seqlen_q=bound)
        assert len(prefill._memo) <= 3


def test_allocated_outputs_start_as_zero_and_minus_infinity():
    call = Call(rows_before=3, rows_after=5)
    out, lse = call.prefill(out=None, lse=None, return_lse=True)
    assert isinstance(out, par.DeviceArray) and out.shape == (34, 4, 128) and lse.shape == (4, 34)
    outside = ~call.expected.inside
    assert outside.sum() == 8
    assert (out.to_numpy()[outside] == 0).all() and np.isneginf(lse.to_numpy()[:, outside]).all()
    verdict = compare(call.expected, from_bf16(out.to_numpy()), lse.to_numpy().astype(np.float64))
    assert verdict.ok, str(verdict)


def test_lse_alone_is_returned_only_when_asked_for():
    call = Call()
    assert isinstance(call.prefill(out=None), par.DeviceArray)
    assert call.prefill(return_lse=True) == (call.out, call.lse)


def test_without_lse():
    call = Call()
    call.prefill(lse=None)
    call.prefill()  # for the comparison's lse
    call.verify()


def test_descales_on_the_device():
    call = Call()
    for name in ("q_descale", "k_descale", "v_descale"):
        value = np.full((1,), call.keywords[name], np.float32)
        call.keywords[name] = par.DeviceArray.from_numpy(value if name == "q_descale" else value.reshape(()))
    call.prefill()
    call.verify()


def test_strided_views_are_launched_as_they_are():
    call = Call()
    pages, heads, *inner = call.tensors[1].shape
    pool = np.full((pages, 3, heads, *inner), 0x7F, np.uint8)  # three layers interleaved in one pool
    pool[:, 1] = call.problem.k_cache
    on_device = par.DeviceArray.from_numpy(pool)
    layer = call.tensors[1].strides[0]
    call.tensors[1] = on_device.view(call.tensors[1].shape, (3 * layer, *call.tensors[1].strides[1:]), layer)
    rows = len(call.problem.q)
    padded = np.full((rows, 4, 256), 0x7F, np.uint8)
    padded[:, :, :192] = call.problem.q
    call.tensors[0] = par.DeviceArray.from_numpy(padded).view((rows, 4, 192), (4 * 256, 256, 1))
    wide = par.DeviceArray.from_numpy(np.zeros((rows, 6, 128), np.uint16))
    out = wide.view((rows, 4, 128), (6 * 256, 256, 2))
    call.prefill(out=out)
    call.verify(out=out)
    assert (wide.to_numpy()[:, 4:] == 0).all()


def test_an_object_with_the_array_interface():
    class Foreign:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    call = Call()
    call.tensors = [Foreign(tensor) for tensor in call.tensors]
    call.keywords = {k: Foreign(v) if isinstance(v, par.DeviceArray) else v for k, v in call.keywords.items()}
    call.prefill()
    call.verify()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"strides": (384, 192, 1, 1)}, ValueError),
        ({"strides": (384.0, 192, 1)}, TypeError),
        ({"shape": (-26, 2, 192)}, ValueError),
        ({"shape": (26.5, 2, 192)}, TypeError),
        ({"data": (2**64 + 16, False)}, ValueError),
        ({"data": (-16, False)}, ValueError),
        ({"data": (0, False)}, ValueError),
        ({"typestr": "|u"}, ValueError),
    ],
    ids=str,
)
def test_an_array_interface_that_makes_no_sense(change, error):
    class Foreign:
        pass

    call = Call()
    foreign = Foreign()
    foreign.__cuda_array_interface__ = call.tensors[0].__cuda_array_interface__ | change
    call.tensors[0] = foreign
    with pytest.raises(error):
        call.prefill()


@pytest.mark.parametrize("lengths", [(), ((0, 0), (0, 70))], ids=["no sequences", "no new tokens"])
def test_nothing_to_do_is_no_launch(lengths):
    call = Call(lengths=lengths)
    assert call.prefill() is call.out


@pytest.mark.parametrize("policy", ["interleaved", "longest_first"])
def test_a_policy_can_be_asked_for(policy, caplog):
    prefill.forget()
    call = Call()
    with caplog.at_level("DEBUG", "paged_attn_runtime"):
        call.prefill(batch_policy=policy)
    call.verify()
    assert f"paged_prefill_d192_v128_p64_vectorized_5d_{policy} chosen as asked" in caplog.text


def test_the_choice_is_logged_once_with_its_reason(caplog):
    prefill.forget()
    call = Call()
    with caplog.at_level("DEBUG", "paged_attn_runtime"):
        call.prefill()
        call.prefill()
    assert caplog.text.count("chosen by the manifest's rules from {'batch': 3") == 1


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"batch_policy": "single"}, ValueError, "batch_policy is 'single' with 3 sequences"),
        (
            {"batch_policy": "fastest"},
            ValueError,
            "batch_policy is 'fastest'; allowed: single, interleaved, longest_first",
        ),
        ({"max_seqlen_q": -1}, ValueError, "max_seqlen_q is -1"),
        ({"softmax_scale": float("nan")}, ValueError, "softmax_scale is nan"),
        ({"q_descale": None}, TypeError, "q_descale is None"),
        ({"cu_seqlens_q": None}, TypeError, "cu_seqlens_q is None; it is required"),
        ({"stream": "side"}, TypeError, "stream is 'side'; allowed: None, an integer handle"),
        ({"stream": -5}, ValueError, "stream is -5"),
        ({"out": np.zeros(3)}, TypeError, "out is a numpy.ndarray; allowed: .*DeviceArray.from_numpy"),
        ({"page_size": 16}, ValueError, "page_size is 16, but k_cache has pages of 64"),
        ({"window_size": (128, 0)}, NotImplementedError, r"window_size=\(128, 0\): sliding windows"),
        ({"sinks": 1}, NotImplementedError, "sinks=1: attention sinks"),
        ({"colour": 1}, TypeError, "unexpected keyword argument 'colour'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals_leave_everything_usable(change, error, said):
    call = Call()
    with pytest.raises(error, match=said):
        call.prefill(**change)
    call.prefill()
    call.verify()


def test_a_head_dim_pair_that_no_kernel_is_written_for():
    call = Call()
    q = par.DeviceArray.zeros((26, 4, 64), "|u1")
    k = par.DeviceArray.zeros((9, 1, 4, 64, 16), "|u1")
    v = par.DeviceArray.zeros((9, 1, 4, 64, 16), "|u1")
    with pytest.raises(ValueError, match="head_dim/v_head_dim is 64/64; allowed: 128/128, 192/128, 192/192"):
        par.paged_prefill(q, k, v, **call.keywords)


def test_a_grid_that_hip_cannot_express():
    call = Call()
    rows = par.DeviceArray.zeros((1,), "|u1")
    huge = 2**31 - 1
    q = rows.view((huge, 4, 192), (0, 0, 1))
    with pytest.raises(ValueError, match=r"needs a grid of \(.*split the batch"):
        call.tensors[0] = q
        call.prefill(
            out=rows.view((huge, 4, 128), (1024, 256, 2), typestr="<u2"),
            lse=None,
            max_seqlen_q=huge,
            batch_policy="longest_first",
        )


def test_a_stream_handle_a_stream_object_and_the_protocol():
    stream = new_stream()

    class WithProtocol:
        def __cuda_stream__(self):
            return (0, int(stream))

    class LikeTorch:
        cuda_stream = int(stream)

    for given in (stream, int(stream), WithProtocol(), LikeTorch()):
        call = Call()
        call.prefill(stream=given)
        hip_synchronize()
        call.verify()


def test_memory_is_freed_with_the_arrays(emulated):
    Call().prefill(out=None)
    before = live_objects()
    for _ in range(20):
        Call().prefill(out=None, lse=None, return_lse=True)
    assert live_objects() == before


def test_an_exception_in_the_middle_of_a_launch(monkeypatch):
    call, driver = Call(), hip.driver()
    call.prefill()
    call.clear()
    right = driver.raw_launch

    def interrupted(*_):
        raise KeyboardInterrupt

    def unknown(*_):
        raise ValueError("4711 is not a valid hipError_t")

    for wrong, error, said in ((interrupted, KeyboardInterrupt, None), (unknown, par.HipError, "UnknownError: .*4711")):
        monkeypatch.setattr(driver, "raw_launch", wrong)
        with pytest.raises(error, match=said):
            call.prefill()
        monkeypatch.setattr(driver, "raw_launch", right)
    call.prefill()
    call.verify()


def test_a_bad_stream_names_kernel_grid_and_hips_error():
    call = Call()
    with pytest.raises(
        par.HipError, match=r"^hip\w+: hipModuleLaunchKernel\(paged_prefill_d192_.*, grid \(4, \d+, 1\), device 0\)"
    ):
        call.prefill(stream=0x123450)
    call.prefill()
    call.verify()


def test_a_fault_of_the_device_suggests_the_checking_mode(emulated):
    """A page id outside the cache is the caller's error: strict mode reports it, and the next call works."""
    call = Call()
    table = call.problem.block_table()
    table[0, 0] = 1 << 20
    bad = par.DeviceArray.from_numpy(table)
    with pytest.raises(par.HipError, match="hipErrorIllegalAddress: .*PAGED_ATTN_CHECK=1 finds wrong lengths"):
        call.prefill(block_table=bad)
        call.out.to_numpy()
    call = Call()
    call.prefill()
    call.verify()
