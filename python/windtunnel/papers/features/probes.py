"""BBR's probes: found in a series of sending rates alone, and as its recorded state has them.

A probe of the bandwidth is a round trip at 1.25 times the rate, and one at 0.75 after it. The detector looks for this
contrast: the mean rate of a round trip minus that of the next one, over the median rate.
"""

from __future__ import annotations

import math

import numpy as np

from windtunnel.metrics import Array
from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import Tables, View, flow_numbers

#: Half of the contrast of 1.25 and 0.75: noise does not reach it, and a shortened phase does.
CONTRAST = 0.25
#: Modes as BBR's state numbers them.
STARTUP, DRAIN, PROBE_BW, PROBE_RTT = range(4)
MODES = ("Startup", "Drain", "ProbeBW", "ProbeRTT")
#: How far a detected probe may be from the recorded one, in round trips.
NEAR_ROUNDS = 1.0


def find_probes(time: Array, rate: Array, rtt_s: float) -> Array:
    """When probes start, in seconds. ``time`` are interval ends, equally spaced; ``rate`` is of any unit."""
    step = float(time[1] - time[0])
    width = max(1, round(rtt_s / step))
    if len(rate) < 3 * width:
        return np.empty(0)
    means = np.convolve(rate, np.ones(width) / width, mode="valid")
    contrast = (means[:-width] - means[width:]) / float(np.median(rate))
    starts: list[float] = []
    for index in np.flatnonzero(contrast > CONTRAST):
        around = contrast[max(0, index - 2 * width) : index + 2 * width + 1]
        if contrast[index] == around.max() and (not starts or time[index] - step - starts[-1] > 2 * rtt_s):
            starts.append(float(time[index]) - step)
    return np.array(starts)


def sending_rate(tables: Tables, flow: int) -> tuple[Array, Array]:
    """Interval ends, and packets sent per second."""
    table = tables["flows"]
    mine = np.asarray(table["flow"]) == flow
    time = np.asarray(table["time_s"], dtype=np.float64)[mine]
    return time, np.asarray(table["sent"], dtype=np.float64)[mine] / float(time[1] - time[0])


def state(tables: Tables, flow: int, name: str) -> tuple[Array, Array]:
    """Interval ends, and a number of the controller's state."""
    table = tables["cc"]
    mine = np.asarray(table["flow"]) == flow
    return (
        np.asarray(table["time_s"], dtype=np.float64)[mine],
        np.asarray(table[name], dtype=np.float64)[mine],
    )


def true_probes(tables: Tables, flow: int) -> Array:
    """When BBR starts a phase with a gain of 1.25, as its state says."""
    time, phase = state(tables, flow, "cycle_phase")
    _, mode = state(tables, flow, "mode")
    up = (phase == 0) & (mode == PROBE_BW)
    return np.asarray(time[1:][up[1:] & ~up[:-1]])


def probe_rtts(tables: Tables, flow: int) -> list[tuple[float, float]]:
    """Start and end of each ProbeRTT."""
    time, mode = state(tables, flow, "mode")
    inside = np.concatenate(([False], mode == PROBE_RTT, [False]))
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    step = float(time[1] - time[0])
    return [(float(time[a]) - step, float(time[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _compared(view: View, rtt_s: float, start: float, stop: float) -> tuple[Array, Array]:
    """Recorded and detected probes of the window."""
    (flow,) = flow_numbers(view.flow)
    time, rate = sending_rate(view.run.tables, flow)
    chosen = (time > start) & (time <= stop)
    truth = true_probes(view.run.tables, flow)
    return truth[(truth > start) & (truth <= stop - 3 * rtt_s)], find_probes(time[chosen], rate[chosen], rtt_s)


@method
def probes_found(view: View, rtt_s: float, start: float, stop: float) -> float:
    """The part of BBR's probes that the detector finds in the sending rate, in percent."""
    truth, detected = _compared(view, rtt_s, start, stop)
    if not len(truth):
        return math.nan
    near = [len(detected) > 0 and np.abs(detected - t).min() <= NEAR_ROUNDS * rtt_s for t in truth]
    return 100.0 * float(np.mean(near))


@method
def probes_false(view: View, rtt_s: float, start: float, stop: float) -> float:
    """The part of what the detector finds that is no probe, in percent."""
    truth, detected = _compared(view, rtt_s, start, stop)
    if not len(detected):
        return math.nan
    far = [len(truth) == 0 or np.abs(truth - t).min() > NEAR_ROUNDS * rtt_s for t in detected if t <= stop - 3 * rtt_s]
    return 100.0 * float(np.mean(far)) if far else math.nan


@method
def probe_rtt_count(view: View, start: float, stop: float) -> float:
    """How often BBR measures the path's round trip with a small window."""
    (flow,) = flow_numbers(view.flow)
    return float(sum(start < at <= stop for at, _ in probe_rtts(view.run.tables, flow)))


@method
def probe_rtt_length(view: View) -> float:
    """How long that takes, in milliseconds: the median."""
    (flow,) = flow_numbers(view.flow)
    lengths = [end - at for at, end in probe_rtts(view.run.tables, flow)]
    return 1e3 * float(np.median(lengths)) if lengths else math.nan


@method
def mode_until(view: View, mode: float) -> float:
    """The end of the first stretch in a mode, in seconds."""
    (flow,) = flow_numbers(view.flow)
    time, modes = state(view.run.tables, flow, "mode")
    inside = np.flatnonzero(modes == mode)
    if not len(inside):
        return math.nan
    after = np.flatnonzero(modes[inside[0] :] != mode)
    return float(time[inside[0] + after[0] - 1]) if len(after) else math.nan


@method
def rounds_until(view: View, mode: float) -> float:
    """The round trips that BBR has counted when it leaves a mode for the first time."""
    (flow,) = flow_numbers(view.flow)
    end = mode_until(view, mode)
    time, rounds = state(view.run.tables, flow, "rounds")
    return float(rounds[time <= end][-1]) if math.isfinite(end) else math.nan


@method
def controller_mean(view: View, number: str, start: float, stop: float) -> float:
    """The mean of a number of the controller's state over the window."""
    (flow,) = flow_numbers(view.flow)
    time, values = state(view.run.tables, flow, number)
    chosen = values[(time > start) & (time <= stop) & np.isfinite(values)]
    return float(chosen.mean()) if len(chosen) else math.nan
