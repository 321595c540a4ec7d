"""Other draws of a table's cells by the simulator that printed them, compared with those made here.

A number of tables 2 to 6 is one draw: a microsecond more or less of path RTT gives another one. Where the printed one
is outside of the runs here, the printing simulator's own other draws show whether that means anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windtunnel.papers.data_folder import MDS
from windtunnel.papers.rows import Row, spread

if TYPE_CHECKING:
    from windtunnel.papers.mds.fairness import Line

#: Whose draws they are.
SOURCE = "the document's simulator, mean of its draws"


def other_draws(line: Line, flow: int) -> dict[int, float]:
    """Throughput of a flow in Mbit/s by the microseconds that were added to the path RTTs."""
    column = ("first_mbps", "second_mbps")[flow]
    key = (line.table, line.rate_mbps, line.rtt_ms, line.threshold_ms)
    return {
        int(r["offset_us"]): float(r[column])
        for r in MDS.table("tables/draws.csv")
        if (int(r["table"]), float(r["rate_mbps"]), float(r["rtt_ms"]), "") == key
    }


def draws_row(line: Line, flow: int, values: Sequence[float]) -> Row | None:
    """Both simulators' draws, for information; None where there are no others than the printed one."""
    others = other_draws(line, flow)
    if not others:
        return None
    draws = [float(line.printed[flow]), *others.values()]
    listed = ", ".join(f"{value:.0f} with {offset:+d} us" for offset, value in others.items())
    note = f"{SOURCE}: {sum(draws) / len(draws):.0f}; {line.printed[flow]} printed, {listed}"
    name = line.controllers[flow]
    return Row(
        f"{line.id}/{name}/draws",
        f"table{line.table}",
        f"{line.what}: {name}, several draws of both simulators",
        None,
        sum(values) / len(values) if values else None,
        None,
        "Mbit/s",
        "info",
        note,
        spread(values),
        reference=sum(draws) / len(draws),
        source=SOURCE,
    )
