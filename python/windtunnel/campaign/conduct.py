"""Carries out a campaign: takes runs from the plan, reuses known results, keeps the results, and adds runs to a cell
until its intervals are narrow enough.

The results are kept in a journal next to the place of the data set, until the data set is complete. To continue an
interrupted campaign, start the same command again. The order in which runs end decides nothing.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory

from windtunnel._core import ScenarioError
from windtunnel.campaign.columns import where
from windtunnel.campaign.model import Campaign, CampaignError
from windtunnel.campaign.plan import Cell, Plan, Replica, scenario_of
from windtunnel.engine.cache import Store, key_of
from windtunnel.engine.progress import Count
from windtunnel.engine.work import Backend, always
from windtunnel.errors import RunFailedError
from windtunnel.experiment import statistics
from windtunnel.experiment.reuse import Runs
from windtunnel.experiment.runs import Outcome, Record, Run, Simulate
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.memory import limit

#: Units of a cell before which no interval is believed to be narrow: of two values it may be by chance.
_LEAST_UNITS = 5
_KEY_BYTES = 16
#: Cells up to this number are all checked before the first run starts; of more, a sample of about this size.
_CHECKED = 20_000


@dataclass
class _Open:
    """A cell some of whose runs are still to come."""

    pending: int
    units: int
    values: dict[int, dict[int, list[float]]] = field(default_factory=dict)
    """By metric and unit; only where runs may be added."""
    scales: list[Scale] = field(default_factory=list)
    """Of the metrics; from the first run that did not fail."""


class Conductor:
    """One campaign being carried out. ``memory`` is what a run may hold; None leaves it to the machine that runs it.

    ``keys`` of a cell are those of its runs, in order, 16 bytes each.
    """

    def __init__(self, plan: Plan, journal: Store, shared: Store | None, memory: int | None) -> None:
        self.plan, self.campaign = plan, plan.campaign
        self._journal = journal
        self._metrics = [metric for _, metric in self.campaign.metrics]
        read = (*self._metrics, *(claim.condition.quantity for claim in self.campaign.claims))
        self._runs = Runs(read, journal, shared, memory)
        self.keys: dict[int, bytearray] = {}
        self._open: dict[int, _Open] = {}
        self._queue: deque[tuple[Cell, int, Replica]] = deque()
        self._cells = plan.cells()
        self._checked: set[str] = set()
        self.count = Count(plan.wanted() * plan.first_units() * plan.runs_of_unit())
        self.seconds = 0.0

    def run(self, backend: Backend, moved: Callable[[], None]) -> None:
        """Do all runs; ``moved`` is called after each. Raises InputError for a metric that runs do not have."""
        with closing(self._runs.done(self._take, backend)) as done:
            for run, outcome in done:
                self.count.reused += outcome.reused
                self._settle(run.cell, run.index, outcome)
                moved()

    def _take(self) -> Run | None:
        """The next run; what the core refuses is settled on the way."""
        while (planned := self._next()) is not None:
            cell, index, replica = planned
            made = self.make(cell, index, replica)
            key = made.key if isinstance(made, Run) else key_of([b"failed", repr((cell, replica)).encode()])
            keys = self.keys.setdefault(cell.number, bytearray())
            if len(keys) < (index + 1) * _KEY_BYTES:
                keys.extend(bytes((index + 1) * _KEY_BYTES - len(keys)))
            keys[index * _KEY_BYTES : (index + 1) * _KEY_BYTES] = key
            if isinstance(made, Run):
                return made
            self._journal.put(key, made.data)
            self._settle(cell.number, index, made)
        return None

    def _next(self) -> tuple[Cell, int, Replica] | None:
        if not self._queue:
            cell = next(self._cells, None)
            if cell is None:
                return None
            self._add(cell, 0, self.plan.first_units())
        return self._queue.popleft()

    def _add(self, cell: Cell, first: int, past: int) -> None:
        """Plan the units ``first`` to before ``past`` of a cell."""
        per_unit = self.plan.runs_of_unit()
        replicas = list(self.plan.replicas(first, past))
        state = self._open.setdefault(cell.number, _Open(0, 0))
        state.pending, state.units = len(replicas), past
        # Before the cells that have not started, so that few are open at a time.
        self._queue.extendleft(
            reversed([(cell, first * per_unit + index, replica) for index, replica in enumerate(replicas)])
        )

    def make(self, cell: Cell, index: int, replica: Replica) -> Run | Outcome:
        """The run; or its outcome, where there can be none."""
        return self._runs.make(lambda: scenario_of(cell, replica), cell.number, index)

    def _settle(self, cell: int, index: int, outcome: Outcome) -> None:
        """A run of a cell is done."""
        self.count.done += 1
        self.count.failed += bool(outcome.error)
        state = self._open[cell]
        state.pending -= 1
        self._check_metrics(cell, outcome)
        if self.campaign.until is not None:
            record, unit = Record.decode(outcome.data), index // self.plan.runs_of_unit()
            if not state.scales and not record.error:
                state.scales = [record.scale(metric) for metric in self._metrics]
            for number, metric in enumerate(self._metrics):
                state.values.setdefault(number, {}).setdefault(unit, []).append(record.value(metric)[0])
        if not state.pending:
            more = self._more(state)
            if more:
                self.count.total += more * self.plan.runs_of_unit()
                self._add(self.plan.cell(cell), state.units, state.units + more)
            else:
                del self._open[cell]

    def _more(self, state: _Open) -> int:
        """How many units a cell needs beyond those that it has: half as many again until all intervals are narrow."""
        until = self.campaign.until
        most = self.campaign.max_runs // self.plan.runs_of_unit()
        if until is None or state.units >= most:
            return 0
        chosen = self.campaign.statistics
        if state.units >= _LEAST_UNITS and all(
            statistics.is_narrow(of_units(by_unit, scale), until.share, chosen.confidence, chosen.interval, scale)
            for by_unit, scale in zip(state.values.values(), state.scales or repeat(PLAIN), strict=False)
        ):
            return 0
        wanted = max(_LEAST_UNITS, math.ceil(state.units * 1.5))
        return min(wanted, most) - state.units

    def _check_metrics(self, cell: int, outcome: Outcome) -> None:
        """Refuse a metric that the first run of a scenario does not have: others would not have it either."""
        base = self.plan.cell(cell).base.name if len(self._checked) < len(self.campaign.bases) else ""
        if outcome.error or not base or base in self._checked:
            return
        self._checked.add(base)
        check_metrics(self.campaign, Record.decode(outcome.data))

    def records(self, cell: int) -> Iterator[Record]:
        """What the runs of a cell gave, in order."""
        keys = bytes(self.keys[cell])
        for at in range(0, len(keys), _KEY_BYTES):
            data = self._journal.get(keys[at : at + _KEY_BYTES])
            assert data is not None, "each run that was settled is in the journal"
            yield Record.decode(data)

    def units(self, cell: int) -> int:
        """How many units a cell has."""
        return len(self.keys[cell]) // _KEY_BYTES // self.plan.runs_of_unit()


def of_units(values: dict[int, list[float]], scale: Scale = PLAIN) -> list[float]:
    """One value for each unit: the mean of its runs that have one."""
    return [runs[0] if len(runs := values[unit]) == 1 else statistics.mean(runs, scale) for unit in sorted(values)]


def first_run(plan: Plan) -> float:
    """Do the first run of each scenario, and check the metrics on it; returns the seconds that the first of all took.

    Raises InputError for a metric that it does not have, RunFailedError if it fails.
    """
    took: list[float] = []
    seen: set[str] = set()
    with TemporaryDirectory() as folder:
        journal = Store(Path(folder, "journal"))
        conductor = Conductor(plan, journal, None, limit(None))
        for cell in plan.samples(_CHECKED):
            if cell.base.name in seen:
                continue
            seen.add(cell.base.name)
            run = conductor.make(cell, 0, next(plan.replicas(0, 1)))
            before = time.perf_counter()
            record = Record.decode((Simulate()(run, always) if isinstance(run, Run) else run).data)
            took.append(time.perf_counter() - before)
            if record.error:
                raise RunFailedError(f"the first run failed: {record.error}")
            check_metrics(plan.campaign, record)
            if len(seen) == len(plan.campaign.bases):
                break
        journal.close()
    return took[0]


def check_metrics(campaign: Campaign, record: Record) -> None:
    """Refuse metrics that a run does not have. Raises InputError."""
    with campaign.located():
        for name, metric in campaign.metrics:
            _, problem = record.value(metric)
            if problem:
                raise CampaignError(["metrics", name], f"{metric.text!r}: {problem}", metric.text)
        for index, claim in enumerate(campaign.claims):
            _, problem = record.value(claim.condition.quantity)
            # A claim about some cells may name what only these have.
            if problem and not claim.where:
                text = claim.condition.text
                raise CampaignError(["claim", index, "check"], f"{text!r}: {problem}", text)


def check_cells(plan: Plan) -> None:
    """Refuse values that the scenario does not take, before the first run. Raises InputError that names the axis."""
    for cell in plan.cells() if plan.wanted() <= _CHECKED else plan.samples(_CHECKED):
        _check_cell(plan, cell)


def _check_cell(plan: Plan, cell: Cell) -> None:
    scenario = cell.base.scenario.override(*cell.settings)
    try:
        scenario.resolve_text()
    except ScenarioError as error:
        with plan.campaign.located():
            raise _in_campaign(plan, cell, error) from None


def _in_campaign(plan: Plan, cell: Cell, error: ScenarioError) -> Exception:
    """The core's error of a cell, in the words of the campaign: with the axis, or the key of the scenario in it."""
    message = str(error).replace("\n  ", "; ")
    for axis, value in zip(plan.axes, cell.values, strict=True):
        for setting in value.settings:
            for prefix in (f"--set {setting}: ", f"override({json.dumps(setting, ensure_ascii=False)}): "):
                if message.startswith(prefix):
                    return CampaignError(["axes", axis], f"{value.label}: {message.removeprefix(prefix)}")
    *_, built = cell.base.scenario.arguments
    if built and plan.campaign.source is not None and message.startswith("Scenario(...)"):
        # The table `scenario` of the campaign's own file.
        return CampaignError(["scenario", *steps(error.key or "")], message.partition(": ")[2])
    if not cell.settings or message.startswith(f"{error.file}:"):
        return error
    return CampaignError(["axes"], f"the cell {where(plan, cell)}: {message}")


_ARRAYS = {"flows", "windows", "links", "nodes"}


def steps(key: str) -> Iterator[str | int]:
    """The parts of a key of the core, which names arguments: ``flows[0].rtt`` is ``flow[0].rtt`` in a file."""
    for depth, (name, index) in enumerate(re.findall(r"([^.\[\]]+)|\[(\d+)\]", key)):
        yield int(index) if index else name.removesuffix("s") if depth == 0 and name in _ARRAYS else name
