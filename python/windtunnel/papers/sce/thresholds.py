"""How the straddling ramp's shape decides: the SCE probability at the AQM's target is 1/N, for several N.

The mail says that the extent of straddling is configurable, and shows the one that "works best for this scenario". The
published code has N as its parameter, and recommends about 20 for this path.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import matplotlib as mpl

from windtunnel.experiment.statistics import summary_of_all
from windtunnel.experiment.words import word
from windtunnel.figures.style import INK, PURPLE, RC, SOFT, flow_look
from windtunnel.papers.rows import Row
from windtunnel.papers.sce.graphs import DELAY_P95, SHARE, USED, number_rows
from windtunnel.papers.sce.plan import SENDERS, Sender, add_setup, cake, ramp_key, twins
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results

#: Values of N. 20 is that of the mail's graph, 1 its basic ramp's, and infinity that of the ramp from the target on.
COUNTS = (1, 2, 5, 8, 12, 20, 30, 50, 100, 1000)
QUICK_COUNTS = (8, 20, 50)
FLOWS = ("reno", "reno-sce")
VALUES = (SHARE, USED, DELAY_P95)

#: The mail's "good fairness", with the bar that the word has in every suite: a share of both throughputs.
FAIR = word("fair").limits("share")
#: The same in a figure and in a row.
FAIR_TEXT = f"{100 * FAIR.low:.3g} to {100 * FAIR.high:.3g} %"


def thresholds_group(setups: dict[str, Setup], sender: Sender, *, quick: bool) -> Group:
    """Share, use and delay for each N."""
    id = f"thresholds{sender.suffix}"
    used = {n: _add_setup(setups, n, sender, quick=quick) for n in (QUICK_COUNTS if quick else COUNTS)}

    def rows(results: Results) -> list[Row]:
        out = []
        for n, setup in used.items():
            for row in number_rows(f"{id}/N{n}", FLOWS, setup, results, VALUES):
                out.append(replace(row, group=id, what=f"N = {n}: {row.what}"))
        return out

    def png(results: Results) -> bytes | None:
        values = {v.id: {n: v.values(results, setup) for n, setup in used.items()} for v in VALUES}
        return _draw(values) if all(values[SHARE.id].values()) else None

    caption = (
        "Reno-SCE against Reno in one queue: the ramp rises to 1/N at the AQM's target, to 1 at twice the target. "
        f"{sender.text}"
    )
    name = "The extent of straddling" if sender is SENDERS[0] else "The extent of straddling, Reno-SCE halves at CE"
    return Group(id, name, caption, [c.name for c in used.values()], rows, png)


def _add_setup(setups: dict[str, Setup], n: int, sender: Sender, *, quick: bool) -> Setup:
    key = f"sce_thresh={n}"
    # With N = 20 this is the mail's graph.
    name = f"{'graph4' if key == ramp_key('straddling') else f'thresholds-{n}'}{sender.suffix}"
    setup = add_setup(setups, name, cake("single", key), FLOWS, twins=twins(quick=quick), sender=sender)
    for value in VALUES:
        value.prepare(setup)
    return setup


def _draw(values: Mapping[str, Mapping[int, Sequence[float]]]) -> bytes:
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 3.9), layout="constrained")
        shares, delays = figure.subplots(1, 2)
        shares.axhspan(FAIR.low, FAIR.high, color="#eef3ee", lw=0, zorder=0)
        shares.annotate(
            f"fair: {FAIR_TEXT}", (0, FAIR.high), (4, -3), xycoords=("axes fraction", "data"),
            textcoords="offset points", va="top", color=SOFT, fontsize=8,
        )  # fmt: skip
        counts = list(values[SHARE.id])
        for axes, name, colour, marker, label in (
            (shares, SHARE.id, flow_look(0).colour, "o", "Reno's share of both throughputs"),
            (shares, USED.id, INK, "s", "throughput of both over the link's rate"),
            (delays, DELAY_P95.id, PURPLE, "D", "queueing delay, P95"),
        ):
            summaries = [summary_of_all(values[name][n]) for n in counts]
            axes.plot(counts, [s.mean for s in summaries], marker, ls="-", color=colour, ms=4.5, label=label)
            for n, summary in zip(counts, summaries, strict=True):
                if summary.interval is not None:
                    axes.vlines(n, *summary.interval, color=colour, lw=1.0)
        for axes in (shares, delays):
            axes.set_xscale("log")
            axes.axvline(20, color=SOFT, lw=0.8, ls=(0, (4, 2)))
            axes.annotate(
                "the mail's graph", (20, 1), (3, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
                va="top", color=SOFT, fontsize=8,
            )  # fmt: skip
            axes.set_xlabel("N: the SCE probability at the AQM's target is 1/N")
            axes.set_xticks(counts, [f"{n}" for n in counts], fontsize=7.5)
            axes.minorticks_off()
        shares.set_ylim(0.0, 1.12)
        shares.set_title("Fairness and use")
        intervals = [summary_of_all(runs).interval for runs in values[DELAY_P95.id].values()]
        highest = max(interval[1] for interval in intervals if interval)
        delays.set_ylim(0.0, 1.15 * highest)
        delays.set_title("Delay (ms)")
        figure.legend(loc="outside lower center", ncols=3)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=120)
    return out.getvalue()
