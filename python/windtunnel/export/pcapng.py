"""pcapng: the packets of a run as a capture for Wireshark, tshark, tcptrace and every program that reads tcpdump files.

The file has one interface per place of observation: ``snd.<flow>``, ``q.<queue>.in``, ``q.<queue>.out``,
``rcv.<flow>``. The default is the senders' view, as tcpdump would show it there, because an analyser takes a packet
that it sees at several places for a retransmission. A packet's comments hold what no header shows: the sender's window
and state after it, where its state or ssthresh has changed, and why it was dropped. Wireshark lists all comments
among its expert information: a comment on every packet would hide the rest. The table ``packets`` has the state after
every packet.

A flow that stands for many connections is one interface, and each of its connections a client of its own: the address
and port of the sender are the connection's, those of the receiver are the flow's.

Packets over a real stack have their real payload where the scenario records payloads, and the file holds the secrets
with which Wireshark decrypts them, if it sees each packet at one place; without, the payload is zeros.

Wireshark calls a retransmission that follows new data within a round trip "out-of-order", even in a capture at the
sender. Those that the simulator counts have the comment ``retransmission``, and
``tcp.analysis.retransmission || tcp.analysis.out_of_order`` at a sender finds them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from windtunnel import _core
from windtunnel.errors import InputError
from windtunnel.export.connections import Connection, connections
from windtunnel.export.packets import POINTS, check_recorded, packet_parts
from windtunnel.result import RunResult

#: The link-layer headers, and the versions of IP.
LINKS = ("ethernet", "raw")
IP_VERSIONS = (4, 6)


def write_pcapng(
    result: RunResult,
    path: Path,
    *,
    points: Sequence[str] = POINTS[:1],
    link: str = LINKS[0],
    ip: int = IP_VERSIONS[0],
    snaplen: int | None = None,
) -> int:
    """Write the packets of ``result`` that were seen at ``points`` to ``path``; returns how many.

    ``link``: a synthetic Ethernet header (``ethernet``) or none (``raw``). ``ip``: the version; with 6 each packet is
    20 bytes longer than in the simulation. ``snaplen``: the bytes captured of each packet, 0 for all (an analyser
    can check TCP checksums of whole packets only, and decrypt them); by default all where payloads are recorded, else
    128. Raises InputError if the run has no packets.
    """
    check_recorded(result)
    flows = [_flow(c) for c in connections(result)]
    queues = [str(queue["name"]) for queue in result.queues]
    about = f"{result.title or 'windtunnel'}; seed {result.summary['seed']}; digest {result.digest}"
    payloads, secrets = _payloads(result), str(result.meta.get("secrets") or "")
    if snaplen is None:
        snaplen = 0 if payloads else 128
    whole = (list(points), link, ip, snaplen, payloads, secrets)
    try:
        return _core.write_pcapng(path, about, flows, queues, packet_parts(result), *whole)
    except ValueError as error:
        raise InputError(f"the packets cannot be exported: {error}") from None


def has_zeros(result: RunResult) -> bool:
    """Whether a capture has zeros in place of what a real stack sent, because payloads were not recorded."""
    return "payloads" not in result.tables and any(c.is_over_stack for c in connections(result))


def _payloads(result: RunResult) -> tuple[npt.NDArray[np.uint64], list[bytes]] | None:
    """The identities of packets and their payloads, if they were recorded."""
    table = result.tables.get("payloads")
    if table is None:
        return None
    if not {"id", "content"} <= table.keys() or table["id"].dtype.kind not in "iu" or table["content"].dtype != "O":
        raise InputError("the payloads of the result have no numbers of packets and bytes: are they damaged?")
    return np.ascontiguousarray(table["id"], np.uint64), table["content"].tolist()


def _flow(c: Connection) -> tuple[str, int, bool, bool, tuple[bool, bool] | None]:
    offer = (c.acks == "state-change", c.acks == "immediate") if c.mds else None
    # The MSS option does not count options (RFC 6691).
    return (c.name, min(c.mtu - 40, 65535), c.timestamps, c.sack, offer)
