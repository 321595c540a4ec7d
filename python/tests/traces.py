"""Runs whose truth is known, and traces made by hand, for the tests of ``windtunnel explain``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel import RunResult, Scenario, _core
from windtunnel.explain.explanation import Explanation, explain, explain_trace
from windtunnel.explain.trace import SENDER, Flow, Trace, by_flow, of_run

#: Captures of a real kernel, made in namespaces; README.md next to them says how.
CAPTURES = Path(__file__).parents[2] / "crates" / "trace" / "tests" / "captures"


def simulated(
    flows: Sequence[dict[str, Any]],
    *,
    seconds: float = 15,
    packets: bool = True,
    reverse: Any = None,
    **bottleneck: Any,
) -> RunResult:
    """A run over one bottleneck of 10 Mbit/s with a buffer of one bandwidth-delay product, unless told otherwise."""
    link = {"rate": "10 Mbit/s", "queue": {"kind": "fifo", "limit": "1 bdp"}, **bottleneck}
    scenario = Scenario(
        duration=f"{seconds} s",
        bottleneck=link,
        reverse=reverse,
        flows=flows,
        record={"packets": packets, "interval": "50 ms"},
    )
    return scenario.run()


@cache
def run_of(controller: str) -> RunResult:
    """A controller alone."""
    return simulated([{"name": "one", "cc": controller, "rtt": "40 ms"}])


def explained(result: RunResult, point: int = SENDER) -> Explanation:
    """The explanation of a run, as its senders saw it or as a capture at its receivers would show it."""
    return explain_trace(of_run(result, Path("run"), point), result)


@cache
def captured(name: str) -> Explanation:
    """The explanation of a real capture."""
    return explain(CAPTURES / name)


@dataclass
class Script:
    """Segments of one connection, made by hand: a handshake, then what a test adds."""

    mss: int = 1000
    rows: list[dict[str, Any]] = field(default_factory=list)

    def data(self, at: float, number: int, **more: Any) -> None:
        """A full segment: the first has number 0."""
        self.add(at, dir=0, payload=self.mss, seq=1 + number * self.mss, ack=1, **more)

    def ack(self, at: float, number: int | float, **more: Any) -> None:
        """An acknowledgement of the first ``number`` segments; a fraction ends within one."""
        self.add(at, dir=1, payload=0, seq=1, ack=1 + round(number * self.mss), **more)

    def add(self, at: float, **columns: Any) -> None:
        """Any row."""
        self.rows.append({"t_ns": round(at * 1e9), "flags": 0x10, "window": 1_000_000, **columns})

    def transfer(self, rounds: int, window: int, acks: Callable[[Script, float, int], None]) -> Script:
        """Rounds of 100 ms of ``window`` segments, each answered after 100 ms by ``acks``."""
        for n in range(rounds * window):
            at = 0.1 * (n // window) + 0.001 * (n % window)
            self.data(at, n)
            acks(self, at + 0.099, n)
        return self

    def explain(self, *, handshake_s: float = 0.099) -> dict[str, Any]:
        """What is found in it."""
        rows = sorted(self.rows, key=lambda row: row["t_ns"])
        kinds = {
            **dict.fromkeys(("flow", "payload", "flags"), np.uint32),
            **dict.fromkeys(("dir", "ecn", "dscp", "sack_n"), np.uint8),
            **dict.fromkeys(("t_ns", "seq", "ack", "ts_val", "ts_ecr", "window"), np.uint64),
            **{f"sack{n}_{edge}": np.uint64 for n in (1, 2, 3, 4) for edge in ("start", "end")},
        }
        segments = _core.Segments()
        segments.add({name: np.array([row.get(name, 0) for row in rows], kind) for name, kind in kinds.items()})
        walked = segments.walk([(self.mss, False, True)])
        flow = Flow(
            "script", self.mss, by_flow(walked["sends"], 1)[0], by_flow(walked["acks"], 1)[0], handshake_s=handshake_s
        )
        trace = Trace(Path("script"), "capture", "script", rows[-1]["t_ns"] / 1e9, [flow], [])
        explained_flow: dict[str, Any] = explain_trace(trace).document["flows"][0]
        return explained_flow


def honest(script: Script, at: float, n: int) -> None:
    """Every segment is acknowledged once."""
    script.ack(at, n + 1)
