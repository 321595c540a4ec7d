"""What flows write, and when: the same on both sides.

Our own application says it, on a path that never makes it wait: a link of the highest rate without a queue, and round
trips of a microsecond. What it draws it draws there from the same random streams as in the scenario, because a flow's
stream depends on the seed and on its name alone. From the times of its messages and packets follows the schedule that
the guest's program is given.

What an application does in answer to the path, beyond waiting for an acknowledgment, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from windtunnel.errors import InputError
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario

Document = Mapping[str, Any]

#: The fastest link that a scenario may have, and a round trip that nothing waits for.
_PATH = {"rate": "10 Tbit/s", "queue": {"kind": "fifo", "limit": "unlimited"}}
_RTT = "1 us"
#: IPv4 and UDP.
_HEADERS = 28
#: ECT(0) in the byte of DSCP and ECN.
_ECT0 = 2


@dataclass(frozen=True)
class Schedule:
    """What a flow writes: lines for the guest's program, which reads times in ns since the run's zero."""

    lines: tuple[str, ...]
    protocol: Literal["tcp", "udp"] = "tcp"
    #: TCP: the connection is closed after the last message.
    closes: bool = False
    #: TCP: messages, whose completion is of interest; not pieces of a stream.
    messages: bool = True
    #: UDP: each datagram is sent back.
    answers: bool = False
    #: UDP: the byte of DSCP and ECN.
    tos: int = 0

    @property
    def sent(self) -> list[tuple[float, int]]:
        """Of datagrams: when each leaves, in seconds, and the bytes of its payload."""
        return [(int(time) / 1e9, int(size)) for time, size in (line.split() for line in self.lines)]


def schedules(scenario: Document) -> dict[int, Schedule]:
    """The schedules of all flows but those that send all they can, by the flow's number."""
    flows = scenario["flow"]
    numbers = [number for number, flow in enumerate(flows) if flow["app"]["kind"] != "bulk"]
    if not numbers:
        return {}
    result = _scenario(scenario).run()
    return {number: _schedule(number, flows[number], result) for number in numbers}


def check(scenario: Document) -> None:
    """Refuse applications that answer to the path. Raises InputError."""
    for number, flow in enumerate(scenario["flow"]):
        _check(f"flow.{number}.app", flow["app"])


def _check(at: str, app: Document) -> None:
    kind = app["kind"]
    if kind == "poisson":
        raise InputError(f"{at} = poisson: a flow of the guest is one connection")
    if kind == "on-off" and app.get("rate") is None:
        raise InputError(
            f"{at}.rate: without one, what is unsent at the end of a period is never sent, and a socket of Linux does"
            " not take it back"
        )
    if kind == "cbr" and app.get("responsive"):
        raise InputError(f"{at}.responsive = true: the guest's datagrams do not respond to losses")
    if kind == "media" and app.get("protocol") == "rtp":
        raise InputError(f"{at}.protocol = rtp: the guest has no RTP")
    if any("when" in change for change in app.get("changes") or ()):
        raise InputError(f"{at}.changes: the guest changes rates at times, not when a state calls for it")


def _scenario(scenario: Document) -> Scenario:
    """The scenario on the path where nothing waits."""
    return Scenario.from_table(
        {
            "duration": scenario["duration"],
            "seed": scenario["seed"],
            "mtu": scenario["mtu"],
            "endpoints": "linux",
            "bottleneck": _PATH,
            "record": {"packets": True},
            "flow": [_flow(flow) for flow in scenario["flow"]],
        }
    )


def _flow(flow: Document) -> dict[str, Any]:
    bulk = flow["app"]["kind"] == "bulk"
    kept = {key: flow[key] for key in ("name", "start", "stop") if key in flow}
    kept |= {"rtt": _RTT, "app": {"kind": "transfer", "size": "1 B"} if bulk else flow["app"]}
    return kept | ({"cc": "reno"} if "cc" in flow else {})


def _schedule(number: int, flow: Document, result: RunResult) -> Schedule:
    app = flow["app"]
    kind = app["kind"]
    if "cc" not in flow:
        times, sizes = _packets(number, result)
        lines = tuple(f"{time} {size}" for time, size in zip(times, sizes, strict=True))
        tos = 0 if flow["ecn"] in (False, "none") else _ECT0
        return Schedule(lines, "udp", answers=kind == "probe", tos=tos)
    if kind == "on-off":
        times, sizes = _packets(number, result)
        return Schedule(tuple(f"at {time} {size}" for time, size in zip(times, sizes, strict=True)), messages=False)
    table = result.tables["transfers"]
    rows = np.asarray(table["flow"]) == number
    begins, ends = (np.rint(np.asarray(table[name])[rows] * 1e9).astype(int).tolist() for name in ("start_s", "end_s"))
    sizes = np.asarray(table["size_bytes"])[rows].tolist()
    if kind == "media":
        return Schedule(tuple(f"at {begin} {size}" for begin, size in zip(begins, sizes, strict=True)))
    # From the end of a message to the next one; the first is written when the flow starts.
    waits = [0, *(begin - end for begin, end in zip(begins[1:], ends, strict=False))]
    ends_itself = kind == "transfer" or app.get("count") is not None
    messages = tuple(f"after {wait} {size}" for wait, size in zip(waits, sizes, strict=False))
    return Schedule(messages, closes=bool(app["close"]) and ends_itself)


def _packets(number: int, result: RunResult) -> tuple[list[int], list[int]]:
    """When a flow's packets with data left its sender, in ns, and the bytes of their payloads."""
    table = {name: np.asarray(column) for name, column in result.tables["packets"].items()}
    rows = (table["flow"] == number) & (table["tap"] == 0) & (table["dir"] == 0) & (table["payload"] > 0)
    rows &= ~table["retransmission"]
    return table["t_ns"][rows].astype(int).tolist(), table["payload"][rows].astype(int).tolist()
