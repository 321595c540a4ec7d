"""Scenarios of a trial: placeholders replaced, axes multiplied out, and a seed's start offsets.

A seed sets every random stream of a run, and where in its first round trip each flow starts
(``windtunnel/start_offsets.py``): two flows in one queue depend on their phases.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

from windtunnel.evaluate.pack import Trial
from windtunnel.start_offsets import moved

#: Offsets are at most this long: a round trip of a second would move what a scenario does at a given time.
_MOST_S = 0.1

#: The value of a placeholder that leaves a key out, so that the algorithm's own default holds.
_OWN_NAME = "own"
OWN = object()

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}

#: Series of single events are not kept; what is measured comes from totals and from rows of this interval.
_RECORD = {"interval": "100 ms", "points": "0 s", "state": "off"}


@dataclass(frozen=True)
class Combination:
    """One combination of a trial's axes: labels to show, and the values of its placeholders."""

    labels: tuple[tuple[str, str], ...]
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """As in ``buffer=4, rival=cubic``; empty for a trial without axes."""
        return ", ".join(f"{axis}={label}" for axis, label in self.labels)


def cells(trial: Trial, variables: Mapping[str, Any], *, quick: bool) -> Iterator[Combination]:
    """Every combination of the axes that counts. A value that is a table has a ``name``, and sets several placeholders;
    the trial's numbers are placeholders, too.
    """
    axes = {**trial.axes, **(trial.quick if quick else {})}
    for chosen in itertools.product(*axes.values()):
        values, labels = dict(variables), []
        for axis, value in zip(axes, chosen, strict=True):
            if isinstance(value, Mapping):
                values |= {axis: value["name"]} | {key: v for key, v in value.items() if key != "name"}
                labels.append((axis, str(value["name"])))
            else:
                values[axis] = value
                labels.append((axis, str(value)))
        for name, text in trial.numbers.items():
            values[name] = _number(text, values)
        between = ((name, *expect.limits) for name, expect in trial.where.items())
        if all(low <= values[name] <= high for name, low, high in between):
            yield Combination(tuple(labels), values)


def _number(text: str, values: Mapping[str, Any]) -> float:
    """What an expression is in a cell, as scenarios write it: whole where it is, and with at most six places."""
    from windtunnel.experiment.measures import Expression

    numbers = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
    number = round(Expression.of_names(text).of_numbers(numbers), 6)
    return int(number) if number.is_integer() else number


def scenario(trial: Trial, cell: Combination, title: str, seed: int, subject: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario of one run as plain data. ``subject`` replaces ``$cc`` or ``$queue``; with a ``stack``, the flows of
    ``$cc`` run over it.
    """
    data = _filled(trial.scenario, {**cell.values, **subject})
    if "stack" in subject:
        for written, flow in zip(trial.scenario["flow"], data["flow"], strict=True):
            if written.get("cc") == "$cc":
                flow["stack"] = copy.deepcopy(subject["stack"])
    data = {"title": title, "seed": seed, **data}
    data["record"] = {**_RECORD, **data.get("record", {})}
    if trial.window:
        start, end = (float(cell.values[edge] if isinstance(edge, str) else edge) for edge in trial.window)
        data["window"] = [{"name": "measured", "from": f"{start:.9g} s", "to": f"{end:.9g} s"}, *data.get("window", ())]
    for link in (data.get("bottleneck"), *data.get("link", ())):
        if link is not None and isinstance(link.get("changes"), Mapping):
            link["changes"] = list(_changes(link["changes"]))
    for number, flow in enumerate(data["flow"]):
        _offset(flow, number, seed)
    return data


def _changes(rule: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Changes of a rate at equal intervals: ``{ from, to, every, rates }``, the rates in turn."""
    start, end, step = (_seconds(rule[key]) for key in ("from", "to", "every"))
    for k in range(round((end - start) / step)):
        yield {"at": f"{(start + k * step) * 1e3:.0f} ms", "rate": rule["rates"][k % len(rule["rates"])]}


def metrics(trial: Trial, cell: Combination) -> dict[str, str]:
    """The trial's metrics, with the cell's placeholders replaced."""
    return {name: str(_filled(text, cell.values)) for name, text in trial.metrics.items()}


def _offset(flow: dict[str, Any], number: int, seed: int) -> None:
    """Move the start of a flow within its round trip; a flow with spans of its own stays where it is."""
    if "active" in flow:
        return
    rtt = min(_seconds(flow.get("rtt", "50 ms")), _MOST_S)
    start = _seconds(flow.get("start", "0 s"))
    flow["start"] = moved(start, rtt, number, seed)


def _seconds(text: str) -> float:
    """A time as the packs write them: a number, a blank, and s, ms or us."""
    match = re.fullmatch(r"([\d.]+) (s|ms|us)", text)
    if match is None:
        raise ValueError(f"{text!r} is not a time in s, ms or us")
    return float(match[1]) * _UNITS[match[2]]


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """``value`` with placeholders replaced; a text that is a placeholder and nothing else becomes its value."""
    if isinstance(value, str):
        name = value.removeprefix("$")
        if value.startswith("$") and name in values:
            return OWN if values[name] == _OWN_NAME else copy.deepcopy(values[name])
        return Template(value).substitute(values) if "$" in value else value
    if isinstance(value, Mapping):
        filled = {key: _filled(v, values) for key, v in value.items()}
        return {key: v for key, v in filled.items() if v is not OWN}
    if isinstance(value, Sequence):
        return [_filled(v, values) for v in value]
    return value
