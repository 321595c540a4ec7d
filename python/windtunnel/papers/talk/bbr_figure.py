"""The figures of BBR: states over time, start-up, probes, operating point; throughput with random loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import INK, RC, RED, SOFT, flow_look
from windtunnel.papers.features.probes import MODES
from windtunnel.papers.features.transients import moving_average
from windtunnel.papers.setups import Excerpt
from windtunnel.papers.talk.bbr import Path
from windtunnel.papers.talk.plan import RATE_MBPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 100
#: A colour for each mode, and how strong it is behind curves.
_COLOURS = ("#e08a00", "#5546a8", "#dfe7ee", "#c01c28")
_ALPHA = (0.35, 0.35, 0.7, 0.45)
#: The parts of the run that the start-up and the probes are shown in.
START_S, PROBES_S = (0.0, 2.5), (6.0, 9.0)


def draw_states(path: Path, excerpt: Excerpt) -> bytes:
    """Six panels: the whole run on the left, details on the right."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    time = np.asarray(excerpt["time_s"])
    packets = path.rate_mbps * 1e6 / 12_000
    with mpl.rc_context(RC):
        figure = Figure(figsize=(12, 9.4), layout="constrained")
        grid = figure.subplots(3, 2)
        window, rtt, model = grid[:, 0]
        window.plot(time, np.asarray(excerpt["cwnd/0"]), color=INK, lw=1.0, label="cwnd")
        window.plot(time, np.asarray(excerpt["in_flight"]), color=flow_look(0).colour, lw=0.8, label="in flight")
        window.axhline(path.bdp_packets, color=SOFT, lw=0.8, ls=(0, (1, 2)), label="BDP")
        window.set(title="Window and packets in flight", ylabel="Packets", ylim=(0, None))
        rtt.plot(time, np.asarray(excerpt["rtt_ms/0"]), color=flow_look(0).colour, lw=0.8, label="RTT")
        rtt.plot(time, 1e3 * np.asarray(excerpt["min_rtt_s"]), color=INK, lw=1.1, label="its least RTT")
        rtt.set(title="Round-trip time", ylabel="ms")
        mbps = np.asarray(excerpt["max_bw_bit_per_s"]) / 1e6
        mean = moving_average(time, np.asarray(excerpt["mbps/0"]), 0.1)
        model.plot(time, mean, color=flow_look(0).colour, lw=0.9, label="throughput")
        model.plot(time, mbps, color=INK, lw=1.2, label="its bandwidth estimate")
        model.set(title="Throughput and estimate", ylabel="Mbit/s", xlabel="Time (s)", ylim=(0, 1.6 * path.rate_mbps))
        for axes in (window, rtt, model):
            _shade(axes, time, np.asarray(excerpt["mode"]))
            axes.set_xlim(0, time[-1])
            axes.legend(loc="upper right", ncols=3)
        _start(grid[0, 1], excerpt)
        _probes(grid[1, 1], excerpt, packets)
        _operating(grid[2, 1], path, excerpt)
        handles = [Patch(color=c, alpha=a, label=n) for c, a, n in zip(_COLOURS, _ALPHA, MODES, strict=True)]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
        figure.suptitle(f"BBR: {path.text}", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)


def _shade(axes: Axes, time: np.ndarray, mode: np.ndarray) -> None:
    """The modes as colours behind the curves."""
    edges = np.flatnonzero(np.diff(mode)) + 1
    for first, past in zip([0, *edges], [*edges, len(mode)], strict=True):
        which = int(mode[first])
        end = time[min(past, len(time) - 1)]
        axes.axvspan(time[first], end, color=_COLOURS[which], alpha=_ALPHA[which], lw=0, zorder=0)


def _start(axes: Axes, excerpt: Excerpt) -> None:
    """Start-up as a sequence graph: what was sent, and what was acknowledged."""
    time = np.asarray(excerpt["time_s"])
    sent = np.cumsum(np.asarray(excerpt["sent"])) * float(time[1] - time[0])
    shown = time <= START_S[1]
    axes.step(time[shown], sent[shown], where="post", color=INK, lw=1.1, label="sent")
    axes.step(time[shown], np.asarray(excerpt["delivered"])[shown], where="post", color=flow_look(0).colour, lw=1.1,
              label="acknowledged")  # fmt: skip
    _shade(axes, time[shown], np.asarray(excerpt["mode"])[shown])
    axes.set(title="Start-up: sequence numbers", xlabel="Time (s)", ylabel="Packets", xlim=START_S, ylim=(0, None))
    axes.legend(loc="upper left")


def _probes(axes: Axes, excerpt: Excerpt, packets: float) -> None:
    """The sending rate, with the probes that were made and those that the detector finds in it."""
    time = np.asarray(excerpt["time_s"])
    start, stop = PROBES_S
    shown = (time >= start) & (time <= stop)
    rate = moving_average(time, np.asarray(excerpt["sent"]), 0.03) / packets
    axes.plot(time[shown], rate[shown], color=flow_look(0).colour, lw=0.9, label="sending rate over the link's")
    axes.step(
        time[shown], np.asarray(excerpt["pacing_gain"])[shown], where="post", color=INK, lw=0.9, label="pacing gain"
    )
    top = 2.1
    for name, height, look in (("true_probes", 0.12, INK), ("found_probes", 0.24, RED)):
        at = np.asarray(excerpt[name])
        at = at[(at >= start) & (at <= stop)]
        label = "probe made" if name == "true_probes" else "probe found"
        axes.plot(at, np.full(len(at), height), "^", color=look, ms=6, label=label)
    axes.set(title="Where are the BtlBw probes?", xlabel="Time (s)", xlim=PROBES_S, ylim=(0, top))
    axes.legend(loc="upper center", ncols=2)


def _operating(axes: Axes, path: Path, excerpt: Excerpt) -> None:
    """RTT against packets in flight, coloured by mode; the limits of the path, and the point of the estimates."""
    mode, flight = np.asarray(excerpt["mode"]), np.asarray(excerpt["in_flight"])
    rtt = np.asarray(excerpt["rtt_ms/0"])
    for which, name in enumerate(MODES):
        mine = (mode == which) & np.isfinite(rtt)
        colour = "#3ba3e0" if which == 2 else _COLOURS[which]
        axes.plot(flight[mine], rtt[mine], ".", ms=2.4, alpha=0.6, color=colour, label=name)
    top = float(np.nanmax(flight)) * 1.05
    load = np.linspace(0, top, 200)
    least = 1e3 * path.rtt_s
    axes.plot(load, np.maximum(least, least * load / path.bdp_packets), color=INK, lw=1.0, label="the path")
    bw, min_rtt = (float(np.nanmedian(np.asarray(excerpt[n]))) for n in ("max_bw_bit_per_s", "min_rtt_s"))
    axes.plot(bw * min_rtt / (1448 * 8), 1e3 * min_rtt, "*", color=RED, ms=12, label="most bandwidth, least RTT")
    axes.set(title="Operating point", xlabel="Packets in flight", ylabel="RTT (ms)", xlim=(0, top))
    axes.legend(loc="upper left", markerscale=1.5, ncols=2)


def draw_losses(excerpts: Mapping[int, Excerpt]) -> bytes:
    """A curve of throughput for each loss."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 4.2), layout="constrained")
        axes = figure.subplots()
        for index, (percent, excerpt) in enumerate(excerpts.items()):
            time = np.asarray(excerpt["time_s"])
            look = flow_look(index)
            rate = moving_average(time, np.asarray(excerpt["mbps/0"]), 1.0)
            axes.plot(time, rate, color=look.colour, lw=1.2, label=f"{percent} % loss")
        axes.axhline(RATE_MBPS, color=SOFT, lw=0.6, ls=(0, (1, 2)))
        axes.set(xlabel="Time (s)", ylabel="Throughput (Mbit/s)", xlim=(0, 60), ylim=(0, 1.2 * RATE_MBPS))
        axes.legend(loc="upper center", ncols=4)
        figure.suptitle("BBR with random loss: 40 Mbit/s, 100 ms", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)
