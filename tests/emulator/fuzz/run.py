"""Fuzzes the emulator's loader and engine with broken code objects, in worker processes; a crash or a hang is a failure with its seed."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Campaign:
    """What to break and with what: `library` is the libamdhip64.so to load, `environment` is added to the process's own."""

    library: Path
    prebuilt: Path
    environment: dict

    def entries(self):
        return json.loads((self.prebuilt / "manifest.json").read_text())["variants"]

    def run(self, entry, first_seed, count, *, seconds=0.0, timeout):
        """-> the worker's last line. AssertionError names the seed that crashed or hung."""
        command = [sys.executable, "-m", "tests.emulator.fuzz.worker", str(self.library)]
        command += [str(self.prebuilt / entry["file"]), entry["symbol"], str(entry["kernarg"]["bytes"])]
        command += [str(first_seed), str(count)] + ([str(seconds)] if seconds else [])
        settings = {**os.environ, "GFX950_EMU_MAX_INSTRUCTIONS": "20000", "GFX950_EMU_STRICT": "1", **self.environment}
        try:
            done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired as hang:
            lines = (hang.stdout or b"").decode().splitlines()
            raise AssertionError(f"hang after {timeout} s at: {lines[-1:]}") from hang
        lines = done.stdout.splitlines()
        assert done.returncode == 0 and lines and lines[-1].startswith("done"), (
            f"exit {done.returncode} at: {lines[-1:]} in {entry['name']}\n{done.stderr[-4000:]}"
        )
        return lines[-1]
