"""Congestion windows, with where they limit the sender, slow-start thresholds, and what was sent again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from windtunnel.panels.gaps import longest_step
from windtunnel.panels.model import Array, Flag, Look, Mask, Panel, Series, Ticks
from windtunnel.panels.of_flows import flow_series, group_choices
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Tables, rows, split
from windtunnel.panels.units import SIZES, greatest, suited

QUANTITY = "cwnd"
TITLE = "Congestion Window"
#: What its samples are singled out for, and what goes with its lines.
LIMITED = Flag("cwnd-limited", "cross")
THRESHOLD = "ssthresh"
_panel = partial(Panel, "cwnd", TITLE, short_title="cwnd", sawtooth=True)
_NO_WINDOW = (
    "No flow has a single congestion window: datagrams have none, each of many connections has its own, and that of a "
    "real program is not on the wire."
)
# A flow that is limited in nearly all samples gets no marks: they would tell nothing and hide its line.
_ALWAYS = 0.9
# Up to this many flows are named.
_NAMED = 4
# The maximum number of rows of ticks.
_TICK_ROWS = 8


def samples(tables: Tables, *, extremes: bool = True) -> list[Samples]:
    """Congestion window in bytes of each flow; flagged where it kept the sender from sending.

    Where no single ACK was recorded, the last windows of intervals, with their range.
    """
    if points := rows(tables, "cwnd_points", extremes=extremes):
        return split(points, "flow", "bytes", flag=points.get("limited"))
    table = rows(tables, "flows")
    if not table:
        return []
    # For an interval: limited for most of its ACKs.
    limited = np.nan_to_num(np.asarray(table["cwnd_limited"], dtype=np.float64)) > 0.5
    windows = split(table, "flow", "cwnd_bytes", flag=limited, low="cwnd_min_bytes", high="cwnd_max_bytes")
    # Datagrams have no window, and a flow that stands for many connections has several.
    return [s for s in windows if np.any(s.y > 0)]


def thresholds(tables: Tables) -> list[Samples]:
    """Slow-start threshold in bytes of each flow whose sender has a finite one; NaN while it is infinite."""
    levels = split(rows(tables, "flows"), "flow", "ssthresh_bytes")
    return [s for s in levels if np.isfinite(s.y).any()]


def _until_the_end(run: Run, s: Samples) -> Samples:
    """The samples of intervals up to that in which the last packet of a flow was acknowledged."""
    record = run.record(s.index)
    last = record.get("last_packet_s")
    if last is None:
        return s
    end = float(last) + float(record.get("path_rtt_ms") or 0.0) / 1e3
    return s.only(slice(0, int(np.searchsorted(s.t, end)) + 1))


def _beside(windows: Iterable[Samples], levels: Iterable[Samples]) -> list[Samples]:
    """Thresholds where the flow's window is drawn too: a sender that has stopped, or pauses, still has one."""
    window_of = {window.index: window.t for window in windows}
    return [
        replace(s, y=np.where(_drawn(window_of[s.index], s.t), s.y, np.nan)) for s in levels if s.index in window_of
    ]


def _drawn(window: Array, t: Array) -> Mask:
    """Whether a line through these times is drawn at the end of each interval, or has a sample in it."""
    gap = longest_step(window)
    after = np.searchsorted(window, t, side="right")
    in_interval = after > np.searchsorted(window, t - np.diff(t, prepend=0.0), side="right")
    inside = (after > 0) & (after < len(window))
    steps = np.diff(window, prepend=-np.inf, append=np.inf)[after]
    return in_interval | (inside & (steps <= (np.inf if gap is None else gap)))


def panel(run: Run) -> Panel:
    """The panel."""
    grouped = run.grouped and bool(run.intervals)
    if grouped and (rows(run.tables, "cwnd_points") or np.any(np.asarray(run.intervals.get("cwnd_bytes", ())) > 0)):
        return _of_groups(run)
    windows = [] if grouped else samples(run.tables)
    if not windows:
        none = _NO_WINDOW if run.intervals and not rows(run.tables, "cwnd_points") else "No ACK was received."
        return _panel("kB", empty=none)
    if not rows(run.tables, "cwnd_points"):
        windows = [_until_the_end(run, s) for s in windows]
    unit, factor = suited(SIZES, greatest(s.y for s in windows))
    series = tuple(_marked(s) for s in flow_series(run, windows, factor, "hold"))
    always = [s.label for s in series if not s.marked]
    return _panel(
        unit,
        series,
        quantity=QUANTITY,
        flag=LIMITED if any(s.marked and np.any(s.flag) for s in series) else None,
        thresholds=flow_series(run, _beside(windows, thresholds(run.tables)), factor, "hold"),
        threshold=THRESHOLD,
        ticks=ticks(run),
        note=f"cwnd-limited nearly always, and therefore not marked: {_some(always)}." if always else "",
    )


def _some(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} flows"


def _marked(s: Series) -> Series:
    always = s.flag is not None and len(s.flag) > 0 and float(np.mean(s.flag)) > _ALWAYS
    return replace(s, marked=False) if always else s


def _of_groups(run: Run) -> Panel:
    time, values = run.matrix("cwnd_bytes")
    values[:, ~np.any(values > 0, axis=0)] = np.nan
    choices = group_choices(run, time, values, partial(suited, SIZES), "hold")
    if not choices:
        return _panel("kB", empty=_NO_WINDOW)
    return _panel(choices[0].unit, choices[0].series, choices=choices, quantity=QUANTITY, ticks=ticks(run))


def retransmissions(run: Run) -> list[Samples]:
    """Segments that each flow (of a group: its flows together) sent again in an interval, at its end; only where some
    were, or where ``low``, the number of timeouts, is not 0.
    """
    table = run.intervals
    if "retransmits" not in table:
        return []
    some = np.asarray(table["retransmits"]) > 0
    if "rtos" in table:
        some = some | (np.asarray(table["rtos"]) > 0)
    first = np.arange(int(np.asarray(table["flow"]).max(initial=0)) + 1)
    for group in run.groups:
        first[list(group.members)] = group.members[0]
    of = {**table, "flow": first[np.asarray(table["flow"], dtype=np.int64)]}
    return [_together(s) for s in split(of, "flow", "retransmits", low="rtos", keep=some)]


def _together(s: Samples) -> Samples:
    """One sample for each time."""
    first = np.flatnonzero(np.diff(s.t, prepend=-1.0))
    low = np.zeros(len(first)) if s.low is None else np.add.reduceat(s.low, first)
    return Samples(s.index, s.t[first], np.add.reduceat(s.y, first), low=low)


def ticks(run: Run) -> tuple[Ticks, ...]:
    """A row of ticks for each look."""
    rows_of: dict[Look, int] = {}
    counts: Iterable[Samples] = retransmissions(run)
    labels = {group.members[0]: group.label for group in run.groups}
    out = []
    for s in counts:
        look = run.look(s.index)
        row = rows_of.setdefault(look, len(rows_of)) % _TICK_ROWS
        rtos = np.zeros(len(s.t)) if s.low is None else s.low
        out.append(
            Ticks(
                f"flow{s.index}", labels.get(s.index, run.flow(s.index)), look, s.index, row, s.t,
                s.y.astype(np.int64), rtos.astype(np.int64),
            )
        )  # fmt: skip
    return tuple(out)
