"""One published number, or another reference, the measured one, and the rule that says whether they agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.statistics import summary_of_all
from windtunnel.experiment.verdict import Of, Verdict, Word, is_one_draw, judge, of_number, word

#: An interval wider than this part of the measured value determines that value badly.
WIDE = 0.2


@dataclass(frozen=True)
class Row:
    """A published value, the measured one, and the verdict.

    ``interval`` holds the smallest and largest measured value over the perturbed runs, the unperturbed one included;
    where the mean of several runs is judged, the 95 % interval of that mean.
    ``published`` is text where the document gives no number (``"< 5"``, ``"smaller"``), and None where a run is
    compared with what the document does not print: that number is the ``reference``, and ``source`` says whose it is (a
    real stack's, a model's). ``measurement`` says what was
    measured on which run, in the same words wherever it is the same: two such rows repeat each other (``suite.py``).
    ``limits`` are those of a statement, infinite on a side without one. ``of`` is what the verdict is on.
    """

    id: str
    group: str
    what: str
    published: float | str | None
    measured: float | None
    tolerance: float | None
    unit: str
    verdict: Verdict
    note: str = ""
    interval: tuple[float, float] | None = None
    measurement: str = ""
    limits: tuple[float, float] | None = None
    reference: float | None = None
    source: str = ""
    of: Of = "number"

    @property
    def word(self) -> Word:
        """The verdict as people read it. Raises ValueError for an unknown one."""
        return word(self.verdict, self.of)

    def sentence(self) -> str:
        """What was measured and what is expected, in one line."""
        measured = "nothing to measure" if self.measured is None else f"{self.measured:.4g} {self.unit}".rstrip()
        interval = "" if self.interval is None else f" ({self.interval[0]:.4g} to {self.interval[1]:.4g})"
        expected = "" if self.expected is None else f", expected {self.expected}"
        return f"{self.what}: {measured}{interval}{expected}"

    @property
    def wide(self) -> bool:
        """Whether the interval is wider than a fifth of the measured value, so that it contains much else."""
        if self.interval is None or self.measured is None or not math.isfinite(self.measured):
            return False
        low, high = self.interval
        return high - low > WIDE * abs(self.measured)

    @property
    def expected(self) -> float | str | None:
        """What the measured value is compared with: the published value, or the reference."""
        return self.published if self.reference is None else self.reference

    @property
    def difference(self) -> float | None:
        """Measured minus expected value, where both are numbers."""
        expected = self.expected
        if isinstance(expected, float) and self.measured is not None and math.isfinite(self.measured):
            return self.measured - expected
        return None


def spread(values: Sequence[float]) -> tuple[float, float] | None:
    """Smallest and largest of the finite values, if there are two or more."""
    finite = [v for v in values if math.isfinite(v)]
    return (min(finite), max(finite)) if len(values) > 1 and finite else None


def compare(
    id: str,
    group: str,
    what: str,
    published: float,
    precision: float,
    values: Sequence[float],
    unit: str,
    note: str = "",
    measurement: str = "",
) -> Row:
    """The row of a published number; ``values[0]`` is the unperturbed run."""
    measured = values[0] if values and math.isfinite(values[0]) else None
    if measured is None:
        note = "; ".join(filter(None, [note, "the run shows nothing to measure"]))
    agreed = of_number(published, precision, values)
    interval = spread(values)
    return Row(id, group, what, float(published), measured, precision, unit, agreed, note, interval, measurement)


def trial_row(
    id: str,
    group: str,
    what: str,
    published: float | str | None,
    limits: Limits | None,
    values: Sequence[float],
    unit: str,
    note: str = "",
    *,
    tolerance: float | None = None,
    scale: Scale = PLAIN,
    not_judged: str = "",
) -> Row:
    """The row of a number measured in several runs: their mean, its interval, and the verdict if there are limits.

    ``not_judged`` says why the row is for information although it has limits.
    """
    one_draw, summary = is_one_draw(values), summary_of_all(values, scale)
    interval = None if one_draw else summary.interval
    if interval:
        runs = f"{len(values)} runs, from {min(values):.4g} to {max(values):.4g}"
        runs += "" if scale == PLAIN else f"; {summary.method}"
    elif one_draw:
        runs = f"one draw: {len(values)} runs give the same value"
    else:
        runs = "no interval: fewer than two runs that show it"
    verdict: Verdict = judge(limits, values, scale) if limits is not None and not not_judged else "info"
    note = "; ".join(filter(None, [not_judged and f"not judged: {not_judged}", note]))
    return Row(
        id, group, what, published, summary.mean, tolerance, unit, verdict,
        "; ".join(filter(None, [note, runs])), interval, limits=None if limits is None else (limits.low, limits.high),
        of="number" if one_draw else "statement",
    )  # fmt: skip


def refer(row: Row, source: str) -> Row:
    """``row`` with its number as the reference: ``source`` gives it, not the document. The note says so."""
    assert isinstance(row.published, float)
    note = "; ".join(filter(None, [f"{source}: {row.published:.4g}", row.note]))
    return replace(row, published=None, reference=row.published, source=source, note=note)


def printed_precision(text: str) -> float:
    """Half a unit of the last printed digit: 0.05 for ``"49.2"``, 0.5 for ``"436"``."""
    digits = text.partition(".")[2]
    return 0.5 * 10.0 ** -len(digits)
