"""What a capture or a log shows, in the shape of a run's result, so that the same panels draw it.

A capture has no run behind it: what was acknowledged is its throughput, what was in flight its window, the round-trip
time above its least its waiting. Its segments are the table of packets, as if they were recorded at the senders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel._core import __version__
from windtunnel.explain.evidence.pictured import delay_points, laws_of_losses, reduction_points
from windtunnel.explain.explanation import Explanation, explain
from windtunnel.explain.limits import CWND
from windtunnel.explain.rounds import Rounds
from windtunnel.explain.seen_tables import intervals_of, packets_of
from windtunnel.explain.shadows import Shadows, laws
from windtunnel.explain.trace import MOST_FLOWS, Flow

_CE, _DROP = 1, 2
#: How a capture's panels differ from a run's.
PANELS: Mapping[str, Mapping[str, Any]] = {
    "throughput": {"title": "Acknowledged Data"},
    "sojourn": {"title": "Waiting: Round-Trip Time above its Least", "quantity": "Waiting", "flag": None},
    "cwnd": {"title": "In Flight: the Most of each Round Trip", "quantity": "In flight"},
    "marks": {"title": "Echoed Marks and Retransmissions"},
    "rtt": {"note": "Of the path from the sender to the receiver and back, with all queues."},
    "fairness": {"title": "Fairness of Acknowledged Data"},
    "sequence": {
        "note": "As captured: a segment at its last byte, an ACK, the newest block of a SACK at its end. The receive "
        "window is shown up to a little above the data."
    },
}
_LABELS = {
    "ce": "echoed mark",
    "drops": "sent again",
    "nothing arrived": "What was acknowledged is not known.",
}
#: Round trips between two points of the throughput: single ones are uneven, because SACK reports data late.
_STEP = 2
#: Points of a connection's throughput, however long it lasts.
_MOST_POINTS = 5000


@dataclass(frozen=True)
class Seen:
    """A capture in the shape of a run's result."""

    title: str
    summary: Mapping[str, Any]
    tables: Mapping[str, Any]
    meta: Mapping[str, Any]


def seen_in(path: Path) -> Seen:
    """What a capture or a log shows; of many connections, of those with most data. Raises InputError."""
    return seen(explain(path, MOST_FLOWS, keep=True))


def seen(explanation: Explanation) -> Seen:
    """What its connections show."""
    trace, of_rounds, of_codes, of_shadows = (
        explanation.trace, explanation.rounds, explanation.codes, explanation.heard,
    )  # fmt: skip
    flows = [_record(flow, rounds) for flow, rounds in zip(trace.flows, of_rounds, strict=True)]
    parts: dict[str, list[dict[str, Any]]] = {}
    for index, (rounds, codes) in enumerate(zip(of_rounds, of_codes, strict=True)):
        if rounds is None:
            continue
        limited = np.ones(len(rounds), bool) if codes is None else codes == CWND
        for name, rows in _series(rounds, trace.flows[index].mss, limited).items():
            parts.setdefault(name, []).append({**rows, _owner(name): np.full(len(rows["time_s"]), index)})
    tables = {name: {key: np.concatenate([rows[key] for rows in of]) for key in of[0]} for name, of in parts.items()}
    if tables:
        tables["flows"] = intervals_of(trace)
    if packets := packets_of(trace):
        tables["packets"] = packets
    for flow, heard in zip(flows, of_shadows, strict=True):
        flow["laws"] = _nearest(heard)
    if any(flow["laws"] for flow in flows):
        tables["laws"] = _laws(of_shadows, [flow["laws"] for flow in flows])
    for name, rows in (("reductions", reduction_points(explanation.answers)), ("delay", _delay(explanation))):
        if len(rows["flow"]):
            tables[name] = rows
    for flow, document in zip(flows, explanation.document["flows"], strict=True):
        flow["kept"] = laws_of_losses(document.get("evidence"))
    # Each flow's waiting is drawn as if it were a queue of its own.
    queues = [{"name": flow["name"], "sojourn_ms": _waiting(flow)} for flow in flows]
    summary = {"duration_s": trace.duration_s, "flows": flows, "queues": queues, "labels": _LABELS}
    if "mark_points" in tables:
        tables["mark_points"]["flow"] = tables["mark_points"]["queue"]
    return Seen(trace.title, summary, tables, {"version": __version__})


def _delay(explanation: Explanation) -> dict[str, Any]:
    return delay_points(explanation.rounds, explanation.codes, explanation.answers)


def _nearest(heard: Shadows | None) -> list[str]:
    """The controllers that are drawn."""
    return [] if heard is None else [each["controller"] for each in laws(heard)]


def _laws(of_shadows: Sequence[Shadows | None], names: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The table ``laws``: windows in segments by time. ``law`` 0 is the flight, then come the flow's controllers."""
    parts = []
    for flow, (heard, nearest) in enumerate(zip(of_shadows, names, strict=True)):
        if heard is None or not nearest:
            continue
        rounds = np.flatnonzero(np.isfinite(heard.time))
        parts.append((np.full(len(rounds), flow), np.zeros(len(rounds)), heard.time[rounds], heard.flight[rounds]))
        for law, name in enumerate(nearest, 1):
            # In slow start nearly all are alike.
            for first, last in (stretch for stretch in heard.stretches if stretch[0] > 0):
                # The gap after a stretch breaks the line.
                time = np.append(heard.time[first : last + 1], heard.time[last])
                window = np.append(heard.window[name][first : last + 1], np.nan)
                parts.append((np.full(len(time), flow), np.full(len(time), law), time, window))
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return dict(zip(("flow", "law", "time_s", "segments"), columns, strict=True))


def _record(flow: Flow, rounds: Rounds | None) -> dict[str, Any]:
    """A row of the summary."""
    if rounds is None:
        return {"name": flow.name}
    length = max(float(rounds.end[-1] - rounds.start[0]), 1e-9)
    record: dict[str, Any] = {
        "name": flow.name,
        "first_packet_s": float(rounds.start[0]),
        "last_packet_s": float(rounds.end[-1]),
        "goodput_mbps": float(rounds.delivered.sum()) * flow.mss * 8 / length / 1e6,
        "retransmits": int(rounds.lost.sum()),
    }
    if np.isfinite(rounds.rtt).any():
        middle, high, highest = np.nanpercentile(rounds.rtt, (50, 95, 99))
        least, mean = rounds.least_rtt(), float(np.nanmean(rounds.rtt))
        values = {"min": least, "mean": mean, "p50": middle, "p95": high, "p99": highest, "max": np.nanmax(rounds.rtt)}
        record["rtt_ms"] = {name: 1e3 * float(value) for name, value in values.items()}
    return record


def _waiting(record: Mapping[str, Any]) -> dict[str, float]:
    """Round-trip times above the least."""
    rtt = record.get("rtt_ms", {})
    return {name: value - rtt["min"] for name, value in rtt.items() if name != "min"}


def _owner(table: str) -> str:
    return "queue" if table in ("sojourn_points", "mark_points") else "flow"


def _throughput(rounds: Rounds, mss: int) -> dict[str, Any]:
    start, end = float(rounds.start[0]), float(rounds.end[-1])
    step = _STEP * rounds.usual_rtt()
    times = np.linspace(start, end, int(np.clip((end - start) / max(step, 1e-6), 1, _MOST_POINTS)) + 1)
    sums = np.interp(times, np.append(rounds.start, end), np.append(0, np.cumsum(rounds.delivered)))
    rates = np.diff(sums) / np.maximum(np.diff(times), 1e-9) * mss * 8 / 1e6
    # A rate is the mean since the sample before, the first since 0 s: nothing before the connection begins.
    return {"time_s": times, "mbps": np.append(0.0, rates)} if start > 0 else {"time_s": times[1:], "mbps": rates}


def _series(rounds: Rounds, mss: int, limited: Any) -> dict[str, dict[str, Any]]:
    have = np.isfinite(rounds.rtt)
    waiting = 1e3 * (rounds.rtt[have] - rounds.least_rtt())
    series = {
        "throughput_points": _throughput(rounds, mss),
        "cwnd_points": {"time_s": rounds.end, "bytes": rounds.window * mss, "limited": limited},
        "sojourn_points": {"time_s": rounds.end[have], "ms": waiting, "empty": np.zeros(int(have.sum()))},
    }
    length = np.maximum(rounds.end - rounds.start, 1e-9)
    rows = [
        (time, kind, amount / span)
        for kind, values in ((_DROP, rounds.lost), (_CE, rounds.marked * rounds.delivered))
        for time, amount, span in zip(rounds.end, values, length, strict=True)
        if amount > 0
    ]
    if rows:
        time, kind, hz = (np.array(column) for column in zip(*sorted(rows), strict=True))
        series["mark_points"] = {"time_s": time, "kind": kind, "hz": hz}
    return series
