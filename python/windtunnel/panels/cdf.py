"""Distributions: of delays, of rates, of completion times. A curve tells which share of the time is at most a value."""

from __future__ import annotations

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.panels import sojourn
from windtunnel.panels.looks import queue_look
from windtunnel.panels.many import means_of_flows, rates_of_flows
from windtunnel.panels.means import USUAL_S
from windtunnel.panels.model import Abscissa, Array, Choice, Index, Look, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Table, rows
from windtunnel.panels.units import RATES, suited

TITLE = "Distribution"
# A curve has this many steps at most, and always its least and its greatest value.
_STEPS = 400


def panel(run: Run) -> Panel | None:
    """The panel; None where nothing was measured."""
    choices = [choice for choice in (_delay(run), _sojourn(run), _rate(run), _completion(run)) if choice is not None]
    if not choices:
        return None
    first = choices[0]
    return Panel(
        "cdf", TITLE, first.unit, first.series, quantity="Share", x=first.x, choices=tuple(choices), shown=False,
        note="Of delays each recording interval counts once, of rates each 200 ms while a flow is active, of "
        "completion times each transfer.",
    )  # fmt: skip


def curve(values: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """The values in ascending order, and the share in percent that is at most each; ``weights`` are like counts."""
    finite = np.isfinite(values)
    if weights is None:
        x = np.sort(values[finite], kind="stable")
        share = np.arange(1.0, len(x) + 1)
        share *= 100
        share /= max(len(x), 1e-300)
    else:
        order = np.argsort(values[finite], kind="stable")
        x, counts = values[finite][order], weights[finite][order]
        share = 100 * np.cumsum(counts) / max(float(counts.sum()), 1e-300)
    if len(x) > _STEPS:
        keep = distinct(np.round(np.linspace(0, len(x) - 1, _STEPS)).astype(np.int64))
        x, share = x[keep], share[keep]
    # It rises from 0 at the least value.
    return np.concatenate([x[:1], x]), np.concatenate([[0.0], share])


def _series(key: str, label: str, look: Look, values: Array, flow: int | None, weights: Array | None = None) -> Series:
    x, y = curve(values, weights)
    return Series(key, label, look, x, y, flow=flow, step="hold")


def _of_groups(run: Run, flows: Index, values: Array) -> tuple[Series, ...]:
    """A curve for each flow, or for all flows of a group together; ``flows`` says whose each value is."""
    finite = np.isfinite(values) & (flows >= 0) & (flows < len(run.flows))
    flows, values = flows[finite], values[finite]
    of_groups = run.group_of[flows]
    # A day of one flow has half a million values: what is in order is not copied.
    if np.any(of_groups[1:] < of_groups[:-1]):
        order = np.argsort(of_groups, kind="stable")
        of_groups, values = of_groups[order], values[order]
    parts = np.split(values, np.searchsorted(of_groups, np.arange(1, len(run.groups))))
    del finite, flows, of_groups
    firsts = [group.members[0] for group in run.groups]
    return tuple(
        _series(f"flow{first}", group.label, run.look(first), mine, first)
        for group, first, mine in zip(run.groups, firsts, parts, strict=False)
        if len(mine)
    )


def _delay(run: Run) -> Choice | None:
    table = run.intervals
    if "rtt_mean_ms" not in table:
        return None
    series = _of_groups(run, _flows(table), np.asarray(table["rtt_mean_ms"], dtype=np.float64))
    return Choice("round-trip time", "%", series, x=Abscissa("RTT", "ms", time=False)) if series else None


def _sojourn(run: Run) -> Choice | None:
    series = tuple(
        _series(key, label, queue_look(order), s.y, None)
        for order, (key, label, s) in enumerate(sojourn.by_class(run))
        if np.isfinite(s.y).any()
    )
    return Choice("sojourn time", "%", series, x=Abscissa("Sojourn time", "ms", time=False)) if series else None


def _rate(run: Run) -> Choice | None:
    many, most = rates_of_flows(run)
    if not len(many.flows):
        return None
    unit, factor = suited(RATES, most)
    flows, means = means_of_flows(many, USUAL_S)
    series = _of_groups(run, flows, means / factor)
    return Choice("throughput", "%", series, x=Abscissa("Throughput", unit, time=False)) if series else None


def _completion(run: Run) -> Choice | None:
    table = rows(run.tables, "transfers")
    if not table:
        return None
    series = _of_groups(run, _flows(table), np.asarray(table["time_ms"], dtype=np.float64))
    return Choice("completion time", "%", series, x=Abscissa("Completion time", "ms", time=False))


def _flows(table: Table) -> Index:
    return np.asarray(table["flow"], dtype=np.int64)
