"""A find to the smallest scenario that still has the property: what is left is what it takes.

In turn, and as long as fresh runs still show the property: each dimension back to what the scenario has without it,
flows out, a shorter run, other keys back to their defaults, rounder numbers. That is the greedy minimization of
property testing: each step is tried, but another order might lead elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from windtunnel._core import ScenarioError, quantity
from windtunnel.experiment.ranges import written
from windtunnel.scenario import Scenario
from windtunnel.search.dimensions import Coordinate, Dimension, Point
from windtunnel.search.laboratory import Answer, Search
from windtunnel.search.model import Hunt
from windtunnel.search.written import Steps, leaves, named, overlap, path_of, table_of, without

#: A run is not made shorter than this share of it: a property that only holds while flows start is another one.
_SHORTEST = 0.25
#: Keys that are no part of what happens.
_KEPT = {"title", "name", "duration", "seed", "window", "record"}


@dataclass(frozen=True)
class Variant:
    """A point, with a part of its duration, and without some keys and flows."""

    point: Point
    share: float = 1.0
    dropped: tuple[Steps, ...] = ()

    def scenario(self, hunt: Hunt) -> Scenario:
        """Its scenario. Raises ScenarioError."""
        whole = hunt.space.scenario(self.point)
        if self.share == 1 and not self.dropped:
            return whole
        _, file, _, allow_read, _ = whole.arguments
        table = without(table_of(whole), self.dropped)
        if self.share < 1:
            table["duration"] = _part(table["duration"], self.share)
            for window in table.get("window", []):
                for key in ("from", "to"):
                    if key in window:
                        window[key] = _part(window[key], self.share)
        return Scenario.from_table(table, file=file, allow_read=allow_read)


def _part(duration: str, share: float) -> str:
    return str(written(float(f"{quantity(duration) * share:.6g}"), "s"))


@dataclass
class Shrunk:
    """The smallest variant, what was taken away, and how many runs that took."""

    variant: Variant
    steps: list[str] = field(default_factory=list)
    runs: int = 0
    complete: bool = True
    """Whether there were runs enough to try everything."""


@dataclass(frozen=True)
class Held:
    """In how many of how many runs the property held, and the values."""

    values: tuple[float, ...]
    held: int

    @property
    def share(self) -> float:
        """Of the runs."""
        return self.held / len(self.values)


def holds(hunt: Hunt, variant: Variant, first: int, count: int) -> Search[Held]:
    """Run a variant with fresh seeds, those from number ``first`` on."""
    try:
        scenario = variant.scenario(hunt)
    except (ScenarioError, ValueError):
        return Held((float("nan"),) * count, 0)
    answers = yield hunt.replicas.of(scenario, first, count)
    return held_of(hunt, answers)


def held_of(hunt: Hunt, answers: Sequence[Answer]) -> Held:
    """How often the property held in some runs."""
    values = tuple(answer.values[0] for answer in answers)
    return Held(values, sum(hunt.goal.holds(value) for value in values))


def shrink(hunt: Hunt, point: Point) -> Search[Shrunk]:
    """The smallest variant of a point with the property; the property holds at the point."""
    shrunk = Shrunk(Variant(point))
    for stage in (_dimensions, _flows, _duration, _keys, _numbers):
        failed: set[str] = set()
        while True:
            for said, smaller in stage(hunt, shrunk.variant):
                if said in failed:
                    continue
                if shrunk.runs + hunt.check > hunt.shrink:
                    shrunk.complete = False
                    return shrunk
                held = yield from holds(hunt, smaller, hunt.seeds, hunt.check)
                shrunk.runs += hunt.check
                if held.share >= hunt.share:
                    shrunk.variant = smaller
                    shrunk.steps.append(said)
                    break
                failed.add(said)
            else:
                break  # nothing in this stage makes it smaller
    return shrunk


def _dimensions(hunt: Hunt, variant: Variant) -> Iterator[tuple[str, Variant]]:
    """Each dimension at its simplest."""
    for dimension in hunt.space.dimensions:
        if dimension.name in variant.point and variant.point[dimension.name] != dimension.simplest:
            point = hunt.space.without(variant.point, dimension.name)
            if point != variant.point:
                yield f"{dimension.name}: {dimension.shown(dimension.simplest)}", replace(variant, point=point)


def keys_of(dimension: Dimension, table: dict[str, Any]) -> list[Steps]:
    """The paths that a dimension sets."""
    settings = [s for value in dimension.choices for s in value.settings]
    return [path_of(table, key) for key in dict.fromkeys((*dimension.keys, *(s.partition("=")[0] for s in settings)))]


def changed(hunt: Hunt, variant: Variant, name: str, to: Coordinate) -> Variant:
    """The variant with another value of a dimension, also where its keys had been taken away."""
    table = table_of(hunt.space.scenario(variant.point))
    own = keys_of(hunt.space[name], table)
    dropped = tuple(path for path in variant.dropped if not any(overlap(path, key) for key in own))
    return replace(variant, point=hunt.space.moved(variant.point, name, to), dropped=dropped)


def _flows(hunt: Hunt, variant: Variant) -> Iterator[tuple[str, Variant]]:
    """One flow less; not of those that the property names by their number, or that are before them."""
    table = table_of(hunt.space.scenario(variant.point))
    numbers = [int(n) for n in re.findall(r"flows[.\[](\d+)", hunt.goal.quantity.text)]
    numbers += [
        int(n) for n in re.findall(r"flow\.(\d+)\.", " ".join(k for d in hunt.space.dimensions for k in d.keys))
    ]
    flows = table.get("flow", [])
    for index in range(max(numbers, default=-1) + 1, len(flows)):
        path: Steps = ("flow", index)
        if any(overlap(path, path_of(table, key)) for key in hunt.keep):
            continue
        if path not in variant.dropped and len(flows) - sum(p[:1] == ("flow",) for p in variant.dropped) > 1:
            yield f"without flow[{index}]", replace(variant, dropped=(*variant.dropped, path))


def _duration(hunt: Hunt, variant: Variant) -> Iterator[tuple[str, Variant]]:
    """Half of the duration, with all windows."""
    if variant.share / 2 >= _SHORTEST and "duration" not in hunt.keep:
        share = variant.share / 2
        yield f"{100 * share:g} % of the duration", replace(variant, share=share)


def _keys(hunt: Hunt, variant: Variant) -> Iterator[tuple[str, Variant]]:
    """One key of the scenario less, which is then at its default."""
    table = table_of(hunt.space.scenario(variant.point))
    kept = [path_of(table, key) for key in hunt.keep]
    # The space's own keys have been tried; those that are left are needed.
    kept += [path for d in hunt.space.dimensions if d.name in variant.point for path in keys_of(d, table)]
    for path in leaves(table):
        gone = any(path[: len(dropped)] == dropped for dropped in variant.dropped)
        if gone or isinstance(path[-1], int) or _KEPT & {part for part in path if isinstance(part, str)}:
            continue
        if any(overlap(path, other) for other in kept):
            continue
        smaller = replace(variant, dropped=(*variant.dropped, path))
        try:
            smaller.scenario(hunt).resolve_text()
        except (ScenarioError, ValueError):
            continue  # it is required
        yield f"{named(path)}: its default", smaller


def _numbers(hunt: Hunt, variant: Variant) -> Iterator[tuple[str, Variant]]:
    """Each number with one digit, or with two."""
    for dimension in hunt.space.dimensions:
        value = variant.point.get(dimension.name)
        if value is None or isinstance(value, str):
            continue
        for digits in (1, 2):
            rounder = dimension.rounded(value, digits)
            if len(f"{rounder:.12g}".strip("0.")) < len(f"{value:.12g}".strip("0.")):
                point = hunt.space.moved(variant.point, dimension.name, rounder)
                yield f"{dimension.name}: {dimension.shown(rounder)}", replace(variant, point=point)
