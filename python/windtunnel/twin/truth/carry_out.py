"""The cells of the list, carried out: guests several at a time, the simulator meanwhile, the measures of each cell."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from windtunnel.engine.loop import outcomes
from windtunnel.engine.progress import Count
from windtunnel.engine.threads import Threads
from windtunnel.engine.work import GoOn
from windtunnel.errors import RunFailedError
from windtunnel.kernel.guest import Outcome, boot
from windtunnel.kernel.kept import Kernel
from windtunnel.metrics import jain_index
from windtunnel.scenario import Scenario
from windtunnel.twin.measures import Measure, Values, compared, values
from windtunnel.twin.plan import Plan, plan
from windtunnel.twin.readings import result_of
from windtunnel.twin.script import script
from windtunnel.twin.sides import draws_of
from windtunnel.twin.truth.cells import Cell
from windtunnel.twin.truth.guests import Guests

#: Draws of the simulator for each of the kernel's: it is so much faster, and its mean is then known better than the few
#: draws of the kernel spread.
OURS = 4
#: Seconds of the host after which a guest is ended: a hundred times what a run of the list takes.
_LIMIT = 600.0


@dataclass(frozen=True)
class Done:
    """A cell with its measures, or with what went wrong."""

    cell: Cell
    measures: tuple[Measure, ...]
    error: str = ""


@dataclass(frozen=True)
class _Run:
    """A draw of a cell. ``models``: the same draw and others, which the simulator runs."""

    cell: int
    number: int
    scenario: Scenario
    models: tuple[Scenario, ...]
    seed: int
    plan: Plan
    script: str


@dataclass(frozen=True)
class _Boot:
    """The work: a boot, or why it failed."""

    kernel: Kernel

    def __call__(self, task: _Run, go_on: GoOn) -> Outcome | str:
        try:
            return boot(self.kernel, task.script, seed=task.seed, limit=_LIMIT, go_on=go_on)
        except RunFailedError as error:
            return str(error)

    def lost(self, task: _Run, why: str) -> Outcome | str:
        return f"{task.scenario}: {why}"


@dataclass(frozen=True)
class _Kept:
    """What was booted before."""

    guests: Guests
    count: Count

    def recall(self, task: _Run) -> Outcome | str | None:
        outcome = self.guests.recall(task.script, task.seed)
        self.count.reused += outcome is not None
        return outcome

    def keep(self, task: _Run, outcome: Outcome | str) -> None:
        if isinstance(outcome, Outcome):
            self.guests.keep(task.script, task.seed, outcome)


@dataclass
class _Open:
    """A cell that is not complete."""

    linux: dict[int, Values] = field(default_factory=dict)
    ours: dict[int, list[Values]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    done: int = 0


def carry_out(
    cells: Sequence[Cell],
    kernel: Kernel,
    draws: int,
    jobs: int,
    guests: Guests,
    count: Count,
    moved: Callable[[], None],
) -> Iterator[Done]:
    """The cells that the kernel has, each as soon as all its draws are there; ``moved`` is called after each draw."""
    tasks = _tasks(cells, kernel, draws)
    queue: deque[_Run] = deque()

    def take() -> _Run | None:
        if not queue:
            queue.extend(next(tasks, ()))
        return queue.popleft() if queue else None

    cells_open: dict[int, _Open] = {}
    with closing(outcomes(_Boot(kernel), take, Threads(jobs), _Kept(guests, count))) as stream:
        for task, outcome in stream:
            one = cells_open.setdefault(task.cell, _Open())
            one.done += 1
            if isinstance(outcome, str):
                one.errors.append(outcome)
                count.failed += 1
            else:
                _add(one, task, outcome, kernel)
            count.done += 1
            moved()
            if one.done == draws:
                yield _judged(cells[task.cell], cells_open.pop(task.cell))


def _tasks(cells: Sequence[Cell], kernel: Kernel, draws: int) -> Iterator[list[_Run]]:
    """The draws of a cell after those of another: a cell is complete soon after its first draw."""
    for index, cell in enumerate(cells):
        if cell.lacks:
            continue
        tasks = []
        every = draws_of(cell.scenario, OURS * draws)
        for number, scenario in enumerate(every[:draws]):
            resolved = scenario.resolve()
            made, models = plan(resolved, kernel), tuple(every[number::draws])
            tasks.append(_Run(index, number, scenario, models, int(resolved["seed"]), made, script(made)))
        yield tasks


def _add(one: _Open, task: _Run, outcome: Outcome, kernel: Kernel) -> None:
    """Both sides of a draw, and the simulator's others."""
    try:
        result = result_of(task.scenario.resolve(), "", task.seed, task.plan, kernel, outcome)
    except RunFailedError as error:
        one.errors.append(str(error))
        return
    one.linux[task.number] = pooled(values(result))
    one.ours[task.number] = [pooled(values(scenario.run())) for scenario in task.models]


#: Measures that are sums over flows; those of others are means.
_SUMS = ("goodput", "retransmissions", "CE")


def pooled(each: Values) -> Values:
    """The measures of a run with those of equal flows together, and how fair these were to each other.

    Which of five equal flows wins is chance, and tells nothing of either side.
    """
    together: dict[tuple[str, str], tuple[str, list[float]]] = {}
    for (subject, name), (unit, value) in each.items():
        together.setdefault((subject.rpartition("-")[0] or subject, name), (unit, []))[1].append(value)
    result: dict[tuple[str, str], tuple[str, float]] = {}
    for (subject, name), (unit, several) in together.items():
        result[subject, name] = unit, sum(several) / (1 if name in _SUMS else len(several))
        if name == "goodput" and len(several) > 1:
            result[subject, "Jain's index"] = "", float(jain_index(several))
    return result


def _judged(cell: Cell, one: _Open) -> Done:
    if one.errors:
        return Done(cell, (), one.errors[0])
    numbers = sorted(one.linux)
    ours = [draw for number in numbers for draw in one.ours[number]]
    return Done(cell, tuple(compared([one.linux[number] for number in numbers], ours)))
