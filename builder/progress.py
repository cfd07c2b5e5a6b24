"""What a build says while it runs: a bar on a terminal, plain lines elsewhere. Everything goes to stderr; results go to stdout."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import TextIO

_BAR_CELLS = 24


class Progress:
    """`line` prints a line that stays; `step` says how far the build is."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._started = time.monotonic()
        self._bar = ""

    def line(self, text: str) -> None:
        self._clear()
        self._stream.write(text + "\n")
        self._draw()

    def step(self, done: int, total: int, running: Sequence[str]) -> None:
        """Redraws the bar. On no terminal the lines of single variants, numbered, tell as much."""
        if not self._terminal:
            return
        self._clear()
        filled = _BAR_CELLS * done // total if total else _BAR_CELLS
        elapsed = time.monotonic() - self._started
        text = f"[{'#' * filled}{'.' * (_BAR_CELLS - filled)}] {done}/{total} {elapsed:.0f} s  {', '.join(running)}"
        self._bar = text[: shutil.get_terminal_size().columns - 1]
        self._draw()

    def close(self) -> None:
        self._clear()
        self._bar = ""
        self._stream.flush()

    def _clear(self) -> None:
        if self._bar:
            self._stream.write("\r\x1b[K")

    def _draw(self) -> None:
        self._stream.write(self._bar)
        self._stream.flush()
