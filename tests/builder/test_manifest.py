"""The manifest: one test per way in which a file can be wrong, each error ending in the path of the offending key."""

import copy
import dataclasses
import json
import re

import pytest

from paged_attn_runtime.errors import ManifestError
from paged_attn_runtime.manifest import QUANTITIES, evaluate, manifest_to_json, select_policy
from paged_attn_runtime.manifest_reader import load_manifest, parse_manifest, read_expression
from paged_attn_runtime.variant import Variant

NAME = Variant(128, 128, 64, "vectorized_5d", "longest_first").name


def good():
    """A small manifest, as Python values."""
    entry = {
        "name": NAME,
        "file": f"{NAME}.hsaco",
        "sha256": "a" * 64,
        "bytes": 1000,
        "symbol": NAME,
        "key": Variant.parse(NAME).key(),
        "block": [256, 1, 1],
        "query_rows_per_workgroup": 128,
        "grid": {"x": ["ceil_div", "total_q", "query_rows_per_workgroup"], "y": "num_q_heads", "z": 1},
        "vgprs": 200,
        "agprs": 0,
        "sgprs": 80,
        "lds_bytes": 65536,
        "scratch_bytes": 0,
        "spills": {"vgpr": 0, "sgpr": 0},
        "kernarg": {
            "bytes": 20,
            "args": [
                {"name": "q", "offset": 0, "bytes": 8, "kind": "pointer"},
                {"name": "scale", "offset": 8, "bytes": 4, "kind": "f32"},
                {"name": "batch", "offset": 12, "bytes": 4, "kind": "i32"},
            ],
        },
        "build": {"inputs_digest": "b" * 64, "hints": {"fastmath": "contract"}, "sources": ["kernels/a"]},
    }
    second = copy.deepcopy(entry)
    other = Variant.parse(NAME.replace("p64", "p16"))
    second.update(name=other.name, file=other.file_name, symbol=other.name, key=other.key())
    return {
        "schema_version": 1,
        "arch": "gfx950",
        "package": {"name": "paged-attn-runtime", "version": "0.1.0"},
        "flydsl_version": "0.5.0",
        "linker": "LLD 22",
        "source_digest": "c" * 64,
        "config_digest": "d" * 64,
        "compile_options": {"ARCH": "gfx950"},
        "sources": {"kernels/a": "e" * 64},
        "batch_policies": [
            {"policy": "single", "when": {"batch": {"max": 1}}},
            {"policy": "interleaved", "when": {"batch": {"min": 2, "max": 4}, "total_q": {"max": 4096}}},
            {"policy": "longest_first"},
        ],
        "variants": [second, entry],
    }


def at(value, path):
    """The container and the last key of a path such as variants[0].kernarg.bytes."""
    *steps, last = [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", path)]
    for step in steps:
        value = value[step]
    return value, last


def changed(path, value):
    manifest = good()
    container, last = at(manifest, path)
    container[last] = value
    return json.dumps(manifest)


def test_what_is_written_is_read_back():
    manifest = parse_manifest(json.dumps(good()))
    text = manifest_to_json(manifest)
    assert parse_manifest(text) == manifest
    written = json.loads(text)
    assert len(written.pop("digest")) == 64
    assert written == good()


def test_the_same_manifest_gives_the_same_bytes_in_any_order():
    manifest = parse_manifest(json.dumps(good()))
    backwards = dataclasses.replace(
        manifest,
        variants=manifest.variants[::-1],
        compile_options=dict(reversed(manifest.compile_options.items())),
    )
    assert manifest_to_json(backwards) == manifest_to_json(manifest)


def test_find():
    manifest = parse_manifest(json.dumps(good()))
    assert manifest.find(Variant.parse(NAME)).name == NAME
    assert manifest.find(Variant.parse(NAME.replace("p64", "p1024"))) is None


# path, value, what is said before the path
WRONG_VALUES = [
    ("schema_version", 2, "version 2; supported: 1"),
    ("schema_version", True, "expected an integer, found a boolean"),
    ("schema_version", "1", "expected an integer, found a string"),
    ("arch", "gfx942", "'gfx942' is not one of gfx950"),
    ("package.version", "", "empty string"),
    ("package", [], "expected an object, found an array"),
    ("linker", None, "expected a string, found null"),
    ("source_digest", "C" * 64, "is no SHA-256 in 64 lower-case hexadecimal digits"),
    ("config_digest", "c" * 63, "is no SHA-256"),
    ("compile_options.ARCH", 950, "expected a string, found an integer"),
    ("sources.kernels/a", "x", "is no SHA-256"),
    ("batch_policies", [], "no rule"),
    ("batch_policies[0].policy", "fair", "'fair' is not one of single, interleaved, longest_first"),
    ("batch_policies[0].when", {}, "a condition without a quantity"),
    ("batch_policies[0].when.batch", {}, "expected min, max or both"),
    ("batch_policies[0].when.batch.max", -1, "-1 is out of range"),
    ("batch_policies[0].when.batch.max", 1.0, "expected an integer, found a number that is not"),
    ("batch_policies[1].when.batch.min", 5, "min 5 is above max 4"),
    ("batch_policies[0].when.beams", {"max": 1}, "'beams' is not one of batch"),
    ("batch_policies[0].when.query_rows_per_workgroup", {"max": 1}, "'query_rows_per_workgroup' is not one of"),
    ("batch_policies[2].when", {"batch": {"max": 9}}, "the last rule, and no other, is without a condition"),
    ("variants[0].name", NAME, "'" + NAME + "', but the key makes it"),
    ("variants[0].file", "../x.hsaco", "'../x.hsaco', but the key makes it"),
    ("variants[0].symbol", "x", "'x', but the key makes it"),
    ("variants[0].key.page_size", 32, "page_size is 32; allowed: 1, 16, 64, 1024"),
    ("variants[0].key.page_size", True, "expected an integer, found a boolean"),
    ("variants[0].key.kv_layout", "linear", "kv_layout is 'linear' with page_size 16"),
    ("variants[0].sha256", "a" * 65, "is no SHA-256"),
    ("variants[0].bytes", 0, "0 is out of range"),
    ("variants[0].block", [256, 1], "expected 3 items, found 2"),
    ("variants[0].block[0]", 0, "0 is out of range"),
    ("variants[0].block[1]", 8, "2048 threads; at most 1024"),
    ("variants[0].query_rows_per_workgroup", 0, "0 is out of range"),
    ("variants[0].vgprs", 513, "513 is out of range (0 to 512)"),
    ("variants[0].lds_bytes", 163841, "163841 is out of range (0 to 163840)"),
    ("variants[0].scratch_bytes", -4, "-4 is out of range"),
    ("variants[0].spills.vgpr", "0", "expected an integer, found a string"),
    ("variants[0].grid.x", "num_heads", "'num_heads' is not one of batch"),
    ("variants[0].grid.x", [], "empty expression"),
    ("variants[0].grid.x[0]", "pow", "'pow' is not one of add, sub, mul"),
    ("variants[0].grid.x[2]", -1, "-1 is out of range"),
    ("variants[0].grid.x[2]", True, "expected an integer, a quantity or [operation, operand, operand]"),
    ("variants[0].grid.x", ["sub", 1, 2, 3], "sub takes 2 operands, found 3"),
    ("variants[0].grid.x", ["add", 1], "add takes 2 or more operands, found 1"),
    ("variants[0].grid.x", ["ceil_div", "batch", 0], "division by 0"),
    ("variants[0].kernarg.bytes", 0, "0 is out of range"),
    ("variants[0].kernarg.args[1].kind", "f64", "'f64' is not one of pointer, i64, i32, f32"),
    ("variants[0].kernarg.args[1].bytes", 8, "8, but a f32 has 4 bytes"),
    ("variants[0].kernarg.args[1].offset", 10, "10 is no multiple of 4"),
    ("variants[0].kernarg.args[1].offset", 4, "scale at 4 overlaps the argument before it, which ends at 8"),
    ("variants[0].kernarg.args[2].offset", 20, "batch ends at 24, behind the segment's 20 bytes"),
    ("variants[0].kernarg.args[2].name", "q", "two arguments are named q"),
    ("variants[0].build.inputs_digest", "", "is no SHA-256"),
    ("variants[0].build.hints", [], "expected an object, found an array"),
    ("variants[0].build.sources[0]", "kernels/b", "'kernels/b' is not in sources"),
]


@pytest.mark.parametrize("path, value, message", WRONG_VALUES)
def test_a_wrong_value(path, value, message):
    with pytest.raises(ManifestError) as raised:
        parse_manifest(changed(path, value))
    text = str(raised.value)
    ends = [path, path.rpartition("[")[0], path.rpartition(".")[0]]
    assert message in text and any(text.endswith(f": {end}") for end in ends), text


EVERY_OBJECT = [
    "", "package", "batch_policies[1].when.batch", "batch_policies[0]", "variants[0]", "variants[0].key", "variants[0].grid",
    "variants[0].spills", "variants[0].kernarg", "variants[0].kernarg.args[0]", "variants[0].build",
]  # fmt: skip


@pytest.mark.parametrize("path", EVERY_OBJECT)
def test_an_unknown_key(path):
    full = f"{path}.surplus" if path else "surplus"
    with pytest.raises(ManifestError, match=rf"unknown key \(known: .*\): {re.escape(full)}$"):
        parse_manifest(changed(full, 1))


def every_key(value, path=""):
    if isinstance(value, dict):
        for key, member in value.items():
            full = f"{path}.{key}" if path else key
            yield full
            yield from every_key(member, full)
    elif isinstance(value, list) and value:
        yield from every_key(value[0], f"{path}[0]")


FREE = ("compile_options.", "sources.", "hints.", "when", "max", "min")


@pytest.mark.parametrize("path", [path for path in every_key(good()) if not any(part in path for part in FREE)])
def test_a_missing_key(path):
    manifest = good()
    container, last = at(manifest, path)
    del container[last]
    with pytest.raises(ManifestError) as raised:
        parse_manifest(json.dumps(manifest))
    assert str(raised.value) == f"missing key: {path}"


@pytest.mark.parametrize("path", [path for path in every_key(good())])
def test_a_duplicate_key(path):
    last = path.rpartition(".")[2]
    manifest = good()
    container, key = at(manifest, path)
    container["\0" + key] = container[key]  # renamed in the text, where it can stand twice
    text = json.dumps(manifest).replace(r"\u0000", "")
    with pytest.raises(ManifestError, match=rf"^duplicate key: .*{re.escape(last)}$"):
        parse_manifest(text)


@pytest.mark.parametrize(
    "text, message",
    {
        "": "not JSON",
        "{": "not JSON",
        "[]": "expected an object, found an array",
        "null": "expected an object, found null",
        '{"schema_version": 1}': "missing key: arch",
        "[" * 100000: "not JSON",
        '{"schema_version": NaN}': "NaN is no JSON",
        '{"schema_version": 1e400}': "expected an integer, found a number that is not: schema_version",
        '{"schema_version": 99999999999999999999}': "99999999999999999999 is out of range",
        " " * (5 << 20): "5242880 bytes; at most 4194304",
    }.items(),
    ids=range(10),
)
def test_what_is_no_manifest(text, message):
    with pytest.raises(ManifestError, match=re.escape(message)):
        parse_manifest(text)


def test_bytes_that_are_no_text():
    with pytest.raises(ManifestError, match=r"not JSON \('utf-8' codec can't decode"):
        parse_manifest(b'{"schema_version": "\xff"}')


def test_another_version_is_judged_before_its_keys():
    with pytest.raises(ManifestError, match=r"^version 7; supported: 1\. .*: schema_version$"):
        parse_manifest('{"schema_version": 7, "everything": "is different"}')


def test_two_variants_of_one_name():
    manifest = good()
    manifest["variants"].append(manifest["variants"][1])
    with pytest.raises(ManifestError, match=rf"^a second {NAME}: variants\[2\]\.name$"):
        parse_manifest(json.dumps(manifest))


def test_a_file_names_itself_in_its_errors(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(ManifestError, match=rf"^{tmp_path}/manifest\.json: missing key: schema_version$"):
        load_manifest(tmp_path)


def test_values_of_expressions():
    values = {name: 10 * (i + 1) for i, name in enumerate(QUANTITIES)}
    cases = {
        7: 7,
        "total_q": 20,
        ("add", "batch", 1, 2): 13,
        ("sub", "batch", 3): 7,
        ("mul", 2, 3, "batch"): 60,
        ("floor_div", 29, 10): 2,
        ("ceil_div", 21, 10): 3,
        ("ceil_div", 20, 10): 2,
        ("ceil_div", 0, 10): 0,
        ("min", 4, "batch", 3): 3,
        ("max", 4, "batch", 3): 10,
        ("mul", "num_q_heads", ("ceil_div", "total_q", ("max", "batch", 1))): 100,
    }
    assert {expression: evaluate(read_expression(expression, "x"), values) for expression in cases} == cases


def test_the_first_rule_that_matches_is_taken():
    rules = parse_manifest(json.dumps(good())).batch_policies
    taken = {
        (batch, total): select_policy(rules, {"batch": batch, "total_q": total})
        for batch in (1, 2, 4, 5)
        for total in (4096, 4097)
    }
    assert taken == {
        (1, 4096): "single",
        (1, 4097): "single",
        (2, 4096): "interleaved",
        (2, 4097): "longest_first",
        (4, 4096): "interleaved",
        (4, 4097): "longest_first",
        (5, 4096): "longest_first",
        (5, 4097): "longest_first",
    }
