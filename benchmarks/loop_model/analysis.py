"""The hot loop of one code object: what it does in an iteration, how fast it could be, how fast the simulation is."""

from __future__ import annotations

import dataclasses
from collections import Counter

from . import flow, listing
from .costs import Costs
from .simulation import simulate

WAVES = 2  # of 256 registers, on one SIMD
_MINOR = 0.1  # an MFMA shape with less of the work than this is bookkeeping (row sums)


@dataclasses.dataclass(frozen=True)
class Analysis:
    """Clocks are for one iteration of all waves of one SIMD; flops count useful products only."""

    file: str
    address: int  # of the loop
    instructions: int
    classes: dict
    valu_clocks: int  # of one wave
    matrix_clocks: int  # of one wave
    useful_matrix_clocks: int
    flops: int  # of a CU
    stagger: int
    bounds: dict
    clocks: float
    stalls: list

    @property
    def flops_per_clock(self) -> float:
        return self.flops / self.clocks

    @property
    def useful_share(self) -> float:
        """Of the clocks, those in which the matrix unit works on useful products."""
        return WAVES * self.useful_matrix_clocks / self.clocks

    @property
    def binding(self) -> str:
        return max(self.bounds, key=self.bounds.get)


def analyse(path, costs: Costs | None = None) -> Analysis:
    costs = costs or Costs()
    blocks = flow.find_blocks(listing.disassemble(path))
    clocks_of = _valu_clocks(costs)
    header, path_of_loop = _hot_loop(blocks, clocks_of)
    iteration = flow.expand(blocks, path_of_loop)
    stagger = int(flow.has_stagger(blocks, header))
    clocks, stalls = simulate(iteration, WAVES, stagger, costs)
    code = [i for i, _ in iteration]
    useful = _useful(code)
    return Analysis(
        file=str(path),
        address=code[0].address,
        instructions=len(code),
        classes=dict(Counter(i.kind for i in code)),
        valu_clocks=clocks_of(code),
        matrix_clocks=sum(i.matrix_clocks for i in code),
        useful_matrix_clocks=sum(i.matrix_clocks for i in useful),
        flops=WAVES * costs.simds * sum(i.flops for i in useful),
        stagger=stagger,
        bounds=_bounds(code, clocks_of, costs),
        clocks=clocks,
        stalls=stalls,
    )


def _valu_clocks(costs: Costs):
    cost = {kind: getattr(costs, kind) for kind in listing.VALU_CLASSES}
    return lambda code: sum(cost[i.kind] for i in code if flow.is_valu(i))


def _hot_loop(blocks: flow.Blocks, clocks_of) -> tuple[int, list[int]]:
    """(header, usual path) of the innermost loop with most matrix work; among equals the one with least VALU work."""
    found = []
    for header, body in flow.find_loops(blocks).items():
        path = flow.usual_path(blocks, header, body, clocks_of)
        code = [i for block in path for i in blocks.of(block)]
        found.append((header, body, path, sum(i.flops for i in code), clocks_of(code), len(path)))
    with_work = {header for header, _, _, flops, *_ in found if flops}
    inner = [loop for loop in found if loop[3] and not (loop[1] - {loop[0]}) & with_work]
    if not inner:
        raise listing.ListingError("no loop with matrix instructions")
    most = max(loop[3] for loop in inner)
    header, _, path, *_ = min((loop for loop in inner if loop[3] >= 0.999 * most), key=lambda loop: loop[4:])
    return header, path


def _useful(code):
    work = Counter()
    for i in code:
        work[i.name] += i.flops
    least = _MINOR * sum(work.values())
    return [i for i in code if i.flops and work[i.name] >= least]


def _bounds(code, clocks_of, costs: Costs) -> dict:
    """Clocks that each resource needs at least."""
    sizes = Counter()
    for i in code:
        sizes[i.kind] += i.bytes
    matrix = sum(i.matrix_clocks for i in code)
    count = sum(i.kind == "matrix" for i in code)
    lds = sizes["lds_read"] / costs.lds_read + (sizes["lds_write"] + sizes["dma"]) / costs.lds_write
    vmem = (sizes["dma"] + sizes["vector_load"] + sizes["store"]) / costs.vmem
    return {
        "matrix": WAVES * matrix,
        "VALU port": WAVES * (clocks_of(code) + count * costs.mfma_port),
        "LDS": WAVES * costs.simds * lds,
        "memory": WAVES * costs.simds * vmem,
        "issue": costs.slot * (len(code) + sum(i.number for i in code if i.kind == "nop")),
    }
