"""Throughputs of very many flows at once, for distributions: to the last bit what ``throughput.of_flows`` and
``means.average`` give for one flow after the other; for each flow by itself, little is done but to interpolate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.panels.gaps import since_start, start_of
from windtunnel.panels.means import step_numbers, too_many_steps
from windtunnel.panels.model import Array, Index, Mask
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Table, rows
from windtunnel.panels.throughput import Ends, flows_share
from windtunnel.panels.units import greatest


@dataclass(frozen=True, eq=False)
class Many:
    """The samples of many flows, flow by flow and by time: of ``flows[i]`` those from ``edges[i]`` to ``edges[i + 1]``,
    and at least one.
    """

    flows: Index
    edges: Index
    t: Array
    y: Array

    @property
    def lengths(self) -> Index:
        """How many samples each flow has."""
        return np.diff(self.edges)

    @property
    def places(self) -> Index:
        """Of each sample the place of its flow among ``flows``."""
        return np.repeat(np.arange(len(self.flows)), self.lengths)

    def part(self, index: int) -> slice:
        """Where the samples of a flow are."""
        return slice(int(self.edges[index]), int(self.edges[index + 1]))

    def with_parts(self, parts: dict[int, tuple[Array, Array]]) -> Many:
        """The same with other times and values of the flows at some places."""
        if not parts:
            return self
        pieces, lengths, before = [], self.lengths.copy(), 0
        for index in sorted(parts):
            mine = self.part(index)
            pieces += [(self.t[before : mine.start], self.y[before : mine.start]), parts[index]]
            lengths[index], before = len(parts[index][0]), mine.stop
        pieces.append((self.t[before:], self.y[before:]))
        t, y = (np.concatenate([piece[which] for piece in pieces]) for which in (0, 1))
        return Many(self.flows, _edges(lengths), t, y)


def rates_of_flows(run: Run) -> tuple[Many, float]:
    """The rates of each flow in Mbit/s, from its start on; and the greatest of all, among them that of all flows
    together where they share a link.
    """
    points = rows(run.tables, "throughput_points")
    table, value = (points, "mbps") if points else (run.intervals, "throughput_mbps")
    many, ends = _of_table(table, value), Ends(run)
    if not len(many.flows):
        return many, 0.0
    total = [np.empty(0)]
    if len(many.flows) > 1 and flows_share(run):
        total = [ends.reached(_total(many, points)).y]
    many = _since_starts(_reached(many, ends), run)
    return many, greatest([many.y, *total])


def means_of_flows(many: Many, step: float) -> tuple[Index, Array]:
    """The means over ``step`` seconds of each flow, without the one in which the run ends: whose they are, and values.

    A flow with fewer than three means keeps all. One without means, because its samples are too few or too far apart,
    has its samples instead.
    """
    lengths, heads = many.lengths, many.edges[:-1]
    lasted = np.diff(many.t, prepend=0.0)
    # As means.durations has them.
    lasted[heads] = many.t[heads] - np.where(np.isfinite(many.y[heads]), 0.0, many.t[heads])
    start, end = many.t[heads] - lasted[heads], many.t[many.edges[1:] - 1]
    plain = (lengths < 2) | too_many_steps(start, end, step, lengths)
    first, past = step_numbers(start, end, step)
    inner = np.where(plain, 0, np.maximum(past - first, 0)).astype(np.int64)
    # The ends of the steps: the start, the whole steps, and the end.
    bounds = _edges(inner + 2)
    at = np.arange(bounds[-1], dtype=np.float64)
    at += np.repeat(first - 1 - bounds[:-1], inner + 2)
    at *= step
    at[bounds[:-1]], at[bounds[1:] - 1] = start, end
    means = np.diff(_sums_at(many, start, lasted, at, bounds))
    with np.errstate(invalid="ignore", divide="ignore"):
        means /= np.diff(at)
    del at
    # Neighbours of two flows are no step; and the last step of a flow is left out, if it has three means, among which
    # the NaN counts that marks a late start.
    kept = np.ones(int(bounds[-1]), dtype=np.bool_)
    kept[bounds[1:] - 1] = False
    kept[bounds[1:] - 2] = inner + 1 + (start > 0) < 3
    kept &= np.repeat(~plain, inner + 2)
    whose = np.repeat(many.flows, inner + 2)[kept]
    samples = np.repeat(plain, lengths)
    samples[many.edges[1:] - 1] &= lengths < 3
    values = np.concatenate([means[np.flatnonzero(kept)], many.y[samples]])
    return np.concatenate([whose, many.flows[many.places[samples]]]), values


def _of_table(table: Table, value: str) -> Many:
    """The rows of a table; those of -1, which stands for all flows, are left out."""
    t, y = (np.asarray(table.get(name, ()), dtype=np.float64) for name in ("time_s", value))
    flow = np.asarray(table.get("flow", np.zeros(len(t))), dtype=np.int64)
    order = np.lexsort([t, flow])[: len(y)]
    order = order[int(np.searchsorted(flow[order], 0)) :]
    mine = flow[order]
    heads = np.flatnonzero(np.diff(mine, prepend=-1))
    return Many(mine[heads], np.append(heads, len(mine)), t[order], y[order])


def _total(many: Many, points: Table) -> Samples:
    """All flows together."""
    if points:
        mine = np.asarray(points["flow"]) == -1
        t, y = (np.asarray(points[name], dtype=np.float64)[mine] for name in ("time_s", "mbps"))
        order = np.argsort(t, kind="stable")
        return Samples(-1, t[order], y[order])
    t = distinct(many.t)
    # In the order of flows, as they are added up one by one.
    return Samples(-1, t, np.bincount(np.searchsorted(t, many.t), np.nan_to_num(many.y)).astype(np.float64))


def _reached(many: Many, ends: Ends) -> Many:
    """With a last sample for what arrived after the last points of flows."""
    heads, lengths = many.edges[:-1], many.lengths
    gaps = np.diff(many.t, prepend=0.0)
    gaps[heads] = many.t[heads]
    ordered = gaps[np.lexsort([gaps, many.places])]
    usual = (ordered[heads + (lengths - 1) // 2] + ordered[heads + lengths // 2]) / 2
    silent = ends.is_silent(many.t[many.edges[1:] - 1], usual)
    parts = {}
    for index in np.flatnonzero(silent).tolist():
        mine = many.part(index)
        now = ends.reached(Samples(int(many.flows[index]), many.t[mine], many.y[mine]))
        parts[index] = now.t, now.y
    return many.with_parts(parts)


def _since_starts(many: Many, run: Run) -> Many:
    """Without the time before each flow started; see :func:`since_start`."""
    starts = [start_of(run.record(flow)) for flow in many.flows.tolist()]
    start = np.array([0.0 if one is None else one for one in starts])
    before = many.t <= np.repeat(start, many.lengths)
    first = np.add.reduceat(before, many.edges[:-1], dtype=np.int64)
    late = (start > 0) & (first < many.lengths)
    # Where something arrived before the first sample that counts, it is added up; usually nothing did.
    early = np.logical_or.reduceat(before & (np.nan_to_num(many.y) != 0), many.edges[:-1])
    parts = {}
    for index in np.flatnonzero(late & early).tolist():
        mine = many.part(index)
        parts[index] = since_start(many.t[mine], many.y[mine], float(start[index]))
    late &= ~early
    heads = many.edges[:-1] + np.where(late, first, 0)
    t, y = many.t.copy(), many.y.copy()
    at = heads[late]
    lasted = t[at] - np.where(first[late] > 0, t[at - 1], 0.0)
    y[at] = (y[at] * lasted + 0.0) / (t[at] - start[late])
    keep = ~(before & np.repeat(late, many.lengths))
    return Many(
        many.flows, _edges(many.lengths - np.where(late, first, 0) + late),
        _with_heads(t, keep, heads, late, start), _with_heads(y, keep, heads, late, np.full(len(start), np.nan)),
    ).with_parts(parts)  # fmt: skip


def _with_heads(values: Array, keep: Mask, heads: Index, late: Mask, head: Array) -> Array:
    """The kept values, those of each late flow behind a value of its own."""
    places = np.cumsum(keep)[heads[late]] - 1
    return np.insert(values[keep], places, head[late])


def _sums_at(many: Many, start: Array, lasted: Array, at: Array, bounds: Index) -> Array:
    """What each flow had received at some times of its own, in a straight line between its samples."""
    finite = np.logical_and.reduceat(np.isfinite(many.y), many.edges[:-1])
    filled = np.where(np.repeat(finite, many.lengths), many.y, np.nan_to_num(many.y))
    knots = _edges(many.lengths + 1)
    inside = np.ones(knots[-1], dtype=np.bool_)
    inside[knots[:-1]] = False
    x, received = np.empty(knots[-1]), np.zeros(knots[-1])
    x[knots[:-1]], x[inside] = start, many.t
    received[inside] = _cumsums(filled * lasted, many.edges)
    parts = zip(*(edges.tolist() for edges in (bounds[:-1], bounds[1:], knots[:-1], knots[1:])), strict=True)
    return np.concatenate([np.interp(at[a:b], x[c:d], received[c:d]) for a, b, c, d in parts])


def _cumsums(values: Array, edges: Index) -> Array:
    """The cumulative sums of each part, added up one by one: those of parts of one length at once."""
    out, lengths = np.empty(len(values)), np.diff(edges)
    for length in distinct(lengths).tolist():
        rows = edges[:-1][lengths == length][:, np.newaxis] + np.arange(length)
        out[rows] = np.cumsum(values[rows], axis=1)
    return out


def _edges(lengths: Index) -> Index:
    """Where parts of these lengths begin, one behind the other, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
