"""The answers in sentences: the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from windtunnel.explain.evidence.sentences import sentences
from windtunnel.report.text import number

#: A question and its answer.
Answer: TypeAlias = tuple[str, str]

_SHOWN_EVENTS = 6
_SHOWN_UNLIKE = 4


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
    if flow["laws"]:
        yield "Whose law does the window follow?", _laws(flow["laws"])
    yield "What limits the sender?", _limits(flow)
    yield "How large is cwnd?", _window(flow["window"])
    yield "What are a and b?", _aimd(flow["aimd"])
    yield from sentences(flow["evidence"])
    yield "Overflows?", _overflow(flow["overflow"])
    if flow["bbr"] and flow["bbr"]["round_trip_probes"]:
        yield "Phases of BBR", _bbr(flow["bbr"])
    yield "Where is the queue?", _queue(flow["queue"])
    yield "Does an endpoint cheat?", _misbehaviour(flow["misbehaviour"])
    yield "Is a signal bleached?", _bleaching(flow["bleaching"])


def _controller(answer: Mapping[str, Any]) -> str:
    if not answer["fits"]:
        return f"Not to be told: {answer['why_not']}."
    fits = ", ".join(f"{f['controller']} {_percent(f['probability'])}" for f in answer["fits"])
    first = answer["fits"][0]
    if not answer["known"]:
        text = f"None that the model knows ({_percent(answer['none'])}). The nearest: {fits}."
        more = len(answer["unlike"]) - _SHOWN_UNLIKE
        shown = ", ".join(answer["unlike"][:_SHOWN_UNLIKE]) + (f" and {more} more" if more > 0 else "")
        return f"{text} Numbers that {first['controller']} does not have: {shown}." if shown else text
    text = f"{fits}." if answer["sure"] else f"Not clear. {fits}."
    same = first["same"]
    return text + (f" Here nothing tells {first['controller']} from {_listed(same)}." if same else "")


def _laws(answer: list[Mapping[str, Any]]) -> str:
    parts = []
    for each in answer:
        errors = [
            f"{what} off by {_percent(each[key])}"
            for key, what in (("growth", "growth"), ("loss", "what losses leave"))
            if each[key] is not None
        ]
        name = _listed([each["controller"], *each["same"]])
        off = f" ({', '.join(errors)})" if errors else ""
        parts.append(f"{name} {_percent(each['near'])}{off}")
    return (
        "Share of its stretches of growth and answers to congestion in which a controller that was told of the same "
        f"acknowledgements and losses would have had this window, to a segment or 3 %: {'; '.join(parts)}."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def _limits(flow: Mapping[str, Any]) -> str:
    answer = flow["limits"]
    if answer is None:
        return "Only packets show it."
    shares = sorted(((share, name) for name, share in answer["shares"].items() if share >= 0.005), reverse=True)
    text = ", ".join(f"{name} {_percent(share)}" for share, name in shares)
    seen = flow["capture_at_sender"] or answer["from"] != "packets"
    hidden = "" if seen else " Pacing cannot be seen this far from the sender."
    changes = [s for s in answer["spans"] if s["to_s"] - s["from_s"] > 0]
    over = ""
    if 1 < len(changes) <= _SHOWN_EVENTS:
        over = " " + "; ".join(f"{s['limit']} {_span(s)}" for s in changes) + "."
    return f"{text} of the time ({answer['from']}).{over}{hidden}"


def _window(answer: Mapping[str, Any]) -> str:
    most = f"At most {number(answer['greatest_segments'], 3)} segments of {answer['mss_bytes']} bytes were in flight"
    if "last_segments" in answer:
        return (
            f"{number(answer['last_segments'], 3)} segments at {number(answer['last_s'])} s, from what was in flight. "
            f"{most}; {answer['rounds_that_show_it']} of {answer['rounds']} round trips show the window."
        )
    return f"{most}; {answer['why_not']}."


def _aimd(answer: Mapping[str, Any] | None) -> str:
    if answer is None:
        return "No decrease with growth after it."
    a, b = answer["a_segments_per_round_trip"], answer["b"]
    text = (
        f"a = {_middle(a)} segments per round trip, b = {_middle(b)} (decrease), from {answer['epochs']} sawteeth; "
        f"straight lines explain {_percent(answer['fit'])} of the growth."
    )
    if answer["k"] is not None:
        text += f" Growth goes with the window to the power of {number(answer['k'], 2)}."
    return text


def _middle(spread: Mapping[str, float]) -> str:
    return f"{number(spread['median'], 3)} ({number(spread['low'], 3)} to {number(spread['high'], 3)})"


def _overflow(answer: Mapping[str, Any]) -> str:
    if not answer["events"]:
        return "No losses."
    events, segments = answer["events"], answer["segments"]
    text = (
        f"{_count(events, 'loss event')}, {_count(segments, 'segment')}, {_count(answer['timeouts'], 'timeout')}; "
        f"{answer['with_a_full_queue']} with a full queue."
    )
    if events <= _SHOWN_EVENTS:
        text += " " + "; ".join(f"{number(e['time_s'])} s: {e['segments']}" for e in answer["list"]) + "."
    if answer.get("in_front_of_the_capture"):
        text += f" {answer['in_front_of_the_capture']} were lost in front of the capture point."
    return text


def _bbr(answer: Mapping[str, Any]) -> str:
    probes = f"{_count(answer['round_trip_probes'], 'round-trip probe')}"
    if answer["round_trip_probe_every_s"]:
        probes += f" every {number(answer['round_trip_probe_every_s'], 3)} s"
    probes += f", {_count(answer['bandwidth_probes'], 'bandwidth probe')}"
    phases = "; ".join(f"{p['phase']} {_span(p)}" for p in answer["phases"][:_SHOWN_EVENTS])
    more = len(answer["phases"]) - _SHOWN_EVENTS
    return f"{probes}. {phases}{f'; {more} more' if more > 0 else ''}."


def _queue(answer: Mapping[str, Any] | None) -> str:
    if answer is None:
        return "No round-trip times."
    parts = [
        f"{name} the capture point {number(part['mean_ms'], 3)} ms on average, "
        f"{number(part['p95_ms'], 3)} ms at the 95th percentile ({number(part['p95_segments'], 3)} segments)"
        for name, part in (("after", answer["after"]), ("before", answer["before"]))
        if part
    ]
    return f"{answer['verdict'].capitalize()}. Waiting: {'; '.join(parts)}."


def _misbehaviour(signs: list[Mapping[str, Any]] | None) -> str:
    if signs is None:
        return "Only packets show it."
    present = [f"{s['sign']} ({s['evidence']})" for s in signs if s["found"]]
    hidden = [s["sign"] for s in signs if s["found"] is None]
    text = f"Signs of {'; '.join(present)}." if present else "No sign of it."
    text += "".join(f" {s['evidence']}." for s in signs if s.get("like"))
    return text + (f" Not to be seen here: {', '.join(hidden)}." if hidden else "")


def _bleaching(lines: list[str] | None) -> str:
    if lines is None:
        return "Only the packets themselves show it."
    return "; ".join(line[0].upper() + line[1:] for line in lines) + "." if lines else "No sign of it."


def _together(answer: Mapping[str, Any]) -> Iterator[Answer]:
    together = answer["synchronisation"]
    if together:
        yield (
            "Do flows lose together?",
            f"Synchronisation index {number(together['index'], 2)} over "
            f"{_count(together['events'], 'event')}: the share of the other flows that lost in the same event.",
        )
    fair = answer["convergence"]
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
