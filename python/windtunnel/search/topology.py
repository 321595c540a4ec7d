"""Topologies and traffic that are drawn, for who asks "and what about this topology".

A dumbbell, or a parking lot: hops in a row, where the first flow crosses all of them, and each other flow one. All that
is drawn is a dimension, and the scenario is a function of the point, valid by construction: so it can be shrunk and
explained as any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.campaign.errors import CampaignError
from windtunnel.errors import InputError, did_you_mean
from windtunnel.experiment.axes import Value
from windtunnel.scenario import Scenario
from windtunnel.search.dimensions import Coordinate, Dimension, Point, When
from windtunnel.search.space import Space

KEYS = ("kinds", "flows", "hops", "rate", "rtt", "buffer", "queues", "controllers", "first", "applications", "duration")
KINDS = ("dumbbell", "parking lot")
#: What an application's name stands for, where the name alone is not enough.
APPLICATIONS: dict[str, Any] = {
    "bulk": "bulk",
    "on-off": "on-off",
    "request-response": "request-response",
    "poisson": {"kind": "poisson", "load": "1 Mbit/s"},
}
_MOST_FLOWS, _MOST_HOPS = 64, 8
#: Of a hop; the rest of a flow's round-trip time is before and behind its hops.
_HOP_DELAY = "0.2 ms"


def space_of(options: Mapping[str, Any], more: Sequence[Dimension] = ()) -> Space:
    """The space of a table ``[topology]``, with further dimensions. Raises CampaignError."""
    for key in options:
        if key not in KEYS:
            problem = f"is not a key here; the keys are {', '.join(KEYS)}{did_you_mean(key, KEYS)}"
            raise CampaignError(["topology", key], problem, key)
    kinds = _texts(options, "kinds", list(KINDS), KINDS)
    controllers = _texts(options, "controllers", ["cubic", "reno"])
    queues = _texts(options, "queues", ["fifo"])
    applications = _texts(options, "applications", ["bulk"], tuple(APPLICATIONS))
    least, most = _whole(options, "flows", [2, 4], 1, _MOST_FLOWS)
    hops = _whole(options, "hops", [2, 3], 2, _MOST_HOPS)
    first, duration = options.get("first"), options.get("duration", "20 s")
    for key, text in (("first", first), ("duration", duration)):
        if text is not None and not isinstance(text, str):
            raise CampaignError(["topology", key], f"{text!r} is not allowed: a text", text)

    dimensions = [_choice("kind", kinds)]
    if "parking lot" in kinds:
        dimensions.append(_count("hops", hops, When("kind", frozenset({"parking lot"}))))
    dimensions += [
        _count("flows", (least, most)),
        _range(options, "rate", {"from": "5 Mbit/s", "to": "50 Mbit/s", "spacing": "log"}),
        _choice("queue", queues),
    ]
    if "fifo" in queues:
        default = {"from": "5 ms", "to": "200 ms", "spacing": "log"}
        dimensions.append(_range(options, "buffer", default, When("queue", frozenset({"fifo"}))))
    for flow in range(most):
        when = When("flows", least=flow + 1) if flow >= least else None
        dimensions += [
            _choice(f"f{flow} cc", [first] if first is not None and not flow else controllers, when),
            _range(options, "rtt", {"from": "10 ms", "to": "100 ms", "spacing": "log"}, when, f"f{flow} rtt"),
            _choice(f"f{flow} app", applications, when),
        ]
    drawn = {dimension.name: dimension for dimension in dimensions}
    return Space((*dimensions, *more), lambda point: Scenario.from_table(table(drawn, point, duration)))


def table(drawn: Mapping[str, Dimension], point: Point, duration: str) -> dict[str, Any]:
    """The scenario of a point, as plain data."""
    value = {name: drawn[name].written(at) for name, at in point.items() if name in drawn}
    queue = value["queue"]
    if queue == "fifo":
        queue = {"kind": "fifo", "limit": value["buffer"]}
    flows = [
        {
            "name": f"f{flow}",
            "cc": value[f"f{flow} cc"],
            "rtt": value[f"f{flow} rtt"],
            "app": APPLICATIONS[value[f"f{flow} app"]],
        }
        for flow in range(int(value["flows"]))
    ]
    if value["kind"] == "dumbbell":
        return {"duration": duration, "bottleneck": {"rate": value["rate"], "queue": queue}, "flow": flows}
    hops = int(value["hops"])
    for index, flow in enumerate(flows):
        hop = (index - 1) % hops
        flow["from"], flow["to"] = ("n0", f"n{hops}") if not index else (f"n{hop}", f"n{hop + 1}")
    links = [
        {"name": f"hop{hop}", "from": f"n{hop}", "to": f"n{hop + 1}", "rate": value["rate"], "delay": _HOP_DELAY,
         "queue": queue}
        for hop in range(hops)
    ]  # fmt: skip
    return {"duration": duration, "node": [{"name": f"n{n}"} for n in range(hops + 1)], "link": links, "flow": flows}


def _choice(name: str, labels: Sequence[str], when: When | None = None) -> Dimension:
    return Dimension(name, choices=tuple(Value(label, ()) for label in labels), when=when, simplest=labels[0])


def _count(name: str, limits: tuple[int, int], when: When | None = None) -> Dimension:
    return Dimension(name, low=limits[0], high=limits[1], whole=True, when=when, simplest=limits[0])


def _range(
    options: Mapping[str, Any], key: str, default: Mapping[str, Any], when: When | None = None, name: str = ""
) -> Dimension:
    try:
        dimension = Dimension.of(key, options.get(key, default))
    except InputError as error:
        raise CampaignError(["topology", key], str(error), options.get(key)) from None
    if dimension.choices:
        raise CampaignError(["topology", key], "is a range { from, to, spacing }", options.get(key))
    middle = dimension.probes()[1]
    assert not isinstance(middle, str)
    simplest: Coordinate = dimension.rounded(middle, 1)
    return Dimension(
        name or key, (), (), dimension.low, dimension.high, dimension.unit, dimension.log, dimension.whole, when,
        simplest,
    )  # fmt: skip


def _texts(options: Mapping[str, Any], key: str, default: list[str], allowed: Sequence[str] = ()) -> list[str]:
    texts = options.get(key, default)
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise CampaignError(["topology", key], f"{texts!r} is not allowed: a list of names", texts)
    if len(set(texts)) < len(texts):
        raise CampaignError(["topology", key], "a name is there twice", texts)
    for text in texts:
        if allowed and text not in allowed:
            problem = f"{text!r} is not allowed: {', '.join(allowed)}{did_you_mean(text, allowed)}"
            raise CampaignError(["topology", key], problem, text)
    return texts


def _whole(options: Mapping[str, Any], key: str, default: list[int], least: int, most: int) -> tuple[int, int]:
    limits = options.get(key, default)
    match limits:
        case [int() as low, int() as high] if least <= low <= high <= most:
            return low, high
    problem = f"{limits!r} is not allowed: [least, most], from {least} to {most}"
    raise CampaignError(["topology", key], problem, limits)
