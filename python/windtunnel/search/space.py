"""The space of a search: its dimensions, in order, and the scenario at each of its points.

The scenario is a base with settings, or a topology made from the point (``topology.py``) with settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from windtunnel.scenario import Scenario
from windtunnel.search.dimensions import Dimension, Point

if TYPE_CHECKING:
    import optuna

Make: TypeAlias = Callable[[Point], Scenario]


@dataclass(frozen=True)
class Space:
    """``make`` gives the scenario of a point, before the settings of its dimensions."""

    dimensions: tuple[Dimension, ...]
    make: Make

    def draw(self, trial: optuna.Trial) -> Point:
        """A point from the sampler; a dimension that depends on others comes after them."""
        point: Point = {}
        for dimension in self.dimensions:
            if dimension.when is None or dimension.when.holds(point):
                point[dimension.name] = dimension.draw(trial)
        return point

    def __getitem__(self, name: str) -> Dimension:
        return next(dimension for dimension in self.dimensions if dimension.name == name)

    def scenario(self, point: Point) -> Scenario:
        """The scenario at a point; it may be one that the core refuses."""
        settings = [s for d in self.dimensions if d.name in point for s in d.settings(point[d.name])]
        return self.make(point).override(*settings)

    def without(self, point: Point, name: str) -> Point:
        """The point with a dimension at its simplest, and without what then does not exist."""
        dimension = self[name]
        changed = {key: value for key, value in point.items() if key != name}
        if dimension.simplest is not None:
            changed[name] = dimension.simplest
        return self.consistent(changed)

    def moved(self, point: Point, name: str, to: float | int | str) -> Point:
        """The point with another value of a dimension; what exists only then has its first probe."""
        return self.consistent({**point, name: to})

    def consistent(self, point: Point) -> Point:
        """The point without dimensions that do not exist at it, and with those that topologies need."""
        kept: Point = {}
        for dimension in self.dimensions:
            if dimension.when is not None and not dimension.when.holds(kept):
                continue
            value = point.get(dimension.name, dimension.simplest)
            if value is not None:
                kept[dimension.name] = value
        return kept

    def shown(self, point: Point) -> str:
        """A point in one line."""
        return ", ".join(f"{d.name} = {d.shown(point[d.name])}" for d in self.dimensions if d.name in point)

    def distance(self, a: Point, b: Point) -> float:
        """How different two points are: 1 where a listed value differs, else the largest difference of places."""
        far = 0.0
        for dimension in self.dimensions:
            x, y = a.get(dimension.name), b.get(dimension.name)
            if x is None or y is None or dimension.choices:
                far = max(far, float(x != y))
            else:
                far = max(far, abs(dimension.place(x) - dimension.place(y)))
        return far
