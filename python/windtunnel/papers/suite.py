"""The parts of every paper suite: setups to run, groups of rows that read them, and what a row's verdict is worth.

A verdict counts only where a run could have turned it. Three kinds of rows are no such evidence:

- *Given*: the value follows from the scenario (an axis ends where the run ends), or from a formula alone (a point of a
  printed curve). Its note says what it follows from, and whether the document's number agrees with that.
- *Without a run*: a group that needs no setup has nothing but given rows.
- *Repeats*: a row of the same measurement, with the same published value, as a row before it.

A number agrees *weakly* where the interval of the runs is wider than a fifth of the measured value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.statistics import summary_of_all
from windtunnel.papers.jobs import JobResult
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Excerpt, Measurement, Setup


class Results:
    """The measured values of every setup that was run."""

    def __init__(self, outcomes: Sequence[JobResult]) -> None:
        self._by_setup: dict[str, list[JobResult]] = {}
        for outcome in sorted(outcomes, key=lambda o: (o.setup, o.variant)):
            if not outcome.error:
                self._by_setup.setdefault(outcome.setup, []).append(outcome)

    def values(self, setup: str, index: int) -> list[float]:
        """A measurement of a setup: the unperturbed run first, then the perturbed ones; empty if it did not run."""
        runs = self._by_setup.get(setup, [])
        if not runs or runs[0].variant != 0:
            return []
        return [run.values[index] for run in runs]

    def picture(self, setup: str, picture: str) -> bytes | None:
        """A PNG drawn from the unperturbed run."""
        for outcome in self._by_setup.get(setup, []):
            if picture in outcome.pictures:
                return outcome.pictures[picture]
        return None

    def excerpt(self, setup: str) -> Excerpt | None:
        """What the setup's function took from the unperturbed run."""
        return next((o.excerpt for o in self._by_setup.get(setup, []) if o.excerpt is not None), None)


@dataclass(frozen=True)
class Value:
    """A number of a run: what it is, in which unit, and how it follows from measurements."""

    id: str
    what: str
    unit: str
    of: Sequence[Measurement]
    formula: Callable[..., float] = float
    scale: Scale = PLAIN

    def prepare(self, setup: Setup) -> None:
        """Let the setup measure what the number needs."""
        for measurement in self.of:
            setup.index(measurement)

    def values(self, results: Results, setup: Setup) -> list[float]:
        """The number in every run; empty if the first did not run."""
        columns = [results.values(setup.name, setup.index(m)) for m in self.of]
        return [self.formula(*each) for each in zip(*columns, strict=True)]

    def mean(self, results: Results, setup: Setup) -> float | None:
        """The mean over the runs."""
        return summary_of_all(self.values(results, setup), self.scale).mean

    def row(self, results: Results, setup: Setup, id: str, group: str, what: str) -> Row:
        """The row of the number, for information."""
        values = self.values(results, setup)
        return trial_row(f"{id}/{self.id}", group, what, None, None, values, self.unit, scale=self.scale)


@dataclass
class Group:
    """A figure, a table or the claims: the setups it needs, and how their results become its rows."""

    id: str
    title: str
    caption: str
    setups: list[str]
    rows: Callable[[Results], list[Row]]
    png: Callable[[Results], bytes | None] = lambda _: None
    report: str | None = None
    """Name of the setup whose interactive report belongs to the group."""
    statement: bool = False
    """Whether it is something that the document states, rather than a figure or a table."""
    remark: str = ""
    """What a reader must know of the picture."""


@dataclass
class Suite:
    """A document's suite. ``aliases`` are names for several groups at once (``fig3`` is 3a and 3b)."""

    name: str
    title: str
    setups: dict[str, Setup]
    groups: list[Group]
    notes: str
    aliases: dict[str, list[str]] = field(default_factory=dict)


def parts(groups: Iterable[Group]) -> dict[str, list[str]]:
    """The groups whose IDs differ by a letter after their number, or a suffix, by what they share: ``fig3`` for 3a and
    3b, ``K54`` for K54 and K54-half.
    """
    by_stem: dict[str, list[str]] = {}
    for group in groups:
        stem = re.sub(r"(?<=\d)[a-f]$", "", group.id.partition("-")[0])
        by_stem.setdefault(stem, []).append(group.id)
    return {stem: ids for stem, ids in by_stem.items() if ids != [stem]}


def figures_and_claims(groups: Sequence[Group]) -> dict[str, list[str]]:
    """``figures``, ``claims``, and the parts of one claim: ``K47`` for K47a to K47d, in all variants."""
    claims = [group for group in groups if group.title.startswith("Claim")]
    figures = [group.id for group in groups if group not in claims]
    return {"figures": figures, "claims": [group.id for group in claims], **parts(claims)}


# --- What a verdict is worth ----------------------------------------------------------------------------------------

#: What the rows of a group without runs follow from.
FORMULA = "a formula and its printed arguments"


def rows_of(groups: Sequence[Group], results: Results) -> dict[str, list[Row]]:
    """The rows of each group by its id; those that cannot fail are for information."""
    by_id: dict[str, list[Row]] = {}
    seen: dict[tuple[str, str], list[Row]] = {}
    for group in groups:
        rows = group.rows(results)
        if not group.setups:
            rows = [given(row, FORMULA) for row in rows]
        by_id[group.id] = [_weighed(_repeating(row, seen)) for row in rows]
    return by_id


def _weighed(row: Row) -> Row:
    """``row``, whose agreement is weak where its interval is wide."""
    return replace(row, verdict="weak") if row.verdict == "agrees" and row.of == "number" and row.wide else row


def given(row: Row, by: str) -> Row:
    """``row``, whose value follows from ``by`` whatever a run does."""
    if row.verdict == "info":
        return row
    says = "agrees" if row.verdict == "agrees" else "differs"
    note = f"follows from {by}, whatever a run does; the published value {says}"
    return replace(row, verdict="info", note="; ".join(filter(None, [note, row.note])))


def _repeating(row: Row, seen: dict[tuple[str, str], list[Row]]) -> Row:
    """``row``, for information if a row before it says the same; it is added to those that were seen."""
    if row.verdict == "info" or not row.measurement:
        return row
    before = seen.setdefault((row.measurement, row.unit), [])
    same = next((other for other in before if _same(row, other)), None)
    if same is None:
        before.append(row)
        return row
    note = f"repeats {same.id}: the same measurement, and the same published value"
    return replace(row, verdict="info", note="; ".join(filter(None, [note, row.note])))


def _same(row: Row, other: Row) -> bool:
    """Whether both have one value from every run, and one published value to the precision of its sources."""
    if not isinstance(row.expected, float) or not isinstance(other.expected, float):
        return False
    apart, precision = abs(row.expected - other.expected), (row.tolerance or 0.0) + (other.tolerance or 0.0)
    return row.measured == other.measured and row.interval == other.interval and apart <= precision
