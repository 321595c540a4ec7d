"""Round-trip times, and their parts: the path's own and what its queues add."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from windtunnel.panels.model import Choice, Panel, Step
from windtunnel.panels.of_flows import flow_series, group_choices
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, split

TITLE = "Round-Trip Time"
_CHOICES = ("round-trip time", "queueing part", "smoothed (srtt)")


def samples(run: Run, column: str = "rtt_mean_ms") -> list[Samples]:
    """Mean round-trip time in ms of each interval and flow, with its range; flows without a sample are left out."""
    low, high = ("rtt_min_ms", "rtt_max_ms") if column == "rtt_mean_ms" else (None, None)
    return [s for s in split(run.intervals, "flow", column, low=low, high=high) if np.isfinite(s.y).any()]


def panel(run: Run) -> Panel | None:
    """The panel, shown where a probe measures it; None where no flow did."""
    choices = _of_groups(run) if run.grouped else _of_each(run)
    if not choices:
        return None
    _, values = run.matrix("rtt_mean_ms")
    measured = np.flatnonzero(np.isfinite(values).any(axis=0)).tolist()
    shown = any(run.record(flow).get("application") == "probe" for flow in measured)
    note = "The queueing part is what exceeds the path's own round-trip time, of both directions and all queues."
    return Panel("rtt", TITLE, "ms", choices[0].series, choices=choices, shown=shown, quantity="RTT", note=note)


def _of_groups(run: Run) -> tuple[Choice, ...]:
    time, values = run.matrix("rtt_mean_ms")
    base = np.array([float(one.get("path_rtt_ms") or 0.0) for one in run.records])
    return tuple(
        replace(choice, name=f"{name}: {choice.name}")
        for name, matrix in (("RTT", values), ("queueing", values - base))
        for choice in group_choices(run, time, matrix, lambda _: ("ms", 1.0), "mean")
    )


def _of_each(run: Run) -> tuple[Choice, ...]:
    round_trips = samples(run)
    if not round_trips:
        return ()
    # A capture does not tell the path's own.
    has_base = any(one.get("path_rtt_ms") for one in run.records)
    queueing = [_queueing(run, s) for s in round_trips] if has_base else []
    every = (round_trips, queueing, samples(run, "srtt_ms"))
    steps: tuple[Step, ...] = ("mean", "mean", "hold")
    return tuple(
        Choice(name, "ms", flow_series(run, part, 1.0, step))
        for name, part, step in zip(_CHOICES, every, steps, strict=True)
        if part
    )


def _queueing(run: Run, s: Samples) -> Samples:
    base = float(run.record(s.index).get("path_rtt_ms") or 0.0)
    low, high = (None if bound is None else bound - base for bound in (s.low, s.high))
    return Samples(s.index, s.t, s.y - base, low=low, high=high)
