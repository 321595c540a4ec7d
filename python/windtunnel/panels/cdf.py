"""Distributions: of delays, of rates, of completion times. A curve tells which share of the time is at most a value."""

from __future__ import annotations

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.panels import rtt, sojourn, throughput
from windtunnel.panels.looks import TOTAL, queue_look
from windtunnel.panels.means import USUAL_S, average
from windtunnel.panels.model import Abscissa, Array, Choice, Look, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, rows
from windtunnel.panels.units import RATES, greatest, suited

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
    order = np.argsort(values[finite], kind="stable")
    x = values[finite][order]
    counts = np.ones(len(x)) if weights is None else weights[finite][order]
    share = 100 * np.cumsum(counts) / max(float(counts.sum()), 1e-300)
    if len(x) > _STEPS:
        keep = distinct(np.round(np.linspace(0, len(x) - 1, _STEPS)).astype(np.int64))
        x, share = x[keep], share[keep]
    # It rises from 0 at the least value.
    return np.concatenate([x[:1], x]), np.concatenate([[0.0], share])


def _series(key: str, label: str, look: Look, values: Array, flow: int | None, weights: Array | None = None) -> Series:
    x, y = curve(values, weights)
    return Series(key, label, look, x, y, flow=flow, step="hold")


def _of_groups(run: Run, samples: list[Samples]) -> tuple[Series, ...]:
    """A curve for each flow, or for all flows of a group together."""
    by_flow = {s.index: s.y for s in samples}
    out = []
    for group in run.groups:
        mine = [by_flow[member] for member in group.members if member in by_flow]
        if mine and np.isfinite(np.concatenate(mine)).any():
            first = group.members[0]
            out.append(_series(f"flow{first}", group.label, run.look(first), np.concatenate(mine), first))
    return tuple(out)


def _delay(run: Run) -> Choice | None:
    series = _of_groups(run, rtt.samples(run))
    return Choice("round-trip time", "%", series, x=Abscissa("RTT", "ms", time=False)) if series else None


def _sojourn(run: Run) -> Choice | None:
    series = tuple(
        _series(key, label, queue_look(order), s.y, None)
        for order, (key, label, s) in enumerate(sojourn.by_class(run))
        if np.isfinite(s.y).any()
    )
    return Choice("sojourn time", "%", series, x=Abscissa("Sojourn time", "ms", time=False)) if series else None


def _rate(run: Run) -> Choice | None:
    rates = throughput.of_flows(run)
    unit, factor = suited(RATES, greatest(s.y for s in rates))
    means = [_means(s) for s in rates if s.index >= 0]
    series = _of_groups(run, [Samples(s.index, s.t, s.y / factor) for s in means])
    return Choice("throughput", "%", series, x=Abscissa("Throughput", unit, time=False)) if series else None


def _means(s: Samples) -> Samples:
    """Throughput over the usual time, without the part of it in which the run ends."""
    mean = average(Series("", "", TOTAL, s.t, s.y, step="mean"), USUAL_S)
    return Samples(s.index, mean.x, mean.y) if len(mean) < 3 else Samples(s.index, mean.x[:-1], mean.y[:-1])


def _completion(run: Run) -> Choice | None:
    table = rows(run.tables, "transfers")
    if not table:
        return None
    flow, time = np.asarray(table["flow"], dtype=np.int64), np.asarray(table["time_ms"], dtype=np.float64)
    samples = [Samples(int(one), time[flow == one], time[flow == one]) for one in distinct(flow)]
    return Choice("completion time", "%", _of_groups(run, samples), x=Abscissa("Completion time", "ms", time=False))
