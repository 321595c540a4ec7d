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
- A link delivers a packet at the end of its time on the wire: netem's rate adds that time. netem takes a packet's place
  by the one before it where it has a rate; a path with jitter, on which packets overtake each other, has the time of a
  full packet in its delay.
- The class may be ahead of its rate by what its timer is late, and by no more.
- tc counts 14 bytes of Ethernet in every length. A size table takes off what the scenario does not count.
- Neighbours are permanent: address resolution would hold each flow's first packets for a round trip.
- The discipline has existed for its ``age`` when the run begins: PIE's timer, for example, runs from the start.
- A discipline that hashes flows does so in Linux's way, whatever ``hash`` says; few flows seldom collide. So with
  CoDel's square root, whatever ``newton`` says; next to Linux's endpoints its default is Linux's.
- PIE spares a queue of fewer than two of the device's MTU, which has Ethernet's bytes (``psched_mtu``), whatever the
  size table takes off packets. So two full packets wait there unharmed: the scenario may say so (``mtu``).
- What the kernel's ticks decide (``tcp.tick``, and the ``tick`` of PIE) is the scenario's, so that HZ has to agree.
- ``receive_window`` is a window. A buffer that does not grow has the memory for it, by the keys that describe the
  kernel.
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
from windtunnel.twin.applications import Schedule, check, schedules
from windtunnel.twin.parameters import parameters, translated

Document = Mapping[str, Any]

#: What tc counts in front of an IP packet.
ETHERNET = 14
#: By how much a timer of the guest may be late, in seconds: reading its clock takes time, and a packet is sent after
#: several readings.
_LATE = 2e-6
#: What the kernel keeps of a packet in a receive buffer: its record, and where a driver has made the block, that has
#: room in front of the packet and behind it.
_RECORD, _HEADROOM = 256, 64 + 320
#: Each flow has two hosts, and addresses are numbered by flows.
_MOST_FLOWS = 200

#: Keys of ``tcp`` that say how our model's packets fill memory; the kernel's fill it in their own way.
MODEL = frozenset({"truesize", "header_block"})
#: Keys of queues that say what the kernel does by itself.
_OF_KERNEL = frozenset({"hash", "newton", "tick"})
#: Keys that the plan has words for.
_TRANSLATED = {
    "scenario": frozenset({"title", "duration", "seed", "endpoints", "mtu", "bottleneck", "flow", "record", "window"}),
    "bottleneck": frozenset({"rate", "overhead", "delay", "queue", "impair"}),
    "flow": frozenset({"name", "cc", "rtt", "start", "stop", "ecn", "tcp", "app"}),
    "tcp": frozenset(
        {"tick", "timestamps", "sack", "receive_window", "autotuning", "initial_send_buffer", "send_buffer"}
    )
    | MODEL,
}
#: The values of tcp_ecn of a sender and of its listener, by a flow's ``ecn``. A listener that is asked for AccECN
#: answers so only with 3 (Linux 6.18 and later).
_TCP_ECN = {
    **dict.fromkeys(("False", "none"), (0, 2)),
    **dict.fromkeys(("True", "rfc3168", "dctcp"), (1, 2)),
    "accecn": (3, 3),
}
_ACCECN_SINCE = (6, 18)


@dataclass(frozen=True)
class HostFlow:
    """A flow and the settings of its two hosts. Times in ns; ``ecn`` and ``listener`` are values of tcp_ecn. Without a
    schedule it sends all it can. A flow of datagrams has no controller.
    """

    name: str
    controller: str
    application: str
    schedule: Schedule | None
    start: int
    stop: int
    rtt: int
    ecn: int
    listener: int
    receiver: str
    timestamps: bool
    sack: bool
    receive_buffer: int
    autotuning: bool
    send_buffer: int
    largest_send_buffer: int


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
    wire_time: int
    flows: tuple[HostFlow, ...]
    parameters: tuple[tuple[str, str], ...]
    duration: int
    interval: int
    settle: int
    windows: tuple[Span, ...]


def plan(scenario: Document, kernel: Kernel) -> Plan:
    """The plan for a resolved scenario on a kernel. Raises InputError for what Linux cannot do, or this one lacks."""
    if scenario["endpoints"] != "linux":
        raise _refusal("endpoints", scenario["endpoints"], "the guest's endpoints are Linux's")
    check(scenario)
    plain = _plain(scenario)
    _same(scenario, plain, "scenario", "", "it has no place in the guest")
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
    if len(scenario["flow"]) > _MOST_FLOWS:
        raise InputError(f"flow: {len(scenario['flow'])} flows; the guest has addresses for {_MOST_FLOWS}")
    for number, (flow, like) in enumerate(zip(scenario["flow"], plain["flow"], strict=True)):
        _check_flow(number, flow, like, kernel)
    written = schedules(scenario)
    flows = tuple(
        _flow(flow, written.get(number), _ns(scenario["duration"]), mtu) for number, flow in enumerate(scenario["flow"])
    )
    burst = tc_size(ceil(_LATE * rate / 8))
    # Behind netem's own words for limit and delay, which each direction of each flow has, is the jitter, if any.
    jitter = len(words) > 5 and words[5][0].isdigit()
    return Plan(
        kind=str(link["queue"]["kind"]),
        rate=rate,
        mtu=mtu,
        frame=frame,
        table=() if overhead == ETHERNET else ("stab", "overhead", str(overhead - ETHERNET), "linklayer", "ethernet"),
        shaper=("rate", tc_rate(rate), "burst", burst, "cburst", burst, "quantum", str(frame + ETHERNET)),
        leaf=_leaf(link["queue"], plain["bottleneck"]["queue"], Link(rate, frame), overhead, kernel),
        path=(*words[5:], *([] if jitter else ["rate", tc_rate(rate), str(overhead - ETHERNET)])),
        wire_time=round(frame * 8e9 / rate) if jitter else 0,
        flows=flows,
        parameters=parameters(scenario["flow"], plain["flow"]),
        duration=_ns(scenario["duration"]),
        interval=interval,
        settle=_ns(link["queue"].get("age", "1 s")),
        windows=tuple(_window(number, each, interval) for number, each in enumerate(scenario.get("window", ()))),
    )


def _plain(scenario: Document) -> Document:
    """The same scenario with nothing but what every scenario says: what it resolves to is what Linux does."""
    link, queue = scenario.get("bottleneck"), "fifo"
    if link is None:
        raise NetworkRefusedError("link: the guest has one link between two hosts")
    queue = str(link["queue"]["kind"])
    flows = []
    for flow in scenario["flow"]:
        like = {"rtt": flow["rtt"], "ecn": flow["ecn"]}
        flows.append(like | ({"cc": flow["cc"]["kind"]} if "cc" in flow else {"app": {"kind": flow["app"]["kind"]}}))
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


def _check_flow(number: int, flow: Document, plain: Document, kernel: Kernel) -> None:
    """Refuse what the guest does not do for a flow."""
    at = f"flow.{number}."
    _same(flow, plain, "flow", at, "Linux has no word for it here")
    if "cc" not in flow:
        if str(flow["ecn"]) not in ("False", "none", "True"):
            raise _refusal(f"{at}ecn", flow["ecn"], "datagrams have no feedback")
        return
    controller = str(flow["cc"]["kind"])
    kernel.require("controller", controller)
    words = translated(controller)
    _same(flow["cc"], plain["cc"], "cc", f"{at}cc.", f"Linux's {controller} has it otherwise", words)
    tcp = flow["tcp"]
    _same(tcp, plain["tcp"], "tcp", f"{at}tcp.", "Linux's TCP has it otherwise")
    _check_tick(f"{at}tcp.tick", tcp["tick"], kernel)
    if str(flow["ecn"]) not in _TCP_ECN:
        raise _refusal(f"{at}ecn", flow["ecn"], "Linux negotiates RFC 3168, DCTCP's feedback or AccECN")
    if flow["ecn"] == "accecn" and kernel.numbers < _ACCECN_SINCE:
        raise _refusal(f"{at}ecn", "accecn", f"Linux {kernel.version} does not have it")


def _check_tick(at: str, tick: object, kernel: Kernel) -> None:
    if _ns(tick) * kernel.hz != 10**9:
        raise _refusal(at, tick, f"the kernel's HZ is {kernel.hz}")


def _flow(flow: Document, schedule: Schedule | None, end: int, mtu: int) -> HostFlow:
    tcp = flow.get("tcp") or {}
    window, autotuning = round(size(tcp.get("receive_window", "1 GiB"))), bool(tcp.get("autotuning", True))
    cc = str(flow["cc"]["kind"]) if "cc" in flow else ""
    ecn = str(flow["ecn"])
    dctcp = ecn == "dctcp" or (ecn == "True" and cc == "dctcp")
    asks, listens = _TCP_ECN.get(ecn, (0, 0))
    return HostFlow(
        name=str(flow["name"]),
        controller=cc,
        application=str(flow["app"]["kind"]),
        schedule=schedule,
        start=_ns(flow["start"]),
        stop=_ns(flow["stop"]) if flow.get("stop") is not None else end,
        rtt=_ns(flow["rtt"]),
        ecn=asks,
        listener=1 if dctcp else listens,
        receiver="dctcp" if dctcp else "cubic",
        timestamps=bool(tcp.get("timestamps", True)),
        sack=bool(tcp.get("sack", True)),
        # sysctls are of 31 bits.
        receive_buffer=min(window if autotuning else _memory(window, tcp, mtu), 2**31 - 1),
        autotuning=autotuning,
        send_buffer=round(size(tcp.get("initial_send_buffer", "16 KiB"))),
        # Without one, the sender is never limited by its buffer.
        largest_send_buffer=round(size(tcp["send_buffer"])) if tcp.get("send_buffer") else 2**31 - 1,
    )


def _memory(window: int, tcp: Document, mtu: int) -> int:
    """The memory of a buffer that supports a window: by the share that the data of a full packet have of its memory, in
    256ths. A buffer that does not grow decides for how long its window does.
    """
    payload = mtu - 40 - (12 if tcp["timestamps"] else 0)
    packet = _RECORD + (
        payload + round(size(tcp["header_block"]))
        if tcp["truesize"] == "sender"
        else max(576, 1 << (_HEADROOM + mtu - 1).bit_length())
    )
    return (window << 8) // ((payload << 8) // packet)


def _leaf(queue: Document, plain: Document, link: Link, overhead: int, kernel: Kernel) -> tuple[str, ...]:
    """The discipline's words."""
    kind = str(queue["kind"])
    if kind != "fifo" and kind not in QDISCS:
        raise _refusal("bottleneck.queue.kind", kind, "tc has no such discipline")
    translated = {*QDISCS[kind].options, *QDISCS[kind].only, *_OF_KERNEL} if kind in QDISCS else {"headdrop"}
    if kind == "pie" and size(queue["mtu"]) == link.frame - overhead + ETHERNET:
        translated.add("mtu")
    for key in sorted(queue.keys() | plain.keys()):
        if key not in translated | {"limit", "age"} and queue.get(key) != plain.get(key):
            raise _refusal(f"bottleneck.queue.{key}", queue.get(key), f"tc's {kind} has no word for it")
    if "tick" in queue:
        _check_tick("bottleneck.queue.tick", queue["tick"], kernel)
    if kind == "sfq" and queue.get("ecn"):
        raise _refusal("bottleneck.queue.ecn", True, "the kernel does not tell how many packets sfq has marked")
    words, notes = qdisc(queue, link)
    if notes:
        raise _refusal("bottleneck.queue", queue, notes[0])
    try:
        kernel.require("qdisc", words[0])
    except InputError as error:
        raise NetworkRefusedError(str(error)) from None
    words = list(words)
    if "overhead" in words:
        # With the word, CAKE takes Ethernet's bytes off what the size table has left of a packet. Without an overhead
        # in the scenario, a full packet is a quantum on both sides, and Linux's has Ethernet's bytes in any case: so
        # each packet must have them, too. A scenario's overhead takes the place of a link's.
        at = words.index("overhead") + 1
        counted = int(words[at]) or ETHERNET
        words[at] = str(counted + ETHERNET - overhead)
    return tuple(words)


def _same(table: Document, plain: Document, what: str, at: str, why: str, words: frozenset[str] = frozenset()) -> None:
    """Refuse the first key that differs from the plain scenario's and is not translated."""
    for key in sorted(table.keys() | plain.keys()):
        if key not in _TRANSLATED.get(what, words) and table.get(key) != plain.get(key):
            raise _refusal(f"{at}{key}", table.get(key), why)


class NetworkRefusedError(InputError):
    """Linux has no such link, queue or path."""


def _refusal(key: str, value: object, why: str) -> InputError:
    text = value if isinstance(value, str) else json.dumps(value)
    kind = NetworkRefusedError if key.partition(".")[0] in ("bottleneck", "link", "node", "reverse") else InputError
    return kind(f"{key} = {cut(text)}: {why}")


def _ns(text: object) -> int:
    return round(seconds(text) * 1e9)


__all__ = ["HostFlow", "NetworkRefusedError", "Plan", "plan"]
