"""What decides an object's bytes, as digests: the same inputs digest means the same object, so nothing is compiled again.

The inputs of a variant: its name, the contents of the files it was made of, FlyDSL's version, the linker, the compiler's switches
and the manifest's schema. Paths in here are relative to the repository, with forward slashes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from paged_attn_runtime.manifest import SCHEMA_VERSION, VariantEntry

KERNELS = "kernels"
COMPILING_FILES = ("builder/code_object.py", "builder/compile_variant.py", "paged_attn_runtime/variant.py")
NO_DIGEST = "0" * 64


def digest_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def kernel_files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in (root / KERNELS).rglob("*.py"))


def snapshot(root: Path) -> dict[str, str]:
    """Digests of every file that a variant may be made of."""
    return {name: digest_bytes((root / name).read_bytes()) for name in [*kernel_files(root), *COMPILING_FILES]}


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The state of everything that objects are made of."""

    sources: Mapping[str, str]
    flydsl_version: str
    linker: str
    compile_options: Mapping[str, str]

    def digest(self, name: str, sources: Iterable[str]) -> str | None:
        """The inputs digest of a variant that was made of `sources`; None when one of them is gone."""
        names = sorted(sources)
        if not all(source in self.sources for source in names):
            return None
        said = {
            "variant": name,
            "sources": {source: self.sources[source] for source in names},
            "flydsl_version": self.flydsl_version,
            "linker": self.linker,
            "compile_options": dict(self.compile_options),
            "schema_version": SCHEMA_VERSION,
        }
        return digest_bytes(json.dumps(said, sort_keys=True).encode())

    def made(self, entry: VariantEntry) -> bool:
        """Whether `entry` was made of these inputs."""
        return entry.build.inputs_digest == self.digest(entry.name, entry.build.sources)


def source_digest(sources: Mapping[str, str]) -> str:
    """One digest for all sources: that of the text which `sha256sum` prints for them, by path."""
    return digest_bytes("".join(f"{sources[name]}  {name}\n" for name in sorted(sources)).encode())
