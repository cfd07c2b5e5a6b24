"""Missing waits of every family and form: each load is used too early once, and in time once."""

import pytest

from .planted import DESCRIPTOR, pair, passes

KEEP = "global_store_dword v1, v3, s[6:7]\n"
ALL = "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
LDS = "v_mov_b32 v20, 0\nv_mov_b32 v21, 0\nv_mov_b32 v22, 0\nv_mov_b32 v23, 0\nv_lshlrev_b32 v30, 4, v0\n"
LDS += "ds_write_b128 v30, v[20:23]\ns_waitcnt lgkmcnt(0)\n"
FLAT = "v_mov_b32 v8, s4\nv_mov_b32 v9, s5\n"
SHARED = "s_mov_b32 s21, 0x10000\nv_mov_b32 v8, v30\nv_mov_b32 v9, s21\n"

# name: (setup and load, the register that is used too early, the wait that mends it)
LOADS = {}
for form, register in {
    "ubyte v2": "v2", "sbyte v2": "v2", "ushort v2": "v2", "sshort v2": "v2", "dword v2": "v2", "dwordx2 v[10:11]": "v11",
    "dwordx3 v[10:12]": "v12", "dwordx4 v[10:13]": "v13", "ubyte_d16 v2": "v2", "sbyte_d16_hi v2": "v2",
    "short_d16 v2": "v2", "short_d16_hi v2": "v2", "dword a2": "a2", "dwordx4 a[4:7]": "a7",
}.items():  # fmt: skip
    LOADS[f"global {form}"] = (f"global_load_{form}, v1, s[4:5]", register, "vmcnt(0)")
    LOADS[f"buffer {form}"] = (DESCRIPTOR + f"buffer_load_{form}, v1, s[8:11], 0 offen", register, "vmcnt(0)")
    LOADS[f"flat {form}"] = (FLAT + f"flat_load_{form}, v[8:9]", register, "vmcnt(0) lgkmcnt(0)")
    LOADS[f"flat to LDS, {form}"] = (LDS + SHARED + f"flat_load_{form}, v[8:9]", register, "vmcnt(0) lgkmcnt(0)")
    store = "scratch_store_dwordx4 off, v[20:23], off\n"
    LOADS[f"scratch {form}"] = (LDS + store + f"scratch_load_{form}, off, off", register, "vmcnt(0)")
for form, register in {
    "u8 v2": "v2", "i8 v2": "v2", "u16 v2": "v2", "i16 v2": "v2", "u8_d16 v2": "v2", "u16_d16_hi v2": "v2", "b32 v2": "v2",
    "b64 v[10:11]": "v11", "b96 v[10:12]": "v12", "b128 v[10:13]": "v13", "b32 a2": "a2", "b64_tr_b8 v[10:11]": "v11",
    "b64_tr_b16 v[10:11]": "v10", "b96_tr_b6 v[10:12]": "v12",
}.items():  # fmt: skip
    LOADS[f"LDS {form}"] = (LDS + f"ds_read_{form}, v30", register, "lgkmcnt(0)")
LOADS["LDS read2"] = (LDS + "ds_read2_b64 v[10:13], v30 offset1:1", "v13", "lgkmcnt(0)")
LOADS["LDS addtid"] = (LDS + "s_mov_b32 m0, 0\ns_nop 0\nds_read_addtid_b32 v2", "v2", "lgkmcnt(0)")
for form, register in {
    "s12": "s12", "x2 s[12:13]": "s13", "x4 s[12:15]": "s15", "x8 s[12:19]": "s19", "x16 s[12:27]": "s27", " vcc_lo": "vcc_lo",
    "x2 vcc": "vcc_hi",
}.items():  # fmt: skip
    LOADS[f"scalar {form}"] = (
        f"s_load_dword{form if form[0] != 's' else ' ' + form}, s[4:5], 0",
        register,
        "lgkmcnt(0)",
    )
LOADS["scalar buffer"] = (DESCRIPTOR + "s_buffer_load_dwordx4 s[12:15], s[8:11], 0", "s14", "lgkmcnt(0)")
LOADS["permute"] = ("ds_permute_b32 v2, v1, v0", "v2", "lgkmcnt(0)")
LOADS["backward permute"] = ("ds_bpermute_b32 v2, v1, v0", "v2", "lgkmcnt(0)")
LOADS["swizzle"] = ("ds_swizzle_b32 v2, v0 offset:swizzle(SWAP,1)", "v2", "lgkmcnt(0)")
LOADS["append"] = (LDS + "s_mov_b32 m0, 0\nds_append v2", "v2", "lgkmcnt(0)")
LOADS["LDS atomic"] = (LDS + "ds_add_rtn_u32 v2, v30, v0", "v2", "lgkmcnt(0)")
LOADS["LDS compare and swap"] = (LDS + "ds_cmpst_rtn_b64 v[10:11], v30, v[20:21], v[22:23]", "v11", "lgkmcnt(0)")
LOADS["global atomic"] = ("v_mov_b32 v2, 1\nglobal_atomic_add v2, v1, v2, s[4:5] sc0", "v2", "vmcnt(0)")
LOADS["global atomic x2"] = (LDS + "global_atomic_swap_x2 v[10:11], v30, v[20:21], s[4:5] sc0", "v11", "vmcnt(0)")
LOADS["buffer atomic"] = (
    DESCRIPTOR + "v_mov_b32 v2, 1\nbuffer_atomic_add v2, v1, s[8:11], 0 offen sc0",
    "v2",
    "vmcnt(0)",
)
LOADS["flat atomic"] = (FLAT + "v_mov_b32 v2, 1\nflat_atomic_add v2, v[8:9], v2 sc0", "v2", "vmcnt(0) lgkmcnt(0)")


@pytest.mark.parametrize("kind", LOADS)
def test_read_too_early(kind):
    load, register, wait = LOADS[kind]
    use = f"{'v_accvgpr_read_b32' if register[0] == 'a' else 'v_mov_b32_e32'} v3, "
    name = "s10" + str(6 + (register == "vcc_hi")) if register.startswith("vcc") else register
    pair(f"{load}\n{use}{register}\n{ALL}{KEEP}", f"{load}\ns_waitcnt {wait}\n{use}{register}\n{KEEP}",
         "missing wait", f"reads {name} ", use, load.splitlines()[-1].split()[0], lds=1024, scratch=64, agprs=16)  # fmt: skip


USES = {
    "address of a load": ("global_load_dword v2, v1, s[4:5]", "global_load_dword v3, v2, s[4:5]", "reads v2"),
    "stored data": ("global_load_dword v2, v1, s[4:5]", "global_store_dword v1, v2, s[6:7]", "reads v2"),
    "LDS data": ("global_load_dword v2, v1, s[4:5]", "ds_write_b32 v1, v2", "reads v2"),
    "matrix operand": ("global_load_dwordx2 v[10:11], v1, s[4:5]",
                       "v_mfma_f32_16x16x32_fp8_fp8 v[12:15], v[16:17], v[10:11], 0", "reads v10"),
    "matrix addend": ("global_load_dword v13, v1, s[4:5]",
                      "v_mfma_f32_16x16x32_fp8_fp8 v[12:15], v[16:17], v[18:19], v[12:15]", "v13"),
    "matrix result": ("global_load_dword v13, v1, s[4:5]",
                      "v_mfma_f32_16x16x32_fp8_fp8 v[12:15], v[16:17], v[18:19], 0", "overwrites v13"),
    "a lane": ("global_load_dword v2, v1, s[4:5]", "v_readlane_b32 s12, v2, 7", "reads v2"),
    "the first lane": ("global_load_dword v2, v1, s[4:5]", "v_readfirstlane_b32 s12, v2", "reads v2"),
    "a written lane": ("global_load_dword v2, v1, s[4:5]", "v_writelane_b32 v2, 5, 7", "overwrites v2"),
    "a swap": ("global_load_dword v2, v1, s[4:5]", "v_swap_b32 v3, v2", "reads v2"),
    "a permlane swap": ("global_load_dword v2, v1, s[4:5]", "v_permlane32_swap_b32 v3, v2", "reads v2"),
    "DPP": ("global_load_dword v2, v1, s[4:5]", "v_mov_b32_dpp v3, v2 row_shl:1 row_mask:0xf bank_mask:0xf", "reads v2"),
    "a base": ("s_load_dwordx2 s[12:13], s[0:1], 0", "global_load_dword v2, v1, s[12:13]", "reads s12"),
    "a base's upper half": ("s_mov_b32 s12, s4\ns_load_dword s13, s[0:1], 4", "s_load_dword s14, s[12:13], 0", "reads s13"),
    "a descriptor": ("s_load_dwordx4 s[12:15], s[4:5], 0", "buffer_load_dword v2, v1, s[12:15], 0 offen", "reads s12"),
    "a scalar offset": (DESCRIPTOR + "s_load_dword s12, s[4:5], 0", "buffer_load_dword v2, v1, s[8:11], s12 offen", "reads s12"),
    "a branch on vcc": ("s_load_dwordx2 vcc, s[4:5], 0", "s_cbranch_vccz 0", "reads s106"),
    "a select by vcc": ("s_load_dwordx2 vcc, s[4:5], 0", "v_cndmask_b32 v2, v0, v1, vcc", "reads s106"),
    "a carry into vcc": ("s_load_dwordx2 vcc, s[4:5], 0", "v_add_co_u32 v2, vcc, v0, v1", "overwrites s106"),
    "a compare": ("s_load_dword s12, s[4:5], 0", "s_cmp_eq_u32 s12, 0", "reads s12"),
    "a moved source": ("s_load_dword s21, s[4:5], 0\ns_mov_b32 m0, 1\ns_nop 0", "s_movrels_b32 s22, s20", "reads s21"),
    "a moved result": ("s_load_dword s21, s[4:5], 0\ns_mov_b32 m0, 1\ns_nop 0", "s_movreld_b32 s20, s2", "overwrites s21"),
    "an indexed source": ("global_load_dword v11, v1, s[4:5]\ns_mov_b32 s20, 1\ns_set_gpr_idx_on s20, gpr_idx(SRC0)",
                          "v_mov_b32 v3, v10\ns_set_gpr_idx_off", "reads v11"),
    "an indexed result": ("global_load_dword v11, v1, s[4:5]\ns_mov_b32 s20, 1\ns_set_gpr_idx_on s20, gpr_idx(DST)",
                          "v_mov_b32 v10, v0\ns_set_gpr_idx_off", "overwrites v11"),
    "a flat load over a global one": (FLAT + "global_load_dword v2, v1, s[4:5]", "flat_load_dword v2, v[8:9]", "overwrites v2"),
    "an LDS read over a load": ("ds_write_b32 v1, v0\nglobal_load_dword v2, v1, s[4:5]", "ds_read_b32 v2, v1", "overwrites v2"),
}  # fmt: skip


@pytest.mark.parametrize("kind", USES)
def test_used_too_early(kind):
    load, use, what = USES[kind]
    pair(f"v_mov_b32 v3, 0\n{load}\n{use}\n{ALL}", f"v_mov_b32 v3, 0\n{load}\n{ALL}{use}\n{ALL}", "missing wait", what,
         use.splitlines()[0].split()[0], load.splitlines()[0 if "idx" in load or "m0" in load else -1].split()[0], lds=256)  # fmt: skip


def test_a_flat_operation_makes_counts_unsure():
    """It may return first by way of LDS: vmcnt(1) does not say that the load before it is there."""
    body = FLAT + "global_load_dword v2, v1, s[4:5]\nflat_load_dword v4, v[8:9]\n{wait}v_mov_b32 v3, v2\n" + ALL + KEEP
    pair(body.format(wait="s_waitcnt vmcnt(1)\n"), body.format(wait="s_waitcnt vmcnt(0)\n"),
         "missing wait", "reads v2", "global_load_dword")  # fmt: skip
    body = (
        "ds_write_b32 v1, v0\n"
        + FLAT
        + "ds_read_b32 v2, v1\nflat_load_dword v4, v[8:9]\n{wait}v_mov_b32 v3, v2\n"
        + ALL
        + KEEP
    )
    pair(body.format(wait="s_waitcnt lgkmcnt(1)\n"), body.format(wait="s_waitcnt lgkmcnt(0)\n"),
         "missing wait", "reads v2", "ds_read_b32", lds=256)  # fmt: skip


def test_the_greatest_count_is_no_wait():
    """s_waitcnt vmcnt(0) leaves lgkmcnt at 15: of twenty LDS reads it says nothing; likewise vmcnt(63) and seventy loads."""
    reads = "ds_write_b32 v1, v0\n" + "".join(f"ds_read_b32 v{10 + n}, v1\n" for n in range(20))
    pair(reads + "s_waitcnt vmcnt(0)\nv_mov_b32 v3, v10\n" + ALL + KEEP,
         reads + "s_waitcnt lgkmcnt(14)\nv_mov_b32 v3, v14\n" + ALL + KEEP, "missing wait", "reads v10", lds=256)  # fmt: skip
    loads = "".join(f"global_load_dword v{10 + n}, v1, s[4:5]\n" for n in range(70))
    pair(loads + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v3, v10\n" + ALL + KEEP,
         loads + "s_waitcnt vmcnt(62)\nv_mov_b32 v3, v17\n" + ALL + KEEP, "missing wait", "reads v10")  # fmt: skip


def test_stores_and_dma_count_on_vmcnt():
    body = DESCRIPTOR + "global_load_dword v2, v1, s[4:5]\nglobal_store_dword v1, v0, s[6:7]\ns_mov_b32 m0, 0\n"
    body += "buffer_load_dword v1, s[8:11], 0 offen lds\nglobal_atomic_add v1, v0, s[4:5]\ns_waitcnt vmcnt({count})\nv_mov_b32 v3, v2\n"
    pair(body.format(count=4), body.format(count=3), "missing wait", "reads v2", lds=256)


def test_the_sum_of_waits_over_branches_loops_and_calls():
    """A wait in the callee, on one side of a branch, or in the next turn of a loop, counts where it runs."""
    call = "global_load_dword v2, v1, s[4:5]\ns_getpc_b64 s[20:21]\ns_add_u32 s20, s20, 16\ns_addc_u32 s21, s21, 0\n"
    call += "s_swappc_b64 s[22:23], s[20:21]\ns_branch 4\n{wait}s_nop 0\ns_setpc_b64 s[22:23]\ns_nop 0\ns_nop 0\nv_mov_b32 v3, v2\n"
    pair(call.format(wait="s_nop 0\n"), call.format(wait="s_waitcnt vmcnt(0)\n"), "missing wait", "reads v2")
    loop = "s_mov_b32 s12, 3\nv_mov_b32 v2, 0\ns_waitcnt vmcnt(0)\nagain:\nv_mov_b32 v3, v2\nglobal_load_dword v2, v1, s[4:5]\n"
    loop += "s_sub_u32 s12, s12, 1\ns_cmp_eq_u32 s12, {skip}\ns_cbranch_scc1 over\ns_waitcnt vmcnt(0)\nover:\n"
    loop += "s_cmp_lg_u32 s12, 0\ns_cbranch_scc1 again\n"
    pair(loop.format(skip=1), loop.format(skip=77), "missing wait", "reads v2")


RIGHT = {
    "stored registers are free at once": "global_store_dword v1, v0, s[6:7]\nv_mov_b32 v0, 1\n",
    "a later load of the kind into the same register": "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v2, v1, s[4:5] offset:4\n" + ALL,
    "two halves": "v_mov_b32 v3, 0\nglobal_load_short_d16 v3, v1, s[4:5]\nglobal_load_short_d16_hi v3, v1, s[4:5]\ns_waitcnt vmcnt(0)\n" + KEEP,
    "LDS reads in order": "ds_write_b32 v1, v0\nds_read_b32 v2, v1\nds_read_b32 v3, v1\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v4, v2\ns_waitcnt lgkmcnt(0)\n" + KEEP,
    "the base changes after the issue": "s_mov_b64 s[12:13], s[4:5]\nglobal_load_dword v3, v1, s[12:13]\ns_mov_b64 s[12:13], 0\ns_waitcnt vmcnt(0)\n" + KEEP,
    "M0 changes between two DMAs": DESCRIPTOR + "s_mov_b32 m0, 0\nbuffer_load_dword v1, s[8:11], 0 offen lds\ns_mov_b32 m0, 0x100\nbuffer_load_dword v1, s[8:11], 0 offen lds\ns_waitcnt vmcnt(1)\nds_read_b32 v3, v1\ns_waitcnt vmcnt(0) lgkmcnt(0)\nds_read_b32 v3, v1 offset:256\ns_waitcnt lgkmcnt(0)\n" + KEEP,
    "lanes switched off have wild addresses": "v_mov_b32 v2, -1\nv_cmp_gt_u32 vcc, 32, v0\ns_and_saveexec_b64 s[12:13], vcc\nv_mov_b32 v2, v1\ns_mov_b64 exec, s[12:13]\nv_mov_b32 v3, 0\ns_and_b64 exec, exec, vcc\nglobal_load_dword v3, v2, s[4:5]\nds_write_b32 v2, v0\ns_waitcnt vmcnt(0)\n" + KEEP,
    "an indexed instruction names a register in flight": "v_mov_b32 v11, 0\nglobal_load_dword v10, v1, s[4:5]\ns_mov_b32 s20, 1\ns_set_gpr_idx_on s20, gpr_idx(SRC0)\nv_mov_b32 v3, v10\ns_set_gpr_idx_off\n" + ALL + KEEP,
    "a wave ends with loads in flight": "global_load_dword v2, v1, s[4:5]\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", RIGHT)
def test_right_programs(kind):
    passes(RIGHT[kind], lds=1024)
