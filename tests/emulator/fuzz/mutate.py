"""Broken code objects, made from good ones by a seed."""

import random

KINDS = ("random", "truncate", "flip", "header", "splice", "text", "zero")


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
