"""The answers in sentences: the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from windtunnel.explain.controllers import MOST_OUTSIDE
from windtunnel.report.text import number

#: A question and its answer.
Answer: TypeAlias = tuple[str, str]

_SHOWN_EVENTS = 6


def findings(document: Mapping[str, Any]) -> Iterator[tuple[str, list[Answer]]]:
    """For each flow, and for all together: the heading, and the answers."""
    for flow in document["flows"]:
        used = f" ({flow['used']})" if flow["used"] else ""
        if "why_not" in flow:
            yield flow["name"] + used, [("Nothing to tell", flow["why_not"] + ".")]
        else:
            yield flow["name"] + used, list(_flow(flow))
    together = list(_together(document["together"]))
    if together:
        yield "All flows together", together


def _flow(flow: Mapping[str, Any]) -> Iterator[Answer]:
    yield "Which controller?", _controller(flow["controller"])
    yield "What limits the sender?", _limits(flow)
    yield "How large is cwnd?", _window(flow["window"])
    yield "What are a and b?", _aimd(flow["aimd"])
    yield "Overflows?", _overflow(flow["overflow"])
    if flow["bbr"] and flow["bbr"]["round_trip_probes"]:
        yield "Phases of BBR", _bbr(flow["bbr"])
    yield "Where is the queue?", _queue(flow["queue"])
    yield "Does an endpoint cheat?", _misbehaviour(flow["misbehaviour"])
    yield "Is a signal bleached?", _bleaching(flow["bleaching"])


def _controller(found: Mapping[str, Any]) -> str:
    if not found["fits"]:
        return f"Not to be told: {found['why_not']}."
    fits = ", ".join(f"{f['controller']} {_percent(f['probability'])}" for f in found["fits"])
    text = f"{fits}." if found["sure"] else f"Not clear. {fits}."
    odd = found["outside_training"]
    return text + (f" Unlike any run that the model knows: {', '.join(odd)}." if len(odd) > MOST_OUTSIDE else "")


def _limits(flow: Mapping[str, Any]) -> str:
    found = flow["limits"]
    if found is None:
        return "Only packets show it."
    shares = sorted(((share, name) for name, share in found["shares"].items() if share >= 0.005), reverse=True)
    text = ", ".join(f"{name} {_percent(share)}" for share, name in shares)
    hidden = "" if flow["capture_at_sender"] else " Pacing cannot be seen this far from the sender."
    changes = [s for s in found["spans"] if s["to_s"] - s["from_s"] > 0]
    over = ""
    if 1 < len(changes) <= _SHOWN_EVENTS:
        over = " " + "; ".join(f"{s['limit']} {_span(s)}" for s in changes) + "."
    return f"{text} of the time ({found['from']}).{over}{hidden}"


def _window(found: Mapping[str, Any]) -> str:
    most = f"At most {number(found['greatest_segments'], 3)} segments of {found['mss_bytes']} bytes were in flight"
    if "last_segments" in found:
        return (
            f"{number(found['last_segments'], 3)} segments at {number(found['last_s'])} s, from what was in flight. "
            f"{most}; {found['rounds_that_show_it']} of {found['rounds']} round trips show the window."
        )
    return f"{most}; {found['why_not']}."


def _aimd(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "No decrease with growth after it."
    a, b = found["a_segments_per_round_trip"], found["b"]
    text = (
        f"a = {_middle(a)} segments per round trip, b = {_middle(b)} (decrease), from {found['epochs']} sawteeth; "
        f"straight lines explain {_percent(found['fit'])} of the growth."
    )
    if found["k"] is not None:
        text += f" Growth goes with the window to the power of {number(found['k'], 2)}."
    return text


def _middle(spread: Mapping[str, float]) -> str:
    return f"{number(spread['median'], 3)} ({number(spread['low'], 3)} to {number(spread['high'], 3)})"


def _overflow(found: Mapping[str, Any]) -> str:
    if not found["events"]:
        return "No losses."
    events, segments = found["events"], found["segments"]
    text = (
        f"{_count(events, 'loss event')}, {_count(segments, 'segment')}, {_count(found['timeouts'], 'timeout')}; "
        f"{found['with_a_full_queue']} with a full queue."
    )
    if events <= _SHOWN_EVENTS:
        text += " " + "; ".join(f"{number(e['time_s'])} s: {e['segments']}" for e in found["list"]) + "."
    if found.get("in_front_of_the_capture"):
        text += f" {found['in_front_of_the_capture']} were lost in front of the capture point."
    return text


def _bbr(found: Mapping[str, Any]) -> str:
    probes = f"{_count(found['round_trip_probes'], 'round-trip probe')}"
    if found["round_trip_probe_every_s"]:
        probes += f" every {number(found['round_trip_probe_every_s'], 3)} s"
    probes += f", {_count(found['bandwidth_probes'], 'bandwidth probe')}"
    phases = "; ".join(f"{p['phase']} {_span(p)}" for p in found["phases"][:_SHOWN_EVENTS])
    more = len(found["phases"]) - _SHOWN_EVENTS
    return f"{probes}. {phases}{f'; {more} more' if more > 0 else ''}."


def _queue(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "No round-trip times."
    parts = [
        f"{name} the capture point {number(part['mean_ms'], 3)} ms on average, "
        f"{number(part['p95_ms'], 3)} ms at the 95th percentile ({number(part['p95_segments'], 3)} segments)"
        for name, part in (("after", found["after"]), ("before", found["before"]))
        if part
    ]
    return f"{found['verdict'].capitalize()}. Waiting: {'; '.join(parts)}."


def _misbehaviour(signs: list[Mapping[str, Any]] | None) -> str:
    if signs is None:
        return "Only packets show it."
    found = [f"{s['sign']} ({s['evidence']})" for s in signs if s["found"]]
    hidden = [s["sign"] for s in signs if s["found"] is None]
    text = f"Signs of {'; '.join(found)}." if found else "No sign of it."
    return text + (f" Not to be seen here: {', '.join(hidden)}." if hidden else "")


def _bleaching(lines: list[str] | None) -> str:
    if lines is None:
        return "Only packets show it."
    return "; ".join(line[0].upper() + line[1:] for line in lines) + "." if lines else "No sign of it."


def _together(found: Mapping[str, Any]) -> Iterator[Answer]:
    together = found["synchronisation"]
    if together:
        yield (
            "Do flows lose together?",
            f"Synchronisation index {number(together['index'], 2)} over "
            f"{_count(together['events'], 'event')}: the share of the other flows that lost in the same event.",
        )
    fair = found["convergence"]
    if fair:
        steps = fair["jain_of_steps"]
        text = (
            f"Jain's index {number(fair['jain'], 3)} over all, {number(steps['mean'], 3)} in steps of "
            f"{number(fair['step_s'], 2)} s (95 %: {number(steps['low'], 3)} to {number(steps['high'], 3)})."
        )
        if "converged_after_s" in fair:
            text += (
                f" Equal rates {number(fair['converged_after_s'], 3)} s after the last start; they vary by "
                f"{_percent(fair['oscillation'])} from then on."
            )
        else:
            text += " The rates did not become equal."
        yield "Do they converge?", text


def _span(part: Mapping[str, Any]) -> str:
    return f"{number(part['from_s'], 3)} to {number(part['to_s'], 3)} s"


def _percent(share: float | None) -> str:
    return f"{number(None if share is None else 100 * share, 3)} %"


def _count(count: int, what: str) -> str:
    return f"{number(count)} {what}{'' if count == 1 else 's'}"
