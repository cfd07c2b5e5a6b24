"""How fast the emulator runs the shipped kernels, in normal and in strict mode, and what memory it takes beyond the tensors.

    ROCM_PATH=emulator/build/rocm python benchmarks/emulator_speed.py [--check]

--check exits 1 when a problem takes longer than its limit (two cores) or more than 1 GiB beyond the tensors. The values are not checked here.
"""

import argparse
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
import paged_attn_runtime as par  # noqa: E402

PAGE = 64
MEMORY_LIMIT_MIB = 1024
# head dim, V head dim, query heads, new tokens, keys, seconds allowed in normal and in strict mode
PROBLEMS = [(192, 128, 1, 1024, 2048, 1.0, 10.0), (128, 128, 16, 4096, 8192, 30.0, 240.0)]


def tensors(head_dim, v_head_dim, heads, new, keys):
    rng = np.random.default_rng(0)
    pages = keys // PAGE

    def fp8(*shape):  # codes of moderate values, no NaN
        return rng.integers(0x20, 0x40, shape, np.uint8) | (rng.integers(0, 2, shape, np.uint8) << 7)

    q = fp8(new, heads, head_dim)
    k = fp8(pages, 1, head_dim // 16, PAGE, 16)
    v = fp8(pages, 1, PAGE // 16, v_head_dim, 16)
    table = rng.permutation(pages).astype(np.int32)[None]
    return q, k, v, table


def measure(problem, strict):
    head_dim, v_head_dim, heads, new, keys = problem[:5]
    q, k, v, table = tensors(head_dim, v_head_dim, heads, new, keys)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    place = par.DeviceArray.from_numpy
    os.environ["GFX950_EMU_STRICT"] = str(int(strict))
    arguments = dict(
        cu_seqlens_q=place(np.array([0, new], np.int32)),
        seqlens_k=place(np.array([keys], np.int32)),
        block_table=place(table),
        max_seqlen_q=new,
        max_seqlen_k=keys,
        q_descale=1.0,
        k_descale=1.0,
        v_descale=1.0,
    )
    operands = [place(x) for x in (q, k, v)]
    start = time.perf_counter()
    par.paged_prefill(*operands, **arguments).to_bytes()
    seconds = time.perf_counter() - start
    size = (q.nbytes + k.nbytes + v.nbytes + new * heads * v_head_dim * 2) / 2**20
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return seconds, grown - size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 when a limit is exceeded")
    check = parser.parse_args().check
    good = True
    for problem in PROBLEMS:
        head_dim, v_head_dim, heads, new, keys, normal, strict = problem
        for name, limit in (("normal", normal), ("strict", strict)):
            seconds, memory = measure(problem, name == "strict")
            good &= seconds <= limit and memory <= MEMORY_LIMIT_MIB
            print(
                f"{head_dim}/{v_head_dim} heads {heads}:1, {new} new on {keys} keys, {name}: {seconds:.2f} s (limit {limit:g}), "
                f"{max(memory, 0):.0f} MiB beyond the tensors",
                flush=True,
            )
    sys.exit(0 if good or not check else 1)


if __name__ == "__main__":
    main()
