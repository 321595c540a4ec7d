"""Queues of a resolved scenario as tc's words: tc-codel(8), tc-red(8), tc-pie(8), tc-fq_codel(8), tc-cake(8) and so on.

Parameters are named as in tc, so that most of this is a list of the names that tc knows. What only a simulator has
(``hash = "perfect"``, ``age``, variants of an algorithm) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windtunnel.export.tc.words import bits_per_s, plain, seconds, size, tc_rate, tc_size, tc_time

Queue = Mapping[str, Any]
Words = list[str]


@dataclass(frozen=True)
class Link:
    """Where a queue is: the rate behind it in bit/s, and a full frame's length in bytes."""

    rate: float
    frame: float


@dataclass(frozen=True)
class Qdisc:
    """A queue discipline of tc: its name, what its limit counts, and its parameters as functions of ours."""

    name: str
    limit: str
    options: Mapping[str, Callable[[Any], Words]]
    #: Parameters that must hold these values for tc's discipline to do the same; else the script says so.
    only: Mapping[str, object] = field(default_factory=dict)

    def words(self, queue: Queue, link: Link) -> Words:
        """The discipline with its parameters."""
        words = [self.name]
        limit = limit_in(self.limit, str(queue.get("limit", "unlimited")), link)
        if limit is not None:
            words += ["limit", limit]
        for key, option in self.options.items():
            if queue.get(key) is not None:
                words += option(queue[key])
        return words

    def notes(self, queue: Queue) -> list[str]:
        """What tc's discipline does otherwise."""
        return [
            f"{self.name}: tc has no {key} = {queue[key]!r}"
            for key, value in self.only.items()
            if key in queue and queue[key] != value
        ]


def limit_in(unit: str, text: str, link: Link) -> str | None:
    """A limit in tc's unit (``packets`` or ``bytes``): full frames stand for others."""
    if text == "unlimited" or not unit:
        return None
    value, _, own = text.partition(" ")
    if own.startswith("packet"):
        packets, length = float(value), float(value) * link.frame
    else:
        length = link.rate * seconds(text) / 8.0 if own in ("ns", "us", "ms", "s") else size(text)
        packets = length / link.frame
    return str(max(1, int(packets))) if unit == "packets" else tc_size(length)


def word(name: str, convert: Callable[[Any], str]) -> Callable[[Any], Words]:
    """A parameter with a value."""
    return lambda value: [name, convert(value)]


def switch(on: str, off: str = "") -> Callable[[Any], Words]:
    """A parameter that is on or off."""
    return lambda value: [on] if value else [off] if off else []


def _time(value: Any) -> str:
    return tc_time(seconds(value))


def _size(value: Any) -> str:
    return tc_size(size(value))


def _rate(value: Any) -> str:
    return tc_rate(bits_per_s(value))


def _probability(value: Any) -> str:
    return plain(float(str(value).removesuffix("%")) / 100.0)


def _percent(value: Any) -> str:
    return str(value).replace(" ", "")


def _milliseconds(value: Any) -> str:
    return str(round(1e3 * seconds(value)))


def _step(value: Any) -> str:
    """DualPI2's step: a time or packets."""
    text = str(value)
    return text.replace(" packets", "packets") if "packet" in text else _time(text)


#: CAKE's ACK filter in tc's words.
_ACK_FILTERS: Mapping[str, str] = {
    "off": "no-ack-filter",
    "on": "ack-filter",
    "aggressive": "ack-filter-aggressive",
}


def times(*names: str) -> dict[str, Callable[[Any], Words]]:
    """Parameters that are times."""
    return {name: word(name, _time) for name in names}


def sizes(*names: str) -> dict[str, Callable[[Any], Words]]:
    """Parameters that are lengths."""
    return {name: word(name, _size) for name in names}


def octets(*names: str) -> dict[str, Callable[[Any], Words]]:
    """Parameters that are lengths, and which tc reads as numbers without a unit."""
    return {name: word(name, lambda value: plain(size(value))) for name in names}


def numbers(*names: str) -> dict[str, Callable[[Any], Words]]:
    """Parameters that are plain numbers."""
    return {name: word(name, lambda value: plain(float(value))) for name in names}


def _selector(value: Any) -> Words:
    return [] if str(value).endswith("/0x00") else ["ce_threshold_selector", str(value)]


#: By the queue's kind in a scenario.
QDISCS: Mapping[str, Qdisc] = {
    "codel": Qdisc(
        "codel",
        "packets",
        {**times("target", "interval", "ce_threshold"), "ecn": switch("ecn", "noecn")},
        only={"ce_threshold_selector": "0x00/0x00"},
    ),
    "fq_codel": Qdisc(
        "fq_codel",
        "packets",
        {
            **numbers("flows"),
            **times("target", "interval", "ce_threshold"),
            **octets("quantum"),
            **sizes("memory_limit"),
            **numbers("drop_batch"),
            "ce_threshold_selector": _selector,
            "ecn": switch("ecn", "noecn"),
        },
        only={"perturb": "0 s"},
    ),
    "pie": Qdisc(
        "pie",
        "packets",
        {
            **times("target", "tupdate"),
            **numbers("alpha", "beta"),
            "ecn": switch("ecn", "noecn"),
            "bytemode": switch("bytemode", "nobytemode"),
            "dq_rate_estimator": switch("dq_rate_estimator", "no_dq_rate_estimator"),
        },
        only={"max_burst": "150 ms", "ecn_prob": "10 %"},
    ),
    "red": Qdisc(
        "red",
        "bytes",
        {
            **sizes("min", "max", "avpkt"),
            **numbers("burst"),
            "probability": word("probability", _probability),
            "bandwidth": word("bandwidth", _rate),
            **{key: switch(key) for key in ("adaptive", "ecn", "harddrop", "nodrop")},
        },
        only={"gentle": False, "adaptive_auto": False},
    ),
    "fq_pie": Qdisc(
        "fq_pie",
        "packets",
        {
            **numbers("flows"),
            **times("target", "tupdate"),
            **numbers("alpha", "beta"),
            **octets("quantum"),
            **sizes("memory_limit"),
            "ecn_prob": word("ecn_prob", lambda value: plain(float(str(value).removesuffix("%")))),
            "ecn": switch("ecn", "noecn"),
            "bytemode": switch("bytemode", "nobytemode"),
            "dq_rate_estimator": switch("dq_rate_estimator", "no_dq_rate_estimator"),
        },
    ),
    "sfq": Qdisc(
        "sfq",
        "packets",
        {
            **numbers("flows", "divisor", "depth"),
            **sizes("quantum"),
            "perturb": word("perturb", lambda value: plain(round(seconds(value)))),
            "headdrop": switch("headdrop"),
            **octets("redflowlimit", "min", "max", "avpkt"),
            **numbers("burst"),
            "probability": word("probability", _probability),
            **{key: switch(key) for key in ("ecn", "harddrop")},
        },
    ),
    "cake": Qdisc(
        "cake",
        "",
        {
            "bandwidth": word("bandwidth", _rate),
            "diffserv": lambda value: [str(value)],
            "flow_mode": lambda value: [str(value)],
            **times("rtt"),
            **sizes("memlimit"),
            **octets("overhead", "mpu"),
            "atm": lambda value: [str(value)],
            "ingress": switch("ingress", "egress"),
            "wash": switch("wash", "nowash"),
            "ack_filter": lambda value: [_ACK_FILTERS[str(value)]],
        },
        only={"target": "5 ms", "sce": False, "sce_single": False},
    ),
    "sfb": Qdisc(
        "sfb",
        "packets",
        {
            "rehash": word("rehash", _milliseconds),
            "db": word("db", _milliseconds),
            **numbers("target", "max"),
            "increment": word("increment", _probability),
            "decrement": word("decrement", _probability),
            **numbers("penalty_rate", "penalty_burst"),
        },
    ),
    "choke": Qdisc(
        "choke",
        "packets",
        {
            **numbers("min", "max", "burst"),
            "avpkt": word("avpkt", _size),
            "probability": word("probability", _probability),
            "bandwidth": word("bandwidth", _rate),
            "ecn": switch("ecn"),
        },
    ),
    "dualpi2": Qdisc(
        "dualpi2",
        "packets",
        {
            **octets("memlimit"),
            **times("max_rtt", "typical_rtt", "target", "tupdate"),
            **numbers("alpha", "beta"),
            "coupling_factor": word("coupling_factor", lambda value: str(round(float(value)))),
            "step_thresh": word("step_thresh", _step),
            **numbers("min_qlen_step"),
            "classic_protection": word("classic_protection", _percent),
            "overflow": switch("overflow", "drop_on_overload"),
            "drop_enqueue": switch("drop_enqueue", "drop_dequeue"),
        },
        only={"variant": "linux", "any_ect": False, "mds": False},
    ),
    "fq": Qdisc(
        "fq",
        "packets",
        {
            **numbers("flow_limit", "orphan_mask"),
            **octets("quantum", "initial_quantum"),
            **times("refill_delay"),
            "low_rate_threshold": word("low_rate_threshold", _rate),
        },
    ),
}


def fifo(queue: Queue, link: Link) -> Words:
    """Tail drop: pfifo, bfifo or pfifo_head_drop, by what the limit counts."""
    text = str(queue.get("limit", "unlimited"))
    if queue.get("headdrop"):
        limit = limit_in("packets", text, link)
        return ["pfifo_head_drop", *(["limit", limit] if limit else [])]
    if "packet" in text:
        return ["pfifo", "limit", str(limit_in("packets", text, link))]
    limit = limit_in("bytes", text, link)
    return ["bfifo", *(["limit", limit] if limit else ["limit", "1gb"])]


def qdisc(queue: Queue, link: Link) -> tuple[Words, Sequence[str]]:
    """Return tc's words for a queue, and notes on what they leave out."""
    kind = str(queue["kind"])
    if kind == "fifo":
        return fifo(queue, link), []
    if kind not in QDISCS:
        return fifo({"limit": queue.get("limit", "unlimited")}, link), [
            f"{kind}: tc has no such discipline; tail drop of the same size replaces it"
        ]
    discipline = QDISCS[kind]
    return discipline.words(queue, link), discipline.notes(queue)


__all__ = ["QDISCS", "Link", "Qdisc", "qdisc"]
