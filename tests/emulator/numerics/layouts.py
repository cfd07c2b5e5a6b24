"""Where matrix elements sit in registers, written from the documents and apart from the C++.

Sources: AMD matrix instruction calculator (register-to-element formulas of CDNA3, blocks, cbsz/abid/blgp, compression indices) and the
AMD matrix core post of 2025 for the f8f6f4 shapes (5.4: 8-bit operands in two halves, 5.5: contiguous fp4).
"""

import re
from dataclasses import dataclass

import numpy as np

FP8, BF8, FP6, BF6, FP4, F16, BF16 = range(7)
WIDTH = {"f32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "i8": 8, "f64": 64}


@dataclass(frozen=True)
class Shape:
    m: int
    k: int
    blocks: int
    a: str
    b: str
    sparse: bool

    @property
    def groups(self):
        """Lane groups that hold different k of one row."""
        return 64 // (self.m * self.blocks)

    @property
    def per_lane(self):
        return self.k // self.groups


def shape_of(mnemonic):
    found = re.fullmatch(
        r"v_(s?)mf?mac?_(?:f32|i32|f64)_(\d+)x\2x(\d+)(?:_(\d+)b)?_(\w+?)(?:_(\w+))?",
        mnemonic.replace("mfma_", "mfmac_"),
    )
    sparse, m, k, blocks, a, b = found.groups()
    return Shape(int(m), int(k), int(blocks or 1), a, b or a, bool(sparse))


def pack(elements, width):
    """elements[lane][e] (unsigned codes) -> rows[register][lane], low bits first."""
    lanes, count = elements.shape
    words = count * width // 32
    bits = (elements[:, :, None] >> np.arange(width, dtype=np.uint64)) & 1
    bits = bits.reshape(lanes, words, 32).astype(np.uint64)
    return (bits << np.arange(32, dtype=np.uint64)).sum(axis=2).astype(np.uint32).T.copy()


def operand_rows(shape, matrix, width):
    """matrix[block][row][k] of codes -> rows. The lane's row is l % m, its block (l / m) % blocks, its k group the rest."""
    lanes = np.zeros((64, shape.per_lane), np.uint64)
    for lane in range(64):
        row, block, group = lane % shape.m, lane // shape.m % shape.blocks, lane // (shape.m * shape.blocks)
        lanes[lane] = matrix[block, row, group * shape.per_lane : (group + 1) * shape.per_lane]
    return pack(lanes, width)


def sparse_rows(shape, kept, positions, width):
    """kept[row][k/2] codes and positions[row][k/2] in 0..3 -> (rows of A, the index row in its lowest set)."""
    half = shape.per_lane // 2
    lanes, index = np.zeros((64, half), np.uint64), np.zeros(64, np.uint64)
    for lane in range(64):
        row, group = lane % shape.m, lane // shape.m
        here = slice(group * half, (group + 1) * half)
        lanes[lane] = kept[row, here]
        for e, position in enumerate(positions[row, here]):
            index[lane] |= np.uint64(int(position) << (2 * e))
    return pack(lanes, width), index


def accumulator_place(m, blocks, row, column, block):
    """(register, lane) of a 32-bit C/D element."""
    if m == 32:
        return 16 * block + 4 * (row // 8) + row % 4, 32 * (row // 4 % 2) + column
    if m == 16:
        return 4 * block + row % 4, 16 * (row // 4) + column
    return row, 4 * block + column


def accumulator_rows(m, blocks, matrix):
    """matrix[block][row][column] of 32-bit words -> rows."""
    rows = np.zeros((m * m * blocks // 64, 64), np.uint32)
    for block in range(blocks):
        for row in range(m):
            for column in range(m):
                rows[accumulator_place(m, blocks, row, column, block)] = matrix[block, row, column]
    return rows


def accumulator_matrix(m, blocks, rows):
    out = np.zeros((blocks, m, m), np.uint32)
    for block in range(blocks):
        for row in range(m):
            for column in range(m):
                out[block, row, column] = rows[accumulator_place(m, blocks, row, column, block)]
    return out


def f8f6f4_rows(m, matrix, width):
    """matrix[row][k] of codes for 32x32x64 (m 32) or 16x16x128 (m 16)."""
    depth = matrix.shape[1]
    lanes = np.zeros((64, 32), np.uint64)
    for lane in range(64):
        row, group = lane % m, lane // m
        for e in range(32):
            k = depth // 2 * (e // 16) + 16 * group + e % 16 if width == 8 else 32 * group + e
            lanes[lane, e] = matrix[row, k]
    return pack(lanes, width)
