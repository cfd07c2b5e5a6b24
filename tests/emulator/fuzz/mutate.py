"""Broken code objects, made from good ones by a seed."""

import random

KINDS = ("random", "truncate", "flip", "header", "splice", "text", "instruction", "zero")
# (bits, mask) of an instruction's first word: the families that reach memory or keep state, with all else random (CDNA3 ISA, chapter 13).
FAMILIES = (
    (0xC0000000, 0xFC000000),  # SMEM
    (0xD0000000, 0xFC000000),  # VOP3
    (0xD3800000, 0xFF800000),  # VOP3P, MFMA
    (0xD8000000, 0xFC000000),  # DS
    (0xDC000000, 0xFC000000),  # FLAT, GLOBAL, SCRATCH
    (0xE0000000, 0xFC000000),  # MUBUF
    (0x7E000000, 0xFE000000),  # VOP1, with SDWA and DPP words
    (0xB0000000, 0xF0000000),  # SOPK
    (0xBE800000, 0xFF800000),  # SOP1
    (0xBF800000, 0xFF800000),  # SOPP
)


def mutate(good, seed):
    """(kind, bytes): one of KINDS applied to a code object. The same seed gives the same bytes."""
    rng = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    data = bytearray(good)
    if kind == "random":
        data = bytearray(rng.randbytes(rng.choice([0, 1, 4, 63, 64, 500, 5000])))
        if rng.random() < 0.5:
            data[:4] = b"\x7fELF"
    elif kind == "truncate":
        del data[rng.randrange(len(data)) :]
    elif kind == "flip":
        for _ in range(rng.choice([1, 1, 4, 32])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "header":  # ELF, program and section headers, notes: what a loader trusts
        for _ in range(rng.choice([1, 2, 8])):
            at = rng.randrange(min(len(data) - 8, 0x300))
            value = rng.choice([0, 1, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, rng.getrandbits(64)])
            data[at : at + 8] = value.to_bytes(8, "little")
    elif kind == "splice":
        a, b, n = rng.randrange(len(data)), rng.randrange(len(data)), rng.randrange(1, 256)
        data[a : a + n] = data[b : b + n]
    elif kind == "text":  # instructions: wild registers, offsets, branches
        start = text_offset(good)
        for _ in range(rng.choice([1, 3, 20])):
            at = start + 4 * rng.randrange(max(1, min(2000, (len(data) - start) // 4)))
            data[at : at + 4] = rng.getrandbits(32).to_bytes(4, "little")
    elif kind == "instruction":  # near the entry, so that it is executed
        start = text_offset(good)
        for _ in range(rng.choice([1, 1, 2, 4])):
            bits, mask = rng.choice(FAMILIES)
            first = bits | rng.getrandbits(32) & ~mask & 0xFFFFFFFF
            at = start + 4 * rng.randrange(max(1, min(60, (len(data) - start) // 4 - 2)))
            data[at : at + 8] = first.to_bytes(4, "little") + rng.getrandbits(32).to_bytes(4, "little")
    else:
        a = rng.randrange(len(data))
        data[a : a + 512] = bytes(len(data[a : a + 512]))
    return kind, bytes(data)


def text_offset(good):
    """File offset of .text: the executable program header's."""
    header = int.from_bytes(good[32:40], "little")
    size, count = int.from_bytes(good[54:56], "little"), int.from_bytes(good[56:58], "little")
    for i in range(count):
        at = header + i * size
        if int.from_bytes(good[at : at + 4], "little") == 1 and good[at + 4] & 1:
            return int.from_bytes(good[at + 8 : at + 16], "little")
    return 0
