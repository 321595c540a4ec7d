"""Carries out a campaign: takes runs from the plan in batches, reuses known results, keeps the results, and adds runs
to a cell until its intervals are narrow enough.

The results are kept in a journal next to the place of the data set, until the data set is complete. To continue an
interrupted campaign, start the same command again. The order in which runs end decides nothing.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import compress, product, repeat

import numpy as np
import numpy.typing as npt

from windtunnel._core import ScenarioError
from windtunnel.campaign.batch import SPAN, Batch, Done, Measure, Planned
from windtunnel.campaign.columns import where
from windtunnel.campaign.errors import CampaignError
from windtunnel.campaign.ledger import Address, Ledger
from windtunnel.campaign.model import Campaign
from windtunnel.campaign.plan import Cell, Plan
from windtunnel.campaign.rows import Rows
from windtunnel.engine.cache import Store
from windtunnel.engine.loop import outcomes
from windtunnel.engine.progress import Count
from windtunnel.engine.work import Backend, always
from windtunnel.errors import InputError, RunFailedError
from windtunnel.experiment import statistics
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.reuse import Shared
from windtunnel.experiment.runs import keys_of_runs
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.memory import limit

#: Units of a cell before which no interval is believed to be narrow: of two values it may be by chance.
_LEAST_UNITS = 5
#: Runs of a batch, at first and at most; and how many batches a worker still gets of what is left: the last are small.
_FIRST, _MOST, _SHARE = 16, 2000, 4
#: The last batches are not smaller than this part of what half a second is enough for.
_LEAST = 25
#: Cells up to this number are all checked before the first run starts; of more, a sample of about this size.
_CHECKED = 20_000


@dataclass
class _Open:
    """A cell to which runs may be added, some of whose runs are still to come."""

    pending: int
    units: int
    values: dict[int, Sequence[float]] = field(default_factory=dict)
    """Of the runs that are done, by their indices."""
    scales: list[Scale] = field(default_factory=list)
    """Of the metrics; from the first run that did not fail."""


class Conductor:
    """One campaign being carried out. ``memory`` is what a run may hold; None leaves it to the machine that runs it.

    A cell is meant by its index among those that the plan wants.
    """

    def __init__(self, plan: Plan, journal: Store, shared: Store | None, memory: int | None) -> None:
        self.plan, self.campaign = plan, plan.campaign
        self._shared, self._memory = Shared(shared), memory
        self._each = plan.first_units() * plan.runs_of_unit()
        self.quantities = quantities_of(plan.campaign)
        self._measure = Measure(self.quantities, keep=shared is not None)
        self.ledger = Ledger(journal, self._measure.name, plan.wanted(), self._each)
        self._first = product(range(plan.wanted()), range(self._each))
        self._queue, self._suspects = deque[Address](), deque[Address]()
        self._handed_in: dict[int, tuple[list[Address], Batch]] = {}
        self._open: dict[int, _Open] = {}
        self._checked: set[tuple[str, bool]] = set()
        self._to_check = len(plan.campaign.bases) * (1 if plan.kernel is None else 2)
        self._cell: tuple[int, Cell, Callable[[int | None, int], bytes]] | None = None
        self._workers, self._size = 1, _FIRST
        self.count = Count(plan.wanted() * self._each)

    def run(self, backend: Backend, moved: Callable[[], None]) -> None:
        """Do all runs; ``moved`` is called after each batch. Raises InputError for a metric that runs do not have."""
        self._workers = backend.workers
        with closing(outcomes(self._measure, self._take, backend)) as done:
            for batch, some in done:
                self._collect(batch, some)
                moved()

    def _take(self) -> Batch | None:
        """The next batch; runs that an interrupted process has done are settled on the way."""
        while wanted := list(self._next()):
            planned = [self._planned(run) for run in wanted]
            is_known = self.ledger.recall(wanted, [key for _, _, key in planned])
            if any(is_known):
                before = list(compress(wanted, is_known))
                self.count.reused += len(before)
                self._settle(before, None)
                self._size = min(_MOST, 2 * self._size)
            if not all(is_known):
                new = [not each for each in is_known]
                batch = self._batch(list(compress(planned, new)))
                self._handed_in[id(batch)] = list(compress(wanted, new)), batch
                return batch
        return None

    def _next(self) -> Iterator[Address]:
        """The runs of a batch: few at first, and at the end, so that no worker waits long for another."""
        if self._suspects:
            yield self._suspects.popleft()
            return
        handed_in = sum(len(runs) for runs, _ in self._handed_in.values())
        left = self.count.total - self.count.done - handed_in
        for _ in range(max(1, self._size // _LEAST, min(self._size, left // (_SHARE * self._workers)))):
            run = self._queue.popleft() if self._queue else next(self._first, None)
            if run is None:
                return
            yield run

    def _planned(self, run: Address) -> tuple[Cell, int, bytes]:
        """The cell of a run, its index there, and its key."""
        number, index = run
        if self._cell is None or self._cell[0] != number:
            cell = self.plan.wanted_cell(number)
            self._cell = number, cell, keys_of_runs(cell.scenario, cell.runner.key())
        _, cell, keys = self._cell
        replica = self.plan.replica(index)
        return cell, index, keys(replica.seed, replica.offset)

    def _batch(self, planned: Sequence[tuple[Cell, int, bytes]]) -> Batch:
        records = self._shared.get([key for _, _, key in planned])
        cells = {cell.number: cell for cell, _, _ in planned}
        indices = {number: index for index, number in enumerate(cells)}
        runs = []
        for cell, index, key in planned:
            replica = self.plan.replica(index)
            runs.append(Planned(indices[cell.number], replica.seed, replica.offset, key, records.get(key)))
        return Batch([cell.variant for cell in cells.values()], runs, self._memory)

    def _collect(self, batch: Batch, done: Done) -> None:
        """What a worker gave."""
        runs, _ = self._handed_in.pop(id(batch))
        if not done.count:
            self._suspects.extend(runs)
            return
        self._queue.extendleft(reversed(runs[done.count :]))
        runs, keys = runs[: done.count], [run.key for run in batch.runs[: done.count]]
        self.ledger.add(runs, keys, done)
        self._shared.put(done.records)
        self._size = min(_MOST, 4 * self._size, 1 + int(SPAN * done.count / max(done.seconds, 1e-6)))
        self.count.reused += done.reused
        self.count.failed += done.failed
        self._settle(runs, done)

    def _settle(self, runs: Sequence[Address], done: Done | None) -> None:
        """These runs are done: now, or by an earlier process."""
        self.count.done += len(runs)
        is_open = self.campaign.until is not None
        if not is_open and len(self._checked) == self._to_check:
            return
        rows = None if done is None else Rows.decode(done.rows)
        for at, (cell, index) in enumerate(runs):
            row = self.ledger.row((cell, index)) if rows is None else rows.part(at, at + 1)
            self._check_metrics(cell, row)
            if is_open:
                self._add_value(cell, index, row)

    def _add_value(self, cell: int, index: int, row: Rows) -> None:
        state = self._open.setdefault(cell, _Open(self._each, self.plan.first_units()))
        state.pending -= 1
        if not state.scales and not row.text("error", 0):
            state.scales = scales_of(self.quantities, row, 0)
        state.values[index] = row.columns["values"][0].tolist()
        if not state.pending:
            more = self._more(state)
            if not more:
                del self._open[cell]
                return
            per_unit = self.plan.runs_of_unit()
            self.count.total += more * per_unit
            first, state.units = state.units, state.units + more
            state.pending = more * per_unit
            # Before the cells that have not started, so that few are open at a time.
            self._queue.extendleft((cell, index) for index in reversed(range(first * per_unit, state.units * per_unit)))

    def _more(self, state: _Open) -> int:
        """How many units a cell needs beyond those that it has: half as many again until all intervals are narrow."""
        until, per_unit = self.campaign.until, self.plan.runs_of_unit()
        most = self.campaign.max_runs // per_unit
        if until is None or state.units >= most:
            return 0
        chosen = self.campaign.statistics
        values = np.array([state.values[index] for index in sorted(state.values)])
        by_metric = values[:, : len(self.campaign.metrics)].T
        if state.units >= _LEAST_UNITS and all(
            statistics.is_narrow(of_units(of_metric, per_unit, scale), until.share, chosen.confidence, chosen.interval,
                                 scale)
            for of_metric, scale in zip(by_metric, state.scales or repeat(PLAIN), strict=False)
        ):  # fmt: skip
            return 0
        wanted = max(_LEAST_UNITS, math.ceil(state.units * 1.5))
        return min(wanted, most) - state.units

    def _check_metrics(self, cell: int, row: Rows) -> None:
        """Refuse a metric that the first run of a scenario, on either side of a twin, lacks: so would others."""
        if len(self._checked) == self._to_check or row.text("error", 0):
            return
        wanted = self.plan.wanted_cell(cell)
        first = (wanted.base.name, wanted.runner.kernel is not None)
        if first not in self._checked:
            self._checked.add(first)
            check_metrics(self.campaign, dict(row.problems(0)))


def quantities_of(campaign: Campaign) -> tuple[Expression, ...]:
    """What is read from each run: the metrics, then what the claims are about."""
    metrics = (metric for _, metric in campaign.metrics)
    return (*metrics, *(claim.condition.quantity for claim in campaign.claims))


def scales_of(quantities: Sequence[Expression], rows: Rows, row: int) -> list[Scale]:
    """The scales of quantities, by a run that has them."""
    least = iter(rows.columns["least"][row].tolist())
    return [Scale("jain", next(least), 1.0) if each.kind == "jain" else Scale.of(each.kind) for each in quantities]


def of_units(values: npt.NDArray[np.float64], per_unit: int, scale: Scale = PLAIN) -> npt.NDArray[np.float64]:
    """One value for each unit: the mean of its runs that have one. ``values`` are those of all runs, in order."""
    if per_unit == 1:
        return values
    return np.array([statistics.mean(runs, scale) for runs in values.reshape(-1, per_unit)])


def first_run(plan: Plan) -> float:
    """Do the first run of each scenario, and check the metrics on it; returns the seconds that the first of all took.

    Raises InputError for a metric that it does not have, RunFailedError if it fails.
    """
    took: list[float] = []
    seen: set[str] = set()
    measure, replica = Measure(quantities_of(plan.campaign), keep=False), plan.replica(0)
    for cell in plan.samples(_CHECKED):
        if cell.base.name in seen:
            continue
        seen.add(cell.base.name)
        before = time.perf_counter()
        run = Planned(0, replica.seed, replica.offset, b"")
        rows = Rows.decode(measure(Batch([cell.variant], [run], limit(None)), always).rows)
        took.append(time.perf_counter() - before)
        if error := rows.text("error", 0):
            raise RunFailedError(f"the first run failed: {error}")
        check_metrics(plan.campaign, dict(rows.problems(0)))
        if len(seen) == len(plan.campaign.bases):
            break
    return took[0]


def check_metrics(campaign: Campaign, problems: Mapping[int, str]) -> None:
    """Refuse metrics that a run does not have: ``problems`` by the places of quantities. Raises InputError."""
    with campaign.located():
        for index, (name, metric) in enumerate(campaign.metrics):
            if index in problems:
                raise CampaignError(["metrics", name], f"{metric.text!r}: {problems[index]}", metric.text)
        for index, claim in enumerate(campaign.claims):
            problem = problems.get(len(campaign.metrics) + index)
            # A claim about some cells may name what only these have.
            if problem and not claim.where:
                text = claim.condition.text
                raise CampaignError(["claim", index, "check"], f"{text!r}: {problem}", text)


def check_cells(plan: Plan) -> None:
    """Refuse values that the scenario does not take, before the first run. Raises InputError that names the axis."""
    for cell in plan.cells() if plan.wanted() <= _CHECKED else plan.samples(_CHECKED):
        _check_cell(plan, cell)


def _check_cell(plan: Plan, cell: Cell) -> None:
    try:
        cell.scenario.resolve_text()
    except ScenarioError as error:
        with plan.campaign.located():
            raise _in_campaign(plan, cell, error) from None
    try:
        cell.runner.check(cell.scenario)
    except InputError as error:
        with plan.campaign.located():
            raise CampaignError(["twin"], f"the cell {where(plan, cell)}: {error}") from None


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
