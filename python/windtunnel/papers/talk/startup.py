"""The faults of slow start, each on a path that shows it; and where on the path the drop is: how late the news."""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.experiment.expectation import Limits
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.controllers import registered
from windtunnel.papers.talk.plan import measured, scenario_setup
from windtunnel.papers.talk.series import flow_series


@dataclass(frozen=True)
class Fault:
    """A fault of slow start: what the talk calls it, the path that shows it, and its rate."""

    id: str
    name: str
    path: str
    rate_mbps: float
    settings: tuple[str, ...]


FAULTS = (
    Fault("slow", "too slow", "1 Gbit/s, 200 ms", 1000.0, ('bottleneck.rate="1000 Mbps"', 'flow.0.rtt="200 ms"')),
    Fault("fast", "too fast", "40 Mbit/s, 100 ms, 1 BDP of buffer", 40.0, ()),
    Fault("tiny", "extra-low queue", "the same, 10 packets of buffer", 40.0, ('bottleneck.queue.limit="10 packets"',)),
    Fault("spike", "spike in queueing delay", "the same, 4 BDP of buffer", 40.0, ('bottleneck.queue.limit="4 bdp"',)),
    Fault("luck", "bad luck", "the same, the 20th packet is lost", 40.0,
          ('bottleneck.impair={ kind="scripted-loss", packets=[20], affects="data" }',)),
)  # fmt: skip

#: The ways to start that are compared: what a build must have for them, and what the flow's ``cc`` is.
STARTS = {
    "slow start": ("reno", 'flow.0.cc="reno"'),
    "limited (RFC 3742)": ("limited", 'flow.0.cc={ kind="reno", slow_start="limited" }'),
    "HyStart": ("hystart", 'flow.0.cc={ kind="reno", slow_start="hystart" }'),
    "HyStart++": ("hystart++", 'flow.0.cc={ kind="reno", slow_start="hystart++" }'),
    "BBR": ("bbr", 'flow.0.cc="bbr"'),
}

#: Round trips of the paths whose first or last link is the narrow one.
RTTS_MS = (50, 100, 200)
_LATE = Value("news", "from the first drop until the sender finds it", "ms", [measured("0", "news_ms()")])
_SENT = Value("sent", "packets sent in the meantime", "", [measured("0", "sent_before_news()")])


def startup_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """Both groups."""
    return [_faults(setups), _position(setups, quick=quick)]


def starts() -> dict[str, str]:
    """The ways to start that this build has."""
    names = registered() | registered("slow_starts")
    return {name: setting for name, (needs, setting) in STARTS.items() if needs in names}


def _values(fault: Fault) -> tuple[Value, ...]:
    goal = 0.9 * fault.rate_mbps * 1448 / 1500
    return (
        Value(
            "time", "time to nine tenths of the link (20 s: never)", "s", [measured("0", f"time_to_rate({goal}, 0.2)")]
        ),
        Value("delay", "largest queueing delay", "ms", [measured("queue 0", 'field("sojourn_ms.max")')]),
        Value("lost", "packets lost", "", [measured("0", f'field("drops.{how}")') for how in ("full", "wire")],
              lambda full, wire: full + wire),
    )  # fmt: skip


def _faults(setups: dict[str, Setup]) -> Group:
    used: dict[tuple[Fault, str], Setup] = {}
    for fault in FAULTS:
        for name, setting in starts().items():
            id = f"start-{fault.id}-{STARTS[name][0].replace('+', 'p')}"
            setup = scenario_setup(setups, id, "start", *fault.settings, setting)
            setup.excerpt = flow_series
            for value in _values(fault):
                value.prepare(setup)
            used[fault, name] = setup

    def rows(results: Results) -> list[Row]:
        return [
            value.row(results, setup, setup.name, "startup", f"{fault.name} ({fault.path}), {name}: {value.what}")
            for (fault, name), setup in used.items()
            for value in _values(fault)
        ]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.startup_figure import draw_faults

        excerpts = {key: e for key, setup in used.items() if (e := results.excerpt(setup.name)) is not None}
        return draw_faults(excerpts) if len(excerpts) == len(used) else None

    caption = "Five faults of slow start, each on a path that shows it, with other ways to start next to it"
    return Group("startup", "Slow-start faults", caption, [c.name for c in used.values()], rows, png)


def _position(setups: dict[str, Setup], *, quick: bool) -> Group:
    """The narrow link is the first or the last; the path's delay is between them."""
    narrow = {
        "first": (),
        "last": (
            'link.0.rate="1000 Mbps"', 'link.0.queue.limit="1000 packets"', 'link.1.rate="40 Mbps"',
            'link.1.queue.limit="100 packets"',
        ),
    }  # fmt: skip
    used: dict[tuple[str, int], Setup] = {}
    for link, settings in narrow.items():
        for rtt in RTTS_MS[:2] if quick else RTTS_MS:
            # The delay is between the links: on the first one where the last is narrow.
            half = f'"{rtt / 2:g} ms"'
            delays = (f"link.1.delay={half}",) if link == "first" else (f"link.0.delay={half}", 'link.1.delay="0 ms"')
            setup = scenario_setup(
                setups, f"drop-{link}-{rtt}", "hops", *settings, *delays, f'flow.0.rtt="{rtt} ms"', seeds=3
            )
            for value in (_LATE, _SENT):
                value.prepare(setup)
            used[link, rtt] = setup

    def rows(results: Results) -> list[Row]:
        out = []
        for (link, rtt), setup in used.items():
            for value in (_LATE, _SENT):
                what = f"drop at the {link} link, {rtt} ms: {value.what}"
                out.append(value.row(results, setup, f"drop/{link}-{rtt}", "drop", what))
        for rtt in sorted({rtt for _, rtt in used}):
            first, last = (_LATE.values(results, used[link, rtt]) for link in ("first", "last"))
            more = [f - e for f, e in zip(first, last, strict=True)]
            what = f"{rtt} ms: how much later the news of a drop at the first link is, over half a round trip"
            limits = Limits(0.8, 1.2)
            out.append(trial_row(f"drop/later-{rtt}", "drop", what, "0.8 to 1.2", limits, [m / (rtt / 2) for m in more],
                                 "", "what follows the dropped packet still has the whole path before it"))  # fmt: skip
        return out

    caption = "Late news: the path's first link is the narrow one, or its last; the sender learns of the drop later"
    return Group("drop", "Position of the drop", caption, [c.name for c in used.values()], rows)
