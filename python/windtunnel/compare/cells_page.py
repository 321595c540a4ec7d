"""The page of campaigns laid over each other: their cells as lines, as maps of the differences, as distributions and as
a table, in one file that opens without a network. It is drawn by what draws the report of one campaign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from windtunnel.atomic import staged_file
from windtunnel.campaign.page.write import page_of
from windtunnel.compare.differences import Difference, metrics_of
from windtunnel.compare.joined import Joined
from windtunnel.compare.sides import CampaignSide
from windtunnel.errors import InputError
from windtunnel.report.page import write_page
from windtunnel.report.text import grouped, setting


def write(
    path: Path, sides: Sequence[CampaignSide], differences: Sequence[Sequence[Difference]], *, force: bool
) -> None:
    """Write the page. The first campaign is the baseline; ``differences`` are those of each other one.

    Raises InputError.
    """
    joined = Joined(sides, _metrics(sides))
    document = joined.document
    table = joined.table(differences)
    pairs = sum(each.pairs for each in differences[0] if each.what == differences[0][0].what)
    said = {
        "title": f"{', '.join(side.name for side in sides[1:])} compared with {sides[0].name}",
        "facts": list(_facts(joined, sides, pairs, document["statistics"])),
        "failed": sum(side.data.document["failed"] for side in sides),
        "notes": list(_notes(joined, sides)),
        "claims": [],
    }
    run_pages = {"command": "", "folder": "", "written": [], "errors": []}
    html = page_of(document, table, joined.runs(), said, run_pages, joined.axis)
    with staged_file(path, force=force) as stage:
        write_page(stage, html)


def _metrics(sides: Sequence[CampaignSide]) -> dict[str, str]:
    """The metrics that all have."""
    metrics = dict(sides[0].data.document["metrics"])
    for side in sides[1:]:
        common = metrics_of(sides[0], side)
        metrics = {name: text for name, text in metrics.items() if name in common}
    if not metrics:
        raise InputError("--page: there is no metric that all campaigns have")
    return metrics


def _facts(joined: Joined, sides: Sequence[CampaignSide], pairs: int, chosen: Mapping[str, Any]) -> Iterator[str]:
    yield f"baseline: {sides[0].data.path}"
    for side in sides[1:]:
        yield f"compared with it: {side.data.path}"
    yield f"{grouped(len(joined.common))} cells in common"
    yield f"{grouped(pairs)} pairs of runs" if len(sides) == 2 else "runs compared in pairs"
    yield f"{setting(100 * chosen['confidence'])} % intervals ({chosen['interval']})"
    yield f"p corrected by {chosen['correction']}" if chosen["correction"] != "none" else "p not corrected"


def _notes(joined: Joined, sides: Sequence[CampaignSide]) -> Iterator[str]:
    for side, mine in zip(sides, joined.cells, strict=True):
        if alone := len(mine) - len(joined.common):
            where = f"are only in {side.name}" if len(sides) == 2 else f"of {side.name} are not in all campaigns"
            yield f"{grouped(alone)} of {grouped(len(mine))} cells {where}"
        if failed := side.data.document["failed"]:
            yield f"{grouped(failed)} runs of {side.name} failed; a pair without either run counts nowhere"
    if len({str(side.data.document["statistics"]) for side in sides}) > 1:
        yield (
            "the campaigns choose other statistics: means have the intervals of their own campaign, differences those "
            "of what is compared"
        )
    if len({side.data.document["version"] for side in sides}) > 1:
        yield "versions: " + ", ".join(f"{side.name} {side.data.document['version']}" for side in sides)
    only = {name for side in sides for name in side.data.document["metrics"]} - joined.metrics.keys()
    if only:
        yield f"not in all campaigns, and not shown: {', '.join(sorted(only))}"
