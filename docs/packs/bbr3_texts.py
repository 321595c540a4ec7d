"""The page on BBR's texts: what ProbeRTT after 5 s or after 10 s costs CUBIC, and does to Startup on long paths.

``bbr3-texts.txt`` is the page without its tables. ``python docs/packs/bbr3_texts.py`` reads the cells that the two
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
SWEEPS = (("bbr3-next-to-cubic", "buffer", "cubic"), ("bbr3-startup", "rtt", "goodput"))
COLUMNS = ("text", "buffer", "rtt", "metric", "mean", "low", "high", "difference", "difference_low", "difference_high")

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
                    numbers |= {name: name for name in COLUMNS[7:]}
                    values = {name: f"{float(row[of]):.5g}" if row[of] else "" for name, of in numbers.items()}
                    writer.writerow({name: row.get(name, "") for name in COLUMNS[:4]} | values)


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
    lines = [f"| {axis} | " + " | ".join(TEXTS.values()) + " | 007dbe1 less -06 |", "|---" * 5 + "|"]
    for value in by_text["draft"]:
        of = [by_text[text][value] for text in TEXTS]
        shown = [f"{float(c['mean']):.1f} ({float(c['low']):.1f} to {float(c['high']):.1f})" for c in of]
        d = by_text["draft"][value]
        change = (
            f"{float(d['difference']):+.1f} ({float(d['difference_low']):+.1f} to {float(d['difference_high']):+.1f})"
        )
        lines.append(f"| {value.replace('bdp', 'BDP')} | " + " | ".join(shown) + f" | {change} |")
    return "\n".join(lines)


def page(cells: Sequence[Cell]) -> str:
    """The page."""
    tables = {metric: table(cells, axis, metric) for _, axis, metric in SWEEPS}
    tables["first_end"] = table(cells, "rtt", "first_end")
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(tables)


def picture(cells: Sequence[Cell]) -> Figure:
    """CUBIC's rate against the buffer, and BBR's own against the round trip."""
    panels = []
    titles = (("CUBIC next to BBR, 50 Mbit/s, 40 ms", "Buffer (BDP)"), ("BBR alone, 10 Mbit/s, 60 s", "RTT (ms)"))
    for (_, axis, metric), (title, unit) in zip(SWEEPS, titles, strict=True):
        by_text = chosen(cells, axis, metric)
        if axis == "rtt":
            # Its line would hide that of -06.
            del by_text["linux"]
        lines = {
            TEXTS[text]: [Point(_number(x), float(c["mean"]), float(c["low"]), float(c["high"])) for x, c in of.items()]
            for text, of in by_text.items()
        }
        xs = [_number(x) for x in by_text["draft"]]
        spec = PanelSpec(title, xs, unit, "Goodput (Mbit/s)", dict.fromkeys(lines, ""), log=axis == "buffer")
        panels.append((spec, lines))
    shown = figure("What BBR's texts change: ProbeRTT after 5 s or after 10 s", panels)
    # Limits of axes are known once they are drawn.
    shown.draw_without_rendering()
    return shown


def _number(value: str) -> float:
    """A value on an axis: milliseconds, or multiples of the BDP."""
    number, unit = value.split()
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
