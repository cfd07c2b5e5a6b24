"""The parent's side of the compile workers: hands out variants, collects what came of them.

A variant fails on an exception, on a signal, on the time limit, on any "error:" that the compiler printed (LLVM prints some and goes on),
and when it leaves no entry.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from paged_attn_runtime.errors import ManifestError
from paged_attn_runtime.manifest import VariantEntry
from paged_attn_runtime.manifest_reader import parse_entry

from .toolchain import Toolchain, ToolchainError, lay_out_rocm, worker_environment

LIMIT_SECONDS = 900
_ASK_PERSONALITY, _ADDR_NO_RANDOMIZE = 0xFFFFFFFF, 0x0040000  # of personality(2)
SHOWN_LINES = 30
OBJECT_FILE, ENTRY_FILE, LOG_FILE, ERROR_FILE = "object.hsaco", "entry.json", "compiler.log", "error.txt"


@dataclasses.dataclass(frozen=True)
class Result:
    name: str
    seconds: float
    peak_mib: int
    entry: VariantEntry | None  # None when it failed
    data: bytes
    failure: str  # with the compiler's own words
    log: str  # everything the compiler printed


class Pool:
    """At most `jobs` variants compile at once. A context manager: on leaving it, nothing runs any more."""

    def __init__(
        self, root: Path, toolchain: Toolchain, folder: Path, jobs: int, limit_seconds: int = LIMIT_SECONDS
    ) -> None:
        self._root, self._toolchain, self._folder = root, toolchain, folder
        self._jobs, self._limit = jobs, limit_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self.running: list[str] = []

    def __enter__(self) -> Pool:
        environment = worker_environment(lay_out_rocm(self._toolchain, self._folder / "rocm"))
        with open(self._folder / "worker.log", "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "builder.worker", str(self._root), str(self._limit)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._root,
                env=environment,
                start_new_session=True,  # an interrupt on the terminal is the parent's to handle
                preexec_fn=_fix_addresses,
            )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.read()  # ends when the last child, which holds the other end too, is gone
        self._process.stdin.close()
        self._process.stdout.close()

    def compile(self, names: Sequence[str]) -> Iterator[Result]:
        """Compiles every variant and yields what came of it, in the order in which they end."""
        answers = iter(self._process.stdout.readline, b"")
        self._expect_ready(next(answers, b""))
        waiting = list(reversed(names))
        while waiting or self.running:
            while waiting and len(self.running) < self._jobs:
                self._request(waiting.pop())
            line = next(answers, b"")
            if not line:
                raise ToolchainError(f"the compile worker died: {self._worker_log()}")
            answer = json.loads(line)
            self.running.remove(answer["name"])
            yield self._result(**answer)

    def _expect_ready(self, line: bytes) -> None:
        if not line:
            raise ToolchainError(f"FlyDSL cannot be imported: {self._worker_log()}")

    def _worker_log(self) -> str:
        lines = (self._folder / "worker.log").read_text(errors="replace").strip().splitlines()
        return "\n  ".join(lines[-SHOWN_LINES:]) or "it left no message"

    def _request(self, name: str) -> None:
        folder = self._folder / name
        folder.mkdir()
        self._process.stdin.write((json.dumps({"name": name, "folder": str(folder)}) + "\n").encode())
        self._process.stdin.flush()
        self.running.append(name)

    def _result(self, name: str, status: int, seconds: float, peak_mib: int) -> Result:
        folder = self._folder / name
        log = _read(folder / LOG_FILE)
        failure, entry, data = self._failure(folder, status, log), None, b""
        if not failure:
            try:
                entry = parse_entry(_read(folder / ENTRY_FILE))
                data = (folder / OBJECT_FILE).read_bytes()
            except (ManifestError, OSError) as error:
                failure = f"the worker left no whole result: {error}"
        return Result(name, seconds, peak_mib, entry, data, failure, log)

    def _failure(self, folder: Path, status: int, log: str) -> str:
        """Why a variant failed; empty when it did not."""
        complaints = [line for line in log.splitlines() if "error:" in line.lower()]
        if status == 0 and not complaints:
            return ""
        reason = _read(folder / ERROR_FILE)
        if not reason and status == -signal.SIGALRM:
            reason = f"it took more than {self._limit} s"
        elif not reason and status < 0:
            reason = f"the compiler died of {signal.Signals(-status).name}"
        elif not reason and status:
            reason = f"the worker exited with {status}"
        elif not reason:
            reason = "the compiler printed an error"
        said = [line for line in log.splitlines() if line.strip()]
        said = said[: next((i for i, line in enumerate(said) if line.startswith("Traceback ")), len(said))]
        return "\n".join([reason, *(f"  | {line}" for line in said[-SHOWN_LINES:])])


def _fix_addresses() -> None:
    """The same address layout in every worker, where we may ask for it: LLVM's choices can depend on addresses."""
    personality = ctypes.CDLL(None).personality
    personality(personality(_ASK_PERSONALITY) | _ADDR_NO_RANDOMIZE)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
