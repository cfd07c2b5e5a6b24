"""python -m paged_attn_runtime {list, info NAME, verify, doctor}: what is prebuilt, whether it is whole, and whether
it runs here.

Exit status: 0 when all is well, 1 when something is wrong, 2 for a wrong command line. --json prints one JSON value
and nothing else.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

from .catalogue import catalogue, prebuilt_folder
from .errors import PagedAttnError, VariantNotFoundError
from .manifest import VariantEntry
from .variant import Variant
from .version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        value, lines, ok = options.command(options)
    except (PagedAttnError, ValueError) as error:
        if options.json:
            print(json.dumps({"error": type(error).__name__, "text": str(error)}))
        else:
            print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(value, indent=1) if options.json else "\n".join(lines))
    return 0 if ok else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m paged_attn_runtime", description=__doc__.split("\n\n")[0])
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="{list, info, verify, doctor}")
    for name, function, text in (
        ("list", _list, "the prebuilt variants as a table"),
        ("info", _info, "one variant: its key, resources and kernel arguments"),
        ("verify", _verify, "hash every object, and compare it with the manifest and with its own metadata"),
        ("doctor", _doctor, "what this node has, and which variants would run"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--json", action="store_true", help="print JSON")
        command.set_defaults(command=function)
        if name == "info":
            command.add_argument("name", help="a variant's name, as `list` prints it")
        if name == "doctor":
            command.add_argument(
                "--selftest", action="store_true", help="run a small problem of each variant and compare it"
            )
    return parser


Answer = tuple[Any, list[str], bool]  # for JSON, for people, whether all is well


def _list(_options: argparse.Namespace) -> Answer:
    found = catalogue()
    entries = sorted(found.manifest.variants, key=lambda entry: entry.key)
    header = ("D/Dv", "page", "layout", "batch policy", "VGPRs", "LDS", "bytes", "name")
    rows = [
        (
            f"{entry.key.head_dim}/{entry.key.v_head_dim}",
            str(entry.key.page_size),
            entry.key.kv_layout,
            entry.key.batch_policy,
            str(entry.vgprs),
            str(entry.lds_bytes),
            str(entry.bytes),
            entry.name,
        )
        for entry in entries
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in (header, *rows)]
    lines.append(f"{len(rows)} variants for {found.manifest.arch} in {found.folder}")
    value = {
        "folder": str(found.folder),
        "arch": found.manifest.arch,
        "variants": [{"name": entry.name, **entry.key.key(), "bytes": entry.bytes} for entry in entries],
    }
    return value, lines, True


def _info(options: argparse.Namespace) -> Answer:
    found = catalogue()
    try:
        variant = Variant.parse(options.name)
    except ValueError as error:
        names = ", ".join(entry.name for entry in found.manifest.variants)
        raise VariantNotFoundError(f"{error}. There are: {names}") from None
    entry = found.find(variant)
    return dataclasses.asdict(entry), _describe(entry), True


def _describe(entry: VariantEntry) -> list[str]:
    grid = {axis: _expression(getattr(entry.grid, axis)) for axis in "xyz"}
    lines = [
        entry.name,
        f"  file        {entry.file}, {entry.bytes} bytes, sha256 {entry.sha256}",
        "  key         " + ", ".join(f"{name} {value}" for name, value in entry.key.key().items()),
        f"  workgroup   {' x '.join(map(str, entry.block))} threads, {entry.query_rows_per_workgroup} query rows",
        "  grid        " + ", ".join(f"{axis} = {text}" for axis, text in grid.items()),
        f"  registers   {entry.vgprs} VGPRs (of them {entry.agprs} AGPRs), {entry.sgprs} SGPRs, "
        f"{entry.spills.vgpr + entry.spills.sgpr} spilled",
        f"  memory      {entry.lds_bytes} bytes of LDS, {entry.scratch_bytes} of scratch",
        f"  kernarg     {entry.kernarg.bytes} bytes",
    ]
    return lines + [f"    {arg.offset:4}  {arg.kind:8}{arg.name}" for arg in entry.kernarg.args]


def _expression(expression: Any) -> str:
    if isinstance(expression, tuple):
        return f"{expression[0]}({', '.join(map(_expression, expression[1:]))})"
    return str(expression)


def _verify(_options: argparse.Namespace) -> Answer:
    from .verify import verify_folder

    folder = prebuilt_folder()
    count, problems = verify_folder(folder)
    lines = [f"{problem.kind}: {problem.text}" for problem in problems]
    if problems:
        lines.append(
            f"{len(problems)} problems in {folder}; reinstall the package, or rebuild: python build_kernels.py"
        )
    else:
        lines.append(f"{count} variants in {folder}: every object is what the manifest and its own metadata say")
    value = {
        "folder": str(folder),
        "variants": count,
        "problems": [dataclasses.asdict(problem) for problem in problems],
    }
    return value, lines, not problems


def _doctor(options: argparse.Namespace) -> Answer:
    from .doctor import examine

    findings = examine(options.selftest)
    width = max(len(finding.topic) for finding in findings if not finding.topic.startswith("selftest"))
    lines = [f"[{finding.state:4}] {finding.topic.ljust(width)}  {finding.text}" for finding in findings]
    return [dataclasses.asdict(finding) for finding in findings], lines, all(f.state != "bad" for f in findings)
