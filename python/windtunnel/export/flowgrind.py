"""flowgrind: the interval reports that the flowgrind controller prints, so that scripts for it (``grep ^S``) read them.

``S`` is the sender, ``D`` the receiver, which transmits nothing. ``through`` is the sender's goodput as it arrived; the
kernel's metrics are the sender's at the end of the interval. A metric that the run did not record is ``nan``.
Inter-arrival times of blocks are ``inf``, flowgrind's word for no block: a stream has none. Datagrams, and flows that
stand for many connections, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from windtunnel.export.samples import Samples, moments, sockets
from windtunnel.result import RunResult

#: Name, unit, width.
_COLUMNS = (
    ("ID", "", 3),
    ("begin", "[s]", 9),
    ("end", "[s]", 9),
    ("through", "[Mbit/s]", 12),
    ("transac", "[#]", 8),
    ("min IAT", "[ms]", 8),
    ("avg IAT", "[ms]", 8),
    ("max IAT", "[ms]", 8),
    ("cwnd", "[#]", 7),
    ("ssth", "[#]", 8),
    ("uack", "[#]", 6),
    ("sack", "[#]", 6),
    ("lost", "[#]", 6),
    ("retr", "[#]", 6),
    ("tret", "[#]", 6),
    ("fack", "[#]", 6),
    ("reor", "[#]", 5),
    ("bkof", "[#]", 5),
    ("rtt", "[ms]", 8),
    ("rtvar", "[ms]", 8),
    ("rto", "[ms]", 8),
    ("ca state", "", 9),
    ("smss", "[B]", 6),
    ("pmtu", "[B]", 6),
)
_STATES = ("open", "disorder", "cwr", "recovery", "loss")
_DATE = "2020-01-01-00:00:00"


def write_flowgrind(result: RunResult, path: Path) -> None:
    """Write the interval reports of all flows to ``path``."""
    flows = sockets(result)
    interval = float(flows[0].time[0])
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(
            f"# Date: {_DATE}, controlling host = windtunnel, number of flows = {len(flows)}, "
            f"reporting interval = {interval:g}s, [through] = 10**6 bit/second (windtunnel)\n"
        )
        file.write("#" + _line([name for name, _, _ in _COLUMNS]))
        file.write("#" + _line([unit for _, unit, _ in _COLUMNS]))
        for end, row, flow in moments(flows):
            begin = float(flow.time[row - 1]) if row else 0.0
            span = [str(flow.connection.index), f"{begin:.3f}", f"{end:.3f}"]
            blocks = ["0.00", "inf", "inf", "inf"]
            file.write("S" + _line([*span, f"{flow['goodput_mbps'][row]:.6f}", *blocks, *_kernel(flow, row)]))
            file.write("D" + _line([*span, f"{0:.6f}", *blocks, *["0"] * 10, *["0.0"] * 3, "open", "0", "0"]))


def _kernel(flow: Samples, row: int) -> list[str]:
    """The metrics of the sender's kernel, from ``cwnd`` on."""
    c = flow.connection
    segments = 1 / c.mss

    def of(name: str, digits: int = 0, scale: float = 1.0) -> str:
        column = flow.get(name)
        return "nan" if column is None else f"{column[row] * scale:.{digits}f}"

    ssthresh = of("ssthresh_bytes", scale=segments)
    state = flow.get("state")
    return [
        f"{flow['cwnd_bytes'][row] * segments:.0f}",
        "INT_MAX" if ssthresh == "inf" else ssthresh,
        f"{flow['in_flight_bytes'][row] * segments:.0f}",
        of("sacked"),
        of("lost_out"),
        of("retrans_out"),
        of("rto_retransmits"),
        of("fackets"),
        of("reordering"),
        of("backoff"),
        of("srtt_ms", 1),
        of("rttvar_ms", 1),
        of("rto_ms", 1),
        "nan" if state is None or not np.isfinite(state[row]) else _STATES[int(state[row])],
        str(c.mss),
        str(c.mtu),
    ]


def _line(values: Sequence[str]) -> str:
    return " ".join(f"{value:>{width}}" for value, (_, _, width) in zip(values, _COLUMNS, strict=True)) + "\n"
