"""A run as Flent draws it: throughputs and their sum on the left axis, round-trip times on the right."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from windtunnel.errors import InputError
from windtunnel.figures.style import drawn, flow_look
from windtunnel.figures.two_axes import TCP_RTT, Curve, Panel, two_axes
from windtunnel.metrics import by_flow
from windtunnel.panels.gaps import while_alive
from windtunnel.panels.looks import TOTAL
from windtunnel.panels.means import USUAL_S
from windtunnel.panels.model import Array
from windtunnel.panels.run import Result, Run

#: More flows than this would fill the legend with equals: each has a rate and a round trip.
_FEW = 4


def flent_style(
    result: Result, *, title: str | None = None, span: tuple[float | None, float | None] = (None, None)
) -> Figure:
    """Draw a run from its interval series; ``title`` is that of the panel, ``span`` the seconds that it shows.

    Both axes start at 0. TCP's round trips are the sender's smoothed ones; those of probes are solid lines. Raises
    InputError where nothing is to be drawn.
    """
    table = result.tables["flows"]
    time, flow = np.asarray(table["time_s"], dtype=np.float64), np.asarray(table["flow"], dtype=np.int64)
    start, end = (span[0] or 0.0), span[1] if span[1] is not None else float(result.summary["duration_s"])
    if not end > start:
        raise InputError(f"the figure would show nothing: from {start:g} s to {end:g} s")
    columns = {}
    for name in ("throughput_mbps", "srtt_ms", "rtt_mean_ms"):
        steps, matrix = by_flow(time, flow, np.asarray(table[name], dtype=np.float64))
        steps, means = _steps(steps, matrix)
        shown = (steps >= start) & (steps <= end + USUAL_S)
        columns[name] = np.column_stack(
            [while_alive(steps, means[:, i], entry) for i, entry in enumerate(result.summary["flows"])]
        )[shown]
        steps = steps[shown]
    # Equal flows have one entry in the legend, and one look.
    run = Run(result)
    groups = run.groups_beyond(_FEW)
    labels = {member: group.label for group in groups for member in group.members}
    looks = {member: flow_look(i) for i, group in enumerate(groups) for member in group.members}
    left: list[Curve] = []
    right: list[Curve] = []
    total, summed = np.zeros(len(steps)), []
    for index, entry in enumerate(result.summary["flows"]):
        look, label = looks[index], labels[index]
        if entry["application"] == "probe":
            right.append(Curve(f"{label}: RTT", steps, columns["rtt_mean_ms"][:, index], look.colour, width=0.9))
            continue
        rate = np.nan_to_num(columns["throughput_mbps"][:, index])
        total += rate
        summed.append(index)
        left.append(Curve(label, steps, rate, look.colour, look.dash))
        right.append(Curve(f"{label}: TCP RTT", steps, columns["srtt_ms"][:, index], look.colour, TCP_RTT, 0.8))
    if len(left) > 1 and run.is_shared(summed):
        left.insert(0, Curve("sum", steps, total, drawn(TOTAL).colour, width=0.7))
    text = title if title is not None else str(getattr(result, "title", ""))
    return two_axes([Panel(text, left, right)], span=(start, end))


def _steps(time: Array, values: Array) -> tuple[Array, Array]:
    """Means over steps; NaN where a flow has none."""
    width = max(1, round(USUAL_S / float(np.diff(time).min(initial=USUAL_S)))) if len(time) > 1 else 1
    count = len(time) // width
    if width == 1 or count == 0:
        return time, values
    parts = values[: count * width].reshape(count, width, values.shape[1])
    finite = np.isfinite(parts)
    with np.errstate(invalid="ignore"):
        means = np.where(finite, parts, 0.0).sum(axis=1) / finite.sum(axis=1)
    return time[width - 1 : count * width : width], means
