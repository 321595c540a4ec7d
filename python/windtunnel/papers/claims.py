"""A document's claims as checks with a number. What each measures, expects and tolerates is in a ``claims.toml``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windtunnel import models
from windtunnel.campaign.scales import Scale
from windtunnel.papers.cells import Cell, Measurement
from windtunnel.papers.expression import calculate, kind
from windtunnel.papers.features import Axis
from windtunnel.papers.rows import Row, Verdict, compare, spread
from windtunnel.papers.suite import Group, Results
from windtunnel.papers.trials import Limits, trial_row

#: Axes for claims that are not read off a figure: bins of a tenth of a second.
AXIS = Axis(0.0, 56.0, 0.0, 1.0)


@dataclass(frozen=True)
class Expected:
    """What a claim expects: a value near a number, or one above or below it."""

    near: float | None
    above: float | None
    below: float | None
    tolerance: float
    why: str

    def published(self) -> float | str:
        """What stands in the published column."""
        if self.near is not None:
            return float(self.near)
        return f"> {self.above:g}" if self.above is not None else f"< {self.below:g}"

    def limits(self) -> Limits:
        """What the mean of several runs may be."""
        if self.near is not None:
            return Limits(self.near - self.tolerance, self.near + self.tolerance)
        return Limits(
            self.above if self.above is not None else -math.inf,
            self.below if self.below is not None else math.inf,
            strict=True,
        )

    def verdict(self, values: Sequence[float]) -> Verdict:
        """A bound must hold in the unperturbed run; a value may lie anywhere in the range of the perturbed runs."""
        measured = values[0] if values else math.nan
        if self.above is not None:
            return "agrees" if measured > self.above else "differs"
        return "agrees" if self.below is not None and measured < self.below else "differs"


def claims_groups(
    claims: Sequence[Mapping[str, Any]],
    cells: dict[str, Cell],
    make: Callable[[str], Cell],
    *,
    quick: bool,
) -> list[Group]:
    """One group for each claim; ``make`` builds the cell for a name that is not yet in ``cells``.

    The quick suite leaves out a claim whose runs are not in ``cells``.
    """
    groups = []
    for claim in claims:
        id: str = claim["id"]
        if "later" in claim:
            if not quick:
                groups.append(_later(id, claim))
            continue
        quantities: dict[str, dict[str, Any]] = claim["quantities"]
        needed = [q["run"] for q in quantities.values() if "run" in q]
        if quick and any(name not in cells for name in needed):
            continue
        for name in needed:
            if name not in cells:
                cells[name] = make(name)
        groups.append(_claim(id, claim, quantities, cells))
    return groups


def _later(id: str, claim: Mapping[str, Any]) -> Group:
    row = Row(id, "claims", claim["text"], None, None, None, "", "info", f"needs a later capability: {claim['later']}")
    return Group(id, f"Claim {id}", claim["text"], [], lambda _: [row], statement=True)


def _claim(
    id: str, claim: Mapping[str, Any], quantities: Mapping[str, dict[str, Any]], cells: dict[str, Cell]
) -> Group:
    expected = Expected(
        claim["expected"].get("near"),
        claim["expected"].get("above"),
        claim["expected"].get("below"),
        float(claim["expected"].get("tolerance", 0.0)),
        claim["expected"]["why"],
    )
    # Where phases decide, one run says little: `over = "mean"` judges the mean over all of them.
    # `over = "interval"` also asks how well the runs determine that mean: confirmed, refuted or undecided.
    averaged = claim.get("over") == "mean"
    places: dict[str, tuple[str, int]] = {}
    constants: dict[str, float] = {}
    for name, q in quantities.items():
        if "model" in q:
            constants[name] = float(getattr(models, q["model"])(*q["arguments"]))
        else:
            measurement = Measurement(q["panel"], str(q["flow"]), q["method"], AXIS)
            places[name] = (q["run"], cells[q["run"]].index(measurement))

    # Arithmetic on several numbers is a measurement of its own.
    place = places.get(claim["value"])
    measured = cells[place[0]].identity(place[1]) if place is not None else ""

    limits = expected.limits()
    scale = Scale.of(claim.get("kind") or kind(claim["value"]))

    def rows(results: Results) -> list[Row]:
        values = _evaluate(claim["value"], constants, {n: results.values(*p) for n, p in places.items()})
        if claim.get("over") == "interval":
            note = f"{claim['measure']}. {expected.why}"
            tolerance = expected.tolerance if expected.near is not None else None
            published, what, unit = expected.published(), claim["text"], claim["unit"]
            return [
                trial_row(id, "claims", what, published, limits, values, unit, note, tolerance=tolerance, scale=scale)
            ]
        judged = [sum(values) / len(values)] if averaged and values else values
        note = f"{claim['measure']}. {expected.why}"
        if expected.near is not None:
            near = compare(id, "claims", claim["text"], expected.near, expected.tolerance, judged, claim["unit"], note)
            return [replace(near, interval=spread(values), measurement=measured)]
        return [
            Row(
                id,
                "claims",
                claim["text"],
                expected.published(),
                judged[0] if judged and math.isfinite(judged[0]) else None,
                None,
                claim["unit"],
                expected.verdict(judged),
                note,
                spread(values),
                limits=(limits.low, limits.high),
            )
        ]

    runs = sorted({run for run, _ in places.values()})
    return Group(id, f"Claim {id}", claim["text"], runs, rows, statement=True)


def _evaluate(text: str, constants: Mapping[str, float], measured: Mapping[str, list[float]]) -> list[float]:
    """The expression's value for the unperturbed runs, then for each perturbation that all runs share."""
    if any(not values for values in measured.values()):
        return []
    count = min((len(values) for values in measured.values()), default=1)
    return [calculate(text, {**constants, **{n: v[k] for n, v in measured.items()}}) for k in range(count)]
