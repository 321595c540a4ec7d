"""The tests: what each runs, what is measured in a run, and the verdict, which is on the worst of the runs.

A limit of the tests holds for each of 100 runs. So the row has their maximum, and no interval of a mean: it is
confirmed if no run reaches the limit, and refuted if one does or does not end. Calls are an exception: their delays
here contain waiting that the tests do not have (``MODEL``), so that they can confirm a limit and not refute it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.verdict import Verdict, of_interval
from windtunnel.papers.arms import add_seeds
from windtunnel.papers.data_folder import C4
from windtunnel.papers.rows import Row, spread
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

#: Runs of each test.
SEEDS, QUICK_SEEDS = 100, 10

#: The groups, in the order of the text, and their titles.
NAMES: Mapping[str, str] = {
    "network": "Reaction to network events",
    "wifi": "High jitter",
    "self": "Competition with itself",
    "cubic": "Competition with CUBIC",
    "bbr": "Competition with BBR",
    "media": "Multimedia",
}

#: Of a download: its start, its end, and whether it ended.
_FROM, _TO, _DONE = (Measurement("summary", "0", f'field("{path}")') for path in (
    "active.from_s", "active.to_s", "transfers.completed"
))  # fmt: skip
#: Why a call that misses its limit here refutes nothing.
MODEL = (
    "above the limit nothing is decided: the streams have no common connection and no priorities here, and a delay "
    "ends with the ACK"
)

#: Of the streams of a call that are judged: audio, and the compressed video.
_STREAMS = {"audio": "0", "video": "1"}


@dataclass(frozen=True)
class Limit:
    """A limit on what each run measures: ``of`` gives it from the measurements of a run."""

    id: str
    what: str
    unit: str
    most: float
    of: tuple[Measurement, ...]
    later: tuple[str, float] | None


@dataclass(frozen=True)
class Trial:
    """A test of the text."""

    id: str
    group: str
    title: str
    section: str
    scenario: str
    settings: tuple[str, ...]
    half_rtt_ms: float
    start_s: float
    limits: tuple[Limit, ...]
    misprint: str

    def values(self, limit: Limit, runs: Sequence[Sequence[float]]) -> list[float]:
        """What each run measures; infinite where a download did not end."""
        if self.group == "media":
            return [max(run) for run in runs]
        return [end - begin + self.start_s + 1e-3 * self.half_rtt_ms if done else math.inf for begin, end, done in runs]


def read_trials() -> list[Trial]:
    """The tests of the data."""
    return [_trial(table) for table in C4.toml("trials.toml")["trial"]]


def _trial(table: Mapping[str, Any]) -> Trial:
    later = table.get("later")
    limits: tuple[Limit, ...]
    if table["group"] == "media":
        mean = _of_streams("mean"), _of_streams("max")
        limits = (
            Limit("mean", "mean delay of frames", "ms", table["limit"], mean[0], later and ("mean", later[0])),
            Limit("max", "largest delay of a frame", "ms", table["most"], mean[1], later and ("p90", later[1])),
        )
    else:
        end = (_FROM, _TO, _DONE)
        limits = (Limit("time", "time", "s", table["limit"], end, later and ("mean", later[0])),)
    return Trial(
        table["id"], table["group"], table["title"], table["section"], table["scenario"], tuple(table["set"]),
        table.get("half_rtt_ms", 0.0), table.get("start_s", 0.0), limits, table.get("misprint", ""),
    )  # fmt: skip


def _of_streams(number: str) -> tuple[Measurement, ...]:
    method = f'window_value("measured", "transfers.time_ms.{number}")'
    return tuple(Measurement("summary", flow, method) for flow in _STREAMS.values())


def trial_group(setups: dict[str, Setup], name: str, trials: Sequence[Trial], *, quick: bool) -> Group:
    """The rows of a group of tests."""
    for trial in trials:
        setup = Setup(trial.id, C4.template(trial.scenario), trial.settings)
        setups[trial.id] = add_seeds(setup, QUICK_SEEDS if quick else SEEDS)
        for measurement in (m for limit in trial.limits for m in limit.of):
            setup.index(measurement)

    def rows(results: Results) -> list[Row]:
        return [row for trial in trials for row in _rows(trial, setups[trial.id], results)]

    caption = "the worst of the runs, and the limit of the tests on it"
    return Group(name, NAMES[name], caption, [trial.id for trial in trials], rows, statement=True)


def _rows(trial: Trial, setup: Setup, results: Results) -> list[Row]:
    out = []
    for limit in trial.limits:
        columns = [results.values(setup.name, setup.index(m)) for m in limit.of]
        values = trial.values(limit, list(zip(*columns, strict=True)))
        out.append(_worst(trial, limit, values))
        if limit.later is not None:
            out.append(_later(trial, limit, *limit.later, values))
    return out


def _worst(trial: Trial, limit: Limit, values: Sequence[float]) -> Row:
    """The limit, judged by the worst run."""
    worst, limits = max(values, default=math.nan), Limits(high=limit.most, strict=True)
    unended = sum(math.isinf(value) for value in values)
    verdict: Verdict = "undecided"
    if values:
        verdict = "differs" if unended else of_interval(limits, (worst, worst))
    is_bound = trial.group == "media" and verdict == "differs"
    notes = [f"the text: {trial.section}", trial.misprint and f"corrected: {trial.misprint}"]
    if math.isfinite(worst):
        notes.append(f"{worst / limit.most:.2f} times the limit; {len(values)} runs, the best {min(values):.4g}")
    if unended:
        notes.append(f"{unended} of {len(values)} runs did not end")
    return Row(
        f"{trial.group}/{trial.id}-{limit.id}", trial.group, f"{trial.title}: {limit.what}", f"< {limit.most:g}",
        worst if math.isfinite(worst) else None, None, limit.unit, "undecided" if is_bound else verdict,
        "; ".join(filter(None, [*notes, MODEL if is_bound else ""])),
        spread(values), limits=(limits.low, limits.high), of="statement",
    )  # fmt: skip


def _later(trial: Trial, limit: Limit, statistic: str, published: float, values: Sequence[float]) -> Row:
    """The same number of the author's later code, for information."""
    finite = [value for value in values if math.isfinite(value)]
    measured = None
    if finite:
        measured = float(np.quantile(finite, 0.9)) if statistic == "p90" else math.fsum(finite) / len(finite)
    of = {"mean": "mean of the runs", "p90": "90th percentile of the runs"}[statistic]
    return Row(
        f"{trial.group}/{trial.id}-{limit.id}-later", trial.group, f"{trial.title}: {limit.what}, {of}", published,
        measured, None, limit.unit, "info", "the editors' copy of summer 2026, of newer code", spread(finite),
    )  # fmt: skip
