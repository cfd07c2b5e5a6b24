"""Objects that are not what the manifest says are refused before anything is launched, each with its own message."""

import hashlib
import os
import struct

import pytest

import paged_attn_runtime as par
from paged_attn_runtime.cli import main

from .conftest import edit_manifest
from .scenario import Call

KEY = {"head_dim": 192, "v_head_dim": 128, "page_size": 64, "batch_policy": "longest_first"}
NAME = "paged_prefill_d192_v128_p64_vectorized_5d_longest_first"


def entry_of(manifest):
    return next(variant for variant in manifest["variants"] if variant["name"] == NAME)


def replace_object(folder, change):
    """Change the object, and the manifest's digest with it: an attack, or a stale build."""
    path = folder / f"{NAME}.hsaco"
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    edit_manifest(folder, lambda m: entry_of(m).update(sha256=digest, bytes=len(data)))


def flags(data):
    struct.pack_into("<I", data, 48, struct.unpack_from("<I", data, 48)[0] & ~0xFF | 0x4C)


def kernarg_size_of_descriptor(data):
    import io

    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(bytes(data)))
    symbol = elf.get_section_by_name(".dynsym").get_symbol_by_name(f"{NAME}.kd")[0]
    section = next(
        s
        for s in elf.iter_sections()
        if s["sh_addr"] and s["sh_addr"] <= symbol["st_value"] < s["sh_addr"] + s["sh_size"]
    )
    struct.pack_into("<I", data, section["sh_offset"] + symbol["st_value"] - section["sh_addr"] + 8, 1024)


DAMAGE = {
    "flipped byte": (lambda f: _flip(f), "has sha256 .*; the manifest says", "changed"),
    "truncated": (lambda f: _truncate(f), "bytes; the manifest says", "truncated"),
    "deleted": (lambda f: (f / f"{NAME}.hsaco").unlink(), "cannot be read .*but the manifest lists it", "missing"),
    "other architecture": (
        lambda f: replace_object(f, flags),
        "is for gfx942; the manifest is for gfx950",
        "disagrees",
    ),
    "other kernarg size": (
        lambda f: replace_object(f, kernarg_size_of_descriptor),
        "has a kernarg segment of 1024 bytes in its descriptor; the manifest says",
        "disagrees",
    ),
    "not an object": (
        lambda f: replace_object(f, lambda d: d.__setitem__(0, 0)),
        "is no code object: not a 64-bit",
        "disagrees",
    ),
    "a pipe": (
        lambda f: _pipe(f),
        r"cannot be read \(not a regular file\), but the manifest lists it",
        "unreadable",
    ),
    "other registers": (
        lambda f: edit_manifest(f, lambda m: entry_of(m).update(vgprs=1)),
        "has vector registers .*; the manifest says 1",
        "disagrees",
    ),
    "stale arguments": (
        lambda f: edit_manifest(f, lambda m: entry_of(m)["kernarg"]["args"].pop()),
        r"has arguments at \(offset, bytes\)",
        "disagrees",
    ),
    "other object under its name": (
        lambda f: _other_object(f),
        "holds paged_prefill_d128.*; the manifest says",
        "disagrees",
    ),
}


def _flip(folder):
    path = folder / f"{NAME}.hsaco"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _truncate(folder):
    path = folder / f"{NAME}.hsaco"
    path.write_bytes(path.read_bytes()[:-1])


def _pipe(folder):
    """Opening it would wait for a writer, for ever."""
    path = folder / f"{NAME}.hsaco"
    path.unlink()
    os.mkfifo(path)


def _other_object(folder):
    other = (folder / "paged_prefill_d128_v128_p64_vectorized_5d_longest_first.hsaco").read_bytes()
    replace_object(folder, lambda data: data.__setitem__(slice(None), other))


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_refused_and_found_by_verify(damaged, kind, capsys):
    damage, said, verdict = DAMAGE[kind]
    call = Call()
    damage(damaged)
    with pytest.raises(par.ArtifactError, match=said):
        par.warmup(**KEY)
    with pytest.raises(par.ArtifactError, match=said):
        call.prefill(batch_policy="longest_first")
    assert (call.out.to_numpy() == 0).all()
    assert main(["verify"]) == 1
    assert f"{verdict}: " in capsys.readouterr().out


def test_a_stray_object_is_found_by_verify(damaged, capsys):
    (damaged / "stray.hsaco").write_bytes(b"")
    assert main(["verify"]) == 1
    assert "stray: stray.hsaco is there, but is not listed in the manifest" in capsys.readouterr().out


def test_a_truncated_manifest(damaged, capsys):
    path = damaged / "manifest.json"
    path.write_text(path.read_text()[:-10])
    with pytest.raises(par.ManifestError, match=f"{path}: not JSON"):
        Call().prefill()
    assert main(["verify"]) == 1
    assert "manifest_bad" in capsys.readouterr().out


def test_another_schema_version(damaged):
    edit_manifest(damaged, lambda m: m.update(schema_version=99))
    with pytest.raises(par.ManifestError, match="version 99; supported: 1"):
        Call().prefill()
