"""Queues inside of queues as tc's commands: shapers (tc-tbf(8)), strict priority (tc-prio(8)), round robin (tc-drr(8)).

Each queue has a handle of its own, and classes ``HANDLE:1``, ``HANDLE:2`` and so on for the queues inside of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from windtunnel.escape import comment
from windtunnel.export.tc.qdiscs import Link, Words, limit_in, qdisc
from windtunnel.export.tc.words import bits_per_s, size, tc, tc_rate, tc_size

#: Values of the ECN field by its name in a filter.
_ECN: Mapping[str, int] = {"not-ect": 0, "ect1": 1, "ect0": 2, "ce": 3}


class Tree:
    """The commands for a queue and all that is inside of it, on one interface."""

    def __init__(self, device: str, link: Link) -> None:
        """``device`` is the variable of the interface."""
        self._device = device
        self._link = link
        self._handles = count(0x10)

    def commands(self, queue: Mapping[str, Any], parent: str) -> Iterator[str]:
        """The lines for a queue under ``parent``: commands, and what tc has no words for as comments."""
        handle = f"{next(self._handles):x}"
        build = {"tbf": self._tbf, "prio": self._prio, "drr": self._drr}.get(str(queue["kind"]))
        if build:
            yield from build(queue, parent, handle)
            return
        if "child" in queue:
            yield comment(f"{queue['kind']}: tc has no such queue discipline (a policer is an action of a filter)")
            yield from self.commands(queue["child"], parent)
            return
        words, notes = qdisc(queue, self._link)
        yield from map(comment, notes)
        yield self._add(parent, handle, words)

    def _tbf(self, queue: Mapping[str, Any], parent: str, handle: str) -> Iterator[str]:
        rate = bits_per_s(queue["rate"]) if "rate" in queue else self._link.rate
        inner = Link(rate, self._link.frame)
        limit = limit_in("bytes", str(queue["child"].get("limit", "unlimited")), inner) or tc_size(1000 * inner.frame)
        words = ["tbf", "rate", tc_rate(rate), "burst", tc_size(size(queue["burst"])), "limit", limit]
        if "peakrate" in queue:
            words += ["peakrate", tc_rate(bits_per_s(queue["peakrate"])), "mtu", tc_size(size(queue["mtu"]))]
        if size(queue.get("overhead", "0 B")):
            words += ["overhead", tc_size(size(queue["overhead"]))]
        yield self._add(parent, handle, words)
        yield from self._at(inner).commands(queue["child"], f"{handle}:1")

    def _prio(self, queue: Mapping[str, Any], parent: str, handle: str) -> Iterator[str]:
        default = str(int(queue["default_band"]))
        yield self._add(parent, handle, ["prio", "bands", str(queue["bands"]), "priomap", *[default] * 16])
        yield from self._children(queue["children"], handle)
        yield from self._filters(queue, handle)

    def _drr(self, queue: Mapping[str, Any], parent: str, handle: str) -> Iterator[str]:
        yield self._add(parent, handle, ["drr"])
        for band, quantum in enumerate(queue["quanta"], start=1):
            words = ["parent", f"{handle}:", "classid", f"{handle}:{band:x}", "drr", "quantum", round(size(quantum))]
            yield tc("class add", self._device, words)
        yield from self._children(queue["children"], handle)
        yield from self._filters(queue, handle)
        # Without a default class, drr loses what no filter takes.
        yield self._filter(handle, 0xFFFF, ["match", "u32", "0", "0"], int(queue["default_band"]))

    def _children(self, children: Sequence[Mapping[str, Any]], handle: str) -> Iterator[str]:
        for band, child in enumerate(children, start=1):
            yield from self.commands(child, f"{handle}:{band:x}")

    def _filters(self, queue: Mapping[str, Any], handle: str) -> Iterator[str]:
        priority = count(1)
        for rule in queue.get("filters", ()):
            if rule.get("flows"):
                yield comment(f"a filter for flows {rule['flows']}: match their addresses and ports")
                continue
            for dscp in rule.get("dscp") or [None]:
                for ecn in rule.get("ecn") or [None]:
                    value = ((dscp or 0) << 2) | _ECN.get(str(ecn), 0)
                    mask = (0xFC if dscp is not None else 0) | (0x03 if ecn is not None else 0)
                    match = ["match", "ip", "dsfield", f"0x{value:02x}", f"0x{mask:02x}"]
                    yield self._filter(handle, next(priority), match, int(rule["band"]))

    def _filter(self, handle: str, priority: int, match: Sequence[str], band: int) -> str:
        where = ["parent", f"{handle}:", "protocol", "ip", "prio", priority, "u32"]
        return tc("filter add", self._device, [*where, *match, "flowid", f"{handle}:{band + 1:x}"])

    def _add(self, parent: str, handle: str, words: Words) -> str:
        return tc("qdisc replace", self._device, ["parent", parent, "handle", f"{handle}:", *words])

    def _at(self, link: Link) -> Tree:
        """The same tree behind another rate."""
        inner = Tree(self._device, link)
        inner._handles = self._handles
        return inner
