"""The page on MDS's hazards: runs its campaigns, and writes their numbers into the page.

``mds-hazards.txt`` is the page without its numbers: ``{{table lost}}`` stands for the rows of a table below, and
``{{mds-sce-lost/100-mbit-s/ae-cleared/no-fallback/other .1f}}`` for a number of a campaign, by its axes and its metric
(``windtunnel.papers.notes``). ``python docs/packs/hazards.py`` runs the campaigns of ``scenarios/campaigns`` into
``results``, keeps the numbers in ``mds-hazards.csv``, and writes ``mds-hazards.md``; ``--page`` writes the page alone.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel import Campaign
from windtunnel.campaign.results import CampaignResult
from windtunnel.papers.notes import filled
from windtunnel.papers.rows import Row

HERE = Path(__file__).parent
TEMPLATE, NUMBERS, PAGE = (HERE / f"mds-hazards.{kind}" for kind in ("txt", "csv", "md"))
CAMPAIGNS = HERE.parents[1] / "scenarios" / "campaigns"
NAMES = ("mds-sce-lost", "mds-in-vpn", "mds-own-sce", "mds-fallback")
#: A fallback after this number of round trips never comes.
NEVER = "1000000"


@dataclass(frozen=True)
class Number:
    """A metric of a cell: its mean with the interval, and the value of the cell's first run."""

    campaign: str
    cell: tuple[str, ...]
    metric: str
    mean: float
    low: float
    high: float
    first: float

    @property
    def id(self) -> str:
        """What the text calls it."""
        return "/".join([self.campaign, *(slug(value) for value in self.cell), self.metric])


Cells = Mapping[tuple[str, ...], Mapping[str, Number]]


def shown(value: str | float) -> str:
    """The value of an axis; whole numbers without their point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def slug(value: str) -> str:
    """The value of an axis in an id: ``100 Mbit/s`` is ``100-mbit-s``."""
    return re.sub(r"[^a-z0-9.]+", "-", value.lower()).strip("-")


def numbers(name: str, result: CampaignResult) -> Iterator[Number]:
    """The numbers of a campaign."""
    axes = [axis["name"] for axis in result.document["axes"]]
    first: dict[int, dict[str, float]] = {}
    for run in result.runs.to_pylist():
        first.setdefault(run["cell"], run)
    for cell in result.cells.to_pylist():
        metric, mean = cell["metric"], cell["mean"]
        # A cell whose runs are all equal has no interval.
        low, high = (mean if cell[end] is None else cell[end] for end in ("mean_low", "mean_high"))
        where = tuple(shown(cell[axis]) for axis in axes)
        yield Number(name, where, metric, mean, low, high, first[cell["cell"]][metric])


def kept(estimates: Iterable[Number]) -> str:
    """The file of numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("campaign", "cell", "metric", "mean", "low", "high", "first"))
    for n in estimates:
        values = (f"{value:.6g}" for value in (n.mean, n.low, n.high, n.first))
        writer.writerow((n.campaign, "; ".join(n.cell), n.metric, *values))
    return text.getvalue()


def read() -> list[Number]:
    """The numbers that were kept."""
    rows = csv.DictReader(io.StringIO(NUMBERS.read_text(encoding="utf-8")))
    return [
        Number(
            row["campaign"],
            tuple(row["cell"].split("; ")),
            row["metric"],
            *(float(row[key]) for key in ("mean", "low", "high", "first")),
        )
        for row in rows
    ]


def _with_interval(n: Number, digits: int) -> str:
    return f"{n.mean:.{digits}f} ({n.low:.{digits}f} to {n.high:.{digits}f})"


def _lost(cells: Cells) -> Iterator[Sequence[str]]:
    for (rate, lost, sender), of in cells.items():
        if sender == "no fallback":
            both = cells[rate, lost, "reno"]["share"]
            values = [_with_interval(of[metric], 1) for metric in ("subject", "other", "delay")]
            yield rate, lost, *values, _with_interval(both, 2)


def _vpn(cells: Cells) -> Iterator[Sequence[str]]:
    for (how,), of in cells.items():
        rates = [_with_interval(of[metric], 1) for metric in ("subject", "conventional")]
        yield how, f"{of['dropped'].mean:.0f}", _with_interval(of["lost"], 3), *rates


def _own(cells: Cells) -> Iterator[Sequence[str]]:
    odd = [queue for queue, sender in cells if sender == "reno-mds" and cells[queue, sender]["share"].high < 1 / 3]
    for (queue, sender), of in cells.items():
        if queue in odd or sender == "reno-mds":
            shown = (("subject", 1), ("other", 1), ("share", 2), ("delay", 1))
            values = [_with_interval(of[metric], digits) for metric, digits in shown]
            yield queue, sender, *values


def _fallback(cells: Cells) -> Iterator[Sequence[str]]:
    for (rate, lost, sender), of in cells.items():
        if sender.startswith("fallback ") and (lost == "ECT(1) cleared" or rate == "100 Mbit/s"):
            values = [_with_interval(of[metric], 1) for metric in ("subject", "other", "delay")]
            yield rate, lost, sender.removeprefix("fallback "), *values


def _sane(cells: Cells) -> Iterator[Sequence[str]]:
    runs = 6
    for case in dict.fromkeys(case for case, _ in cells):
        of = {rounds: cells[case, rounds] for _, rounds in cells if (case, rounds) in cells}
        gave_up = [f"{of[n]['fell'].mean * runs:.0f}" for n in of if n != NEVER]
        pairs = [
            f"{_with_interval(of[NEVER][metric], digits)} | {_with_interval(of['16'][metric], digits)}"
            for metric, digits in (("share", 2), ("delay", 1), ("utilization", 3))
        ]
        yield case, ", ".join(gave_up), *pairs


#: The tables of the page: their campaign, and what makes their rows.
TABLES: Mapping[str, tuple[str, Callable[[Cells], Iterator[Sequence[str]]]]] = {
    "lost": ("mds-sce-lost", _lost),
    "vpn": ("mds-in-vpn", _vpn),
    "own": ("mds-own-sce", _own),
    "fallback": ("mds-sce-lost", _fallback),
    "sane": ("mds-fallback", _sane),
}


def page(estimates: Sequence[Number]) -> str:
    """The page with these numbers. Raises ValueError for a number that there is not."""

    def table(match: re.Match[str]) -> str:
        campaign, rows = TABLES[match[1]]
        cells: dict[tuple[str, ...], dict[str, Number]] = {}
        for n in estimates:
            if n.campaign == campaign:
                cells.setdefault(n.cell, {})[n.metric] = n
        lines = [f"| {' | '.join(row)} |" for row in rows(cells)]
        if not lines:
            raise ValueError(f"{match[0]}: the table has no rows")
        return "\n".join(lines)

    text = re.sub(r"\{\{table (\w+)\}\}", table, TEMPLATE.read_text(encoding="utf-8"))
    rows = [
        Row(n.id, n.campaign, "", None, n.mean, None, "", "info", interval=(n.low, n.high)) for n in estimates
    ]  # fmt: skip
    return filled(text, rows, whole=True)


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--jobs", type=int, help="threads; one for each core by default")
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args()
    if not options.page:
        estimates: list[Number] = []
        for name in NAMES:
            campaign = Campaign.from_file(CAMPAIGNS / f"{name}.toml")
            result = campaign.run(options.results / name, jobs=options.jobs, force=True)
            estimates += numbers(name, result)
        NUMBERS.write_text(kept(estimates), encoding="utf-8")
    PAGE.write_text(page(read()), encoding="utf-8")


if __name__ == "__main__":
    main()
