"""The page on the measurements of the L4S stack of 2020, with the numbers of ``windtunnel reproduce l4s-tests``.

``l4s-tests.txt`` is the page without its numbers: ``{{bursty/prague-today-1-4 .1f}}`` is what that row measured
(``windtunnel.papers.notes``). ``python docs/packs/l4s_tests.py`` reads the rows that the suite wrote into
``results/l4s-tests``, keeps those that the page needs in ``l4s-tests.csv``, and writes ``l4s-tests.md`` and its
picture; ``--page`` writes both from the numbers that are kept.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from string import Template

from matplotlib.figure import Figure

from windtunnel.experiment.verdict import word_of
from windtunnel.papers.data_folder import L4S_TESTS
from windtunnel.papers.experiment_figure import PanelSpec, Point, figure
from windtunnel.papers.notes import filled
from windtunnel.papers.rows import Row

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import drawn  # noqa: E402
import l4s_kernel  # noqa: E402

TEMPLATE, NUMBERS, PAGE = (HERE / f"l4s-tests.{kind}" for kind in ("txt", "csv", "md"))
PICTURE = HERE / "l4s-tests-bursty.png"
#: The experiment whose figure the page has.
SHOWN = "bursty"
COLUMNS = ("id", "measured", "low", "high", "verdict")
_REFERENCE = re.compile(r"\{\{(\S+)")


def rows_of(file: Path) -> list[Row]:
    """Rows of a suite's ``rows.csv``, or those that were kept."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [_row(line) for line in csv.DictReader(lines)]


def _row(line: dict[str, str]) -> Row:
    verdict = word_of(line["verdict"])
    measured = float(line["measured"]) if line["measured"] else None
    interval = (float(line["low"]), float(line["high"])) if line["low"] else None
    id = line["id"]
    return Row(id, id.partition("/")[0], "", None, measured, None, "", verdict.verdict, "", interval, of=verdict.of[0])


def needed(rows: Sequence[Row]) -> list[Row]:
    """The rows that the page and its picture are made of."""
    wanted = _REFERENCE.findall(TEMPLATE.read_text(encoding="utf-8"))
    wanted += [id for spec in panels() for ids in series(spec).values() for id in ids]
    return [row for row in rows if any(fnmatchcase(row.id, id.rstrip("}")) for id in wanted)]


def keep(rows: Sequence[Row]) -> None:
    """Write the kept numbers, with six digits: the last ones are the machine's."""
    with NUMBERS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            numbers = [row.measured, *(row.interval or (None, None))]
            writer.writerow([row.id, *("" if n is None else f"{n:.6g}" for n in numbers), row.word.text])


def page(rows: Sequence[Row]) -> str:
    """The page, with the table of Linux 7.3. Raises ValueError for a row that there is not."""
    table = l4s_kernel.low_rate_table(l4s_kernel.numbers())
    return filled(TEMPLATE.read_text(encoding="utf-8").replace("{{low-rates}}", table), rows, whole=True)


def panels() -> list[PanelSpec]:
    """The panels of the picture, as the suite has them."""
    listed = L4S_TESTS.toml("experiments/bursty.toml")["experiment"]
    (shown,) = (experiment for experiment in listed if experiment["id"] == SHOWN)
    return [PanelSpec(**panel) for panel in shown["figure"]["panel"]]


def series(spec: PanelSpec) -> dict[str, list[str]]:
    """The rows of each line of a panel, in the order of its points."""
    return {label: [f"{SHOWN}/{Template(of).substitute(x=x)}" for x in spec.x] for label, of in spec.series.items()}


def picture(rows: Sequence[Row]) -> Figure:
    """The suite's figure of rates over the length of bursts. Raises KeyError for a row that there is not."""
    by_id = {row.id: row for row in rows}

    def point(x: float | str, row: Row) -> Point:
        assert row.measured is not None and row.interval is not None
        return Point(float(x), row.measured, *row.interval)

    lines = [
        {label: [point(x, by_id[id]) for x, id in zip(spec.x, ids, strict=True)] for label, ids in series(spec).items()}
        for spec in panels()
    ]
    shown = figure(
        "CUBIC next to Prague over a bursty link: DualPI2, 50 Mbit/s, 20 ms", list(zip(panels(), lines, strict=True))
    )
    # Limits of axes are known once they are drawn.
    shown.draw_without_rendering()
    return shown


def main() -> None:
    """Keep the numbers, write the page and its picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", action="store_true", help="from the numbers that are kept")
    parser.add_argument("--results", type=Path, default=Path("results/l4s-tests"))
    options = parser.parse_args()
    if not options.page:
        keep(needed(rows_of(options.results / "rows.csv")))
    rows = rows_of(NUMBERS)
    PAGE.write_text(page(rows), encoding="utf-8")
    drawn.write(picture(rows), PICTURE)


if __name__ == "__main__":
    main()
