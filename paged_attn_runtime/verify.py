"""Whether a folder of code objects is what its manifest says: files, digests, and each object's own metadata. Touches
no device."""

from __future__ import annotations

from pathlib import Path

from .catalogue import open_catalogue
from .errors import PagedAttnError
from .kernarg import KernargLayout
from .manifest_check import Problem, check_folder
from .modules import check_object


def verify_folder(folder: Path) -> tuple[int, list[Problem]]:
    """(variants looked at, problems)"""
    problems = check_folder(folder)
    if any(problem.kind in ("manifest_missing", "manifest_bad") for problem in problems):
        return 0, problems
    found = open_catalogue(folder)
    damaged = {problem.file for problem in problems}
    for entry in found.manifest.variants:
        if entry.file in damaged:
            continue
        try:
            check_object(entry, found.read_object(entry))
            KernargLayout(entry.name, entry.kernarg)
        except PagedAttnError as error:
            problems.append(Problem("disagrees", entry.file, str(error)))
    return len(found.manifest.variants), problems
