"""The runs of a pack: every clause's trials, in every cell, for what is examined and each baseline, for each seed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomli_w

from windtunnel._core import ScenarioError
from windtunnel.errors import InputError
from windtunnel.evaluate.fill import Combination, cells, metrics, scenario
from windtunnel.evaluate.judge import State
from windtunnel.evaluate.pack import Clause, Pack, Trial
from windtunnel.evaluate.subject import Subject, columns, placeholders
from windtunnel.experiment.scales import Kind
from windtunnel.scenario import Scenario

#: The arm of what is examined; the others have the labels of baselines.
SUBJECT = "subject"


@dataclass(frozen=True)
class Run:
    """One run: where it belongs, and the text of its scenario."""

    clause: str
    trial: str
    cell: Combination
    arm: str
    seed: int
    text: str
    metrics: Mapping[str, str]
    kinds: Mapping[str, Kind]

    @property
    def file(self) -> str:
        """Where its scenario is in the pack."""
        parts = [self.trial, *(f"{axis} {label}" for axis, label in self.cell.labels), self.arm, f"seed {self.seed}"]
        name = "_".join("-".join(re.sub(r"[^A-Za-z0-9.+-]+", " ", part).split()) for part in parts)
        return f"scenarios/{self.clause}/{name}.toml"


@dataclass(frozen=True)
class Excluded:
    """Why a cell has no runs: what is examined cannot take part, or does not tell what the scenario waits for."""

    state: State
    reason: str
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Plan:
    """All runs, and the cells for which there are none, with the reason."""

    runs: tuple[Run, ...]
    excluded: Mapping[tuple[str, str, str], Excluded]

    @property
    def distinct(self) -> int:
        """How many runs there are without those that are equal."""
        return len({run.text for run in self.runs})

    @property
    def seconds(self) -> float:
        """About how long the distinct runs take on one core."""
        shortest = {run.text: run for run in self.runs}.values()
        estimates: dict[tuple[str, str, str], float] = {}
        for run in shortest:
            key = (run.clause, run.trial, run.cell.name)
            if key not in estimates:
                estimates[key] = float(Scenario.from_toml(run.text).estimate()["seconds"])
        return sum(estimates[run.clause, run.trial, run.cell.name] + OVERHEAD_S for run in shortest)


#: What a run costs in addition to its packets: reading the scenario, the summary, the measures.
OVERHEAD_S = 0.01


def plan(pack: Pack, clauses: Sequence[Clause], examined: Subject, *, quick: bool) -> Plan:
    """The runs of ``clauses``. A scenario that the core refuses for what is examined is excluded, with its words.

    Raises InputError for a mistake of the pack.
    """
    runs: list[Run] = []
    excluded: dict[tuple[str, str, str], Excluded] = {}
    told = columns(examined) if pack.state is not None else frozenset[str]()
    for clause in clauses:
        for trial in clause.trials:
            arms = {SUBJECT: examined.value, **pack.baselines, **trial.baselines}
            untold = _untold(trial.scenario, told) if pack.state is not None else None
            for cell in cells(trial, pack.variables, quick=quick):
                reason = _refused(pack, clause, trial, cell, examined)
                if reason is not None:
                    excluded[clause.id, trial.id, cell.name] = Excluded("n/a", reason, cell.labels)
                    continue
                if untold is not None:
                    reason = f"{examined.name} tells no `{untold}`, for which the scenario waits"
                    excluded[clause.id, trial.id, cell.name] = Excluded("unseen", reason, cell.labels)
                    continue
                measured = metrics(trial, cell)
                seeds = pack.seeds_of(clause, trial, quick=quick, values=cell.values)
                for arm, value in arms.items():
                    for seed in range(1, seeds + 1):
                        title = _title(pack, clause, cell, arm, examined)
                        data = scenario(trial, cell, title, seed, placeholders(pack.kind, value))
                        text = f"# {pack.document}, {clause.id}: {clause.title}\n" + tomli_w.dumps(data)
                        runs.append(Run(clause.id, trial.id, cell, arm, seed, text, measured, trial.kinds))
    return Plan(tuple(runs), excluded)


def seeds_in_words(pack: Pack, runs: Sequence[Run]) -> str:
    """How many seeds the cells of ``runs`` have, for pages: those that judge a percentile may have more."""
    judges = {(c.id, t.id): c.judges_quantile(t) for c in pack.clauses for t in c.trials}
    seeds: dict[tuple[str, str, str], int] = {}
    for run in runs:
        cell = (run.clause, run.trial, run.cell.name)
        seeds[cell] = max(seeds.get(cell, 0), run.seed)
    means, quantiles = ({n for cell, n in seeds.items() if judges[cell[:2]] is judged} for judged in (False, True))
    if not means or not quantiles or means == quantiles:
        every = means | quantiles
        return "1 seed" if every == {1} else f"{_span(every)} seeds"
    return f"{_span(means)} seeds, {_span(quantiles)} where a percentile is judged"


def _span(numbers: Collection[int]) -> str:
    least, most = min(numbers, default=0), max(numbers, default=0)
    return f"{least} to {most}" if least < most else str(most)


def _title(pack: Pack, clause: Clause, cell: Combination, arm: str, examined: Subject) -> str:
    name = examined.name if arm == SUBJECT else arm
    return f"{pack.name} {clause.id} with {name}" + (f", {cell.name}" if cell.name else "")


def _refused(pack: Pack, clause: Clause, trial: Trial, cell: Combination, examined: Subject) -> str | None:
    """Why what is examined cannot be a part of this scenario; None if it can.

    What a baseline cannot be a part of either is a mistake of the pack: raises InputError with its place.
    """
    for name, value in {**pack.baselines, **trial.baselines}.items():
        if (problem := _problem(trial, cell, placeholders(pack.kind, value))) is not None:
            where = f", {cell.name}" if cell.name else ""
            raise InputError(
                f"{clause.file}: clause {clause.id}, trial {trial.id}{where}, baseline {name}: {'; '.join(problem)}"
            )
    own = _problem(trial, cell, examined.placeholders)
    return None if own is None else own[-1]


def _untold(scenario: Any, told: Collection[str]) -> str | None:
    """The first column that a condition of the scenario is about and that is not told."""
    if isinstance(scenario, Mapping):
        if {"flow", "column"} <= scenario.keys() and scenario["column"] not in told:
            return str(scenario["column"])
        scenario = list(scenario.values())
    if isinstance(scenario, list):
        return next((column for each in scenario if (column := _untold(each, told)) is not None), None)
    return None


def _problem(trial: Trial, cell: Combination, subject: Mapping[str, Any]) -> list[str] | None:
    """What the core says about the scenario, line by line, without places in a file that the user did not write."""
    try:
        Scenario.from_toml(tomli_w.dumps(scenario(trial, cell, "", 1, subject))).check()
    except ScenarioError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return [re.sub(r"^(error: )?(line \d+: )?", "", line) for line in lines]
    return None
