"""A small problem for each variant, run on a device and compared with plain Python: `doctor --selftest`.

Needs nothing but this package and hip-python. The problem: two sequences, one of them with a prefix, two query heads
on one KV head, the pages out of order and every unused byte NaN. Errors come from rounding P to e4m3 (up to 2**-4 of
each term) and the output to bf16.
"""

from __future__ import annotations

import array
import dataclasses
import math
import random

from .device_array import DeviceArray
from .manifest import VariantEntry
from .prefill import paged_prefill
from .variant import Variant

NAN_BYTE = 0x7F
RMS_LIMIT = 0.05  # of the outputs' rms; rounding P gives 0.02 to 0.03, a wrong key or page gives about 1
HEADS = 2
V_DESCALE = 0.5
VECTOR = 16


@dataclasses.dataclass(frozen=True)
class Outcome:
    variant: str
    passed: bool
    text: str


def fp8_value(byte: int) -> float:
    """An OCP e4m3 number."""
    sign = -1.0 if byte & 0x80 else 1.0
    exponent, mantissa = byte >> 3 & 15, byte & 7
    if exponent == 15 and mantissa == 7:
        return math.nan
    return sign * (mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7))


_FP8 = [fp8_value(byte) for byte in range(256)]


def run_selftest(entry: VariantEntry, device: int) -> Outcome:
    """One variant on one device. Never raises for a wrong result; errors of HIP pass through."""
    variant = entry.key
    sequences = [(3, 3 + variant.page_size // 2 + 20)] if variant.batch_policy == "single" else [(3, 41), (5, 5)]
    generator = random.Random(f"{entry.name}")
    problem = _Problem(variant, sequences, generator)
    out = paged_prefill(**problem.on_device(device), batch_policy=variant.batch_policy)
    halves = array.array("H", out.to_bytes())
    got = array.array("f", array.array("I", [half << 16 for half in halves]).tobytes())
    wanted = problem.expected()
    difference = math.sqrt(sum((a - b) ** 2 for a, b in zip(got, wanted)))
    size = math.sqrt(sum(b * b for b in wanted))
    error = difference / size
    passed = error < RMS_LIMIT and all(map(math.isfinite, got))
    return Outcome(entry.name, passed, f"rms error {error:.4f} of the outputs' (allowed {RMS_LIMIT})")


class _Problem:
    def __init__(self, variant: Variant, sequences: list[tuple[int, int]], generator: random.Random) -> None:
        self.variant, self.sequences = variant, sequences
        self.total_q = sum(new for new, _ in sequences)
        magnitudes = [byte for byte in range(0x20, 0x40)]  # 2**-3 to 1.875
        signed = magnitudes + [byte | 0x80 for byte in magnitudes]

        def rows(count: int, dim: int) -> list[bytes]:
            return [bytes(generator.choices(signed, k=dim)) for _ in range(count)]

        self.q = rows(self.total_q * HEADS, variant.head_dim)
        self.keys = [rows(length, variant.head_dim) for _, length in sequences]
        self.values = [rows(length, variant.v_head_dim) for _, length in sequences]
        counts = [-(-length // variant.page_size) for _, length in sequences]
        ids = list(range(1, sum(counts) + 1))
        generator.shuffle(ids)
        self.tables = [[ids.pop() for _ in range(count)] for count in counts]
        self.num_pages = sum(counts) + 1  # page 0 belongs to nobody

    def on_device(self, device: int) -> dict[str, object]:
        v = self.variant
        width = max(map(len, self.tables))
        table = [page for row in self.tables for page in row + [-1] * (width - len(row))]
        starts = [sum(new for new, _ in self.sequences[:b]) for b in range(len(self.sequences) + 1)]
        linear = v.kv_layout == "linear"
        k_shape = (
            (self.num_pages, 1, v.head_dim)
            if linear
            else (self.num_pages, 1, v.head_dim // VECTOR, v.page_size, VECTOR)
        )
        v_shape = (
            (self.num_pages, 1, v.v_head_dim)
            if linear
            else (self.num_pages, 1, v.page_size // VECTOR, v.v_head_dim, VECTOR)
        )

        def ints(values: list[int], *shape: int) -> DeviceArray:
            return DeviceArray.from_bytes(array.array("i", values).tobytes(), shape or (len(values),), "<i4", device)

        return {
            "q": DeviceArray.from_bytes(b"".join(self.q), (self.total_q, HEADS, v.head_dim), "|u1", device),
            "k_cache": DeviceArray.from_bytes(
                self._pages(self.keys, v.head_dim, self._k_offset), k_shape, "|u1", device
            ),
            "v_cache": DeviceArray.from_bytes(
                self._pages(self.values, v.v_head_dim, self._v_offset), v_shape, "|u1", device
            ),
            "cu_seqlens_q": ints(starts),
            "seqlens_k": ints([length for _, length in self.sequences]),
            "block_table": ints(table, len(self.tables), width),
            "max_seqlen_q": max(new for new, _ in self.sequences),
            "max_seqlen_k": max(length for _, length in self.sequences),
            "q_descale": 1.0,
            "k_descale": 1.0,
            "v_descale": V_DESCALE,
        }

    def _k_offset(self, token: int, element: int) -> int:
        if self.variant.kv_layout == "linear":
            return element
        return (element // VECTOR * self.variant.page_size + token) * VECTOR + element % VECTOR

    def _v_offset(self, token: int, element: int) -> int:
        if self.variant.kv_layout == "linear":
            return element
        return (token // VECTOR * self.variant.v_head_dim + element) * VECTOR + token % VECTOR

    def _pages(self, sequences: list[list[bytes]], dim: int, offset) -> bytearray:
        page_size = self.variant.page_size
        pages = bytearray([NAN_BYTE]) * (self.num_pages * page_size * dim)
        for rows, table in zip(sequences, self.tables):
            for token, row in enumerate(rows):
                base = table[token // page_size] * page_size * dim
                for element, byte in enumerate(row):
                    pages[base + offset(token % page_size, element)] = byte
        return pages

    def expected(self) -> list[float]:
        """out, flattened, in float64."""
        scale = self.variant.head_dim**-0.5
        result: list[float] = []
        row = 0
        for (new, length), keys, values in zip(self.sequences, self.keys, self.values):
            decoded_keys = [[_FP8[byte] for byte in key] for key in keys]
            columns = list(zip(*([_FP8[byte] for byte in value] for value in values)))
            for i in range(new):
                for _ in range(HEADS):
                    query = [_FP8[byte] for byte in self.q[row]]
                    row += 1
                    seen = i + length - new + 1
                    scores = [scale * sum(map(float.__mul__, query, key)) for key in decoded_keys[:seen]]
                    top = max(scores)
                    weights = [math.exp(score - top) for score in scores]
                    total = sum(weights)
                    result += [V_DESCALE * sum(map(float.__mul__, weights, column)) / total for column in columns]
        return result
