"""The page on points of BBR's text: what a path has where one of them is taken literally, next to what is done here.

``bbr3-text-points.txt`` is the page without its table. ``python docs/packs/bbr3_text_points.py`` reads the cells that
the sweep wrote into ``results``, keeps them in ``bbr3-text-points.csv``, and writes ``bbr3-text-points.md`` and its
picture; with ``--page`` it writes both from the cells that are kept.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template

from matplotlib.figure import Figure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import drawn  # noqa: E402

NAME = "bbr3-text-points"
TEMPLATE, NUMBERS, PAGE, PICTURE = (HERE / f"{NAME}.{kind}" for kind in ("txt", "csv", "md", "png"))
#: The points, by their number in ``docs/spec/ccwg-2026.md``.
POINTS = {"lost-prefix": 7, "idle-aggregation": 8, "three-cycles": 11, "drain-bound": 14}
PATHS = ("short queue", "pauses", "rate falls")
#: What is measured, with its unit and the decimals of its mean and of its difference.
METRICS = {
    "goodput": ("goodput", "Mbit/s", 2, 4),
    "lost": ("packets lost", "%", 3, 4),
    "delay": ("p95 of the sojourn", "ms", 1, 2),
}
VALUES = ("mean", "mean_low", "mean_high", "difference", "difference_low", "difference_high", "p_corrected")
COLUMNS = ("text", "path", "metric", *VALUES)

Cell = dict[str, str]


def kept() -> list[Cell]:
    """The cells that are kept."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def keep(folder: Path) -> None:
    """Keep what the page needs, with five digits: the last ones are the machine's."""
    with NUMBERS.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        with (folder / "cells.csv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["metric"] in METRICS:
                    values = {name: f"{float(row[name]):.5g}" if row[name] else "" for name in VALUES}
                    writer.writerow({name: row[name] for name in ("text", "path", "metric")} | values)


def cell(cells: Sequence[Cell], text: str, path: str, metric: str) -> Cell:
    """One of them. Raises ValueError if there is none."""
    for each in cells:
        if (each["text"], each["path"], each["metric"]) == (text, path, metric):
            return each
    raise ValueError(f"no cell of {metric} with {text} on {path}")


def difference(one: Cell, digits: int) -> str:
    """What the point changes, with its interval; bold where chance does not explain it."""
    mean, low, high = (float(one[name]) for name in ("difference", "difference_low", "difference_high"))
    if mean == low == high == 0.0:
        return "0"
    shown = f"{mean:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"
    return f"**{shown}**" if float(one["p_corrected"]) < 0.05 else shown


def table(cells: Sequence[Cell]) -> str:
    """A row for each path and quantity: its mean as it is here, and what each point changes."""
    head = ("path", "quantity", "here", *(f"#{number} {name}" for name, number in POINTS.items()))
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for path in PATHS:
        for metric, (what, unit, digits, more) in METRICS.items():
            here = cell(cells, "as here", path, metric)
            mean, low, high = (float(here[name]) for name in ("mean", "mean_low", "mean_high"))
            row = [path, f"{what} ({unit})", f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"]
            row += [difference(cell(cells, point, path, metric), more) for point in POINTS]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def page(cells: Sequence[Cell]) -> str:
    """The page."""
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(table=table(cells))


def picture(cells: Sequence[Cell]) -> Figure:
    """What each point changes, with its interval: a panel for each quantity, a group of lines for each path."""
    shown = Figure(figsize=(10, 4.2), layout="constrained")
    shown.suptitle("What four points of BBR's text change, taken literally (95 % intervals)")
    axes = shown.subplots(1, len(METRICS), sharey=True)
    rows = [(path, point) for path in PATHS for point in POINTS]
    for panel, (metric, (what, unit, *_)) in zip(axes, METRICS.items(), strict=True):
        for at, (path, point) in enumerate(rows):
            one = cell(cells, point, path, metric)
            mean, low, high = (float(one[name]) for name in ("difference", "difference_low", "difference_high"))
            color = f"C{PATHS.index(path)}"
            panel.errorbar(mean, at, xerr=[[mean - low], [high - mean]], fmt="o", color=color, capsize=3, markersize=4)
        panel.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
        panel.set_xlabel(f"Change of {what} ({unit})")
        panel.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(rows)), [f"{path}: {point}" for path, point in rows])
    axes[0].invert_yaxis()
    # Limits of axes are known once they are drawn.
    shown.draw_without_rendering()
    return shown


def main() -> None:
    """Keep the numbers, write the page and its picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", action="store_true", help="from the numbers that are kept")
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args()
    if not options.page:
        keep(options.results / NAME)
    cells = kept()
    PAGE.write_text(page(cells), encoding="utf-8")
    drawn.write(picture(cells), PICTURE)


if __name__ == "__main__":
    main()
