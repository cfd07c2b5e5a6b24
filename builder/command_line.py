"""The command line of the offline build. Exit codes: 0 done, 1 something failed or differs, 2 it could not start, 130 interrupted."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .build import BuildError, Job, Outcome, build, check, find_current, read_inputs, select
from .matrix import ConfigError, Matrix, read_matrix
from .progress import Progress
from .store import Store
from .toolchain import ToolchainError, find_toolchain

CONFIG, OUT = "configs/gfx950.yaml", "prebuilt"


def main(root: Path, arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    progress = Progress()
    try:
        return _run(root, options, progress)
    except (ConfigError, ToolchainError) as error:
        return _complain(progress, str(error), 2)
    except BuildError as error:
        return _complain(progress, str(error), 1)
    except OSError as error:
        return _complain(progress, f"{error}; what was published before is as it was", 1)
    except KeyboardInterrupt:
        return _complain(progress, "interrupted; what was compiled is kept, and the next build goes on from there", 130)


def _complain(progress: Progress, text: str, code: int) -> int:
    progress.close()
    print(f"build_kernels: {text}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="build_kernels.py",
        description="Compiles a matrix of kernels into gfx950 code objects and a manifest. Needs no GPU.",
    )
    parser.add_argument("--config", metavar="FILE", help=f"the matrix (default: the checkout's {CONFIG})")
    parser.add_argument("--out", metavar="FOLDER", help=f"the folder to write (default: the checkout's {OUT})")
    parser.add_argument(
        "--jobs", type=_positive, default=_cores(), metavar="N", help="compile N at a time (default: cores)"
    )
    parser.add_argument(
        "--only", metavar="PATTERN", help="bring only these up to date: part of a name, or a shell pattern"
    )
    parser.add_argument(
        "--check", action="store_true", help="compile anew elsewhere and compare with what is published"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the variants and whether they are current; compile nothing"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _run(root: Path, options: argparse.Namespace, progress: Progress) -> int:
    matrix = read_matrix(options.config or root / CONFIG, shown=options.config or CONFIG)
    names = select(matrix, options.only)
    job = Job(root, matrix, find_toolchain(), options.jobs)
    store = Store(Path(options.out).absolute() if options.out else root / OUT, matrix.arch)
    if options.list:
        return _list(job, store, names, options.json)
    if options.check:
        return _check(job, store, names, progress, options.json)
    outcome = build(job, store, names, progress)
    progress.close()
    print(_outcome_json(outcome, matrix, store) if options.json else _summary(outcome, matrix, store))
    return 1 if outcome.failed else 0


def _list(job: Job, store: Store, names: Sequence[str], as_json: bool) -> int:
    current = find_current(store, job.matrix, read_inputs(job.root, job.toolchain))
    rows = [{"name": name, "state": "current" if name in current else "to compile"} for name in names]
    print(json.dumps(rows, indent=1) if as_json else "\n".join(f"{row['state']:<11} {row['name']}" for row in rows))
    return 0


def _check(job: Job, store: Store, names: Sequence[str], progress: Progress, as_json: bool) -> int:
    with tempfile.TemporaryDirectory(prefix="build-check-") as work:
        differences = check(job, store, names, Path(work), progress)
    progress.close()
    if as_json:
        print(json.dumps({"checked": list(names), "differences": differences}, indent=1))
    elif differences:
        print("\n".join([f"{store.published} is not what the sources give:", *(f"  {text}" for text in differences)]))
    else:
        print(f"{store.published}: {len(names)} variants compiled anew give the same bytes")
    return 1 if differences else 0


def _summary(outcome: Outcome, matrix: Matrix, store: Store) -> str:
    lines = []
    for result in outcome.failed:
        lines += [f"FAILED {result.name}", *(f"  {line}" for line in result.failure.splitlines())]
    size = sum(entry.bytes for entry in outcome.entries)
    lines.append(
        f"{len(outcome.built)} built, {len(outcome.kept)} current, {len(outcome.failed)} failed in {outcome.seconds:.1f} s; "
        f"{store.published} has {len(outcome.entries)} of {len(matrix.variants)} variants, {size} bytes"
        + ("" if outcome.published else " (nothing to write)")
    )
    unasked = [name for name in outcome.left_out if name not in {result.name for result in outcome.failed}]
    if unasked:
        lines.append(f"{len(unasked)} variants are not current and were not asked for; they are not in the manifest")
    return "\n".join(lines)


def _outcome_json(outcome: Outcome, matrix: Matrix, store: Store) -> str:
    def row(result: Any) -> dict[str, Any]:
        entry = result.entry
        resources = ("vgprs", "agprs", "sgprs", "lds_bytes", "bytes", "sha256")
        return {
            "name": result.name,
            "seconds": result.seconds,
            "peak_mib": result.peak_mib,
            **{name: getattr(entry, name) for name in resources},
        }

    return json.dumps(
        {
            "folder": str(store.published),
            "variants": len(matrix.variants),
            "listed": [entry.name for entry in outcome.entries],
            "built": [row(result) for result in outcome.built],
            "kept": outcome.kept,
            "failed": [
                {"name": result.name, "seconds": result.seconds, "failure": result.failure} for result in outcome.failed
            ],
            "published": outcome.published,
            "seconds": round(outcome.seconds, 3),
        },
        indent=1,
    )
