"""Evidence in sentences: a question and one or two short sentences for each kind, with the law's number next to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from windtunnel.explain.evidence import published
from windtunnel.explain.evidence.acks import RECEIVER
from windtunnel.explain.evidence.delay import HOLDS, IGNORES, YIELDS
from windtunnel.explain.evidence.ecn import CLASSIC, CONSTANT, COUNTED, EACH, NONE, PROPORTIONAL
from windtunnel.explain.evidence.reductions import LEAST, SPREADS, WAITS
from windtunnel.report.text import number

Document = Mapping[str, Any]


def sentences(evidence: Document) -> Iterator[tuple[str, str]]:
    """The questions that the connection has an answer to, or that it should have one to."""
    yield "How does it start?", _start(evidence["start"])
    if evidence["reductions"] is not None:
        yield "What does congestion leave?", _reductions(evidence)
    yield "Does delay matter to it?", _delay(evidence["delay"], evidence["law_of"])
    if evidence["pacing"] is not None:
        yield "Is it paced?", _pacing(evidence["pacing"])
    yield "Does it probe, or hold a level?", _probes(evidence)
    if evidence["ecn"] is not None:
        yield "What is done with ECN?", _ecn(evidence)
    if evidence["acks"] is not None:
        yield "How does the receiver acknowledge?", _acks(evidence["acks"])


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _middle(spread: Mapping[str, float], unit: str = "") -> str:
    value = f"{number(spread['median'], 3)}{unit}"
    if spread["count"] < LEAST or number(spread["low"], 3) == number(spread["high"], 3):
        return value
    return f"{value} ({number(spread['low'], 3)} to {number(spread['high'], 3)})"


def _percent(share: float) -> str:
    return f"{number(100 * share, 2)} %"


def _start(start: Document) -> str:
    if "why_not" in start:
        return f"It cannot be seen, because {start['why_not']}."
    parts = [_initial(start["initial"])]
    if start["growth"]:
        how = {True: ", paced", False: ", not paced", None: ""}[start["paced"]]
        parts.append(
            f"{number(start['growth']['factor'], 3)} times as much in each round trip "
            f"({published.SLOW_START_SOURCE}: {published.SLOW_START_GROWTH:g}){how}"
        )
    return f"{_sentence(', then '.join(part for part in parts if part))} {_exit(start['exit'])}"


def _initial(initial: Document) -> str:
    if initial["segments"] is None:
        return ""
    least = "at least " if initial["at_least"] else ""
    law = f" ({published.INITIAL_WINDOW_SOURCE}: {published.INITIAL_WINDOW})"
    spread = initial["spread"]
    spaced = "" if spread is None else " at once" if spread < 0.1 else f" over {_percent(spread)} of a round trip"
    return f"{least}{number(initial['segments'], 3)} segments{spaced}{law}"


_CAUSES = {
    "loss": "a loss", "mark": "a mark", "timeout": "a timeout", "receiver": "the receive window",
    "application": "the application",
}  # fmt: skip


def _exit(end: Document) -> str:
    where = f"at {number(end['time_s'], 3)} s with {number(end['segments'], 3)} segments in flight"
    if end["cause"] is None:
        return "The trace ends in slow start."
    if end["cause"] in ("delay", "no sign"):
        # Of a log without round-trip times.
        waiting = f", with {number(end['waiting_ms'], 3)} ms of waiting" if end["waiting_ms"] is not None else ""
        text = f"It ends {where}, before any loss or mark{waiting}"
        if end["drained"]:
            return f"{text}; the flight is then drained."
        if end["conservative_round_trips"] >= LEAST:
            return f"{text}; it goes on more slowly for {end['conservative_round_trips']} round trips."
        return f"{text}."
    lost = f"; {number(end['lost'])} segments are lost" if end.get("lost") else ""
    return f"{_CAUSES[end['cause']].capitalize()} ends it {where}{lost}."


def _law(evidence: Document, law: Any) -> str:
    """The published number, with its source."""
    if law is None:
        return ""
    source = published.source(evidence["law_of"])
    if law == published.PROPORTIONAL:
        return f"; {source}: by half of the share marked"
    low, high = law
    text = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return f"; {source}: {text}"


def _reductions(evidence: Document) -> str:
    document, parts, few = evidence["reductions"], [], []
    for cause in ("loss", "mark"):
        kept, events = document[cause]["kept"], document[cause]["events"]
        if kept is None or kept["count"] < LEAST:
            few += [_events(events, cause)] if events else []
            continue
        law = _law(evidence, document[cause]["law"])
        parts.append(f"A {cause} leaves {_middle(kept)} of the window ({_answers(kept['count'])}{law}).")
    expired = document["timeout"]
    if expired["events"]:
        parts.append(_timeouts(expired))
    if document["repair"]:
        how = {SPREADS: "spread over the round trip (RFC 9937)", WAITS: "sent once half has left (RFC 6675)"}
        parts.append(f"Repairs are {how[document['repair']]}.")
    if few:
        parts.append(f"Answers to {' and '.join(few)} are too few to tell.")
    return " ".join(parts) or "No losses, marks or timeouts."


def _answers(count: int) -> str:
    return f"{number(count)} answer{'' if count == 1 else 's'}"


def _events(count: int, cause: str) -> str:
    plural = {"loss": "losses", "mark": "marks", "timeout": "timeouts"}[cause]
    return f"{number(count)} {cause if count == 1 else plural}"


def _timeouts(expired: Document) -> str:
    restart, kept = expired["restart_segments"], expired["kept"]
    text = _events(expired["events"], "timeout")
    if restart:
        law = f"{published.AFTER_TIMEOUT_SOURCE}: {published.AFTER_TIMEOUT_SEGMENTS}"
        text += f" {'leaves' if expired['events'] == 1 else 'leave'} {number(restart['median'], 3)} segments ({law})"
    if kept:
        text += f"{', and' if restart else ':'} slow start up to {_middle(kept)} of the window"
    return f"{text}."


def _delay(document: Document, law_of: str | None) -> str:
    answer = document["answer"]
    if answer is None:
        return f"It cannot be told, because {document['why_not']}."
    if answer == HOLDS:
        law = ""
        if document["law"]:
            low, high = document["law"]
            law = f" ({published.source(str(law_of))}: {low:g} to {high:g})"
        return f"It keeps {_middle(document['queue_segments'])} segments in the queue{law}."
    if answer == YIELDS:
        return (
            f"It yields to it: without losses the window falls in {_percent(document['falls'])} of the round trips, "
            f"with {number(document['falls_at_ms'], 3)} ms of waiting, and usually there are "
            f"{number(document['waiting_ms']['median'], 3)} ms."
        )
    assert answer == IGNORES
    growth = document["growth"]
    return (
        f"Not that it shows: it grows by {number(growth['much_waiting'], 2)} segments per round trip where packets "
        f"wait long, and by {number(growth['little_waiting'], 2)} where they do not."
    )


def _pacing(document: Document) -> str:
    if "why_not" in document:
        return f"It cannot be seen, because {document['why_not']}."
    bursts = document["burst_segments"]
    text = (
        f"{_percent(document['at_once'])} of the departures follow an acknowledgement at once; segments leave in "
        f"bursts of {number(bursts['median'])} (90 %: at most {number(bursts['p90'])})."
    )
    paces = [
        f"{_percent(document[key])} of flight over round-trip time {when}".rstrip()
        for key, when in (("pace_in_slow_start", "in slow start"), ("pace", "later"))
        if document[key] is not None
    ]
    return f"{text} Its pace is {' and '.join(paces)}." if paces else text


def _probes(evidence: Document) -> str:
    probes, dips, target = evidence["probes"], evidence["dips"], evidence["target"]
    parts = []
    if probes["found"]:
        every = f"every {_middle(probes['every_s'], ' s')}" if probes["regular"] else "at uneven distances"
        count = probes["every_round_trips"] if probes["regular"] else None
        trips = "" if count is None else f", {number(count, 2)} least round trips"
        law = probes["law_round_trips"]
        said = f" ({published.source(evidence['law_of'])}: {law[0]:g})" if law and trips else ""
        parts.append(
            f"It probes for bandwidth {every}{trips}{said}: the flight rises to {_middle(probes['gain'])} times the "
            f"usual, and then {_middle(probes['drain'])} segments are sent for each one delivered."
        )
    if dips["count"]:
        parts.append(_dips(dips, evidence["law_of"]))
    if target["found"] and not (probes["found"] and probes["regular"]):
        product = target["products"]
        level = f" ({number(product, 2)} bandwidth-delay products)" if product is not None else ""
        by = ", as the receive window has it" if target["by"] else ""
        flight = f"{number(target['segments'], 3)} segments{level} are in flight{by}"
        parts.append(f"{_percent(target['share'])} of the time {flight}.")
    return " ".join(parts) or "No probes, no dips, and no fixed level."


def _dips(dips: Document, law_of: str | None) -> str:
    count = dips["count"]
    what = f"{number(count)} dip{'' if count == 1 else 's'} to {_middle(dips['segments'])} segments"
    text = f"{what} for {_middle(dips['length_s'], ' s')}"
    if dips["every_s"]:
        law = f" ({published.source(str(law_of))}: {dips['law_s']:g} s)" if dips["law_s"] else ""
        text += f", {_middle(dips['every_s'], ' s')} apart{law}"
    return f"{text}."


_ECHO = {
    CLASSIC: "until the sender has heard it (RFC 3168)",
    EACH: "each by itself (RFC 8257)",
    COUNTED: "as a count (RFC 9768)",
}


def _ecn(evidence: Document) -> str:
    document = evidence["ecn"]
    data = document["data"]
    whole = max(sum(data.values()), 1)
    names = (("not_ect", "Not-ECT"), ("ect0", "ECT(0)"), ("ect1", "ECT(1)"), ("ce", "CE"))
    carried = ", ".join(f"{name} {_percent(data[key] / whole)}" for key, name in names if data[key])
    if not (data["ect0"] or data["ect1"] or data["ce"] or document["echoes"]):
        offered = {"none": " ECN was not negotiated.", None: ""}.get(document["negotiated"], " It was negotiated.")
        return f"The data carry {carried}.{offered}"
    text = f"The data carry {carried}."
    if not document["echoes"]:
        return f"{text} No mark is echoed."
    how = f", {_ECHO[document['echo']]}" if document["echo"] else ""
    text += f" {number(document['echoes'])} acknowledgements echo marks{how}."
    answer = document["answer"]
    if answer is None:
        return f"{text} The answer cannot be told, because {document['why_not']}."
    taken = _middle({key: 100 * value if key != "count" else value for key, value in document["taken"].items()}, " %")
    if answer == NONE:
        return f"{text} They do not lower the window, with {_percent(document['average_share'])} marked on average."
    if answer == CONSTANT:
        return f"{text} Once in a round trip they take {taken} of the window, however many are marked (RFC 3168)."
    assert answer == PROPORTIONAL
    share = _percent(document["average_share"])
    return f"{text} They take {taken} of the window, with {share} marked on average: half of the share (RFC 8257)."


def _acks(document: Document) -> str:
    if "why_not" in document:
        return f"It cannot be told, because {document['why_not']}."
    shares = document["segments"]
    shown = ", ".join(f"{_percent(shares[key])} for {name}" for key, name in _SEGMENTS if shares[key] >= 0.005)
    law = f"{published.SEGMENTS_PER_ACK_SOURCE}: at least one for {published.SEGMENTS_PER_ACK}"
    text = f"Acknowledgements are {shown} ({law})."
    if shares["more"] > 0.1:
        by = document["thinned_by"]
        text += f" {'The receiver' if by == RECEIVER else 'The receiver or the path'} leaves out others."
    if document["quick"] >= LEAST:
        text += f" The first {number(document['quick'])} are for one segment each."
    if document["timer_ms"] is not None:
        text += f" A timer waits {number(document['timer_ms'], 2)} ms for a second one."
    if document["sack"] is None:
        return text
    if not document["sack"]:
        return f"{text} No SACK."
    if not document["sack_reports"]:
        return f"{text} SACK, without reports of holes."
    twice = f", {number(document['dsack_reports'])} of data that arrived twice" if document["dsack_reports"] else ""
    return f"{text} SACK: {number(document['sack_reports'])} reports of new data above a hole{twice}."


_SEGMENTS = (("one", "one segment"), ("two", "two"), ("more", "more"))
