"""What is wrong with a published folder is found by the check that builder and runtime share, and mended by the next build."""

import json

import pytest

from paged_attn_runtime.manifest import seal, unseal
from paged_attn_runtime.manifest_check import check_folder

NAME = "paged_prefill_d128_v128_p1_linear_longest_first.hsaco"


def change_byte(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


def edit_manifest(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    manifest.pop("digest", None)
    path.write_text(seal(json.dumps(manifest, indent=1) + "\n"))


def edit_text(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


DAMAGE = {
    "a flipped byte": (
        lambda folder: change_byte(folder / NAME, 700),
        [("changed", f"{NAME} has sha256 ")],
    ),
    "a deleted object": (
        lambda folder: (folder / NAME).unlink(),
        [("missing", f"{NAME} is listed in the manifest, but is not there")],
    ),
    "a stray object": (
        lambda folder: (folder / "old.hsaco").write_bytes(b"x"),
        [("stray", "old.hsaco is there, but is not listed in the manifest")],
    ),
    "a truncated object": (
        lambda folder: (folder / NAME).write_bytes((folder / NAME).read_bytes()[:-1]),
        [("truncated", " bytes; the manifest says ")],
    ),
    "an object that is a folder": (
        lambda folder: ((folder / NAME).unlink(), (folder / NAME).mkdir()),
        [("unreadable", f"{NAME} cannot be read: Is a directory")],
    ),
    "two objects exchanged": (
        lambda folder: (
            (folder / NAME).rename(folder / "aside"),
            (folder / NAME.replace("d128", "d192")).rename(folder / NAME),
            (folder / "aside").rename(folder / NAME.replace("d128", "d192")),
        ),
        [("changed", NAME), ("changed", NAME.replace("d128", "d192"))],
    ),
    "a deleted manifest": (
        lambda folder: (folder / "manifest.json").unlink(),
        [("manifest_missing", "manifest.json is not there")],
    ),
    "a truncated manifest": (
        lambda folder: (folder / "manifest.json").write_bytes((folder / "manifest.json").read_bytes()[:-20]),
        [("manifest_bad", "not JSON")],
    ),
    "an edited digest": (
        lambda folder: edit_manifest(folder, lambda manifest: manifest["variants"][0].update(sha256="0" * 64)),
        [("changed", "the manifest says " + "0" * 64)],
    ),
    "an edited kernarg": (
        lambda folder: edit_manifest(folder, lambda manifest: manifest["variants"][0]["kernarg"].update(bytes=8)),
        [("manifest_bad", "y ends at 16, behind the segment's 8 bytes: variants[0].kernarg.args[1].offset")],
    ),
    "an edited grid": (
        lambda folder: edit_text(folder / "manifest.json", '"ceil_div"', '"floor_div"'),
        [("manifest_bad", "edited after the build: the text has SHA-256 ")],
    ),
    "an added line break": (
        lambda folder: edit_text(folder / "manifest.json", '"arch": ', '"arch":\n'),
        [("manifest_bad", "edited after the build: the text has SHA-256 ")],
    ),
    "a manifest without its digest": (
        lambda folder: (folder / "manifest.json").write_text(unseal((folder / "manifest.json").read_text())[0]),
        [("manifest_bad", "the last member is no digest of the text before it")],
    ),
    "a variant taken out of the manifest": (
        lambda folder: edit_manifest(folder, lambda manifest: manifest["variants"].pop(0)),
        [("stray", f"{NAME} is there, but is not listed in the manifest")],
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_and_mended(built, damage):
    before = built.contents()
    make, expected = DAMAGE[damage]
    make(built.published)
    found = check_folder(built.published)
    assert [problem.kind for problem in found] == [kind for kind, _ in expected]
    for problem, (_, text) in zip(found, expected):
        assert text in problem.text
    outcome = built.build()
    assert outcome["built"] == [] and outcome["published"]
    assert built.contents() == before


def test_damage_without_a_spare_object_is_compiled_again(built):
    before = built.contents()
    for path in (built.root / "prebuilt" / ".build" / "objects").iterdir():
        change_byte(path, 700)
    change_byte(built.published / NAME, 700)
    assert [row["name"] for row in built.build()["built"]] == [NAME.removesuffix(".hsaco")]
    assert built.contents() == before


def test_a_folder_that_is_not_there(tmp_path):
    assert [problem.kind for problem in check_folder(tmp_path / "nowhere")] == ["manifest_missing"]
