"""The strict reader of manifest.json.

Limits: UTF-8 JSON of at most 4 MiB; integers below 2**63; no floats outside the compiler's hints.

Refused, as a ManifestError whose message ends in the path of the offending key (`...: variants[3].kernarg.bytes`):
  * not JSON, not UTF-8, too large, NaN or Infinity; another schema version;
  * a missing, unknown or duplicate key; a value of another type (a bool is no integer); a number out of its range;
  * two variants of one name; a name, symbol or file that does not follow from the key;
  * arguments that overlap, are misaligned, leave the segment or share a name;
  * a grid expression with an unknown operation or quantity;
  * policy rules of which the last has a condition, or another has none;
  * digests that are no lower-case SHA-256;
  * in a file: a text that is not the one its digest was made of.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import ManifestError
from .manifest import (
    ARCH,
    ARG_KINDS,
    DIGEST_KEY,
    MANIFEST_NAME,
    MAX_LDS_BYTES,
    MAX_WORKGROUP_THREADS,
    OPERATIONS,
    POLICY_QUANTITIES,
    QUANTITIES,
    SUPPORTED_SCHEMA_VERSIONS,
    Bounds,
    BuildRecord,
    Expression,
    Grid,
    Kernarg,
    KernelArg,
    Manifest,
    Package,
    PolicyRule,
    Spills,
    VariantEntry,
    unseal,
)
from .variant import BATCH_POLICIES, Variant

MAX_MANIFEST_BYTES = 4 << 20


class _Object:
    """A JSON object as it stands in the text, so that a duplicate key is seen where its path is known."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


_INT_LIMIT = 2**63
_SHA256 = re.compile(r"[0-9a-f]{64}")
_JSON_NAMES = {
    _Object: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number that is not",
    type(None): "null",
}


def _fail(what: str, path: str) -> ManifestError:
    return ManifestError(f"{what}: {path or '(top level)'}")


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _typed(value: Any, kind: type, path: str) -> Any:
    if type(value) is not kind:
        raise _fail(f"expected {_JSON_NAMES[kind]}, found {_JSON_NAMES[type(value)]}", path)
    return value


def _items(value: Any, path: str) -> dict[str, Any]:
    """The members of an object, each key once."""
    members: dict[str, Any] = {}
    for key, member in _typed(value, _Object, path).pairs:
        if key in members:
            raise _fail("duplicate key", _join(path, key))
        members[key] = member
    return members


def _members(value: Any, path: str, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """The members of an object that has exactly these keys."""
    members = _items(value, path)
    for key in members:
        if key not in names and key not in optional:
            raise _fail(f"unknown key (known: {', '.join([*names, *optional])})", _join(path, key))
    for key in names:
        if key not in members:
            raise _fail("missing key", _join(path, key))
    return members


def _fields(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def _int(value: Any, path: str, low: int = 0, high: int = _INT_LIMIT - 1) -> int:
    _typed(value, int, path)
    if not low <= value <= high:
        raise _fail(f"{value} is out of range ({low} to {high})", path)
    return value


def _text(value: Any, path: str) -> str:
    if not _typed(value, str, path):
        raise _fail("empty string", path)
    return value


def _digest(value: Any, path: str) -> str:
    if not _SHA256.fullmatch(_typed(value, str, path)):
        raise _fail(f"{value!r} is no SHA-256 in 64 lower-case hexadecimal digits", path)
    return value


def _one_of(value: Any, allowed: Iterable[str], path: str) -> str:
    if _typed(value, str, path) not in allowed:
        raise _fail(f"{value!r} is not one of {', '.join(allowed)}", path)
    return value


def _array(value: Any, path: str, item: Callable[[Any, str], Any], length: int | None = None) -> tuple:
    _typed(value, list, path)
    if length is not None and len(value) != length:
        raise _fail(f"expected {length} items, found {len(value)}", path)
    return tuple(item(member, f"{path}[{i}]") for i, member in enumerate(value))


def _free(value: Any, path: str) -> Any:
    """JSON of any shape (the compiler's hints), duplicate keys refused."""
    if isinstance(value, _Object):
        return {key: _free(member, _join(path, key)) for key, member in _items(value, path).items()}
    if isinstance(value, list):
        return [_free(member, f"{path}[{i}]") for i, member in enumerate(value)]
    return value


def read_expression(value: Any, path: str) -> Expression:
    """A grid expression, checked, in the form that `evaluate` takes."""
    if type(value) is int:
        return _int(value, path)
    if type(value) is str:
        return _one_of(value, QUANTITIES, path)
    if type(value) not in (list, tuple):
        raise _fail("expected an integer, a quantity or [operation, operand, operand]", path)
    if not value:
        raise _fail("empty expression", path)
    operation = _one_of(value[0], OPERATIONS, f"{path}[0]")
    operands = tuple(read_expression(member, f"{path}[{i}]") for i, member in enumerate(value[1:], 1))
    if len(operands) < 2 or (len(operands) > 2 and not OPERATIONS[operation][1]):
        wanted = "2 or more operands" if OPERATIONS[operation][1] else "2 operands"
        raise _fail(f"{operation} takes {wanted}, found {len(operands)}", path)
    if operation.endswith("_div") and operands[1] == 0:
        raise _fail("division by 0", path)
    return (operation, *operands)


def _read_grid(value: Any, path: str) -> Grid:
    members = _members(value, path, _fields(Grid))
    return Grid(**{axis: read_expression(members[axis], _join(path, axis)) for axis in members})


def _read_bounds(value: Any, path: str) -> Bounds:
    members = _members(value, path, (), ("min", "max"))
    if not members:
        raise _fail("expected min, max or both", path)
    ends = {key: _int(member, _join(path, key)) for key, member in members.items()}
    bounds = Bounds(ends.get("min"), ends.get("max"))
    if bounds.min is not None and bounds.max is not None and bounds.min > bounds.max:
        raise _fail(f"min {bounds.min} is above max {bounds.max}", path)
    return bounds


def _read_rule(value: Any, path: str) -> PolicyRule:
    members = _members(value, path, ("policy",), ("when",))
    when: dict[str, Bounds] = {}
    if "when" in members:
        at = _join(path, "when")
        for name, bounds in _items(members["when"], at).items():
            _one_of(name, POLICY_QUANTITIES, _join(at, name))
            when[name] = _read_bounds(bounds, _join(at, name))
        if not when:
            raise _fail("a condition without a quantity", at)
    return PolicyRule(_one_of(members["policy"], BATCH_POLICIES, _join(path, "policy")), when)


def _read_rules(value: Any, path: str) -> tuple[PolicyRule, ...]:
    rules = _array(value, path, _read_rule)
    if not rules:
        raise _fail("no rule", path)
    for i, rule in enumerate(rules):
        if bool(rule.when) == (i == len(rules) - 1):
            raise _fail("the last rule, and no other, is without a condition", f"{path}[{i}]")
    return rules


def _read_arg(value: Any, path: str) -> KernelArg:
    members = _members(value, path, _fields(KernelArg))
    kind = _one_of(members["kind"], ARG_KINDS, _join(path, "kind"))
    size = _int(members["bytes"], _join(path, "bytes"))
    if size != ARG_KINDS[kind]:
        raise _fail(f"{size}, but a {kind} has {ARG_KINDS[kind]} bytes", _join(path, "bytes"))
    offset = _int(members["offset"], _join(path, "offset"))
    if offset % size:
        raise _fail(f"{offset} is no multiple of {size}", _join(path, "offset"))
    return KernelArg(_text(members["name"], _join(path, "name")), offset, size, kind)


def _read_kernarg(value: Any, path: str) -> Kernarg:
    members = _members(value, path, _fields(Kernarg))
    kernarg = Kernarg(
        bytes=_int(members["bytes"], _join(path, "bytes"), low=1, high=4096),
        args=_array(members["args"], _join(path, "args"), _read_arg),
    )
    end, names = 0, set()
    for i, arg in enumerate(kernarg.args):
        at = f"{path}.args[{i}]"
        if arg.offset < end:
            raise _fail(
                f"{arg.name} at {arg.offset} overlaps the argument before it, which ends at {end}", f"{at}.offset"
            )
        if arg.name in names:
            raise _fail(f"two arguments are named {arg.name}", f"{at}.name")
        names.add(arg.name)
        end = arg.offset + arg.bytes
        if end > kernarg.bytes:
            raise _fail(f"{arg.name} ends at {end}, behind the segment's {kernarg.bytes} bytes", f"{at}.offset")
    return kernarg


def _read_key(value: Any, path: str) -> Variant:
    members = _members(value, path, _fields(Variant))
    for name in ("head_dim", "v_head_dim", "page_size"):
        _int(members[name], _join(path, name))
    for name in ("kv_layout", "batch_policy"):
        _text(members[name], _join(path, name))
    try:
        return Variant(**members)
    except ValueError as error:
        raise _fail(str(error), path) from None


def _read_block(value: Any, path: str) -> tuple[int, int, int]:
    x, y, z = _array(value, path, lambda member, at: _int(member, at, 1, MAX_WORKGROUP_THREADS), length=3)
    if x * y * z > MAX_WORKGROUP_THREADS:
        raise _fail(f"{x * y * z} threads; at most {MAX_WORKGROUP_THREADS}", path)
    return x, y, z


def _read_build(value: Any, path: str) -> BuildRecord:
    members = _members(value, path, _fields(BuildRecord))
    return BuildRecord(
        inputs_digest=_digest(members["inputs_digest"], _join(path, "inputs_digest")),
        hints=_free(_typed(members["hints"], _Object, _join(path, "hints")), _join(path, "hints")),
        sources=_array(members["sources"], _join(path, "sources"), _text),
    )


def _read_spills(value: Any, path: str) -> Spills:
    members = _members(value, path, _fields(Spills))
    return Spills(**{name: _int(count, _join(path, name)) for name, count in members.items()})


def _follows_from_key(value: Any, wanted: str, path: str) -> str:
    if _typed(value, str, path) != wanted:
        raise _fail(f"{value!r}, but the key makes it {wanted!r}", path)
    return value


def read_entry(value: Any, path: str) -> VariantEntry:
    """One member of `variants`."""
    members = _members(value, path, _fields(VariantEntry))

    def at(name: str) -> str:
        return _join(path, name)

    key = _read_key(members["key"], at("key"))
    return VariantEntry(
        name=_follows_from_key(members["name"], key.name, at("name")),
        file=_follows_from_key(members["file"], key.file_name, at("file")),
        sha256=_digest(members["sha256"], at("sha256")),
        bytes=_int(members["bytes"], at("bytes"), low=1),
        symbol=_follows_from_key(members["symbol"], key.name, at("symbol")),
        key=key,
        block=_read_block(members["block"], at("block")),
        query_rows_per_workgroup=_int(members["query_rows_per_workgroup"], at("query_rows_per_workgroup"), low=1),
        grid=_read_grid(members["grid"], at("grid")),
        vgprs=_int(members["vgprs"], at("vgprs"), high=512),
        agprs=_int(members["agprs"], at("agprs"), high=256),
        sgprs=_int(members["sgprs"], at("sgprs"), high=128),
        lds_bytes=_int(members["lds_bytes"], at("lds_bytes"), high=MAX_LDS_BYTES),
        scratch_bytes=_int(members["scratch_bytes"], at("scratch_bytes")),
        spills=_read_spills(members["spills"], at("spills")),
        kernarg=_read_kernarg(members["kernarg"], at("kernarg")),
        build=_read_build(members["build"], at("build")),
    )


def _read_variants(value: Any, path: str, sources: Mapping[str, str]) -> tuple[VariantEntry, ...]:
    entries = _array(value, path, read_entry)
    seen: set[str] = set()
    for i, entry in enumerate(entries):
        if entry.name in seen:
            raise _fail(f"a second {entry.name}", f"{path}[{i}].name")
        seen.add(entry.name)
        for j, source in enumerate(entry.build.sources):
            if source not in sources:
                raise _fail(f"{source!r} is not in sources", f"{path}[{i}].build.sources[{j}]")
    return entries


def _read_version(members: Mapping[str, Any]) -> int:
    if "schema_version" not in members:
        raise _fail("missing key", "schema_version")
    version = _int(members["schema_version"], "schema_version")
    if version not in SUPPORTED_SCHEMA_VERSIONS:
        supported = ", ".join(map(str, SUPPORTED_SCHEMA_VERSIONS))
        raise _fail(
            f"version {version}; supported: {supported}. Objects and runtime must be of one build", "schema_version"
        )
    return version


def parse_json(text: str | bytes) -> Any:
    """JSON text as the strict reader takes it: objects keep duplicate keys until `_items` refuses them."""
    if len(text) > MAX_MANIFEST_BYTES:
        raise _fail(f"{len(text)} bytes; at most {MAX_MANIFEST_BYTES}", "")

    def refuse(constant: str) -> Any:
        raise _fail(f"{constant} is no JSON", "")

    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, object_pairs_hook=_Object, parse_constant=refuse)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise _fail(f"not JSON ({error})", "") from None


def parse_manifest(text: str | bytes) -> Manifest:
    """The manifest in `text`, fully checked but for the digest of the whole, which a file must have. Raises ManifestError."""
    value = parse_json(text)
    version = _read_version(_items(value, ""))  # first: another version's keys are not ours to judge
    members = _members(value, "", _fields(Manifest), (DIGEST_KEY,))
    package = _members(members["package"], "package", _fields(Package))
    sources = {
        name: _digest(member, _join("sources", name)) for name, member in _items(members["sources"], "sources").items()
    }
    options = _items(members["compile_options"], "compile_options")
    return Manifest(
        schema_version=version,
        arch=_one_of(members["arch"], (ARCH,), "arch"),
        package=Package(**{name: _text(member, f"package.{name}") for name, member in package.items()}),
        flydsl_version=_text(members["flydsl_version"], "flydsl_version"),
        linker=_text(members["linker"], "linker"),
        source_digest=_digest(members["source_digest"], "source_digest"),
        config_digest=_digest(members["config_digest"], "config_digest"),
        compile_options={name: _typed(member, str, _join("compile_options", name)) for name, member in options.items()},
        sources=sources,
        batch_policies=_read_rules(members["batch_policies"], "batch_policies"),
        variants=_read_variants(members["variants"], "variants", sources),
    )


def load_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """The manifest in a folder such as prebuilt/gfx950. OSError when unreadable; a ManifestError names the file."""
    path = Path(folder) / MANIFEST_NAME
    with open(path, "rb") as file:
        text = file.read(MAX_MANIFEST_BYTES + 1)
    try:
        manifest = parse_manifest(text)
        _check_seal(text.decode())
    except ManifestError as error:
        raise ManifestError(f"{path}: {error}") from None
    return manifest


def _check_seal(text: str) -> None:
    sealed = unseal(text)
    if sealed is None:
        raise _fail("the last member is no digest of the text before it; restore or rebuild the manifest", DIGEST_KEY)
    digest = hashlib.sha256(sealed[0].encode()).hexdigest()
    if digest != sealed[1]:
        raise _fail(
            f"edited after the build: the text has SHA-256 {digest}; restore or rebuild the manifest", DIGEST_KEY
        )


def parse_entry(text: str | bytes) -> VariantEntry:
    """One variant on its own, as the builder keeps it beside an object."""
    return read_entry(parse_json(text), "")
