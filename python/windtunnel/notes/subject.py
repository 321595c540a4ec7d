"""What rules look at: a scenario with every default and, after the run, what was measured, flow by flow and queue by
queue.

Everything is a number in base units here (seconds, bytes, bits per second), so that rules read like the sentence that
they say.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from windtunnel import _core
from windtunnel.kinds import has_trait, title

if TYPE_CHECKING:
    from windtunnel.result import Tables

_PACKETS = ("packet", "packets")

#: The number of equal flows that every rule tells apart.
EACH = 3


def seconds(text: Any) -> float:
    """A time or another quantity, in its base unit."""
    return float(_core.quantity(text)) if isinstance(text, str) else math.nan


@dataclass(frozen=True)
class Entry:
    """An entry of flows in the scenario: what its equal flows have in common; there may be a million."""

    setup: Mapping[str, Any]
    #: Its number in the scenario.
    number: int

    @cached_property
    def cc(self) -> str:
        """The controller's name; empty for datagrams."""
        cc = self._controller or ""
        return str(cc.get("kind", "") if isinstance(cc, Mapping) else cc)

    @property
    def _controller(self) -> object:
        """Its entry ``cc``; for one of ours inside a stack, that inside."""
        cc = self.setup.get("cc")
        return cc.get("windtunnel", cc) if isinstance(cc, Mapping) else cc

    @cached_property
    def terms(self) -> str:
        """All that it says but its name, its path and when it sends: flows of equal terms are equals."""
        own = ("name", "rtt", "start", "stop", "active", "count", "stagger", "path", "reverse")
        return json.dumps({key: value for key, value in self.setup.items() if key not in own}, sort_keys=True)

    @cached_property
    def response(self) -> str:
        """What answers signals: ``conventional``, ``mds``, ``sce``, ..."""
        cc = self._controller
        return str(cc.get("response") or "") if isinstance(cc, Mapping) else ""

    @cached_property
    def app(self) -> Mapping[str, Any]:
        """The application with its parameters."""
        return self.setup.get("app") or {"kind": "bulk"}

    @cached_property
    def is_greedy(self) -> bool:
        """It always has data to send."""
        return has_trait(self.app["kind"], "greedy") and bool(self.cc)

    @cached_property
    def by_loss(self) -> bool:
        """It grows until something is lost or marked."""
        return bool(self.cc) and not any(has_trait(self.cc, trait) for trait in ("delay", "model", "fixed"))

    @cached_property
    def rtt(self) -> float:
        """The round-trip time that it asks for; NaN without one."""
        return seconds(self.setup.get("rtt"))

    @cached_property
    def start(self) -> float:
        """When it starts: equal flows may be staggered."""
        return seconds(self.setup.get("start") or "0 s")

    @cached_property
    def ecn(self) -> str | None:
        """The feedback of marks that it asks for: ``rfc3168``, ``accecn``, ...; None without ECN."""
        ecn = self.setup.get("ecn")
        return None if ecn in (None, False, "none") else "rfc3168" if ecn is True else str(ecn)


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow: one of the equal ones of an entry of the scenario."""

    index: int
    name: str
    entry: Entry
    #: The round-trip time of its path without queues; NaN where it is not known before the run.
    rtt: float
    measured: Mapping[str, Any] = field(default_factory=dict)
    #: How many equal flows it stands for, itself included: more than one only before a run.
    count: int = 1

    @property
    def setup(self) -> Mapping[str, Any]:
        """What its entry says."""
        return self.entry.setup

    @property
    def cc(self) -> str:
        """The controller's name; empty for datagrams."""
        return self.entry.cc

    @property
    def stack(self) -> str:
        """The stack of another crate that carries it, or nothing."""
        stack = self.setup.get("stack") or {}
        return str(stack.get("kind", ""))

    @property
    def terms(self) -> str:
        """See :attr:`Entry.terms`."""
        return self.entry.terms

    @property
    def response(self) -> str:
        """What answers signals: ``conventional``, ``mds``, ``sce``, ..."""
        return self.entry.response

    @property
    def label(self) -> str:
        """The controller as text shows it: ``CUBIC``."""
        return title(self.cc)

    @property
    def app(self) -> Mapping[str, Any]:
        """Its application with its parameters."""
        return self.entry.app

    @property
    def is_greedy(self) -> bool:
        """It always has data to send."""
        return self.entry.is_greedy

    @property
    def by_loss(self) -> bool:
        """It grows until something is lost or marked."""
        return self.entry.by_loss

    @property
    def start(self) -> float:
        """When it starts: equal flows may be staggered."""
        return self.entry.start

    @property
    def ecn(self) -> str | None:
        """The feedback of marks that it asks for: ``rfc3168``, ``accecn``, ...; None without ECN."""
        return self.entry.ecn

    @property
    def tcp(self) -> Mapping[str, Any]:
        """The mechanisms of its TCP."""
        return self.setup.get("tcp") or {}

    def lost(self) -> int:
        """Its packets that were lost, without ACKs."""
        return int(sum((self.measured.get("drops") or {}).values())) + int(self.measured.get("corrupted") or 0)

    def limited(self, what: str) -> float:
        """The share of time in which this kept it from sending; 0 where that is not counted."""
        return float((self.measured.get("limited") or {}).get(what) or 0.0)


def number(flows: Iterable[Flow]) -> int:
    """How many flows these are, those included that they stand for."""
    return sum(flow.count for flow in flows)


@dataclass(frozen=True)
class Queue:
    """A link's queue, and the flows whose data pass it."""

    index: int
    name: str
    link: Mapping[str, Any]
    flows: Sequence[Flow]
    #: The flows whose ACKs pass it.
    acks: Sequence[Flow]
    mtu: float
    measured: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> Mapping[str, Any]:
        """The queue with its parameters."""
        return self.link.get("queue") or {}

    @property
    def kind(self) -> str:
        """The queue's name."""
        return str(self.spec.get("kind", ""))

    @property
    def label(self) -> str:
        """The queue as text shows it: ``PIE``, ``FQ-CoDel``."""
        return title(self.kind)

    @cached_property
    def rate(self) -> float:
        """The link's rate in bits per second; NaN if it has none, or varies."""
        return math.nan if self.link.get("changes") else seconds(self.link.get("rate"))

    @property
    def limit(self) -> float:
        """How much it holds, in bytes; infinite without a limit, NaN if that is not known."""
        text = str(self.spec.get("limit") or "unlimited")
        if text == "unlimited":
            return math.inf
        amount, unit = text.split()
        if unit in _PACKETS:
            return float(amount) * self.mtu
        return seconds(text) * (self.rate / 8 if unit.endswith("s") else 1)

    @cached_property
    def fair_rate(self) -> float:
        """The link's rate for each flow that always has data to send; all of it if there is none."""
        return self.rate / max(1, number(flow for flow in self.flows if flow.is_greedy))

    def drain(self, amount: float) -> float:
        """How long the link takes to send these bytes."""
        return amount * 8 / self.rate

    def bdp(self, flow: Flow) -> float:
        """The bandwidth-delay product of a flow's path, in bytes."""
        return self.rate / 8 * flow.rtt

    @cached_property
    def marks(self) -> bool | None:
        """Whether it may mark an ECN-capable packet instead of dropping it; None where that is not known.

        What it has done in the run takes precedence over what is known about its kind.
        """
        if self.signals:
            return True
        if self.spec.get("ecn_mode") == "none":
            return False
        parts = aqms(self.spec)
        if any(aqm.get("ecn") or aqm.get("ce_threshold") or has_trait(aqm.get("kind", ""), "marks") for aqm in parts):
            return True
        return False if all(map(_never_marks, parts)) else None

    @property
    def signals(self) -> int:
        """Packets that it marked, CE or SCE."""
        return int(self.measured.get("ce") or 0) + int(self.measured.get("sce") or 0)

    def drops(self, *causes: str) -> int:
        """Packets that it dropped; for these causes, or all."""
        drops: Mapping[str, int] = self.measured.get("drops") or {}
        return sum(drops.get(cause, 0) for cause in causes) if causes else sum(drops.values())

    def sojourn(self, what: str) -> float:
        """A number of its sojourn times, in seconds; NaN without a packet."""
        times = self.measured.get("sojourn_ms") or {}
        return float(times.get(what, math.nan)) / 1e3


def _never_marks(aqm: Mapping[str, Any]) -> bool:
    """Whether it marks nothing, where neither its kind nor its parameters make it mark."""
    kind = aqm.get("kind", "")
    return "ecn" in aqm or has_trait(kind, "passive") or has_trait(kind, "holds")


def aqms(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A queue, and the AQMs and queues in it, each with its parameters."""
    parts = [spec] if spec else []
    for value in spec.values():
        for part in value if isinstance(value, list) else (value,):
            if isinstance(part, Mapping) and "kind" in part:
                parts += aqms(part)
    return parts


@dataclass(frozen=True)
class Subject:
    """A scenario, as ``Scenario.resolve`` returns it, and after a run its summary and tables."""

    scenario: Mapping[str, Any]
    summary: Mapping[str, Any] | None = None
    tables: Tables | None = None

    @property
    def ran(self) -> bool:
        """There are measurements."""
        return self.summary is not None

    @cached_property
    def duration(self) -> float:
        """The length of the run."""
        return seconds(self.scenario["duration"])

    @property
    def ideal(self) -> bool:
        """Endpoints lose nothing: drops are delivered as marks."""
        return self.scenario.get("endpoints") == "ideal"

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """All flows, in the order of the tables. Before a run equal ones differ by name only: one stands for all of an
        entry but the first.
        """
        records = (self.summary or {}).get("flows") or ()
        flows: list[Flow] = []
        first, each = 0, self.ran or self._tells_equals_apart
        for group, setup in enumerate(self.scenario.get("flow") or ()):
            count, entry = int(setup.get("count") or 1), Entry(setup, group)
            single = count if each else min(count, EACH)
            for member in range(min(count, single + 1)):
                index = first + member
                name = f"{setup['name']}-{member + 1}" if count > 1 else str(setup["name"])
                measured = records[index] if index < len(records) else {}
                path_rtt_ms = measured.get("path_rtt_ms")
                rtt = entry.rtt if path_rtt_ms is None else float(path_rtt_ms) / 1e3
                stands_for = 1 if member < single else count - single
                flows.append(Flow(index, name, entry, rtt, measured, stands_for))
            first += count
        return tuple(flows)

    @property
    def _tells_equals_apart(self) -> bool:
        """An impairment takes packets of single flows."""
        links = [self.scenario.get(name) or {} for name in ("bottleneck", "reverse")]
        links += self.scenario.get("link") or ()
        return any("flows" in (each.get("only") or {}) for link in links for each in impairments(link))

    @cached_property
    def queues(self) -> tuple[Queue, ...]:
        """All queues, in the order of the tables."""
        if "bottleneck" in self.scenario:
            entries: list[tuple[str, Any, tuple[Flow, ...], tuple[Flow, ...]]]
            entries = [("bottleneck", self.scenario["bottleneck"], self.flows, ())]
            if "reverse" in self.scenario:
                entries.append(("reverse", self.scenario["reverse"], (), self.flows))
        else:
            data, acks = self._passing("path"), self._passing("reverse")
            entries = [
                (str(link["name"]), link, tuple(data[link["name"]]), tuple(acks[link["name"]]))
                for link in self.scenario.get("link") or ()
            ]
        records = {record["name"]: record for record in (self.summary or {}).get("queues") or ()}
        mtu = seconds(self.scenario.get("mtu") or "1500 B")
        return tuple(
            Queue(index, name, link, flows, acks, mtu, records.get(name, {}))
            for index, (name, link, flows, acks) in enumerate(entries)
        )

    def _passing(self, way: str) -> defaultdict[str, list[Flow]]:
        """The flows that pass each link on their ``path``, or on their way in ``reverse``."""
        flows: defaultdict[str, list[Flow]] = defaultdict(list)
        for entry, equal in groupby(self.flows, key=lambda flow: flow.entry.number):
            mine, setup = list(equal), self.scenario["flow"][entry]
            for link in dict.fromkeys(setup.get(way) or ()):
                flows[link] += mine
        return flows

    @cached_property
    def data_queues(self) -> tuple[Queue, ...]:
        """The queues that data of some flow pass."""
        return tuple(queue for queue in self.queues if queue.flows)

    @cached_property
    def _paths(self) -> dict[int, list[Queue]]:
        """The queues that the data of each entry's flows pass."""
        paths: dict[int, list[Queue]] = {flow.entry.number: [] for flow in self.flows}
        for queue in self.queues:
            for entry in {flow.entry.number for flow in queue.flows}:
                paths[entry].append(queue)
        return paths

    def path(self, flow: Flow) -> list[Queue]:
        """The queues that a flow's data pass."""
        return self._paths[flow.entry.number]

    @cached_property
    def _narrowest(self) -> dict[int, Queue | None]:
        """The queue of the slowest link on the way of each entry's flows."""
        paced = ((entry, [queue for queue in path if queue.rate > 0]) for entry, path in self._paths.items())
        return {entry: min(path, key=lambda queue: queue.rate, default=None) for entry, path in paced}

    def narrowest(self, flow: Flow) -> Queue | None:
        """The queue of the slowest link on a flow's way."""
        return self._narrowest[flow.entry.number]

    def elements(self, *kinds: str) -> list[Mapping[str, Any]]:
        """The impairments of these kinds on any link."""
        return [element for queue in self.queues for element in impairments(queue.link) if element["kind"] in kinds]


def impairments(link: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A link's impairments with their parameters."""
    value = link.get("impair") or ()
    return [value] if isinstance(value, Mapping) else [each for each in value if isinstance(each, Mapping)]


def selects(only: Mapping[str, Any] | None, flow: Flow) -> bool:
    """Whether an impairment's ``only`` takes all packets of a flow; code points may differ from packet to packet."""
    return not only or (set(only) == {"flows"} and flow.index in only["flows"])
