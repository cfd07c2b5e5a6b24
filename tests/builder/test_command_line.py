"""What the build says, to a terminal, to a log and to a program."""

import json
import os
import pty
import re
import subprocess

import pytest

from builder.pool import Pool
from builder.toolchain import find_toolchain

NAMES = [
    f"paged_prefill_d{d}_v128_{page}_longest_first" for d in (128, 192) for page in ("p1_linear", "p64_vectorized_5d")
]


def test_plain_lines_where_there_is_no_terminal(fresh):
    done = fresh.run()
    lines = done.stderr.splitlines()
    assert lines[0] == "compiling 4 of 4 variants, 2 at a time"
    pattern = r"[1-4]/4 built paged_\w+: \d+\.\d s, \d+ VGPRs \(\d+ of them AGPRs\), \d+ SGPRs, LDS 1024, \d+ bytes"
    assert len(lines) == 5 and all(re.fullmatch(pattern, line) for line in lines[1:])
    assert "\r" not in done.stderr and "\x1b" not in done.stderr
    assert re.fullmatch(
        r"4 built, 0 current, 0 failed in \d+\.\d s; .*/prebuilt/gfx950 has 4 of 4 variants, \d+ bytes\n", done.stdout
    )


def test_a_bar_on_a_terminal(fresh):
    leader, follower = pty.openpty()
    process = subprocess.Popen(fresh.command(), stdout=follower, stderr=follower, env={**os.environ, "COLUMNS": "70"})
    os.close(follower)
    said = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        said += chunk
    os.close(leader)
    assert process.wait() == 0
    text = said.decode()
    assert "[........................] 0/4" in text and "[############............] 2/4" in text
    bars = [piece.split("\r")[0] for piece in re.findall(r"\[[#.]{24}\][^\x1b\n]*", text)]
    assert bars and max(map(len, bars)) < 70
    assert text.rstrip().endswith("bytes"), "the summary comes last, and the bar is wiped"


def test_list_says_what_is_current(built):
    built.edit("kernels/linear.py", "SCALE = 2.0", "SCALE = 2.5")
    assert json.loads(built.run("--list", "--json").stdout) == [
        {"name": name, "state": "to compile" if "linear" in name else "current"} for name in NAMES
    ]
    assert built.run("--list", "--only", "d192").stdout.splitlines() == [
        f"to compile  {NAMES[2]}",
        f"current     {NAMES[3]}",
    ]


def test_json_tells_everything(built_once):
    outcome = built_once.first_build
    assert sorted(outcome["listed"]) == NAMES and outcome["variants"] == 4 and outcome["published"]
    row = min(outcome["built"], key=lambda row: row["name"])
    assert row["lds_bytes"] == 1024 and row["vgprs"] > 0 and row["seconds"] > 0 and len(row["sha256"]) == 64
    assert row["bytes"] == (built_once.published / f"{row['name']}.hsaco").stat().st_size


def test_a_failure_is_named_last_with_the_compilers_words(built):
    built.set_fault("too much LDS")
    done = built.run("--only", NAMES[0], code=1)
    assert done.stdout.startswith(f"FAILED {NAMES[0]}\n  CodeObjectError: 164864 bytes of LDS")
    assert "  | error: " in done.stdout and "local memory (164864) exceeds limit" in done.stdout
    log = built.root / "prebuilt" / ".build" / "logs" / f"{NAMES[0]}.log"
    assert "local memory (164864) exceeds limit" in log.read_text()


def test_a_wrong_matrix_stops_before_anything_compiles(fresh):
    fresh.edit("configs/gfx950.yaml", "[1, 64]", "[1, 65]")
    done = fresh.run(code=2)
    assert done.stderr == (
        "build_kernels: configs/gfx950.yaml:4: page size 65 has no KV layout; fix: use one of 1, 16, 64, 1024\n"
    )
    assert not (fresh.root / "prebuilt").exists()


def test_config_and_out_are_taken_from_where_the_caller_is(built_once, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        (built_once.root / "configs" / "gfx950.yaml").read_text().replace("[1, 64]", "[1]")
    )
    done = built_once.run("--config", "mine.yaml", "--out", "mine", cwd=tmp_path)
    assert f"{tmp_path}/mine/gfx950 has 2 of 2 variants" in done.stdout


def test_an_out_that_cannot_be_written(built_once, tmp_path):
    (tmp_path / "file").touch()
    done = built_once.run("--out", str(tmp_path / "file"), code=1)
    assert "Not a directory" in done.stderr or "File exists" in done.stderr


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_jobs_that_are_no_number_of_processes(built_once, jobs):
    assert "argument --jobs: " in built_once.run("--jobs", jobs, code=2).stderr


def test_a_variant_that_takes_too_long_is_given_up(fresh, tmp_path):
    fresh.set_fault("hang")
    (tmp_path / "work").mkdir()
    with Pool(fresh.root, find_toolchain(), tmp_path / "work", jobs=1, limit_seconds=1) as pool:
        (result,) = pool.compile([NAMES[0]])
    assert result.entry is None and result.failure == "it took more than 1 s"
    assert fresh.processes() == []
