"""What a page leaves out where flows or queues are very many, so that it opens quickly: it has groups and extremes,
says so, and names where the rest is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from windtunnel.panels import Panel, Run
from windtunnel.panels.groups import named
from windtunnel.panels.model import Choice, Index, Series

#: With more flows than this, a page has the names and numbers of some.
MOST_FLOWS = 1000
#: Lines that a panel draws, and rows of a table that has no groups: those of queues, most often.
MOST_SERIES = MOST_ROWS = 200
#: Characters of the scenario's text.
MOST_TEXT = 400_000

ELSEWHERE = "summary.json and the tables of the result have all"


def few_series(panel: Panel) -> Panel:
    """The panel with no more than :data:`MOST_SERIES` series: those with the greatest values, in their order."""
    choices = tuple(replace(choice, series=_greatest(choice.series)) for choice in panel.choices)
    series = choices[0].series if choices else _greatest(panel.series)
    most = max(len(panel.series), *(len(choice.series) for choice in panel.choices), 0)
    if most <= MOST_SERIES:
        return panel
    note = f"{MOST_SERIES} of {most} series are here, those with the greatest values; {ELSEWHERE}."
    return replace(panel, series=series, choices=choices, note=f"{panel.note} {note}".strip())


def _greatest(every: tuple[Series, ...]) -> tuple[Series, ...]:
    if len(every) <= MOST_SERIES:
        return every
    tops = np.array([np.fmax.reduce(each.y, initial=-np.inf) for each in every])
    return tuple(every[index] for index in sorted(np.argsort(-tops, kind="stable")[:MOST_SERIES].tolist()))


def few_names(run: Run, panels: Sequence[Panel]) -> tuple[list[Panel], list[str], list[tuple[int, ...]]]:
    """The panels, the names of flows that they need, and the flows of each group: all, or of very many flows those that
    the panels show, with numbers of their own.
    """
    groups = [group.members for group in run.groups]
    if len(run.flows) <= MOST_FLOWS:
        return list(panels), run.flows, groups
    parts = [np.asarray(each, dtype=np.int64) for panel in panels for each in _flows(panel)]
    shown = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts]))
    shown = shown[(shown >= 0) & (shown < len(run.flows))]
    numbers = np.full(len(run.flows), -1)
    numbers[shown] = np.arange(len(shown))
    members = [tuple(int(number) for number in numbers[list(group)] if number >= 0) for group in groups]
    return [_numbered(panel, numbers) for panel in panels], [run.flows[flow] for flow in shown.tolist()], members


def _flows(panel: Panel) -> Iterator[Sequence[int] | Index]:
    for series in (panel.series, panel.thresholds, *(choice.series for choice in panel.choices)):
        yield [each.flow for each in series if each.flow is not None]
        yield from (each.who for each in series if each.who is not None)
    yield [each.flow for each in panel.ticks]


def _numbered(panel: Panel, numbers: Index) -> Panel:
    def one(series: Series) -> Series:
        who = None if series.who is None else np.where(series.who >= 0, numbers[np.maximum(series.who, 0)], -1)
        return replace(series, flow=None if series.flow is None else int(numbers[series.flow]), who=who)

    def choice(each: Choice) -> Choice:
        return replace(each, series=tuple(map(one, each.series)))

    return replace(
        panel, series=tuple(map(one, panel.series)), thresholds=tuple(map(one, panel.thresholds)),
        choices=tuple(map(choice, panel.choices)),
        ticks=tuple(replace(each, flow=int(numbers[each.flow])) for each in panel.ticks),
    )  # fmt: skip


def some_flows(run: Run) -> list[Mapping[str, Any]]:
    """Of very many flows those with the least and the greatest throughput of each group, and a few between."""
    rates = np.array([float(one.get("throughput_mbps") or 0.0) for one in run.records])
    return [run.records[flow] for group in run.groups for flow in named(group, rates[list(group.members)])]


def few_rows(records: Sequence[Mapping[str, Any]]) -> tuple[Sequence[Mapping[str, Any]], str]:
    """The records for rows of a table, and what it says where they are not all: of queues those are there in which
    packets waited longest.
    """
    if len(records) <= MOST_ROWS:
        return records, ""
    waits = np.array([float((one.get("sojourn_ms") or {}).get("mean") or 0.0) for one in records])
    places = sorted(np.argsort(-waits, kind="stable")[:MOST_ROWS].tolist())
    of = ", those with the longest sojourn times" if waits.any() else ""
    return [records[index] for index in places], f"{MOST_ROWS} of {len(records)} rows are here{of}; {ELSEWHERE}."


def few_lines(text: str) -> str:
    """The text of a scenario or, where it is very long, its beginning."""
    if len(text) <= MOST_TEXT:
        return text
    end = text.rfind("\n", 0, MOST_TEXT) + 1
    left = text.count("\n", end)
    return f"{text[:end]}# {left} more lines are left out on this page: scenario.toml has all.\n"
