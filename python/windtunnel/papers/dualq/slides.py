"""The slides' figures: one for each run over DualPI2 at a base RTT of 20 ms, with the interactive report of the run."""

from __future__ import annotations

from typing import Any

from windtunnel.papers.cells import Cell
from windtunnel.papers.dualq.plan import MEANINGS, QUEUES, cell_name, runs
from windtunnel.papers.dualq.tables import title
from windtunnel.papers.suite import Group, Results


def slide_groups(cells: dict[str, Cell]) -> list[Group]:
    """A group for each of the four runs; ``cells`` must contain them."""
    return [_group(cells, run) for run in runs()]


def _group(cells: dict[str, Cell], run: dict[str, Any]) -> Group:
    queue, meaning = QUEUES[0], MEANINGS[0]
    cell = cells[cell_name(queue, meaning, run["id"])]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.dualq.figure import draw

        excerpt = results.excerpt(cell.name)
        return draw(queue, meaning, [(title(queue, meaning, run), excerpt)]) if excerpt is not None else None

    name = run["slide"].replace(" ", "")
    return Group(name, run["slide"].capitalize(), run["caption"], [cell.name], lambda _: [], png, cell.name)
