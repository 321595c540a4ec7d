"""The text's claims as checks with a number. What each measures, expects and tolerates is in ``claims.toml``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel import models
from windtunnel.papers.cells import Cell, Measurement
from windtunnel.papers.expression import calculate
from windtunnel.papers.features import Axis
from windtunnel.papers.mds import fairness
from windtunnel.papers.mds.data_files import template, toml
from windtunnel.papers.rows import Row, Verdict, compare, spread
from windtunnel.papers.suite import Group, Results

#: Perturbed runs of a claim's own cells; they are small.
PERTURBED = 4

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

    def verdict(self, values: Sequence[float]) -> Verdict:
        """A bound must hold in the unperturbed run; a value may lie anywhere in the perturbed runs' range."""
        measured = values[0] if values else math.nan
        if self.above is not None:
            return "within" if measured > self.above else "outside"
        return "within" if self.below is not None and measured < self.below else "outside"


def claims_groups(cells: dict[str, Cell], *, quick: bool) -> list[Group]:
    """One group for all claims; a claim whose runs are not among ``cells`` in the quick suite is left out there."""
    data = toml("claims.toml")
    own = _own_cells(data["run"])
    groups = []
    for claim in data["claim"]:
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
                cells[name] = own[name] if name in own else _table_cell(name, cells)
        groups.append(_claim(id, claim, quantities, cells))
    return groups


def _own_cells(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Cell]:
    return {
        name: Cell(name, template(run["scenario"]), tuple(run.get("set", ())), perturbed=PERTURBED)
        for name, run in runs.items()
    }


def _table_cell(name: str, cells: dict[str, Cell]) -> Cell:
    for number in (2, 3, 4, 5, 6):
        for line in fairness.read_lines(number):
            if line.id == name:
                return fairness.add_cell(cells, line, quick=False)
    raise ValueError(f"a claim names a run that does not exist: {name}")


def _later(id: str, claim: Mapping[str, Any]) -> Group:
    row = Row(id, "claims", claim["text"], None, None, None, "", "info", f"needs a later capability: {claim['later']}")
    return Group(id, f"Claim {id}", claim["text"], [], lambda _: [row])


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
    places: dict[str, tuple[str, int]] = {}
    constants: dict[str, float] = {}
    for name, q in quantities.items():
        if "model" in q:
            constants[name] = float(getattr(models, q["model"])(*q["arguments"]))
        else:
            measurement = Measurement(q["panel"], str(q["flow"]), q["method"], AXIS)
            places[name] = (q["run"], cells[q["run"]].index(measurement))

    def rows(results: Results) -> list[Row]:
        values = _evaluate(claim["value"], constants, {n: results.values(*p) for n, p in places.items()})
        note = f"{claim['measure']}. {expected.why}"
        if expected.near is not None:
            return [
                compare(id, "claims", claim["text"], expected.near, expected.tolerance, values, claim["unit"], note)
            ]
        measured = values[0] if values and math.isfinite(values[0]) else None
        return [
            Row(
                id,
                "claims",
                claim["text"],
                expected.published(),
                measured,
                None,
                claim["unit"],
                expected.verdict(values),
                note,
                spread(values),
            )
        ]

    runs = sorted({run for run, _ in places.values()})
    return Group(id, f"Claim {id}", claim["text"], runs, rows)


def _evaluate(text: str, constants: Mapping[str, float], measured: Mapping[str, list[float]]) -> list[float]:
    """The expression for the unperturbed runs, then for each perturbation that all runs have."""
    if any(not values for values in measured.values()):
        return []
    count = min((len(values) for values in measured.values()), default=1)
    return [calculate(text, {**constants, **{n: v[k] for n, v in measured.items()}}) for k in range(count)]
