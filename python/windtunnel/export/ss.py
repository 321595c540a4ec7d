"""ss: what ``ss -tin`` of iproute2 would have printed at the senders at the end of each recording interval.

A line ``# 1.250 s`` before each of its outputs gives the time. A connection is there from its first round-trip sample
on; datagrams, and flows that stand for many connections, have none. Values that the run did not record are left out,
as ss does where the kernel has none.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np

from windtunnel.export.samples import Array, Samples, cumulative, moments, sockets
from windtunnel.result import RunResult

_HEADER = f"{'State':<8}{'Recv-Q':<8}{'Send-Q':<10}{'Local Address:Port':<24}{'Peer Address:Port':<24}"


def write_ss(result: RunResult, path: Path) -> None:
    """Write the sockets of all flows over time to ``path``."""
    flows = sockets(result)
    retransmits = {flow.connection.index: cumulative(flow, "retransmits") for flow in flows}
    least = {flow.connection.index: np.fmin.accumulate(flow["rtt_min_ms"]) for flow in flows}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for time, group in groupby(moments(flows), key=lambda moment: moment[0]):
            file.write(f"# {time:.3f} s\n{_HEADER.rstrip()}\n")
            for _, row, flow in group:
                if flow["srtt_ms"][row] > 0:
                    index = flow.connection.index
                    file.write(_socket(flow, row, retransmits[index], least[index]))


def _socket(flow: Samples, row: int, retransmits: Array | None, least_rtt: Array) -> str:
    c = flow.connection
    in_flight = flow["in_flight_bytes"][row]
    socket = f"{'ESTAB':<8}{0:<8}{in_flight:<10.0f}{c.local:<24}{c.peer}"

    def has(name: str, text: str, scale: float = 1.0) -> list[str]:
        """The text with the column's value, if there is one."""
        column = flow.get(name)
        return [text.format(column[row] * scale)] if column is not None and np.isfinite(column[row]) else []

    srtt, cwnd = flow["srtt_ms"][row], max(int(flow["cwnd_bytes"][row] // c.mss), 1)
    rate = flow.get("delivery_rate_mbps")
    options = [word for word, on in (("ts", c.timestamps), ("sack", c.sack), ("ecn", c.ecn)) if on]
    info = [
        *options,
        c.cc,
        "wscale:14,14",
        *has("rto_ms", "rto:{:.0f}"),
        f"rtt:{srtt:.3f}" + "".join(has("rttvar_ms", "/{:.3f}")),
        f"mss:{c.mss}",
        f"pmtu:{c.mtu}",
        f"cwnd:{cwnd}",
        *has("ssthresh_bytes", "ssthresh:{:.0f}", 1 / c.mss),
        f"send {cwnd * c.mss * 8e3 / srtt:.0f}bps" if srtt > 0 else "",
        *has("pacing_rate_mbps", "pacing_rate {:.0f}bps", 1e6),
        *has("goodput_mbps" if rate is None else "delivery_rate_mbps", "delivery_rate {:.0f}bps", 1e6),
        f"unacked:{in_flight / c.mss:.0f}" if in_flight > 0 else "",
        f"retrans:0/{retransmits[row]:.0f}" if retransmits is not None and retransmits[row] > 0 else "",
        f"minrtt:{least_rtt[row]:.3f}" if np.isfinite(least_rtt[row]) else "",
    ]
    return f"{socket}\n\t {' '.join(word for word in info if word)}\n"
