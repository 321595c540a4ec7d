"""The phase graph of two flows: the rate, or the window, of one over that of the other.

Equal shares are on the diagonal; where both fill the link, they are on the line from one axis to the other (Chiu and
Jain, "Analysis of the increase and decrease algorithms for congestion avoidance", 1989).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from windtunnel.panels.looks import TOTAL, flow_look
from windtunnel.panels.means import USUAL_S, average
from windtunnel.panels.model import Abscissa, Array, Choice, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.units import RATES, SIZES, Unit, greatest, suited

TITLE = "Phase Graph"
# Pairs of more flows than this would be a list that is too long to read.
_FLOWS = 4


def panel(run: Run) -> Panel | None:
    """The panel; None where fewer than two flows have a window."""
    time, windows = run.matrix("cwnd_bytes")
    flows = [i for i in range(windows.shape[1]) if np.any(windows[:, i] > 0)][:_FLOWS]
    if len(flows) < 2:
        return None
    _, rates = run.matrix("throughput_mbps")
    step = USUAL_S if run.duration_s >= 5 * USUAL_S else 0.0
    choices = []
    for pair in combinations(flows, 2):
        choices.append(_choice(run, pair, "throughput", time, rates[:, pair], step, RATES))
        choices.append(_choice(run, pair, "cwnd", time, windows[:, pair], step, SIZES))
    first = choices[0]
    return Panel(
        "phase", TITLE, first.unit, first.series, quantity=run.flow(flows[1]), kind="path", x=first.x,
        choices=tuple(choices), shown=False,
        note="The abscissa is the first flow, the ordinate the second; the circle is the start, the square the end.",
    )  # fmt: skip


def _choice(
    run: Run, pair: tuple[int, int], what: str, time: Array, values: Array, step: float, units: tuple[Unit, ...]
) -> Choice:
    unit, factor = suited(units, greatest([values]))
    columns = [
        average(Series("", "", TOTAL, time, np.nan_to_num(values[:, i]), step="mean"), step).y / factor for i in (0, 1)
    ]
    one, other = (run.flow(flow) for flow in pair)
    series = Series(f"pair{pair[0]}-{pair[1]}", f"{other} over {one}", flow_look(0), columns[0], columns[1])
    return Choice(f"{what}: {one}, {other}", unit, (series,), x=Abscissa(f"{one}: {what}", unit, time=False))
