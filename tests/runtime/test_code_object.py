"""The reader of code objects: what it finds, and that nothing it is given makes it fail in another way than
ValueError.
"""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paged_attn_runtime.catalogue import prebuilt_folder
from paged_attn_runtime.code_object import inspect
from paged_attn_runtime.manifest_reader import load_manifest


@pytest.fixture
def entry(manifest):
    return manifest.variants[0]


@pytest.fixture
def image(objects, entry):
    return (objects / entry.file).read_bytes()


def test_facts_of_every_object(objects, manifest):
    for entry in manifest.variants:
        facts = inspect((objects / entry.file).read_bytes())
        assert facts.architecture == "gfx950"
        (kernel,) = facts.kernels
        assert kernel.symbol == entry.symbol
        assert kernel.kernarg_bytes == kernel.descriptor_kernarg_bytes == entry.kernarg.bytes
        assert [arg[:2] for arg in kernel.args] == [(arg.offset, arg.bytes) for arg in entry.kernarg.args]
        assert (kernel.vgprs, kernel.sgprs, kernel.lds_bytes) == (entry.vgprs, entry.sgprs, entry.lds_bytes)
        assert kernel.scratch_bytes == kernel.vgpr_spills == kernel.sgpr_spills == 0


def test_agrees_with_another_reader_of_elf_and_messagepack(image):
    elffile = pytest.importorskip("elftools.elf.elffile")
    msgpack = pytest.importorskip("msgpack")
    import io

    elf = elffile.ELFFile(io.BytesIO(image))
    note = next(
        note for note in elf.get_section_by_name(".note").iter_notes() if note["n_type"] in (32, "NT_AMDGPU_METADATA")
    )
    metadata = msgpack.unpackb(note["n_descdata"])
    (kernel,) = inspect(image).kernels
    assert kernel.kernarg_bytes == metadata["amdhsa.kernels"][0][".kernarg_segment_size"]
    assert kernel.symbol == metadata["amdhsa.kernels"][0][".name"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda image: b"", "the ELF header ends at 64, but the file has 0 bytes"),
        (lambda image: b"MZ" + image[2:], "not a 64-bit little-endian ELF file"),
        (lambda image: image[:18] + struct.pack("<H", 62) + image[20:], "not an AMDGPU HSA object"),
        (lambda image: image[: len(image) // 2], "the section table ends at"),
    ],
    ids=["empty", "other file", "other machine", "half"],
)
def test_refuses(image, change, said):
    with pytest.raises(ValueError, match=said):
        inspect(change(image))


@given(data=st.data())
def test_damage_is_a_value_error_or_other_facts(data):
    folder = prebuilt_folder()
    image = bytearray((folder / load_manifest(folder).variants[0].file).read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        image[data.draw(st.integers(0, len(image) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        inspect(bytes(image[: data.draw(st.integers(0, len(image)))]))


@given(st.binary(max_size=300))
def test_any_bytes_are_a_value_error(data):
    with pytest.raises(ValueError):
        inspect(b"\x7fELF\x02\x01\x01\x40" + data)
