"""A file of a hunt or of a tuning to what it describes. Messages name file, line and key, as those of campaigns do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args

from windtunnel._core import ScenarioError
from windtunnel.campaign.conduct import steps
from windtunnel.campaign.errors import CampaignError
from windtunnel.campaign.file import Source, blocks_of, check_keys, dotted, scenarios_of, toml_table
from windtunnel.campaign.places import Lines
from windtunnel.errors import InputError, did_you_mean
from windtunnel.experiment.axes import Block, inline
from windtunnel.experiment.measures import Condition, Expression, MetricError
from windtunnel.scenario import Scenario
from windtunnel.scenario_file import STDIN, folder_of, read_text
from windtunnel.search.dimensions import Dimension, When
from windtunnel.search.goal import Goal
from windtunnel.search.model import Hunt, Objective, Replicas, Tune
from windtunnel.search.sampler import Sampler
from windtunnel.search.space import Space
from windtunnel.search.topology import space_of

HUNT_KEYS = (
    "title", "scenario", "topology", "space", "find", "runs", "sampler", "seed", "seeds", "offsets", "check", "share",
    "finds", "shrink", "keep", "compare",
)  # fmt: skip
TUNE_KEYS = (
    "title", "scenario", "space", "paths", "held_out", "objectives", "constraints", "over", "runs", "sampler", "seed",
    "seeds", "offsets", "proof", "confidence",
)  # fmt: skip
_MOST = 1_000_000
OVER = ("mean", "worst", "relative")

Made = TypeVar("Made", Hunt, Tune)


def read_hunt(path: Path, settings: Sequence[str] = (), *, allow_read: Sequence[str | Path] = ()) -> Hunt:
    """The hunt of a file, or of the standard input (``-``). ``settings`` change its scenario. Raises InputError."""
    return _read(path, lambda table, source, folder: _hunt(table, source, folder, settings, allow_read))


def read_tune(path: Path, settings: Sequence[str] = (), *, allow_read: Sequence[str | Path] = ()) -> Tune:
    """The tuning of a file, in the same way."""
    return _read(path, lambda table, source, folder: _tune(table, source, folder, settings, allow_read))


def _read(path: Path, make: Callable[[Mapping[str, Any], Source, Path], Made]) -> Made:
    file = "standard input" if path == STDIN else str(path)
    folder = folder_of(path)
    text = read_text(path)
    table = toml_table(text, file)
    source = Source(file, Lines(text.replace("\r\n", "\n")))
    try:
        made = make(table, source, folder)
        _check_points(made)
        return replace(made, source=source)
    except CampaignError as error:
        raise source.located(error) from None


def _hunt(
    table: Mapping[str, Any], source: Source, folder: Path, settings: Sequence[str], allow_read: Sequence[str | Path]
) -> Hunt:
    check_keys([], table, HUNT_KEYS)
    dimensions = _dimensions(table)
    if "topology" in table:
        if "scenario" in table:
            raise CampaignError(["topology"], "and `scenario` are both the network: give one of them")
        if not isinstance(table["topology"], Mapping):
            raise CampaignError(["topology"], f"{table['topology']!r} is not allowed: a table", table["topology"])
        space = space_of(table["topology"], dimensions)
        made = space.make
        space = replace(space, make=lambda point: made(point).override(*settings))
    else:
        if not dimensions:
            raise CampaignError(["space"], "is missing: keys of the scenario with ranges or lists")
        base = _scenario(table, source, folder, allow_read).override(*settings)
        space = Space(tuple(dimensions), lambda _: base)
    if "find" not in table:
        raise CampaignError(["find"], "is missing: what to look for, such as minimize and below")
    seeds = _whole(table, "seeds", 3, 1)
    return Hunt(
        title=_title(table),
        space=space,
        goal=Goal.of(table["find"]),
        sampler=_sampler(table, "tpe", ("tpe", "cma-es", "random")),
        seed=_whole(table, "seed", 1, 0),
        runs=_whole(table, "runs", 300, seeds),
        seeds=seeds,
        replicas=Replicas(_bool(table, "offsets", True)),
        check=_whole(table, "check", 10, 1),
        share=_share(table, "share", 0.8),
        finds=_whole(table, "finds", 1, 1),
        shrink=_whole(table, "shrink", 300, 0),
        keep=_keep(table),
        compare=_compare(table, space),
    )


def _tune(
    table: Mapping[str, Any], source: Source, folder: Path, settings: Sequence[str], allow_read: Sequence[str | Path]
) -> Tune:
    check_keys([], table, TUNE_KEYS)
    dimensions = _dimensions(table)
    if not dimensions:
        raise CampaignError(["space"], "is missing: the parameters to tune, with ranges or lists")
    base = _scenario(table, source, folder, allow_read).override(*settings)
    objectives = _objectives(table)
    over = table.get("over", "mean")
    if over not in OVER:
        raise CampaignError(["over"], f"{over!r} is not allowed: {' or '.join(OVER)}{did_you_mean(str(over), OVER)}")
    seeds = _whole(table, "seeds", 2, 1)
    several = len(objectives) > 1
    tune = Tune(
        title=_title(table),
        base=base,
        space=Space(tuple(dimensions), lambda _: base),
        paths=_paths(table, "paths"),
        held_out=_paths(table, "held_out"),
        objectives=objectives,
        constraints=_constraints(table),
        over=over,
        sampler=_sampler(table, "tpe", ("tpe", "nsga-ii", "random") if several else ("tpe", "cma-es", "random")),
        seed=_whole(table, "seed", 1, 0),
        runs=_whole(table, "runs", 500, 1),
        seeds=seeds,
        replicas=Replicas(_bool(table, "offsets", True)),
        proof=_whole(table, "proof", 5, 2),
        confidence=_share(table, "confidence", 0.95),
    )
    if not 0.5 <= tune.confidence < 1:
        raise CampaignError(["confidence"], f"{tune.confidence!r} is not allowed: from 0.5 to below 1")
    searched = {cell.settings for cell in tune.cells(tune.paths)}
    for cell in tune.cells(tune.held_out):
        if cell.settings in searched:
            label = ", ".join(value.label for value in cell.values)
            raise CampaignError(
                ["held_out", tune.held_out[0].kind],
                f"the path {label} is one of `paths` too: what was tuned on proves nothing",
            )
    return tune


def _check_points(made: Hunt | Tune) -> None:
    """Refuse values that the scenario does not take, before the first run. Raises InputError."""
    space = made.space
    start = space.consistent({})
    if isinstance(made, Hunt) and not start:
        start = {}
    try:
        space.scenario(start).resolve_text()
    except ScenarioError as error:
        if not str(error).startswith("Scenario(...)"):
            raise
        # The table `scenario` of this file.
        raise CampaignError(["scenario", *steps(error.key or "")], str(error).partition(": ")[2]) from None
    for dimension in space.dimensions:
        for value in dimension.probes():
            point = start if dimension.when is None else _where(space, dimension.when)
            point = space.moved(point, dimension.name, value)
            _try(space.scenario(point), ("space", dimension.name), f"{dimension.shown(value)}: ")
    if isinstance(made, Tune):
        for key, blocks in (("paths", made.paths), ("held_out", made.held_out)):
            where = (key, blocks[0].kind)
            for cell in made.cells(blocks):
                label = ", ".join(value.label for value in cell.values)
                _try(made.base.override(*cell.settings), where, f"the path {label}: ")


def _where(space: Space, when: When) -> Any:
    """A point at which a dimension exists."""
    value = when.least if when.least is not None else min(when.labels, key=space[when.name].labels.index)
    other = space[when.name]
    start = space.consistent({}) if other.when is None else _where(space, other.when)
    return space.moved(start, when.name, value if isinstance(value, str) else round(value))


def _try(scenario: Scenario, path: Sequence[str], prefix: str) -> None:
    try:
        scenario.resolve_text()
    except ScenarioError as error:
        raise CampaignError(path, prefix + str(error).replace("\n  ", "; ")) from None


def _scenario(table: Mapping[str, Any], source: Source, folder: Path, allow_read: Sequence[str | Path]) -> Scenario:
    if isinstance(table.get("scenario"), list):
        raise CampaignError(["scenario"], "is one scenario here: the name of a file, or a table", table["scenario"])
    scenario = scenarios_of(table, source, folder, allow_read)
    assert isinstance(scenario, Scenario)
    return scenario


def _dimensions(table: Mapping[str, Any]) -> list[Dimension]:
    space = table.get("space", {})
    if not isinstance(space, Mapping):
        raise CampaignError(["space"], f"{space!r} is not allowed: a table of dimensions", space)
    dimensions: dict[str, Dimension] = {}
    for name, value in dotted(space):
        path = ["space", *name.split(".")]
        try:
            when = _when(value.get("when"), dimensions) if isinstance(value, Mapping) else None
            dimensions[name] = Dimension.of(name, value, when)
        except InputError as error:
            raise CampaignError(path, str(error), value) from None
    return list(dimensions.values())


def _when(value: object, dimensions: Mapping[str, Dimension]) -> When | None:
    """``when = { queue = "codel" }``, or a list of values."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or len(value) != 1:
        raise InputError(f'when: {value!r} is not allowed: a dimension above with a value, such as {{ queue = "pie" }}')
    ((name, values),) = value.items()
    if name not in dimensions or not dimensions[name].choices:
        lists = [other for other, dimension in dimensions.items() if dimension.choices]
        raise InputError(
            f"when: `{name}` is no list above; there are {', '.join(lists) or 'none'}{did_you_mean(name, lists)}"
        )
    labels = values if isinstance(values, list) else [values]
    for label in labels:
        if label not in dimensions[name].labels:
            raise InputError(f"when: {label!r} is no value of `{name}`: {', '.join(dimensions[name].labels)}")
    return When(name, frozenset(labels))


def _objectives(table: Mapping[str, Any]) -> tuple[Objective, ...]:
    objectives = table.get("objectives")
    if not isinstance(objectives, Mapping) or not objectives:
        problem = 'is not allowed: NAME = { minimize = "EXPRESSION" } or { maximize = ... }'
        raise CampaignError(
            ["objectives"], f"{objectives!r} {problem}" if objectives is not None else "is missing", objectives
        )
    parsed = []
    for name, each in objectives.items():
        path = ["objectives", name]
        match each:
            case {"minimize": str() as text} | {"maximize": str() as text} if len(each) == 1:
                try:
                    parsed.append(Objective(name, next(iter(each)), Expression.parse(text)))
                except MetricError as error:
                    raise CampaignError(path, f"{text!r}: {error}", text) from None
            case _:
                raise CampaignError(path, f'{each!r} is not allowed: {{ minimize = "EXPRESSION" }} or maximize', each)
    return tuple(parsed)


def _constraints(table: Mapping[str, Any]) -> tuple[tuple[str, Condition], ...]:
    constraints = table.get("constraints", {})
    if not isinstance(constraints, Mapping):
        raise CampaignError(["constraints"], f"{constraints!r} is not allowed: conditions with names", constraints)
    conditions = []
    for name, text in constraints.items():
        if not isinstance(text, str):
            raise CampaignError(["constraints", name], f"{text!r} is not allowed: a condition as text", text)
        try:
            conditions.append((name, Condition.parse(text)))
        except MetricError as error:
            raise CampaignError(["constraints", name], f"{text!r}: {error}", text) from None
    return tuple(conditions)


def _paths(table: Mapping[str, Any], key: str) -> tuple[Block, ...]:
    if key not in table:
        why = "axes of the scenario" if key == "paths" else "other axes, on which nothing is tuned"
        raise CampaignError([key], f"is missing: {why}, as [{key}.grid] or [{key}.zip]")
    blocks = tuple(blocks_of(table[key], key))
    if not blocks:
        raise CampaignError([key], f"has no axes: they are in [{key}.grid] or [{key}.zip]")
    return blocks


def _keep(table: Mapping[str, Any]) -> tuple[str, ...]:
    keys = table.get("keep", [])
    if not isinstance(keys, list) or not all(isinstance(key, str) and key for key in keys):
        raise CampaignError(["keep"], f"{keys!r} is not allowed: a list of keys of the scenario", keys)
    return tuple(keys)


def _compare(table: Mapping[str, Any], space: Space) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """``compare = { "plain CUBIC" = { "flow.a.cc" = "cubic" } }``."""
    compared = table.get("compare", {})
    if not isinstance(compared, Mapping):
        raise CampaignError(["compare"], f"{compared!r} is not allowed: names with settings", compared)
    named = []
    for name, settings in compared.items():
        if not isinstance(settings, Mapping) or not settings:
            problem = 'is not allowed: settings, such as { "flow.a.cc" = "cubic" }'
            raise CampaignError(["compare", name], f"{settings!r} {problem}", settings)
        lines = tuple(f"{key}={inline(value)}" for key, value in settings.items())
        _try(space.scenario(space.consistent({})).override(*lines), ("compare", name), "")
        named.append((name, lines))
    return tuple(named)


def _title(table: Mapping[str, Any]) -> str:
    title = table.get("title", "")
    if not isinstance(title, str):
        raise CampaignError(["title"], f"{title!r} is not allowed: a text", title)
    return title


def _sampler(table: Mapping[str, Any], default: Sampler, allowed: Sequence[str]) -> Sampler:
    name = table.get("sampler", default)
    if name not in allowed or name not in get_args(Sampler):
        hint = did_you_mean(str(name), allowed)
        raise CampaignError(["sampler"], f"{name!r} is not allowed here: {', '.join(allowed)}{hint}", name)
    sampler: Sampler = name
    return sampler


def _whole(table: Mapping[str, Any], key: str, default: int, least: int) -> int:
    value = table.get(key, max(default, least))
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise CampaignError([key], f"{value!r} is not allowed: a whole number from {least} to {_MOST}", value)
    return value


def _share(table: Mapping[str, Any], key: str, default: float) -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise CampaignError([key], f"{value!r} is not allowed: more than 0, at most 1", value)
    return float(value)


def _bool(table: Mapping[str, Any], key: str, default: bool) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise CampaignError([key], f"{value!r} is not allowed: true or false", value)
    return value
