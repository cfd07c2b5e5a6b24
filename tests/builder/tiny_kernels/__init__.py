"""A stand-in for kernels/ in the builder's tests: real FlyDSL kernels, small enough to compile in a tenth of a second.

FAULT makes the kernel wrong in one way; the tests edit it in their copy of this file.
"""

from .source import make_source

FAULT = "none"


def build_variant(variant):
    if variant.kv_layout == "linear":
        from .linear import SCALE
    else:
        from .vectorized import SCALE
    return make_source(variant, SCALE, FAULT)
