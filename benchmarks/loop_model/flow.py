"""Control flow: basic blocks, loops, and the path that an iteration mostly takes."""

from __future__ import annotations

import dataclasses

from .listing import VALU_CLASSES, Instruction


@dataclasses.dataclass
class Blocks:
    """`bounds[b]`: first and past-the-last instruction; `next[b]`: the blocks that may follow."""

    instructions: list[Instruction]
    bounds: list[tuple[int, int]]
    next: list[list[int]]

    def of(self, block: int) -> list[Instruction]:
        return self.instructions[slice(*self.bounds[block])]


def find_blocks(instructions: list[Instruction]) -> Blocks:
    place = {i.address: n for n, i in enumerate(instructions)}
    leaders = {0}
    for n, i in enumerate(instructions):
        if i.kind == "branch":
            leaders |= {n + 1, place.get(i.target, 0)}
    starts = sorted(n for n in leaders if n < len(instructions))
    number = {start: block for block, start in enumerate(starts)}
    bounds = list(zip(starts, [*starts[1:], len(instructions)]))
    following = []
    for block, (_, end) in enumerate(bounds):
        last, targets = instructions[end - 1], []
        if last.kind == "branch" and last.target in place:
            targets.append(number[place[last.target]])
        if (last.kind != "branch" or last.conditional) and block + 1 < len(bounds):
            targets.append(block + 1)
        following.append(targets)
    return Blocks(instructions, bounds, following)


def find_loops(blocks: Blocks) -> dict[int, set[int]]:
    """{header: blocks of the natural loop}."""
    count = len(blocks.bounds)
    before = [[] for _ in range(count)]
    for block, following in enumerate(blocks.next):
        for target in following:
            before[target].append(block)
    everything = (1 << count) - 1
    dominators = [1] + [everything] * (count - 1)
    changed = True
    while changed:
        changed = False
        for block in range(1, count):
            common = everything if before[block] else 0
            for previous in before[block]:
                common &= dominators[previous]
            common |= 1 << block
            changed |= common != dominators[block]
            dominators[block] = common
    found: dict[int, set[int]] = {}
    for block in range(count):
        for header in blocks.next[block]:
            if dominators[block] >> header & 1:
                body, todo = {header, block}, [block] if block != header else []
                while todo:
                    for previous in before[todo.pop()]:
                        if previous not in body:
                            body.add(previous)
                            todo.append(previous)
                found.setdefault(header, set()).update(body)
    return found


def usual_path(blocks: Blocks, header: int, body: set[int], valu_clocks) -> list[int]:
    """From header to latch: most matrix work, then least VALU work (nothing masked or rescaled), then shortest."""
    memo: dict[int, tuple | None] = {}
    open_blocks: set[int] = set()

    def best_from(block):
        if block in memo:
            return memo[block]
        open_blocks.add(block)
        code = blocks.of(block)
        own = (sum(i.flops for i in code), -valu_clocks(code), -len(code))
        best = None
        for target in blocks.next[block]:
            if target == header:
                candidate = (own, (block,))
            elif target in body and target not in open_blocks:
                behind = best_from(target)
                if behind is None:
                    continue
                candidate = (tuple(a + b for a, b in zip(own, behind[0])), (block, *behind[1]))
            else:
                continue
            if best is None or candidate[0] > best[0]:
                best = candidate
        open_blocks.discard(block)
        memo[block] = best
        return best

    best = best_from(header)
    return list(best[1]) if best else []


def expand(blocks: Blocks, path: list[int]) -> list[tuple[Instruction, bool]]:
    """One iteration: (instruction, branch taken)."""
    result = []
    for block, following in zip(path, path[1:] + path[:1]):
        start = blocks.bounds[following][0]
        for n in range(*blocks.bounds[block]):
            i = blocks.instructions[n]
            lands = i.target == blocks.instructions[start].address
            result.append((i, i.kind == "branch" and lands and start != n + 1))
    return result


def has_stagger(blocks: Blocks, header: int) -> bool:
    """A barrier alone in a block that a branch may skip, before the loop: half of the waves run one phase behind."""
    for block in range(1, header):
        if [i.kind for i in blocks.of(block)] == ["barrier"] and len(blocks.next[block - 1]) == 2:
            return True
    return False


def is_valu(i: Instruction) -> bool:
    return i.kind in VALU_CLASSES
