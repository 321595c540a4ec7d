"""flowgrind: the interval reports that the flowgrind controller prints, so that scripts for it (``grep ^S``) read them.

``S`` is the sender, ``D`` the receiver, which transmits nothing. ``through`` is the sender's goodput as it arrived. The
kernel's metrics are the sender's at the end of the interval, with the meaning in flowgrind's manual: ``retr`` are
retransmissions in flight, ``tret`` consecutive timeouts. A metric that the run did not record (loss-free endpoints have
some of these) is ``nan``. Inter-arrival times of blocks are ``inf``, flowgrind's value for no block: a stream has none.
Datagrams, and flows that stand for many connections, are left out.
"""

from __future__ import annotations

import math
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
    ("rttvar", "[ms]", 8),
    ("rto", "[ms]", 8),
    ("ca state", "", 9),
    ("smss", "[B]", 6),
    ("pmtu", "[B]", 6),
)
#: In flowgrind's format.
_STATES = ("open", "disorder", "cwr", "recover", "loss")
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
    # Every sender with a timer has these; loss-free ones have none of them.
    has_timer = flow.get("rto_ms") is not None

    def of(name: str, digits: int = 0) -> str:
        column = flow.get(name)
        return "nan" if column is None else f"{column[row]:.{digits}f}"

    def segments(name: str) -> str:
        column = flow.get(name)
        return "nan" if column is None else f"{math.ceil(column[row] / c.mss)}"

    ssthresh = flow.get("ssthresh_bytes")
    infinite = has_timer and (ssthresh is None or not np.isfinite(ssthresh[row]))
    state = flow.get("state")
    return [
        f"{flow['cwnd_bytes'][row] / c.mss:.0f}",
        "INT_MAX" if infinite else "nan" if ssthresh is None else f"{ssthresh[row] // c.mss:.0f}",
        f"{math.ceil(flow.outstanding[row] / c.mss)}",
        *(segments(name) for name in ("sacked_bytes", "lost_bytes", "retrans_out_bytes")),
        of("consecutive_rtos"),
        # Since 4.15 Linux no longer counts the segments below the highest SACKed one.
        "0" if has_timer else "nan",
        of("reordering"),
        of("backoff"),
        *(of(name, 1) for name in ("srtt_ms", "rttvar_ms", "rto_ms")),
        "nan" if state is None else _STATES[int(state[row])],
        str(c.mss),
        str(c.mtu),
    ]


def _line(values: Sequence[str]) -> str:
    return " ".join(f"{value:>{width}}" for value, (_, _, width) in zip(values, _COLUMNS, strict=True)) + "\n"
