"""Fairness as the talk's comparison charts have it: among equals, next to Reno, between round trips, of all pairs.

"Fairness" is how flows with the same controller share, "TCP friendliness" how those with different ones do.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

from windtunnel.experiment.scales import PERCENT
from windtunnel.papers.rows import Row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.controllers import available, title
from windtunnel.papers.talk.gallery import JAIN, LOSSY_RATE, SHARE, add_gallery_setup
from windtunnel.papers.talk.plan import BUFFER_PACKETS, FIVE, FRIENDLY, FROM_S, LOSS, measured, scenario_setup

#: The longer round trips next to one of 25 ms: 1:2, 1:4, 1:8.
SHORT_MS, LONG_MS = 25, (50, 100, 200)
#: Runs of a pair.
PAIR_SEEDS = 3
_PATH = ('bottleneck.rate="40 Mbps"', f'bottleneck.queue.limit="{BUFFER_PACKETS} packets"')

_SHORT = Value(
    "ratio", "rate of the flow with 25 ms over that of the other", "",
    [measured("0", "rate_mean(1, 30, 120)"), measured("1", "rate_mean(1, 30, 120)")],
    lambda short, long: short / long if long > 0 else math.inf,
)  # fmt: skip
_SHARE = Value(
    "share", "share of the first", "%", [measured("0", f'share_percent("0-1", {FROM_S}, 90)')], scale=PERCENT
)


def fairness_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """The charts of the gallery's numbers; the maps of round trips and of all pairs."""
    return [_charts(setups, quick=quick), _round_trips(setups, quick=quick), _pairs(setups, quick=quick)]


def _charts(setups: dict[str, Setup], *, quick: bool) -> Group:
    charts = ((FIVE, JAIN), (FRIENDLY, SHARE), (LOSS, LOSSY_RATE))
    used = {
        (c.name, kind): add_gallery_setup(setups, kind, c.name, quick=quick)
        for c in available(quick=quick)
        for kind, _ in charts
    }

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.fairness_figure import draw_charts

        bars = [
            (
                value.what,
                value.unit,
                [(title(n), value.values(results, setup)) for (n, k), setup in used.items() if k is kind],
            )
            for kind, value in charts
        ]
        return draw_charts(bars) if any(values for _, _, of in bars for _, values in of) else None

    caption = "Intra-protocol fairness, TCP friendliness and random loss, all controllers next to each other"
    return Group("charts", "Comparison charts", caption, [c.name for c in used.values()], lambda _: [], png)


def _round_trips(setups: dict[str, Setup], *, quick: bool) -> Group:
    names = [c.name for c in available(quick=quick)]
    used: dict[tuple[str, int], Setup] = {}
    for cc in names:
        for long in LONG_MS[1:2] if quick else LONG_MS:
            setup = scenario_setup(
                setups, f"rtts-{cc}-{long}", "pair", *_PATH, 'duration="120 s"',
                f'flow.0.cc="{cc}"', f'flow.1.cc="{cc}"',
                f'flow.0.rtt="{SHORT_MS} ms"', f'flow.1.rtt="{long} ms"', seeds=1 if quick else PAIR_SEEDS,
            )  # fmt: skip
            _SHORT.prepare(setup)
            used[cc, long] = setup

    def rows(results: Results) -> list[Row]:
        return [
            _SHORT.row(results, setup, f"rtts/{cc}-{long}", "rtts", f"{title(cc)}, 25 and {long} ms: {_SHORT.what}")
            for (cc, long), setup in used.items()
        ]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.fairness_figure import draw_round_trips

        means = {key: mean for key, setup in used.items() if (mean := _SHORT.mean(results, setup)) is not None}
        return draw_round_trips(names, means) if means else None

    caption = (
        f"Two flows of one kind with 25 ms and a longer round trip, 40 Mbit/s, {BUFFER_PACKETS} packets, 30 to 120 s"
    )
    return Group("rtts", "RTT fairness", caption, [c.name for c in used.values()], rows, png)


def _pairs(setups: dict[str, Setup], *, quick: bool) -> Group:
    names = [c.name for c in available(quick=quick)]
    used: dict[tuple[str, str], Setup] = {}
    for first, second in combinations_with_replacement(names, 2):
        setup = scenario_setup(
            setups, f"pair-{first}-{second}", "pair", *_PATH, f'flow.0.cc="{first}"', f'flow.1.cc="{second}"',
            seeds=1 if quick else PAIR_SEEDS,
        )  # fmt: skip
        _SHARE.prepare(setup)
        used[first, second] = setup

    def rows(results: Results) -> list[Row]:
        return [
            _SHARE.row(results, setup, f"pairs/{a}-{b}", "pairs", f"{title(a)} next to {title(b)}: {_SHARE.what}")
            for (a, b), setup in used.items()
        ]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.fairness_figure import draw_pairs

        means = {key: mean for key, setup in used.items() if (mean := _SHARE.mean(results, setup)) is not None}
        return draw_pairs(names, means) if means else None

    caption = f"All pairs on the talk's path (40 Mbit/s, 100 ms, {BUFFER_PACKETS} packets), 20 to 90 s"
    return Group("pairs", "Inter-protocol fairness", caption, [c.name for c in used.values()], rows, png)
