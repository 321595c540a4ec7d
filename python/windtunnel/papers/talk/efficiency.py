"""Efficiency: Tahoe and Reno on the talk's path; knee and cliff of a line under a sender with a fixed window."""

from __future__ import annotations

from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.scales import PERCENT
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.controllers import RENO
from windtunnel.papers.talk.gallery import add_gallery_setup
from windtunnel.papers.talk.plan import ONE, measured, scenario_setup

TAHOE = "tahoe"
_USE = Value("use", "use of the link in 60 s", "%", [measured("queue 0", "utilization_percent()")], scale=PERCENT)

#: Windows of the fixed-window sender in segments. The line holds 3.5 of them, its buffer 20 more.
WINDOWS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 22, 24, 28, 32, 48, 64, 96)
QUICK_WINDOWS = (1, 2, 4, 12, 20, 24, 32, 64)
#: The packet that is being sent counts, too.
LINE_PACKETS, LINE_BUFFER = 0.056e6 * 0.2 / (552 * 8) + 1, 20
#: What the line carries of data: 512 of 552 bytes.
LINE_KBPS = 56.0 * 512 / 552
_GOODPUT = Value("goodput", "goodput", "kbit/s", [measured("0", "rate_mean(1, 60, 300)")], lambda mbps: 1e3 * mbps)
_DELAY = Value("rtt", "queueing delay, mean", "ms", [measured("queue 0", 'field("sojourn_ms.mean")')])


def efficiency_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """Both groups."""
    return [_tahoe(setups, quick=quick), _knee(setups, quick=quick)]


def _tahoe(setups: dict[str, Setup], *, quick: bool) -> Group:
    used = {cc: add_gallery_setup(setups, ONE, cc, quick=quick) for cc in (TAHOE, RENO)}
    for setup in used.values():
        _USE.prepare(setup)

    def rows(results: Results) -> list[Row]:
        tahoe, reno = (_USE.values(results, used[cc]) for cc in (TAHOE, RENO))
        less = [r - t for r, t in zip(reno, tahoe, strict=True)]
        return [
            trial_row("tahoe/tahoe", "tahoe", "Tahoe: use of the link in 60 s", None, None, tahoe, "%",
                      scale=PERCENT),
            trial_row("tahoe/less", "tahoe", "Reno's use of the link minus Tahoe's", "> 0", Limits(0, strict=True),
                      less, "% points", 'the slide "Efficiency": Tahoe bad, Reno better'),
            trial_row("tahoe/reno", "tahoe", "Reno: use of the link in 60 s", "< 99.5",
                      Limits(high=99.5, strict=True), reno, "%", "but not ideal", scale=PERCENT),
        ]  # fmt: skip

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.efficiency_figure import draw_tahoe

        excerpts = [results.excerpt(used[cc].name) for cc in (TAHOE, RENO)]
        return draw_tahoe(*excerpts) if all(e is not None for e in excerpts) else None  # type: ignore[arg-type]

    caption = "One stream on the talk's path: slow start after every loss, and fast recovery"
    return Group("tahoe", "Tahoe and Reno", caption, [c.name for c in used.values()], rows, png)


def _knee(setups: dict[str, Setup], *, quick: bool) -> Group:
    used = {
        window: scenario_setup(
            setups, f"knee-{window}", "storm", 'duration="300 s"', f'bottleneck.queue.limit="{LINE_BUFFER} packets"',
            f'flow.0.cc={{ kind="bsd42", window={window} }}',
        )
        for window in (QUICK_WINDOWS if quick else WINDOWS)
    }  # fmt: skip
    for setup in used.values():
        _GOODPUT.prepare(setup)
        _DELAY.prepare(setup)

    def points(results: Results) -> list[tuple[int, float, float]]:
        means = [(w, _GOODPUT.mean(results, c), _DELAY.mean(results, c)) for w, c in used.items()]
        return [(w, g, d) for w, g, d in means if g is not None and d is not None]

    def rows(results: Results) -> list[Row]:
        curve = points(results)
        if not curve:
            return []
        best = max(g for _, g, _ in curve)
        knee = min(w for w, g, _ in curve if g >= 0.95 * best)
        cliff = max((w for w, g, _ in curve if g >= 0.95 * best), default=knee)
        beyond = min((g for w, g, _ in curve if w > cliff), default=best)
        note = f"the line holds {LINE_PACKETS:.1f} packets of 552 bytes, its buffer {LINE_BUFFER}"
        return [
            _bounded("knee/knee", "the smallest window of the sweep that fills the line: the knee", "3 to 5",
                     float(knee), 3 <= knee <= 5, "packets", note),
            _bounded("knee/cliff", "the largest window of the sweep that still does: the edge of the cliff", "16 to 24",
                     float(cliff), LINE_BUFFER - 4 <= cliff <= LINE_BUFFER + 4, "packets", note),
            _bounded("knee/fall", "the least goodput beyond the cliff over the best", "< 0.8", beyond / best,
                     beyond < 0.8 * best, "", "the line carries copies"),
        ]  # fmt: skip

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.efficiency_figure import draw_knee

        curve = points(results)
        return draw_knee(curve) if curve else None

    caption = "One sender with a fixed window (4.2BSD) on a 56 kbit/s line with 200 ms and 20 packets of buffer"
    return Group("knee", "Knee and cliff", caption, [c.name for c in used.values()], rows, png)


def _bounded(id: str, what: str, bound: str, value: float, holds: bool, unit: str, note: str) -> Row:
    return Row(id, "knee", what, bound, value, None, unit, "agrees" if holds else "differs", note)
