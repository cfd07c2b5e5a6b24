"""What a compiled kernel is specialised for, and its name.

Owns: `Variant`, the values it may take, and the rule that turns a variant into a name and back. The name is the
kernel's symbol and, with `.hsaco` behind it, its file.
Refuses: any combination that no kernel is written for, with the allowed ones in the message.
Units: head dims count elements, page sizes tokens. Standard library only: kernels/ and builder/ import this file.
"""

from __future__ import annotations

import dataclasses
import re

KV_LAYOUTS = ("linear", "vectorized_5d")
BATCH_POLICIES = ("single", "interleaved", "longest_first")
HEAD_DIM_PAIRS = ((128, 128), (192, 128), (192, 192))  # (Q and K, V and output)
PAGE_LAYOUT = {1: "linear", 16: "vectorized_5d", 64: "vectorized_5d", 1024: "vectorized_5d"}
OBJECT_SUFFIX = ".hsaco"

_NAME = re.compile(
    r"paged_prefill_d(?P<head_dim>[1-9][0-9]*)_v(?P<v_head_dim>[1-9][0-9]*)_p(?P<page_size>[1-9][0-9]*)"
    rf"_(?P<kv_layout>{'|'.join(KV_LAYOUTS)})_(?P<batch_policy>{'|'.join(BATCH_POLICIES)})"
)


@dataclasses.dataclass(frozen=True, order=True)
class Variant:
    """One compiled kernel. Everything else about a problem is a run-time argument."""

    head_dim: int
    v_head_dim: int
    page_size: int
    kv_layout: str
    batch_policy: str

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check_type(field.name, getattr(self, field.name), str if field.type == "str" else int)
        if (self.head_dim, self.v_head_dim) not in HEAD_DIM_PAIRS:
            allowed = ", ".join(f"{d}/{v}" for d, v in HEAD_DIM_PAIRS)
            raise ValueError(f"head_dim/v_head_dim is {self.head_dim}/{self.v_head_dim}; allowed: {allowed}")
        if self.page_size not in PAGE_LAYOUT:
            raise ValueError(f"page_size is {self.page_size}; allowed: {', '.join(map(str, PAGE_LAYOUT))}")
        if self.kv_layout not in KV_LAYOUTS:
            raise ValueError(f"kv_layout is {self.kv_layout!r}; allowed: {', '.join(KV_LAYOUTS)}")
        if self.kv_layout != PAGE_LAYOUT[self.page_size]:
            allowed = PAGE_LAYOUT[self.page_size]
            raise ValueError(f"kv_layout is {self.kv_layout!r} with page_size {self.page_size}; allowed: {allowed!r}")
        if self.batch_policy not in BATCH_POLICIES:
            raise ValueError(f"batch_policy is {self.batch_policy!r}; allowed: {', '.join(BATCH_POLICIES)}")

    @property
    def name(self) -> str:
        """The kernel's symbol: made of every field, and read back by `parse`."""
        return (
            f"paged_prefill_d{self.head_dim}_v{self.v_head_dim}_p{self.page_size}_{self.kv_layout}_{self.batch_policy}"
        )

    @property
    def file_name(self) -> str:
        """The object's file, in the folder of its architecture."""
        return self.name + OBJECT_SUFFIX

    @classmethod
    def parse(cls, name: str) -> Variant:
        """The variant of a name. ValueError when it is no variant's name."""
        _check_type("name", name, str)
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(
                f"{name!r} is no variant's name; one looks like paged_prefill_d192_v128_p64_vectorized_5d_longest_first"
            )
        values = match.groupdict()
        return cls(
            head_dim=int(values["head_dim"]),
            v_head_dim=int(values["v_head_dim"]),
            page_size=int(values["page_size"]),
            kv_layout=values["kv_layout"],
            batch_policy=values["batch_policy"],
        )

    def key(self) -> dict[str, int | str]:
        """The fields as the manifest carries them."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return self.name


def _check_type(label: str, value: object, kind: type) -> None:
    if type(value) is not kind:  # bool is an int to isinstance
        raise TypeError(f"{label} must be {kind.__name__}, not {type(value).__name__} ({value!r})")
