"""This kernel's TCP over windtunnel's queues in real time, and the simulator's TCP over the same queues.

``python docs/packs/emulated.py`` runs `iperf3` with each controller over each queue with ``windtunnel emulate``, runs
the same scenarios in the simulator, keeps all numbers in ``emulated.csv``, and writes ``emulated.md`` and a picture;
``--page`` writes them from the numbers that are kept. It takes about six minutes and wants a machine with nothing else
to do: what was late is kept too, and marked.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from matplotlib.figure import Figure

from windtunnel.papers.experiment_figure import PanelSpec, Point, figure
from windtunnel.scenario import Scenario

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import drawn  # noqa: E402

NUMBERS, TEMPLATE, PAGE, PICTURE = (HERE / f"emulated.{kind}" for kind in ("csv", "txt", "md", "png"))

CONTROLLERS = ("reno", "cubic", "bbr")
#: Tail drop holds 40 ms at 20 Mbit/s; AQMs have their defaults, and no flow has ECN.
QUEUES = {
    "fifo": '{ kind = "fifo", limit = "100 kB" }',
    "codel": '{ kind = "codel" }',
    "pie": '{ kind = "pie" }',
    "fq_codel": '{ kind = "fq_codel" }',
}
#: Runs of each side; those of the simulator start within the first round trip.
MEASURED, SIMULATED = 2, 5
STEADY_S, END_S = 3, 12
COLUMNS = ("cc", "queue", "side", "draw", "goodput_mbps", "rtt_ms", "sojourn_p99_ms", "losses", "late_p99_us")
#: What the page compares: its name, its column, and decimals.
MEASURES = (("goodput, Mbit/s", "goodput_mbps", 2), ("RTT, ms", "rtt_ms", 1), ("packets lost", "losses", 0))
BOUND_US = 1000.0

Row = Mapping[str, str]


def scenario(flow: str, queue: str, draw: int = 0) -> str:
    """20 Mbit/s, 20 ms, one flow with these lines; measured from second 3 to second 12."""
    return f"""\
duration = "{END_S} s"
seed = {draw + 1}
[bottleneck]
rate = "20 Mbit/s"
queue = {QUEUES[queue]}
[[flow]]
{flow}
rtt = "20 ms"
start = "{50 + 4 * draw} ms"
[[window]]
name = "steady"
from = "{STEADY_S} s"
to = "{END_S} s"
"""


def values(summary: Mapping[str, Any]) -> dict[str, float]:
    """The measures of the flow that has sent most, and of the queue, in the window."""
    [window] = summary["windows"]
    flow = max(window["flows"], key=lambda one: float(one["goodput_mbps"]))
    [queue] = window["queues"]
    return {
        "goodput_mbps": flow["goodput_mbps"],
        "rtt_ms": flow["rtt_ms"]["mean"],
        "sojourn_p99_ms": queue["sojourn_ms"]["p99"],
        "losses": sum(queue["drops"].values()),
    }


def emulated(cc: str, queue: str) -> dict[str, float]:
    """One run of iperf3 with the kernel's controller."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "path.toml"
        file.write_text(scenario('cc = "cubic"', queue), encoding="utf-8")
        client = ["iperf3", "-c", "10.0.0.2", "-C", cc, "-t", str(END_S)]
        words = [sys.executable, "-m", "windtunnel", "emulate", str(file), "--json", "--bound", "1 min"]
        done = subprocess.run(
            [*words, "--serve", "iperf3 -s", "--", *client], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, check=True,
        )  # fmt: skip
    document = json.loads(done.stdout)
    return {**values(document), "late_p99_us": document["meta"]["emulation"]["lateness"]["p99_us"]}


def measure() -> None:
    """Run all, and keep the numbers."""
    with NUMBERS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for cc in CONTROLLERS:
            for queue in QUEUES:
                for side, draws in (("measured", MEASURED), ("simulated", SIMULATED)):
                    for draw in range(draws):
                        if side == "measured":
                            row = emulated(cc, queue)
                        else:
                            row = values(Scenario.from_toml(scenario(f'cc = "{cc}"', queue, draw)).run().summary)
                        cells = (f"{row[column]:.5g}" if column in row else "" for column in COLUMNS[4:])
                        writer.writerow([cc, queue, side, draw, *cells])
                        file.flush()


def numbers() -> list[Row]:
    """All rows that are kept."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def of(rows: Sequence[Row], cc: str, queue: str, side: str, column: str) -> list[float]:
    """The values of a cell."""
    return [
        float(row[column])
        for row in rows
        if (row["cc"], row["queue"], row["side"]) == (cc, queue, side) and row[column]
    ]


def spread(cell: Sequence[float], digits: int) -> str:
    """The mean, and from the least to the greatest."""
    mean, low, high = (f"{value:.{digits}f}" for value in (sum(cell) / len(cell), min(cell), max(cell)))
    return mean if low == high else f"{mean} ({low} to {high})"


def table(rows: Sequence[Row]) -> str:
    """Both sides of each cell."""
    heads = [f"{name}: {side}" for name, _, _ in MEASURES for side in ("measured", "simulated")]
    lines = ["| controller | queue | " + " | ".join(heads) + " | late by, p99 |", "|" + "---|" * (3 + len(heads))]
    for cc in CONTROLLERS:
        for queue in QUEUES:
            cells = [
                spread(of(rows, cc, queue, side, column), digits)
                for _, column, digits in MEASURES
                for side in ("measured", "simulated")
            ]
            late = max(of(rows, cc, queue, "measured", "late_p99_us"))
            mark = " (late)" if late > BOUND_US else ""
            lines.append(f"| {cc} | {queue} | " + " | ".join(cells) + f" | {late / 1e3:.2f} ms{mark} |")
    return "\n".join(lines)


def facts(rows: Sequence[Row]) -> dict[str, str]:
    """The numbers of the text."""

    def ratios(column: str) -> Iterator[tuple[float, str]]:
        for cc in CONTROLLERS:
            for queue in QUEUES:
                ours, theirs = (of(rows, cc, queue, side, column) for side in ("simulated", "measured"))
                yield (sum(theirs) / len(theirs)) / (sum(ours) / len(ours)) - 1.0, f"{cc} over {queue}"

    late = [value for cc in CONTROLLERS for queue in QUEUES for value in of(rows, cc, queue, "measured", "late_p99_us")]
    worst = {column: max(ratios(column), key=lambda each: abs(each[0])) for column in ("goodput_mbps", "rtt_ms")}
    return {
        "table": table(rows),
        "runs": str(len(late)),
        "late": str(sum(value > BOUND_US for value in late)),
        "late_least": f"{min(late):.0f}",
        "late_most": f"{max(late) / 1e3:.2f}",
        "goodput_worst": f"{100 * worst['goodput_mbps'][0]:+.1f} % ({worst['goodput_mbps'][1]})",
        "rtt_worst": f"{100 * worst['rtt_ms'][0]:+.1f} % ({worst['rtt_ms'][1]})",
    }


def picture(rows: Sequence[Row]) -> Figure:
    """The round trip of each controller over each queue."""
    panels = []
    for cc in CONTROLLERS:
        sides = {"measured": "", "simulated": ""}
        spec = PanelSpec(cc, range(len(QUEUES)), "Queue", "RTT (ms)", sides, ylim=(0.0, 80.0))
        lines = {
            side: [
                Point(float(number), sum(cell) / len(cell), min(cell), max(cell))
                for number, queue in enumerate(QUEUES)
                if (cell := of(rows, cc, queue, side, "rtt_ms"))
            ]
            for side in sides
        }
        panels.append((spec, lines))
    shown = figure("The kernel's TCP over our queues in real time, and the simulator's", panels)
    # Queues have no order: they have names and no line from one to the next.
    for axes in shown.axes:
        axes.set_xticks(range(len(QUEUES)), QUEUES)
        for line in axes.lines:
            line.set_linestyle("none")
    # Limits of axes are known once they are drawn.
    shown.draw_without_rendering()
    return shown


def page(rows: Sequence[Row]) -> str:
    """The page."""
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(facts(rows))


def main() -> None:
    """Run, keep the numbers, write the page and the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", action="store_true", help="from the numbers that are kept")
    if not parser.parse_args().page:
        measure()
    rows = numbers()
    PAGE.write_text(page(rows), encoding="utf-8")
    drawn.write(picture(rows), PICTURE)


if __name__ == "__main__":
    main()
