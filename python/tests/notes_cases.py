"""For each rule of ``windtunnel.notes``: a scenario to which it applies, with the numbers that it must give, and a
similar one to which it does not. Unless stated otherwise, the path is 10 Mbit/s and 40 ms: a bandwidth-delay product
of 50 kB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Keys = Mapping[str, Any]

RENO: Keys = {"cc": "reno", "rtt": "40 ms"}
CUBIC: Keys = {"cc": "cubic", "rtt": "40 ms"}
UNLIMITED: Keys = {"kind": "fifo", "limit": "unlimited"}
ONE_BDP: Keys = {"kind": "fifo", "limit": "1 bdp"}


def path(queue: Any = ONE_BDP, rate: str = "10 Mbit/s", **more: Any) -> dict[str, Any]:
    """A bottleneck."""
    return {"rate": rate, "queue": queue, **more}


def one(
    flow: Keys, queue: Any = ONE_BDP, rate: str = "10 Mbit/s", duration: str = "10 s", **more: Any
) -> dict[str, Any]:
    """A scenario of one flow."""
    return {"duration": duration, "bottleneck": path(queue, rate, **more), "flows": [flow]}


def two(a: Keys, b: Keys, queue: Any = ONE_BDP, rate: str = "10 Mbit/s", duration: str = "10 s") -> dict[str, Any]:
    """A scenario of two flows."""
    return {"duration": duration, "bottleneck": path(queue, rate), "flows": [a, b]}


def _falls(window: float) -> dict[str, Any]:
    """The link slows down when the window of the first flow exceeds ``window`` bytes."""
    return {"when": {"flow": 0, "column": "cwnd_bytes", "above": window}, "rate": "5 Mbit/s"}


@dataclass(frozen=True)
class Case:
    """Scenarios on both sides of a rule's border, as arguments of ``Scenario``."""

    fires: Keys
    quiet: Keys
    #: Numbers of the note and where they come from.
    numbers: Mapping[str, float] = field(default_factory=dict)
    #: Parts of its text.
    words: tuple[str, ...] = ()


def _windowed(start: str, end: str) -> dict[str, Any]:
    """One flow that loses a segment, and a window."""
    loss = [{"kind": "scripted-loss", "packets": [600]}]
    return {**one(RENO, duration="4 s", impair=loss), "windows": [{"name": "cut", "from": start, "to": end}]}


def _links(rates: tuple[str, str]) -> dict[str, Any]:
    """Two links one behind the other; the first has FQ-CoDel."""
    links = [
        {"name": "first", "from": "a", "to": "b", "rate": rates[0], "delay": "10 ms", "queue": "fq_codel"},
        {"name": "second", "from": "b", "to": "c", "rate": rates[1], "delay": "10 ms", "queue": ONE_MB},
        {"name": "back", "from": "c", "to": "a", "rate": "1 Gbit/s", "delay": "20 ms"},
    ]
    flow = {"cc": "cubic", "path": ["first", "second"], "reverse": ["back"]}
    return {"duration": "5 s", "nodes": [{"name": n} for n in "abc"], "links": links, "flows": [flow]}


ONE_MB: Keys = {"kind": "fifo", "limit": "1 MB"}

#: Two flows that start together, on an unlimited FIFO before the bottleneck.
AFTER_A_FAST_LINK: Keys = {
    "duration": "5 s",
    "nodes": [{"name": n} for n in "abc"],
    "links": [
        {"name": "fast", "from": "a", "to": "b", "rate": "1 Gbit/s", "delay": "10 ms"},
        {"name": "slow", "from": "b", "to": "c", "rate": "10 Mbit/s", "delay": "10 ms", "queue": "codel"},
        {"name": "back", "from": "c", "to": "a", "rate": "1 Gbit/s", "delay": "20 ms"},
    ],
    "flows": [{"cc": "cubic", "count": 2, "path": ["fast", "slow"], "reverse": ["back"]}],
}


def mds_path(
    cc: Any = "reno-mds", behind: Any = (), back: Any = (), second: Any = None, window: int | None = None
) -> dict[str, Any]:
    """A flow and Reno over DelTiM of 20 Mbit/s: elements behind the queue and on the way of the ACKs; a second queue
    and, over both, a VPN with an anti-replay window.
    """
    narrow = "15 Mbit/s" if second else "1 Gbit/s"
    entry = ["tunnel-entry"] if window else []
    ends = [{"kind": "tunnel-exit", "replay_window": window}] if window else []
    links = [
        {"name": "access", "from": "a", "to": "b", "rate": "1 Gbit/s", "impair": entry},
        {"name": "first", "from": "b", "to": "c", "rate": "20 Mbit/s", "queue": "deltim", "impair": behind},
        {"name": "second", "from": "c", "to": "d", "rate": narrow, "queue": second or ONE_MB, "impair": ends},
        {"name": "back", "from": "d", "to": "a", "rate": "1 Gbit/s", "impair": back},
    ]
    way = {"path": ["access", "first", "second"], "reverse": ["back"], "rtt": "20 ms"}
    flows = [{"cc": cc, **way}, {"cc": "reno", **way}]
    return {"duration": "10 s", "nodes": [{"name": n} for n in "abcd"], "links": links, "flows": flows}


#: Rules that look at the scenario alone.
BEFORE: Mapping[str, Case] = {
    # 10 Mbit/s x 40 ms / 8 = 50 kB.
    "unlimited-queue": Case(
        one(CUBIC, UNLIMITED),
        one(CUBIC),
        {"bdp_bytes": 50_000},
        ("no queue limit", "unlimited", "50 kB"),
    ),
    # Reno keeps half of its window: it needs (1/0.5 - 1) x 50 kB. 10 packets are 0.3 of this, and 20 are 0.6.
    "small-buffer": Case(
        one(RENO, {"kind": "fifo", "limit": "10 packets"}),
        one(RENO, {"kind": "fifo", "limit": "20 packets"}),
        {"limit_bytes": 15_000, "bdp_bytes": 50_000, "needed_bytes": 50_000},
        ("0.3 BDP",),
    ),
    # 250 kB at 10 Mbit/s are 200 ms.
    "large-buffer": Case(
        one(RENO, {"kind": "fifo", "limit": "5 bdp"}),
        one(RENO, {"kind": "fifo", "limit": "4 bdp"}),
        {"limit_bytes": 250_000, "delay_s": 0.2},
        ("5 BDP", "200 ms"),
    ),
    "bucket-wider-than-link": Case(
        one(CUBIC, {"kind": "tbf", "rate": "20 Mbit/s"}),
        one(CUBIC, {"kind": "tbf", "rate": "5 Mbit/s"}),
        {"bucket_bps": 20e6, "link_bps": 10e6},
    ),
    # 5 Mbit/s x 40 ms / 8 = 25 kB.
    "policer-burst": Case(
        one(RENO, {"kind": "police", "rate": "5 Mbit/s", "burst": "15 kB"}),
        one(RENO, {"kind": "police", "rate": "5 Mbit/s", "burst": "25 kB"}),
        {"burst_bytes": 15_000, "bdp_bytes": 25_000},
    ),
    # 1000 x 1500 B x 8 / 1 Gbit/s = 12 ms; at 500 Mbit/s 24 ms. PIE's target is 15 ms.
    "aqm-behind-limit": Case(
        one(CUBIC, "pie", "1 Gbit/s", "1 s"),
        one(CUBIC, "pie", "500 Mbit/s", "1 s"),
        {"limit_s": 0.012, "target_s": 0.015},
        ("its limit of 1000 packets is 12 ms at this rate, below its target of 15 ms",),
    ),
    # 1500 B x 8 / 1 Mbit/s = 12 ms, above CoDel's target of 5 ms; at 10 Mbit/s 1.2 ms.
    "target-below-packet": Case(
        one(CUBIC, "codel", "1 Mbit/s"), one(CUBIC, "codel"), {"target_s": 0.005, "packet_s": 0.012}
    ),
    # 2 x 1500 B x 8 / 20 Mbit/s = 1.2 ms, above the step of 1 ms. Alone on a link with a ring Prague is not short.
    "step-below-packets": Case(
        one({"cc": "prague", "rtt": "40 ms"}, "dualpi2", "20 Mbit/s"),
        one({"cc": "prague", "rtt": "40 ms"}, "dualpi2", "20 Mbit/s", ring=1),
        {"step_s": 0.001, "packets_s": 0.0012},
        ("ring = 1", "min_qlen_step = 2"),
    ),
    "interval-below-rtt": Case(
        one({"cc": "cubic", "rtt": "101 ms"}, "codel"),
        one({"cc": "cubic", "rtt": "100 ms"}, "codel"),
        {"interval_s": 0.1, "rtt_s": 0.101},
    ),
    "red-bandwidth": Case(
        one(RENO, {"kind": "red", "min": "150 kB", "max": "450 kB"}, "100 Mbit/s"),
        one(RENO, {"kind": "red", "min": "150 kB", "max": "450 kB", "bandwidth": "100 Mbit/s"}, "100 Mbit/s"),
        {"bandwidth_bps": 10e6, "link_bps": 100e6},
    ),
    # 1 - (63/64)^9 = 0.132; with 1024 buckets 0.0088.
    "hash-collisions": Case(
        one({**RENO, "count": 10}, {"kind": "fq_codel", "hash": "jenkins", "flows": 64}),
        one({**RENO, "count": 10}, {"kind": "fq_codel", "hash": "jenkins"}),
        {"flows": 10, "buckets": 64, "shared": 0.13216},
    ),
    "ecn-without-marks": Case(
        one({**CUBIC, "ecn": True}, "codel"),
        one({**CUBIC, "ecn": True}, {"kind": "codel", "ecn": True}),
        words=("CoDel does not mark (ecn = false)",),
    ),
    "scalable-without-marks": Case(
        one({"cc": "dctcp", "rtt": "40 ms"}), one({"cc": "dctcp", "rtt": "40 ms"}, "step"), words=("tail drop", "Reno")
    ),
    "marks-without-ecn": Case(one(CUBIC, "fq_codel"), one({**CUBIC, "ecn": True}, "fq_codel"), words=("ecn = true",)),
    "l4s-read-as-mds": Case(
        one({"cc": "prague", "rtt": "40 ms"}, {"kind": "codel", "ecn": True, "ecn_mode": "mds"}),
        one({"cc": "prague", "rtt": "40 ms"}, {"kind": "codel", "ecn": True}),
        words=("ECT(1)",),
    ),
    "mds-signal-lost": Case(
        mds_path(behind=[{"kind": "ecn-bleacher", "from": ["ect1"]}]),
        mds_path(behind=[{"kind": "ecn-bleacher", "from": ["ce"]}]),
        words=("rewrites ECT(1) behind first", "fallback = 16"),
    ),
    # The window holds 64 packets; 15 Mbit/s send 125 of 1500 B in 100 ms.
    "mds-overtakes-in-vpn": Case(
        mds_path(second="dualpi2", window=32),
        mds_path(second="dualpi2", window=125),
        {"window": 32},
        ("takes SCE for L4S", "32 packets", "1024"),
    ),
    # 65536 B x 8 / 40 ms = 13.1 Mbit/s, and the link has 100. A window of 600 kB allows 120.
    "receive-window-small": Case(
        one({**CUBIC, "tcp": {"receive_window": "64 KiB"}}, rate="100 Mbit/s"),
        one({**CUBIC, "tcp": {"receive_window": "600 kB"}}, rate="100 Mbit/s"),
        {"most_bps": 13.1072e6, "fair_bps": 100e6},
        ("13.1 Mbit/s",),
    ),
    "offered-load-low": Case(
        one({"app": {"kind": "cbr", "rate": "8.9 Mbit/s"}, "rtt": "40 ms"}),
        one({"app": {"kind": "cbr", "rate": "9 Mbit/s"}, "rtt": "40 ms"}),
        {"offered_bps": 8.9e6, "link_bps": 10e6},
    ),
    "unresponsive-overload": Case(
        one({"app": {"kind": "cbr", "rate": "9 Mbit/s"}, "rtt": "40 ms"}),
        one({"app": {"kind": "cbr", "rate": "9 Mbit/s", "responsive": True}, "rtt": "40 ms"}),
        {"offered_bps": 9e6, "link_bps": 10e6},
    ),
    "deaf-flow": Case(one({**RENO, "unresponsive": "losses"}), one(RENO), words=("losses",)),
    # sqrt(3 / (2 x 0.01)) = 12.2 packets of 1500 B in 40 ms are 3.67 Mbit/s; with 0.01 % 36.7.
    "loss-rate-limits": Case(
        one(RENO, impair={"kind": "loss", "probability": "1 %"}),
        one(RENO, impair={"kind": "loss", "probability": "0.01 %"}),
        {"probability": 0.01, "most_bps": 3.674e6, "fair_bps": 10e6},
    ),
    # 10 Mbit/s of 1500 B with an ACK of 52 B for two: 10 x 52 / 3000 = 0.173 Mbit/s.
    "way-back-narrow": Case(
        {**one(RENO), "reverse": {"rate": "170 kbit/s"}},
        {**one(RENO), "reverse": {"rate": "180 kbit/s"}},
        {"needed_bps": 173.3e3, "link_bps": 170e3},
    ),
    "unequal-rtts": Case(
        two({"cc": "reno", "rtt": "20 ms"}, {"cc": "reno", "rtt": "80 ms"}),
        two({"cc": "reno", "rtt": "20 ms"}, {"cc": "reno", "rtt": "80 ms"}, "fq_codel"),
        {"ratio": 4},
    ),
    "model-beside-loss": Case(
        two({"cc": "bbr", "rtt": "40 ms"}, CUBIC, {"kind": "fifo", "limit": "4 bdp"}),
        two({"cc": "bbr", "rtt": "40 ms"}, CUBIC, {"kind": "fifo", "limit": "1.2 bdp"}),
        {"bdps": 4},
        ("CUBIC fills it",),
    ),
    "delay-beside-loss": Case(
        two({"cc": "vegas", "rtt": "40 ms"}, RENO),
        two({"cc": "vegas", "rtt": "40 ms"}, RENO, "fq_codel"),
        words=("gives way",),
    ),
    "one-start": Case(
        one({**RENO, "count": 3}), one({**RENO, "count": 3, "stagger": "100 ms"}), {"flows": 3, "start_s": 0}
    ),
    # 1.9 s are 47 round trips of 40 ms, 2 s are 50.
    "short-run": Case(one(RENO, duration="1.9 s"), one(RENO, duration="2 s"), {"rounds": 47.5, "rtt_s": 0.04}),
    "late-start": Case(
        one({**RENO, "start": "9.1 s"}), one({**RENO, "start": "9 s"}), {"start_s": 9.1, "duration_s": 10}
    ),
    "coarse-record": Case(
        {**one(RENO), "record": {"interval": "41 ms"}},
        {**one(RENO), "record": {"interval": "40 ms"}},
        {"interval_s": 0.041, "rtt_s": 0.04},
    ),
    "not-bottleneck": Case(
        _links(("100 Mbit/s", "10 Mbit/s")),
        _links(("10 Mbit/s", "100 Mbit/s")),
        {"rate_bps": 100e6, "slowest_bps": 10e6},
    ),
}

#: Rules that look at what was measured. Where numbers are not derived here, ``test_notes.py`` takes the summary's.
AFTER: Mapping[str, Case] = {
    # 15 Mbit/s of datagrams on 10 Mbit/s: a third cannot pass, and CoDel drops ever more often, but not that much.
    "aqm-overrun": Case(
        two(
            {"app": {"kind": "cbr", "rate": "15 Mbit/s"}, "rtt": "40 ms"},
            CUBIC,
            {"kind": "codel", "limit": "50 packets"},
        ),
        one(CUBIC, {"kind": "codel", "limit": "1000 packets"}),
    ),
    "ecn-bleached": Case(
        one(
            {**CUBIC, "ecn": True},
            {"kind": "codel", "ecn": True},
            impair={"kind": "ecn-bleacher", "from": ["ce"], "to": "ect0"},
        ),
        one({**CUBIC, "ecn": True}, {"kind": "codel", "ecn": True}),
        {"arrived": 0},
    ),
    "no-fine-signals": Case(
        one({"cc": "reno-mds", "rtt": "40 ms"}),
        one({"cc": "reno-mds", "rtt": "40 ms"}, "deltim"),
        {"ce": 0, "made": 0},
        ("(FIFO made none)",),
    ),
    "mds-own-sce": Case(
        two({"cc": "reno-mds", "rtt": "40 ms"}, RENO, "cobalt"),
        two({"cc": "reno-mds", "rtt": "40 ms"}, RENO, {"kind": "codel-mds"}),
        {"flows": 1},
        ("own schedule", "reno-sce"),
    ),
    "dense-marks": Case(
        one({**RENO, "ecn": True}, {"kind": "nth", "n": 3}),
        one({**CUBIC, "ecn": True}, {"kind": "codel", "ecn": True}),
    ),
    "application-limited": Case(
        one({**CUBIC, "app": {"kind": "request-response", "size": "20 kB", "think": "500 ms"}}), one(CUBIC)
    ),
    "receiver-limited": Case(one({**CUBIC, "tcp": {"receive_window": "30 kB"}}), one(CUBIC)),
    "send-buffer-limited": Case(one({**CUBIC, "tcp": {"send_buffer": "30 kB"}}), one(CUBIC)),
    "idle-link": Case(one(RENO, impair={"kind": "loss", "probability": "15 %"}), one(RENO), words=("losses",)),
    "losses-of-the-medium": Case(
        one(RENO, rate="100 Mbit/s", impair={"kind": "loss", "probability": "1 %"}), one(RENO), words=("31 of 31",)
    ),
    "timeouts": Case(one(RENO, impair={"kind": "loss", "probability": "15 %"}), one(RENO)),
    "reordering-taken-for-loss": Case(
        one(RENO, impair={"kind": "jitter", "mean": "10 ms", "deviation": "10 ms", "reorder": True}),
        one(RENO, impair={"kind": "jitter", "mean": "10 ms", "deviation": "10 ms"}),
    ),
    "acks-lost": Case(
        {**one(RENO), "reverse": {"rate": "10 Mbit/s", "impair": {"kind": "loss", "probability": "10 %"}}},
        {**one(RENO), "reverse": {"rate": "10 Mbit/s"}},
    ),
    "way-back-congested": Case(
        {**one(RENO), "reverse": {"rate": "100 kbit/s"}}, {**one(RENO), "reverse": {"rate": "1 Mbit/s"}}
    ),
    # Flows of different round trips that start apart, on an AQM that drops at random, lose apart. Delayed ACKs part
    # flows, too.
    "synchronised-losses": Case(
        one({**RENO, "count": 2, "ack": "immediate"}, duration="30 s"),
        two(RENO, {"cc": "reno", "rtt": "37 ms", "start": "3 s"}, "pie", duration="60 s"),
        words=("the two flows lost in the same events (synchronised)",),
    ),
    # Round trips of 40 and 41 ms and 15 packets of buffer: one always finds the last place taken.
    "lock-out": Case(
        two(RENO, {"cc": "reno", "rtt": "41 ms"}, {"kind": "fifo", "limit": "15 packets"}, duration="60 s"),
        two(RENO, {"cc": "reno", "rtt": "41 ms"}, "fq_codel", duration="60 s"),
    ),
    # Two CUBIC flows that share 40 Mbit/s for ten seconds.
    "not-converged": Case(
        two(CUBIC, {**CUBIC, "start": "10 s"}, rate="40 Mbit/s", duration="20 s"),
        two(RENO, {**RENO, "start": "5 s"}, "fq_codel", duration="60 s"),
    ),
    "slow-start-left": Case(
        one(CUBIC), one({**CUBIC, "app": {"kind": "transfer", "size": "10 kB"}}), words=("ACK train",)
    ),
    # Jitter of 10 ms is above HyStart's threshold, an eighth of the round trip.
    "slow-start-left-early": Case(
        one(
            {"cc": "cubic", "rtt": "20 ms"},
            rate="100 Mbit/s",
            impair={"kind": "jitter", "mean": "10 ms", "deviation": "10 ms"},
        ),
        one({"cc": "cubic", "rtt": "20 ms"}, rate="100 Mbit/s"),
        {"bdp_bytes": 250_000},
    ),
    "slow-start-only": Case(one({**RENO, "app": {"kind": "transfer", "size": "100 kB"}}), one(RENO)),
    "slow-start-overshoot": Case(one(RENO, rate="100 Mbit/s"), one(CUBIC, rate="100 Mbit/s")),
    # The segment that is lost at about 0.6 s is there again at 0.67 s: half a window of data had arrived above it.
    "released-goodput": Case(
        _windowed("660 ms", "760 ms"), _windowed("1 s", "3 s"), words=("in the window cut", "had arrived before")
    ),
    "condition-never-met": Case(
        one(RENO, changes=[_falls(1e9)]), one(RENO, changes=[_falls(2e4)]), words=("rate 5 Mbit/s", "cwnd_bytes")
    ),
    "few-sawteeth": Case(one(RENO, rate="100 Mbit/s"), one(RENO, duration="60 s")),
    "unfinished-transfers": Case(
        one({**RENO, "app": {"kind": "poisson", "size": "500 kB", "load": "15 Mbit/s"}}),
        one({**RENO, "app": {"kind": "poisson", "size": "5 kB", "load": "2 Mbit/s"}}),
    ),
}
