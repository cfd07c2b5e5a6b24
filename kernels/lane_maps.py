"""Who holds what: lanes, registers and LDS slots of the K, V, P and score tiles, as plain functions.

Owns: every permutation and swizzle of the kernel. The functions use + * & | >> << ^ only, so that they take Python
integers (the unit tests enumerate 64 lanes) as well as the DSL's values (the kernel).
Units: bytes for LDS and page offsets; keys, dims and columns are counted inside their tile.

The maps that everything follows from (32x32x64 product: lane l, half h = l / 32, register v, operand byte 16*i + j):

| operand | lane gives | byte or register gives |
|---|---|---|
| A of QK (K)   | row m = l % 32, which holds key `key_of_row(m)`  | dim 64*step + 32*i + 16*h + j |
| B of QK (Q)   | query n = l % 32                                 | the same dim                  |
| scores        | query n = l % 32                                 | row 8*(v/4) + 4*h + v%4, which is key 16*h + v |
| B of PV (P)   | query n = l % 32                                 | key 32*i + 16*h + j: the scores' own order     |
| A of PV (V)   | column m = l % 32                                | the same key: chunk 2*i + h of 16 keys         |
| output        | query n = l % 32                                 | column 8*(v/4) + 4*h + v%4    |

LDS image of K: [group of 16 keys][chunk of 16 dims][slot][16 dims]; of V: [group][column][16 keys], or for V by rows
[group][chunk of 16 columns][slot][16 columns]. A key's slot is its number in the group, with the two halves of the
group exchanged where group + chunk is odd: the sixteen lanes of one read phase then touch 256 different bytes.
"""

from __future__ import annotations

from .traits import CHUNK, GROUP_KEYS

LDS_BANKS = 64
BANK_BYTES = 4
SLOT_ROW = GROUP_KEYS * CHUNK  # bytes of one chunk of one group


def half_of(lane):
    return lane >> 5


def row_of(lane):
    return lane & 31


def key_of_row(row):
    """The key (of 32) that row `row` of a QK product holds. Then register v of half h is key 16*h + v."""
    return ((row >> 2) & 1) * GROUP_KEYS + key_in_group(row)


def key_in_group(row):
    return ((row >> 3) << 2) + (row & 3)


def group_of_row(row):
    return (row >> 2) & 1


def slot_of_key(key, group, chunk):
    return key ^ (((group ^ chunk) & 1) << 3)


def k_read_offset(lane, k_group):
    """A lane's 16 bytes of the first product; later ones lie whole groups or pairs of chunks further on.

    `k_group`: bytes of a key group. Group and chunk numbers that are added later are even, so the slot stays.
    """
    row, half = row_of(lane), half_of(lane)
    slot = slot_of_key(key_in_group(row), group_of_row(row), half)
    return group_of_row(row) * k_group + half * SLOT_ROW + slot * CHUNK


def v_read_offset(lane, v_group):
    """The same for V whose 16 bytes are 16 keys of one column."""
    return half_of(lane) * v_group + row_of(lane) * CHUNK


def v_rows_read_offset(lane, v_group, upper):
    """The same for V by rows, read with ds_read_b64_tr_b8: keys 0..7 of a group, or (upper = 1) 8..15.

    Sixteen lanes read an 8 x 16 byte block, lane i the half i%2 of row i/2, and receive column i of it.
    """
    half, chunk, i = half_of(lane), (lane >> 4) & 1, lane & 15
    slot = slot_of_key((upper << 3) + (i >> 1), half, chunk)
    return half * v_group + chunk * SLOT_ROW + slot * CHUNK + ((i & 1) << 3)


def staged_key(lane, group):
    """The key of its group that a DMA lane fetches: lane i of a unit fills LDS slot i%16 of chunk i/16."""
    return slot_of_key(lane & 15, group, lane >> 4)


def k_source_offset(lane, group, page_keys):
    """Where in the page's part for one head a lane of the first K unit finds its 16 dims; [dim/16][key][16]."""
    return (lane >> 4) * (page_keys * CHUNK) + staged_key(lane, group) * CHUNK


def v_source_offset(lane):
    """V of a vectorized page is copied as it lies: [key/16][column][16]."""
    return lane * CHUNK


def linear_source_offset(lane):
    """Rows of one token: the lane's chunk of 16 elements; the token is the lane's `staged_key`."""
    return (lane >> 4) * CHUNK


def ones_of_lane(lane):
    """A operand of the row-sum product (16x16x128): ones where (m/4) % 2 == (l/16) % 2, m = l % 16.

    Operand B is P as it lies: column n = l % 16, lanes 16 apart alternate between queries n and n + 16. Result lane l
    holds rows 4*(l/16).. of column l%16, so all four of its registers are the sum for query l % 32.
    """
    return (((lane >> 2) ^ (lane >> 4)) & 1) ^ 1
