"""ss: what ``ss -tin`` of iproute2 would have printed at the senders at the end of each recording interval.

A line ``# 1.250 s`` before each output gives the time. A connection appears with its first round-trip sample;
datagrams, and flows that stand for many connections, do not appear. Names, order, units and omissions are those of ss
(iproute2, misc/ss.c, ``tcp_stats_print``): ms, segments, bit/s; no value of 0, no infinite ssthresh, no reordering of
3. ss does not show the state of congestion control; flowgrind does. Loss-free endpoints have no timer and no rate
samples: their mean deviation is 0, and their delivery rate is the goodput.
"""

from __future__ import annotations

import math
from itertools import groupby
from pathlib import Path

import numpy as np

from windtunnel.export.samples import Array, Samples, cumulative, moments, sockets
from windtunnel.result import RunResult

#: The ssthresh, in segments, that ss takes for infinite; and the degree of reordering with which connections start.
_INFINITE, _REORDERING = 0xFFFF, 3
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
    outstanding = flow.outstanding[row]
    socket = f"{'ESTAB':<8}{0:<8}{outstanding:<10.0f}{c.local:<24}{c.peer}"

    def of(column: Array | None, absent: float = 0.0) -> float:
        return absent if column is None or not np.isfinite(column[row]) else float(column[row])

    def segments(name: str) -> int:
        return math.ceil(of(flow.get(name)) / c.mss)

    # The kernel's units: microseconds, timeouts in ticks of its clock, whole segments.
    srtt, rttvar, least = (round(of(t), 3) for t in (flow["srtt_ms"], flow.get("rttvar_ms"), least_rtt))
    rto, backoff, reordering = (of(flow.get(name)) for name in ("rto_ms", "backoff", "reordering"))
    ssthresh, cwnd = of(flow.get("ssthresh_bytes")) // c.mss, max(int(of(flow["cwnd_bytes"]) // c.mss), 1)
    pacing, delivery = (of(rate) * 1e6 for rate in (flow.get("pacing_rate_mbps"), flow.delivery_rate))
    now, total = segments("retrans_out_bytes"), of(retransmits)
    lost, sacked = segments("lost_bytes"), segments("sacked_bytes")
    info = [
        *(word for word, on in (("ts", c.timestamps), ("sack", c.sack), ("ecn", c.ecn)) if on),
        c.cc,
        "wscale:14,14",
        rto and f"rto:{math.ceil(round(rto, 6)):g}",
        backoff and f"backoff:{backoff:.0f}",
        f"rtt:{srtt:g}/{rttvar:g}",
        f"mss:{c.mss}",
        f"pmtu:{c.mtu}",
        f"cwnd:{cwnd}",
        0 < ssthresh < _INFINITE and f"ssthresh:{ssthresh:.0f}",
        f"send {cwnd * c.mss * 8e3 / srtt:.0f}bps",
        pacing and f"pacing_rate {pacing:.0f}bps",
        delivery and f"delivery_rate {delivery:.0f}bps",
        outstanding > 0 and f"unacked:{math.ceil(outstanding / c.mss)}",
        (now or total) and f"retrans:{now}/{total:.0f}",
        lost and f"lost:{lost}",
        sacked and f"sacked:{sacked}",
        reordering not in (0, _REORDERING) and f"reordering:{reordering:.0f}",
        least and f"minrtt:{least:g}",
    ]
    return f"{socket}\n\t {' '.join(word for word in info if word)}\n"
