"""Flows of the kernel in our network: the simulation runs inside of the guest, between the kernel's hosts.

It has all of the scenario's links, queues and impairments, and the flows that are not the kernel's; those meet the
kernel's in one queue. Its clock is the guest's, in virtual time: packets leave it when they are due. So a flow of the
kernel can have any network that a scenario describes, and not only what tc can (``over_kernel``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import windtunnel
from windtunnel.escape import shell
from windtunnel.export.tc.words import seconds
from windtunnel.kernel.kept import Kernel
from windtunnel.scenario import Scenario
from windtunnel.twin.plan import Plan, plan
from windtunnel.twin.script import Network, receiver, sender

Document = Mapping[str, Any]

#: The stack of flows whose ends are the kernel's.
STACK = "linux-kernel"
#: A controller for a flow of datagrams, which has none: the network sees only packets.
_ANY = "reno"
#: Before the run's zero, in ns: programs are ready for it.
_SETTLE = 10**9


@dataclass(frozen=True)
class Ours:
    """A scenario whose network is ours: what runs in the guest, and where the kernel's flows are among all flows.
    ``why``: what Linux's network does not have, if the scenario does not ask for ours.
    """

    scenario: Scenario
    plan: Plan
    flows: tuple[int, ...]
    why: str = ""

    def work(self, zero: int) -> str:
        """What the program inside of the guest is told, as JSON. ``zero``: when the run begins, in ns of its clock."""
        text, file, overrides, allow_read, built = self.scenario.arguments
        base = None if file is None else str(Path(file).absolute())
        hosts = [(flow.name, sender(n), receiver(n)) for n, flow in enumerate(self.plan.flows)]
        arguments = [text, base, list(overrides), [str(path.absolute()) for path in allow_read], built]
        return json.dumps({"arguments": arguments, "hosts": hosts, "zero": zero, "end": zero + self.plan.duration})


def has_kernel_flows(resolved: Document) -> bool:
    """Whether a resolved scenario has flows of the kernel."""
    return any(_is_kernels(flow) for flow in resolved["flow"])


def ours(scenario: Scenario, kernel: Kernel) -> Ours:
    """The kernel's part of a scenario that has flows over ``linux-kernel``. Raises InputError."""
    resolved = scenario.resolve()
    flows, tables = [], []
    for number, table in members(resolved):
        if _is_kernels(table):
            flows.append(number)
            tables.append({key: table[key] for key in ("name", "cc", "rtt", "start", "ecn")})
    return Ours(scenario, _hosts(resolved, tables, kernel), tuple(flows))


def over_kernel(scenario: Scenario, kernel: Kernel, why: str) -> Ours:
    """A scenario whose flows are all the kernel's, in the scenario's network, which Linux does not have (``why``).
    Raises InputError for flows that Linux cannot have.
    """
    resolved = scenario.resolve()
    each = [table for _, table in members(resolved)]
    of_hosts = (
        "name",
        "cc",
        "app",
        "rtt",
        "start",
        "stop",
        "ecn",
        "tcp",
        "iw",
        "ack",
        "pacing",
        "unresponsive",
        "rledbat",
        "connection",
    )
    hosts = _hosts(resolved, [{key: table[key] for key in of_hosts if key in table} for table in each], kernel)
    of_network = ("name", "rtt", "start", "ecn", "from", "to", "path", "reverse", "sender_host", "receiver_host")
    flows = [
        {key: table[key] for key in of_network if key in table} | {"cc": flow.controller or _ANY, "stack": STACK}
        for table, flow in zip(each, hosts.flows, strict=True)
    ]
    _, file, _, allow_read, _ = scenario.arguments
    changed = Scenario.from_table({**resolved, "flow": flows}, file=file, allow_read=allow_read)
    return Ours(changed, hosts, tuple(range(len(flows))), why)


def _hosts(resolved: Document, flows: Sequence[Document], kernel: Kernel) -> Plan:
    """The kernel's hosts: those of a scenario with the same flows over any link."""
    like = Scenario.from_table(
        {
            "duration": resolved["duration"],
            "mtu": resolved["mtu"],
            "seed": resolved["seed"],
            "bottleneck": {"rate": "1 Gbit/s", "queue": "fifo"},
            "record": {"interval": resolved["record"]["interval"]},
            "flow": flows,
        }
    )
    return replace(plan(like.resolve(), kernel), settle=_SETTLE)


def model(scenario: Scenario) -> Scenario:
    """The same with our model of Linux in the place of the kernel."""
    flows = scenario.resolve()["flow"]
    return scenario.override(*(f"flow.{n}.stack=linux" for n, flow in enumerate(flows) if _is_kernels(flow)))


def network(ours: Ours) -> Network:
    """The program that is the network."""
    package = Path(windtunnel.__file__).parent.parent
    words = [sys.executable, "-B", "-m", "windtunnel.twin.inside"]
    return Network(f"PYTHONPATH={shell([str(package)])} {shell(words)}", ours.work)


def members(resolved: Document) -> Iterator[tuple[int, dict[str, Any]]]:
    """All flows, each member of a group by itself, with their indices."""
    number = 0
    for flow in resolved["flow"]:
        for member in range(count := int(flow.get("count") or 1)):
            start = seconds(flow["start"]) + member * seconds(flow.get("stagger") or "0 s")
            name = flow["name"] if count == 1 else f"{flow['name']}-{member + 1}"
            yield number, {**flow, "name": name, "start": f"{round(start * 1e9)} ns"}
            number += 1


def _is_kernels(flow: Document) -> bool:
    return bool(flow.get("stack", {}).get("kind") == STACK)
