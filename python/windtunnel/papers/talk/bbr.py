"""BBR as the talk shows it: its states on two paths, its probes and a detector for them, its operating point, loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windtunnel.experiment.expectation import Limits
from windtunnel.papers.features.probes import (
    DRAIN,
    STARTUP,
    find_probes,
    sending_rate,
    state,
    true_probes,
)
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Excerpt, Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.controllers import registered
from windtunnel.papers.talk.gallery import add_gallery_setup
from windtunnel.papers.talk.plan import LOSS, QUICK_SEEDS, SEEDS, Kind, add_setup, lossy, measured, scenario_setup
from windtunnel.papers.talk.series import flow_series
from windtunnel.result import RunResult

NAME = "bbr"


@dataclass(frozen=True)
class Path:
    """A path on which the talk shows BBR."""

    id: str
    rate_mbps: float
    rtt_s: float

    @property
    def text(self) -> str:
        """Rate and round trip."""
        return f"{self.rate_mbps:g} Mbit/s, {1e3 * self.rtt_s:g} ms"

    @property
    def bdp_packets(self) -> float:
        """What the path holds."""
        return self.rate_mbps * 1e6 * self.rtt_s / 12_000


#: ``bbr_10mbit_80ms.pcapng``, and the gallery's path.
PATHS = (Path("bbr-10mbit-80ms", 10.0, 0.080), Path("bbr-40mbit-100ms", 40.0, 0.100))
#: Losses of the slides in percent, and what these print of the throughput in Mbit/s.
LOSSES = (1, 5, 10, 20)
#: What the state of the controller gives to figures, by its name in the table ``cc``.
STATE = ("mode", "pacing_gain", "max_bw_bit_per_s", "min_rtt_s")


@dataclass(frozen=True)
class Bound:
    """A number of BBR's run and what it may be."""

    value: Value
    limits: Limits
    text: str
    why: str


def bbr_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """A group for each path, one for losses; none without BBR."""
    if NAME not in registered():
        return []
    return [*(_states(setups, path, quick=quick) for path in PATHS), _losses(setups, quick=quick)]


def bbr_series(run: RunResult) -> Excerpt:
    """The time series of the flow, its sending rate in packets per second, its packets in flight, and its state; the
    probes that it made, and those that the detector finds from 2 s on.
    """
    out = dict(flow_series(run))
    time, out["sent"] = sending_rate(run.tables, 0)
    out["in_flight"] = np.asarray(run.tables["flows"]["in_flight_bytes"], dtype=np.float64) / 1448.0
    out["delivered"] = np.nancumsum(np.asarray(run.tables["flows"]["delivered_bytes"], dtype=np.float64)) / 1448.0
    for name in STATE:
        at, values = state(run.tables, 0, name)
        out[name] = np.interp(time, at, values)
    rtt = float(np.nanmin(out["min_rtt_s"]))
    later = time > 2.0
    out["true_probes"] = true_probes(run.tables, 0)
    out["found_probes"] = find_probes(time[later], out["sent"][later], rtt)
    return out


def _checks(path: Path) -> tuple[Bound, ...]:
    rtt = path.rtt_s
    bw = Value("bw", "its bandwidth estimate over what the link carries of data, 10 to 60 s", "",
               [measured("0", 'controller_mean("max_bw_bit_per_s", 10, 60)')],
               lambda bps: bps / (path.rate_mbps * 1e6 * 1448 / 1500))  # fmt: skip
    detected = Value("found", "its probes that the detector finds in the sending rate", "%",
                     [measured("0", f"probes_found({rtt}, 2, 60)")])  # fmt: skip
    false = Value("false", "what the detector finds and is no probe", "%",
                  [measured("0", f"probes_false({rtt}, 2, 60)")])  # fmt: skip
    count = Value("probe-rtts", "ProbeRTT phases from 5 to 60 s", "", [measured("0", "probe_rtt_count(5, 60)")])
    length = Value("probe-rtt", "length of a ProbeRTT, median", "ms", [measured("0", "probe_rtt_length()")])
    startup = Value("startup", "rounds in Startup", "", [measured("0", f"rounds_until({STARTUP})")])
    drain = Value("drain", "rounds in Drain", "", [measured("0", f"rounds_until({m})") for m in (STARTUP, DRAIN)],
                  lambda first, last: last - first)  # fmt: skip
    doublings = float(np.log2(path.bdp_packets / 10))
    return (
        Bound(startup, Limits(doublings + 3, doublings + 8), f"{doublings + 3:.1f} to {doublings + 8:.1f}",
              "from 10 packets it doubles up to what the path holds, and stops when three rounds bring less than 25 %;"
              " the first rounds and the last before the plateau may take two more each"),
        Bound(drain, Limits(0, 3), "0 to 3", "what Startup queued, at 0.35 of the rate"),
        Bound(bw, Limits(0.93, 1.06), "0.93 to 1.06", "the estimate is the link's rate, within headers and the margin"),
        Bound(count, Limits(4, 6), "4 to 6", "one in ten seconds"),
        Bound(length, Limits(200, 200 + 2e3 * rtt), f"200 to {200 + 2e3 * rtt:.0f}",
              "0.2 s from when four packets are in flight, and a round trip"),
        Bound(detected, Limits(90), "> 90", "the expert question: where are the BtlBw probes?"),
        Bound(false, Limits(high=10), "< 10", "the end of a ProbeRTT looks like one"),
    )  # fmt: skip


def _states(setups: dict[str, Setup], path: Path, *, quick: bool) -> Group:
    setup = scenario_setup(
        setups, path.id, "start", 'duration="60 s"', f'bottleneck.rate="{path.rate_mbps:g} Mbps"',
        f'flow.0.rtt="{1e3 * path.rtt_s:g} ms"', f'flow.0.cc="{NAME}"', seeds=QUICK_SEEDS if quick else SEEDS,
    )  # fmt: skip
    setup.excerpt, setup.page = bbr_series, f"BBR, {path.text}"
    checks = _checks(path)
    for check in checks:
        check.value.prepare(setup)

    def rows(results: Results) -> list[Row]:
        return [
            trial_row(f"{path.id}/{c.value.id}", path.id, f"BBR, {path.text}: {c.value.what}", c.text, c.limits,
                      c.value.values(results, setup), c.value.unit, c.why, scale=c.value.scale)
            for c in checks
        ]  # fmt: skip

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.bbr_figure import draw_states

        excerpt = results.excerpt(setup.name)
        return draw_states(path, excerpt) if excerpt is not None else None

    caption = f"{path.text}, 1 BDP of buffer: states, start-up, probes as made and as found, operating point"
    return Group(path.id, f"BBR, {path.text}", caption, [setup.name], rows, png, setup.name)


def _losses(setups: dict[str, Setup], *, quick: bool) -> Group:
    used = {1: add_gallery_setup(setups, LOSS, NAME, quick=quick)}
    for percent in LOSSES[1:]:
        kind = Kind(f"loss-{percent}", f"{percent} % random loss", "one", lossy(percent))
        used[percent] = add_setup(setups, kind, NAME, quick=quick)
        used[percent].excerpt = flow_series

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.bbr_figure import draw_losses

        excerpts = {p: e for p, setup in used.items() if (e := results.excerpt(setup.name)) is not None}
        return draw_losses(excerpts) if excerpts else None

    caption = "40 Mbit/s, 100 ms with 1, 5, 10 and 20 % of random loss; the numbers are at P46"
    return Group("bbr-loss", "BBR with random loss", caption, [c.name for c in used.values()], lambda _: [], png)
