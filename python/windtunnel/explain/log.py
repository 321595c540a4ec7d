"""What an endpoint has logged (qlog): its connections, each with its departures and acknowledgements.

The core (``crates/trace/src/qlog``) follows the packets by their numbers. A window of QUIC counts whole packets, so
that a segment here is a full packet. A stack that logs no packets, but its window, flight and round-trip times, is
explained by these, like a run that recorded no packets. What the log's owner received says nothing of the other end's
window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.errors import InputError
from windtunnel.explain.trace import USUAL_MSS, Flow, Trace, by_flow
from windtunnel.input_file import shown_name

#: A full packet is the longest that has at least this share: probes of the path's MTU are longer, and rare.
_SHARE = 0.02
#: A packet this near to a full one is full: stacks leave some bytes free.
_NEARLY = 0.95
#: Who receives more than this times what it sends is the receiver.
_RECEIVER = 4
#: Fewer packets, or rows of numbers, show nothing.
_LEAST = 2


def of_log(path: Path, log: Mapping[str, Any]) -> Trace:
    """What was read from a log. Raises InputError if its owner has sent no data."""
    connections, notes = log["connections"], list(log["notes"])
    count = len(connections)
    sends, acks = by_flow(log["walked"]["sends"], count), by_flow(log["walked"]["acks"], count)
    metrics = by_flow(log["metrics"], count)
    flows = []
    for index, connection in enumerate(connections):
        name, sent = str(connection["name"]), int(connection["sent"])
        if connection["received"] > _RECEIVER * sent:
            notes.append(
                f"{name}: its data were received here. What was in flight is in the log of the end that sent them."
            )
            continue
        handshake = connection["handshake_ns"]
        flow = Flow(
            name,
            USUAL_MSS,
            None,
            None,
            handshake_s=None if handshake is None else handshake / 1e9,
            logged=True,
            quic=not connection["tcp"],
        )
        if sent >= _LEAST and connection["acks"] >= _LEAST:
            # A TCP flow's segments are known exactly.
            mss = int(connection["largest"]) if connection["tcp"] else _full(sends[index]["payload"])
            flow = replace(
                flow, mss=mss, sends=sends[index] if connection["tcp"] else _filled(sends[index], mss), acks=acks[index]
            )
        elif len(metrics[index]["time_s"]) >= _LEAST:
            notes.append(
                f"{name}: its packets were not logged: what only packets show is left out, and a segment is "
                f"{USUAL_MSS} bytes."
            )
            flow = replace(flow, series=metrics[index])
        else:
            continue
        flows.append(flow)
    if not flows:
        raise InputError(
            f"{shown_name(path)}: has no connection that sent data among {log['events']} events. "
            f"{' '.join(notes)}".strip()
        )
    return Trace(path, "qlog", shown_name(Path(path.name)), float(log["duration_s"]), flows, notes)


def _full(lengths: npt.NDArray[Any]) -> int:
    """The length of a full packet."""
    values, counts = np.unique(lengths, return_counts=True)
    usual = values[counts >= _SHARE * len(lengths)]
    return int(max(usual.max() if len(usual) else values.max(), 1))


def _filled(sends: Mapping[str, npt.NDArray[Any]], mss: int) -> dict[str, npt.NDArray[Any]]:
    """The departures; those that are nearly full count as full."""
    payload = sends["payload"]
    nearly = (payload >= _NEARLY * mss) & (payload < mss)
    return {**sends, "payload": np.where(nearly, mss, payload).astype(payload.dtype)}
