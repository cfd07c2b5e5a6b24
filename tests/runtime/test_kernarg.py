"""Kernel arguments: packed where the manifest says, and refused when it says something unknown."""

import ctypes
import dataclasses
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged_attn_runtime import ArtifactError
from paged_attn_runtime.kernarg import COUNTS, FLOATS, KINDS, POINTERS, STRIDES, Buffer, KernargLayout
from paged_attn_runtime.manifest import ARG_KINDS, Kernarg, KernelArg

FORMATS = {"pointer": "Q", "i64": "q", "i32": "i", "f32": "f"}


def laid_out(names, start=0):
    """A segment with the arguments in this order, naturally aligned."""
    args, end = [], start
    for name in names:
        size = ARG_KINDS[KINDS[name]]
        offset = -(-end // size) * size
        args.append(KernelArg(name, offset, size, KINDS[name]))
        end = offset + size
    return Kernarg(-(-end // 8) * 8, tuple(args))


def written(layout, template, pointers, floats):
    memory = bytearray(template)
    for values, runs in ((pointers, layout.pointers), (floats, layout.floats)):
        for pack_into, offset, pick in runs:
            pack_into(memory, offset, *(values if pick is None else pick(values)))
    return memory


@given(st.permutations(list(KINDS)), st.sampled_from([0, 8, 24]))
def test_every_order_is_packed_by_offset(names, start):
    kernarg = laid_out(names, start)
    layout = KernargLayout("k", kernarg)
    numbers = {name: i + 1 for i, name in enumerate((*STRIDES, *COUNTS))}
    pointers = [0x1000 + i for i in range(len(POINTERS))]
    floats = [0.5 + i for i in range(len(FLOATS))]
    segment = written(layout, layout.template(numbers), pointers, floats)
    expected = numbers | dict(zip(POINTERS, pointers)) | dict(zip(FLOATS, floats))
    for arg in kernarg.args:
        assert struct.unpack_from("<" + FORMATS[arg.kind], segment, arg.offset)[0] == expected[arg.name]


def test_the_natural_order_takes_one_run_of_pointers_and_one_of_floats(manifest):
    layout = KernargLayout("k", manifest.variants[0].kernarg)
    assert [(offset, pick) for _, offset, pick in layout.pointers] == [(0, None)]
    assert [pick for _, _, pick in layout.floats] == [None]


def test_an_unknown_argument_is_refused():
    kernarg = laid_out(list(KINDS))
    more = KernelArg("window", kernarg.bytes, 4, "i32")
    with pytest.raises(ArtifactError, match=r"k takes other kernel arguments .*unknown: window.*of one version"):
        KernargLayout("k", Kernarg(kernarg.bytes + 8, (*kernarg.args, more)))


def test_a_missing_argument_is_refused():
    with pytest.raises(ArtifactError, match="missing: lse"):
        KernargLayout("k", laid_out([name for name in KINDS if name != "lse"]))


def test_another_kind_is_refused():
    kernarg = laid_out(list(KINDS))
    args = tuple(dataclasses.replace(a, kind="f32") if a.name == "batch" else a for a in kernarg.args)
    with pytest.raises(ArtifactError, match="batch is f32, not i32"):
        KernargLayout("k", Kernarg(kernarg.bytes, args))


def test_a_buffer_hands_over_its_address_and_size():
    given_address = []
    buffer = Buffer(48, lambda address: given_address.append(address) or "extra")
    fields = (ctypes.c_size_t * 5).from_address(given_address[0])
    assert (fields[0], fields[2], fields[4]) == (1, 2, 3)
    assert fields[1] == ctypes.addressof(buffer.memory) and fields[1] % 16 == 0
    assert ctypes.c_size_t.from_address(fields[3]).value == 48
    assert buffer.extra == "extra"
