"""Compiles one variant. Runs in a process of its own, which has imported FlyDSL and has the environment of toolchain.py.

Owns the way from a kernel source to bytes: compile, take the one object out of the compiled module, check it, and describe it as a
manifest entry. The entry lists the kernel files that were imported to make it: those decide when it must be made again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from paged_attn_runtime.manifest import BuildRecord, Grid, VariantEntry, entry_to_json
from paged_attn_runtime.manifest_reader import parse_entry, read_expression
from paged_attn_runtime.variant import Variant

from .code_object import CodeObjectError, Declared, check_object, only_object
from .inputs import COMPILING_FILES, NO_DIGEST, digest_bytes, kernel_files

OBJECT_FILE, ENTRY_FILE = "object.hsaco", "entry.json"


def compile_variant(name: str, root: Path, folder: Path) -> None:
    """Writes the object and its manifest entry (without the digest of its inputs) into `folder`."""
    variant = Variant.parse(name)
    _import_kernels_from(root, folder)
    import kernels

    source = kernels.build_variant(variant)
    data = only_object(compiled_objects(_compile(source)))
    entry = _describe(variant, source, data, _imported_files(root))
    (folder / OBJECT_FILE).write_bytes(data)
    (folder / ENTRY_FILE).write_text(entry_to_json(entry), encoding="utf-8")


def _import_kernels_from(root: Path, folder: Path) -> None:
    """Kernels are read from their sources: a stale byte-code file has the time stamp of an edit within the same second."""
    sys.path.insert(0, str(root))
    sys.pycache_prefix, sys.dont_write_bytecode = str(folder / "no-bytecode"), True


def _compile(source: Any) -> Any:
    import flydsl.compiler as flyc

    compile_with = flyc.compile[source.hints] if source.hints else flyc.compile
    return compile_with(source.launcher, *source.placeholder_args)


def compiled_objects(compiled: Any) -> list[bytes]:
    """Every code object of a compiled module."""
    from flydsl._mlir import ir
    from flydsl._mlir.dialects import gpu
    from flydsl.compiler.jit_function import _create_mlir_context

    objects: list[bytes] = []

    def visit(operation: Any) -> Any:
        if operation.name == "gpu.binary":
            members = ir.ArrayAttr(operation.attributes["objects"])
            objects.extend(bytes(gpu.ObjectAttr(member).object) for member in members)
        return ir.WalkResult.ADVANCE

    with _create_mlir_context():
        ir.Module.parse(compiled._keepalive.ir).operation.walk(visit)
    return objects


def _describe(variant: Variant, source: Any, data: bytes, sources: tuple[str, ...]) -> VariantEntry:
    declared = Declared(variant.name, tuple(source.kernarg), tuple(source.block), source.lds_bytes)
    facts = check_object(data, declared)
    if set(source.grid) != {"x", "y", "z"}:
        raise CodeObjectError(f"the grid has the axes {sorted(source.grid)}; expected x, y and z")
    entry = VariantEntry(
        name=variant.name,
        file=variant.file_name,
        sha256=digest_bytes(data),
        bytes=len(data),
        symbol=variant.name,
        key=variant,
        block=tuple(source.block),
        query_rows_per_workgroup=source.query_rows_per_workgroup,
        grid=Grid(**{axis: read_expression(expression, f"grid.{axis}") for axis, expression in source.grid.items()}),
        vgprs=facts.vgprs,
        agprs=facts.agprs,
        sgprs=facts.sgprs,
        lds_bytes=facts.lds_bytes,
        scratch_bytes=facts.scratch_bytes,
        spills=facts.spills,
        kernarg=facts.kernarg,
        build=BuildRecord(NO_DIGEST, dict(source.hints or {}), sources),
    )
    parse_entry(entry_to_json(entry))  # what the reader refuses is found here, by variant
    return entry


def _imported_files(root: Path) -> tuple[str, ...]:
    """The files that made this object: the imported modules of kernels/, the variant's definition, and the builder's part."""
    loaded = {
        Path(file).resolve() for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))
    }
    used = [name for name in kernel_files(root) if (root / name).resolve() in loaded]
    return tuple(sorted([*used, *COMPILING_FILES]))
