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
from windtunnel.report.run_page import write_report

_CE, _DROP = 1, 2
_TITLES = {
    "throughput": "Acknowledged Data",
    "sojourn": "Waiting: Round-Trip Time above its Least",
    "cwnd": "In Flight (most in each round trip)",
    "marks": "Echoed Marks and Retransmissions",
}


@dataclass(frozen=True)
class _Seen:
    """A capture in the shape of a run's result."""

    summary: Mapping[str, Any]
    tables: Mapping[str, Any]
    meta: Mapping[str, Any]


def write_page(explanation: Explanation, path: Path) -> None:
    """Write the page."""
    answers = list(findings(explanation.document))
    notes = explanation.trace.notes
    if explanation.result is not None:
        write_report(explanation.result, path, title=explanation.trace.title, findings=answers, notes=notes)
    else:
        title = explanation.trace.title
        write_report(_seen(explanation), path, title=title, findings=answers, notes=notes, titles=_TITLES)


def _seen(explanation: Explanation) -> _Seen:
    flows = [{"name": flow.name} for flow in explanation.trace.flows]
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
    summary = {"duration_s": explanation.trace.duration_s, "flows": flows, "queues": flows}
    if "mark_points" in tables:
        tables["mark_points"]["flow"] = tables["mark_points"]["queue"]
    return _Seen(summary, tables, {"version": __version__})


def _owner(table: str) -> str:
    return "queue" if table in ("sojourn_points", "mark_points") else "flow"


def _series(rounds: Rounds, mss: int, limited: Any) -> dict[str, dict[str, Any]]:
    have = np.isfinite(rounds.rtt)
    waiting = 1e3 * (rounds.rtt[have] - (np.nanmin(rounds.rtt_min) if have.any() else 0))
    series = {
        "throughput_points": {"time_s": rounds.end, "mbps": rounds.rate() * mss * 8 / 1e6},
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
