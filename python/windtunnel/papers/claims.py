"""A document's claims as checks with a number. What each measures, expects and tolerates is in a ``claims.toml``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from windtunnel import models
from windtunnel.experiment.expectation import Expected
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.scales import Scale
from windtunnel.experiment.verdict import Verdict, judge
from windtunnel.papers.features import Axis
from windtunnel.papers.rows import Row, compare, spread, trial_row
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

#: Axes for claims that are not read off a figure: bins of a tenth of a second.
AXIS = Axis(0.0, 56.0, 0.0, 1.0)


def claims_groups(
    claims: Sequence[Mapping[str, Any]],
    setups: dict[str, Setup],
    make: Callable[[str], Setup],
    *,
    quick: bool,
) -> list[Group]:
    """One group for each claim; ``make`` builds the setup for a name that is not yet in ``setups``.

    The quick suite leaves out a claim whose runs are not in ``setups``.
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
        if quick and any(name not in setups for name in needed):
            continue
        for name in needed:
            if name not in setups:
                setups[name] = make(name)
        groups.append(_claim(id, claim, quantities, setups))
    return groups


def about(claim: Mapping[str, Any], name: str, value: str, suffix: str = "", remark: str = "") -> dict[str, Any]:
    """The claim about other runs: their ``{name}`` is ``value``. Its own ID gets the suffix, its text the remark."""
    quantities = json.dumps(claim["quantities"]).replace(f"{{{name}}}", value)
    text = f"{claim['text']} ({remark})" if remark else claim["text"]
    return {**claim, "id": f"{claim['id']}{suffix}", "text": text, "quantities": json.loads(quantities)}


def _later(id: str, claim: Mapping[str, Any]) -> Group:
    row = Row(id, "claims", claim["text"], None, None, None, "", "info", f"needs a later capability: {claim['later']}")
    return Group(id, f"Claim {id}", claim["text"], [], lambda _: [row], statement=True)


def _claim(
    id: str, claim: Mapping[str, Any], quantities: Mapping[str, dict[str, Any]], setups: dict[str, Setup]
) -> Group:
    expectation = {key: value for key, value in claim["expected"].items() if key != "why"}
    expected = Expected.of(expectation)
    why = "; ".join(filter(None, [claim["expected"].get("why", ""), expected.why]))
    addresses: dict[str, tuple[str, int]] = {}
    constants: dict[str, float] = {}
    for name, q in quantities.items():
        if "model" in q:
            constants[name] = float(getattr(models, q["model"])(*q["arguments"]))
        else:
            measurement = Measurement(q["panel"], str(q["flow"]), q["method"], AXIS)
            addresses[name] = (q["run"], setups[q["run"]].index(measurement))

    # Arithmetic on several numbers is a measurement of its own.
    address = addresses.get(claim["value"])
    measured = setups[address[0]].identity(address[1]) if address is not None else ""

    note = f"{claim['measure']}. {why}"
    what, unit, limits = claim["text"], claim["unit"], expected.limits
    quantity = Expression.of_names(claim["value"])
    scale = Scale.of(claim.get("kind") or quantity.kind)

    def rows(results: Results) -> list[Row]:
        values = _evaluate(quantity, constants, {n: results.values(*p) for n, p in addresses.items()})
        # Where phases decide, one run says little: the interval of the mean over all of them is judged.
        if claim.get("over") == "interval":
            return [
                trial_row(
                    id,
                    "claims",
                    what,
                    expected.published,
                    limits,
                    values,
                    unit,
                    note,
                    tolerance=expected.tolerance,
                    scale=scale,
                    not_judged=claim.get("not_judged", ""),
                )
            ]
        if expected.near is not None and expected.tolerance is not None:
            near = compare(id, "claims", what, expected.near, expected.tolerance, values, unit, note)
            return [replace(near, interval=spread(values), measurement=measured)]
        value = values[0] if values and math.isfinite(values[0]) else None
        # A bound must hold in the unperturbed run.
        verdict: Verdict = "differs" if value is None else judge(limits, [value, value])
        return [
            Row(
                id, "claims", what, expected.published, value, None, unit, verdict, note, spread(values),
                limits=(limits.low, limits.high),
            )
        ]  # fmt: skip

    runs = sorted({run for run, _ in addresses.values()})
    return Group(id, f"Claim {id}", claim["text"], runs, rows, statement=True)


def _evaluate(quantity: Expression, constants: Mapping[str, float], measured: Mapping[str, list[float]]) -> list[float]:
    """The expression's value for the unperturbed runs, then for each perturbation that all runs share."""
    if any(not values for values in measured.values()):
        return []
    count = min((len(values) for values in measured.values()), default=1)
    return [quantity.of_numbers({**constants, **{n: v[k] for n, v in measured.items()}}) for k in range(count)]
