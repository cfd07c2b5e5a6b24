"""python -m tests.emulator.numerics.benchmark: how fast the matrix instructions run on one core, for each instruction set."""

import os
import subprocess
import tempfile
from pathlib import Path

from .conftest import FLAGS, ISA_FLAGS, ROOT, SOURCES, host_isas


def main():
    flags = [flag for flag in FLAGS if flag not in ("-shared", "-fPIC")]
    files = [*sorted(SOURCES.glob("*.cpp")), Path(__file__).with_name("benchmark.cpp")]
    for isa in host_isas():
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "benchmark"
            command = [os.environ.get("CXX", "g++"), *flags, *ISA_FLAGS[isa], f"-I{ROOT / 'emulator'}"]
            subprocess.run([*command, *map(str, files), "-o", str(program)], check=True)
            print(f"{isa}:\n{subprocess.run([program], check=True, capture_output=True, text=True).stdout}")


if __name__ == "__main__":
    main()
