"""The command line of the loop model."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from .analysis import Analysis, analyse
from .costs import SETTINGS, Costs


def describe(result: Analysis) -> str:
    classes = ", ".join(f"{kind} {count}" for kind, count in sorted(result.classes.items()))
    bounds = ", ".join(f"{name} {clocks:.0f}" for name, clocks in result.bounds.items())
    lines = [
        Path(result.file).name,
        f"  loop at {result.address:#x}: {result.instructions} instructions: {classes}",
        f"  one wave: matrix {result.matrix_clocks}, VALU {result.valu_clocks} clocks; second wave {result.stagger} phase behind",
        f"  bounds, two waves: {bounds}; binding: {result.binding}",
        f"  simulated: {result.clocks:.0f} clocks = {result.flops_per_clock:.0f} flops/clk/CU, "
        f"matrix units {100 * result.useful_share:.1f} % useful",
    ]
    for number, stalls in enumerate(result.stalls):
        waits = ", ".join(f"{why} {clocks:.0f}" for why, clocks in stalls.items())
        lines.append(f"  wave {number} waits for: {waits}")
    return "\n".join(lines)


def settings_table(files: list[str]) -> str:
    """Markdown: flops/clk/CU under each setting, and the useful share under the first."""
    rows = [["object", *SETTINGS, "useful"], ["---"] * (len(SETTINGS) + 2)]
    for file in files:
        results = [analyse(file, Costs.with_changes(changes)) for changes in SETTINGS.values()]
        figures = [f"{result.flops_per_clock:.0f}" for result in results]
        rows.append(
            [Path(file).stem.removeprefix("paged_prefill_"), *figures, f"{100 * results[0].useful_share:.1f} %"]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loop_model", description=__doc__)
    parser.add_argument("files", nargs="+", help="code objects (prebuilt/gfx950/*.hsaco)")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="costs other than the default")
    parser.add_argument("--settings", action="store_true", help="a table over the settings that a gain must hold under")
    parser.add_argument("--json", help="write everything there as well")
    options = parser.parse_args()
    if options.settings:
        print(settings_table(options.files))
        return
    try:
        costs = Costs.with_changes(dict(change.split("=", 1) for change in options.set))
    except ValueError as error:
        parser.error(str(error))
    results = [analyse(file, costs) for file in options.files]
    print("\n\n".join(describe(result) for result in results))
    if options.json:
        Path(options.json).write_text(json.dumps([dataclasses.asdict(result) for result in results], indent=1) + "\n")


if __name__ == "__main__":
    main()
