"""Whether a folder of objects is what the sources in this checkout give: whole, complete, current. Needs no compiler.

What a wheel is built from must pass. The linker is taken as the manifest names it: it decides the bytes, not whether they are right.
"""

from __future__ import annotations

from pathlib import Path

from paged_attn_runtime.errors import ManifestError
from paged_attn_runtime.manifest import Manifest
from paged_attn_runtime.manifest_check import check_folder
from paged_attn_runtime.manifest_reader import load_manifest
from paged_attn_runtime.version import __version__

from .inputs import Inputs, snapshot
from .matrix import Matrix
from .toolchain import COMPILE_OPTIONS, FLYDSL_VERSION


def shortcomings(root: Path, folder: Path, matrix: Matrix) -> list[str]:
    """What keeps `folder` from being shipped; an empty list when nothing does."""
    problems = [problem.text for problem in check_folder(folder)]
    try:
        manifest = load_manifest(folder)
    except (OSError, ManifestError):
        return problems
    return problems + _missing(manifest, matrix) + _stale(root, manifest, matrix)


def _missing(manifest: Manifest, matrix: Matrix) -> list[str]:
    wanted, listed = {variant.name for variant in matrix.variants}, {entry.name for entry in manifest.variants}
    return [f"{name} is in the matrix, but is not built" for name in sorted(wanted - listed)] + [
        f"{name} is built, but is not in the matrix" for name in sorted(listed - wanted)
    ]


def _stale(root: Path, manifest: Manifest, matrix: Matrix) -> list[str]:
    sources = snapshot(root)
    found = []
    for label, theirs, ours in (
        ("package version", manifest.package.version, __version__),
        ("FlyDSL", manifest.flydsl_version, FLYDSL_VERSION),
        ("compile options", dict(manifest.compile_options), COMPILE_OPTIONS),
        ("the matrix's digest", manifest.config_digest, matrix.digest),
    ):
        if theirs != ours:
            found.append(f"stale: built with {label} {theirs}; it is {ours} now")
    for name, digest in manifest.sources.items():
        if sources.get(name) != digest:
            found.append(f"stale: {name} {'was changed' if name in sources else 'was removed'} after the build")
    if not found:  # otherwise every variant would say the same once more
        inputs = Inputs(sources, manifest.flydsl_version, manifest.linker, manifest.compile_options)
        stale = (entry.name for entry in manifest.variants if not inputs.made(entry))
        found += [f"stale: {name} was made of other inputs than the manifest says" for name in stale]
    return found
