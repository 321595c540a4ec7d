"""What the runs of all cells say: statistics by cell and metric, differences from baselines, and notes on the whole."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from windtunnel.campaign.claims import decide
from windtunnel.campaign.columns import where
from windtunnel.campaign.conduct import Conductor, of_units
from windtunnel.campaign.plan import Cell
from windtunnel.claims.decide import Decided
from windtunnel.experiment import statistics
from windtunnel.experiment.scales import PLAIN, Scale

#: Columns of a row, beyond its cell, and their types. ``runs`` of the cell are ``failed`` or have one of ``distinct``
#: digests; ``count`` independent values have ``mean`` ... ``max``; ``method`` says what mean and interval are.
CELL_COLUMNS: dict[str, type] = {
    "metric": str, "unit": str, "kind": str, "method": str, "runs": int, "failed": int, "distinct": int, "count": int,
    "mean": float, "mean_low": float, "mean_high": float,
    "median": float, "median_low": float, "median_high": float, "std": float, "min": float, "max": float,
    "offset_share": float, "phase_locked": bool,
    "baseline": str, "baseline_cell": int, "pairs": int,
    "difference": float, "difference_low": float, "difference_high": float,
    "p": float, "p_corrected": float, "effect": float, "dominance": float,
}  # fmt: skip
#: Columns that data sets of older versions do not have.
LATER = ("unit", "kind", "method")
#: Cells that are kept because others may be compared to them.
_KEPT = 256
_NAMED = 3


@dataclass
class Row:
    """A metric of a cell, compared with one baseline, or none."""

    cell: Cell
    values: dict[str, Any]


@dataclass
class Findings:
    """All rows, and the notes on the whole."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    claims: list[Decided] = field(default_factory=list)


@dataclass(frozen=True)
class _Values:
    """The values of a cell: by metric, the runs of each unit."""

    runs: int
    failed: int
    digests: int
    by_metric: tuple[dict[int, list[float]], ...]
    scales: tuple[Scale, ...]


def summarise(conductor: Conductor) -> Findings:
    """The findings of a campaign whose runs are done."""
    findings = _Summary(conductor).findings()
    findings.claims = decide(conductor)
    return findings


class _Summary:
    def __init__(self, conductor: Conductor) -> None:
        self._conductor, self._plan = conductor, conductor.plan
        self._campaign, self._kept = conductor.campaign, OrderedDict[int, _Values]()
        self._same: list[Cell] = []
        self._locked: dict[int, Cell] = {}
        self._wide: dict[int, Cell] = {}
        self._cells = 0

    def findings(self) -> Findings:
        findings = Findings()
        for cell in self._plan.cells():
            self._cells += 1
            values = self._values(cell.number)
            if values.runs - values.failed > 1 and values.digests == 1:
                self._same.append(cell)
            for index, (name, _) in enumerate(self._campaign.metrics):
                findings.rows += self._rows(cell, name, index, values)
        p = [row.values["p"] for row in findings.rows]
        for row, q in zip(findings.rows, statistics.corrected(p, self._campaign.statistics.correction), strict=True):
            row.values["p_corrected"] = q
        findings.notes = self._notes()
        return findings

    def _values(self, cell: int) -> _Values:
        if cell in self._kept:
            self._kept.move_to_end(cell)
            return self._kept[cell]
        by_metric: tuple[dict[int, list[float]], ...] = tuple({} for _ in self._campaign.metrics)
        scales = [PLAIN for _ in self._campaign.metrics]
        runs, failed, digests = 0, 0, set()
        for record in self._conductor.records(cell):
            if runs == failed and not record.error:  # the first that did not fail
                scales = [record.scale(metric) for _, metric in self._campaign.metrics]
            unit = runs // self._plan.runs_of_unit()
            runs, failed = runs + 1, failed + bool(record.error)
            digests |= {record.digest} - {""}
            for values, (_, metric) in zip(by_metric, self._campaign.metrics, strict=True):
                values.setdefault(unit, []).append(record.value(metric)[0])
        gathered = self._kept[cell] = _Values(runs, failed, len(digests), by_metric, tuple(scales))
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return gathered

    def _rows(self, cell: Cell, name: str, index: int, values: _Values) -> list[Row]:
        chosen, by_unit = self._campaign.statistics, values.by_metric[index]
        scale = values.scales[index]
        units = of_units(by_unit, scale)
        summary = statistics.summary(units, chosen.confidence, chosen.interval, scale)
        phases = self._phases(cell, by_unit)
        until = self._campaign.until
        if until and not statistics.is_narrow(units, until.share, chosen.confidence, chosen.interval, scale):
            self._wide[cell.number] = cell
        low, high = summary.interval or (None, None)
        median_low, median_high = summary.median_interval or (None, None)
        row = dict.fromkeys(CELL_COLUMNS) | {
            "metric": name, "unit": self._campaign.metrics[index][1].unit, "kind": scale.kind,
            "method": summary.method, "runs": values.runs, "failed": values.failed, "distinct": values.digests,
            "count": summary.count, "mean": summary.mean, "mean_low": low, "mean_high": high,
            "median": summary.median, "median_low": median_low, "median_high": median_high,
            "std": summary.std, "min": summary.least, "max": summary.most,
            "offset_share": phases.share if phases else None, "phase_locked": phases.decides if phases else None,
        }  # fmt: skip
        baselines = self._campaign.baselines
        if not baselines:
            return [Row(cell, row)]
        return [Row(cell, row | self._compared(cell, index, units, scale, baseline)) for baseline in baselines]

    def _phases(self, cell: Cell, by_unit: dict[int, list[float]]) -> statistics.Phases | None:
        """Only where offsets and seeds are crossed can one be told from the other."""
        if isinstance(self._campaign.offsets, bool):
            return None
        phases = statistics.phases(list(by_unit.values()))
        if phases is not None and phases.decides:
            self._locked[cell.number] = cell
        return phases

    def _compared(
        self, cell: Cell, index: int, units: Sequence[float], scale: Scale, baseline: Sequence[tuple[str, str]]
    ) -> dict[str, Any]:
        number = self._plan.baseline_of(cell, baseline)
        name = ", ".join(f"{axis} = {label}" for axis, label in baseline)
        # A baseline is not compared to itself, nor to one that `--only` leaves out.
        if number == cell.number or number not in self._conductor.keys:
            return {"baseline": name, "baseline_cell": number}
        chosen = self._campaign.statistics
        others = of_units(self._values(number).by_metric[index], scale)
        comparison = statistics.comparison(units, others, chosen.confidence, chosen.interval, scale)
        low, high = comparison.interval or (None, None)
        return {
            "baseline": name, "baseline_cell": number, "pairs": comparison.count, "difference": comparison.difference,
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
            locked = self._some(list(self._locked.values()))
            notes.append(
                f"{locked} are phase-locked: when flows start decides at least half of a metric's variance; "
                "their intervals are over start offsets"
            )
        if self._wide:
            wide = self._some(list(self._wide.values()))
            bound = f"after {self._campaign.max_runs} runs, the bound"
            notes.append(f"the intervals of {wide} are wider than `until` asks, {bound}")
        return notes

    def _some(self, cells: Sequence[Cell]) -> str:
        """How many cells, and the first of them."""
        first = "; ".join(where(self._plan, cell) for cell in cells[:_NAMED])
        more = "; ..." if len(cells) > _NAMED else ""
        return f"{len(cells)} of {self._cells} cells ({first}{more})"
