"""The folder that a build writes: prebuilt/gfx950, and what lies beside it in prebuilt/.build.

    prebuilt/gfx950/            the published objects and manifest.json; changed only by one exchange of the whole folder
    prebuilt/.build/lock        held (flock) while a build runs; a second build waits for it
    prebuilt/.build/objects/    NAME.hsaco and NAME.json: each variant as it was last compiled, published or not
    prebuilt/.build/logs/       NAME.log: what the compiler printed, where it printed anything
    prebuilt/.build/work-*      of a running build, or left by a killed one; removed when the next build starts

Every file is written aside and renamed. An object's NAME.json is renamed last, and names the digest of the object: whatever moment
a build is killed at, what is found later is either whole or not used. Nothing is synced to the disk: after a power cut a file may
be empty, which its digest tells, and the next build mends.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from paged_attn_runtime.errors import ManifestError
from paged_attn_runtime.manifest import MANIFEST_NAME, Manifest, VariantEntry, entry_to_json
from paged_attn_runtime.manifest_check import check_listed, check_object_bytes
from paged_attn_runtime.manifest_reader import load_manifest, parse_entry
from paged_attn_runtime.variant import OBJECT_SUFFIX

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


class Store:
    def __init__(self, out: Path, arch: str) -> None:
        self.published = out / arch
        self._private = out / ".build"
        self._objects = self._private / "objects"
        self._logs = self._private / "logs"

    @contextlib.contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[Path]:
        """Holds the lock and gives a work folder; `waiting` is called when another build has the lock."""
        for folder in (self._private, self._objects, self._logs):
            folder.mkdir(parents=True, exist_ok=True)
        with open(self._private / "lock", "wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._remove_left_overs()
            work = self._private / f"work-{os.getpid()}"
            work.mkdir()
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)

    def _remove_left_overs(self) -> None:
        """What a killed build was writing when it was killed."""
        for folder in self._private.glob("work-*"):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (self._objects, self._logs):
            for path in folder.glob(".*"):
                path.unlink(missing_ok=True)

    # -- single objects

    def candidates(self, name: str, manifest: Manifest | None) -> Iterator[tuple[VariantEntry, bytes]]:
        """Whole objects of a variant that are there already: compiled last, then published."""
        with contextlib.suppress(OSError, ManifestError):
            entry = parse_entry((self._objects / f"{name}.json").read_bytes())
            yield from _whole(entry, self._objects / f"{name}{OBJECT_SUFFIX}")
        for entry in manifest.variants if manifest else ():
            if entry.name == name:
                with contextlib.suppress(OSError):
                    yield from _whole(entry, self.published / entry.file)

    def keep(self, entry: VariantEntry, data: bytes) -> None:
        """Stores a compiled object, so that it need not be compiled again even if this build is never published."""
        write_file(self._objects / f"{entry.name}{OBJECT_SUFFIX}", data)
        write_file(self._objects / f"{entry.name}.json", entry_to_json(entry).encode())

    def keep_log(self, name: str, log: str) -> Path:
        path = self._logs / f"{name}.log"
        if log.strip():
            write_file(path, log.encode())
        else:
            path.unlink(missing_ok=True)
        return path

    # -- the published folder

    def manifest(self) -> Manifest | None:
        """What is published; None when there is nothing, or nothing readable."""
        try:
            return load_manifest(self.published)
        except (OSError, ManifestError):
            return None

    def is_published(self, text: str) -> bool:
        """Whether the published folder holds exactly this manifest, and the files it lists, whole."""
        try:
            if (self.published / MANIFEST_NAME).read_bytes() != text.encode():
                return False
            return not check_listed(load_manifest(self.published), self.published)
        except (OSError, ManifestError):
            return False

    def publish(self, text: str, objects: Mapping[str, bytes], work: Path) -> None:
        """Makes the published folder consist of these files, in one step."""
        folder = work / "publish"
        folder.mkdir()
        for name, data in objects.items():
            write_file(folder / name, data)
        write_file(folder / MANIFEST_NAME, text.encode())
        _exchange(folder, self.published, aside=work / "replaced")


def _whole(entry: VariantEntry, path: Path) -> Iterator[tuple[VariantEntry, bytes]]:
    data = path.read_bytes()
    if check_object_bytes(entry, data) is None:
        yield entry, data


def write_file(path: Path, data: bytes) -> None:
    """Writes a file aside and renames it into place. On an error, a full disk say, the old file is as it was."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _exchange(new: Path, place: Path, aside: Path) -> None:
    """`new` takes the name `place`. Where the file system can exchange names, there is no moment without a `place`."""
    if not place.exists():
        new.rename(place)
    elif not _exchange_names(new, place):
        place.rename(aside)
        try:
            new.rename(place)
        except OSError:
            aside.rename(place)
            raise


def _exchange_names(a: Path, b: Path) -> bool:
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    return renameat2(_AT_FDCWD, os.fsencode(a), _AT_FDCWD, os.fsencode(b), _RENAME_EXCHANGE) == 0
