"""The page on MDS's hazards: runs its campaigns, and writes their numbers into the page.

``mds-hazards.txt`` is the page with references, ``{{mds-sce-lost/100-mbit-s/ae-cleared/no-fallback/other .1f}}``: the campaign,
the values of its axes, the metric, and a format (``windtunnel.papers.references``). ``python docs/packs/hazards.py`` runs the campaigns
of ``scenarios/campaigns`` into ``results``, keeps the numbers that it needs in ``mds-hazards.csv``, and writes ``mds-hazards.md``;
``--page`` writes the page alone.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel import Campaign
from windtunnel.campaign.results import CampaignResult
from windtunnel.papers.references import filled
from windtunnel.papers.rows import Row

HERE = Path(__file__).parent
TEMPLATE, NUMBERS, PAGE = (HERE / f"mds-hazards.{kind}" for kind in ("txt", "csv", "md"))
CAMPAIGNS = HERE.parents[1] / "scenarios" / "campaigns"
NAMES = ("mds-sce-lost", "mds-in-vpn", "mds-own-sce", "mds-fallback")


@dataclass(frozen=True)
class Number:
    """A metric of a cell: its mean with the interval, and the value of the cell's first run."""

    id: str
    mean: float
    low: float
    high: float
    first: float


def slug(value: object) -> str:
    """The value of an axis in an id: ``100 Mbit/s`` is ``100-mbit-s``."""
    return re.sub(r"[^a-z0-9.]+", "-", str(value).lower()).strip("-")


def numbers(name: str, result: CampaignResult) -> Iterator[Number]:
    """The numbers of a campaign."""
    cells = result.cells.to_pylist()
    runs = result.runs.to_pylist()
    axes = [axis for axis in result.document["axes"] if axis in cells[0]]
    first = {}
    for run in runs:
        first.setdefault(run["cell"], run)
    for cell in cells:
        id = "/".join([name, *(slug(cell[axis]) for axis in axes), cell["metric"]])
        mean = cell["mean"]
        # A cell whose runs are all equal has no interval.
        low, high = (mean if cell[end] is None else cell[end] for end in ("mean_low", "mean_high"))
        yield Number(id, mean, low, high, first[cell["cell"]][cell["metric"]])


def kept(found: Sequence[Number]) -> str:
    """The file of numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("id", "mean", "low", "high", "first"))
    writer.writerows((n.id, *(f"{value:.6g}" for value in (n.mean, n.low, n.high, n.first))) for n in found)
    return text.getvalue()


def read() -> list[Number]:
    """The numbers that were kept."""
    rows = csv.DictReader(io.StringIO(NUMBERS.read_text(encoding="utf-8")))
    return [Number(row["id"], *(float(row[key]) for key in ("mean", "low", "high", "first"))) for row in rows]


def page(found: Sequence[Number]) -> str:
    """The page with these numbers. Raises ValueError for a number that there is not."""
    rows = [
        Row(n.id, n.id.partition("/")[0], "", None, n.mean, None, "", "info", interval=(n.low, n.high)) for n in found
    ]
    return filled(TEMPLATE.read_text(encoding="utf-8"), rows, whole=True)


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--jobs", type=int, help="threads; one for each core by default")
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args()
    if not options.page:
        found: list[Number] = []
        for name in NAMES:
            campaign = Campaign.from_file(CAMPAIGNS / f"{name}.toml")
            result = campaign.run(options.results / name, jobs=options.jobs, force=True)
            found += numbers(name, result)
        NUMBERS.write_text(kept(found), encoding="utf-8")
    PAGE.write_text(page(read()), encoding="utf-8")


if __name__ == "__main__":
    main()
