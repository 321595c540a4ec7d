"""One published number, or another reference, beside the measured one, and the rule that says whether they agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

#: A number is within its tolerance or outside, or for information. A statement about the mean of several runs is
#: confirmed or refuted, or undecided where the interval of that mean contains the limit (``trials.py``).
Verdict = Literal["within", "outside", "info", "confirmed", "refuted", "undecided"]


@dataclass(frozen=True)
class Row:
    """A published value, the measured one, and the verdict.

    ``interval`` holds the smallest and largest measured value over the perturbed runs, the unperturbed one included;
    where the mean of several runs is judged, the 95 % interval of that mean.
    ``published`` is text where the document gives no number (``"< 5"``, ``"smaller"``), and None where a run is
    compared with what the document does not print: that number is the ``reference``, and ``source`` says whose it is (a
    real stack's, a model's).
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
    reference: float | None = None
    source: str = ""

    @property
    def difference(self) -> float | None:
        """Measured minus published value or reference, where both are numbers."""
        against = self.published if self.reference is None else self.reference
        if isinstance(against, float) and self.measured is not None and math.isfinite(self.measured):
            return self.measured - against
        return None


def spread(values: Sequence[float]) -> tuple[float, float] | None:
    """Smallest and largest of the finite values, if there are two or more."""
    finite = [v for v in values if math.isfinite(v)]
    return (min(finite), max(finite)) if len(values) > 1 and finite else None


def verdict(published: float, precision: float, values: Sequence[float]) -> Verdict:
    """``within`` where the published value, to its precision, lies in the range of the measured ones.

    ``values`` come from the unperturbed run and its perturbed twins. The published value is one more draw from the same
    chaotic system, so that only the source's own precision widens the range. The relative 1e-9 absorbs nothing but the
    rounding of decimal fractions (50.0 - 49.95 is not 0.05 in binary).
    """
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return "outside"
    slack = precision + 1e-9 * max(abs(published), precision)
    return "within" if min(finite) - slack <= published <= max(finite) + slack else "outside"


def compare(
    id: str,
    group: str,
    what: str,
    published: float,
    precision: float,
    values: Sequence[float],
    unit: str,
    note: str = "",
) -> Row:
    """The row of a published number; ``values[0]`` is the unperturbed run."""
    measured = values[0] if values and math.isfinite(values[0]) else None
    if measured is None:
        note = "; ".join(filter(None, [note, "the run shows nothing to measure"]))
    agreed = verdict(published, precision, values)
    return Row(id, group, what, float(published), measured, precision, unit, agreed, note, spread(values))


def refer(row: Row, source: str) -> Row:
    """``row`` with its number as the reference: ``source`` gives it, not the document. The note says so."""
    assert isinstance(row.published, float)
    note = "; ".join(filter(None, [f"{source}: {row.published:.4g}", row.note]))
    return replace(row, published=None, reference=row.published, source=source, note=note)


def printed_precision(text: str) -> float:
    """Half a unit of the last printed digit: 0.05 for ``"49.2"``, 0.5 for ``"436"``."""
    digits = text.partition(".")[2]
    return 0.5 * 10.0 ** -len(digits)
