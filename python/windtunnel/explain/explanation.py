"""All answers about a run, a capture or a log."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windtunnel.explain.aimd import aimd
from windtunnel.explain.bbr_phases import bbr_phases
from windtunnel.explain.bleaching import bleaching, bleaching_of_run
from windtunnel.explain.controllers import controllers
from windtunnel.explain.convergence import convergence
from windtunnel.explain.evidence import CongestionAnswer, answers_of, evidence
from windtunnel.explain.features import features
from windtunnel.explain.file import Watch, never, of_file
from windtunnel.explain.limits import Codes, limits, limits_of
from windtunnel.explain.misbehaviour import misbehaviour
from windtunnel.explain.overflow import congestion_events, loss_events, mark_events, overflow, synchronisation
from windtunnel.explain.queue_place import queue_place
from windtunnel.explain.rounds import Rounds, rounds_of
from windtunnel.explain.shadows import Shadows, alike, laws, shadows
from windtunnel.explain.trace import Flow, Trace, of_run
from windtunnel.explain.window import window
from windtunnel.folder import load
from windtunnel.result import RunResult
from windtunnel.stored import OF_PACKETS

#: Version of the JSON document; it changes when readers have to change.
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Explanation:
    """The answers, and what they were found from."""

    trace: Trace
    #: Of each flow; None if it has too few packets.
    rounds: list[Rounds | None]
    codes: list[Codes | None]
    heard: list[Shadows | None]
    #: The answers of each flow to congestion.
    answers: list[list[CongestionAnswer]]
    #: ``schema_version, path, kind, title, duration_s, notes, flows[], together``: plain data.
    document: dict[str, Any]
    #: The run, if it is one.
    result: RunResult | None

    def only(self, flows: list[int]) -> Explanation:
        """Some of the flows, and what all have together."""
        return Explanation(
            replace(self.trace, flows=[self.trace.flows[n] for n in flows]),
            [self.rounds[n] for n in flows],
            [self.codes[n] for n in flows],
            [self.heard[n] for n in flows],
            [self.answers[n] for n in flows],
            {**self.document, "flows": [self.document["flows"][n] for n in flows]},
            self.result,
        )

    def to_json(self) -> str:
        """The document as text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def explain(path: str | Path, most: int | None = None, watch: Watch = never, *, keep: bool = False) -> Explanation:
    """Explain a result folder, a capture (pcap or pcapng), or a log (qlog). Raises InputError.

    ``most``: of a capture or a log with more connections than this, those with most data are explained. ``watch``
    surrounds the reading of a stream, and gives a function that says whether no more of it is wanted. ``keep``: the
    segments of a capture, which only its pictures need.
    """
    path = Path(path)
    if path.is_dir():
        result = load(path, lazily=OF_PACKETS)
        return explain_trace(of_run(result, path), result)
    return explain_trace(of_file(path, most, watch, keep), None)


def explain_trace(trace: Trace, result: RunResult | None = None) -> Explanation:
    """Explain what was read."""
    rounds = [rounds_of(flow) for flow in trace.flows]
    codes = [None if r is None else limits_of(flow, r) for flow, r in zip(trace.flows, rounds, strict=True)]
    events = [[] if r is None else loss_events(flow, r) for flow, r in zip(trace.flows, rounds, strict=True)]
    bleached = None if result is None else bleaching_of_run(result)
    names = [] if result is None else [str(flow["name"]) for flow in result.flows]
    rows = list(zip(trace.flows, rounds, codes, strict=True))
    heard = [None if r is None else shadows(flow, r, c) for flow, r, c in rows]
    answers = [[] if r is None else answers_of(flow, r, c) for flow, r, c in rows]
    flows = []
    for flow, r, c, e, h, a in zip(trace.flows, rounds, codes, events, heard, answers, strict=True):
        lines = bleaching(flow) if bleached is None else bleached[names.index(flow.name)]
        hidden = flow.logged or (result is not None and bleached is None)
        flows.append(_flow(flow, r, c, e, h, a, None if hidden else lines))
    document = {
        "schema_version": SCHEMA_VERSION,
        "path": str(trace.path),
        "kind": trace.kind,
        "title": trace.title,
        "duration_s": trace.duration_s,
        "notes": trace.notes,
        "flows": flows,
        "together": {"synchronisation": synchronisation(events, rounds), "convergence": convergence(rounds)},
    }
    return Explanation(trace, rounds, codes, heard, answers, _finite(document), result)


def _flow(
    flow: Flow,
    rounds: Rounds | None,
    codes: Codes | None,
    events: list[dict[str, Any]],
    heard: Shadows | None,
    answers: list[CongestionAnswer],
    bleached: list[str] | None,
) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": flow.name, "used": flow.controller, "capture_at_sender": flow.at_sender}
    if rounds is None:
        return {**facts, "why_not": "it has too few packets with data and acknowledgements", "bleaching": bleached}
    both = congestion_events(events, mark_events(rounds), rounds)
    fits = _controller(flow, rounds, codes, events, heard)
    return {
        **facts,
        "limits": limits(flow, rounds, codes),
        "window": window(flow, rounds, codes),
        "aimd": aimd(rounds, codes, both),
        "overflow": overflow(flow, events),
        "bbr": bbr_phases(rounds),
        "misbehaviour": misbehaviour(flow, rounds, codes, heard, fits),
        "bleaching": bleached,
        "queue": queue_place(flow, rounds),
        "controller": fits,
        "evidence": evidence(flow, rounds, codes, answers, flow.controller or _first(fits)),
        "laws": None if heard is None else laws(heard),
    }


def _first(fits: Mapping[str, Any]) -> str | None:
    """The controller whose law is put next to what was measured: the first fit of those that are known."""
    return str(fits["fits"][0]["controller"]) if fits["fits"] and fits["known"] else None


def _controller(
    flow: Flow, rounds: Rounds, codes: Codes | None, events: list[dict[str, Any]], heard: Shadows | None
) -> dict[str, Any]:
    if flow.logged and flow.sends is None:
        # Nothing says what the sender heard: no shadow can hear the same.
        return {**controllers(None, []), "why_not": "it shows in acknowledgements and losses, which were not logged"}
    return controllers(features(flow, rounds, codes, events, heard), alike(heard))


def _finite(value: Any) -> Any:
    """The same with null for numbers that are none: JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
