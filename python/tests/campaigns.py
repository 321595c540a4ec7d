"""Campaigns that several tests use: short runs of two flows."""

from __future__ import annotations

from windtunnel import Campaign, Scenario, grid

BASE = """\
duration = "1 s"

[bottleneck]
rate = "10 Mbit/s"
queue = { kind = "fifo", limit = "50 packets" }

[[flow]]
name = "a"
cc = "cubic"
rtt = "20 ms"

[[flow]]
name = "b"
cc = "reno"
rtt = "40 ms"
"""

FILE = """\
title = "CUBIC and Reno"
scenario = "base.toml"
seeds = 3
offsets = true
baseline = { "flow.a.cc" = "reno" }

[axes.grid]
"flow.a.cc" = ["reno", "cubic"]
"bottleneck.rate" = { from = "5 Mbit/s", to = "20 Mbit/s", steps = 3, spacing = "log" }

[metrics]
share = "ratio(flows.a.goodput, flows.b.goodput)"
delay = "p99(queue.sojourn)"
tail = "p90(queue.sojourn)"
"""


def base() -> Scenario:
    return Scenario.from_toml(BASE, file="base.toml")


def campaign(seeds: int = 3, **more: object) -> Campaign:
    """The campaign of :data:`FILE`, made in Python."""
    arguments: dict[str, object] = {
        "axes": [
            grid(
                {
                    "flow.a.cc": ["reno", "cubic"],
                    "bottleneck.rate": {"from": "5 Mbit/s", "to": "20 Mbit/s", "steps": 3, "spacing": "log"},
                }
            )
        ],
        "seeds": seeds,
        "offsets": True,
        "baseline": {"flow.a.cc": "reno"},
        "metrics": {
            "share": "ratio(flows.a.goodput, flows.b.goodput)",
            "delay": "p99(queue.sojourn)",
            "tail": "p90(queue.sojourn)",
        },
        "title": "CUBIC and Reno",
        **more,
    }
    return Campaign(base(), **arguments)  # type: ignore[arg-type]
