"""The process that compiles: imports FlyDSL once, then forks a child for every variant.

A child of its own for each variant, because LLVM may end its process on a bad kernel, because what it prints must be told apart, and
because compile hints stick to launchers. Requests are JSON lines on stdin, {"name", "folder"}; answers are JSON lines on stdout:
{"ready": seconds} once, then {"name", "status", "seconds", "peak_mib"} as children end. The child's stdout and stderr go
to compiler.log in its folder, its exception to error.txt. When stdin ends, or the parent dies, everything here dies.

    python -m builder.worker ROOT LIMIT_SECONDS
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from pathlib import Path

LOG_FILE, ERROR_FILE = "compiler.log", "error.txt"
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main(root: Path, limit_seconds: int) -> None:
    die_with_parent()
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints is no answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    started = time.monotonic()
    import flydsl.compiler
    import flydsl.expr  # noqa: F401

    from . import compile_variant  # noqa: F401

    _say(answers, ready=round(time.monotonic() - started, 3))
    _serve(answers, root, limit_seconds)


def _serve(answers: int, root: Path, limit_seconds: int) -> None:
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    running: dict[int, tuple[str, float]] = {}
    pending = b""
    while True:
        readable, _, _ = select.select([0, read_end], [], [])
        if read_end in readable:
            os.read(read_end, 4096)
            _reap(answers, running)
        if 0 in readable:
            chunk = os.read(0, 65536)
            if not chunk:
                break
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                request = json.loads(line)
                pid = _start(root, request["name"], Path(request["folder"]), limit_seconds)
                running[pid] = (request["name"], time.monotonic())
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _reap(answers: int, running: dict[int, tuple[str, float]]) -> None:
    while running:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if pid == 0:
            return
        name, started = running.pop(pid)
        seconds = round(time.monotonic() - started, 3)
        exit_code = os.waitstatus_to_exitcode(status)
        _say(answers, name=name, status=exit_code, seconds=seconds, peak_mib=usage.ru_maxrss >> 10)


def _start(root: Path, name: str, folder: Path, limit_seconds: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        die_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(limit_seconds)
        log = os.open(folder / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        _compile(root, name, folder)
        status = 0
    except BaseException as error:  # whatever it is, the parent must be told
        (folder / ERROR_FILE).write_text(_shown(error, root), encoding="utf-8")
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _compile(root: Path, name: str, folder: Path) -> None:
    from .compile_variant import compile_variant

    compile_variant(name, root, folder)


def _shown(error: BaseException, root: Path) -> str:
    """The error and the innermost line of kernels/ that led to it."""
    text = f"{type(error).__name__}: {error}".rstrip()
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(f"{root}/kernels/")
    ]
    if frames:
        where = os.path.relpath(frames[-1].filename, root)
        text += f"\n  at {where}:{frames[-1].lineno}: {frames[-1].line}"
    return text


def _say(answers: int, **message: object) -> None:
    os.write(answers, (json.dumps(message) + "\n").encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
