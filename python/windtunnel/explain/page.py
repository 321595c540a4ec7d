"""The page of an explanation: that of a run, with the answers above its tables.

A capture has no run behind it. Its page draws what the packets show in the same panels: what was acknowledged as
throughput, what was in flight as the window, the round-trip time above its least as waiting, retransmissions and
echoed marks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel._core import __version__
from windtunnel.explain.explanation import Explanation
from windtunnel.explain.findings import findings
from windtunnel.explain.limits import CWND
from windtunnel.explain.rounds import Rounds
from windtunnel.explain.trace import MOST_FLOWS, Flow, with_most_data
from windtunnel.report.run_page import write_report
from windtunnel.report.text import number

_CE, _DROP = 1, 2
#: How a capture's panels differ from a run's.
_PANELS: Mapping[str, Mapping[str, Any]] = {
    "throughput": {"title": "Acknowledged Data"},
    "sojourn": {"title": "Waiting: Round-Trip Time above its Least", "flag": None},
    "cwnd": {"title": "In Flight: the Most of each Round Trip"},
    "marks": {"title": "Echoed Marks and Retransmissions"},
}
#: Round trips between two points of the throughput: single ones are uneven, because SACK reports data late.
_STEP = 2
#: Points of a connection's throughput, however long it lasts.
_MOST_POINTS = 5000


@dataclass(frozen=True)
class _Seen:
    """A capture in the shape of a run's result."""

    summary: Mapping[str, Any]
    tables: Mapping[str, Any]
    meta: Mapping[str, Any]


def write_page(explanation: Explanation, path: Path) -> None:
    """Write the page."""
    notes = list(explanation.trace.notes)
    if explanation.result is None and (more := len(explanation.trace.flows) - MOST_FLOWS) > 0:
        explanation = explanation.only(with_most_data(explanation.trace.flows, MOST_FLOWS))
        notes.append(f"{more} connections with less data are not on this page; --json has them.")
    answers = list(findings(explanation.document))
    if explanation.result is not None:
        write_report(explanation.result, path, title=explanation.trace.title, findings=answers, notes=notes)
    else:
        write_report(
            _seen(explanation),
            path,
            title=explanation.trace.title,
            findings=answers,
            notes=notes,
            changes=_PANELS,
            facts=_facts(explanation),
        )


def _facts(explanation: Explanation) -> list[str]:
    flows = len(explanation.trace.flows)
    pairs = zip(explanation.rounds, explanation.trace.flows, strict=True)
    data = sum(float(r.delivered.sum()) * flow.mss for r, flow in pairs if r is not None)
    return [
        explanation.trace.kind,
        f"{number(explanation.trace.duration_s)} s",
        f"{flows} connection{'' if flows == 1 else 's'}",
        f"{number(data / 1e6, 3)} MB acknowledged",
    ]


def _seen(explanation: Explanation) -> _Seen:
    flows = [_record(flow, rounds) for flow, rounds in zip(explanation.trace.flows, explanation.rounds, strict=True)]
    parts: dict[str, list[dict[str, Any]]] = {}
    for index, rounds in enumerate(explanation.rounds):
        if rounds is None:
            continue
        mss = explanation.trace.flows[index].mss
        codes = explanation.codes[index]
        limited = np.ones(len(rounds), bool) if codes is None else codes == CWND
        for name, rows in _series(rounds, mss, limited).items():
            parts.setdefault(name, []).append({**rows, _owner(name): np.full(len(rows["time_s"]), index)})
    tables = {name: {key: np.concatenate([rows[key] for rows in of]) for key in of[0]} for name, of in parts.items()}
    # Each flow's waiting is drawn as if it were a queue of its own.
    queues = [{"name": f"path of {flow['name']}", "sojourn_ms": _waiting(flow)} for flow in flows]
    summary = {"duration_s": explanation.trace.duration_s, "flows": flows, "queues": queues}
    if "mark_points" in tables:
        tables["mark_points"]["flow"] = tables["mark_points"]["queue"]
    return _Seen(summary, tables, {"version": __version__})


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
