"""What other tools want to know about each flow's connection (names, addresses, sizes), from the resolved scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from windtunnel import _core
from windtunnel.errors import InputError
from windtunnel.result import RunResult

#: The start of a run, for tools that want a date: 2020-01-01 00:00:00 UTC, so that equal runs give equal files.
EPOCH = 1_577_836_800

_HEADERS = 40
_TIMESTAMPS = 12
#: Hosts in an IPv4 network reserved for documentation (RFC 5737); flows beyond these hosts get other ports.
_HOSTS = 254
_PORTS = 65535 - 40000


@dataclass(frozen=True)
class Connection:
    """The connection of a flow.

    ``mtu``: its largest IP packet; ``mss``: data in a full segment; ``sack``, ``timestamps``: its options; ``mds``: it
    offers MDS; ``acks``: the receiver's policy; ``ecn``: its data are ECN-capable;
    ``application``: what makes it send; ``udp``: it sends datagrams; ``is_over_stack``: they are a real stack's.
    """

    index: int
    name: str
    cc: str
    mtu: int
    sack: bool
    timestamps: bool
    ecn: bool
    mds: bool
    acks: str
    application: str = "bulk"
    udp: bool = False
    is_over_stack: bool = False
    #: Where a real sender and receiver are, of a flow of real packets; empty for a simulated one.
    ends: tuple[str, ...] = ()

    @property
    def is_socket(self) -> bool:
        """Whether it is one simulated TCP connection, whose sender is known: neither datagrams, nor a flow that stands
        for many connections, nor one of real packets.
        """
        return not self.udp and not self.ends and self.application != "poisson"

    @property
    def mss(self) -> int:
        """Data in a full segment: the MTU without headers and timestamps."""
        return self.mtu - _HEADERS - _TIMESTAMPS * self.timestamps

    @property
    def local(self) -> str:
        """Address and port of the sender, as in the captures."""
        if self.ends:
            return self.ends[0]
        return f"192.0.2.{self.index % _HOSTS + 1}:{40000 + self.index // _HOSTS % _PORTS}"

    @property
    def peer(self) -> str:
        """Address and port of the receiver, as in the captures."""
        if self.ends:
            return self.ends[1]
        return f"198.51.100.{self.index % _HOSTS + 1}:{5201 + self.index // _HOSTS % _PORTS}"


def connections(result: RunResult) -> list[Connection]:
    """The connections of all flows, in order. A key that the scenario lacks has its default. Raises InputError."""
    scenario: Mapping[str, Any] = result.meta.get("scenario") or {}
    mtu = _mtu(scenario.get("mtu"))
    groups = groups_of_flows(scenario, len(result.flows))
    real = _real(result.meta.get("emulation"))
    entries = []
    for index, (flow, group) in enumerate(zip(result.flows, groups, strict=True)):
        tcp = {**_table(scenario.get("tcp")), **_table(group.get("tcp"))}
        sender, _, receiver, protocol = real.get(str(flow["name"]), ("", "", "", ""))
        over_stack = bool(group.get("stack")) and not protocol
        entries.append(
            Connection(
                index=index,
                name=str(flow["name"]),
                cc=str(flow["cc"]),
                mtu=mtu,
                sack=bool(tcp.get("sack", True)),
                timestamps=bool(tcp.get("timestamps", True)),
                ecn=bool(group.get("ecn", False)),
                mds=_offers_mds(_table(group.get("cc"))),
                acks=str(_table(group.get("ack")).get("policy", "")),
                application=str(flow.get("application", "bulk")),
                udp=flow.get("datagrams") is not None or over_stack or protocol not in ("", "TCP"),
                is_over_stack=over_stack,
                ends=(sender, receiver) if protocol else (),
            )
        )
    return entries


def _real(emulation: object) -> dict[str, list[str]]:
    """The ends of flows of real packets, by name, in four words: sender, an arrow, receiver, protocol."""
    rows = _table(emulation).get("connections") or ()
    words = {
        str(row["name"]): str(row["ends"]).split(maxsplit=3)
        for row in rows
        if isinstance(row, Mapping) and len(row) == 2
    }
    return {name: ends for name, ends in words.items() if len(ends) == 4}


def groups_of_flows(scenario: Mapping[str, Any], count: int) -> list[Mapping[str, Any]]:
    """The ``[[flow]]`` of each of ``count`` flows; empty where the scenario has no more."""
    groups = list(islice(_members(scenario), count))
    return groups + [{}] * (count - len(groups))


def _members(scenario: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The ``[[flow]]`` of each flow: one with ``count`` members stands for that many flows."""
    for group in scenario.get("flow", ()):
        for _ in range(int(group.get("count") or 1)):
            yield group


def _offers_mds(cc: Mapping[str, Any]) -> bool:
    response = cc.get("response")
    return (response.get("kind") if isinstance(response, Mapping) else response) == "mds"


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mtu(value: object) -> int:
    """The resolved scenario prints ``1500 B`` and ``9 kB``."""
    try:
        mtu = 1500 if value is None else _core.size(str(value))
    except ValueError as error:
        raise InputError(f"the result's scenario has an MTU that is none: {error}") from None
    if not _HEADERS + _TIMESTAMPS < mtu < 2**32:
        raise InputError(f"the result's scenario has an MTU of {mtu} bytes, which holds no data")
    return mtu
