"""A throughput model of the hot loop of a gfx950 code object: counts, bounds, and an in-order simulation of one SIMD.

    python -m benchmarks.loop_model FILE... [--set name=value ...] [--settings] [--json FILE]

Nothing here needs a GPU, and nothing it prints is a measurement on one. It does not see LDS bank conflicts (tests/kernels proves
that there are none), memory contention or power.
"""

from .analysis import Analysis, analyse
from .costs import Costs

__all__ = ["Analysis", "Costs", "analyse"]
