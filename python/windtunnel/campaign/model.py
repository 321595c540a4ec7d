"""What a campaign is: a scenario, axes, the runs of each cell, metrics, baselines and statistics.

The same model is made from a campaign file (``file.py``) and from Python. It does not know how it is carried out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from windtunnel.campaign.chosen import MOST_SEEDS, Baseline, Quick, baselines_of, quick_of, seeds_of
from windtunnel.campaign.errors import CampaignError
from windtunnel.campaign.twin import LINUX, SIDE, sides, wanted
from windtunnel.claims.model import Claim, ClaimError, claims_of
from windtunnel.errors import InputError, cut, did_you_mean
from windtunnel.experiment.axes import Axis, Block, axes_of
from windtunnel.experiment.measures import Expression, MetricError
from windtunnel.experiment.scales import KINDS
from windtunnel.experiment.statistics import Correction, Interval
from windtunnel.scenario import Scenario

if TYPE_CHECKING:
    from windtunnel.campaign.file import Source
    from windtunnel.campaign.results import CampaignResult
    from windtunnel.engine.work import Backend

#: The most runs of one cell if `max` is not set.
MOST_RUNS = 100
#: The most cells; more are a slip, and would take longer than a lifetime.
MOST_CELLS = 10_000_000
#: The most metrics, and the most claims: each is calculated from each run.
MOST_METRICS = 10_000
#: What a scenario is called where there are several.
SCENARIO = "scenario"
#: Columns of the data set, which therefore no axis and no metric can be called.
RESERVED = frozenset({
    "run", "cell", "seed", "offset", "digest", "error", "packets", "seconds", "stalled", "foreign", "flow", "flow_name",
})  # fmt: skip


@dataclass(frozen=True)
class Base:
    """A scenario that is varied, and its name."""

    name: str
    scenario: Scenario


@dataclass(frozen=True)
class Until:
    """Runs are added until each metric's interval is at most ``share`` of its mean to either side."""

    share: float

    @classmethod
    def of(cls, value: object) -> Until:
        """From ``"ci 5 %"``. Raises CampaignError."""
        match = re.fullmatch(r"\s*ci\s+([\d.]+)\s*%\s*", value) if isinstance(value, str) else None
        try:
            share = float(match[1]) / 100 if match else 0.0
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            msg = (
                f'{value!r} is not allowed: "ci 5 %", the interval of each mean to either side, in percent of the mean'
            )
            raise CampaignError(["until"], msg, value)
        return cls(share)


@dataclass(frozen=True)
class Statistics:
    """How values become statements: the confidence of intervals, how they are made, and which correction for many."""

    confidence: float = 0.95
    interval: Interval = "t"
    correction: Correction = "holm"

    def __post_init__(self) -> None:
        if (
            isinstance(self.confidence, bool)
            or not isinstance(self.confidence, int | float)
            or not 0.5 <= self.confidence < 1
        ):
            raise CampaignError(
                ["statistics", "confidence"], f"{self.confidence!r} is not allowed: from 0.5 to below 1"
            )
        for key, kinds in (("interval", get_args(Interval)), ("correction", get_args(Correction))):
            value = getattr(self, key)
            if value not in kinds:
                hint = did_you_mean(str(value), kinds)
                raise CampaignError(["statistics", key], f"{value!r} is not allowed: {' or '.join(kinds)}{hint}")


ScenarioLike: TypeAlias = "Scenario | str | Path"


@dataclass(frozen=True, init=False, repr=False)
class Campaign:
    """A campaign. Immutable; two are equal if they say the same.

    ``scenario``: a scenario or the path of its file; several (a list, or a mapping with names) are an axis of their
    own, ``scenario``. ``axes``: a mapping of keys to values, which is a grid, or a list of :func:`grid` and
    :func:`zipped`, which are combined. ``seeds``: their number, counted from 1, or a list; without it each cell is one
    run with the scenario's own seed.

    ``offsets``: with True, flows start at another time within a round trip for each seed. A number N crosses N
    offsets with the seeds, which tells what depends on the phases of flows from what depends on chance.

    ``metrics``: expressions by name; or tables ``{"value": ..., "kind": ..., "unit": ...}``, whose kind says how values
    of several runs are put together (``scales.py``). ``baseline``: values of axes, to which all other cells are
    compared, seed by seed; or several such. ``until``: ``"ci 5 %"`` adds runs to a cell until its intervals are narrow
    enough, or there are ``max_runs``. ``claims``: statements to decide, ``{"text": ..., "check":
    "p99(queue.sojourn_ms) < 5"}``, each about the cells whose axes have the values of its ``where``.

    ``twin``: with True, or the name of a kernel, each cell also runs on the real Linux in virtual time. Both sides are
    an axis, ``side``, and the kernel's is the baseline unless there is another.

    ``quick``: ``{"seeds": 2, "only": {"rate": ["10 Mbit/s"]}}``, the part that a quick run is content with
    (:meth:`quickly`).
    """

    title: str
    bases: tuple[Base, ...]
    blocks: tuple[Block, ...]
    seeds: tuple[int, ...] | None
    offsets: bool | int
    metrics: tuple[tuple[str, Expression], ...]
    baselines: tuple[tuple[tuple[str, str], ...], ...]
    until: Until | None
    max_runs: int
    statistics: Statistics
    claims: tuple[Claim, ...]
    twin: str | None
    """The kernel of a twin; empty for the newest."""
    quick: Quick | None
    source: Source | None = field(compare=False)
    """The campaign's file, if it has one."""

    def __init__(
        self,
        scenario: ScenarioLike | Sequence[ScenarioLike] | Mapping[str, ScenarioLike],
        *,
        axes: Mapping[str, Any] | Sequence[Block] = (),
        seeds: int | Sequence[int] | None = None,
        offsets: bool | int = False,
        metrics: Mapping[str, str | Mapping[str, str]] | Sequence[str] = (),
        baseline: Baseline | Sequence[Baseline] = (),
        until: str | None = None,
        max_runs: int | None = None,
        confidence: float = 0.95,
        interval: Interval = "t",
        correction: Correction = "holm",
        title: str = "",
        claims: Sequence[Mapping[str, Any] | Claim] = (),
        twin: bool | str | None = None,
        quick: Mapping[str, Any] | None = None,
    ) -> None:
        kernel = _twin(twin)
        blocks = _blocks(axes) if kernel is None else (*_blocks(axes), sides())
        if kernel is not None and not baseline:
            baseline = {SIDE: LINUX}
        bases = _bases(scenario)
        names = _names(bases, blocks)
        labels = _labels(bases, blocks)
        values: dict[str, object] = {
            "title": title,
            "bases": bases,
            "blocks": blocks,
            "seeds": seeds_of(["seeds"], seeds),
            "offsets": _offsets(offsets),
            "metrics": (expressions := _metrics(metrics, names)),
            "baselines": baselines_of(baseline, labels, blocks),
            "until": None if until is None else Until.of(until),
            "max_runs": _max_runs(max_runs, until),
            "statistics": Statistics(confidence, interval, correction),
            "claims": _claims(claims, dict(expressions), labels),
            "twin": kernel,
            "quick": None if quick is None else quick_of(quick, labels),
            "source": None,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)  # immutable from here on
        if self.cell_count > MOST_CELLS:
            raise CampaignError(["axes"], f"have {self.cell_count} combinations of values; at most {MOST_CELLS} cells")
        if until is not None and not self.metrics:
            raise CampaignError(["until"], "there are no metrics whose intervals could become narrow")

    @classmethod
    def from_file(cls, path: str | Path, *, allow_read: Sequence[str | Path] = ()) -> Campaign:
        """A campaign from a campaign file, or the standard input (``-``). Raises InputError."""
        from windtunnel.campaign.file import read

        return read(Path(path), allow_read=allow_read)

    def run(
        self,
        out: str | Path,
        *,
        jobs: int | None = None,
        backend: Backend | None = None,
        force: bool = False,
        restart: bool = False,
        use_cache: bool = True,
        pages: int = 0,
    ) -> CampaignResult:
        """Carry it out and write its data set to ``out``, as ``windtunnel sweep`` does; see
        :func:`windtunnel.campaign.sweep.sweep`. ``jobs`` threads, or another ``backend``. ``pages`` runs get pages.
        """
        from windtunnel.campaign.results import load
        from windtunnel.campaign.sweep import sweep

        sweep(self, out, backend=backend, jobs=jobs, force=force, restart=restart, use_cache=use_cache,
              pages=pages)  # fmt: skip
        return load(out)

    def page(self, run: str, out: str | Path) -> Path:
        """Simulate a run of the data set ``out`` again, and write its page there. ``run`` is ``CELL.RUN``, such as
        ``12.0``. Raises InputError, ScenarioError, and what the run raises; warns if it is not the run that is there.
        """
        import warnings

        from windtunnel.campaign.page.runs import Address, add_page
        from windtunnel.campaign.plan import Plan

        file, warning = add_page(Plan(self), Path(out), Address.of(run))
        if warning:
            warnings.warn(warning, stacklevel=2)
        return file

    def override(self, *settings: str) -> Campaign:
        """The same campaign with ``key=value`` strings applied to its scenarios, before those of the axes."""
        return self._with(bases=tuple(Base(base.name, base.scenario.override(*settings)) for base in self.bases))

    def quickly(self) -> tuple[Campaign, dict[str, tuple[str, ...]]]:
        """The campaign with the seeds of its quick part, and the values of axes that this keeps. Raises InputError."""
        if self.quick is None:
            raise CampaignError(["quick"], "is missing: the campaign does not say which part of it is quick")
        return self._with(seeds=self.quick.seeds or self.seeds), dict(self.quick.only)

    def _with(self, **changes: object) -> Campaign:
        changed = Campaign.__new__(Campaign)
        for name in self.__dataclass_fields__:
            object.__setattr__(changed, name, changes.get(name, getattr(self, name)))
        return changed

    @contextmanager
    def located(self) -> Iterator[None]:
        """Errors in this campaign that are found in the block name its file and line, if it has them."""
        try:
            yield
        except CampaignError as error:
            if self.source is None:
                raise
            raise self.source.located(error) from None

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All axes; the scenario's is not among them."""
        return tuple(axis for block in self.blocks for axis in block.axes)

    @property
    def cell_count(self) -> int:
        """The number of cells: of combinations of values."""
        count = len(self.bases)
        for block in self.blocks:
            count *= rows_of(block)
        return count

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis.name} ({len(axis.values)})" for axis in self.axes) or "no axes"
        metrics = ", ".join(name for name, _ in self.metrics) or "none"
        return f"<Campaign {self.title!r}: {axes}; {self.cell_count} cells, metrics {metrics}>"


def rows_of(block: Block) -> int:
    """How many combinations of values a block has."""
    if block.kind == "zip":
        return len(block.axes[0].values)
    count = 1
    for axis in block.axes:
        count *= len(axis.values)
    return count


def _blocks(axes: Mapping[str, Any] | Sequence[Block]) -> tuple[Block, ...]:
    if isinstance(axes, Mapping):
        try:
            return (Block("grid", axes_of(axes)),) if axes else ()
        except InputError as error:
            raise CampaignError(["axes"], str(error)) from None
    if not all(isinstance(block, Block) for block in axes):
        raise CampaignError(["axes"], "is not allowed: a mapping of keys to values, or a list of grid() and zipped()")
    return tuple(axes)


def _twin(value: object) -> str | None:
    try:
        return wanted(value)
    except InputError as error:
        raise CampaignError(["twin"], str(error), value) from None


def _bases(value: object) -> tuple[Base, ...]:
    if isinstance(value, Mapping):
        bases = tuple(Base(str(name), _scenario(each)) for name, each in value.items())
    elif isinstance(value, Scenario | str | Path):
        bases = (Base(SCENARIO, _scenario(value)),)
    elif isinstance(value, Sequence):
        bases = tuple(Base(_name(each), _scenario(each)) for each in value)
    else:
        raise CampaignError([SCENARIO], f"{value!r} is not allowed: a scenario, or the path of its file")
    if not bases:
        raise CampaignError([SCENARIO], "there is none")
    names = [base.name for base in bases]
    if len(set(names)) < len(names):
        raise CampaignError(
            [SCENARIO], f"two are called {max(names, key=names.count)}: names must differ; give them names"
        )
    return bases


def _scenario(value: object) -> Scenario:
    if isinstance(value, Scenario):
        return value
    if isinstance(value, str | Path):
        return Scenario.from_file(value)
    raise CampaignError([SCENARIO], f"{value!r} is not allowed: a scenario, or the path of its file")


def _name(value: object) -> str:
    return Path(value).stem if isinstance(value, str | Path) else SCENARIO


def _names(bases: Sequence[Base], blocks: Iterable[Block]) -> set[str]:
    """The names of axes, which must differ."""
    names = {SCENARIO} if len(bases) > 1 else set()
    for block in blocks:
        for axis in block.axes:
            if axis.name in names:
                raise CampaignError(["axes", block.kind, axis.name], "is an axis already: names must differ")
            if axis.name in RESERVED - {"seed"}:
                raise CampaignError(["axes", block.kind, axis.name], "is a column of the data set: choose another name")
            if "seed" in axis.keys:
                raise CampaignError(
                    ["axes", block.kind, axis.name], "the seed is no axis: `seeds` gives each cell its runs"
                )
            names.add(axis.name)
    return names


def _offsets(value: object) -> bool | int:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and 2 <= value <= 10_000:
        return value
    msg = f"{value!r} is not allowed: true, false, or a number of offsets from 2 to 10000"
    raise CampaignError(["offsets"], msg, value)


def _metrics(metrics: Mapping[str, Any] | Sequence[str], axes: set[str]) -> tuple[tuple[str, Expression], ...]:
    if isinstance(metrics, str) or not isinstance(metrics, Mapping | Sequence):
        raise CampaignError(
            ["metrics"], f"{metrics!r} is not allowed: expressions with names, or a list of expressions"
        )
    if len(metrics) > MOST_METRICS:
        raise CampaignError(["metrics"], f"there are {len(metrics)}; at most {MOST_METRICS} of a campaign")
    pairs = metrics.items() if isinstance(metrics, Mapping) else [(text, text) for text in metrics]
    expressions: dict[str, Expression] = {}
    for index, (name, text) in enumerate(pairs):
        path = ["metrics", name if isinstance(metrics, Mapping) else index]
        if name in expressions or name in axes or name in RESERVED or name == SCENARIO or not name:
            raise CampaignError(path, "is the name of an axis or of another column: choose another", name)
        expressions[name] = _metric(path, text)
    return tuple(expressions.items())


#: Keys of a metric that is a table.
_OF_METRIC = ("value", "kind", "unit")


def _metric(path: list[str | int], value: object) -> Expression:
    """An expression, or a table of one with what it does not say itself."""
    table = value if isinstance(value, Mapping) else {"value": value}
    for key in table:
        if key not in _OF_METRIC:
            hint = did_you_mean(str(key), _OF_METRIC)
            raise CampaignError([*path, key], f"is not a key here; the keys are {', '.join(_OF_METRIC)}{hint}", key)
    text, kind, unit = (table.get(key) for key in _OF_METRIC)
    if not isinstance(text, str):
        problem = f"{value!r} is not allowed: an expression as text, or a table with `value`, `kind` and `unit`"
        raise CampaignError(path, problem, value)
    if kind is not None and kind not in KINDS:
        hint = did_you_mean(str(kind), KINDS)
        raise CampaignError([*path, "kind"], f"{kind!r} is not allowed: {' or '.join(KINDS)}{hint}", kind)
    if unit is not None and not isinstance(unit, str):
        raise CampaignError([*path, "unit"], f"{unit!r} is not allowed: a text", unit)
    try:
        return Expression.parse(text, kind, unit)
    except MetricError as error:
        raise CampaignError(path, f"{cut(text)!r}: {error}", text) from None


def _labels(bases: Sequence[Base], blocks: Sequence[Block]) -> dict[str, list[str]]:
    """What the values of each axis are called."""
    axes = {axis.name: [value.label for value in axis.values] for block in blocks for axis in block.axes}
    if len(bases) > 1:
        axes[SCENARIO] = [base.name for base in bases]
    return axes


def _claims(value: object, metrics: Mapping[str, Expression], axes: Mapping[str, Sequence[str]]) -> tuple[Claim, ...]:
    if isinstance(value, Sequence) and len(value) > MOST_METRICS:
        raise CampaignError(["claim"], f"there are {len(value)}; at most {MOST_METRICS} of a campaign")
    try:
        return claims_of(value, metrics, axes)
    except ClaimError as error:
        raise CampaignError(["claim", *error.path], str(error), error.value) from None


def _max_runs(value: object, until: object) -> int:
    if value is None:
        return MOST_RUNS
    if until is None:
        raise CampaignError(["max"], "bounds the runs that `until` adds, but there is no `until`", value)
    if isinstance(value, bool) or not isinstance(value, int) or not 2 <= value <= MOST_SEEDS:
        raise CampaignError(["max"], f"{value!r} is not allowed: from 2 to {MOST_SEEDS} runs of a cell", value)
    return value
