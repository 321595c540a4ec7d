"""The page on BBR's texts: what ProbeRTT after 5 s or after 10 s costs CUBIC, and does to Startup on long paths; and
what one filter of the least round trip does where the path's rate falls.

``bbr3-texts.txt`` is the page without its tables. ``python docs/packs/bbr3_texts.py`` reads the cells that the three
sweeps wrote into ``results``, keeps them in ``bbr3-texts.csv``, and writes ``bbr3-texts.md`` and its picture; with
``--page`` it writes both from the cells that are kept.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template

from matplotlib.figure import Figure

from windtunnel.papers.experiment_figure import PanelSpec, Point, figure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import drawn  # noqa: E402

TEMPLATE, NUMBERS, PAGE = (HERE / f"bbr3-texts.{kind}" for kind in ("txt", "csv", "md"))
PICTURE = HERE / "bbr3-texts.png"
#: The texts, as the page calls them.
TEXTS = {"draft-06": "-06: after 5 s", "draft": "007dbe1: after 10 s", "linux": "Linux's branch: after 5 s"}
#: For each campaign: its name, the axis that varies, and what is measured.
SWEEPS = (
    ("bbr3-next-to-cubic", "buffer", "cubic"),
    ("bbr3-startup", "rtt", "goodput"),
    ("bbr3-rate-falls", "start", "lost"),
)
#: When the rate falls in the last of them, in seconds: the page says how old the flow is then, and not when it starts.
FALL_S = 35
KEYS = ("text", "buffer", "rtt", "start", "metric")
DIFFERENCE = ("difference", "difference_low", "difference_high")
COLUMNS = (*KEYS, "mean", "low", "high", *DIFFERENCE)

Cell = dict[str, str]


def kept() -> list[Cell]:
    """The cells that are kept."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def keep(folders: Sequence[Path]) -> None:
    """Keep what the page needs, with five digits: the last ones are the machine's."""
    with NUMBERS.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for folder in folders:
            with (folder / "cells.csv").open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    numbers = {"mean": "mean", "low": "mean_low", "high": "mean_high"}
                    numbers |= {name: name for name in DIFFERENCE}
                    values = {name: f"{float(row[of]):.5g}" if row[of] else "" for name, of in numbers.items()}
                    writer.writerow({name: row.get(name, "") for name in KEYS} | values)


def chosen(cells: Sequence[Cell], axis: str, metric: str) -> dict[str, dict[str, Cell]]:
    """The cells of a metric, by text and by the value on the axis. Raises ValueError if there are none."""
    by_text: dict[str, dict[str, Cell]] = {text: {} for text in TEXTS}
    for cell in cells:
        if cell[axis] and cell["metric"] == metric:
            by_text[cell["text"]][cell[axis]] = cell
    if not all(by_text.values()):
        raise ValueError(f"no cells of {metric}")
    return by_text


def table(cells: Sequence[Cell], axis: str, metric: str) -> str:
    """A table: a row for each value on the axis, a column for each text, and the difference of the two texts."""
    by_text = chosen(cells, axis, metric)
    head = ("age at the fall" if axis == "start" else axis, *TEXTS.values(), "007dbe1 less -06")
    lines = [f"| {' | '.join(head)} |", "|---" * 5 + "|"]
    for value in by_text["draft"]:
        of = [by_text[text][value] for text in TEXTS]
        shown = [f"{float(c['mean']):.1f} ({float(c['low']):.1f} to {float(c['high']):.1f})" for c in of]
        d = by_text["draft"][value]
        change = (
            f"{float(d['difference']):+.1f} ({float(d['difference_low']):+.1f} to {float(d['difference_high']):+.1f})"
        )
        lines.append(f"| {_label(axis, value)} | " + " | ".join(shown) + f" | {change} |")
    return "\n".join(lines)


def page(cells: Sequence[Cell]) -> str:
    """The page."""
    tables = {metric: table(cells, axis, metric) for _, axis, metric in SWEEPS}
    tables["first_end"] = table(cells, "rtt", "first_end")
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(tables)


def picture(cells: Sequence[Cell]) -> Figure:
    """CUBIC's rate against the buffer, and BBR's own against the round trip."""
    panels = []
    goodput = "Goodput (Mbit/s)"
    titles = (
        ("CUBIC next to BBR, 50 Mbit/s, 40 ms", "Buffer (BDP)", goodput),
        ("BBR alone, 10 Mbit/s, 60 s", "RTT (ms)", goodput),
        ("BBR alone, 50 Mbit/s fall to 5", "Age at the fall (s)", "Lost in the 10 s after it (%)"),
    )
    for (_, axis, metric), (title, unit, what) in zip(SWEEPS, titles, strict=True):
        by_text = chosen(cells, axis, metric)
        if axis == "rtt":
            # Its line would hide that of -06.
            del by_text["linux"]
        lines = {
            TEXTS[text]: [
                Point(_number(axis, x), float(c["mean"]), float(c["low"]), float(c["high"])) for x, c in of.items()
            ]
            for text, of in by_text.items()
        }
        xs = [_number(axis, x) for x in by_text["draft"]]
        spec = PanelSpec(title, xs, unit, what, dict.fromkeys(lines, ""), log=axis == "buffer")
        panels.append((spec, lines))
    shown = figure("What BBR's texts change: ProbeRTT after 5 s or after 10 s", panels)
    # Limits of axes are known once they are drawn.
    shown.draw_without_rendering()
    return shown


def _label(axis: str, value: str) -> str:
    """A value on an axis, as the page calls it."""
    return f"{_number(axis, value):g} s" if axis == "start" else value.replace("bdp", "BDP")


def _number(axis: str, value: str) -> float:
    """A value on an axis: milliseconds, multiples of the BDP, or how old a flow is when the rate falls, in seconds."""
    number, unit = value.split()
    if axis == "start":
        return FALL_S - float(number)
    return float(number) * (1000.0 if unit == "s" else 1.0)


def main() -> None:
    """Keep the numbers, write the page and its picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", action="store_true", help="from the numbers that are kept")
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args()
    if not options.page:
        keep([options.results / name for name, _, _ in SWEEPS])
    cells = kept()
    PAGE.write_text(page(cells), encoding="utf-8")
    drawn.write(picture(cells), PICTURE)


if __name__ == "__main__":
    main()
