"""The figures of the graphs: both throughputs and their sum on one axis, round trips of probe and TCP on the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import INK, PURPLE, flow_look
from windtunnel.figures.two_axes import TCP_RTT, Curve, Panel, two_axes
from windtunnel.papers.sce.graphs import flow_names, title
from windtunnel.papers.sce.plan import RATE_MBPS, RTT_MS
from windtunnel.papers.setups import Excerpt

DPI = 110
#: The right axis, the same in all figures, starts a little below the path's round trip, so that an empty queue's line
#: is seen. The RTT of a flow with a window of two segments, whose ACKs are delayed, may leave it.
_LOW_MS, _HIGH_MS = RTT_MS - 1.0, RTT_MS + 11.0


def draw_all(graphs: Sequence[tuple[dict[str, Any], Excerpt | None]]) -> bytes:
    """All graphs that were run, two in a row."""
    panels = [_panel(graph, excerpt, general=True) for graph, excerpt in graphs if excerpt is not None]
    figure = two_axes(panels, columns=2, rate_mbps=RATE_MBPS, right_low=_LOW_MS, right_high=_HIGH_MS)
    return png(figure, DPI)


def draw_one(graph: dict[str, Any], excerpt: Excerpt) -> bytes:
    """A single graph."""
    return png(two_axes([_panel(graph, excerpt)], rate_mbps=RATE_MBPS, right_low=_LOW_MS, right_high=_HIGH_MS), DPI)


def _panel(graph: dict[str, Any], excerpt: Excerpt, *, general: bool = False) -> Panel:
    """``general``: the names of flows that one legend for all graphs can have."""
    time = excerpt["time_s"]
    rates = [np.nan_to_num(excerpt[f"throughput_mbps/{flow}"]) for flow in (0, 1)]
    names = _general(graph) if general else flow_names(graph["flows"])
    looks = [flow_look(_look(graph, flow)) for flow in (0, 1)]
    left = [Curve("sum of both", time, rates[0] + rates[1], INK, width=0.7)]
    left += [Curve(names[i], time, rates[i], looks[i].colour) for i in (0, 1)]
    right = [
        Curve(f"{names[i]}: TCP RTT", time, excerpt[f"srtt_ms/{i}"], looks[i].colour, TCP_RTT, 0.8) for i in (0, 1)
    ]
    right.append(Curve("probe: RTT", time, excerpt["rtt_mean_ms/2"], PURPLE, width=0.9))
    return Panel(title(graph), left, right)


def _look(graph: dict[str, Any], flow: int) -> int:
    """A kind of flow has the same look in every graph: Reno, Reno-SCE, the other Reno-SCE."""
    if graph["flows"][flow] == "reno":
        return 0
    return 1 if flow == 1 else 2


def _general(graph: dict[str, Any]) -> tuple[str, str]:
    first, second = flow_names(graph["flows"])
    return (first, second) if graph["flows"][0] == "reno" else ("the other Reno-SCE", "Reno-SCE")
