"""From outcomes to rows: a row for each check and cell, and a verdict for each clause."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from windtunnel.evaluate.execute import RunValues
from windtunnel.evaluate.judge import Judgement, State, broken, decide, decide_absolute, overall, read
from windtunnel.evaluate.pack import MOMENT, Clause, Criterion, Pack
from windtunnel.evaluate.runs import SUBJECT, Excluded, Plan, Run
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.statistics import method, summary_of_all


@dataclass(frozen=True)
class Measured:
    """A number of one arm: the mean over the seeds, its interval, and how many runs it is of."""

    mean: float | None
    interval: tuple[float, float] | None
    runs: int
    method: str = ""
    """What the mean and its interval are, in words."""

    @classmethod
    def of(cls, values: Sequence[float], scale: Scale = PLAIN) -> Measured:
        """Without a mean where a run shows nothing to measure."""
        summary = summary_of_all(values, scale)
        return cls(summary.mean, summary.interval, len(values), method(values, "t", scale))


@dataclass(frozen=True)
class Row:
    """One check in one cell."""

    id: str
    clause: str
    text: str
    cell: str
    unit: str
    subject: Measured
    baselines: Mapping[str, Measured]
    limit: float | None
    limit_text: str
    verdict: State
    margin: tuple[float, float, float] | None
    """How far it is on the good side: 1 at the limit, more is better; the mean, and the ends of the interval."""
    note: str
    files: Mapping[str, str]
    absolute: Judgement | None = None
    """Next to the comparison with baselines: a limit that holds whatever these do."""
    source: str = ""
    """Who gives that limit."""
    trial: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The values of the axes, which ``cell`` has in words."""

    @property
    def check(self) -> str:
        """The check's name within its clause."""
        return self.id.partition(" [")[0].partition("/")[2]

    @property
    def word(self) -> str:
        """The verdict as people read it."""
        return read(self.verdict).text


@dataclass(frozen=True)
class ClauseResult:
    """A clause with its verdict and rows."""

    clause: Clause
    verdict: State
    rows: tuple[Row, ...]

    @property
    def word(self) -> str:
        """The verdict as people read it."""
        return read(self.verdict).text

    @property
    def absolute(self) -> State | None:
        """The verdict on the absolute limits; None where the clause has none."""
        verdicts = [row.absolute.verdict for row in self.rows if row.absolute is not None]
        return overall(verdicts) if verdicts else None

    @property
    def counts(self) -> Counter[str]:
        """How many rows have each verdict."""
        return Counter(row.word for row in self.rows)


def results(pack: Pack, clauses: Sequence[Clause], plan: Plan, outcomes: Sequence[RunValues]) -> list[ClauseResult]:
    """A result for each clause. A clause that nothing is simulated for is for information."""
    cells: dict[tuple[str, str, str], dict[str, list[tuple[Run, RunValues]]]] = {}
    for run, outcome in zip(plan.runs, outcomes, strict=True):
        arms = cells.setdefault((run.clause, run.trial, run.cell.name), {})
        arms.setdefault(run.arm, []).append((run, outcome))
    judged = []
    for clause in clauses:
        rows = tuple(row for check in clause.checks for row in _rows(pack, clause, check, plan, cells))
        judged.append(ClauseResult(clause, overall([row.verdict for row in rows]), rows))
    return judged


_Cells = Mapping[tuple[str, str, str], Mapping[str, Sequence[tuple[Run, RunValues]]]]


def _rows(pack: Pack, clause: Clause, check: Criterion, plan: Plan, cells: _Cells) -> list[Row]:
    """The check in every cell of its trial for which it is made."""
    rows = []
    for (of, trial, cell), arms in cells.items():
        if (of, trial) != (clause.id, check.trial):
            continue
        labels = dict(arms[SUBJECT][0][0].cell.labels)
        if all(labels.get(axis, "") in [str(a) for a in allowed] for axis, allowed in check.at.items()):
            rows.append(_row(pack, clause, check, cell, arms))
    for (of, trial, cell), excluded in plan.excluded.items():
        if (of, trial) == (clause.id, check.trial):
            rows.append(_excluded(clause, check, cell, excluded))
    return rows


def _row(
    pack: Pack, clause: Clause, check: Criterion, cell: str, arms: Mapping[str, Sequence[tuple[Run, RunValues]]]
) -> Row:
    errors = [o.error for runs in arms.values() for _, o in runs if o.error]
    values = {arm: [] if errors else [outcome.values[check.value] for _, outcome in runs] for arm, runs in arms.items()}
    own, baselines = values[SUBJECT], {arm: v for arm, v in values.items() if arm != SUBJECT}
    scale = next((o.scales[check.value] for _, o in arms[SUBJECT] if check.value in o.scales), PLAIN)
    judgement = decide(check.expect, own, baselines, scale)
    measured = Measured.of(own, scale)
    untold = next((o.untold[check.value] for _, o in arms[SUBJECT] if check.value in o.untold), "")
    return Row(
        id=_id(clause, check, cell),
        clause=clause.id,
        text=check.text,
        cell=cell,
        unit=check.unit,
        subject=measured,
        baselines={arm: Measured.of(v, scale) for arm, v in baselines.items()},
        limit=judgement.limit,
        limit_text=judgement.text,
        verdict="failed" if errors else "unseen" if untold else judgement.verdict,
        margin=_margin(measured, judgement.limit, larger=judgement.larger),
        note=errors[0] if errors else untold or _note(check, own, [outcome for _, outcome in arms[SUBJECT]]),
        files={arm: runs[0][0].file for arm, runs in arms.items()},
        absolute=None if errors else decide_absolute(check.absolute, own, scale),
        source=check.source,
        trial=check.trial,
        labels=dict(arms[SUBJECT][0][0].cell.labels),
    )


def _note(check: Criterion, values: Sequence[float], outcomes: Sequence[RunValues]) -> str:
    missing = sum(not math.isfinite(v) for v in values)
    broke = 0 if check.expect is None else broken(check.expect, values)
    moment = outcomes[0].values.get(MOMENT, math.nan)
    parts = [
        f"{missing} of {len(values)} runs show nothing to measure" if missing else "",
        f"{broke} of {len(values)} runs break it" if broke else "",
        check.why,
        f"at {moment:.4g} s with seed 1" if math.isfinite(moment) else "",
    ]
    return "; ".join(filter(None, parts))


def _id(clause: Clause, check: Criterion, cell: str) -> str:
    return f"{clause.id}/{check.id}" + (f" [{cell}]" if cell else "")


def _excluded(clause: Clause, check: Criterion, cell: str, excluded: Excluded) -> Row:
    nothing = Measured(None, None, 0)
    return Row(
        id=_id(clause, check, cell), clause=clause.id, text=check.text, cell=cell, unit=check.unit, subject=nothing,
        baselines={}, limit=None, limit_text="", verdict=excluded.state, margin=None, note=excluded.reason,
        files={}, trial=check.trial, labels=dict(excluded.labels),
    )  # fmt: skip


def _margin(measured: Measured, limit: float | None, *, larger: bool | None) -> tuple[float, float, float] | None:
    """The measured mean and interval as multiples of the limit, turned so that more is better."""
    if limit is None or larger is None or limit <= 0 or measured.mean is None:
        return None
    low, high = measured.interval or (measured.mean, measured.mean)
    ratios = [max(v, 0.0) / limit for v in (measured.mean, low, high)]
    if larger:
        return ratios[0], ratios[1], ratios[2]
    inverse = [1 / r if r > 0 else math.inf for r in ratios]
    return inverse[0], inverse[2], inverse[1]
