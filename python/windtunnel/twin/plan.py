"""What the guest does for a scenario: a pure function from a resolved scenario to a plan, which refuses by name.

Refused is each key whose value is not the one that a plain scenario has, unless it is translated here: what Linux is
not told would otherwise be left out silently. Keys that describe the kernel to our model (``MODEL``) need no
translation, because the guest is the kernel.

Rules, and why:

- The link is a class of HTB, which takes a packet out of its leaf when the packet may go, at the start of its time on
  the wire, as a scenario's link does (``dequeue_point = "start"``). tbf would not do: it takes a packet from an AQM
  when the one before it goes, and keeps it until it may go itself (``qdisc_peek_dequeued``), so that the AQM sees waits
  that are shorter by a packet's time on the wire. At 10 Mbit/s, a flow over FQ-CoDel then keeps a packet more in the
  queue.
- A link delivers a packet at the end of its time on the wire: that time is added to the delay of the path, so that
  round trips have the same length.
- The class may be ahead of its rate by what its timer is late, and by no more.
- tc counts 14 bytes of Ethernet in every length. A size table takes off what the scenario does not count.
- Neighbours are permanent: address resolution would hold each flow's first packets for a round trip.
- The discipline has existed for its ``age`` when the run begins: PIE's timer, for example, runs from the start.
- A discipline that hashes flows does so in Linux's way, whatever ``hash`` says; few flows seldom collide.
- A receiver of DCTCP needs DCTCP's feedback, so its host has that controller too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from windtunnel.errors import InputError, cut
from windtunnel.export.tc.netem import netem
from windtunnel.export.tc.qdiscs import QDISCS, Link, qdisc
from windtunnel.export.tc.words import bits_per_s, seconds, size, tc_rate, tc_size
from windtunnel.kernel.kept import Kernel
from windtunnel.scenario import Scenario

Document = Mapping[str, Any]

#: What tc counts in front of an IP packet.
ETHERNET = 14
#: By how much a timer of the guest may be late, in seconds: reading its clock takes time, and a packet is sent after
#: several readings.
_LATE = 2e-6
#: Each flow has two hosts, and addresses are numbered by flows.
_MOST_FLOWS = 200

#: Keys of ``tcp`` that say how our model's packets fill memory; the kernel's fill it in their own way.
MODEL = frozenset({"truesize", "header_block"})
#: Keys that the plan has words for.
_TRANSLATED = {
    "scenario": frozenset({"title", "duration", "seed", "endpoints", "mtu", "bottleneck", "flow", "record", "window"}),
    "bottleneck": frozenset({"rate", "overhead", "delay", "queue", "impair"}),
    "flow": frozenset({"name", "cc", "rtt", "start", "ecn", "tcp"}),
    "tcp": frozenset({"tick", "timestamps", "sack", "receive_window", "initial_send_buffer"}) | MODEL,
}


@dataclass(frozen=True)
class HostFlow:
    """A flow and the settings of its two hosts. Times in ns."""

    name: str
    controller: str
    start: int
    rtt: int
    ecn: int
    receiver: str
    timestamps: bool
    sack: bool
    receive_buffer: int
    send_buffer: int


@dataclass(frozen=True)
class Span:
    """A measurement window. Times in ns."""

    name: str
    begin: int
    end: int


@dataclass(frozen=True)
class Plan:
    """All that the guest is told. Times in ns; ``table`` (of sizes), ``shaper``, ``leaf``, ``path`` are tc's words."""

    kind: str
    rate: float
    mtu: int
    frame: int
    table: tuple[str, ...]
    shaper: tuple[str, ...]
    leaf: tuple[str, ...]
    path: tuple[str, ...]
    flows: tuple[HostFlow, ...]
    duration: int
    interval: int
    settle: int
    windows: tuple[Span, ...]


def plan(scenario: Document, kernel: Kernel) -> Plan:
    """The plan for a resolved scenario on a kernel. Raises InputError for what Linux cannot do, or this one lacks."""
    plain = _plain(scenario)
    _same(scenario, plain, "scenario", "", "it has no place in the guest")
    if scenario["endpoints"] != "linux":
        raise _refusal("endpoints", scenario["endpoints"], "the guest's endpoints are Linux's")
    record = scenario["record"]
    interval = _ns(record["interval"])
    for key in ("events", "packets", "payloads"):
        if record.get(key):
            raise _refusal(f"record.{key}", record[key], "the guest keeps TCP_INFO and counters, not packets")
    link = scenario["bottleneck"]
    _same(link, plain["bottleneck"], "bottleneck", "bottleneck.", "the guest's link has no word for it")
    if not isinstance(link["rate"], str):
        raise _refusal("bottleneck.rate", link["rate"], "the rate of the guest's link is constant")
    rate, mtu = bits_per_s(link["rate"]), round(size(scenario["mtu"]))
    overhead = round(size(link["overhead"]))
    frame = mtu + overhead
    words, notes = netem(0.0, link.get("impair", ()))
    if notes:
        raise _refusal("bottleneck.impair", link["impair"], notes[0])
    for word in ("corrupt", "duplicate"):
        if word in words:
            raise _refusal("bottleneck.impair", link["impair"], f"what netem's {word} does is not counted in the guest")
    flows = tuple(
        _flow(number, flow, like, kernel)
        for number, (flow, like) in enumerate(zip(scenario["flow"], plain["flow"], strict=True))
    )
    if len(flows) > _MOST_FLOWS:
        raise InputError(f"flow: {len(flows)} flows; the guest has addresses for {_MOST_FLOWS}")
    burst = tc_size(ceil(_LATE * rate / 8))
    return Plan(
        kind=str(link["queue"]["kind"]),
        rate=rate,
        mtu=mtu,
        frame=frame,
        table=() if overhead == ETHERNET else ("stab", "overhead", str(overhead - ETHERNET), "linklayer", "ethernet"),
        shaper=("rate", tc_rate(rate), "burst", burst, "cburst", burst, "quantum", str(frame + ETHERNET)),
        leaf=_leaf(link["queue"], plain["bottleneck"]["queue"], Link(rate, frame), kernel),
        # Without netem's own words for limit and delay, which each direction of each flow has.
        path=tuple(words[5:]),
        flows=flows,
        duration=_ns(scenario["duration"]),
        interval=interval,
        settle=_ns(link["queue"].get("age", "1 s")),
        windows=tuple(_window(number, each, interval) for number, each in enumerate(scenario.get("window", ()))),
    )


def _plain(scenario: Document) -> Document:
    """The same scenario with nothing but what every scenario says: what it resolves to is what Linux does."""
    link, queue = scenario.get("bottleneck"), "fifo"
    if link is None:
        raise InputError("the twin needs one `bottleneck`; this scenario has `link` tables")
    queue = str(link["queue"]["kind"])
    flows = []
    for number, flow in enumerate(scenario["flow"]):
        if "cc" not in flow:
            raise _refusal(f"flow.{number}.app", flow.get("app"), "the guest has TCP flows")
        flows.append({"cc": flow["cc"]["kind"], "rtt": flow["rtt"], "ecn": flow["ecn"]})
    return Scenario.from_table(
        {
            "duration": scenario["duration"],
            "mtu": scenario["mtu"],
            "endpoints": "linux",
            "bottleneck": {"rate": link["rate"], "overhead": link["overhead"], "queue": queue},
            "flow": flows,
        }
    ).resolve()


def _window(number: int, window: Document, interval: int) -> Span:
    """A window, whose ends are times at which the guest is read."""
    for key in ("from", "to"):
        if _ns(window[key]) % interval:
            why = f"the guest is read at the ends of recording intervals ({interval / 1e6:g} ms)"
            raise _refusal(f"window.{number}.{key}", window[key], why)
    return Span(str(window["name"]), _ns(window["from"]), _ns(window["to"]))


def _flow(number: int, flow: Document, plain: Document, kernel: Kernel) -> HostFlow:
    at = f"flow.{number}."
    controller = str(flow["cc"]["kind"])
    kernel.require("controller", controller)
    _same(flow["cc"], plain["cc"], "cc", f"{at}cc.", f"Linux's {controller} has it otherwise")
    _same(flow, plain, "flow", at, "Linux has no word for it here")
    tcp = flow["tcp"]
    _same(tcp, plain["tcp"], "tcp", f"{at}tcp.", "Linux's TCP has it otherwise")
    if _ns(tcp["tick"]) * kernel.hz != 10**9:
        raise _refusal(f"{at}tcp.tick", tcp["tick"], f"the kernel's HZ is {kernel.hz}")
    ecn = {"False": 0, "none": 0, "True": 1, "rfc3168": 1, "dctcp": 1}.get(str(flow["ecn"]))
    if ecn is None:
        raise _refusal(f"{at}ecn", flow["ecn"], "Linux negotiates RFC 3168 here")
    return HostFlow(
        name=str(flow["name"]),
        controller=controller,
        start=_ns(flow["start"]),
        rtt=_ns(flow["rtt"]),
        ecn=ecn,
        receiver=controller if controller == "dctcp" else "cubic",
        timestamps=bool(tcp["timestamps"]),
        sack=bool(tcp["sack"]),
        # sysctls are of 31 bits.
        receive_buffer=min(round(size(tcp["receive_window"])), 2**31 - 1),
        send_buffer=round(size(tcp["initial_send_buffer"])),
    )


def _leaf(queue: Document, plain: Document, link: Link, kernel: Kernel) -> tuple[str, ...]:
    """The discipline's words."""
    kind = str(queue["kind"])
    if kind != "fifo" and kind not in QDISCS:
        raise _refusal("bottleneck.queue.kind", kind, "tc has no such discipline")
    translated = {*QDISCS[kind].options, *QDISCS[kind].only, "hash"} if kind in QDISCS else {"headdrop"}
    for key in sorted(queue.keys() | plain.keys()):
        if key not in translated | {"limit", "age"} and queue.get(key) != plain.get(key):
            raise _refusal(f"bottleneck.queue.{key}", queue.get(key), f"tc's {kind} has no word for it")
    if kind == "sfq" and queue.get("ecn"):
        raise _refusal("bottleneck.queue.ecn", True, "the kernel does not tell how many packets sfq has marked")
    words, notes = qdisc(queue, link)
    if notes:
        raise _refusal("bottleneck.queue", queue, notes[0])
    kernel.require("qdisc", words[0])
    return tuple(words)


def _same(table: Document, plain: Document, what: str, at: str, why: str) -> None:
    """Refuse the first key that differs from the plain scenario's and is not translated."""
    for key in sorted(table.keys() | plain.keys()):
        if key not in _TRANSLATED.get(what, frozenset()) and table.get(key) != plain.get(key):
            raise _refusal(f"{at}{key}", table.get(key), why)


def _refusal(key: str, value: object, why: str) -> InputError:
    text = value if isinstance(value, str) else json.dumps(value)
    return InputError(f"{key} = {cut(text)}: {why}")


def _ns(text: object) -> int:
    return round(seconds(text) * 1e9)


__all__ = ["HostFlow", "Plan", "plan"]
