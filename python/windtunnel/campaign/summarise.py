"""What the runs of all cells say: statistics by cell and metric, differences from baselines, and notes on the whole."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.campaign.claims import decide
from windtunnel.campaign.columns import CellRows, where
from windtunnel.campaign.conduct import Conductor, of_units, scales_of
from windtunnel.claims.decide import Decided
from windtunnel.experiment import statistics
from windtunnel.experiment.scales import Scale

#: Cells that are kept because others may be compared to them.
_KEPT = 256
_NAMED = 3


@dataclass
class Findings:
    """All rows, and the notes on the whole."""

    rows: CellRows = field(default_factory=CellRows)
    notes: list[str] = field(default_factory=list)
    claims: list[Decided] = field(default_factory=list)


@dataclass(frozen=True)
class _Values:
    """The values of a cell: of each run and quantity; and the scales of these."""

    failed: int
    digests: int
    values: npt.NDArray[np.float64]
    scales: list[Scale]


def summarise(conductor: Conductor) -> Findings:
    """The findings of a campaign whose runs are done."""
    findings = _Summary(conductor).findings()
    findings.claims = decide(conductor)
    return findings


class _Summary:
    def __init__(self, conductor: Conductor) -> None:
        self._conductor, self._plan = conductor, conductor.plan
        self._campaign, self._kept = conductor.campaign, OrderedDict[int, _Values]()
        self._per_unit = conductor.plan.runs_of_unit()
        self._same: list[int] = []
        self._locked: dict[int, None] = {}
        self._wide: dict[int, None] = {}

    def findings(self) -> Findings:
        findings = Findings()
        for cell in range(self._plan.wanted()):
            values = self._values(cell)
            if len(values.values) - values.failed > 1 and values.digests == 1:
                self._same.append(cell)
            baselines = self._baselines(cell)
            for index in range(len(self._campaign.metrics)):
                for row in self._rows(cell, index, values, baselines):
                    findings.rows.add(cell, row)
        p = [None if value != value else value for value in findings.rows.column("p").tolist()]
        corrected = statistics.corrected(p, self._campaign.statistics.correction)
        findings.rows.replace("p_corrected", np.array(corrected, np.float64))
        findings.notes = self._notes()
        return findings

    def _baselines(self, cell: int) -> list[tuple[str, int, _Values | None]]:
        """The name of each baseline, the number of its cell, and its values. A baseline is not compared to itself, nor
        to one that ``--only`` leaves out.
        """
        baselines = []
        for baseline in self._campaign.baselines:
            number = self._plan.baseline_of(self._plan.wanted_cell(cell), baseline)
            other, name = self._plan.index_of(number), ", ".join(f"{axis} = {label}" for axis, label in baseline)
            baselines.append((name, number, None if other is None or other == cell else self._values(other)))
        return baselines

    def _values(self, cell: int) -> _Values:
        if cell in self._kept:
            self._kept.move_to_end(cell)
            return self._kept[cell]
        rows = self._conductor.ledger.rows(cell)
        failed, digests = rows.columns["error"] >= 0, rows.columns["digest"]
        # The first that did not fail tells how many flows there are.
        scales = scales_of(self._conductor.quantities, rows, int(np.argmin(failed)))
        gathered = _Values(int(failed.sum()), len(set(digests[digests >= 0].tolist())), rows.columns["values"], scales)
        self._kept[cell] = gathered
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return gathered

    def _rows(
        self, cell: int, index: int, values: _Values, baselines: Sequence[tuple[str, int, _Values | None]]
    ) -> Iterator[dict[str, Any]]:
        chosen, (name, metric) = self._campaign.statistics, self._campaign.metrics[index]
        scale = values.scales[index]
        units = of_units(values.values[:, index], self._per_unit, scale)
        summary = statistics.summary(units, chosen.confidence, chosen.interval, scale)
        phases = self._phases(cell, values.values[:, index])
        until = self._campaign.until
        if until and not statistics.is_narrow(units, until.share, chosen.confidence, chosen.interval, scale):
            self._wide[cell] = None
        low, high = summary.interval or (None, None)
        median_low, median_high = summary.median_interval or (None, None)
        row = {
            "metric": name, "unit": metric.unit, "kind": scale.kind,
            "method": summary.method, "runs": len(values.values), "failed": values.failed, "distinct": values.digests,
            "count": summary.count, "mean": summary.mean, "mean_low": low, "mean_high": high,
            "median": summary.median, "median_low": median_low, "median_high": median_high,
            "std": summary.std, "min": summary.least, "max": summary.most,
            "offset_share": phases.share if phases else None, "phase_locked": phases.decides if phases else None,
        }  # fmt: skip
        for baseline, number, others in baselines:
            compared = {} if others is None else self._compared(index, units, scale, others)
            yield row | {"baseline": baseline, "baseline_cell": number} | compared
        if not baselines:
            yield row

    def _phases(self, cell: int, values: npt.NDArray[np.float64]) -> statistics.Phases | None:
        """Only where offsets and seeds are crossed can one be told from the other."""
        if isinstance(self._campaign.offsets, bool):
            return None
        phases = statistics.phases(list(values.reshape(-1, self._per_unit)))
        if phases is not None and phases.decides:
            self._locked[cell] = None
        return phases

    def _compared(self, index: int, units: npt.NDArray[np.float64], scale: Scale, others: _Values) -> dict[str, Any]:
        chosen = self._campaign.statistics
        baseline = of_units(others.values[:, index], self._per_unit, scale)
        comparison = statistics.comparison(units, baseline, chosen.confidence, chosen.interval, scale)
        low, high = comparison.interval or (None, None)
        return {
            "pairs": comparison.count, "difference": comparison.difference,
            "difference_low": low, "difference_high": high, "p": comparison.p, "effect": comparison.effect,
            "dominance": comparison.dominance,
        }  # fmt: skip

    def _notes(self) -> list[str]:
        notes, count = [], self._conductor.count
        if count.failed:
            notes.append(
                f"{count.failed} of {count.done} runs failed; their messages are in the column `error` of runs"
            )
        if self._same:
            remedy = "" if self._campaign.offsets else "; `offsets = true` varies when flows start"
            notes.append(f"the runs of {self._some(self._same)} are all the same: nothing in them is random{remedy}")
        if self._locked:
            locked = self._some(list(self._locked))
            notes.append(
                f"{locked} are phase-locked: when flows start decides at least half of a metric's variance; "
                "their intervals are over start offsets"
            )
        if self._wide:
            wide = self._some(list(self._wide))
            bound = f"after {self._campaign.max_runs} runs, the bound"
            notes.append(f"the intervals of {wide} are wider than `until` asks, {bound}")
        return notes

    def _some(self, cells: Sequence[int]) -> str:
        """How many cells, and the first of them."""
        first = "; ".join(where(self._plan, self._plan.wanted_cell(cell)) for cell in cells[:_NAMED])
        more = "; ..." if len(cells) > _NAMED else ""
        return f"{len(cells)} of {self._plan.wanted()} cells ({first}{more})"
