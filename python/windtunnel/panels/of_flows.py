"""Series of flows: one each, or, where flows are many, the groups' medians and bands, sums, and a few named flows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from windtunnel.panels.gaps import longest_step
from windtunnel.panels.groups import median_and_band, named
from windtunnel.panels.looks import TOTAL, flow_look
from windtunnel.panels.model import Array, Choice, Series, Step
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples
from windtunnel.panels.units import greatest

#: Names of what the panel of grouped flows can show.
EACH, SUMS, NAMED = "each flow: median, P10 to P90", "sums", "some flows by name"


def flow_series(run: Run, samples: Iterable[Samples], factor: float, step: Step) -> tuple[Series, ...]:
    """A series for each flow, its values divided by ``factor``; -1 is the sum of all."""
    out = []
    for s in samples:
        label, look = ("all flows", TOTAL) if s.index < 0 else (run.flow(s.index), run.look(s.index))
        out.append(
            Series(
                "total" if s.index < 0 else f"flow{s.index}",
                label,
                look,
                s.t,
                s.y / factor,
                flow=None if s.index < 0 else s.index,
                step=step,
                total=s.index < 0,
                gap=None if step == "mean" else longest_step(s.t),
                flag=s.flag,
                who=s.who,
                low=None if s.low is None else s.low / factor,
                high=None if s.high is None else s.high / factor,
            )
        )
    return tuple(out)


def group_choices(
    run: Run,
    time: Array,
    values: Array,
    unit: Callable[[float], tuple[str, float]],
    step: Step,
    *,
    summed: bool = False,
) -> tuple[Choice, ...]:
    """What a panel offers where flows are grouped: medians with bands, sums if they mean something, some flows by name.

    ``values`` has a column for each flow; ``unit`` gives the unit that suits a greatest value.
    """
    means = _means(values)
    medians: list[Series] = []
    sums: list[Series] = []
    chosen: list[Series] = []
    for index, group in enumerate(run.groups):
        mine = values[:, list(group.members)]
        if not np.isfinite(mine).any():
            continue
        look, first = flow_look(index), group.members[0]
        middle, low, high = median_and_band(mine) if group.several else (mine[:, 0], None, None)
        finite = np.isfinite(middle)
        median = Series(f"group{index}", group.label, look, time, middle, flow=first, step=step, low=low, high=high)
        medians.append(median)
        if run.is_shared(group.members):
            sums.append(replace(median, y=np.where(finite, np.nansum(mine, axis=1), np.nan), low=None, high=None))
        for flow in named(group, means[list(group.members)]):
            label = run.flow(flow)
            chosen.append(
                Series(f"flow{flow}", label, flow_look(len(chosen)), time, values[:, flow], flow=flow, step=step)
            )
    if summed and len(medians) > 1 and run.is_shared(range(len(run.flows))):
        total = np.nansum(values, axis=1)
        sums.insert(0, Series("total", "all flows", TOTAL, time, total, step=step, total=True))
    offered = [(SUMS, sums)] if summed else []
    offered += [(EACH, medians), (NAMED, chosen)]
    return tuple(_choice(name, series, unit) for name, series in offered if series)


def _means(values: Array) -> Array:
    """The mean of each column; NaN where it has no finite value."""
    by_flow = np.ascontiguousarray(values.T)
    counts = np.count_nonzero(~np.isnan(by_flow), axis=1)
    with np.errstate(invalid="ignore"):
        means = np.nansum(by_flow, axis=1) / np.maximum(counts, 1)
    return np.where(np.isfinite(by_flow).any(axis=1), means, np.nan)


def _choice(name: str, series: list[Series], unit: Callable[[float], tuple[str, float]]) -> Choice:
    text, factor = unit(greatest(c for s in series for c in (s.y, s.high) if c is not None))
    return Choice(name, text, tuple(scaled(s, factor) for s in series))


def scaled(series: Series, factor: float) -> Series:
    """The series with its values divided by ``factor``."""
    return replace(
        series,
        y=series.y / factor,
        low=None if series.low is None else series.low / factor,
        high=None if series.high is None else series.high / factor,
    )
