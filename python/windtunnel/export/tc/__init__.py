"""tc: the scenario as commands of iproute2, so that the same path can be laid through real hosts.

Each link with a rate is a token bucket with the queue as its leaf: that is what a router gets. A test bed also needs
the path: each flow's round-trip time is netem's delay, half of it in each direction. The delays are on interfaces of
other hosts, because a queue behind netem's delay would not be the bottleneck, and the script sets them up only where
these interfaces are named. The interfaces are variables of the script. tc counts Ethernet's header of 14 bytes in every
length; a size table takes off what the scenario does not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from windtunnel.errors import InputError
from windtunnel.escape import comment
from windtunnel.export.connections import connections
from windtunnel.export.tc.netem import netem
from windtunnel.export.tc.qdiscs import Link
from windtunnel.export.tc.tree import Tree
from windtunnel.export.tc.words import Variables, bits_per_s, size, tc, tc_rate, tc_size
from windtunnel.result import RunResult

Table = Mapping[str, Any]

#: What tc counts in front of an IP packet.
ETHERNET = 14


def write_tc(result: RunResult, path: Path) -> None:
    """Write a shell script with tc's commands. Raises InputError if the scenario is missing or damaged."""
    try:
        lines = list(script(result))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # A resolved scenario has every key and prints every quantity with its unit.
        raise InputError(f"the result's scenario is damaged: {error}") from None
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def script(result: RunResult) -> Iterator[str]:
    """The lines of the script."""
    scenario: Table = result.meta.get("scenario") or {}
    links = [link for link in _links(scenario) if link.get("rate")]
    if not links:
        raise InputError("the result's scenario has no link with a rate, so there is nothing to tell tc")
    yield "#!/bin/sh"
    yield comment(f"{result.title or 'The scenario'} as commands of tc (iproute2).")
    variables = Variables()
    devices = [variables.of(str(link["name"]), only="bottleneck" in scenario) for link in links]
    yield comment(f"Name the interfaces: {' '.join(f'{device}=eth0' for device in devices)} sh FILE")
    yield "set -eu"
    for link, device in zip(links, devices, strict=True):
        yield ""
        yield from _bottleneck(link, device, size(scenario.get("mtu", "1500 B")))
    yield ""
    yield comment("Only for a test bed: delays and losses of the path, which a router on a real path already has.")
    for variable, position, elements, side in (
        ("RECEIVERS", "towards the receivers, behind every bottleneck", _elements(links), "peer"),
        ("SENDERS", "back towards the senders", (), "local"),
    ):
        yield comment(f"{variable}: the interface {position}; half of the round-trip time.")
        yield f'if [ -n "${{{variable}:-}}" ]; then'
        yield from (f"    {line}" for line in _delays(result, variable, elements, side))
        yield "fi"


def _links(scenario: Table) -> list[Table]:
    if "bottleneck" in scenario:
        return [{"name": "bottleneck", **scenario["bottleneck"]}]
    return list(scenario.get("link", ()))


def _bottleneck(link: Table, device: str, mtu: float) -> Iterator[str]:
    """A token bucket of one frame, and the queue as its leaf."""
    if not isinstance(link["rate"], str):
        yield comment(f"{link['name']}: its rate follows a trace, for which tc has no words.")
        return
    overhead = size(link.get("overhead", "0 B"))
    rate, frame = bits_per_s(link["rate"]), mtu + overhead
    yield comment(f"{link['name']}: the interface ${device}, from which packets leave for the receivers.")
    # Packets of the full length must fit into the bucket, whose length counts Ethernet's header.
    table = [] if overhead == ETHERNET else ["stab", "overhead", f"{overhead - ETHERNET:.0f}", "linklayer", "ethernet"]
    bucket = ["tbf", "rate", tc_rate(rate), "burst", tc_size(frame), "limit", tc_size(1000 * frame)]
    yield tc("qdisc replace", device, ["root", "handle", "1:", *table, *bucket])
    yield from Tree(device, Link(rate, frame)).commands(link["queue"], "1:1")
    for change in link.get("changes", ()):
        if "at" not in change:
            yield comment("a change that a controller's state calls for has no words in tc.")
            continue
        yield comment(f"after {change['at']}" + (f", and each {change['every']}:" if "every" in change else ":"))
        if "rate" in change:
            bucket[2] = tc_rate(bits_per_s(change["rate"]))
            yield comment(tc("qdisc change", device, ["root", "handle", "1:", *table, *bucket]))
        for key in ("delay", "limit"):
            if key in change:
                yield comment(f"the {key} becomes {change[key]}.")


def _elements(links: Sequence[Table]) -> list[Table]:
    """What happens to packets behind the links."""
    return [element for link in links for element in link.get("impair", ())]


def _delays(result: RunResult, variable: str, elements: Sequence[Table], side: str) -> Iterator[str]:
    """Give netem's commands for an interface: half of each round trip. ``side``: the end of connections behind it."""
    flows = defaultdict(list)
    for connection, flow in zip(connections(result), result.flows, strict=True):
        flows[float(flow["path_rtt_ms"])].append(connection)
    yield from map(comment, netem(0.0, elements)[1])
    if len(flows) == 1:
        (rtt,) = flows
        yield tc("qdisc replace", variable, ["root", *netem(rtt / 2000.0, elements)[0]])
        return
    yield tc("qdisc replace", variable, ["root", "handle", "1:", "htb"])
    for number, (rtt, members) in enumerate(flows.items(), start=1):
        minor = f"{number:x}"
        htb = ["parent", "1:", "classid", f"1:{minor}", "htb", "rate", "100gbit", "quantum", "60000"]
        yield tc("class add", variable, htb)
        words = netem(rtt / 2000.0, elements)[0]
        yield tc("qdisc add", variable, ["parent", f"1:{minor}", "handle", f"{0x100 + number:x}:", *words])
        for member in members:
            host, _, port = getattr(member, side).partition(":")
            match = ["match", "ip", "dst", f"{host}/32", "match", "ip", "dport", port, "0xffff"]
            to = ["protocol", "ip", "parent", "1:", "prio", "1", "u32", *match, "flowid", f"1:{minor}"]
            yield tc("filter add", variable, to)


__all__ = ["script", "write_tc"]
