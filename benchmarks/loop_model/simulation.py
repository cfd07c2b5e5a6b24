"""Two waves of one SIMD in order: ports, dependencies, counters, barriers and priorities, clock by clock.

VALU and MFMA share an issue port, memory instructions another, scalar ones a third. The other SIMDs run the same code at the same
time, and so have their part of LDS and memory bandwidth.
"""

from __future__ import annotations

from collections import Counter

from .costs import Costs
from .listing import MEMORY_CLASSES, VALU_CLASSES, Instruction

_BARRIER = Instruction("s_barrier", "", 0, kind="barrier")
_GIVE_UP = 4_000_000


class _Wave:
    def __init__(self, iteration, stagger, iterations):
        self.lead_in, self.iteration, self.iterations = [(_BARRIER, False)] * stagger, iteration, iterations
        self.position, self.passes, self.next_issue, self.last_issue = -stagger, 0, 0, -1
        self.priority = self.barriers = 0
        self.at_barrier = self.done = False
        self.ready: dict = {}  # register: clock
        self.in_matrix: dict = {}  # register: clock at which the unit itself can go on with it
        self.flying: dict[str, list] = {"lgkm": [], "vm": []}
        self.marks: list[int] = []
        self.stalls: Counter = Counter()

    def current(self):
        if self.position < 0:
            return self.lead_in[self.position]
        return self.iteration[self.position]

    def ready_at(self, registers):
        return max((self.ready.get(register, 0) for register in registers), default=0)

    def land(self, now):
        for counter, times in self.flying.items():
            self.flying[counter] = [time for time in times if time > now]


class _Simd:
    def __init__(self, costs: Costs, waves: list[_Wave]):
        self.costs, self.waves = costs, waves
        self.valu_free = self.matrix_free = 0
        self.lds_free = self.vmem_free = 0.0
        self.cost = {
            "plain": costs.plain,
            "transcendental": costs.transcendental,
            "packed": costs.packed,
            "quarter": costs.quarter,
            "permlane": costs.permlane,
            "convert": costs.convert,
        }

    def issue(self, wave: _Wave, i: Instruction, taken: bool, now: int, used: set):
        """Clock at which the wave may issue again, or the name of what stops it now."""
        costs = self.costs
        if i.kind == "matrix":
            return self._matrix(wave, i, now, used)
        if i.kind in VALU_CLASSES:
            return self._valu(wave, i, now, used)
        if i.kind in MEMORY_CLASSES:
            return self._memory(wave, i, now, used)
        if i.kind in ("scalar", "scalar_load"):
            return self._scalar(wave, i, now, used)
        if i.kind == "branch":
            if wave.ready_at(i.reads) > now:
                return "dependency"
            return now + (costs.branch_taken if taken else costs.branch_not_taken)
        if i.kind == "wait":
            wave.land(now)
            late = [name for name in ("lgkm", "vm") if name in i.waits and len(wave.flying[name]) > i.waits[name]]
            return f"wait {late[0]}" if late else now + costs.slot
        if i.kind == "barrier":
            return self._barrier(wave, now)
        if i.kind == "nop":
            return now + costs.slot * (i.number + 1)
        if i.kind == "setprio":
            wave.priority = i.number
        return now + costs.slot

    def _matrix(self, wave, i, now, used):
        if "valu" in used or now < self.valu_free:
            return "VALU port"
        forwarded = max((wave.in_matrix.get(r, wave.ready.get(r, 0)) for r in i.accumulates), default=0)
        if max(wave.ready_at(i.reads), forwarded) > now:
            waiting = [r for r in (*i.reads, *i.accumulates) if wave.ready.get(r, 0) > now]
            return "matrix result" if any(r in wave.in_matrix for r in waiting) else "dependency"
        if now < self.matrix_free:
            return "matrix unit"
        used.add("valu")
        self.valu_free, self.matrix_free = now + self.costs.mfma_port, now + i.matrix_clocks
        for register in i.writes:
            wave.ready[register] = now + i.matrix_clocks + self.costs.mfma_latency
            wave.in_matrix[register] = now + i.matrix_clocks
        return now + self.costs.slot

    def _valu(self, wave, i, now, used):
        costs = self.costs
        if "valu" in used or now < self.valu_free:
            return "VALU port"
        overwritten = [r for r in i.writes if r in wave.in_matrix]
        if max(wave.ready_at(i.reads), wave.ready_at(overwritten)) > now:
            waiting = [r for r in i.reads if wave.ready.get(r, 0) > now]
            return "matrix result" if any(r in wave.in_matrix for r in waiting) else "dependency"
        near_mfma = self.matrix_free > 0 and now < self.matrix_free + costs.packed_after_mfma
        if i.kind == "packed" and near_mfma and not costs.packed_beside_mfma:
            return "packed beside MFMA"
        used.add("valu")
        cost = self.cost[i.kind]
        self.valu_free = now + cost
        latency = cost + (costs.transcendental_latency if i.kind == "transcendental" else 0)
        for register in i.writes:
            wave.ready[register] = now + latency + (0 if register[0] in "va" else costs.mask_latency)
            wave.in_matrix.pop(register, None)
        return now + costs.slot

    def _memory(self, wave, i, now, used):
        costs = self.costs
        if "memory" in used:
            return "memory port"
        wave.land(now)
        if wave.ready_at(i.reads) > now:
            return "dependency"
        flying, most = wave.flying[i.counter], costs.most_lgkm if i.counter == "lgkm" else costs.most_vm
        if len(flying) >= most:
            return f"{i.counter} full"
        used.add("memory")
        size = i.bytes * costs.simds
        if i.counter == "lgkm":
            bandwidth = costs.lds_write if i.kind == "lds_write" else costs.lds_read
            self.lds_free = max(now + costs.slot, self.lds_free) + size / bandwidth
            landing = self.lds_free + costs.lds_latency
            flying.append(max(landing, flying[-1] if flying else 0))
        else:
            self.vmem_free = max(now + costs.slot, self.vmem_free) + size / costs.vmem
            if i.kind == "dma":
                self.lds_free = max(now, self.lds_free) + size / costs.lds_write
            landing = self.vmem_free + costs.vmem_latency
            flying.append(max(landing, flying[-1] if flying else 0))
        return now + costs.slot

    def _scalar(self, wave, i, now, used):
        if "scalar" in used:
            return "scalar port"
        if i.kind == "scalar_load":
            wave.flying["lgkm"].append(now + self.costs.smem_latency)
        elif wave.ready_at(i.reads) > now:
            return "dependency"
        else:
            for register in i.writes:
                wave.ready[register] = now + self.costs.slot
        used.add("scalar")
        return now + self.costs.slot

    def _barrier(self, wave, now):
        if not wave.at_barrier:
            wave.at_barrier = True
            wave.barriers += 1
        if any(other.barriers < wave.barriers for other in self.waves if not other.done):
            return "barrier"
        wave.at_barrier = False
        return now + self.costs.slot + self.costs.barrier


def simulate(iteration, waves: int, stagger: int, costs: Costs, iterations: int = 14):
    """(clocks of one iteration in the steady state, stalls of each wave in clocks an iteration)."""
    team = [_Wave(iteration, stagger if number % 2 else 0, iterations) for number in range(waves)]
    simd, now = _Simd(costs, team), 0
    while not all(wave.done for wave in team):
        if now > _GIVE_UP:
            raise RuntimeError("the simulated waves do not end")
        used: set[str] = set()
        able = [wave for wave in team if not wave.done and wave.next_issue <= now]
        for wave in sorted(able, key=lambda w: (-w.priority, w.last_issue)):
            i, taken = wave.current()
            outcome = simd.issue(wave, i, taken, now, used)
            if isinstance(outcome, str):
                wave.stalls[outcome] += costs.slot
                continue
            wave.last_issue, wave.next_issue = now, outcome
            wave.position += 1
            if wave.position == len(wave.iteration):
                wave.position = 0
                wave.passes += 1
                wave.marks.append(now)
                wave.done = wave.passes == wave.iterations
        now += costs.slot
    marks = team[0].marks
    first, last = max(2, len(marks) // 3), len(marks) - 3
    stalls = [{why: clocks / iterations for why, clocks in wave.stalls.most_common()} for wave in team]
    return (marks[last] - marks[first]) / (last - first), stalls
