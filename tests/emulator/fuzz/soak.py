"""Ten minutes of broken code objects against an emulator built with sanitizers: `make soak`.

python -m tests.emulator.fuzz.soak LIBRARY [--minutes 10] [--seed 0]
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tests.emulator.fuzz.run import ROOT, Campaign

ROUND_SECONDS = 20.0


def sanitizer_environment():
    # libstdc++ as well: Python brings none, and the sanitizer looks for the real __cxa_throw when it starts.
    libraries = [
        subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libstdc++.so.6")
    ]
    # Python itself leaks at exit by design; the emulator's leaks are counted by its own live-object tests.
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    campaign = Campaign(options.library, ROOT / "prebuilt" / "gfx950", sanitizer_environment())
    entries = campaign.entries()
    end = time.monotonic() + 60 * options.minutes
    seed, rounds = options.seed, 0
    while time.monotonic() < end:
        entry = entries[rounds % len(entries)]
        try:
            line = campaign.run(entry, seed, 1 << 30, seconds=ROUND_SECONDS, timeout=ROUND_SECONDS + 120)
        except AssertionError as failure:
            print(f"FAILED in {entry['name']}, seeds from {seed}: {failure}")
            return 1
        print(f"{entry['name']}: seeds from {seed}: {line}", flush=True)
        rounds += 1
        seed += 1_000_000
    print(f"{rounds} rounds, no crash, no hang, no sanitizer report")
    return 0


if __name__ == "__main__":
    sys.exit(main())
