"""Plain models of what the kernel's lane maps rely on: LDS banks, DMA, operand and result layouts.

Written from the hardware's documents, not from the kernel; numpy only.
"""

import numpy as np

LANES = 64
BANKS, BANK_BYTES = 64, 4


def conflicts(addresses, size, lanes_of_phase):
    """The most different words that any bank has to deliver in one phase; 1 is free of conflicts."""
    worst = 0
    for first in range(0, LANES, lanes_of_phase):
        words = {}
        for address in addresses[first : first + lanes_of_phase]:
            for word in range(address // BANK_BYTES, (address + size) // BANK_BYTES):
                words.setdefault(word % BANKS, set()).add(word)
        worst = max(worst, max(len(of_bank) for of_bank in words.values()))
    return worst


def dma(lds, to, source, offsets):
    """One LDS-DMA instruction: lane i's 16 bytes land at to + 16 * i."""
    for lane in range(LANES):
        lds[to + 16 * lane : to + 16 * lane + 16] = source[offsets[lane] : offsets[lane] + 16]


def read(lds, addresses, size=16):
    return np.stack([lds[address : address + size] for address in addresses])


def read_transposed(lds, addresses):
    """ds_read_b64_tr_b8: of sixteen lanes' 8 bytes each, lane l receives byte l % 8 of lanes l / 8, 2 + l / 8, ..."""
    given = read(lds, addresses, 8).reshape(4, 16, 8)
    taken = np.empty_like(given)
    for lane in range(16):
        for j in range(8):
            taken[:, lane, j] = given[:, 2 * j + lane // 8, lane % 8]
    return taken.reshape(LANES, 8)


def operand_matrix(lanes):
    """[row or column, k] of a 32x32x64 operand: byte 16*i + j of lane l is k = 32*i + 16*(l/32) + j."""
    matrix = np.empty((32, 64), lanes.dtype)
    for lane in range(LANES):
        for i in range(2):
            k = 32 * i + 16 * (lane // 32)
            matrix[lane % 32, k : k + 16] = lanes[lane, 16 * i : 16 * i + 16]
    return matrix


def result_lanes(matrix):
    """[lane, register] of a 32x32 result: column l % 32, row 8*(v/4) + 4*(l/32) + v%4."""
    lane, v = np.arange(LANES)[:, None], np.arange(16)[None, :]
    return matrix[8 * (v // 4) + 4 * (lane // 32) + v % 4, lane % 32]
