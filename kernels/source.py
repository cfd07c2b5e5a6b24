"""A variant as something to compile: launcher, placeholder arguments, hints, and what the result must look like.

Owns: the kernel's argument list. Its order is natural alignment without holes.
Units: bytes; grid axes are expressions of named quantities (docs/manifest.md).
"""

from __future__ import annotations

import dataclasses

from paged_attn_runtime.variant import Variant

from .traits import THREADS, traits_of

POINTERS = {  # name: alignment that the caller guarantees
    "q": 16,
    "k_cache": 16,
    "v_cache": 16,
    "out": 16,
    "lse": 4,
    "cu_seqlens_q": 4,
    "seqlens_k": 4,
    "block_table": 4,
    "kv_indptr": 4,
    "kv_page_indices": 4,
    "kv_last_page_lens": 4,
    "q_descale": 4,
    "k_descale": 4,
    "v_descale": 4,
}
STRIDES = (  # bytes, but lse in floats and the block table in ids
    "q_row_stride",
    "q_head_stride",
    "k_page_stride",
    "k_head_stride",
    "v_page_stride",
    "v_head_stride",
    "out_row_stride",
    "out_head_stride",
    "lse_head_stride",
    "block_table_row_stride",
)
FLOATS = ("softmax_scale", "q_descale_value", "k_descale_value", "v_descale_value")
INTEGERS = ("batch", "total_q", "num_q_heads", "num_kv_heads", "max_seqlen_q", "page_id_bytes")
KERNARG = (
    *((name, "pointer", 8) for name in POINTERS),
    *((name, "i64", 8) for name in STRIDES),
    *((name, "f32", 4) for name in FLOATS),
    *((name, "i32", 4) for name in INTEGERS),
)
_WORDS = ("cu_seqlens_q", "seqlens_k", "kv_indptr", "kv_last_page_lens")
_REALS = ("lse", "q_descale", "k_descale", "v_descale")

HINTS = {
    "fastmath": "contract",
    "llvm_options": {
        "vectorize-slp": False,  # packed f32 never overlaps the matrix unit
        "amdgpu-codegenprepare-break-large-phis": False,  # accumulators stay whole between loops
    },
}


@dataclasses.dataclass(frozen=True)
class KernelSource:
    launcher: object  # the @flyc.jit function
    placeholder_args: tuple  # for flyc.compile: null pointers and zeros of the right types
    hints: dict  # for flyc.compile[...]
    kernarg: tuple  # (name, kind, bytes) in order
    block: tuple[int, int, int]
    query_rows_per_workgroup: int
    grid: dict  # {"x": expression, ...}
    lds_bytes: int


def build_variant(variant: Variant) -> KernelSource:
    """The one entry: everything the builder needs to compile a variant."""
    from .launcher import make_launcher  # flydsl is imported as late as possible

    traits = traits_of(variant)
    return KernelSource(
        launcher=make_launcher(traits),
        placeholder_args=_placeholders(),
        hints={**HINTS, "llvm_options": dict(HINTS["llvm_options"])},
        kernarg=KERNARG,
        block=(THREADS, 1, 1),
        query_rows_per_workgroup=traits.rows,
        grid=_grid(variant.batch_policy),
        lds_bytes=traits.stages.total,
    )


def _grid(policy: str) -> dict:
    """x: heads; y: ranks of query blocks. Ranks that find no block cost next to nothing."""
    rows = "query_rows_per_workgroup"
    longest = ["ceil_div", ["min", "max_seqlen_q", "total_q"], rows]
    ranks = {
        "single": longest,
        "interleaved": ["mul", "batch", longest],
        # ceil(L / rows) blocks each: at most one more a sequence than rows go into total_q
        "longest_first": ["add", ["floor_div", "total_q", rows], "batch"],
    }
    return {"x": "num_q_heads", "y": ranks[policy], "z": 1}


def _placeholders() -> tuple:
    import flydsl.expr as fx
    from flydsl.compiler.jit_argument import PointerJitArg

    element = {**{name: fx.Int32 for name in _WORDS}, **{name: fx.Float32 for name in _REALS}}
    pointers = (PointerJitArg(element.get(name, fx.Uint8), 0, alignment=size) for name, size in POINTERS.items())
    return (*pointers, *(fx.Int64(1) for _ in STRIDES), *(1.0 for _ in FLOATS), *(1 for _ in INTEGERS))
