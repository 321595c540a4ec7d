"""What the tests of the paper suites share: made-up results, and what every suite of claims must keep to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel import _core
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.measures.language import call_of
from windtunnel.papers.features import METHODS
from windtunnel.papers.jobs import JobResult
from windtunnel.papers.suite import Results, Setup, Suite

Series = Mapping[str, npt.NDArray[np.float64]]


def flat(end_s: float, columns: Mapping[str, float], flows: int, **more: float) -> dict[str, npt.NDArray[np.float64]]:
    """Time series every 0.2 s whose columns never change: one for each flow, greater by 1 than the one before."""
    time = np.arange(0.2, end_s + 0.01, 0.2)
    series = {"time_s": time} | {name: np.full(len(time), value) for name, value in more.items()}
    for column, value in columns.items():
        series |= {f"{column}/{flow}": np.full(len(time), value + flow) for flow in range(flows)}
    return series


def made_up(
    suite: Suite, excerpt: Series, wanted: Callable[[Setup], bool] = lambda _: True, *, least: float = 1.0
) -> Results:
    """Three runs of every setup whose values are all 1 to 3 times ``least``; the first has the time series."""
    outcomes = [
        JobResult(
            setup.name,
            k,
            (least * (1.0 + k),) * len(setup.measurements),
            {},
            0.1,
            1,
            "",
            excerpt=excerpt if k == 0 else None,
        )
        for setup in suite.setups.values()
        for k in range(3)
        if wanted(setup)
    ]
    return Results(outcomes)


def assert_valid(suite: Suite) -> None:
    """Every setup, as it is and with its last start offset, passes the core's own checks."""
    for setup in suite.setups.values():
        variants = list(setup.variants())
        for overrides in (variants[0], variants[-1]):
            _core.check(setup.template.text, f"{setup.template.name}.toml", overrides)


def assert_complete(claims: Iterable[Mapping[str, Any]]) -> None:
    """Claims have a number and a reason; expressions name measured quantities; methods exist."""
    ids = [claim["id"] for claim in claims]
    assert len(set(ids)) == len(ids)
    for claim in claims:
        assert Expression.of_names(claim["value"]).names == set(claim["quantities"]), claim["id"]
        assert claim["expected"].get("why") or "word" in claim["expected"]
        assert claim["over"] == "interval"
        assert len({"near", "above", "below", "word"} & set(claim["expected"])) == 1
        for quantity in claim["quantities"].values():
            name, arguments = call_of(quantity["method"])
            inspect.signature(METHODS[name]).bind(None, *arguments)


def assert_nothing_confirmed(suite: Suite) -> None:
    """Without runs every group has its rows, under unique ids, and no figure is drawn."""
    nothing = Results([])
    rows = [row for group in suite.groups for row in group.rows(nothing)]
    assert len({row.id for row in rows}) == len(rows)
    assert {row.verdict for row in rows} == {"info", "undecided"}
    assert all(group.png(nothing) is None for group in suite.groups)


def perturbed(suite: Suite, seed: int) -> Results:
    """All runs of every setup, with any values between 0.1 and 0.98, or a third or a tenth as much."""
    random = np.random.default_rng(seed)
    scale = (1.0, 0.3, 0.1)[seed % 3]
    outcomes = [
        JobResult(setup.name, k, tuple(scale * random.uniform(0.1, 0.98, len(setup.measurements))), {}, 0.1, 1, "")
        for setup in suite.setups.values()
        for k in range(1 + len(setup.twins) + setup.perturbed)
    ]
    return Results(outcomes)


def anything(suite: Suite, seed: int) -> Results:
    """Like ``perturbed``, with any values from 0.001 to 100,000; all zero with seed 0, all negative with seed 1.

    Shares of lost packets stay between 0.003 and 0.3: models of losses take no others.
    """
    random = np.random.default_rng(seed)
    outcomes = []
    for setup in suite.setups.values():
        count = len(setup.measurements)
        lost = np.array(["loss" in measurement.method for measurement in setup.measurements], dtype=bool)
        free = {0: 0.0, 1: -1.0}.get(seed, 1.0) * 10.0 ** random.uniform(-3.0, 5.0, count)
        value = np.where(lost, 0.3 * 10.0 ** random.uniform(-2.0, 0.0, count), free)
        for k in range(1 + len(setup.twins) + setup.perturbed):
            values = tuple((value * random.uniform(0.9, 1.0, count)).tolist())
            outcomes.append(JobResult(setup.name, k, values, {}, 0.1, 1, ""))
    return Results(outcomes)
