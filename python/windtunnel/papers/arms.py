"""The arms of an experiment: tables that stand for many, and the runs of an arm, one per seed.

``for = { rtt = [20, 80] }`` repeats a table with ``$rtt`` replaced by each value; ``quick_for`` has the values of the
quick suite where these are fewer.

A seed sets every random stream of the run, and where in its first round trip each flow starts
(``windtunnel/start_offsets.py``). The arms of an experiment use the same seeds, so that they can be compared run by
run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from string import Template as Placeholders
from typing import Any

from windtunnel._core import quantity
from windtunnel.papers.setups import Setup, Template
from windtunnel.start_offsets import moved


def expanded(tables: Sequence[Mapping[str, Any]], *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Each table once for every combination of the values of its ``for``; in lists of tables within it, too."""
    for table in tables:
        fewer = table.get("quick_for", {}) if quick else {}
        values: Mapping[str, Sequence[object]] = {**table.get("for", {}), **fewer}
        rest = {key: value for key, value in table.items() if key not in ("for", "quick_for")}
        for chosen in itertools.product(*values.values()):
            yield replaced(rest, dict(zip(values, map(str, chosen), strict=True)))


def replaced(value: Any, names: Mapping[str, str]) -> Any:
    """``value`` with each ``$name`` in its texts replaced, where ``names`` has it."""
    if isinstance(value, str):
        return Placeholders(value).safe_substitute(names)
    if isinstance(value, list):
        return [replaced(each, names) for each in value]
    if isinstance(value, dict):
        return {Placeholders(key).safe_substitute(names): replaced(each, names) for key, each in value.items()}
    return value


def add_seeds(setup: Setup, seeds: int) -> Setup:
    """``setup`` with a run for each seed."""
    first, *others = (overrides(setup.template, setup.settings, seed) for seed in range(1, seeds + 1))
    setup.settings, setup.twins = (*setup.settings, *first), tuple(others)
    return setup


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
