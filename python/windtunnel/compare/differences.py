"""Numbers side by side. Runs of campaigns are compared in pairs of the same cell, seed and offset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from windtunnel.campaign.model import SCENARIO
from windtunnel.compare.sides import CampaignSide, RunSide
from windtunnel.errors import InputError
from windtunnel.experiment import statistics
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.result import RunResult

#: What a run is compared by: of flows, and of queues.
_OF_FLOW = (
    ("goodput_mbps",), ("rtt_ms", "mean"), ("rtt_ms", "p99"), ("cwnd_bytes", "mean"), ("retransmits",), ("rtos",),
    ("ce_marks",), ("transfers", "completed"), ("transfers", "time_ms", "p50"), ("transfers", "time_ms", "p99"),
    ("frames", "late_ratio"), ("frames", "frozen_ratio"), ("datagrams", "loss_ratio"),
    ("datagrams", "one_way_ms", "p99"),
)  # fmt: skip
_OF_QUEUE = (("utilization",), ("sojourn_ms", "mean"), ("sojourn_ms", "p99"), ("sojourn_ms", "max"), ("ce",), ("sce",))

#: Runs that are Python's objects at a time.
_BATCH = 20_000

#: A run of a campaign: its axes in any order (the value of each as a number where it has one), its seed and offset.
Key: TypeAlias = tuple[frozenset[tuple[str, Any]], Any, Any]


@dataclass(frozen=True)
class Difference:
    """A number of a candidate and of the baseline; of campaigns the means over ``pairs`` of runs, with an interval."""

    cell: str
    what: str
    baseline: float
    candidate: float
    difference: float
    interval: tuple[float, float] | None = None
    p: float | None = None
    pairs: int = 1
    number: int = 0
    """The cell's number in the candidate's campaign."""
    effect: float | None = None
    dominance: float | None = None

    @property
    def share(self) -> float | None:
        """The difference as a share of the baseline."""
        return self.difference / abs(self.baseline) if self.baseline else None

    @property
    def is_certain(self) -> bool:
        """Whether it is no chance: the interval has no 0 in it, or there is nothing random in a difference."""
        if self.interval is None:
            return self.pairs == 1 and self.difference != 0
        return not self.interval[0] <= 0 <= self.interval[1]


def of_runs(baseline: RunSide, candidate: RunSide) -> list[Difference]:
    """The differences of two runs, by flows and queues of the same names."""
    a, b = _numbers(baseline.result), _numbers(candidate.result)
    differences = [Difference("", what, a[what], b[what], b[what] - a[what]) for what in a if what in b]
    if not differences:
        raise InputError(f"{candidate.name}: has no flow and no queue of the same name as {baseline.name}")
    return differences


def _numbers(result: RunResult) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for records, paths in ((result.flows, _OF_FLOW), (result.queues, _OF_QUEUE)):
        for record in records:
            for path in paths:
                value: Any = record
                for key in path:
                    value = value.get(key) if isinstance(value, Mapping) else None
                if isinstance(value, int | float) and not isinstance(value, bool):
                    numbers[f"{record['name']}: {'.'.join(path)}"] = float(value)
            if isinstance(drops := record.get("drops"), Mapping):
                numbers[f"{record['name']}: drops"] = float(sum(drops.values()))
    return numbers


def pairs_of(
    baseline: CampaignSide, candidate: CampaignSide
) -> Iterator[tuple[str, list[tuple[dict[str, Any], dict[str, Any]]]]]:
    """The pairs of runs of each cell that both have, with their metrics, in the candidate's order. Raises InputError if
    there is none.
    """
    metrics = list(metrics_of(baseline, candidate))
    of_baseline = dict(_rows(baseline, metrics))
    cells: dict[frozenset[tuple[str, Any]], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for key, row in _rows(candidate, metrics):
        if key in of_baseline:
            cells.setdefault(key[0], []).append((of_baseline[key], row))
    if not cells:
        raise InputError(f"{candidate.name}: has no run with the same axes, seed and offset as one of {baseline.name}")
    axes, values = _axes(candidate), _cells(candidate)
    for pairs in cells.values():
        cell = values[pairs[0][1]["cell"]]
        yield ", ".join(f"{name} = {cell[name]}" for name in axes), pairs


def _axes(side: CampaignSide) -> list[str]:
    axes = [axis["name"] for axis in side.data.document["axes"]]
    return [SCENARIO, *axes] if len(side.data.document["scenarios"]) > 1 else axes


def _cells(side: CampaignSide) -> dict[int, dict[str, Any]]:
    """The columns of the axes, for each cell."""
    table = side.data.tables["runs"]
    names = [name for axis in _axes(side) for name in (axis, f"{axis}.number") if name in table]
    cells, first = np.unique(np.asarray(table["cell"]), return_index=True)
    rows = table.part(first, names).records() if names else [{} for _ in cells]
    return dict(zip(cells.tolist(), rows, strict=True))


def _rows(side: CampaignSide, metrics: Sequence[str]) -> Iterator[tuple[Key, dict[str, Any]]]:
    """The runs: what tells them apart, and their metrics. Of a million runs, each has only what is compared."""
    axes = _axes(side)
    values = {
        number: frozenset((name, cell.get(f"{name}.number", cell[name])) for name in axes)
        for number, cell in _cells(side).items()
    }
    table = side.data.tables["runs"].part(slice(None), ["cell", "seed", "offset", *metrics])
    for first in range(0, table.rows, _BATCH):
        for row in table.part(slice(first, first + _BATCH)).records():
            yield (values[row["cell"]], row["seed"], row["offset"]), row


def metrics_of(baseline: CampaignSide, candidate: CampaignSide) -> dict[str, str]:
    """The metrics that both have under the same name, and mean the same. Raises InputError for another meaning."""
    a, b = baseline.data.document["metrics"], candidate.data.document["metrics"]
    for name in a.keys() & b.keys():
        if a[name] != b[name]:
            raise InputError(f"{candidate.name}: the metric `{name}` is {b[name]}, but {a[name]} in {baseline.name}")
    return {name: text for name, text in a.items() if name in b}


def scales_of(side: CampaignSide, metrics: Mapping[str, str]) -> dict[str, Scale]:
    """The scales of metrics; of a data set from before there were kinds, what their texts say."""
    kinds = side.data.document.get("kinds", {})
    return {name: Scale.of(kinds.get(name) or Expression.parse(text).kind) for name, text in metrics.items()}


def units(
    rows: Sequence[Mapping[str, Any]], values: Sequence[float], *, crossed: bool, scale: Scale = PLAIN
) -> list[float]:
    """Independent values: where offsets are crossed with seeds, the mean over the runs of each offset."""
    if not crossed:
        return list(values)
    by_offset: dict[int, list[float]] = {}
    for row, value in zip(rows, values, strict=True):
        by_offset.setdefault(row["offset"], []).append(value)
    from windtunnel.experiment.statistics import mean

    return [runs[0] if len(runs) == 1 else mean(runs, scale) for _, runs in sorted(by_offset.items())]


def is_crossed(side: CampaignSide) -> bool:
    """Whether each offset was run with each seed."""
    return not isinstance(side.data.document["offsets"], bool)


def of_campaigns(baseline: CampaignSide, candidate: CampaignSide) -> list[Difference]:
    """The paired differences of each metric in each cell, with the statistics that the candidate's campaign chose."""
    chosen, metrics = candidate.data.document["statistics"], metrics_of(baseline, candidate)
    if not metrics:
        raise InputError(f"{candidate.name}: has no metric of {baseline.name}")
    crossed, differences, scales = is_crossed(candidate), [], scales_of(candidate, metrics)
    for cell, pairs in pairs_of(baseline, candidate):
        for name in metrics:
            complete = [(a, b) for a, b in pairs if a[name] is not None and b[name] is not None]
            if not complete:
                continue
            rows = [b for _, b in complete]
            scale = scales[name]
            before = units(rows, [a[name] for a, _ in complete], crossed=crossed, scale=scale)
            after = units(rows, [b[name] for _, b in complete], crossed=crossed, scale=scale)
            s = statistics.comparison(after, before, chosen["confidence"], chosen["interval"], scale)
            means = (statistics.mean(before, scale), statistics.mean(after, scale))
            differences.append(
                Difference(cell, name, *means, s.difference or 0.0, s.interval, s.p, s.count, rows[0]["cell"], s.effect,
                           s.dominance)
            )  # fmt: skip
    return differences
