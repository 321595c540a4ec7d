"""qlog: a run's flows as logs of their endpoints, for qvis, `windtunnel explain` and every reader of QUIC's logs.

A file for each flow and vantage point: ``FLOW.client.sqlog`` at the sender, ``FLOW.server.sqlog`` at the receiver,
``FLOW.network.sqlog`` with what the queues did to its packets. They are JSON text sequences, written as a stream. How a
TCP flow is told in the terms of QUIC stands in ``crates/export/src/qlog/mod.rs``.

Of a flow over a QUIC stack a run has the datagrams and the stack's own numbers, not its packets
(``crates/export/src/qlog/datagrams.rs``). Other flows of datagrams, and those that stand for many connections, have no
log: the former acknowledge nothing, and of the latter each connection would need one.
"""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel import _core
from windtunnel.errors import InputError
from windtunnel.export.connections import Connection, connections, groups_of_flows
from windtunnel.export.packets import POINTS, check_recorded, packet_parts
from windtunnel.result import RunResult

#: The versions of qlog: 0.4 stands for the current drafts.
VERSIONS = ("0.3", "0.4")
SUFFIX = ".sqlog"
_GZIP = ".gz"
#: What the names of logs end in.
SUFFIXES = (SUFFIX, SUFFIX + _GZIP)
#: The vantage points, in the order of the core, and where a capture would be made for each.
_VANTAGES = {"client": ("sender",), "network": ("queue-in", "queue-out"), "server": ("receiver",)}
#: The modes of controllers that have their own, in the order of the number in the table ``cc``.
_MODES: Mapping[str, Sequence[str]] = {
    "bbr": ("startup", "drain", "probe_bw", "probe_rtt"),
    **dict.fromkeys(
        ("bbr2", "bbr3"),
        (
            *("startup", "drain", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up"),
            "probe_rtt",
        ),
    ),
}
_LONGEST_NAME = 80
#: Of IPv4 and UDP.
_UDP_HEADERS = 28


def write_qlog(
    result: RunResult,
    folder: Path,
    *,
    points: Sequence[str] = POINTS[:1],
    version: str = VERSIONS[-1],
    compress: bool = False,
) -> list[Path]:
    """Write the logs of ``result``'s flows into ``folder``; returns their paths.

    ``points``: where, as for captures; either side of a queue stands for the path. ``version``: ``0.3`` has the names
    that qvis reads, ``0.4`` those of the current drafts. ``compress``: by gzip, after writing. Raises InputError if the
    run has no packets, or no flow that has a log.
    """
    check_recorded(result)
    chosen = [name for name, places in _VANTAGES.items() if set(places) & set(points)]
    flows = [c for c in connections(result) if _has_log(c)]
    if not flows:
        raise InputError("the result has no flow that is one connection: there is nothing to write as qlog")
    groups = groups_of_flows(result.meta.get("scenario") or {}, len(result.flows))
    names = _file_names([c.name for c in flows])
    described = [
        {
            **_flow(result, connection, groups[connection.index]),
            "paths": [folder / f"{name}.{vantage}{SUFFIX}" if vantage in chosen else None for vantage in _VANTAGES],
        }
        for connection, name in zip(flows, names, strict=True)
    ]
    queues = [str(queue["name"]) for queue in result.queues]
    title = f"{result.title or 'windtunnel'}; seed {result.summary['seed']}; digest {result.digest}"
    try:
        _core.write_qlog(title, described, queues, packet_parts(result), version)
    except ValueError as error:
        raise InputError(f"the packets cannot be exported: {error}") from None
    paths = [path for flow in described for path in flow["paths"] if path is not None]
    return [_packed(path) for path in paths] if compress else paths


def _packed(path: Path) -> Path:
    """The file compressed, in its place. Equal files give equal ones."""
    packed = path.with_name(path.name + _GZIP)
    with (
        path.open("rb") as source,
        packed.open("wb") as target,
        gzip.GzipFile("", "wb", fileobj=target, mtime=0) as writer,
    ):
        shutil.copyfileobj(source, writer, 1 << 20)
    path.unlink()
    return packed


def left_out(result: RunResult) -> list[str]:
    """The names of the flows that have no log."""
    return [c.name for c in connections(result) if not _has_log(c)]


def _has_log(connection: Connection) -> bool:
    return connection.is_socket or connection.is_over_stack


def _file_names(flows: Sequence[str]) -> list[str]:
    """A name for each flow that every file system takes, and that no other flow has."""
    taken = set[str]()
    names = []
    for index, flow in enumerate(flows):
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", flow)[:_LONGEST_NAME].lstrip(".") or "flow"
        # Some file systems take upper and lower case for the same.
        if name.lower() in taken:
            name = f"{name}-{index}"
        taken.add(name.lower())
        names.append(name)
    return names


def _flow(result: RunResult, connection: Connection, group: Mapping[str, Any]) -> dict[str, Any]:
    tcp = {**(result.meta.get("scenario") or {}).get("tcp", {}), **group.get("tcp", {})}
    return {
        "index": connection.index,
        "name": connection.name,
        "ends": [_end(connection.local), _end(connection.peer)],
        "mss": connection.mss,
        "initial_window": _window(str(group.get("iw", "10 packets")), connection.mss),
        "reordering_threshold": int(tcp.get("dupthresh", 3)),
        "by_time": tcp.get("loss_detection", "rack") == "rack",
        "granularity": 1,
        "modes": _modes(result, connection),
        "over_stack": connection.is_over_stack,
        "lost": _lost(result, connection) if connection.is_over_stack else [],
    }


def _lost(result: RunResult, connection: Connection) -> list[tuple[int, int]]:
    """When the stack has found packets lost, and how many: full datagrams, of the bytes in the table ``cc``."""
    table = result.tables.get("cc")
    if table is None or "lost" not in table:
        return []
    mine = (table["flow"] == connection.index) & np.isfinite(table["lost"])
    full = connection.mtu - _UDP_HEADERS
    packets = np.diff(np.ceil(table["lost"][mine] / full), prepend=0.0)
    times = table["time_s"][mine]
    return [(round(float(times[n]) * 1e9), int(packets[n])) for n in np.flatnonzero(packets > 0)]


def _end(text: str) -> tuple[str, int]:
    address, _, port = text.rpartition(":")
    return address, int(port)


def _window(text: str, mss: int) -> int:
    """An initial window in bytes."""
    number, _, unit = text.partition(" ")
    if unit.startswith("packet"):
        return int(float(number)) * mss
    try:
        return int(_core.size(text))
    except ValueError:
        return 10 * mss


def _modes(result: RunResult, connection: Connection) -> list[tuple[int, str]]:
    """When a controller has entered each of its modes, as the table ``cc`` shows it."""
    names, table = _MODES.get(connection.cc), result.tables.get("cc")
    if names is None or table is None or "mode" not in table:
        return []
    mine = (table["flow"] == connection.index) & np.isfinite(table["mode"])
    times, modes = table["time_s"][mine], table["mode"][mine].astype(int)
    entered = np.flatnonzero(np.diff(modes, prepend=-1))
    return [(round(float(times[n]) * 1e9), names[modes[n]]) for n in entered if 0 <= modes[n] < len(names)]
