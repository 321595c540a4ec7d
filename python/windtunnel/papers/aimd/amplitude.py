"""Claim J27: by how much the RTT of n flows varies if they reduce together, and if they do not (footnote 6).

The footnote says: 1/sqrt(n) times as much as that of a single flow if they do not, n times as much if they do. The two
are in different units. n sawteeth that coincide are n times as deep in packets as each of them, and, where the link has
n times the rate, as deep in time as that of one flow alone. n sawteeth that do not coincide add up as independent
variables do: to sqrt(n) times one in packets, 1/sqrt(n) times in time. Here the link therefore has 20 Mbit/s for every
flow, so that each has the same window for any n, and the amplitude is the standard deviation of the queueing delay: the
measure for which independent variables of any distribution add up like that. Tail drop synchronizes, PIE does not.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import matplotlib as mpl
import numpy as np

from windtunnel.experiment.verdict import Verdict
from windtunnel.experiment.words import word
from windtunnel.figures.style import RC, flow_look
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.rows import Row, compare, spread
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

#: Numbers of flows.
COUNTS = (1, 2, 4, 8, 16)
QUICK_COUNTS = (1, 4)

#: Mbit/s for each flow: figure 7 has 40 for two.
SHARE_MBPS = 20

#: Seconds left for convergence, and the end of the run: a sawtooth takes 0.9 s.
START_S, STOP_S = 30, 130

#: Milliseconds between the starts of two flows in the twins; the scenario file has 23. PIE's random draws differ, too.
TWIN_STAGGERS_MS = (31.3, 17.9, 41.7)
QUICK_TWINS = 2

#: The law is right "on average": what it predicts and what is measured are equal.
CLOSE = word("equal").around_one

#: Overrides that make the queue, and the power of n by which n flows scale the amplitude of one.
QUEUES = {"tail-drop": (), "pie": ('bottleneck.queue={ kind="pie", limit="10000 packets" }',)}
NAMES = {"tail-drop": "Synchronized (tail drop)", "pie": "Desynchronized (PIE)"}
POWER = {"tail-drop": 0.0, "pie": -0.5}

DEVIATION = Measurement("rates", "0", f"delay_deviation({START_S}, {STOP_S})")
#: Drops less than four round trips apart belong to one event.
HIT = Measurement("rates", "0", f"flows_hit({START_S}, {STOP_S}, 0.15)")


def amplitude_group(setups: dict[str, Setup], *, quick: bool) -> Group:
    """Both queues with each number of flows."""
    counts = QUICK_COUNTS if quick else COUNTS
    used = {(queue, n): _add_setup(setups, queue, n, quick=quick) for queue in QUEUES for n in counts}

    def rows(results: Results) -> list[Row]:
        seen = {key: results.values(setup.name, setup.index(DEVIATION)) for key, setup in used.items()}
        out = []
        for (queue, n), setup in used.items():
            if n == 1:
                out.append(_alone(queue, seen[queue, n]))
                continue
            out.append(_ratio_row(queue, n, seen))
            if queue == "tail-drop":
                out.append(_hit_row(n, results.values(setup.name, setup.index(HIT))))
        return [*out, *(_less_row(n, seen) for n in counts if n > 1)]

    def png(results: Results) -> bytes | None:
        seen = {key: results.values(setup.name, setup.index(DEVIATION)) for key, setup in used.items()}
        amplitudes = {key: ratios(*key, seen) for key in used}
        return _draw(amplitudes) if any(amplitudes.values()) else None

    caption = "Amplitude of the RTT's variation with n flows, over that of one flow"
    return Group("J27", "Claim J27", caption, [c.name for c in used.values()], rows, png, statement=True)


def _add_setup(setups: dict[str, Setup], queue: str, n: int, *, quick: bool) -> Setup:
    settings = (f'bottleneck.rate="{SHARE_MBPS * n} Mbps"', f"flow.0.count={n}", *QUEUES[queue])
    setup = Setup(f"amplitude/{queue}-{n}", AIMD.template("reno-many"), settings)
    staggers = TWIN_STAGGERS_MS[: QUICK_TWINS if quick else None]
    setup.twins = tuple((f'flow.0.stagger="{ms} ms"', f"seed={k}") for k, ms in enumerate(staggers, 2))
    for measurement in (DEVIATION, HIT):
        setup.index(measurement)
    setups[setup.name] = setup
    return setup


def ratios(queue: str, n: int, seen: Mapping[tuple[str, int], Sequence[float]]) -> list[float]:
    """The amplitude with ``n`` flows over the mean amplitude with one, run by run."""
    one = seen[queue, 1]
    if not one:
        return []
    mean = sum(one) / len(one)
    return [value / mean if mean > 0 else math.inf for value in seen[queue, n]]


def _average(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _alone(queue: str, values: Sequence[float]) -> Row:
    what = f"{NAMES[queue]}: standard deviation of the queueing delay with one flow"
    return Row(f"J27/{queue}-1", "J27", what, None, _average(values), None, "ms", "info", "", spread(values))


def _ratio_row(queue: str, n: int, seen: Mapping[tuple[str, int], Sequence[float]]) -> Row:
    values, predicted = ratios(queue, n, seen), float(n ** POWER[queue])
    what = f"{NAMES[queue]}: amplitude with {n} flows over that with one"
    law = "1/sqrt(n)" if POWER[queue] else "as large in time, n times as large in packets"
    note = f"footnote 6: {law}. Standard deviation of the queueing delay, 20 Mbit/s for each flow"
    mean = [sum(values) / len(values)] if values else []
    row = compare(f"J27/{queue}-{n}", "J27", what, predicted, CLOSE * predicted, mean, "", note)
    return replace(row, interval=spread(values))


def _hit_row(n: int, values: Sequence[float]) -> Row:
    what = f"{NAMES['tail-drop']}: share of {n} flows that find a loss in a congestion event"
    note = "flows that find none do not reduce: the sum of the sawteeth is shallower by their share"
    return Row(f"J27/hit-{n}", "J27", what, None, _average(values), None, "", "info", note, spread(values))


def _less_row(n: int, seen: Mapping[tuple[str, int], Sequence[float]]) -> Row:
    """The footnote's first sentence, applied to milliseconds."""
    pie, tail_drop = seen["pie", n], seen["tail-drop", n]
    values = [a / b if b > 0 else math.inf for a, b in zip(pie, tail_drop, strict=False)]
    measured = _average(values)
    verdict: Verdict = "agrees" if measured is not None and measured < 1.0 else "differs"
    what = f"{n} flows: the RTT varies less when they are desynchronized (PIE over tail drop)"
    return Row(f"J27/less-{n}", "J27", what, "< 1", measured, None, "", verdict, "footnote 6", spread(values))


def _draw(amplitudes: Mapping[tuple[str, int], Sequence[float]]) -> bytes:
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 4.2), layout="constrained")
        axes = figure.add_subplot()
        counts = sorted({n for _, n in amplitudes})
        for index, queue in enumerate(QUEUES):
            look, dash = flow_look(index), ("-", "--")[index]
            line = np.geomspace(counts[0], counts[-1], 41)
            law = "$1/\\sqrt{n}$" if POWER[queue] else "as one flow"
            axes.plot(line, line ** POWER[queue], color=look.colour, ls=dash, lw=1.2, label=law)
            shown = [n for n in counts if amplitudes[queue, n]]
            for n in shown:
                axes.vlines(n, min(amplitudes[queue, n]), max(amplitudes[queue, n]), color=look.colour, lw=1.0)
            means = [sum(amplitudes[queue, n]) / len(amplitudes[queue, n]) for n in shown]
            label = f"{NAMES[queue]}: mean and range of runs"
            axes.plot(shown, means, look.marker, color=look.colour, ms=5.5, label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(counts, [str(n) for n in counts])
        axes.set_yticks([1.0, 0.5, 0.25, 0.125], ["1", "1/2", "1/4", "1/8"])
        axes.set_xlabel("Reno flows n, with 20 Mbit/s for each")
        axes.set_ylabel("Amplitude over that of one flow")
        figure.legend(loc="outside lower center", ncols=2)
        figure.suptitle("Standard deviation of the queueing delay", fontsize=11, x=0.01, ha="left")
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=120)
    return out.getvalue()
