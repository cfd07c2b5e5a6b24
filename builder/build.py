"""One build: which variants are current, compiling the others, publishing, comparing.

A variant is current when an object of exactly these inputs is there (inputs.py). What is published is always complete in itself: the
manifest lists the matrix's variants that are current, each with its object beside it, and nothing else.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from paged_attn_runtime.manifest import (
    MANIFEST_NAME,
    SCHEMA_VERSION,
    Manifest,
    Package,
    VariantEntry,
    manifest_to_json,
)
from paged_attn_runtime.manifest_reader import parse_manifest
from paged_attn_runtime.version import __version__

from .inputs import Inputs, snapshot, source_digest
from .matrix import Matrix
from .pool import Pool, Result
from .progress import Progress
from .store import Store
from .toolchain import COMPILE_OPTIONS, Toolchain

PACKAGE = Package("paged-attn-runtime", __version__)


class BuildError(Exception):
    """The build cannot go on; what was published before is as it was."""


@dataclasses.dataclass
class Outcome:
    """What a build did. `entries` is what the manifest lists."""

    built: list[Result] = dataclasses.field(default_factory=list)
    failed: list[Result] = dataclasses.field(default_factory=list)
    kept: list[str] = dataclasses.field(default_factory=list)
    left_out: list[str] = dataclasses.field(default_factory=list)  # of the matrix, and in no state to be published
    entries: list[VariantEntry] = dataclasses.field(default_factory=list)
    published: bool = False
    seconds: float = 0.0


def select(matrix: Matrix, pattern: str | None) -> list[str]:
    """The names that a pattern picks: a shell pattern for the whole name, or a part of it."""
    names = [variant.name for variant in matrix.variants]
    if pattern is None:
        return names
    picked = [name for name in names if fnmatch.fnmatchcase(name, pattern) or pattern in name]
    if not picked:
        raise BuildError(f"--only {pattern!r} picks no variant; the matrix has:\n  " + "\n  ".join(names))
    return picked


def read_inputs(root: Path, toolchain: Toolchain) -> Inputs:
    return Inputs(snapshot(root), toolchain.flydsl_version, toolchain.linker, COMPILE_OPTIONS)


def make_manifest(matrix: Matrix, inputs: Inputs, entries: Sequence[VariantEntry]) -> Manifest:
    used = {name: inputs.sources[name] for entry in entries for name in entry.build.sources}
    return Manifest(
        schema_version=SCHEMA_VERSION,
        arch=matrix.arch,
        package=PACKAGE,
        flydsl_version=inputs.flydsl_version,
        linker=inputs.linker,
        source_digest=source_digest(used),
        config_digest=matrix.digest,
        compile_options=inputs.compile_options,
        sources=used,
        batch_policies=matrix.rules,
        variants=tuple(entries),
    )


def manifest_text(matrix: Matrix, inputs: Inputs, entries: Sequence[VariantEntry]) -> str:
    text = manifest_to_json(make_manifest(matrix, inputs, entries))
    parse_manifest(text)  # nothing is written that would not be read
    return text


def find_current(store: Store, matrix: Matrix, inputs: Inputs) -> dict[str, tuple[VariantEntry, bytes]]:
    """The variants of the matrix that need no compiling."""
    manifest, current = store.manifest(), {}
    for variant in matrix.variants:
        for entry, data in store.candidates(variant.name, manifest):
            if inputs.made(entry):
                current[variant.name] = (entry, data)
                break
    return current


@dataclasses.dataclass(frozen=True)
class Job:
    """Everything that a build is given."""

    root: Path
    matrix: Matrix
    toolchain: Toolchain
    jobs: int


def build(job: Job, store: Store, names: Sequence[str], progress: Progress) -> Outcome:
    """Brings `names` up to date and publishes every variant that is current."""
    started, outcome = time.monotonic(), Outcome()
    with store.locked(lambda: progress.line("another build is running in this folder; waiting for it")) as work:
        inputs = read_inputs(job.root, job.toolchain)
        current = find_current(store, job.matrix, inputs)
        outcome.kept = [name for name in names if name in current]
        todo = [name for name in names if name not in current]
        for result in compile_all(job, inputs, todo, work, progress):
            if result.log.strip() or result.failure:
                store.keep_log(result.name, result.log)
            if result.entry is None:
                outcome.failed.append(result)
                continue
            store.keep(result.entry, result.data)
            outcome.built.append(result)
            current[result.name] = (result.entry, result.data)
        outcome.left_out = [variant.name for variant in job.matrix.variants if variant.name not in current]
        outcome.entries = [current[name][0] for name in sorted(current)]
        if current:
            outcome.published = _publish(job.matrix, inputs, current, store, work)
    outcome.seconds = time.monotonic() - started
    return outcome


def compile_all(job: Job, inputs: Inputs, names: Sequence[str], work: Path, progress: Progress) -> Iterator[Result]:
    """Compiles `names`, saying so. Nothing is started when there is nothing to compile."""
    if not names:
        return
    folder = work / "compile"
    folder.mkdir()
    progress.line(f"compiling {len(names)} of {len(job.matrix.variants)} variants, {job.jobs} at a time")
    with Pool(job.root, job.toolchain, folder, job.jobs) as pool:
        progress.step(0, len(names), ["importing FlyDSL"])
        for done, result in enumerate(pool.compile(names), 1):
            result = _sealed(job.root, inputs, result)
            progress.line(f"{done:>{len(str(len(names)))}}/{len(names)} {shown(result)}")
            progress.step(done, len(names), pool.running)
            yield result


def shown(result: Result) -> str:
    """A line for one compiled variant."""
    if result.entry is None:
        return f"FAILED {result.name} after {result.seconds:.1f} s: {result.failure.splitlines()[0]}"
    entry = result.entry
    return (
        f"built {entry.name}: {result.seconds:.1f} s, {entry.vgprs} VGPRs ({entry.agprs} of them AGPRs), {entry.sgprs} SGPRs, "
        f"LDS {entry.lds_bytes}, {entry.bytes} bytes"
    )


def _sealed(root: Path, inputs: Inputs, result: Result) -> Result:
    """The result with the digest of its inputs, unless somebody edited them meanwhile."""
    if result.entry is None:
        return result
    record = result.entry.build
    now = snapshot(root)
    for name in record.sources:
        if now.get(name) != inputs.sources.get(name):
            return dataclasses.replace(result, entry=None, failure=f"{name} was changed during the build; build again")
    digest = inputs.digest(result.name, record.sources)
    assert digest is not None
    entry = dataclasses.replace(result.entry, build=dataclasses.replace(record, inputs_digest=digest))
    return dataclasses.replace(result, entry=entry)


def _publish(
    matrix: Matrix, inputs: Inputs, current: Mapping[str, tuple[VariantEntry, bytes]], store: Store, work: Path
) -> bool:
    """Publishes unless that is what is there already. True when something was written."""
    text = manifest_text(matrix, inputs, [entry for entry, _ in current.values()])
    if store.is_published(text):
        return False
    store.publish(text, {entry.file: data for entry, data in current.values()}, work)
    return True


def check(job: Job, store: Store, names: Sequence[str], work: Path, progress: Progress) -> list[str]:
    """Compiles `names` anew in `work` and compares with what is published, byte by byte. Returns what differs."""
    inputs = read_inputs(job.root, job.toolchain)
    manifest = store.manifest()
    if manifest is None:
        raise BuildError(f"{store.published / MANIFEST_NAME} is not there or not readable; build first")
    for label, theirs, ours in (
        ("linker", manifest.linker, inputs.linker),
        ("FlyDSL", manifest.flydsl_version, inputs.flydsl_version),
    ):
        if theirs != ours:
            raise BuildError(
                f"{store.published} was built with {label} {theirs}; here is {ours}: the bytes cannot be compared"
            )
    differences, entries = [], []
    for result in compile_all(job, inputs, names, work, progress):
        if result.entry is None:
            differences.append(f"{result.name} does not compile: {result.failure}")
            continue
        entries.append(result.entry)
        differences += _compare(store.published / result.entry.file, result.data)
    if not differences and len(names) == len(job.matrix.variants):
        text = manifest_text(job.matrix, inputs, entries).encode()
        differences += _compare(store.published / MANIFEST_NAME, text)
        listed = {MANIFEST_NAME, *(entry.file for entry in entries)}
        strays = sorted(path.name for path in store.published.iterdir() if path.name not in listed)
        differences += [f"{name} is published, but the build does not make it" for name in strays]
    return sorted(differences)


def _compare(path: Path, data: bytes) -> list[str]:
    try:
        published = path.read_bytes()
    except OSError as error:
        return [f"{path.name} cannot be read: {error.strerror}"]
    if published == data:
        return []
    at = next((i for i, (a, b) in enumerate(zip(published, data)) if a != b), min(len(published), len(data)))
    return [f"{path.name} differs from byte {at} on ({len(published)} bytes published, {len(data)} rebuilt)"]
