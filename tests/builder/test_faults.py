"""One test per way in which a kernel can be wrong: the build fails, names the variant, and says why."""

import re

import pytest

NAME = "paged_prefill_d128_v128_p64_vectorized_5d_longest_first"

FAULTS = {
    "raise": r"RuntimeError: no such tile\n  at kernels/source\.py:\d+: raise RuntimeError",
    "die": r"the compiler died of SIGSEGV",
    "print an error": r"the compiler printed an error\n  \| loc\(unknown\): error: this is what a compiler says",
    "wrong name": rf"the object has the kernels \['another_name'\] .*; expected {NAME}",
    "two kernels": rf"the object has the kernels \['{NAME}', '{NAME}_second'\]",
    "spill": r"registers spill: \d+ vector, \d+ scalar; none is allowed",
    "too much LDS": r"164864 bytes of LDS; gfx950 has 163840 a workgroup",
    "other LDS": r"1024 bytes of LDS; the kernel source says 2048",
    "undeclared argument": r"the kernel takes 5 arguments; the kernel source declares 4",
    "argument of another size": r"argument rows is by_value of 8 bytes in the object; declared: i32 of 4",
    "pointer as integer": r"argument x is global_buffer of 8 bytes in the object; declared: i64 of 8",
    "unknown kind": r"argument rows is declared as 'i128' of 8 bytes; allowed: .*pointer",
    "other block": r"the object is for blocks of \[256, 1, 1\]; the kernel source says \[128, 1, 1\]",
    "unknown quantity": r"'num_heads' is not one of batch, .*: grid\.y",
    "no z": r"the grid has the axes \['x', 'y'\]; expected x, y and z",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_kernel_fails_with_the_reason(fresh, fault):
    fresh.set_fault(fault)
    outcome = fresh.build("--only", NAME, code=1)
    assert [failure["name"] for failure in outcome["failed"]] == [NAME]
    assert re.search(FAULTS[fault], outcome["failed"][0]["failure"]), outcome["failed"][0]["failure"]
    assert not fresh.published.exists()
