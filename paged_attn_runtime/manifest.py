"""The manifest of a folder of code objects: its data classes, its expressions and rules, and a deterministic writer.

The format is described in docs/manifest.md. The builder writes it; manifest_reader.py reads it, strictly;
manifest_check.py compares it with the files beside it. Standard library only, in all three.

Version rule: `schema_version` is one integer. Every change of the format, additions included, raises it, and a reader
takes exactly the versions in SUPPORTED_SCHEMA_VERSIONS: objects and runtime are shipped together, so nobody has to
guess what a key meant.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .variant import Variant

MANIFEST_NAME = "manifest.json"
SCHEMA_VERSION = 1
SUPPORTED_SCHEMA_VERSIONS = (1,)
ARCH = "gfx950"
MAX_LDS_BYTES = 163840
MAX_WORKGROUP_THREADS = 1024
DIGEST_KEY = "digest"

_END = "\n}\n"
_SEAL = re.compile(rf',\n "{DIGEST_KEY}": "([0-9a-f]{{64}})"\n}}\n\Z')

QUANTITIES = (
    "batch",
    "total_q",
    "max_seqlen_q",
    "max_seqlen_k",
    "num_q_heads",
    "num_kv_heads",
    "query_rows_per_workgroup",
)
POLICY_QUANTITIES = QUANTITIES[:-1]  # a rule chooses the variant, so it cannot ask for one of its properties
ARG_KINDS = {"pointer": 8, "i64": 8, "i32": 4, "f32": 4}  # kind: bytes, which is the alignment too

Expression = int | str | tuple


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str


@dataclasses.dataclass(frozen=True)
class Bounds:
    """A closed range; None is open. At least one end is given."""

    min: int | None
    max: int | None

    def contains(self, value: int) -> bool:
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)


@dataclasses.dataclass(frozen=True)
class PolicyRule:
    """`policy` is taken when every quantity of `when` is within its bounds."""

    policy: str
    when: Mapping[str, Bounds]


@dataclasses.dataclass(frozen=True)
class Grid:
    """Workgroups along each axis, as expressions of QUANTITIES (see `evaluate`)."""

    x: Expression
    y: Expression
    z: Expression

    def workgroups(self, quantities: Mapping[str, int]) -> tuple[int, int, int]:
        return evaluate(self.x, quantities), evaluate(self.y, quantities), evaluate(self.z, quantities)


@dataclasses.dataclass(frozen=True)
class Spills:
    vgpr: int
    sgpr: int


@dataclasses.dataclass(frozen=True)
class KernelArg:
    name: str
    offset: int
    bytes: int
    kind: str


@dataclasses.dataclass(frozen=True)
class Kernarg:
    """The kernarg segment. `bytes` is what a launcher must supply; it may be more than the last argument's end."""

    bytes: int
    args: tuple[KernelArg, ...]


@dataclasses.dataclass(frozen=True)
class BuildRecord:
    """Where the object came from: FlyDSL's compile hints, and the files of Manifest.sources that it was made of."""

    inputs_digest: str
    hints: Mapping[str, Any]
    sources: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class VariantEntry:
    name: str
    file: str  # beside the manifest
    sha256: str
    bytes: int
    symbol: str
    key: Variant
    block: tuple[int, int, int]
    query_rows_per_workgroup: int
    grid: Grid
    vgprs: int  # V and A together
    agprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int
    spills: Spills
    kernarg: Kernarg
    build: BuildRecord


@dataclasses.dataclass(frozen=True)
class Manifest:
    schema_version: int
    arch: str
    package: Package
    flydsl_version: str
    linker: str
    source_digest: str
    config_digest: str
    compile_options: Mapping[str, str]
    sources: Mapping[str, str]  # file in the repository: sha256
    batch_policies: tuple[PolicyRule, ...]
    variants: tuple[VariantEntry, ...]

    def find(self, variant: Variant) -> VariantEntry | None:
        return next((entry for entry in self.variants if entry.key == variant), None)


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


OPERATIONS: dict[str, tuple[Callable[[int, int], int], bool]] = {  # name: (function of two, takes more than two)
    "add": (lambda a, b: a + b, True),
    "sub": (lambda a, b: a - b, False),
    "mul": (lambda a, b: a * b, True),
    "floor_div": (lambda a, b: a // b, False),
    "ceil_div": (_ceil_div, False),
    "min": (min, True),
    "max": (max, True),
}


def evaluate(expression: Expression, quantities: Mapping[str, int]) -> int:
    """The value of an expression: an integer, a quantity's name, or (operation, operand, operand, ...)."""
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return quantities[expression]
    function, _ = OPERATIONS[expression[0]]
    value = evaluate(expression[1], quantities)
    for operand in expression[2:]:
        value = function(value, evaluate(operand, quantities))
    return value


def select_policy(rules: Sequence[PolicyRule], quantities: Mapping[str, int]) -> str:
    """The policy of the first rule that matches. The last one has no condition, so there always is one."""
    for rule in rules:
        if all(bounds.contains(quantities[name]) for name, bounds in rule.when.items()):
            return rule.policy
    raise AssertionError("the last policy rule has a condition")


def _plain(value: Any) -> Any:
    """Dictionaries, lists and scalars of a data class; a rule's open ends and missing condition are left out."""
    if isinstance(value, Bounds):
        return {name: end for name, end in (("min", value.min), ("max", value.max)) if end is not None}
    if isinstance(value, PolicyRule) and not value.when:
        return {"policy": value.policy}
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    return value


def _layout(value: Any, depth: int = 0) -> str:
    """JSON text in which whatever fits on a line stands on one: a kernel argument, an axis of a grid."""
    line = json.dumps(value, ensure_ascii=True)
    if not isinstance(value, (dict, list)) or len(line) + depth <= 110:
        return line
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        lines = [f"{json.dumps(key)}: {_layout(member, depth + 1)}" for key, member in value.items()]
    else:
        lines = [_layout(member, depth + 1) for member in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(pad + line for line in lines) + "\n" + " " * depth + closing


def entry_to_json(entry: VariantEntry) -> str:
    """The text of one variant, as it stands in a manifest."""
    return _layout(_plain(entry)) + "\n"


def manifest_to_json(manifest: Manifest) -> str:
    """The text of a manifest. The same manifest gives the same bytes: keys in the classes' order, variants by name."""
    manifest = dataclasses.replace(manifest, variants=tuple(sorted(manifest.variants, key=lambda entry: entry.name)))
    return seal(_layout(_plain(manifest)) + "\n")


def seal(text: str) -> str:
    """`text`, an object that ends with its brace on a line of its own, with its SHA-256 added as the last member."""
    assert text.endswith(_END)
    return f'{text.removesuffix(_END)},\n "{DIGEST_KEY}": "{hashlib.sha256(text.encode()).hexdigest()}"{_END}'


def unseal(text: str) -> tuple[str, str] | None:
    """(the text that was sealed, the digest it was given), or None when `text` ends in no digest."""
    match = _SEAL.search(text)
    return None if match is None else (text[: match.start()] + _END, match.group(1))
