"""Planted faults: what strict mode says of a kernel under several seeds, and of a faulty kernel beside its mended twin."""

import numpy as np

from . import machine
from .machine import LOAD_ARGUMENTS, Buffer, LaunchError, Source

SEEDS = range(5)
DESCRIPTOR = """
s_mov_b32 s8, s4
s_and_b32 s9, s5, 0xffff
s_mov_b32 s10, 0x1000
s_mov_b32 s11, 0x27000
"""


def outcome(source, *arguments, block=(64, 1, 1), seeds=SEEDS, **options):
    """The text of the launch error of every seed, '' where it passed."""
    loaded = machine.module(source)
    texts = []
    for seed in seeds:
        try:
            loaded.launch(source.name, *arguments, block=block, strict=True, seed=seed, **options)
            texts.append("")
        except LaunchError as error:
            assert error.code in (700, 719)  # an illegal address, or a launch failure
            texts.append(error.text)
    return texts


def data(words=4096):
    return Buffer.of(np.arange(words, dtype=np.uint32))


def pair(faulty, mended, *needles, block=(64, 1, 1), **source):
    """Bodies behind LOAD_ARGUMENTS: the faulty one is caught under every seed with all needles in its text, the mended one passes."""

    def says(body):
        return outcome(Source("planted", LOAD_ARGUMENTS + body, **source), data(), Buffer(64 << 10), block=block)

    for text in says(faulty):
        assert text, "the planted fault was not reported"
        for needle in needles:
            assert needle in text, text
    assert says(mended) == [""] * len(SEEDS)


def passes(body, block=(64, 1, 1), **source):
    """A right program is not complained about, whatever the seed."""
    text = outcome(Source("right", LOAD_ARGUMENTS + body, **source), data(), Buffer(64 << 10), block=block)
    assert text == [""] * len(SEEDS)
