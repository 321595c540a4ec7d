"""A search from its start to its folder: journal, cache, place, runs, files; and what it will need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from windtunnel._core import ScenarioError
from windtunnel.atomic import check_free
from windtunnel.campaign.errors import CampaignError
from windtunnel.campaign.sweep import Show, default_backend, journal_at, memory_of_run
from windtunnel.engine import cache
from windtunnel.engine.progress import Count
from windtunnel.engine.work import Backend
from windtunnel.errors import InputError, reason
from windtunnel.estimate import seconds
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.runs import Record
from windtunnel.extras import need
from windtunnel.input_file import document_of
from windtunnel.scenario import Scenario
from windtunnel.search.laboratory import Laboratory, Search
from windtunnel.search.model import Hunt, Tune
from windtunnel.search.sampler import Study, optuna_library

if TYPE_CHECKING:
    from windtunnel.campaign.file import Source

Result = TypeVar("Result")
MANIFESTS = {"hunt": "hunt.json", "tune": "tune.json"}
#: Points of the space whose runs are estimated before a search starts.
_SAMPLE = 32


def is_search(folder: Path) -> bool:
    """Whether a folder was written by a hunt or a tuning."""
    for kind, name in MANIFESTS.items():
        document = document_of(folder / name)
        if isinstance(document, dict) and document.get("kind") == kind:
            return True
    return False


def check_writable(out: Path, *, force: bool) -> None:
    """Refuse a place where the folder could not be written, before anything runs. Raises InputError."""
    try:
        check_free(out, force=force, ours=is_search)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {reason(error)}") from None


def metrics_of(made: Hunt | Tune) -> list[tuple[tuple[str, ...], Expression]]:
    """What is measured of each run, and where in the file it is."""
    if isinstance(made, Hunt):
        return [(("find",), made.goal.quantity)]
    objectives = [(("objectives", o.name), o.quantity) for o in made.objectives]
    return [*objectives, *((("constraints", name), c.quantity) for name, c in made.constraints)]


def carry_out(
    made: Hunt | Tune,
    search: Search[Result],
    out: Path,
    write: Callable[[Result, Count], None],
    *,
    backend: Backend | None = None,
    jobs: int | None = None,
    restart: bool = False,
    use_cache: bool = True,
    show: Show | None = None,
) -> tuple[Result, Count]:
    """Do a search and ``write`` what it found; returns that, and how many runs it took. Finished runs are kept next to
    ``out`` until it is written, and are not repeated.

    Raises InputError; KeyboardInterrupt, after which finished runs are kept.
    """
    backend = backend or default_backend(jobs)
    shared = cache.shared() if use_cache else None
    metrics = metrics_of(made)

    def check(record: Record) -> None:
        for path, metric in metrics:
            _, problem = record.value(metric)
            if problem:
                with located(made.source):
                    raise CampaignError(path, f"{metric.text!r}: {problem}", metric.text)

    with (
        closing(search),
        closing(shared) if shared is not None else nullcontext(),
        journal_at(out, restart=restart) as journal,
    ):
        laboratory = Laboratory([metric for _, metric in metrics], journal, shared, memory_of_run(backend), check)
        laboratory.count.total = planned_runs(made)
        with show(laboratory.count) if show is not None else nullcontext(lambda: None) as moved:
            result = laboratory.conduct(search, backend, moved)
        laboratory.count.total = laboratory.count.done
        journal.flush()
        write(result, laboratory.count)
        journal.remove()
    return result, laboratory.count


class located:  # noqa: N801 - reads like a function
    """Errors in a search that are found in the block name its file and line, if it has them."""

    def __init__(self, source: Source | None) -> None:
        self._source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._source is not None and isinstance(error, CampaignError):
            raise self._source.located(error) from None


def planned_runs(made: Hunt | Tune) -> int:
    """How many runs there are for candidates, and those that are certain to follow."""
    if isinstance(made, Hunt):
        return made.candidates * made.seeds
    paths, held_out = len(made.cells(made.paths)), len(made.cells(made.held_out))
    return (made.candidates + 1) * paths * made.seeds + 2 * held_out * made.proof


def forecast(made: Hunt | Tune, workers: int) -> Iterator[str]:
    """What a search will need, in words."""
    study = Study(made.space, "random", made.seed, ["minimize"])
    points = [candidate.point for candidate in study.ask(_SAMPLE)]
    cells = [()] if isinstance(made, Hunt) else [cell.settings for cell in made.cells(made.paths)]
    scenarios = [made.space.scenario(p).override(*cells[n % len(cells)]) for n, p in enumerate(points)]
    times = list(_seconds(scenarios))
    mean = sum(times) / len(times) if times else 0.0
    runs = planned_runs(made)
    each = "run" if made.seeds == 1 else "runs"
    on = "" if isinstance(made, Hunt) else f" on each of {len(cells)} paths"
    yield f"{made.candidates} candidates of {made.seeds} {each}{on}: {runs} runs" + (
        f", and at most about {made.finds * (made.shrink + 8 * made.check)} to check, shrink and explain"
        if isinstance(made, Hunt)
        else f", those of the proof on {len(made.cells(made.held_out))} held-out paths among them"
    )
    yield f"expected: {seconds(runs * mean / workers)}, roughly, on {workers} {'worker' if workers == 1 else 'workers'}"
    if len(times) < len(scenarios):
        yield f"{len(scenarios) - len(times)} of {len(scenarios)} points of the space are no valid scenario"


def _seconds(scenarios: Sequence[Scenario]) -> Iterator[float]:
    for scenario in scenarios:
        try:
            yield float(scenario.estimate()["seconds"])
        except ScenarioError:
            continue


def ready() -> None:
    """Refuse to start where a library is missing. Raises InputError."""
    optuna_library()
    need("matplotlib", "a search")
