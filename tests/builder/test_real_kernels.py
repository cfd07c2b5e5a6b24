"""The build on the kernels that ship: it takes minutes at most, and the same sources give the same bytes wherever memory lies."""

import os
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow

# Children of one process, which differ in where the heap starts and what lies in it when the compiler begins.
LAYOUTS = """
import ctypes, hashlib, mmap, os, random, sys
sys.path.insert(0, sys.argv[1])
import flydsl.compiler as flyc, flydsl.expr, kernels
from builder.compile_variant import compiled_objects
from paged_attn_runtime.variant import Variant
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p

def digest(name, seed):
    chance = random.Random(seed)
    libc.sbrk(ctypes.c_long(4096 * chance.randrange(65536)))
    kept = [libc.malloc(chance.choice([16, 48, 128, 1024, 4096, 40000])) for _ in range(chance.randrange(3000))]
    mapped = [mmap.mmap(-1, 4096 * chance.randrange(1, 9000)) for _ in range(3)]
    source = kernels.build_variant(Variant.parse(name))
    (data,) = compiled_objects(flyc.compile[source.hints](source.launcher, *source.placeholder_args))
    return hashlib.sha256(data).hexdigest()

for name in sys.argv[2:]:
    found = set()
    for seed in range(8):
        read_end, write_end = os.pipe()
        if os.fork() == 0:
            os.write(write_end, digest(name, seed).encode())
            os._exit(0)
        os.close(write_end)
        found.add(os.read(read_end, 64))
        os.wait()
    print(name, len(found))
"""


def test_the_full_matrix_is_compiled_anew_to_the_same_bytes_in_five_minutes(prebuilt):
    started = time.monotonic()
    command = [sys.executable, str(ROOT / "build_kernels.py"), "--check", "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - started < 300


def test_the_bytes_do_not_depend_on_addresses(tmp_path):
    """LLVM has passes that do: they once chose between two forms of the sum that gives a CSR sequence's length."""
    from builder.toolchain import find_toolchain, lay_out_rocm, worker_environment

    names = [
        f"paged_prefill_d{d}_v{v}_p64_vectorized_5d_longest_first" for d, v in ((128, 128), (192, 128), (192, 192))
    ]
    (tmp_path / "rocm").mkdir()
    environment = worker_environment(lay_out_rocm(find_toolchain(), tmp_path / "rocm"), os.environ)
    (tmp_path / "layouts.py").write_text(LAYOUTS)
    command = [sys.executable, str(tmp_path / "layouts.py"), str(ROOT), *names]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines() == [f"{name} 1" for name in names], done.stderr
