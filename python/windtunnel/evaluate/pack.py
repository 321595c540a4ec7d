"""What a pack is: clauses of a document, each with scenarios that try it and checks that judge the results.

A pack is data. ``packs/NAME/pack.toml`` names its document and the baselines to compare with; every other file
there holds one clause, or a group of clauses. A scenario is plain data in its file. In it, ``$name`` is replaced:
``$cc`` or ``$queue`` by what is under test or by a baseline, other names by values of the axes, and by numbers that are
computed from these. Axes, numbers and the cells that count can be those of the whole pack; a trial has them then, too.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Literal

from windtunnel.errors import InputError, did_you_mean
from windtunnel.experiment import scales

#: What a pack can examine.
Kind = Literal["cc", "queue"]

#: Whose state the clauses of a pack can read (``experiment/measures/bbr.py``).
State = Literal["bbr"]

#: The metric that is the moment at which a run decides.
MOMENT = "at_s"

_FOLDER = Path(__file__).parent / "packs"

_NO_VALUES: Mapping[str, Any] = {}

#: What the head of a pack gives to all of its trials.
_SHARED = ("axes", "quick", "numbers", "where", "metrics", "kinds")

#: The packs in the order of the help.
NAMES = ("rfc9743", "rfc7928", "tcpeval", "l4s-aqm", "bufferbloat", "ccwg-bbr", "rmcat", "multipath")


@dataclass(frozen=True)
class Expect:
    """What a check expects of a mean: absolute limits, or a multiple of the worst baseline, or either of both.

    ``above`` and ``below`` are numbers. ``at_least`` and ``at_most`` are factors of the worst baseline (the lowest for
    ``at_least``, the highest for ``at_most``), to which ``plus`` is added; ``of`` names the baselines that count, all
    if it is left out. Where both kinds are given, either suffices. A rule that holds always is expected of ``each`` run
    and not of the mean.
    """

    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    plus: float = 0.0
    of: tuple[str, ...] = ()
    each: bool = False

    @property
    def limits(self) -> tuple[float, float]:
        """The numbers between which a value is."""
        return (-math.inf if self.above is None else self.above, math.inf if self.below is None else self.below)

    @property
    def is_absolute(self) -> bool:
        """Whether it has a limit that is a number."""
        return self.above is not None or self.below is not None

    @property
    def is_relative(self) -> bool:
        """Whether it compares with the baselines."""
        return self.at_least is not None or self.at_most is not None


@dataclass(frozen=True)
class Criterion:
    """A number of a trial, and what is expected of it; without an expectation it is for information."""

    id: str
    text: str
    value: str
    unit: str
    trial: str
    expect: Expect | None
    why: str
    at: Mapping[str, Sequence[str]]
    """The labels of the axes' values for which it is made; an axis that is not named has all of them."""
    absolute: Expect | None = None
    """What no algorithm should exceed, whatever the baselines do; ``source`` says who says so."""
    source: str = ""


@dataclass(frozen=True)
class Trial:
    """A scenario, the axes along which it varies, and the numbers that are taken from each run.

    ``window`` are the seconds within which values are taken, unless their expression says otherwise; or the names of
    numbers that are these seconds.
    """

    id: str
    scenario: Mapping[str, Any]
    axes: Mapping[str, Sequence[Any]]
    metrics: Mapping[str, str]
    kinds: Mapping[str, scales.Kind]
    """What metrics are (``experiment/scales.py``) whose expression does not say it."""
    window: tuple[float | str, float | str] | None
    quick: Mapping[str, Sequence[Any]]
    seeds: int | None
    baselines: Mapping[str, Any]
    """Baselines that are written differently in this scenario: in a graph no limit is in BDP."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Numbers of a cell, as expressions over the numbers of its axes and over those before them."""
    where: Mapping[str, Expect] = field(default_factory=dict)
    """Between which limits numbers are in the cells that count; others are left out, and the clause says why."""


@dataclass(frozen=True)
class Clause:
    """A clause of the document: what it asks for, in our own words, how it is tried, and what stays open."""

    id: str
    title: str
    level: str
    requirement: str
    method: str
    cannot: str
    trials: tuple[Trial, ...]
    checks: tuple[Criterion, ...]
    document: str = ""
    file: str = ""
    """The file of the pack that it is in."""

    def judges_quantile(self, trial: Trial) -> bool:
        """Whether something is expected of a quantile, such as the 95th percentile of a delay."""
        from windtunnel.experiment.measures import Expression

        judged = {check.value for check in self.checks if check.trial == trial.id and check.expect is not None}
        # Names of algorithms and numbers stand for placeholders; which ones changes nothing.
        texts = (re.sub(r"\$\w+", "1", trial.metrics[name]) for name in judged)
        return any(Expression.parse(text).is_quantile for text in texts)


@dataclass(frozen=True)
class Pack:
    """A pack with its clauses. ``baselines`` are algorithms by label; ``probe`` is run to see whether one exists."""

    name: str
    title: str
    document: str
    kind: Kind
    baselines: Mapping[str, Any]
    seeds: int
    quantile_seeds: int
    """Where a quantile decides: it is less certain than a mean, so that fewer runs would leave it undecided."""
    quick_seeds: int
    about: str
    cannot: str
    clauses: tuple[Clause, ...]
    variables: Mapping[str, Any] = field(default_factory=dict)
    part: str = "section"
    """What the document calls that which clauses are numbered by."""
    state: State | None = None
    """Whose state the clauses read; their trials then have a metric ``at_s``, the moment that decides."""
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Those that all trials have."""

    def seeds_of(self, clause: Clause, trial: Trial, *, quick: bool, values: Mapping[str, Any] = _NO_VALUES) -> int:
        """How many runs each arm of a trial has in a cell with these ``values``, the number ``seeds`` among them."""
        own = int(values.get("seeds", 0)) or trial.seeds or self.seeds
        seeds = self.quantile_seeds if clause.judges_quantile(trial) else own
        return min(seeds, self.quick_seeds) if quick else seeds

    def chosen(self, only: Sequence[str]) -> list[Clause]:
        """The clauses that ``only`` names: a number, or the start of one (``5`` is 5.1.1 to 5.3.2); all by default.

        Raises InputError, with the nearest numbers, for one that does not exist.
        """
        wanted: set[str] = set()
        for name in only:
            matches = [c.id for c in self.clauses if c.id == name or c.id.startswith((f"{name}.", f"{name}-"))]
            if not matches:
                ids = [c.id for c in self.clauses]
                near = difflib.get_close_matches(name, ids, n=3, cutoff=0.4) or ids
                raise InputError(f"no clause of {self.name} is numbered {name!r}; the nearest: {', '.join(near)}")
            wanted.update(matches)
        return [c for c in self.clauses if not only or c.id in wanted]


def _order(id: str) -> list[int]:
    """Numbers of clauses as a document orders them: 5.2 before 5.10. Names stay as they are in their file."""
    return [int(part) if part.isdigit() else 10**6 for part in re.split("[.-]", id)]


@cache
def read(name: str) -> Pack:
    """The pack ``name``. Raises InputError, with the nearest names, for one that does not exist."""
    if name not in NAMES:
        near = difflib.get_close_matches(name.lower(), NAMES, n=3, cutoff=0.4) or NAMES
        raise InputError(f"no pack is named {name!r}; the nearest: {', '.join(near)}")
    folder = _FOLDER / name
    head = tomllib.loads((folder / "pack.toml").read_text(encoding="utf-8"))
    files = sorted(file for file in folder.glob("*.toml") if file.name != "pack.toml")
    shared = {key: head.get(key, {}) for key in _SHARED}
    clauses = [clause for file in files for clause in _clauses(file, shared, head.get("check", ()))]
    return Pack(
        name=name,
        title=head["title"],
        document=head["document"],
        kind=head["subject"],
        baselines=head["baselines"],
        seeds=head["seeds"],
        quantile_seeds=head["quantile_seeds"],
        quick_seeds=head["quick_seeds"],
        about=head["about"],
        cannot=head["cannot"],
        clauses=tuple(sorted(clauses, key=lambda clause: _order(clause.id))),
        variables=head.get("variables", {}),
        part=head.get("part", "section"),
        state=head.get("state"),
        axes=shared["axes"],
    )


def _clauses(
    file: Path, shared: Mapping[str, Mapping[str, Any]], checks: Sequence[Mapping[str, Any]]
) -> Iterator[Clause]:
    """The clauses of a file, whose trials have what is ``shared``, and whose own checks these ``checks`` follow. Raises
    InputError, which names it, for a mistake in it.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: is no TOML: {error}") from None
    for index, table in enumerate(data.get("clause", ())):
        try:
            clause = replace(_clause(table, shared, checks), file=str(file))
            _check_clause(clause)
            yield clause
        except KeyError as error:
            raise InputError(f"{file}: clause {table.get('id', index + 1)}: {error} is missing") from None
        except ValueError as error:
            raise InputError(f"{file}: clause {table.get('id', index + 1)}: {error}") from None


def _check_clause(clause: Clause) -> None:
    """Refuse names that nothing has. Raises ValueError."""
    trials = {trial.id: trial for trial in clause.trials}
    for trial in clause.trials:
        for name, kind in trial.kinds.items():
            _check_name(f"trial {trial.id}: kinds.{name}", name, trial.metrics)
            _check_name(f"trial {trial.id}: kinds.{name}: {kind!r}", kind, scales.KINDS)
        for axis in trial.quick:
            _check_name(f"trial {trial.id}: quick.{axis}", axis, trial.axes)
        numbers = [*_numbers_of(trial.axes), *trial.numbers]
        for name in trial.where:
            _check_name(f"trial {trial.id}: where.{name}", name, numbers)
        for edge in trial.window or ():
            if isinstance(edge, str):
                _check_name(f"trial {trial.id}: window: {edge!r}", edge, numbers)
    for check in clause.checks:
        _check_name(f"check {check.id}: trial: {check.trial!r}", check.trial, trials)
        trial = trials[check.trial]
        _check_name(f"check {check.id}: value: {check.value!r}", check.value, trial.metrics)
        for axis, labels in check.at.items():
            _check_name(f"check {check.id}: at.{axis}", axis, trial.axes)
            allowed = [label_of(value) for values in (trial.axes, trial.quick) for value in values.get(axis, ())]
            for label in labels:
                _check_name(f"check {check.id}: at.{axis}: {label!r}", str(label), allowed)


def label_of(value: Any) -> str:
    """How pages call a value of an axis."""
    return str(value["name"] if isinstance(value, Mapping) else value)


def _check_name(what: str, name: str, allowed: Collection[str]) -> None:
    if name not in allowed:
        raise ValueError(f"{what} is not known; there are {', '.join(allowed) or 'none'}{did_you_mean(name, allowed)}")


def _clause(
    data: Mapping[str, Any], shared: Mapping[str, Mapping[str, Any]], checks: Sequence[Mapping[str, Any]]
) -> Clause:
    trials = tuple(_trial(t, shared) for t in data.get("trial", ()))
    return Clause(
        id=data["id"],
        title=data["title"],
        level=data["level"],
        requirement=data["requirement"],
        method=data.get("method", ""),
        cannot=data["cannot"],
        trials=trials,
        checks=tuple(_check(c, trials) for c in (*data.get("check", ()), *(checks if trials else ()))),
        document=data.get("document", ""),
    )


def _trial(data: Mapping[str, Any], shared: Mapping[str, Mapping[str, Any]]) -> Trial:
    window = data.get("window")
    own = {key: {**shared[key], **data.get(key, {})} for key in _SHARED}
    named = {**data.get("axes", {}), **shared["axes"]}
    axes, quick = ({axis: _values(f"trial {data['id']}: {key}.{axis}", values, named.get(axis, ()))
                    for axis, values in own[key].items()} for key in ("axes", "quick"))  # fmt: skip
    return Trial(
        id=data["id"],
        scenario=data["scenario"],
        axes=axes,
        metrics=own["metrics"],
        kinds=own["kinds"],
        window=(window[0], window[1]) if window else None,
        quick=quick,
        seeds=data.get("seeds"),
        baselines=data.get("baselines", {}),
        numbers=_ordered(f"trial {data['id']}: numbers", own["numbers"], _numbers_of(axes)),
        where={name: _limits(f"trial {data['id']}: where.{name}", each) for name, each in own["where"].items()},
    )


def _values(what: str, values: Sequence[Any], shared: Sequence[Any]) -> list[Any]:
    """The values of an axis; the ``shared`` ones can be given by their names. Raises ValueError for another name."""
    named = {label_of(value): value for value in shared if isinstance(value, Mapping)}
    for value in values if named else ():
        if not isinstance(value, Mapping):
            _check_name(f"{what}: {value!r}", str(value), named)
    return [value if isinstance(value, Mapping) else named.get(label_of(value), value) for value in values]


def _numbers_of(axes: Mapping[str, Sequence[Any]]) -> list[str]:
    """The names of the numbers that cells have by their axes."""
    tables = [value for values in axes.values() for value in values if isinstance(value, Mapping)]
    of_tables = [name for table in tables for name, value in table.items() if isinstance(value, int | float)]
    plain = [axis for axis, values in axes.items() if any(isinstance(value, int | float) for value in values)]
    return list(dict.fromkeys([*plain, *of_tables]))


def _ordered(what: str, numbers: Mapping[str, str], of_axes: Collection[str]) -> dict[str, str]:
    """The numbers in an order in which each needs only those ``of_axes`` and those before it. Raises ValueError."""
    from windtunnel.experiment.measures import Expression

    needs = {name: Expression.of_names(text).names for name, text in numbers.items()}
    for name, needed in needs.items():
        for other in sorted(needed):
            _check_name(f"{what}.{name}: {other!r}", other, [*of_axes, *numbers])
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise ValueError(f"{what}: need each other: {', '.join(error.args[1])}") from None
    return {name: numbers[name] for name in order if name in numbers}


def _check(data: Mapping[str, Any], trials: Sequence[Trial]) -> Criterion:
    return Criterion(
        id=data["id"],
        text=data["text"],
        value=data["value"],
        unit=data.get("unit", ""),
        trial=data["trial"] if "trial" in data or not trials else trials[0].id,
        expect=_expect(data["expect"]) if "expect" in data else None,
        why=data.get("why", ""),
        at=data.get("at", {}),
        absolute=_absolute(data["absolute"]) if "absolute" in data else None,
        source=data["absolute"]["source"] if "absolute" in data else "",
    )


def _absolute(data: Mapping[str, Any]) -> Expect:
    """``{ below = 130, source = "..." }``: a number, and who gives it."""
    return _limits("absolute", data, "source")


def _limits(what: str, data: Mapping[str, Any], *others: str) -> Expect:
    for key in data:
        _check_name(f"{what}.{key}", key, ("above", "below", *others))
    return Expect(above=data.get("above"), below=data.get("below"))


def _expect(data: Mapping[str, Any]) -> Expect:
    for key in data:
        _check_name(f"expect.{key}", key, [field.name for field in fields(Expect)])
    return Expect(**{**data, "of": tuple(data.get("of", ()))})
