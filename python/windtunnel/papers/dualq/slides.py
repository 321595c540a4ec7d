"""The slides' figures: one for each run over DualPI2 at a base RTT of 20 ms, with the interactive report of the run."""

from __future__ import annotations

from typing import Any

from windtunnel.papers.dualq.plan import MEANINGS, QUEUES, runs, setup_name
from windtunnel.papers.dualq.tables import title
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results


def slide_groups(setups: dict[str, Setup]) -> list[Group]:
    """A group for each of the four runs; ``setups`` must contain them."""
    return [_group(setups, run) for run in runs()]


def _group(setups: dict[str, Setup], run: dict[str, Any]) -> Group:
    queue, meaning = QUEUES[0], MEANINGS[0]
    setup = setups[setup_name(queue, meaning, run["id"])]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.dualq.figure import draw

        excerpt = results.excerpt(setup.name)
        return draw(queue, meaning, [(title(queue, meaning, run), excerpt)]) if excerpt is not None else None

    name = run["slide"].replace(" ", "")
    return Group(name, run["slide"].capitalize(), run["caption"], [setup.name], lambda _: [], png, setup.name)
