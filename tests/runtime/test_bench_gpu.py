"""The benchmark for the day that hardware is there is known to work: tiny shapes on whatever device this is."""

import json
import subprocess
import sys

import pytest

from benchmarks.bench_gpu import SHAPES, Shape

from .conftest import ROOT


def test_flops_of_a_published_shape():
    d128 = next(s for s in SHAPES if (s.head_dim, s.page_size, s.new) == (128, 64, 16384))
    assert d128.flops / d128.published_ms / 1e9 == pytest.approx(1590.7, rel=1e-3)
    assert Shape(128, 128, 64, 2, 3, None, "").flops == 2 * 16 * (3 + 2) * 256


def test_tiny_shapes_run(objects, tmp_path):
    command = [
        sys.executable,
        "-m",
        "benchmarks.bench_gpu",
        "--tiny",
        "--repeat",
        "1",
        "--json",
        str(tmp_path / "rows.json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert len(rows) == len(SHAPES) and all(row["ms"] > 0 for row in rows)
