"""quiche over windtunnel's queues in real time, and the simulator's controllers of the same names over the same queues.

``python docs/packs/emulated_quic.py`` runs the program of ``examples/quiche`` (``make quiche``) with each of its
controllers over each queue with ``windtunnel emulate``, runs the scenarios in the simulator, in TCP and in a QUIC
stack, and keeps all numbers in ``emulated-quic.csv``; ``--page`` prints the table of the page from them. It takes about
seven minutes and wants a machine with nothing else to do, or ``chrt -r 1`` in front of it.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from windtunnel.scenario import Scenario

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from emulated import BOUND_US, END_S, QUEUES, Row, scenario, spread  # noqa: E402

NUMBERS = HERE / "emulated-quic.csv"
PROGRAM = HERE.parents[1] / "examples/quiche/target/release/windtunnel-quiche"

#: What each side is. None has ECN, as quiche has none. quinn's pacer does not ask a controller for its rate, so BBR is
#: in TCP alone: both versions, since quiche's has gains of either. TCP has quiche's slow start, which quinn does not
#: take.
SIDES = {
    "reno": {"quiche": "", "TCP": 'cc = { kind = "reno", slow_start = "hystart-pp" }', "quinn": "reno"},
    "cubic": {"quiche": "", "TCP": 'cc = { kind = "cubic", slow_start = "hystart-pp" }', "quinn": "cubic"},
    "bbr2": {"quiche": "", "TCP": 'cc = "bbr2"', "TCP, bbr3": 'cc = "bbr3"'},
}
#: Runs of quiche, and of the simulator, which start within the first round trip.
MEASURED, SIMULATED = 2, 5
COLUMNS = (
    *("cc", "queue", "side", "draw", "throughput_mbps", "sojourn_ms", "sojourn_p99_ms", "drops", "drops_before"),
    *("late_p99_us", "rtt_ms", "lost"),
)
#: What the page compares: its name, its column, and decimals.
MEASURES = (("Mbit/s", "throughput_mbps", 2), ("mean sojourn, ms", "sojourn_ms", 1), ("dropped", "drops", 0))


def values(summary: Mapping[str, Any]) -> dict[str, float]:
    """The measures of the link in the window, and what it dropped before. Headers count, as stacks differ in them."""
    [window] = summary["windows"]
    [queue], [whole] = window["queues"], summary["queues"]
    drops = sum(queue["drops"].values())
    return {
        "throughput_mbps": queue["throughput_mbps"],
        "sojourn_ms": queue["sojourn_ms"]["mean"],
        "sojourn_p99_ms": queue["sojourn_ms"]["p99"],
        "drops": drops,
        "drops_before": sum(whole["drops"].values()) - drops,
    }


def emulated(cc: str, queue: str, program: Path) -> dict[str, float]:
    """One run of quiche, with what it says about itself."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "path.toml", Path(folder) / "out"
        file.write_text(scenario('cc = "cubic"', queue), encoding="utf-8")
        words = [sys.executable, "-m", "windtunnel", "emulate", str(file), "--bound", "1 min", "--out", str(out)]
        client = [str(program), "client", "10.0.0.2:4433", f"{END_S}s", "--cc", cc]
        done = subprocess.run(
            [*words, "--serve", f"{program} server 10.0.0.2:4433", "--", *client],
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        document = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    own = json.loads(done.stdout.splitlines()[0])
    late = document["meta"]["emulation"]["lateness"]["p99_us"]
    return {**values(document), "late_p99_us": late, "rtt_ms": own["rtt_ms"], "lost": own["lost"]}


def simulated(side: str, flow: str, queue: str, draw: int) -> dict[str, float]:
    """The same path in the simulator."""
    if side == "quinn":
        flow = f'stack = "quinn"\necn = false\ncc = {{ windtunnel = "{flow}" }}'
    return values(Scenario.from_toml(scenario(flow, queue, draw)).run().summary)


def measure(program: Path) -> None:
    """Run all, and keep the numbers."""
    with NUMBERS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for cc, sides in SIDES.items():
            for queue in QUEUES:
                for side, flow in sides.items():
                    for draw in range(SIMULATED if flow else MEASURED):
                        row = simulated(side, flow, queue, draw) if flow else emulated(cc, queue, program)
                        cells = (f"{row[column]:.5g}" if column in row else "" for column in COLUMNS[4:])
                        writer.writerow([cc, queue, side, draw, *cells])
                        file.flush()


def numbers() -> list[Row]:
    """All rows that are kept."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(rows: Sequence[Row]) -> str:
    """A line for each side of each cell."""
    heads = ["controller", "queue", "side", *(name for name, _, _ in MEASURES), "late by, p99"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for cc, sides in SIDES.items():
        for queue in QUEUES:
            for side in sides:
                runs = [row for row in rows if (row["cc"], row["queue"], row["side"]) == (cc, queue, side)]
                cells = [spread([float(run[column]) for run in runs], digits) for _, column, digits in MEASURES]
                late = max((float(run["late_p99_us"]) for run in runs if run["late_p99_us"]), default=None)
                mark = "" if late is None else f"{late / 1e3:.2f} ms{' (late)' if late > BOUND_US else ''}"
                lines.append(f"| {cc} | {queue} | {side} | " + " | ".join(cells) + f" | {mark} |")
    return "\n".join(lines)


def main() -> None:
    """Run and keep the numbers, or print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", action="store_true", help="print the table of the numbers that are kept")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the program of examples/quiche")
    arguments = parser.parse_args()
    if not arguments.page:
        measure(arguments.program)
    print(table(numbers()))


if __name__ == "__main__":
    main()
