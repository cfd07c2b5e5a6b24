"""Kills, interrupts, full disks, two builds at once: what is published is whole or absent, and the next build completes it."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

import pytest

from paged_attn_runtime.manifest_check import check_folder


def loads_rightly(project):
    """What is published is whole: or nothing is, which a runtime reports as missing."""
    return not project.published.exists() or check_folder(project.published) == []


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def test_twenty_kills_at_random_moments(fresh):
    """Each kill hits a build of changed sources, so that there is an old state, a new one, and everything between."""
    chance = random.Random(950)
    fresh.edit("configs/gfx950.yaml", "[1, 64]", "[64]")
    for round_number in range(20):
        fresh.edit("kernels/vectorized.py", f"SCALE = {round_number + 3}.0", f"SCALE = {round_number + 4}.0")
        process = subprocess.Popen(fresh.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.0, 1.6))
        process.kill()
        process.wait()
        assert loads_rightly(fresh), f"round {round_number}"
        fresh.run()
        assert check_folder(fresh.published) == [], f"round {round_number}"
        assert len(list(fresh.published.iterdir())) == 3
        assert fresh.build()["built"] == []
    wait_until(lambda: not fresh.processes())


KILL_AT_STEP = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from builder.command_line import main
left = int(sys.argv[2])
def count(event, arguments):
    global left
    if event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "ctypes.dlsym"):
        if "prebuilt" in str(arguments) or "renameat2" in str(arguments):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
sys.exit(main(Path(sys.argv[1]), []))
"""


def test_a_kill_at_every_step_of_publishing(built):
    """Nothing to compile, something to publish: the process dies before each file operation in turn."""
    config = built.root / "configs" / "gfx950.yaml"
    smaller, larger = config.read_text().replace("[1, 64]", "[64]"), config.read_text()
    states = {}
    for text in (smaller, larger):
        config.write_text(text)
        built.run()
        states[text] = built.contents()
    for step in range(200):
        config.write_text((smaller, larger)[step % 2])
        done = subprocess.run([sys.executable, "-c", KILL_AT_STEP, str(built.root), str(step)], capture_output=True)
        assert built.contents() in states.values(), f"killed at step {step}"
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        built.run()
        assert built.contents() == states[config.read_text()], f"completed after a kill at step {step}"
    assert 20 < step < 199


def test_a_killed_build_leaves_no_process_and_no_work_folder_behind(fresh):
    fresh.set_fault("hang")
    process = subprocess.Popen(fresh.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(fresh.processes()) >= 4)  # the build, the worker, two children
    process.kill()
    process.wait()
    wait_until(lambda: not fresh.processes())
    fresh.edit("kernels/__init__.py", '"hang"', '"none"')
    fresh.run()
    assert check_folder(fresh.published) == []
    assert [path.name for path in (fresh.root / "prebuilt" / ".build").glob("work-*")] == []


def test_an_interrupt_keeps_what_was_compiled(fresh):
    fresh.edit("kernels/linear.py", "SCALE = 2.0", "SCALE = 2.0\nimport time\ntime.sleep(600)")
    # A shell's background job, as these tests may be, ignores interrupts, and so would what it starts.
    process = subprocess.Popen(
        fresh.command(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_until(lambda: len(fresh.processes()) >= 4)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted; what was compiled is kept, and the next build goes on from there" in said
    wait_until(lambda: not fresh.processes())
    assert not fresh.published.exists()


def test_two_builds_at_once_compile_everything_once(fresh):
    first = subprocess.Popen(fresh.command("--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (fresh.root / "prebuilt" / ".build" / "lock").exists())
    second = subprocess.Popen(fresh.command("--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    outcomes = [process.communicate(timeout=60) for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0]
    assert sum(len(json.loads(out)["built"]) for out, _ in outcomes) == 4
    assert any("another build is running in this folder; waiting for it" in err for _, err in outcomes)
    assert check_folder(fresh.published) == []


def limit_file_size(limit):
    """The kernel refuses to let any file grow beyond `limit` bytes: writes fail half-way, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def test_a_disk_that_is_full_when_the_manifest_is_written(built):
    before = built.contents()
    (built.root / "paged_attn_runtime" / "version.py").write_text('__version__ = "9.8.7"\n')
    largest = max(len(data) for name, data in before.items() if name.endswith(".hsaco"))
    assert largest < len(before["manifest.json"])
    done = built.run(code=1, preexec_fn=limit_file_size(largest))
    assert "File too large" in done.stderr and "what was published before is as it was" in done.stderr
    assert built.contents() == before
    built.run()
    assert check_folder(built.published) == []


def test_a_disk_that_is_full_when_an_object_is_written(built):
    before = built.contents()
    built.edit("kernels/vectorized.py", "SCALE = 3.0", "SCALE = 9.0")
    built.edit("kernels/linear.py", "SCALE = 2.0", "SCALE = 9.0")
    outcome = built.build(code=1, preexec_fn=limit_file_size(3000))
    assert len(outcome["failed"]) == 4 and "File too large" in outcome["failed"][0]["failure"]
    assert built.contents() == before
    built.run()
    assert check_folder(built.published) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_file_system_that_is_full(built, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        done = built.run("--out", str(disk), code=1)
        assert "No space left on device" in done.stderr + done.stdout
        assert not (disk / "gfx950").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)
