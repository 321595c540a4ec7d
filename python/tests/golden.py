"""Reference runs of an independent simulator as windtunnel scenarios, and their traces as rows."""

import csv
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "golden"
Row = tuple[Any, ...]

_AQMS = {
    "deltim": lambda a: {"kind": "deltim", "burst": f"{a['burst_ms']} ms"},
    "deltic": lambda a: {
        "kind": "deltic",
        "sce_target": f"{a['sce_target_ms']} ms",
        "ce_target": f"{a['ce_target_ms']} ms",
        "drop_target": f"{a['drop_target_ms']} ms",
    },
    "deltic_mds": lambda a: {"kind": "deltic-mds", "target": f"{a['target_ms']} ms"},
    "brickwall": lambda a: {"kind": "brickwall", "ce_threshold": f"{a['ce_threshold_ms']} ms"},
}
_SLOW_STARTS: dict[str, Any] = {
    "essp": "essp",
    "std": {"kind": "standard", "base_reduction": True},
    "hystartpp": "hystart++",
}


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{k}" = {_toml(v)}' for k, v in value.items()) + " }"
    return json.dumps(value)


def _controller(flow: dict[str, Any], description: dict[str, Any]) -> dict[str, Any]:
    cc: dict[str, Any] = {"kind": flow["cca"], "slow_start": _SLOW_STARTS[flow["slow_start"]]}
    if flow["sce"]:
        # The reference's window of SCE responses is emptied only once a full srtt passes with none.
        cc |= {"response": "mds", "tau": description["tau"], "limiter": "emptied-after-srtt"}
    if flow["cca"] == "scalable":
        cc |= {"lwnd": f"{description['scalable']['lwnd_bytes']} B"}
    return cc


def scenario(description: dict[str, Any], *, rtt_offset_ns: int = 0, events: bool = False) -> str:
    """The TOML text of a reference run; ``rtt_offset_ns`` is added to every path RTT."""
    aqm = _AQMS[description["aqm"]["type"]](description["aqm"])
    changes = [{"at": f"{c['t_s']} s", "rate": f"{c['rate_mbps']} Mbit/s"} for c in description["rate_schedule"]]
    lines = [
        f"title = {json.dumps(description['name'])}",
        f'duration = "{description["duration_s"]} s"',
        'endpoints = "ideal"',
        "[bottleneck]",
        f'rate = "{description["rate_mbps"]} Mbit/s"',
        f"queue = {_toml(aqm)}",
        "changes = [" + ", ".join(_toml(c) for c in changes) + "]",
        "[record]",
        'interval = "100 ms"',
        f"events = {_toml(events)}",
    ]
    for index, flow in enumerate(description["flows"]):
        schedule = [s for s in description["flow_schedule"] if s["flow"] == index]
        start = next((s["t_s"] for s in schedule if s["active"]), 0)
        stop = next((s["t_s"] for s in schedule if not s["active"]), None)
        lines += [
            "[[flow]]",
            f'name = "{index}"',
            f"cc = {_toml(_controller(flow, description))}",
            f'rtt = "{round(flow["rtt_ms"] * 1_000_000) + rtt_offset_ns} ns"',
            f"pacing = {_toml(flow['pacing'])}",
            f'start = "{start} s"',
        ]
        if stop is not None:
            lines.append(f'stop = "{stop} s"')
    return "\n".join(lines) + "\n"


def load(path: Path) -> dict[str, Any]:
    """The description and summary of a reference run."""
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


def trace(name: str) -> list[Row]:
    """The rows of a reference trace: ``("D", t, flow, seq, size, sojourn, mark, acc, mds, conv)`` and
    ``("A", t, flow, ack, rtt, srtt, feedback, cwnd, in_flight, state)``, times in ns.
    """
    with gzip.open(DATA / "traces" / f"{name}.csv.gz", "rt", newline="") as file:
        return [_typed(row) for row in list(csv.reader(file))[1:]]


def _typed(row: list[str]) -> Row:
    """The event, its mark or feedback and an ACK's state are words; everything else is a number."""
    words = {0, 6} | ({9} if row[0] == "A" else set())
    return tuple(v if i in words else int(v) for i, v in enumerate(row))


def rows(tables: dict[str, dict[str, Any]]) -> list[Row]:
    """The recorded events of a run in the form of a trace, by time; dequeues before ACKs in one nanosecond."""
    # The reference shows a drop that is delivered with CE as CE.
    marks = ["-", "SCE", "CE", "CE"]
    feedback = ["-", "ECE", "ESCE", "ECE"]
    d = tables["dequeue_events"]
    names = ("t_ns", "flow", "seq", "size", "sojourn_ns", "mark", "acc", "mds_osc", "conv_osc")
    # The reference writes 0 for a queue without a modulator; a run has no such columns then.
    zeros = d["t_ns"] * 0
    dequeues = zip(*(d.get(name, zeros).tolist() for name in names), strict=True)
    a = tables["ack_events"]
    names = ("t_ns", "flow", "ack", "rtt_ns", "srtt_ns", "feedback", "cwnd", "in_flight", "slow_start")
    acks = zip(*(a[name].tolist() for name in names), strict=True)
    merged: list[Row] = [("D", *r[:5], marks[r[5]], *r[6:]) for r in dequeues]
    merged += [("A", *r[:5], feedback[r[5]], *r[6:8], "SS" if r[8] else "CA") for r in acks]
    return sorted(merged, key=lambda r: (r[1], r[0] == "A"))


def first_tie(trace_rows: list[Row]) -> int | None:
    """The first nanosecond after 0 at which events of different sources meet.

    Sources are dequeues, ACKs, and departures by a pacing timer (an enqueue that no ACK of its flow caused).
    """
    sources: dict[int, set[str]] = defaultdict(set)
    for row in trace_rows:
        sources[row[1]].add(f"{row[0]}{row[2] if row[0] == 'A' else ''}")
    for row in trace_rows:
        if row[0] == "D" and row[1] - row[5] > 0:
            enqueued, flow = row[1] - row[5], row[2]
            if f"A{flow}" not in sources[enqueued]:
                sources[enqueued].add(f"timer{flow}")
    return min((t for t, s in sources.items() if len(s) > 1), default=None)
