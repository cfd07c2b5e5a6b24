"""The prebuilt variants: where they are, which there are, and what to say when one is missing.

Looks at, in this order: PAGED_ATTN_PREBUILT, the folder inside the package (a wheel), prebuilt/ beside it (a
checkout). The first that is there is taken; nothing is merged. A manifest is read once per process and folder.
Touches no device.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import os
from pathlib import Path

from .errors import ArtifactError, ManifestError, VariantNotFoundError
from .manifest import ARCH, MANIFEST_NAME, Manifest, VariantEntry, select_policy
from .manifest_check import check_object_bytes, read_regular
from .manifest_reader import load_manifest
from .variant import Variant

PREBUILT_VARIABLE = "PAGED_ATTN_PREBUILT"
NEAREST_SHOWN = 3

_log = logging.getLogger("paged_attn_runtime")
_package = Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Catalogue:
    """One folder of code objects and its manifest."""

    folder: Path
    manifest: Manifest
    by_variant: dict[Variant, VariantEntry]

    def find(self, variant: Variant) -> VariantEntry:
        entry = self.by_variant.get(variant)
        if entry is None:
            raise VariantNotFoundError(self._miss(variant))
        return entry

    def select(
        self, head_dim: int, v_head_dim: int, page_size: int, kv_layout: str, quantities: dict[str, int]
    ) -> VariantEntry:
        """The entry that the manifest's rules choose for a batch.

        `quantities` lacks only what depends on the variant.
        """
        key = (head_dim, v_head_dim, page_size, kv_layout)
        family = [
            entry for v, entry in self.by_variant.items() if (v.head_dim, v.v_head_dim, v.page_size, v.kv_layout) == key
        ]
        rows = family[0].query_rows_per_workgroup if family else 1
        policy = select_policy(self.manifest.batch_policies, {**quantities, "query_rows_per_workgroup": rows})
        return self.find(Variant(*key, batch_policy=policy))

    def read_object(self, entry: VariantEntry) -> bytes:
        """The bytes of a code object, exactly as the manifest describes them."""
        path = self.folder / entry.file
        try:
            data = read_regular(path)
        except OSError as error:
            raise ArtifactError(
                f"{path} cannot be read ({error.strerror}), but the manifest lists it; {rebuild(entry.name)}"
            ) from None
        problem = check_object_bytes(entry, data)
        if problem is not None:
            raise ArtifactError(f"{path} is not what was built: {problem.text}; {rebuild(entry.name)}")
        return data

    def _miss(self, variant: Variant) -> str:
        nearest = sorted(self.by_variant, key=lambda other: (_distance(variant, other), other.name))[:NEAREST_SHOWN]
        shown = ", ".join(v.name for v in nearest) or "none: the manifest is empty"
        return (
            f"no prebuilt {variant.name} in {self.folder}. Nearest: {shown}. Build it: python build_kernels.py --only "
            f"{variant.name}"
        )


def rebuild(name: str) -> str:
    return f"reinstall the package, or rebuild it: python build_kernels.py --only {name}"


def _distance(wanted: Variant, other: Variant) -> int:
    """Fields that differ, the head dims weighing most: another policy is nearer than another page size, that nearer
    than another D.
    """
    weights = {"head_dim": 8, "v_head_dim": 4, "page_size": 2, "kv_layout": 2, "batch_policy": 1}
    return sum(weight for field, weight in weights.items() if getattr(wanted, field) != getattr(other, field))


def candidate_folders() -> list[tuple[str, Path]]:
    """Where the objects may be, in order, each with the reason. The variable excludes the others."""
    named = os.environ.get(PREBUILT_VARIABLE)
    if named:
        return [(PREBUILT_VARIABLE, Path(named))]
    return [("inside the package", _package / "prebuilt"), ("the checkout", _package.parent / "prebuilt")]


def prebuilt_folder() -> Path:
    """The folder of this architecture's manifest."""
    looked = []
    for reason, root in candidate_folders():
        for folder in (root / ARCH, root):
            if (folder / MANIFEST_NAME).is_file():
                return folder
        looked.append(f"{root / ARCH / MANIFEST_NAME} ({reason})")
    raise ManifestError(
        f"no prebuilt kernels: looked for {' and '.join(looked)}. Build them: python build_kernels.py, or set "
        f"{PREBUILT_VARIABLE} to a folder that has them"
    )


def catalogue() -> Catalogue:
    """The catalogue of this process's prebuilt folder."""
    return open_catalogue(prebuilt_folder())


def open_catalogue(folder: Path) -> Catalogue:
    """A folder's catalogue; read again when its manifest was replaced."""
    try:
        stamp = os.stat(folder / MANIFEST_NAME)
    except OSError as error:
        raise ManifestError(f"{folder / MANIFEST_NAME} cannot be read: {error.strerror}") from None
    return _read(folder, stamp.st_mtime_ns, stamp.st_size, stamp.st_ino)


@functools.lru_cache(maxsize=8)
def _read(folder: Path, *_stamp: int) -> Catalogue:
    try:
        manifest = load_manifest(folder)
    except OSError as error:
        raise ManifestError(f"{folder / MANIFEST_NAME} cannot be read: {error.strerror}") from None
    _log.debug("manifest of %d variants read from %s", len(manifest.variants), folder)
    return Catalogue(folder, manifest, {entry.key: entry for entry in manifest.variants})
