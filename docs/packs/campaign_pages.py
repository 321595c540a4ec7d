"""Pages on campaigns: a text with tables of what their cells measured.

``NAME.txt`` is a page without its tables, each a line such as ``$goodput``; `PAGES` says what is in them. ``python
docs/packs/campaign_pages.py NAME`` reads the cells that ``windtunnel sweep scenarios/campaigns/NAME.toml`` wrote into
``results`` (for some pages there are several campaigns: `CAMPAIGNS`), keeps them in ``NAME.csv``, and writes
``NAME.md``, and its picture if it has one (`PICTURES`); with ``--page`` it writes both from the cells that are kept.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from matplotlib.figure import Figure

from windtunnel.papers.experiment_figure import PanelSpec, Point, figure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import drawn  # noqa: E402

NUMBERS = {"mean": "mean", "low": "mean_low", "high": "mean_high"}
DIFFERENCE = ("difference", "difference_low", "difference_high")

Cell = Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A table of one metric: rows by some axes, a column for each value of another.

    Attributes:
        metric: The metric's name in the campaign.
        rows: The axes that have a row for each combination of their values.
        columns: The axis with a column for each value.
        only: Values that other axes have.
        digits: Digits after the point.
        change: The column of a difference, by value of `columns`, from the campaign's baseline; none if left out.
        narrow: Half of the interval's length after a ±, where there are many columns.
    """

    metric: str
    rows: Sequence[str]
    columns: str
    only: Mapping[str, str] = field(default_factory=dict)
    digits: int = 1
    change: str | None = None
    narrow: bool = False


#: The campaigns of a page, where they are others than the one of its name.
CAMPAIGNS = {
    "ledbat": ("ledbat-next-to-cubic", "ledbat-latecomer"),
    "slow-starts": ("slow-starts-compared", "slow-starts-resumed"),
}

PAGES: dict[str, dict[str, Table]] = {
    "rate-limited-increase": {
        "time": Table("time", ("app", "idle", "cc"), "gate", change="max-flight"),
        "lost": Table("lost", ("app", "idle", "cc"), "gate", change="max-flight"),
    },
    "ack-frequency": {
        "goodput": Table("goodput", ("cc",), "acks", only={"back": "50 Mbit/s"}, digits=2, change="T = 31"),
        "per_ack": Table("per_ack", ("cc",), "acks", only={"back": "50 Mbit/s"}),
        "delay": Table("delay", ("cc",), "acks", only={"back": "50 Mbit/s"}),
        "narrow": Table("goodput", ("cc",), "acks", only={"back": "500 kbit/s"}, digits=2),
    },
    "cuback": {
        "fifo": Table("window", ("rtt", "rate"), "variant", only={"queue": "FIFO"}, change="cuback"),
        "codel": Table("used", ("rtt", "rate"), "variant", only={"queue": "CoDel"}, change="cuback"),
        "window": Table("window", ("rtt", "rate"), "variant", only={"queue": "CoDel"}, change="cuback"),
    },
    "ledbat": {
        "share": Table("share", ("first", "queue"), "background"),
        "delay": Table("delay", ("first", "queue"), "background"),
        "second": Table("second", (), "flows"),
        "held": Table("held", (), "flows"),
    },
    "slow-starts": {
        "alone": Table("time", ("path", "size"), "start", only={"others": "alone"}, digits=0, narrow=True),
        "next": Table("time", ("path", "size"), "start", only={"others": "next to CUBIC"}, digits=0, narrow=True),
        "lost": Table("lost", ("path",), "start", only={"others": "alone", "size": "10 MB"}, digits=0, narrow=True),
        "overshoot": Table("overshoot", ("path",), "start", only={"others": "alone", "size": "10 MB"}, narrow=True),
        "old": Table("old", ("path",), "start", only={"others": "next to CUBIC", "size": "10 MB"}, narrow=True),
    },
}


@dataclass(frozen=True)
class Picture:
    """Panels for some values of an axis: a metric against another axis, as a multiple of what one line has.

    Attributes:
        title: The figure's title.
        metric: The metric's name in the campaign.
        panels: The axis with a panel for each of some values.
        x: The axis of each panel.
        lines: The axis with a line for each of some values; the first, drawn dashed, divides the others.
        only: Values that other axes have.
        labels: Of the x axis and of the y axis.
        ylim: The ends of the y axis.
    """

    title: str
    metric: str
    panels: tuple[str, Sequence[str]]
    x: str
    lines: tuple[str, Sequence[str]]
    only: Mapping[str, str]
    labels: tuple[str, str]
    ylim: tuple[float, float]


PICTURES = {
    "ledbat": Picture(
        "What a background flow leaves CUBIC, as a multiple of what CUBIC leaves it",
        "goodput",
        ("first", ("background first", "CUBIC first")),
        "queue",
        ("background", ("cubic", "ledbat", "ledbat++", "rledbat")),
        {},
        ("queue", "CUBIC's goodput over that next to CUBIC"),
        (0.8, 2.4),
    ),
    "slow-starts": Picture(
        "Completion time alone, as a multiple of standard slow start's",
        "time",
        ("path", ("cable, 100 Mbit/s, 20 ms", "long, 50 Mbit/s, 100 ms", "geo")),
        "size",
        ("start", ("standard", "hystart", "search", "essp", "rapid", "careful-resume")),
        {"others": "alone"},
        ("size of the transfer", "time over that of standard slow start"),
        (0.7, 1.5),
    ),
}


def kept(name: str) -> list[Cell]:
    """The cells that are kept for a page."""
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def keep(name: str, results: Path) -> None:
    """Keep what the page needs, with five digits: the last ones are the machine's."""
    tables = PAGES[name].values()
    axes = list(dict.fromkeys(axis for t in tables for axis in (*t.rows, t.columns, *t.only)))
    metrics = {table.metric for table in tables}
    if name in PICTURES:
        metrics.add(PICTURES[name].metric)
    cells: list[Cell] = []
    for campaign in CAMPAIGNS.get(name, (name,)):
        with (results / campaign / "cells.csv").open(encoding="utf-8", newline="") as file:
            cells += [cell for cell in csv.DictReader(file) if cell["metric"] in metrics]
    with (HERE / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, (*axes, "metric", *NUMBERS, *DIFFERENCE), lineterminator="\n")
        writer.writeheader()
        for cell in cells:
            columns = NUMBERS | {column: column for column in DIFFERENCE}
            values = {to: f"{float(cell[of]):.5g}" if cell[of] else "" for to, of in columns.items()}
            # Another campaign of the page may have other axes.
            writer.writerow({axis: cell.get(axis, "") for axis in (*axes, "metric")} | values)


def rows(table: Table, cells: Sequence[Cell]) -> str:
    """The table in Markdown, with 95 % intervals. Raises ValueError if it would be empty."""
    chosen = [c for c in cells if c["metric"] == table.metric and all(c[a] == v for a, v in table.only.items())]
    if not chosen:
        raise ValueError(f"no cells of {table.metric}")
    columns = list(dict.fromkeys(cell[table.columns] for cell in chosen))
    by_row: dict[tuple[str, ...], dict[str, Cell]] = {}
    for cell in chosen:
        by_row.setdefault(tuple(cell[axis] for axis in table.rows), {})[cell[table.columns]] = cell
    head = [*table.rows, *columns, *([f"{table.change} less {columns[0]}"] if table.change else [])]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for key, of in by_row.items():
        show = _plus_minus if table.narrow else _interval
        shown = [show(of[column], "mean", "low", "high", f".{table.digits}f") for column in columns]
        if table.change:
            shown.append(_interval(of[table.change], *DIFFERENCE, f"+.{table.digits}f"))
        lines.append(f"| {' | '.join((*key, *shown))} |")
    return "\n".join(lines)


def _interval(cell: Cell, mean: str, low: str, high: str, digits: str) -> str:
    shown = [f"{float(cell[name]):{digits}}" for name in (mean, low, high)]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def _plus_minus(cell: Cell, mean: str, low: str, high: str, digits: str) -> str:
    if not cell[low]:
        # No run has the number, or a single one.
        return f"{float(cell[mean]):{digits}}" if cell[mean] else "-"
    half = (float(cell[high]) - float(cell[low])) / 2
    return f"{float(cell[mean]):{digits}} ± {half:{digits}}"


def picture(name: str, cells: Sequence[Cell]) -> Figure:
    """The picture of a page. Intervals are those of the means alone."""
    of = PICTURES[name]
    chosen = [c for c in cells if c["metric"] == of.metric and all(c[a] == v for a, v in of.only.items())]
    (panel_axis, panels), (line_axis, (first, *lines)) = of.panels, of.lines
    shown = []
    for panel in panels:
        within = [cell for cell in chosen if cell[panel_axis] == panel]
        xs = list(dict.fromkeys(cell[of.x] for cell in within))
        by_place = {(cell[line_axis], cell[of.x]): cell for cell in within}
        points: dict[str, list[Point]] = {}
        for line in lines:
            for index, x in enumerate(xs):
                unit, cell = float(by_place[first, x]["mean"]), by_place[line, x]
                numbers = (float(cell[key]) / unit for key in NUMBERS)
                points.setdefault(line, []).append(Point(float(index), *numbers))
        series = dict.fromkeys(lines, "")
        spec = PanelSpec(panel, xs, *of.labels, series=series, limits=(1.0,), ylim=of.ylim, connected=True)
        shown.append((spec, points))
    drawing = figure(of.title, shown)
    # Limits of axes are known once they are drawn.
    drawing.draw_without_rendering()
    return drawing


def page(name: str, cells: Sequence[Cell]) -> str:
    """The page."""
    text = Template((HERE / f"{name}.txt").read_text(encoding="utf-8"))
    return text.substitute({key: rows(table, cells) for key, table in PAGES[name].items()})


def main() -> None:
    """Keep the numbers, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=PAGES)
    parser.add_argument("--page", action="store_true", help="from the numbers that are kept")
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args()
    if not options.page:
        try:
            keep(options.name, options.results)
        except FileNotFoundError as error:
            parser.error(f"{error.filename}: run the campaigns of the page first, or give --page")
    if options.name in PICTURES:
        drawn.write(picture(options.name, kept(options.name)), HERE / f"{options.name}.png")
    (HERE / f"{options.name}.md").write_text(page(options.name, kept(options.name)), encoding="utf-8")


if __name__ == "__main__":
    main()
