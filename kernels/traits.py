"""What one variant's kernel is made of, as numbers.

Owns: the shape of a workgroup, the KV tile, the LDS stages and the loads in flight, all derived from a `Variant`.
Refuses: nothing; `Variant` has refused what no kernel is written for.
Units: bytes unless a name says keys, rows, loads, waves or chunks. One FP8 element is one byte.
"""

from __future__ import annotations

import dataclasses

from paged_attn_runtime.variant import Variant

LANES = 64
LANES_SHIFT = 6
WAVES = 8  # two for each of the four SIMDs: one multiplies while its partner does the softmax
GROUPS = 2  # waves 0..3 and 4..7, one phase apart
GROUP_WAVES = WAVES // GROUPS
GROUP_SHIFT = 2
THREADS = LANES * WAVES

WAVE_ROWS = 32  # query rows of a wave: the columns of a 32x32x64 product
SUBTILE_KEYS = 32  # keys of one QK product
HALF_KEYS = 64  # keys of one softmax step: the depth of one PV product
HALVES = 2
TILE_KEYS = HALF_KEYS * HALVES  # keys staged together
TILE_SHIFT = 7
GROUP_KEYS = 16  # keys of one 16-byte V chunk; a wave stages one group of each tile
CHUNK = 16  # bytes that a lane moves at once
STEP_DIMS = 64  # head dims of one QK product
COLUMN_BLOCK = 32  # V columns of one PV product
UNIT = LANES * CHUNK  # bytes of one LDS-DMA instruction

STAGES = 3  # tile T is read, T+1 has arrived, T+2 is on its way
LDS_LIMIT = 160 * 1024


@dataclasses.dataclass(frozen=True)
class Problem:
    """The compile-time half of the problem."""

    head_dim: int
    v_head_dim: int
    page_keys: int
    transposed_v: bool  # V comes by rows and has to be transposed on its way out of LDS

    @property
    def qk_steps(self) -> int:
        return self.head_dim // STEP_DIMS

    @property
    def column_blocks(self) -> int:
        return self.v_head_dim // COLUMN_BLOCK

    @property
    def page_shift(self) -> int:
        return self.page_keys.bit_length() - 1

    @property
    def page_groups(self) -> int:
        return max(1, self.page_keys // GROUP_KEYS)

    @property
    def k_page(self) -> int:
        """Bytes of one page of one KV head."""
        return self.head_dim * self.page_keys

    @property
    def v_page(self) -> int:
        return self.v_head_dim * self.page_keys


@dataclasses.dataclass(frozen=True)
class Stages:
    """K and V tiles in LDS. A stage holds the eight key groups of K, then those of V."""

    problem: Problem

    @property
    def k_group(self) -> int:
        return GROUP_KEYS * self.problem.head_dim

    @property
    def v_group(self) -> int:
        return GROUP_KEYS * self.problem.v_head_dim

    @property
    def v_offset(self) -> int:
        return WAVES * self.k_group

    @property
    def stage(self) -> int:
        return WAVES * (self.k_group + self.v_group)

    @property
    def total(self) -> int:
        return STAGES * self.stage


@dataclasses.dataclass(frozen=True)
class Loads:
    """Vector memory instructions of one wave for one tile, from which every wait count follows."""

    problem: Problem

    @property
    def k_units(self) -> int:
        return GROUP_KEYS * self.problem.head_dim // UNIT

    @property
    def v_units(self) -> int:
        return GROUP_KEYS * self.problem.v_head_dim // UNIT

    @property
    def tile(self) -> int:
        return self.k_units + self.v_units

    @property
    def ids(self) -> int:
        """Page ids come through the scalar cache, but at page 1 every key has its own and they are gathered."""
        return 1 if self.problem.page_keys < GROUP_KEYS else 0

    @property
    def after_newest(self) -> int:
        """Loads younger than tile T+1 at the end of the phase that asks for tile T+2 (and for the ids of T+3)."""
        return self.tile + self.ids


@dataclasses.dataclass(frozen=True)
class Traits:
    variant: Variant
    problem: Problem
    stages: Stages
    loads: Loads

    @property
    def split_keys(self) -> bool:
        """The two wave groups share the rows and split the keys, instead of sharing the keys and splitting the rows."""
        return self.variant.batch_policy != "longest_first"

    @property
    def rows(self) -> int:
        """Query rows of a workgroup."""
        return WAVE_ROWS * WAVES // (GROUPS if self.split_keys else 1)

    @property
    def rows_shift(self) -> int:
        return self.rows.bit_length() - 1


def traits_of(variant: Variant) -> Traits:
    problem = Problem(variant.head_dim, variant.v_head_dim, variant.page_size, variant.kv_layout == "linear")
    return Traits(variant, problem, Stages(problem), Loads(problem))
