"""Published readings that have a place in a panel: a point, a level over some time, or a moment.

What a reading is follows from the method that reads the same from a run (``features``): ``value_at(20)`` is a point at
20 s, ``max(10, 30)`` a level from 10 to 30 s, ``fall_t(1, ...)`` with ``fall_peak(1, ...)`` a point: the one
gives its time and the other its height. Counts, periods and ratios have no place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from windtunnel.experiment.measures.language import call_of


class Published(Protocol):
    """A number read from a panel of a published figure, with the method that computes it from a run."""

    @property
    def panel(self) -> str: ...  # noqa: D102
    @property
    def flow(self) -> str: ...  # noqa: D102
    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def value(self) -> float: ...  # noqa: D102
    @property
    def error(self) -> float: ...  # noqa: D102


@dataclass(frozen=True)
class Reading:
    """A place in a panel, in seconds and the table's unit: without ``y`` a moment, without ``x`` the end of an axis.

    With ``until`` it is a level from ``x`` to there, and ``label`` says which one. ``flow`` is the number of the flow.
    """

    panel: str
    x: float | None
    y: float | None
    x_error: float = 0.0
    y_error: float = 0.0
    until: float | None = None
    label: str = ""
    flow: int | None = None


#: By the method that gives a height: the one with the same arguments that gives its time.
_TIMES = {
    "fall_peak": "fall_t",
    "spike": "spike_t",
    "mark_hz": "mark_t",
    "peak": "t_peak",
    "max": "t_max",
    "min": "t_min",
    "knee_value": "knee_t",
}
_FIRST = {"first_fall_t": "fall_t", "first_mark_t": "mark_t"}
#: Methods that give a level over the time between their first two arguments, and what it is the level of.
_LEVELS = {
    "bin_mean": "mean",
    "upper": "upper edge",
    "median": "median",
    "max": "max",
    "min": "min",
    "fall_peak_mean": "peaks",
    "fall_trough_mean": "troughs",
    "spike_mean": "spikes",
}
#: Methods that give a height at the time that is their first argument, and moments.
_POINTS = {"value_at", "mid_at", "last_before"}
_MOMENTS = {"fall_t", "mark_t", "spike_t", "t_first_empty", "t_settled", "last_mark_t", "t_last_above"}


def readings(features: Sequence[Published]) -> tuple[Reading, ...]:
    """The features that have a place, each once: where a point has both, the time is no moment besides."""
    listed = [(feature, *_canonical(feature.method)) for feature in features if feature.method]
    times = {
        (f.panel, f.flow, name, arguments): f for f, name, arguments in listed if name in {*_TIMES.values(), *_MOMENTS}
    }
    points: list[Reading] = []
    used: set[tuple[str, str, str, tuple[float | str, ...]]] = set()
    for feature, name, arguments in listed:
        key = (feature.panel, feature.flow, _TIMES.get(name, ""), arguments)
        if key in times:
            used.add(key)
        reading = _reading(feature, name, arguments, times.get(key))
        if reading is not None:
            points.append(reading)
    moments = (f for key, f in times.items() if key not in used and key[2] in _MOMENTS)
    return (*points, *(Reading(f.panel, f.value, None, x_error=f.error) for f in moments))


def _canonical(method: str) -> tuple[str, tuple[float | str, ...]]:
    name, arguments = call_of(method)
    if name in _FIRST:
        return _FIRST[name], (1.0, *arguments)
    return name, tuple(arguments)


def _reading(feature: Published, name: str, arguments: Sequence[float | str], time: Published | None) -> Reading | None:
    panel, y, error = feature.panel, feature.value, feature.error
    if time is not None:
        return Reading(panel, time.value, y, time.error, error)
    if name in _POINTS:
        return Reading(panel, float(arguments[0]), y, y_error=error)
    flow = int(feature.flow) if feature.flow.isdecimal() else None
    if name in _LEVELS:
        start, end = (float(each) for each in arguments[:2])
        return Reading(panel, start, y, y_error=error, until=end, label=_LEVELS[name], flow=flow)
    if name == "quantile":
        share, start, end = (float(each) for each in arguments)
        return Reading(panel, start, y, y_error=error, until=end, label=f"P{100 * share:g}", flow=flow)
    if name == "first_at_least" and len(arguments) == 2:
        return Reading(panel, y, float(arguments[1]), x_error=error)
    return Reading(panel, None, y, y_error=error) if name in ("axis_y_max", "peak") else None


def by_panel(listed: Sequence[Reading]) -> Mapping[str, list[Reading]]:
    """The readings of each panel."""
    panels: dict[str, list[Reading]] = {}
    for reading in listed:
        panels.setdefault(reading.panel, []).append(reading)
    return panels
