"""The Markov chain of congestion events against simulated rates: AIMD(a, b) with the formula's a, against Reno.

The chain predicts a mean. It agrees if the mean is in the range of the runs, which contains the median of their
distribution with a probability of 1 - 2^(1 - n): 99 % for eight runs.
"""

from __future__ import annotations

import io
import math
from dataclasses import replace

import matplotlib as mpl
import numpy as np

from windtunnel import models
from windtunnel.figures.style import INK, RC, flow_look
from windtunnel.papers.aimd.numbers import FACTORS, independent_ratio, predicted_ratio
from windtunnel.papers.aimd.plan import fair_mbps, starts, steady
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.rows import Row, compare, refer
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results

#: The path of the scenario files, on which CUBIC would be Reno-friendly, too.
RATE_MBPS = 40.0

#: Whose number the runs are compared with.
CHAIN = "Markov chain"

QUEUES = {"tail-drop": "tail drop", "pie": "PIE"}


def setup_name(queue: str, b: float) -> str:
    """The name of the setup of AIMD(., ``b``)."""
    return f"markov/{queue}-{b:g}"


def add_setup(setups: dict[str, Setup], queue: str, b: float) -> Setup:
    """The setup of AIMD(., ``b``) over a queue; it is added to ``setups`` if it is new."""
    name = setup_name(queue, b)
    if name not in setups:
        settings = (f"flow.0.cc.a={float(models.friendly_increase(b)):.6f}", f"flow.0.cc.b={b:g}")
        setup = Setup(name, AIMD.template(f"aimd-{queue}"), settings)
        setup.twins = starts(setup, quick=False)
        for flow in ("0", "1"):
            setup.index(steady("mean", flow, fair_mbps(RATE_MBPS, 2)))
        setups[name] = setup
    return setups[name]


def markov_group(setups: dict[str, Setup], *, quick: bool) -> Group:
    """The prediction compared with the simulation, for both kinds of queue."""
    used = {(q, b): add_setup(setups, q, b) for q in QUEUES for b in ((0.7,) if quick else FACTORS)}

    def ratios(results: Results, setup: Setup) -> list[float]:
        fair = fair_mbps(RATE_MBPS, 2)
        both = (results.values(setup.name, setup.index(steady("mean", f, fair))) for f in ("0", "1"))
        return [x / y if y > 0 else math.inf for x, y in zip(*both, strict=True)]

    def rows(results: Results) -> list[Row]:
        out = []
        for (queue, b), setup in used.items():
            values = ratios(results, setup)
            predicted = predicted_ratio(b, aqm=queue == "pie")
            what = f"{QUEUES[queue]}: rate of AIMD(., {b:g}) over Reno's"
            note = f"mean over {len(values)} start offsets; with independent losses {independent_ratio(b):.3f}"
            row = refer(compare(setup.name, "markov", what, predicted, 0.0, values, "", note), CHAIN)
            out.append(replace(row, measured=sum(values) / len(values)) if values else row)
        return out

    def png(results: Results) -> bytes | None:
        seen = {key: ratios(results, setup) for key, setup in used.items()}
        return _draw(seen) if any(seen.values()) else None

    caption = "Rates of AIMD(a, b) over Reno's: the Markov chain of congestion events, and simulation"
    return Group("markov", "Markov chain", caption, [c.name for c in used.values()], rows, png)


def _draw(seen: dict[tuple[str, float], list[float]]) -> bytes:
    from matplotlib.figure import Figure

    factors = np.linspace(FACTORS[0], FACTORS[-1], 41)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for index, (queue, name) in enumerate(QUEUES.items()):
            look, dash = flow_look(index), ("-", "--")[index]
            line = [predicted_ratio(float(b), aqm=queue == "pie") for b in factors]
            label = f"{'AQM' if queue == 'pie' else name}: chain"
            axes.plot(factors, line, color=look.colour, ls=dash, lw=1.5, label=label)
            aside, first = (2 * index - 1) * 0.004, True
            for (q, b), values in seen.items():
                if q != queue or not values:
                    continue
                mean = sum(values) / len(values)
                axes.vlines(b + aside, min(values), max(values), color=look.colour, lw=1.0)
                axes.plot(
                    [b + aside], [mean], look.marker, color=look.colour, ms=5.5,
                    label=f"{name}: simulated, mean and range of runs" if first else None,
                )  # fmt: skip
                first = False
        limit = [independent_ratio(float(b)) for b in factors]
        axes.plot(factors, limit, color=INK, ls=":", lw=1.2, label="independent losses")
        axes.axhline(1.0, color=INK, lw=0.8, ls=(0, (4, 2)))
        axes.set_xlabel("Multiplicative decrease factor b (kept)")
        axes.set_ylabel("Rate over Reno's")
        figure.legend(loc="outside lower center", ncols=2)
        figure.suptitle("AIMD(a, b) against Reno, a from the formula", fontsize=11, x=0.01, ha="left")
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=120)
    return out.getvalue()
