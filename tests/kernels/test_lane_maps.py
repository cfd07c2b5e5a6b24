"""The lane maps of the kernel, enumerated over 64 lanes: they fit together, and LDS is read without bank conflicts."""

import numpy as np
import pytest

from kernels import lane_maps
from kernels.traits import CHUNK, GROUP_KEYS, HALF_KEYS, STEP_DIMS, SUBTILE_KEYS, TILE_KEYS, UNIT, WAVES, traits_of
from paged_attn_runtime.variant import HEAD_DIM_PAIRS, PAGE_LAYOUT, Variant
from tests.kernels import machine

LANE = range(machine.LANES)
PAGES = sorted(PAGE_LAYOUT)


def traits(pair, page):
    return traits_of(Variant(*pair, page, PAGE_LAYOUT[page], "longest_first"))


def staged_tile(t, k, v, tile=0):
    """LDS after all eight waves have staged their group of a tile; k: [keys, D], v: [keys, Dv] as bytes."""
    problem, stages, loads = t.problem, t.stages, t.loads
    lds = np.zeros(stages.stage, np.uint8)
    for wave in range(WAVES):
        k_to, v_to = wave * stages.k_group, stages.v_offset + wave * stages.v_group
        if problem.transposed_v:
            keys = [16 * wave + lane_maps.staged_key(lane, wave) for lane in LANE]
            for unit in range(loads.k_units):
                offsets = [keys[i] * problem.head_dim + lane_maps.linear_source_offset(i) + 64 * unit for i in LANE]
                machine.dma(lds, k_to + unit * UNIT, k.reshape(-1), offsets)
            for unit in range(loads.v_units):
                offsets = [keys[i] * problem.v_head_dim + lane_maps.linear_source_offset(i) + 64 * unit for i in LANE]
                machine.dma(lds, v_to + unit * UNIT, v.reshape(-1), offsets)
            continue
        group = tile * WAVES + wave
        page, inside = divmod(group, problem.page_groups)
        keys = slice(page * problem.page_keys, (page + 1) * problem.page_keys)
        k_page = k[keys].reshape(problem.page_keys, -1, CHUNK).transpose(1, 0, 2).reshape(-1)
        v_page = v[keys].reshape(problem.page_groups, GROUP_KEYS, -1).transpose(0, 2, 1).reshape(-1)
        for unit in range(loads.k_units):
            base = inside * lane_maps.SLOT_ROW + unit * problem.page_keys * STEP_DIMS
            offsets = [base + lane_maps.k_source_offset(lane, wave, problem.page_keys) for lane in LANE]
            machine.dma(lds, k_to + unit * UNIT, k_page, offsets)
        for unit in range(loads.v_units):
            base = inside * stages.v_group + unit * UNIT
            machine.dma(lds, v_to + unit * UNIT, v_page, [base + lane_maps.v_source_offset(lane) for lane in LANE])
    return lds


def k_addresses(t, half, subtile, step, i):
    group = half * (HALF_KEYS // GROUP_KEYS) + subtile * 2
    base = group * t.stages.k_group + (step * 4 + i * 2) * lane_maps.SLOT_ROW
    return [base + lane_maps.k_read_offset(lane, t.stages.k_group) for lane in LANE]


def v_addresses(t, half, block, i, upper=None):
    base = t.stages.v_offset + (half * (HALF_KEYS // GROUP_KEYS) + 2 * i) * t.stages.v_group
    if upper is None:
        return [base + block * 32 * CHUNK + lane_maps.v_read_offset(lane, t.stages.v_group) for lane in LANE]
    base += block * 2 * lane_maps.SLOT_ROW
    return [base + lane_maps.v_rows_read_offset(lane, t.stages.v_group, upper) for lane in LANE]


def read_k(t, lds, half, subtile, step):
    return np.concatenate([machine.read(lds, k_addresses(t, half, subtile, step, i)) for i in range(2)], axis=1)


def read_v(t, lds, half, block):
    if not t.problem.transposed_v:
        return np.concatenate([machine.read(lds, v_addresses(t, half, block, i)) for i in range(2)], axis=1)
    parts = [
        machine.read_transposed(lds, v_addresses(t, half, block, i, upper)) for i in range(2) for upper in range(2)
    ]
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("pair", HEAD_DIM_PAIRS)
def test_a_staged_tile_gives_attention(pair, page):
    t = traits(pair, page)
    rng = np.random.default_rng(page)
    tile = 3 if page > TILE_KEYS else 0
    rows = max(page, TILE_KEYS)
    k, v = (rng.integers(0, 8, (rows, width)).astype(np.uint8) for width in pair)
    q = rng.integers(0, 8, (32, pair[0])).astype(np.int64)
    weights = rng.integers(0, 8, (32, rows)).astype(np.int64)
    lds = staged_tile(t, k, v, tile)
    for half in range(2):
        first = tile * TILE_KEYS + half * HALF_KEYS
        held = np.empty((64, 32), np.int64)  # P as the scores' registers hold it: lane, byte
        for subtile in range(2):
            scores = np.zeros((32, 32), np.int64)
            for step in range(t.problem.qk_steps):
                a = machine.operand_matrix(read_k(t, lds, half, subtile, step)).astype(np.int64)
                dims = np.arange(64) + 64 * step
                scores += a @ q[:, dims].T
            lanes = machine.result_lanes(scores)
            for lane in LANE:
                keys = first + subtile * SUBTILE_KEYS + 16 * lane_maps.half_of(lane) + np.arange(16)
                query = lane_maps.row_of(lane)
                assert (lanes[lane] == k[keys].astype(np.int64) @ q[query]).all()
                held[lane, 16 * subtile : 16 * subtile + 16] = weights[query, keys]
        p = machine.operand_matrix(held)
        for block in range(t.problem.column_blocks):
            a = machine.operand_matrix(read_v(t, lds, half, block)).astype(np.int64)
            out = machine.result_lanes(a @ p.T)
            expected = weights[:, first : first + 64] @ v[first : first + 64].astype(np.int64)
            for lane in LANE:
                register = np.arange(16)
                column = 32 * block + 8 * (register // 4) + 4 * (lane // 32) + register % 4
                assert (out[lane] == expected[lane % 32, column]).all()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("pair", HEAD_DIM_PAIRS)
def test_lds_reads_have_no_bank_conflicts(pair, page):
    t = traits(pair, page)
    for half in range(2):
        for i in range(2):
            for subtile in range(2):
                for step in range(t.problem.qk_steps):
                    assert machine.conflicts(k_addresses(t, half, subtile, step, i), 16, 16) == 1
            for block in range(t.problem.column_blocks):
                if t.problem.transposed_v:
                    for upper in range(2):
                        assert machine.conflicts(v_addresses(t, half, block, i, upper), 8, 32) == 1
                else:
                    assert machine.conflicts(v_addresses(t, half, block, i), 16, 16) == 1


def test_without_the_swizzle_k_would_conflict():
    plain = [
        lane_maps.group_of_row(row) * 2048 + lane_maps.key_in_group(row) * CHUNK
        for row in (lane_maps.row_of(lane) for lane in LANE)
    ]
    assert machine.conflicts(plain, 16, 16) == 2


def test_score_registers_hold_sixteen_consecutive_keys():
    keys = machine.result_lanes(np.array([[lane_maps.key_of_row(row)] * 32 for row in range(32)]))
    for lane in LANE:
        assert keys[lane].tolist() == [16 * lane_maps.half_of(lane) + v for v in range(16)]


@pytest.mark.parametrize("order", ["halves", "contiguous"])
def test_the_row_sum_product_gives_every_lane_its_own_query(order):
    """A 16x16x128 product with ones; k of a lane's bytes may be either of the two orders in question."""
    p = np.random.default_rng(1).integers(0, 100, (64, 32))

    def matrix(lanes):
        result = np.empty((16, 128), np.int64)
        for lane in LANE:
            group = lane // 16
            if order == "contiguous":
                k = 32 * group + np.arange(32)
            else:
                k = np.concatenate([64 * i + 16 * group + np.arange(16) for i in range(2)])
            result[lane % 16, k] = lanes[lane]
        return result

    ones = np.array([[lane_maps.ones_of_lane(lane)] * 32 for lane in LANE])
    sums = matrix(ones) @ matrix(p).T
    for lane in LANE:
        for v in range(4):
            expected = p[lane % 32].sum() + p[lane % 32 + 32].sum()
            assert sums[4 * (lane // 16) + v, lane % 16] == expected
