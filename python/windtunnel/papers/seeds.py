"""The runs of an arm: one per seed, with other start offsets within a round trip.

A seed sets every random stream of the run, and where in its first round trip each flow starts
(``windtunnel/start_offsets.py``). The arms of an experiment use the same seeds, so that they can be compared run by
run.
"""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel._core import quantity
from windtunnel.papers.cells import Cell, Template
from windtunnel.start_offsets import moved


def add_seeds(cell: Cell, seeds: int) -> Cell:
    """``cell`` with a run for each seed."""
    first, *others = (overrides(cell.template, cell.settings, seed) for seed in range(1, seeds + 1))
    cell.settings, cell.twins = (*cell.settings, *first), tuple(others)
    return cell


def overrides(template: Template, settings: Sequence[str], seed: int) -> tuple[str, ...]:
    """The seed, and the start of each flow, whose start and round trip ``settings`` may have changed."""
    flows = template.data["flow"]
    assert isinstance(flows, list)
    out = [f"seed={seed}"]
    for flow, table in enumerate(flows):
        rtt = quantity(_value(settings, flow, "rtt", table["rtt"]))
        start = quantity(_value(settings, flow, "start", table.get("start", "0 s")))
        out.append(f'flow.{flow}.start="{moved(start, rtt, flow, seed)}"')
    return tuple(out)


def _value(settings: Sequence[str], flow: int, key: str, default: str) -> str:
    """What the last setting says about a flow's key, or the file's value."""
    prefix = f"flow.{flow}.{key}="
    return next((s.removeprefix(prefix).strip('"') for s in reversed(settings) if s.startswith(prefix)), default)
