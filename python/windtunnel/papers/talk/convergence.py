"""Convergence: one stream on changing and constant links, Compound on its own path, and the phase graph of two."""

from __future__ import annotations

from itertools import pairwise

from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.scales import PERCENT, Scale
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.controllers import RENO, available, registered, title
from windtunnel.papers.talk.plan import QUICK_SEEDS, SEEDS, measured, scenario_setup
from windtunnel.papers.talk.series import flow_series

#: The rate of the alternating link from each of these seconds on, in Mbit/s.
STEPS = ((0.0, 5.0), (30.0, 2.5), (60.0, 5.0), (90.0, 2.5), (120.0, 5.0), (150.0, 5.0))
#: Settled: within this part of the link's rate, for this long, as a mean over a second.
NEAR, HELD_S = 0.1, 3.0
#: What the constant link's figure shows besides the whole run: start-up, and the surroundings of an overflow.
ZOOMS = ((0.0, 6.0), (10.0, 40.0))
#: Controllers whose phase graphs are drawn, as far as this build has them.
PHASES = ("reno", "scalable", "cubic", "vegas", "illinois", "bbr")
JOINS_S, END_S = 20.0, 140.0
#: What its path holds, and the buffer (0.75 of that), in packets.
PHASE_BDP, PHASE_BUFFER = 20e6 * 0.1 / 12_000, 0.75 * 20e6 * 0.1 / 12_000


def convergence_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """All of them; Compound's where there is one."""
    groups = [_alternating(setups), _constant(setups, "constant", RENO, "Reno at 20 Mbit/s", 100.0)]
    if "compound" in registered() and not quick:
        groups.append(_constant(setups, "compound", "compound", "Compound at 20 Mbit/s, 200 ms", 200.0))
    return [*groups, _phases(setups, quick=quick)]


def _alternating(setups: dict[str, Setup]) -> Group:
    setup = scenario_setup(setups, "alternating", "step", seeds=SEEDS)
    setup.excerpt = flow_series
    values = [
        Value(f"settled-{start:g}", f"Reno: time until it uses {rate:g} Mbit/s from {start:g} s on", "s",
              [measured("0", f"settled_after({start}, {stop}, {rate}, {NEAR}, {HELD_S})")])
        for (start, rate), (stop, _) in pairwise(STEPS)
    ]  # fmt: skip
    for value in values:
        value.prepare(setup)

    def rows(results: Results) -> list[Row]:
        out = []
        for value, (start, rate) in zip(values, STEPS, strict=False):
            seen = value.values(results, setup)
            note = 'the slide "Convergence": its throughput follows both levels'
            limits, text = (Limits(high=20.0, strict=True), "< 20") if start else (None, None)
            out.append(trial_row(f"alternating/{value.id}", "alternating", value.what, text, limits, seen, "s", note))
            assert rate > 0
        return out

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.convergence_figure import draw_alternating

        excerpt = results.excerpt(setup.name)
        return draw_alternating(excerpt) if excerpt is not None else None

    caption = "One Reno stream, 100 ms, over a link that alternates between 5 and 2.5 Mbit/s every 30 s"
    return Group("alternating", "Convergence at alternating rates", caption, [setup.name], rows, png)


def _constant(setups: dict[str, Setup], id: str, cc: str, name: str, rtt_ms: float) -> Group:
    setup = scenario_setup(setups, id, "steady", f'flow.0.cc="{cc}"', f'flow.0.rtt="{rtt_ms:g} ms"')
    setup.excerpt, setup.page = flow_series, name
    values = [
        Value("use", "use of the link", "%", [measured("queue 0", "utilization_percent()")], scale=PERCENT),
        Value("overflows", "overflows of the buffer in 100 s", "", [measured("queue 0", "overflow_count(0, 100)")]),
        Value("delay", "queueing delay, mean", "ms", [measured("queue 0", 'field("sojourn_ms.mean")')]),
    ]
    for value in values:
        value.prepare(setup)

    def rows(results: Results) -> list[Row]:
        return [value.row(results, setup, id, id, f"{name}: {value.what}") for value in values]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.convergence_figure import draw_constant

        excerpt = results.excerpt(setup.name)
        return draw_constant(name, excerpt) if excerpt is not None else None

    caption = f"One {title(cc)} stream at a constant 20 Mbit/s, {rtt_ms:g} ms: the whole run, and two parts of it"
    return Group(id, name, caption, [setup.name], rows, png, setup.name)


def _phases(setups: dict[str, Setup], *, quick: bool) -> Group:
    names = [c.name for c in available(quick=quick) if c.name in PHASES]
    used = {
        cc: scenario_setup(
            setups, f"phases-{cc}", "phases", f'flow.0.cc="{cc}"', f'flow.1.cc="{cc}"',
            seeds=QUICK_SEEDS if quick else SEEDS,
        )
        for cc in sorted(names, key=PHASES.index)
    }  # fmt: skip
    late = Value(
        "jain",
        "Jain's index of two flows, 100 to 140 s",
        "",
        [measured("0-1", "jain_mean(100, 140)")],
        scale=Scale.of("jain", 2),
    )
    soon = Value("converged", "time until both have their share (Jain's index 0.95 for 3 s; 120 s: never)", "s",
                 [measured("0-1", f"converged_in({JOINS_S}, {END_S}, 0.95, 3)")])  # fmt: skip
    for setup in used.values():
        setup.excerpt = flow_series
        late.prepare(setup)
        soon.prepare(setup)

    def rows(results: Results) -> list[Row]:
        return [
            value.row(results, setup, f"phases/{cc}", "phases", f"{title(cc)}: {value.what}")
            for cc, setup in used.items()
            for value in (soon, late)
        ]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.convergence_figure import draw_phases

        excerpts = {cc: e for cc, setup in used.items() if (e := results.excerpt(setup.name)) is not None}
        return draw_phases(excerpts) if excerpts else None

    caption = "Two flows of one kind at 20 Mbit/s, 100 ms; the second joins at 20 s: efficiency, fairness, convergence"
    return Group("phases", "Phase graph", caption, [c.name for c in used.values()], rows, png)
