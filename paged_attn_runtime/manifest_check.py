"""A folder of code objects against its manifest: what is listed exists, what exists is listed, sizes and digests agree.

Owns the kinds of problem that `verify`, the builder and the wheel's build report. Reads; changes nothing.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
import stat
from pathlib import Path

from .errors import ManifestError
from .manifest import MANIFEST_NAME, Manifest, VariantEntry
from .manifest_reader import load_manifest


@dataclasses.dataclass(frozen=True)
class Problem:
    """`kind` is one of manifest_missing, manifest_bad, missing, truncated, changed, stray, unreadable."""

    kind: str
    file: str
    text: str


def read_regular(path: Path) -> bytes:
    """All of a file, if it is one: a pipe or a device might never end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a folder says so itself
        raise OSError(errno.EINVAL, "not a regular file")
    return path.read_bytes()


def check_object_bytes(entry: VariantEntry, data: bytes) -> Problem | None:
    """Whether `data` is the object that the entry describes."""
    if len(data) != entry.bytes:
        return Problem("truncated", entry.file, f"{entry.file} has {len(data)} bytes; the manifest says {entry.bytes}")
    digest = hashlib.sha256(data).hexdigest()
    if digest != entry.sha256:
        return Problem("changed", entry.file, f"{entry.file} has sha256 {digest}; the manifest says {entry.sha256}")
    return None


def check_listed(manifest: Manifest, folder: str | os.PathLike[str]) -> list[Problem]:
    """Problems of a folder against its manifest, by file name. Reads every object; changes nothing."""
    folder, problems = Path(folder), []
    for entry in manifest.variants:
        try:
            problem = check_object_bytes(entry, read_regular(folder / entry.file))
        except FileNotFoundError:
            problem = Problem("missing", entry.file, f"{entry.file} is listed in the manifest, but is not there")
        except OSError as error:
            problem = Problem("unreadable", entry.file, f"{entry.file} cannot be read: {error.strerror}")
        if problem is not None:
            problems.append(problem)
    listed = {MANIFEST_NAME, *(entry.file for entry in manifest.variants)}
    for name in sorted(set(os.listdir(folder)) - listed):
        problems.append(Problem("stray", name, f"{name} is there, but is not listed in the manifest"))
    return sorted(problems, key=lambda problem: problem.file)


def check_folder(folder: str | os.PathLike[str]) -> list[Problem]:
    """Every problem of a folder of code objects; an empty list when it is whole."""
    try:
        manifest = load_manifest(folder)
    except FileNotFoundError:
        return [Problem("manifest_missing", MANIFEST_NAME, f"{Path(folder) / MANIFEST_NAME} is not there")]
    except ManifestError as error:
        return [Problem("manifest_bad", MANIFEST_NAME, str(error))]
    except OSError as error:
        return [
            Problem("unreadable", MANIFEST_NAME, f"{Path(folder) / MANIFEST_NAME} cannot be read: {error.strerror}")
        ]
    return check_listed(manifest, folder)
