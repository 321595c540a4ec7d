"""Where nothing is known: before a flow starts, and where its samples are far apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from windtunnel.panels.model import Array

# A line is broken where samples are this many times farther apart than nearly all others.
_FACTOR = 8
# Gaps that are this small a share of the whole do not count: the round trips of slow start are no gaps. Nor do they
# where they are long, so that no line ever crosses seconds without a sample.
_SHARE, _LONGEST_S = 0.01, 1.0
# The least time that a flow's first sample stands for.
_SHORTEST_S = 1e-3


def longest_step(t: Array) -> float | None:
    """Samples farther apart than this leave a gap; None if they are too few to tell."""
    if len(t) < 3:
        return None
    usual = _FACTOR * float(np.quantile(np.diff(t), 0.99))
    return max(usual, min(_SHARE * float(t[-1] - t[0]), _LONGEST_S)) or None


def broken(x: Array, y: Array, gap: float | None) -> tuple[Array, Array]:
    """A line with NaN in each gap."""
    if gap is None or len(x) < 2:
        return x, y
    gaps = np.flatnonzero(np.diff(x) > gap) + 1
    return np.insert(x, gaps, x[gaps]), np.insert(y, gaps, np.nan)


def start_of(flow: Mapping[str, Any]) -> float | None:
    """When a flow started: its first packet arrived half a path's round trip later. None if it has no packet."""
    first = flow.get("first_packet_s")
    if first is None:
        return None
    way = max(float(flow.get("path_rtt_ms") or 0.0) / 2e3, _SHORTEST_S)
    return max(0.0, float(first) - way)


def since_start(t: Array, y: Array, start: float | None) -> tuple[Array, Array]:
    """Means since the sample before, the first counted from 0 s, of a flow that started later than that.

    Its first sample stands for the time since the start, and is preceded by NaN. The integral remains.
    """
    if start is None or start <= 0.0 or not len(t):
        return t, y
    first = int(np.searchsorted(t, start, side="right"))
    if first >= len(t):
        return t, y
    before = np.diff(t[:first], prepend=0.0)
    sum_before = float(np.nansum(y[:first] * before))
    lasted = float(t[first] - (t[first - 1] if first else 0.0))
    y = y[first:].copy()
    y[0] = (y[0] * lasted + sum_before) / (t[first] - start)
    return np.concatenate([[start], t[first:]]), np.concatenate([[np.nan], y])


def unknown_before(t: Array, y: Array, start: float | None) -> Array:
    """Values at the ends of intervals; NaN before a flow's start."""
    return y if start is None else np.where(t < start, np.nan, y)


def while_alive(time: Array, values: Array, flow: Mapping[str, Any]) -> Array:
    """``values``; NaN before the first packet of a flow (its summary) and after its last."""
    first, last = flow["first_packet_s"], flow["last_packet_s"]
    if first is None or last is None:
        return np.full(len(time), np.nan)
    return np.where((time >= first) & (time <= last), values, np.nan)
