"""The figure of K82: what a sparse flow waits at the end of slow start and after a rate drop, queue by queue."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from windtunnel.figures.style import RC, flow_look
from windtunnel.metrics import by_flow
from windtunnel.papers.setups import Excerpt, Setup
from windtunnel.papers.suite import Group, Results
from windtunnel.result import RunResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The experiment, and the arms that are drawn: long paths, where slow start and the drop overshoot most.
EXPERIMENT = "K82"
ARMS = {
    "sparse/single-80": "one DelTiM for all, CUBIC-MDS",
    "sparse/dualpi2-80": "DualPI2's L queue, with Prague",
    "sparse/cnq-80": "sparse flows by CNQ, with CUBIC-MDS",
    "sparse/rate-80": "sparse flows by rate, with CUBIC-MDS",
}
#: Seconds that the panels show, with their titles.
SPANS = (("End of slow start", 0.0, 4.0), ("Rate drop of 100 to 20 Mbit/s at 20 s", 19.5, 23.5))
#: The sparse flow of the scenario, and its path's round trip.
SPARSE, PATH_MS = 2, 20.0


def sparse_series(run: RunResult) -> Excerpt:
    """``time_s``, and the sparse flow's longest queueing delay in each interval in which a packet of it comes back."""
    table = run.tables["flows"]
    time, delays = by_flow(table["time_s"], table["flow"], table["rtt_max_ms"])
    delay = delays[:, SPARSE] - PATH_MS
    finite = np.isfinite(delay)
    return {"time_s": time[finite], "delay_ms": delay[finite]}


def add_figure(group: Group, setups: Mapping[str, Setup]) -> None:
    """Lets the experiment's group draw its arms."""
    for arm in ARMS:
        if arm in setups:
            setups[arm].excerpt = sparse_series
    group.png = _draw


def _draw(results: Results) -> bytes | None:
    from matplotlib.figure import Figure

    series = {label: excerpt for arm, label in ARMS.items() if (excerpt := results.excerpt(arm)) is not None}
    if not series:
        return None
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 4.6), layout="constrained")
        for axes, (title, start, stop) in zip(figure.subplots(1, len(SPANS)), SPANS, strict=True):
            _panel(axes, series, start, stop)
            axes.set(title=title, xlabel="Time (s)", ylabel="queueing delay of the sparse flow (ms)")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figure.suptitle("Beside two flows with a path RTT of 80 ms", fontsize=11, x=0.01, ha="left")
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=120)
    return out.getvalue()


def _panel(axes: Axes, series: Mapping[str, Excerpt], start: float, stop: float) -> None:
    for index, (label, excerpt) in enumerate(series.items()):
        look = flow_look(index)
        time = np.asarray(excerpt["time_s"])
        part = (time >= start) & (time <= stop)
        # A delay of zero has no place on a logarithmic axis; a packet of the sparse flow itself takes longer.
        delay = np.maximum(np.asarray(excerpt["delay_ms"])[part], 0.01)
        axes.plot(time[part], delay, color=look.colour, marker=look.marker, ms=2.6, lw=0.8, label=label)
    axes.set_yscale("log")
    axes.set_xlim(start, stop)
