"""How long a batch keeps the GPU busy under each batch policy: a model of the dispatcher, not a measurement.

    python -m benchmarks.schedule_model [--json FILE]

Workgroups are handed out in grid order: number i goes to XCD i mod 8, and there to the first compute unit that is free. A
workgroup costs a fixed part, the policy's own work to find its query block, and a time for each round of keys that its rows see.
The kernels order their workgroups by policy (kernels/mapping.py), and those of two policies have half as many rows, for which the
two groups of waves split the keys (kernels/split_schedule.py):

    single         128 rows; one sequence: its query blocks, the last (heaviest) first
    interleaved    128 rows; rank r is block r // batch, counted from the end, of sequence r % batch: no search, but a short
                   sequence leaves empty workgroups behind
    longest_first  256 rows; rank r is the r-th heaviest block of the whole batch: sorted on the device from the lengths
"""

import argparse
import heapq
import json
from dataclasses import dataclass

from paged_attn_runtime.manifest import select_policy

ROUND_KEYS = 128


@dataclass(frozen=True)
class Machine:
    """gfx950 in figures (docs/performance.md says where they come from); clocks are engine clocks."""

    xcds: int = 8
    cus_per_xcd: int = 32
    workgroups_per_cu: int = 1  # 8 waves of up to 256 VGPRs fill a compute unit
    dispatch_clocks: int = 32  # between two workgroups of one XCD
    gigahertz: float = 2.2


@dataclass(frozen=True)
class Costs:
    """Clocks of one workgroup. `round`: ROUND_KEYS keys for all eight waves."""

    round: float
    rows: int = 256
    fixed: float = 4000  # launch, Q and the first tiles from memory, normalise and store
    empty: float = 600  # a workgroup that finds no block
    search: float = 0  # finding the block


# Dense FP8 D128: 3720 clocks per 128 keys in the loop model. Paging adds 4 % to it (published: 2.0737 ms against 1.9925 ms). The
# others have one published time each, 16K on 32K, from which their round is taken; only ratios of one pair test the model.
PUBLISHED_ROUND = {(128, 128): 3720 * 2.0737 / 1.9925, (192, 128): 5732.0, (192, 192): 9160.0}
PUBLISHED_MS = {
    ((128, 128), 4096, 8192): 0.1635,
    ((128, 128), 16384, 32768): 2.0737,
    ((192, 128), 16384, 32768): 3.0717,
    ((192, 192), 16384, 32768): 4.9083,
}

# Our own rounds, by the loop model (docs/performance.md): longest_first, page 64.
ROUND = {(128, 128): 2680.0, (192, 128): 2916.0, (192, 192): 3484.0}
SPLIT_ROWS = 128
SPLIT_ROUND = 0.525  # of a shared round: half the rows, 4 to 6 % more clocks for each
SPLIT_FIXED = 5500  # with the merge of the two groups' results
# longest_first: a comparison of up to 64 sequences and a wave reduction, about 130 clocks, for each of some 12 steps; lengths from memory.
SEARCH_CLOCKS = {"single": 0, "interleaved": 40, "longest_first": 2400}


def policy_costs(policy, batch, round_clocks):
    search = SEARCH_CLOCKS[policy] * max(1, -(-batch // 64))
    if policy == "longest_first":
        return Costs(round=round_clocks, search=search)
    return Costs(round=round_clocks * SPLIT_ROUND, rows=SPLIT_ROWS, fixed=SPLIT_FIXED, search=search)


def blocks_of(length_q, rows):
    return -(-length_q // rows)


def visible_keys(length_q, length_k, block, rows):
    """Keys that the last row of a query block sees (bottom-right causal)."""
    last_row = min((block + 1) * rows, length_q) - 1
    return max(0, min(length_k, last_row + 1 + length_k - length_q))


def rounds(length_q, length_k, block, rows):
    return -(-visible_keys(length_q, length_k, block, rows) // ROUND_KEYS)


def order_single(lengths, rows):
    ((length_q, _),) = lengths
    return [(0, block) for block in reversed(range(blocks_of(length_q, rows)))]


def order_interleaved(lengths, rows):
    """None stands for a workgroup that finds nothing to do."""
    longest = max(blocks_of(length_q, rows) for length_q, _ in lengths)
    order = []
    for rank in range(longest * len(lengths)):
        step, sequence = divmod(rank, len(lengths))
        block = blocks_of(lengths[sequence][0], rows) - 1 - step
        order.append((sequence, block) if block >= 0 else None)
    return order


def order_longest_first(lengths, rows):
    work = [(b, block) for b, (length_q, _) in enumerate(lengths) for block in range(blocks_of(length_q, rows))]
    work.sort(key=lambda w: (-visible_keys(*lengths[w[0]], w[1], rows), w))
    slots = sum(length_q for length_q, _ in lengths) // rows + len(lengths)
    return work + [None] * (slots - len(work))


def order_ascending(lengths, rows):
    """Blocks as they lie, sequence by sequence: what a kernel without a policy does."""
    return [(b, block) for b, (length_q, _) in enumerate(lengths) for block in range(blocks_of(length_q, rows))]


ORDERS = {"single": order_single, "interleaved": order_interleaved, "longest_first": order_longest_first}


def workgroup_clocks(order, lengths, num_q_heads, costs):
    """Clocks of every workgroup in grid order; the heads of one block are neighbours, so that they share its keys in the caches."""
    clocks = []
    for work in order:
        if work is None:
            one = costs.empty + costs.search
        else:
            one = costs.fixed + costs.search + costs.round * rounds(*lengths[work[0]], work[1], costs.rows)
        clocks += [one] * num_q_heads
    return clocks


def makespan(clocks, machine=None):
    """Clocks until the last workgroup ends."""
    machine = machine or Machine()
    end = 0.0
    for xcd in range(machine.xcds):
        free = [0.0] * (machine.cus_per_xcd * machine.workgroups_per_cu)
        dispatcher = 0.0
        for one in clocks[xcd :: machine.xcds]:
            start = max(dispatcher, free[0])
            dispatcher = start + machine.dispatch_clocks
            heapq.heapreplace(free, start + one)
            end = max(end, start + one)
    return end


def policy_clocks(policy, lengths, *, num_q_heads=16, round_clocks, machine=None):
    costs = policy_costs(policy, len(lengths), round_clocks)
    return makespan(workgroup_clocks(ORDERS[policy](lengths, costs.rows), lengths, num_q_heads, costs), machine)


def compare_policies(lengths, *, num_q_heads=16, round_clocks):
    """{policy: clocks} for every policy that may take the batch."""
    policies = [p for p in ORDERS if p != "single" or len(lengths) == 1]
    return {p: policy_clocks(p, lengths, num_q_heads=num_q_heads, round_clocks=round_clocks) for p in policies}


def quantities(lengths, *, num_q_heads=16, num_kv_heads=1):
    """What the host knows of a batch: the inputs of the policy rules."""
    return {
        "batch": len(lengths),
        "total_q": sum(length_q for length_q, _ in lengths),
        "max_seqlen_q": max(length_q for length_q, _ in lengths),
        "max_seqlen_k": max(length_k for _, length_k in lengths),
        "num_q_heads": num_q_heads,
        "num_kv_heads": num_kv_heads,
    }


def published_clocks(pair, length_q, length_k):
    """The published kernel on its own shapes: blocks in ascending order, one sequence, 16 heads."""
    lengths, costs = [(length_q, length_k)], Costs(round=PUBLISHED_ROUND[pair])
    return makespan(workgroup_clocks(order_ascending(lengths, costs.rows), lengths, 16, costs))


UNIFORM = {f"B={b}, 4K on 8K": [(4096, 8192)] * b for b in (1, 2, 3, 5, 8, 16, 32)}
MIXES = {
    "chunk of 16K on 128K beside 7 short": [(16384, 147456)] + [(64, 8192)] * 7,
    "chunk of 8K beside 31 single tokens": [(8192, 40960)] + [(1, 4096 + 512 * n) for n in range(31)],
    "two: 16K on 0, 1K on 64K": [(16384, 16384), (1024, 66560)],
    "two: 512 and 8K": [(512, 512), (8192, 16384)],
    "three: 300, 1, 77 (the demo)": [(300, 300), (1, 514), (77, 1077)],
    "four: 1K, 2K, 4K, 8K": [(1024 << n, 2048 << n) for n in range(4)],
    "eight: 256 to 32K": [(256 << n, 256 << n) for n in range(8)],
    "sixteen: 1K to 16K, prefixes falling": [(1024 * (n + 1), 1024 * (n + 1) + 4096 * (15 - n)) for n in range(16)],
    "32 short, 4 long at the end": [(128, 1024)] * 32 + [(4096, 32768)] * 4,
    "64 of 700": [(700, 700)] * 64,
}


def report(rules, *, round_clocks):
    """Rows: batch name, clocks per policy, the rules' choice and how far it is from the best."""
    rows = []
    for name, lengths in {**UNIFORM, **MIXES}.items():
        clocks = compare_policies(lengths, round_clocks=round_clocks)
        chosen = select_policy(rules, quantities(lengths))
        rows.append(
            {"batch": name, "clocks": clocks, "chosen": chosen, "loss": clocks[chosen] / min(clocks.values()) - 1}
        )
    return rows


def main(argv=None):
    from builder.matrix import read_matrix

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", default="configs/gfx950.yaml", help="whose policy rules to judge")
    parser.add_argument(
        "--round", type=float, default=ROUND[(128, 128)], help="clocks of 128 keys for 256 rows (default %(default)s)"
    )
    parser.add_argument("--json", help="write the table there as well")
    options = parser.parse_args(argv)
    rules = read_matrix(options.config).rules

    print("published shapes (model / published, both relative to 128/128, 16K on 32K):")
    base = published_clocks((128, 128), 16384, 32768), PUBLISHED_MS[(128, 128), 16384, 32768]
    for (pair, length_q, length_k), ms in PUBLISHED_MS.items():
        model = published_clocks(pair, length_q, length_k) / base[0]
        print(f"  {pair[0]}/{pair[1]} {length_q >> 10}K on {length_k >> 10}K: {model:.4f} / {ms / base[1]:.4f}")

    rows = report(rules, round_clocks=options.round)
    print(f"\nmodel clocks per policy, 16 query heads, {options.round:.0f} clocks a round; * is what the rules take")
    for row in rows:
        cells = [f"{p}{'*' if p == row['chosen'] else ''} {c / 1000:.0f}k" for p, c in row["clocks"].items()]
        print(f"  {row['batch']:40} {', '.join(cells):70} loss {100 * row['loss']:.1f} %")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
