"""Experiments: a claim of the document, the arms that are compared, and checks with a number.

Files in the ``data`` of a suite hold them. An arm is a scenario with settings, run with several seeds. A check
combines quantities of arms into one number per seed, and says what the claim expects of its mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from windtunnel.experiment.expectation import Expected
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.verdict import Of, Verdict, is_one_draw, judge
from windtunnel.papers.arms import add_seeds, expanded
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Measurement, Setup, Template
from windtunnel.papers.suite import Results

#: An arm's table, and where its scenario is found.
Arms: TypeAlias = Mapping[str, tuple[Mapping[str, Any], Callable[[str], Template]]]

#: Seeds of an arm, unless it names its own.
SEEDS, QUICK_SEEDS = 6, 3


@dataclass(frozen=True)
class Quantity:
    """A number of an arm, one value per seed."""

    setup: str
    index: int

    def values(self, results: Results) -> list[float]:
        """By seed; empty if a run failed."""
        return results.values(self.setup, self.index)


@dataclass(frozen=True)
class Check:
    """One number, and what is expected of it; without an expectation it is for information."""

    id: str
    text: str
    value: Expression
    unit: str
    quantities: Mapping[str, Quantity]
    expected: Expected | None
    why: str
    runs: int
    scale: Scale = PLAIN
    about: frozenset[str] = frozenset()
    """The subjects that it is about: lists of claims gather their checks by them."""
    not_judged: str = ""
    """Why the check is shown and not judged, although it expects something."""

    def values(self, results: Results) -> list[float]:
        """The number by seed; NaN where there is nothing to measure; empty if a run failed."""
        measured = {name: quantity.values(results) for name, quantity in self.quantities.items()}
        if any(len(values) < self.runs for values in measured.values()):
            return []
        return [self.value.of_numbers({name: v[k] for name, v in measured.items()}) for k in range(self.runs)]

    def verdict(self, results: Results) -> Verdict:
        """What the runs say about the expectation."""
        if self.expected is None or self.not_judged:
            return "info"
        return judge(self.expected.limits, self.values(results), self.scale)

    def of(self, results: Results) -> Of:
        """What the verdict is on: runs that are one draw give a number."""
        return "number" if is_one_draw(self.values(results)) else "statement"

    def row(self, group: str, results: Results) -> Row:
        """The row of the report."""
        expected = self.expected
        text, limits = (expected.published, expected.limits) if expected else (None, None)
        why = "; ".join(filter(None, [self.why, expected.why if expected else ""]))
        values = self.values(results)
        return trial_row(
            self.id, group, self.text, text, limits, values, self.unit, why,
            tolerance=expected.tolerance if expected else None, scale=self.scale,
            not_judged=self.not_judged,
        )  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """A claim with its source in the document, and its checks; ``title`` says what is tried."""

    id: str
    title: str
    claim: str
    source: str
    checks: tuple[Check, ...]
    figure: Mapping[str, Any] | None = None

    @property
    def setups(self) -> list[str]:
        """The arms that it needs."""
        return sorted({q.setup for check in self.checks for q in check.quantities.values()})

    def rows(self, results: Results) -> list[Row]:
        """One row for each check."""
        return [check.row(self.id, results) for check in self.checks]


def read(
    data: Mapping[str, Any], template: Callable[[str], Template], setups: dict[str, Setup], *, quick: bool
) -> list[Experiment]:
    """The experiments of a file; their arms are added to ``setups``. The quick suite has those that say so.

    ``template`` is the suite's scenario file of a name. A quantity may also be of a setup that is there already.
    """
    arms = {arm["name"]: (arm, template) for arm in expanded(data.get("arm", ()))}
    chosen = [e for e in data["experiment"] if e.get("quick") or not quick]
    return [_experiment(e, arms, setups, quick=quick) for e in chosen]


def _experiment(data: Mapping[str, Any], arms: Arms, setups: dict[str, Setup], *, quick: bool) -> Experiment:
    listed = [c for c in expanded(data["check"], quick=quick) if c.get("quick", True) or not quick]
    about = data.get("about", ())
    checks = tuple(_check(data["id"], {"about": about, **c}, arms, setups, quick=quick) for c in listed)
    return Experiment(data["id"], data["title"], data["claim"], data["place"], checks, data.get("figure"))


def _check(
    experiment: str,
    data: Mapping[str, Any],
    arms: Arms,
    setups: dict[str, Setup],
    *,
    quick: bool,
) -> Check:
    used = {name: _setup(of[0], arms, setups, quick=quick) for name, of in data["of"].items()}
    quantities = {
        name: Quantity(setup.name, setup.index(_measurement(data["of"][name]))) for name, setup in used.items()
    }
    value = Expression.of_names(data["value"])
    missing = value.names ^ set(quantities)
    if missing:
        raise ValueError(f"{experiment}: the value and the quantities differ in {', '.join(sorted(missing))}")
    return Check(
        f"{experiment}/{data['id']}",
        data["text"],
        value,
        data.get("unit", ""),
        quantities,
        Expected.of(data["expect"]) if "expect" in data else None,
        data.get("why", ""),
        min(1 + len(setup.twins) for setup in used.values()),
        Scale.of(data.get("kind") or value.kind),
        frozenset(data["about"]),
        data.get("not_judged", ""),
    )


def _measurement(of: Sequence[str]) -> Measurement:
    """``[arm, flow or queue, method]``, and a panel if the method reads one."""
    _, where, method, *panel = of
    return Measurement(panel[0] if panel else "summary", where, method)


def _setup(name: str, arms: Arms, setups: dict[str, Setup], *, quick: bool) -> Setup:
    if name not in setups:
        arm, template = arms[name]
        seeds = QUICK_SEEDS if quick else int(arm.get("seeds", SEEDS))
        setups[name] = add_seeds(Setup(name, template(arm["scenario"]), tuple(arm.get("set", ()))), seeds)
    return setups[name]
