"""What the classifier of controllers is trained on: runs over paths of many families.

A family is a queue or an impairment; everything else is spread over its range: rates of 1 Mbit/s to 1 Gbit/s,
round-trip times of 5 to 300 ms, other flows, marks or drops, and how the receiver acknowledges. All controllers run
over the same paths. A path follows from its number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import windtunnel
from windtunnel.explain.shadows import AS_PUBLISHED
from windtunnel.kinds import has_trait

#: The flow under test.
ONE = "one"
#: Mbit/s, ms, seconds.
_RATES, _RTTS, _LENGTHS = (1.0, 1000.0), (5.0, 300.0), (8.0, 60.0)
#: Runs with more packets tell no more. A run at a high rate is short; where it would have too few round trips, the rate
#: is lower.
_MOST_PACKETS, _PACKET_BITS = 30_000, 12_000
_LEAST_ROUND_TRIPS, _LEAST_S = 100, 4.0
#: Every 24th path of a family is fast: it has more packets, and a rate and a round-trip time from other ranges.
_FAST_EVERY, _FAST_PACKETS, _FAST_RATES, _FAST_RTTS = 24, 150_000, (100.0, 1000.0), (5.0, 50.0)
#: How the receiver acknowledges, and how often: as Linux does, each segment, every fourth one; and with most pure ACKs
#: left out on their way.
_ACKS = {"linux": 0.7, "immediate": 0.1, "every fourth": 0.1, "thinned": 0.1}
_ACK_POLICIES = {"linux": {}, "immediate": {"policy": "immediate"}, "every fourth": {"policy": "every", "count": 4}}
_THINNING = {"kind": "ack-thinning", "keep_every": 4}
#: How many other flows there are, and how often.
_OTHERS = (0.55, 0.25, 0.1, 0.1)
_OTHER_CONTROLLERS = ("reno", "cubic")


@dataclass(frozen=True)
class Path:
    """A path, and what happens on it."""

    family: str
    number: int
    rate_mbps: float
    rtt_ms: float
    seconds: float
    #: The queue marks packets of flows with ECN.
    marks: bool
    #: The controllers of other flows.
    others: tuple[str, ...]
    #: How the receivers acknowledge.
    acks: str
    bottleneck: Mapping[str, Any]


Draw = Callable[[float, float], float]


def _tail_drop(bdp: float) -> Callable[[Draw, float, float], dict[str, Any]]:
    return lambda _draw, _rate, _rtt: {"queue": {"kind": "fifo", "limit": f"{bdp} bdp"}}


def _aqm(kind: str, **keys: Any) -> Callable[[Draw, float, float], dict[str, Any]]:
    return lambda _draw, _rate, _rtt: {"queue": {"kind": kind, **keys}}


def _police(draw: Draw, rate: float, rtt: float) -> dict[str, Any]:
    burst = max(15_000, draw(0.1, 1.0) * rate * 1e6 / 8 * rtt / 1e3)
    return {
        "rate": f"{4 * rate} Mbit/s",
        "queue": {"kind": "police", "rate": f"{rate} Mbit/s", "burst": f"{burst:.0f} B"},
    }


def _impaired(make: Callable[[Draw, float], dict[str, Any]]) -> Callable[[Draw, float, float], dict[str, Any]]:
    def bottleneck(draw: Draw, _rate: float, rtt: float) -> dict[str, Any]:
        return {"queue": {"kind": "fifo", "limit": f"{draw(0.7, 3):.2f} bdp"}, "impair": [make(draw, rtt)]}

    return bottleneck


#: Families, each with its bottleneck.
FAMILIES: Mapping[str, Callable[[Draw, float, float], dict[str, Any]]] = {
    "tail drop of 0.4 BDP": _tail_drop(0.4),
    "tail drop of 1 BDP": _tail_drop(1),
    "tail drop of 2 BDP": _tail_drop(2),
    "tail drop of 4 BDP": _tail_drop(4),
    "RED": _aqm("red", limit="4 bdp", probability="10 %"),
    "PIE": _aqm("pie"),
    "CoDel": _aqm("codel"),
    "FQ-CoDel": _aqm("fq_codel"),
    "CAKE": _aqm("cake"),
    "DualPI2": _aqm("dualpi2"),
    "policer": _police,
    "random loss": _impaired(
        lambda draw, _: {"kind": "loss", "probability": f"{draw(0.1, 1.5):.3f} %", "affects": "data"}
    ),
    "jitter": _impaired(
        lambda draw, rtt: {
            "kind": "jitter",
            "distribution": "uniform",
            **dict.fromkeys(("mean", "deviation"), f"{min(draw(1, 6), rtt / 4):.2f} ms"),
        }
    ),
    "reordering": _impaired(
        lambda draw, rtt: {"kind": "reordering", "probability": f"{draw(0.2, 2):.2f} %", "delay": f"{rtt / 8:.2f} ms"}
    ),
    "aggregation": _impaired(
        lambda draw, _: {"kind": "aggregation", "hold": f"{draw(1.5, 5.5):.2f} ms", "packets": round(draw(16, 64))}
    ),
    "Wi-Fi": _impaired(lambda draw, _: {"kind": "jitter", "distribution": "wifi", "mean": f"{draw(1, 4):.2f} ms"}),
}
_CAN_MARK = ("red", "pie", "codel", "fq_codel", "cake", "dualpi2")


def path(family: str, number: int) -> Path:
    """The path of a family with this number."""
    random = np.random.default_rng((sorted(FAMILIES).index(family), number))

    def draw(low: float, high: float) -> float:
        """Logarithms are spread evenly."""
        return float(low * (high / low) ** random.random())

    fast = number % _FAST_EVERY == _FAST_EVERY - 1
    rates, rtts = (_FAST_RATES, _FAST_RTTS) if fast else (_RATES, _RTTS)
    rate, rtt, seconds = draw(*rates), draw(*rtts), draw(*_LENGTHS)
    bits = (_FAST_PACKETS if fast else _MOST_PACKETS) * _PACKET_BITS
    least = max(_LEAST_ROUND_TRIPS * rtt / 1e3, 0.0 if fast else _LEAST_S)
    seconds = max(min(seconds, bits / (1e6 * rate)), least)
    rate = min(rate, bits / 1e6 / seconds)
    # Two segments are the least window.
    rate = max(rate, 6 * _PACKET_BITS / 1e3 / rtt)
    marks = bool(random.random() < 0.5)
    others = tuple(random.choice(_OTHER_CONTROLLERS, random.choice(len(_OTHERS), p=_OTHERS)).tolist())
    acks = str(random.choice(list(_ACKS), p=list(_ACKS.values())))
    rate, rtt, seconds = round(rate, 3), round(rtt, 3), round(seconds, 2)
    bottleneck = {"rate": f"{rate} Mbit/s", **FAMILIES[family](draw, rate, rtt)}
    queue = bottleneck["queue"]
    marks &= queue["kind"] in _CAN_MARK
    # CAKE and DualPI2 always do.
    if marks and queue["kind"] not in ("cake", "dualpi2"):
        queue["ecn"] = True
    return Path(family, number, rate, rtt, seconds, marks, others, acks, bottleneck)


def scenario(controller: str, over: Path) -> windtunnel.Scenario:
    """The run, with its packets."""
    rtt = f"{over.rtt_ms} ms"
    cc = {"kind": controller, **AS_PUBLISHED.get(controller, {})}
    ack = _ACK_POLICIES.get(over.acks, {})
    one: dict[str, Any] = {"name": ONE, "cc": cc, "rtt": rtt, "ack": ack}
    # Controllers that answer shares of marks have a feedback of their own.
    if over.marks and not has_trait(controller, "scalable"):
        one["ecn"] = True
    flows = [one]
    for number, other in enumerate(over.others, 1):
        flows.append(
            {
                "name": f"other {number}",
                "cc": other,
                "rtt": rtt,
                "start": f"{0.5 * number} s",
                "ecn": over.marks,
                "ack": ack,
            }
        )
    back = {"rate": "1 Gbit/s", "impair": [_THINNING]}
    return windtunnel.Scenario(
        duration=f"{over.seconds} s",
        seed=1 + over.number,
        bottleneck=dict(over.bottleneck),
        flows=flows,
        reverse=back if over.acks == "thinned" else None,
        record={"packets": True, "interval": "100 ms"},
    )
