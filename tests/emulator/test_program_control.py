"""Branches, calls, barriers, hardware registers, relative indexing, launch state; and what the emulator refuses."""

import ctypes
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from . import machine
from .machine import LOAD_ARGUMENTS, Buffer, LaunchError, Source

LANE = np.arange(64)


def run(body, nbytes=256, grid=(1, 1, 1), block=(64, 1, 1), strict=True, **source):
    given, result = Buffer.of(np.arange(64, dtype=np.uint32)), Buffer.of(np.zeros(nbytes, np.uint8))
    machine.run_once(
        Source("kernel", LOAD_ARGUMENTS + body, **source), given, result, grid=grid, block=block, strict=strict
    )
    return result.read(np.uint32)


STORE = "global_store_dword v1, v2, s[6:7]\n"


def test_loop_and_divergence():
    """Lane n counts to n: the loop runs while any lane is left."""
    body = """
v_mov_b32 v2, 0
s_mov_b64 s[10:11], exec
loop:
v_cmp_lt_u32 vcc, v2, v0
s_and_b64 exec, exec, vcc
s_cbranch_execz done
v_add_u32 v2, 1, v2
s_branch loop
done:
s_mov_b64 exec, s[10:11]
"""
    assert run(body + STORE).tolist() == LANE.tolist()


def test_call_and_return():
    body = """
s_getpc_b64 s[10:11]
after:
s_add_u32 s10, s10, function-after
s_addc_u32 s11, s11, 0
v_mov_b32 v2, 1
s_swappc_b64 s[30:31], s[10:11]
s_swappc_b64 s[30:31], s[10:11]
global_store_dword v1, v2, s[6:7]
s_endpgm
function:
v_lshl_add_u32 v2, v2, 1, v0
s_setpc_b64 s[30:31]
"""
    assert run(body).tolist() == (4 + 3 * LANE).tolist()


SCALAR = {
    "s_add_u32 s12, s10, s11": (0xFFFFFFFF, 2, 1, 1), "s_sub_u32 s12, s10, s11": (1, 2, 0xFFFFFFFF, 1), "s_add_i32 s12, s10, s11": (0x7FFFFFFF, 1, 0x80000000, 1),
    "s_mul_hi_i32 s12, s10, s11": (0xFFFFFFFF, 3, 0xFFFFFFFF, 0), "s_min_i32 s12, s10, s11": (0xFFFFFFFF, 1, 0xFFFFFFFF, 1), "s_and_b32 s12, s10, s11": (12, 3, 0, 0),
    "s_lshl_b32 s12, s10, s11": (3, 33, 6, 1), "s_ashr_i32 s12, s10, s11": (0x80000000, 4, 0xF8000000, 1), "s_bfe_u32 s12, s10, s11": (0xABCD1234, 8 << 16 | 4, 0x23, 1),
    "s_bfe_i32 s12, s10, s11": (0xABCD1284, 8 << 16, 0xFFFFFF84, 1), "s_absdiff_i32 s12, s10, s11": (0x80000000, 1, 0x7FFFFFFF, 1), "s_max_i32 s12, s10, s11": (5, 5, 5, 1), "s_max_u32 s12, s10, s11": (5, 5, 5, 1), "s_flbit_i32_b32 s12, s10": (0x00010000, 0, 15, 0),
    "s_ff1_i32_b32 s12, s10": (8, 0, 3, 0), "s_bcnt1_i32_b32 s12, s10": (0xF0F0, 0, 8, 1), "s_sext_i32_i8 s12, s10": (0x80, 0, 0xFFFFFF80, 0),
    "s_lshl2_add_u32 s12, s10, s11": (0x40000000, 5, 5, 1), "s_pack_lh_b32_b16 s12, s10, s11": (0x11112222, 0x33334444, 0x33332222, 0), "s_brev_b32 s12, s10": (1, 0, 0x80000000, 0),
}  # fmt: skip


def test_scalar_alu():
    """Value and SCC of each (SCC was 0 before); CDNA3 ISA reference 12.1 to 12.3."""
    body = "v_mov_b32 v4, 0\n"
    for n, (text, (a, b, _, _)) in enumerate(SCALAR.items()):
        body += f"s_mov_b32 s10, {a}\ns_mov_b32 s11, {b}\ns_cmp_eq_u32 s10, 0x55555\n{text}\ns_cselect_b32 s13, 1, 0\nv_mov_b32 v2, s12\nv_mov_b32 v3, s13\n"
        body += (
            f"global_store_dword v4, v2, s[6:7] offset:{8 * n}\nglobal_store_dword v4, v3, s[6:7] offset:{8 * n + 4}\n"
        )
    got = run(body, nbytes=8 * len(SCALAR)).reshape(-1, 2)
    for (text, (_, _, value, scc)), row in zip(SCALAR.items(), got):
        assert row.tolist() == [value, scc], text


def test_saveexec_and_mask_logic():
    body = """
s_mov_b64 s[10:11], 0xff
s_and_saveexec_b64 s[12:13], s[10:11]
v_mov_b32 v2, 5
s_or_b64 exec, exec, s[12:13]
s_andn2_b64 exec, exec, s[10:11]
v_mov_b32 v2, 6
s_mov_b64 exec, -1
"""
    assert run(body + STORE).tolist() == [5] * 8 + [6] * 56


def test_mode_register():
    body = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 12\ns_nop 1\ns_getreg_b32 s10, hwreg(HW_REG_MODE, 4, 4)\nv_mov_b32 v2, s10\n"
    assert run(body + STORE)[0] == 12
    with pytest.raises(machine.LaunchError, match="flushes only sources or only results"):
        run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 1\n" + STORE)
    with pytest.raises(LaunchError, match="a rounding mode other than to nearest even"):
        run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1")


@pytest.mark.parametrize("field", ["float_denorm_mode_16_64 2", "float_round_mode_32 1"])
def test_a_mode_that_is_not_modelled_is_refused_at_the_launch(field):
    with pytest.raises(LaunchError, match="is not modelled"):
        machine.run_once(machine.Source("kernel", "s_nop 0", extra=f".amdhsa_{field}"), *[machine.Buffer(8)] * 2)


def test_relative_indexing():
    body = "v_mov_b32 v10, 100\nv_mov_b32 v11, 101\nv_mov_b32 v12, 102\ns_mov_b32 s10, 2\ns_set_gpr_idx_on s10, gpr_idx(SRC0)\nv_mov_b32 v2, v10\ns_set_gpr_idx_off\n"
    assert run(body + STORE)[0] == 102


def test_launch_state():
    """Packed work-item ids in v0; workgroup ids in the SGPRs behind the user's; LLVM's AMDGPU usage guide."""
    body = "s_mul_i32 s10, s2, 256\nv_and_b32 v3, 0x3ff, v0\nv_bfe_u32 v4, v0, 10, 10\nv_bfe_u32 v5, v0, 20, 10\nv_lshl_or_b32 v2, v4, 8, v3\nv_lshl_or_b32 v2, v5, 16, v2\n"
    body += "v_mul_u32_u24 v6, 20, v4\nv_mul_u32_u24 v7, 60, v5\nv_add3_u32 v6, v6, v7, v3\nv_lshlrev_b32 v1, 2, v6\n"
    got = run(body + STORE, nbytes=4 * 120, block=(20, 3, 2))
    assert got.tolist() == [x | y << 8 | z << 16 for z in range(2) for y in range(3) for x in range(20)]


def test_matrix_accumulators_and_formats():
    """A of ones, B of twos: every element is 2*K + C, whatever the layout; FP4 and BF8 operands have their own widths and codes."""
    ones8, twos8, ones4, twos_bf8 = 0x38383838, 0x40404040, 0x22222222, 0x40404040
    fill = lambda first, n, value: "".join(f"v_mov_b32 v{first + k}, {value:#x}\n" for k in range(n))  # noqa: E731
    body = (
        fill(16, 8, ones8)
        + fill(24, 8, twos8)
        + "s_nop 4\nv_mfma_f32_32x32x64_f8f6f4 v[32:47], v[16:23], v[24:31], 1.0\n"
    )
    body += (
        fill(48, 4, ones4)
        + fill(56, 8, twos_bf8)
        + "s_nop 4\nv_mfma_f32_16x16x128_f8f6f4 a[0:3], v[48:51], v[56:63], 0 cbsz:4 blgp:1\ns_nop 15\nv_accvgpr_read_b32 v2, a3\n"
    )
    got = run(
        body + "global_store_dword v1, v45, s[6:7]\nglobal_store_dword v1, v2, s[6:7] offset:256\n", nbytes=512, agprs=4
    ).view(np.float32)
    assert (got[:64] == 129.0).all() and (got[64:] == 256.0).all()


def test_every_row_has_one_owner_and_compilers_find_theirs():
    library = machine._hip()
    library.gfx950_emu_instructions.restype = ctypes.c_char_p
    names = library.gfx950_emu_instructions().decode().split()
    assert len(names) == len(set(names)), sorted(n for n in set(names) if names.count(n) > 1)
    assert len(names) > 1000
    assert {
        "v_mfma_f32_32x32x64_f8f6f4",
        "ds_read_b64_tr_b8",
        "v_bitop3_b32",
        "global_load_lds_dwordx4",
        "v_cvt_scalef32_2xpk16_fp6_f32",
    } <= set(names)


REFUSED = {
    "buffer_load_format_x v2, v1, s[8:11], 0 offen\n": "has no row for buffer_load_format_x",
    "s_getreg_b32 s10, hwreg(11, 0, 32)\n": "hardware register 11 is not modelled",
    ".long 0xffffffff\n": "not a gfx950 instruction|unknown instruction",
    "s_trap 2\n": "s_trap 2",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_not_known_stops_with_its_text_and_pc(body):
    with pytest.raises(LaunchError, match=REFUSED[body]) as caught:
        run(body)
    assert re.search(r"kernel kernel at pc 0x[0-9a-f]+ \(\+0x[0-9a-f]+\)", caught.value.text)


def test_runaway_loops_end():
    with pytest.raises(LaunchError, match="more than 100000 instructions"):
        source = Source("forever", "again:\ns_branch again\n", arguments="")
        machine.run_once(source, max_instructions=100000)


def test_a_barrier_that_another_wave_never_reaches():
    """Wave 1 spins, wave 0 waits: the guard ends it and names the spinning wave."""
    body = (
        LOAD_ARGUMENTS
        + "v_readfirstlane_b32 s10, v0\ns_cmp_eq_u32 s10, 0\ns_cbranch_scc1 wait\nspin:\ns_branch spin\nwait:\ns_barrier\n"
    )
    for strict in (False, True):
        with pytest.raises(LaunchError, match="wave 1: more than 100000 instructions"):
            machine.run_once(
                Source("stuck", body),
                Buffer(256),
                Buffer(256),
                block=(128, 1, 1),
                strict=strict,
                max_instructions=100000,
            )


@pytest.mark.parametrize(
    "grid, block, lds, text", [((1, 1, 1), (1025, 1, 1), 0, "1025"), ((1, 1, 1), (64, 1, 1), 170000, "LDS")]
)
def test_impossible_launches(grid, block, lds, text):
    source = Source("plain", "s_nop 0", arguments="")
    with pytest.raises(LaunchError):
        machine.run_once(source, grid=grid, block=block, lds=lds)


def test_both_widths_of_the_instruction_set_agree():
    """The AVX2 copy gives the bits of the other one, on a machine that has both (in a process of its own)."""
    tests = ["test_float.py", "test_half_and_packed.py"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        *[str(machine.ROOT / "tests" / "emulator" / t) for t in tests],
    ]
    done = subprocess.run(
        command, env=os.environ | {"GFX950_EMU_ISA": "avx2"}, capture_output=True, text=True, cwd=machine.ROOT
    )
    assert done.returncode == 0, done.stdout[-2000:]
