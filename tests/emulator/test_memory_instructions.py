"""Loads, stores, atomics and scratch. Range checks: CDNA3 ISA reference 9.1.5; flat apertures, scratch and kernarg preload: LLVM's
AMDGPU usage guide; transposing LDS reads and DMA addresses: see docs/emulator.md."""

import numpy as np
import pytest

from . import machine
from .machine import LOAD_ARGUMENTS, Buffer, LaunchError, Source

DESCRIPTOR = "s_mov_b32 s8, s4\ns_and_b32 s9, s5, 0xffff\ns_mov_b32 s10, {records}\ns_mov_b32 s11, 0x27000\n"
LANE = np.arange(64)
BYTES = np.random.default_rng(5).integers(0, 256, 4096, np.uint8)


def run(body, given=None, nbytes=256, block=(64, 1, 1), strict=True, result=None, **source):
    """The result buffer after `body`; s[4:5] is the given data, s[6:7] the result."""
    given = Buffer.of(BYTES if given is None else given)
    result = result or Buffer.of(np.zeros(nbytes, np.uint8))
    machine.run_once(Source("kernel", LOAD_ARGUMENTS + body, **source), given, result, block=block, strict=strict)
    return result


NARROW = {
    "ubyte": lambda p, o: int(BYTES[p]),
    "sbyte": lambda p, o: int(BYTES[p].astype(np.int8)),
    "ushort": lambda p, o: int(BYTES[p : p + 2].view(np.uint16)[0]),
    "sshort": lambda p, o: int(BYTES[p : p + 2].view(np.int16)[0]),
    "ubyte_d16": lambda p, o: (o & 0xFFFF0000) | int(BYTES[p]),
    "short_d16": lambda p, o: (o & 0xFFFF0000) | int(BYTES[p : p + 2].view(np.uint16)[0]),
    "short_d16_hi": lambda p, o: (o & 0xFFFF) | int(BYTES[p : p + 2].view(np.uint16)[0]) << 16,
    "sbyte_d16_hi": lambda p, o: (o & 0xFFFF) | (int(BYTES[p].astype(np.int8)) & 0xFFFF) << 16,
}
STORE = "s_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_dword v1, v2, s[6:7]\n"


@pytest.mark.parametrize("form", NARROW)
@pytest.mark.parametrize("family", ["global", "buffer", "flat"])
def test_narrow_loads(form, family):
    access = {
        "global": f"global_load_{form} v2, v3, s[4:5] offset:2",
        "buffer": DESCRIPTOR.format(records=4096) + f"buffer_load_{form} v2, v3, s[8:11], 0 offen offset:2",
        "flat": f"v_mov_b32 v5, s5\nv_add_co_u32 v4, vcc, s4, v3\ns_nop 0\nv_addc_co_u32 v5, vcc, 0, v5, vcc\nflat_load_{form} v2, v[4:5] offset:2",
    }[family]
    got = run("v_mul_u32_u24 v3, 6, v0\nv_mov_b32 v2, 0x12345678\n" + access + "\n" + STORE).read(np.uint32)
    assert got.tolist() == [NARROW[form](6 * n + 2, 0x12345678) & 0xFFFFFFFF for n in LANE]


@pytest.mark.parametrize("words", [2, 3, 4])
def test_wide_loads_and_stores(words):
    size = 4 * words
    body = f"v_mul_u32_u24 v3, {size}, v0\nglobal_load_dwordx{words} v[4:{3 + words}], v3, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_dwordx{words} v3, v[4:{3 + words}], s[6:7]"
    assert run(body, nbytes=64 * size).read(np.uint8).tolist() == BYTES[: 64 * size].tolist()


def test_buffer_range_is_checked_dword_by_dword():
    """num_records 40: lane 2's 16 bytes at 32 have two dwords inside; the rest reads 0. Stores outside are dropped."""
    body = (
        DESCRIPTOR.format(records=40)
        + "v_lshlrev_b32 v3, 4, v0\nbuffer_load_dwordx4 v[4:7], v3, s[8:11], 0 offen\ns_waitcnt vmcnt(0)\nglobal_store_dwordx4 v3, v[4:7], s[6:7]"
    )
    want = BYTES[:40].tolist() + [0] * (1024 - 40)
    assert run(body, BYTES[:40], nbytes=1024).read(np.uint8).tolist() == want
    swap = "s_mov_b64 s[12:13], s[4:5]\ns_mov_b64 s[4:5], s[6:7]\n"
    body = (
        swap
        + DESCRIPTOR.format(records=40)
        + "v_lshlrev_b32 v3, 4, v0\nv_mov_b32 v4, -1\nv_mov_b32 v5, -1\nv_mov_b32 v6, -1\nv_mov_b32 v7, -1\nbuffer_store_dwordx4 v[4:7], v3, s[8:11], 0 offen"
    )
    assert run(body, nbytes=64).read(np.uint8).tolist() == [255] * 40 + [0] * 24


def test_buffer_offsets_and_base_carry_past_32_bits():
    """soffset and the immediate take part in the address and the check; base + offset is a 64-bit sum."""
    body = (
        DESCRIPTOR.format(records=300)
        + "s_movk_i32 s12, 0x20\nbuffer_load_dword v2, v1, s[8:11], s12 offen offset:12\n"
        + STORE
    )
    got = run(body).read(np.uint32)
    want = [int(BYTES[4 * n + 44 : 4 * n + 48].view(np.uint32)[0]) if 4 * n + 48 <= 300 else 0 for n in LANE]
    assert got.tolist() == want


def test_structured_buffer_checks_the_index():
    body = (
        DESCRIPTOR.format(records=10)
        + "s_or_b32 s9, s9, 0x000c0000\nbuffer_load_dword v2, v0, s[8:11], 0 idxen offset:4\n"
        + STORE
    )
    want = [int(BYTES[12 * n + 4 : 12 * n + 8].view(np.uint32)[0]) if n < 10 else 0 for n in LANE]
    assert run(body).read(np.uint32).tolist() == want


def test_dma_to_lds():
    """LDS byte = M0 + immediate + lane * 4 (or 16); the same immediate is in the memory address; lanes out of range write 0."""
    body = (
        DESCRIPTOR.format(records=1024)
        + """
s_movk_i32 m0, 0x100
v_lshlrev_b32 v3, 4, v0
v_xor_b32 v4, 0x3f0, v3
buffer_load_dwordx4 v4, s[8:11], 0 offen offset:64 lds
s_waitcnt vmcnt(0)
ds_read_b128 v[8:11], v3 offset:320
s_waitcnt lgkmcnt(0)
global_store_dwordx4 v3, v[8:11], s[6:7]
"""
    )
    got = run(body, nbytes=1024, lds=2048).read(np.uint8).reshape(64, 16)
    for n in LANE:
        at = (16 * n ^ 0x3F0) + 64
        assert got[n].tolist() == (BYTES[at : at + 16].tolist() if at < 1024 else [0] * 16)


def test_global_dma_to_lds():
    body = (
        "s_movk_i32 m0, 0x40\nglobal_load_lds_dword v1, s[4:5] offset:8\ns_waitcnt vmcnt(0)\nds_read_b32 v2, v1 offset:72\n"
        + STORE
    )
    assert run(body, lds=1024).read(np.uint8).tolist() == BYTES[8:264].tolist()


@pytest.mark.parametrize("form", ["ubyte", "sbyte", "ushort", "sshort", "dword"])
@pytest.mark.parametrize("family", ["global", "buffer", "scratch"])
def test_narrow_dma_writes_a_dword_a_lane(family, form):
    """CDNA3 ISA 10.3: LDS_ADDR = LDSbase + M0 + offset + ThreadID * 4 for all of them; the mnemonic says how a lane's dword is filled."""
    access = {
        "global": f"global_load_lds_{form} v3, s[4:5] offset:4",
        "buffer": DESCRIPTOR.format(records=4096) + f"buffer_load_{form} v3, s[8:11], 0 offen offset:4 lds",
        "scratch": f"global_load_dword v4, v3, s[4:5] offset:4\ns_waitcnt vmcnt(0)\nscratch_store_dword off, v4, off offset:12\n"
        f"s_waitcnt vmcnt(0)\nv_mov_b32 v5, 8\nscratch_load_lds_{form} v5, off offset:4",
    }[family]
    body = (
        "v_mul_u32_u24 v3, 6, v0\ns_movk_i32 m0, 0x40\n"
        + access
        + "\ns_waitcnt vmcnt(0)\nds_read_b32 v2, v1 offset:68\n"
    )
    got = run(body + STORE, lds=324, scratch=64).read(np.uint32)
    value = NARROW.get(form, lambda p, o: int(BYTES[p : p + 4].view(np.uint32)[0]))
    assert got.tolist() == [value(6 * n + 4, 0) & 0xFFFFFFFF for n in LANE]


@pytest.mark.parametrize("width, st64", [(4, False), (8, False), (4, True), (8, True)])
def test_two_address_lds(width, st64):
    """Offsets count elements, or 64 of them."""
    unit, words = width * (64 if st64 else 1), width // 4
    name = f"2{'st64' if st64 else ''}_b{8 * width}"
    v = lambda n: f"v{n}" if words == 1 else f"v[{n}:{n + 1}]"  # noqa: E731
    four = "v[8:9]" if words == 1 else "v[8:11]"
    load = f"global_load_dword{'x2' if words == 2 else ''} "
    body = f"""
v_lshlrev_b32 v3, {2 if width == 4 else 3}, v0
v_lshlrev_b32 v12, {3 if width == 4 else 4}, v0
v_lshlrev_b32 v13, {3 if not st64 and width == 4 else 4 if not st64 else 2 if width == 4 else 3}, v0
{load} {v(4)}, v3, s[4:5]
{load} {v(6)}, v3, s[4:5] offset:1024
s_waitcnt vmcnt(0)
ds_write{name} v13, {v(4)}, {v(6)} offset0:2 offset1:3
s_waitcnt lgkmcnt(0)
ds_read{name} {four}, v13 offset0:2 offset1:3
s_waitcnt lgkmcnt(0)
global_store_dwordx{2 * words} v12, {four}, s[6:7]
"""
    got = run(body, nbytes=64 * 2 * width, lds=4 * unit + 2048).read(np.uint8).reshape(64, 2, width)
    for n in LANE:
        assert got[n, 0].tolist() == BYTES[width * n : width * (n + 1)].tolist()
        assert got[n, 1].tolist() == BYTES[1024 + width * n : 1024 + width * (n + 1)].tolist()


@pytest.mark.parametrize("bits, nbytes", [(8, 8), (16, 8), (4, 8), (6, 12)])
def test_transposing_reads(bits, nbytes):
    """Groups of 16 lanes: element 16*j + l of the group's bytes (lane order, low bits first) goes to slot j of lane l."""
    words = nbytes // 4
    v = {8: "v[4:5]", 12: "v[4:6]"}[nbytes]
    body = f"""
v_mul_u32_u24 v3, {nbytes}, v0
global_load_dwordx{words} {v}, v3, s[4:5]
s_waitcnt vmcnt(0)
ds_write_b{8 * nbytes} v3, {v}
s_waitcnt lgkmcnt(0)
ds_read_b{8 * nbytes}_tr_b{bits} {v.replace("4", "8").replace("5", "9") if nbytes == 8 else "v[8:10]"}, v{"3" if nbytes == 8 else "7"}
s_waitcnt lgkmcnt(0)
global_store_dwordx{words} v3, {"v[8:9]" if nbytes == 8 else "v[8:10]"}, s[6:7]
"""
    if nbytes == 12:  # 8-byte alignment is demanded: give lanes 16 bytes each
        body = body.replace("v_mul_u32_u24 v3, 12, v0", "v_mul_u32_u24 v3, 12, v0\nv_lshlrev_b32 v7, 4, v0").replace(
            "ds_write_b96 v3", "ds_write_b96 v7"
        )
    got = run(body, nbytes=64 * nbytes, lds=2048).read(np.uint8).reshape(64, nbytes)
    slots = 8 * nbytes // bits
    for group in range(0, 64, 16):
        stream = int.from_bytes(BYTES[group * nbytes : (group + 16) * nbytes].tobytes(), "little")
        element = [(stream >> (bits * n)) & (2**bits - 1) for n in range(16 * slots)]
        for lane in range(16):
            want = sum(element[16 * j + lane] << (bits * j) for j in range(slots))
            assert int.from_bytes(got[group + lane].tobytes(), "little") == want


ATOMICS = {
    "add": lambda old, x: old + x, "sub": lambda old, x: old - x, "umin": min, "umax": max, "and": lambda old, x: old & x,
    "or": lambda old, x: old | x, "xor": lambda old, x: old ^ x, "swap": lambda old, x: x,
    "smax": lambda old, x: max((old, x), key=lambda v: v - 2**32 if v >> 31 else v),
    "inc": lambda old, x: 0 if old >= x else old + 1, "dec": lambda old, x: x if old == 0 or old > x else old - 1,
}  # fmt: skip


@pytest.mark.parametrize("operation", ATOMICS)
def test_global_atomics_return_the_old_value(operation):
    old = np.random.default_rng(1).integers(0, 2**32, 64, np.uint32)
    old[:4] = [0, 2**32 - 1, 2**31, 5]
    target = Buffer.of(old)
    body = (
        f"v_mul_u32_u24 v3, 0x3fff7, v0\ns_mov_b64 s[12:13], s[4:5]\nglobal_atomic_{operation} v2, v1, v3, s[12:13] sc0\n"
        + STORE
    )
    result = Buffer.of(np.zeros(64, np.uint32))
    machine.run_once(Source("atomic", LOAD_ARGUMENTS + body), target, result, strict=True)
    assert result.read(np.uint32).tolist() == old.tolist()
    want = [ATOMICS[operation](int(o), 0x3FFF7 * n) & 0xFFFFFFFF for n, o in enumerate(old)]
    assert target.read(np.uint32).tolist() == want


def test_atomics_of_many_workgroups_add_up():
    total, unused = Buffer.of(np.zeros(2, np.uint32)), Buffer.of(np.zeros(64, np.uint32))
    body = (
        LOAD_ARGUMENTS
        + "v_mov_b32 v2, 0\nv_mov_b32 v3, 1\nv_mov_b32 v4, 1.0\nglobal_atomic_add v2, v3, s[4:5]\nglobal_atomic_add_f32 v2, v4, s[4:5] offset:4"
    )
    machine.run_once(Source("count", body), total, unused, grid=(100, 1, 1), block=(256, 1, 1))
    assert total.read(np.uint32)[0] == 25600 and total.read(np.float32)[1] == 25600.0


def test_compare_and_swap():
    """The new value comes first, the comparison in the next register; LDS has them the other way round."""
    target, result = Buffer.of(np.arange(64, dtype=np.uint32)), Buffer.of(np.zeros(64, np.uint32))
    body = "v_mov_b32 v4, 99\nv_and_b32 v5, 62, v0\nglobal_atomic_cmpswap v2, v1, v[4:5], s[4:5] sc0\n" + STORE
    machine.run_once(Source("cas", LOAD_ARGUMENTS + body), target, result, strict=True)
    assert target.read(np.uint32).tolist() == [99 if n % 2 == 0 else n for n in LANE]
    body = (
        "ds_write_b32 v1, v0\nv_and_b32 v5, 62, v0\nv_mov_b32 v4, 99\ns_waitcnt lgkmcnt(0)\nds_cmpst_rtn_b32 v6, v1, v5, v4\ns_waitcnt lgkmcnt(0)\nds_read_b32 v2, v1\n"
        + STORE
    )
    assert run(body, lds=256).read(np.uint32).tolist() == [99 if n % 2 == 0 else n for n in LANE]


def test_buffer_atomics_return_into_their_data_register():
    """The old value comes to the first of the data registers and nowhere else: v0 and the comparison stay."""
    body = DESCRIPTOR.format(records=4096) + "v_mov_b32 v2, 5\nbuffer_atomic_add v2, v1, s[8:11], 0 offen sc0\n"
    body += "v_mov_b32 v4, 99\nv_mov_b32 v5, 7\nbuffer_atomic_cmpswap v[4:5], v1, s[8:11], 0 offen sc0\ns_waitcnt vmcnt(0)\n"
    body += "v_lshlrev_b32 v1, 2, v1\nv_mov_b32 v3, v4\nv_mov_b32 v4, v5\nv_mov_b32 v5, v0\nglobal_store_dwordx4 v1, v[2:5], s[6:7]\n"
    old = np.arange(64, dtype=np.uint32) * 3
    got = run(body, old, nbytes=1024).read(np.uint32).reshape(64, 4)
    assert got.tolist() == [[3 * n, 3 * n + 5, 7, n] for n in range(64)]


def test_lds_atomics():
    body = (
        "v_mov_b32 v3, 0\nv_mov_b32 v4, 0x10\nds_write_b32 v3, v4\ns_waitcnt lgkmcnt(0)\nds_add_rtn_u32 v2, v3, v0\n"
        + STORE
    )
    assert run(body, lds=64).read(np.uint32).tolist() == [16 + sum(range(n)) for n in LANE]


def test_scratch_is_private_to_a_lane():
    body = (
        "scratch_store_dword off, v0, off offset:8\nv_mov_b32 v3, 4\ns_waitcnt vmcnt(0)\nscratch_load_dword v2, v3, off offset:4\n"
        + STORE
    )
    assert run(body, scratch=64).read(np.uint32).tolist() == LANE.tolist()


def test_flat_reaches_lds_through_its_aperture():
    body = (
        "s_mov_b64 s[12:13], src_shared_base\nds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v4, v1\nv_mov_b32 v5, s13\nflat_load_dword v2, v[4:5]\n"
        + STORE
    )
    assert run(body, lds=256).read(np.uint32).tolist() == LANE.tolist()


def test_kernarg_preload():
    """With preloading the entry is 256 bytes further on and user SGPRs hold the arguments (s[2:5] here)."""
    body = "s_trap 2\n.fill 63, 4, 0xbf800000\nv_lshlrev_b32 v1, 2, v0\nglobal_load_dword v2, v1, s[2:3]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[4:5]"
    source = Source(
        "preloaded",
        body,
        extra=".amdhsa_user_sgpr_kernarg_preload_length 4\n.amdhsa_user_sgpr_kernarg_preload_offset 0",
    )
    given, result = Buffer.of(BYTES), Buffer.of(np.zeros(64, np.uint32))
    machine.run_once(source, given, result, strict=True)
    assert result.read(np.uint8).tolist() == BYTES[:256].tolist()


def test_scalar_loads():
    body = "s_movk_i32 s20, 0x20\ns_load_dwordx4 s[8:11], s[4:5], 0x10\ns_load_dword s12, s[4:5], s20 offset:0x4\ns_waitcnt lgkmcnt(0)\n"
    body += "v_mov_b32 v2, s8\nv_mov_b32 v3, s11\nv_mov_b32 v4, s12\n" + "".join(
        f"global_store_dword v1, v{n}, s[6:7] offset:{256 * (n - 2)}\n" for n in (2, 3, 4)
    )
    got = run(body, nbytes=768).read(np.uint32)
    word = BYTES.view(np.uint32)
    assert [got[0], got[64], got[128]] == [word[4], word[7], word[9]]


def test_bad_addresses_are_errors_in_normal_mode():
    given = Buffer.of(BYTES[:256])
    for body, text in {
        "global_load_dword v2, v1, s[4:5] offset:4\ns_waitcnt vmcnt(0)": r"lane 63: load of 4 bytes at 0x[0-9a-f]+: 0 bytes past the end of a device allocation of 256 bytes",
        "global_store_dword v1, v0, s[4:5] offset:4": r"lane 63: store of 4 bytes",
        "s_mov_b64 s[4:5], 0\nglobal_load_dword v2, v1, s[4:5]": r"lane 0: load of 4 bytes at 0x0: a null pointer",
        "s_load_dword s8, s[4:5], 0x100\ns_waitcnt lgkmcnt(0)": r"'s_load_dword s8, s\[4:5\], 0x100'.*load of 4 bytes",
    }.items():
        with pytest.raises(LaunchError, match=text):
            machine.run_once(Source("wild", LOAD_ARGUMENTS + body), given, given)
