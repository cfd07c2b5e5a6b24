"""Keys and values on their way: page -> LDS by DMA, LDS -> matrix operands.

Owns: page ids, page addresses, the stage a tile lies in. A wave stages one group of 16 keys of every tile, K and V, so
that it needs one page id a tile (page 1: one a lane).
Refuses: to read a page-table entry past the sequence's last page; such groups are staged from the last page again and
masked where they are used.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import flydsl.expr as fx

from . import isa, lane_maps
from .traits import COLUMN_BLOCK, GROUP_KEYS, HALF_KEYS, STEP_DIMS, TILE_KEYS, UNIT, Traits


@dataclasses.dataclass(frozen=True)
class PageTable:
    """The pages of one sequence: 4- or 8-byte ids (the low word counts) from `ids` on."""

    ids: fx.Pointer
    id_words_shift: fx.Int32  # 0: int32, 1: int64
    last: fx.Int32  # index of the sequence's last page


@dataclasses.dataclass(frozen=True)
class Cache:
    """One KV head of the paged cache, and how this wave's lanes find their bytes in a page."""

    table: PageTable
    k: fx.Pointer
    v: fx.Pointer
    k_page_stride: fx.Int64
    v_page_stride: fx.Int64
    group: fx.Int32  # the key group of each tile that this wave stages
    inside: fx.Int32  # its number in the page, where a page holds no more than a tile
    lane_key: fx.Int32
    k_lane: fx.Int32
    v_lane: fx.Int32


def open_cache(traits: Traits, table, k, v, k_page_stride, v_page_stride, wave, lane) -> Cache:
    problem = traits.problem
    if problem.transposed_v:
        k_lane = v_lane = lane_maps.linear_source_offset(lane)
    else:
        k_lane = lane_maps.k_source_offset(lane, wave, problem.page_keys)
        v_lane = lane_maps.v_source_offset(lane)
    key = lane_maps.staged_key(lane, wave)
    inside = wave & (problem.page_groups - 1)
    return Cache(table, k, v, k_page_stride, v_page_stride, wave, inside, key, k_lane, v_lane)


# -------------------------------------------------------------------------------------------------------- page ids
def load_page_id(traits: Traits, cache: Cache, tile):
    """The id for this wave's part of a tile: a scalar, or one a lane at page 1. Clamped to the last page.

    Unsigned: the tile behind the last may begin at key 2^31.
    """
    key = fx.Uint32(tile * TILE_KEYS + cache.group * GROUP_KEYS)
    table = cache.table
    last = fx.Uint32(table.last)
    if traits.problem.page_keys < GROUP_KEYS:
        index = fx.min(key + fx.Uint32(cache.lane_key), last)
        offset = fx.Int64(index) << fx.Int64(table.id_words_shift)
        return isa.load_gathered(table.ids + offset)
    index = fx.min(key >> fx.Uint32(traits.problem.page_shift), last)
    offset = fx.Int64(index) << fx.Int64(table.id_words_shift)
    return isa.load_scalar(table.ids, offset)


# -------------------------------------------------------------------------------------------------- global to LDS
def open_page(traits: Traits, cache: Cache, tile, page_id):
    """Where this wave's group of a tile lies: 64-bit addresses (page 1: one a lane), and the group's number in its page."""
    problem = traits.problem
    page = fx.Int64(fx.Uint32(page_id))
    k = fx.Int64(fx.ptrtoint(cache.k)) + page * cache.k_page_stride
    v = fx.Int64(fx.ptrtoint(cache.v)) + page * cache.v_page_stride
    if problem.transposed_v:
        k, v = k + fx.Int64(cache.k_lane), v + fx.Int64(cache.v_lane)
    inside = cache.inside
    if problem.page_keys > TILE_KEYS:
        inside = (tile * (TILE_KEYS // GROUP_KEYS) + cache.group) & (problem.page_groups - 1)
    return SimpleNamespace(k=k, v=v, inside=inside)


def stage_loads(traits: Traits, cache: Cache, lds, stage, page):
    """The `Loads.tile` DMA instructions for this wave's group of a tile, as functions, to be issued in this order."""
    stages, loads, problem = traits.stages, traits.loads, traits.problem
    k_to = lds + (stage + cache.group * stages.k_group)
    v_to = lds + (stage + stages.v_offset + cache.group * stages.v_group)
    k_from, v_from = isa.bytes_at(page.k), isa.bytes_at(page.v)
    if problem.transposed_v:
        # the constant counts in LDS too, where units are UNIT apart
        def token(source, to, unit):
            return lambda: isa.dma_global(source, to + unit * (UNIT - STEP_DIMS), unit * STEP_DIMS)

        k_loads = [token(k_from, k_to, unit) for unit in range(loads.k_units)]
        return k_loads + [token(v_from, v_to, unit) for unit in range(loads.v_units)]

    def part(buffer, to, lane, offset, unit):
        return lambda: isa.dma_buffer(buffer, to + unit * UNIT, lane, offset)

    k_buffer, v_buffer = isa.buffer_of(k_from, problem.k_page), isa.buffer_of(v_from, problem.v_page)
    k_inside, v_inside = page.inside * lane_maps.SLOT_ROW, page.inside * stages.v_group
    k_pitch = problem.page_keys * STEP_DIMS  # from one unit's four chunks of dims to the next four
    k_loads = [part(k_buffer, k_to, cache.k_lane, k_inside + i * k_pitch, i) for i in range(loads.k_units)]
    return k_loads + [part(v_buffer, v_to, cache.v_lane, v_inside + i * UNIT, i) for i in range(loads.v_units)]


def stage_tile(traits: Traits, cache: Cache, lds, stage, tile, page_id):
    """All of them at once."""
    for load in stage_loads(traits, cache, lds, stage, open_page(traits, cache, tile, page_id)):
        load()


# ------------------------------------------------------------------------------------------------ LDS to registers
def reader(traits: Traits, lane):
    """The lane's part of every K and V read."""
    stages = traits.stages
    k = lane_maps.k_read_offset(lane, stages.k_group)
    if traits.problem.transposed_v:
        v = [lane_maps.v_rows_read_offset(lane, stages.v_group, upper) for upper in range(2)]
    else:
        v = [lane_maps.v_read_offset(lane, stages.v_group)]
    return SimpleNamespace(k=k, v=v)


def read_k(traits: Traits, lds, at, subtile, step):
    """The K operand of one product: 32 keys, 64 dims. `at`: LDS offset of the half tile plus the lane's part."""
    offset = subtile * 2 * traits.stages.k_group + step * 4 * lane_maps.SLOT_ROW
    return isa.join([isa.read_lds(lds + (at + (offset + i * 2 * lane_maps.SLOT_ROW))) for i in range(2)])


def read_v(traits: Traits, lds, at, block):
    """The V operand of one product: 32 columns, 64 keys."""
    group = 2 * traits.stages.v_group
    if not traits.problem.transposed_v:
        offset = block * COLUMN_BLOCK * GROUP_KEYS
        return isa.join([isa.read_lds(lds + (at[0] + (offset + i * group))) for i in range(2)])
    offset = block * 2 * lane_maps.SLOT_ROW
    parts = [isa.read_lds_transposed(lds + (at[upper] + (offset + i * group))) for i in range(2) for upper in range(2)]
    return isa.join(parts)


def k_half(traits: Traits, stage, half):
    return stage + half * (HALF_KEYS // GROUP_KEYS * traits.stages.k_group)


def v_half(traits: Traits, stage, half):
    return stage + traits.stages.v_offset + half * (HALF_KEYS // GROUP_KEYS * traits.stages.v_group)
