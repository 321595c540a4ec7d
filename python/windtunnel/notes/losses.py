"""Losses that are not congestion, timeouts, and a way back that loses or delays ACKs."""

from __future__ import annotations

import math

from windtunnel.notes.note import Said, Sayings, of_each, rule
from windtunnel.notes.subject import Flow, Subject, impairments, selects
from windtunnel.notes.words import count, percent, rate, time, times

#: What a path must offer above the rate that losses allow for these to be said to decide.
_CLEAR = 0.8
#: An IPv4 packet with a TCP header and timestamps.
_ACK_BYTES = 52.0


@rule("loss-rate-limits", before=True, source="Mathis and others, 1997; RFC 9438 section 5.1")
def loss_rate_limits(subject: Subject) -> Sayings:
    """Random losses on the way let Reno or CUBIC send less than the link has for it, by its response function."""
    for flow in subject.flows:
        narrowest = subject.narrowest(flow)
        lost = _loss_probability(subject, flow)
        if (
            narrowest is None
            or not flow.is_greedy
            or not flow.by_loss
            or not lost > 0
            or flow.cc not in ("reno", "cubic")
        ):
            continue
        most = _response(flow, lost, narrowest.mtu)
        fair = narrowest.fair_rate
        if most < _CLEAR * fair:
            seen = ""
            if subject.ran and flow.measured.get("active"):
                seen = f"; it got {rate(flow.measured['active']['throughput_mbps'] * 1e6)}"
            yield Said(
                f"{flow.name}: random losses of {percent(lost)} let {flow.label} send about {rate(most)} at "
                f"{time(flow.rtt)}, less than its part of the link, {rate(fair)}{seen}",
                flow=flow,
                numbers={"probability": lost, "most_bps": most, "fair_bps": fair},
            )


@rule("losses-of-the-medium", source="RFC 3155; RFC 7567 section 1")
def losses_of_the_medium(subject: Subject) -> Sayings:
    """More than half of what a flow lost, and ten packets or more, was lost or damaged by a medium and not by a
    queue.
    """
    for flow in subject.flows:
        wire = int((flow.measured.get("drops") or {}).get("wire", 0)) + int(flow.measured.get("corrupted") or 0)
        total = flow.lost()
        if wire >= 10 and wire > total / 2:
            yield Said(
                f"{flow.name}: the medium lost {wire} of {count(total, 'packet')}: losses that say nothing about "
                "queues",
                flow=flow,
                numbers={"wire": wire, "lost": total},
            )


@rule("timeouts", source="RFC 6298; RFC 8985 section 7")
def timeouts(subject: Subject) -> Sayings:
    """Retransmission timeouts of a flow: each is silence for at least ``rto_min``, and slow start after it."""

    def sentence(flow: Flow) -> Said:
        rtos, spurious = int(flow.measured["rtos"]), int(flow.measured.get("spurious_rtos") or 0)
        needless = f", {spurious} of them spurious" if spurious else ""
        return Said(
            f"{flow.name}: {count(rtos, 'retransmission timeout')}{needless}",
            flow=flow,
            numbers={"rtos": rtos, "spurious": spurious},
        )

    yield from of_each((flow for flow in subject.flows if flow.measured.get("rtos")), sentence)


@rule("reordering-taken-for-loss", source="RFC 4653; RFC 8985; netem's jitter, which reorders")
def reordering_taken_for_loss(subject: Subject) -> Sayings:
    """Packets were reordered, and a flow retransmitted more than it had lost, or undid reductions."""
    placed = {str(element["name"]): element for element in (subject.summary or {}).get("impairments") or ()}
    reordered = sum(int(element.get("reordered") or 0) for element in placed.values())
    for flow in subject.flows if reordered else ():
        undone = int(flow.measured.get("undos") or 0)
        needless = int(flow.measured.get("retransmits") or 0) - flow.lost()
        if undone or needless >= 10:
            again = f"sent {count(max(needless, 0), 'segment')} again without need and "
            if flow.measured.get("retransmits") is None:
                again = ""
            yield Said(
                f"{flow.name}: {count(reordered, 'packet')} on the way left after later ones; it "
                f"{again}undid {count(undone, 'reduction')}",
                flow=flow,
                numbers={"reordered": reordered, "needless": needless, "undone": undone},
            )


@rule("acks-lost", source="RFC 3449 section 2; RFC 5690")
def acks_lost(subject: Subject) -> Sayings:
    """One in a hundred of a flow's ACKs or more was lost: its clock is coarser, though no data are missing."""
    for flow in subject.flows:
        lost = sum((flow.measured.get("ack_drops") or {}).values())
        sent = int(flow.measured.get("sent") or 0)
        # About one ACK for two segments.
        if lost >= 10 and lost > 0.01 * sent / 2:
            yield Said(
                f"{flow.name}: {count(lost, 'ACK')} were lost on the way back; no data are missing for it, but the "
                "window "
                f"grows and the flow sends in larger steps",
                flow=flow,
                numbers={"acks_lost": lost, "sent": sent},
            )


@rule(
    "way-back-narrow", level="warning", before=True, source="RFC 3449 section 2.1; private-octopus/picoquic issue 1213"
)
def way_back_narrow(subject: Subject) -> Sayings:
    """The way back is too slow for the ACKs of the way there, one for two segments: it decides the flow's rate."""
    for queue in subject.queues:
        greedy = [flow for flow in queue.acks if flow.is_greedy]
        forward = max((there.rate for flow in greedy if (there := subject.narrowest(flow))), default=math.nan)
        needed = forward / queue.mtu / 2 * _ACK_BYTES
        if needed > queue.rate:
            seen = ""
            if subject.ran and queue.measured.get("sojourn_ms"):
                seen = f"; ACKs waited {time(queue.sojourn('mean'))} there"
            yield Said(
                f"{queue.name}: ACKs of {rate(forward)} need {rate(needed)}, and the way back has "
                f"{rate(queue.rate)}{seen}",
                queue=queue,
                numbers={"needed_bps": needed, "link_bps": queue.rate, "wait_s": queue.sojourn("mean")},
            )


@rule("way-back-congested", source="RFC 3449; Zhang, Shenker, Clark, Two-way Traffic, 1991")
def way_back_congested(subject: Subject) -> Sayings:
    """ACKs wait in a queue on the way back for more than a fifth of the flow's round trip: what looks like delay of
    the data is theirs.
    """
    for queue in subject.queues:
        wait = queue.sojourn("mean")
        shortest = min((flow.rtt for flow in queue.acks if flow.cc), default=math.nan)
        if wait > 0.2 * shortest:
            yield Said(
                f"{queue.name}: ACKs wait {time(wait)} on average, {times(wait / shortest)} of a base RTT of "
                f"{time(shortest)}: round-trip times and rates of the flows contain it",
                queue=queue,
                numbers={"wait_s": wait, "rtt_s": shortest},
            )


def _loss_probability(subject: Subject, flow: Flow) -> float:
    """The probability that an impairment on the way loses a packet of data."""
    kept = 1.0
    for queue in subject.path(flow):
        for element in impairments(queue.link):
            concerned = selects(element.get("only"), flow)
            if element["kind"] == "loss" and element.get("affects") in ("all", "data") and concerned:
                kept *= 1 - _share(element.get("probability"))
    return 1 - kept


def _share(text: object) -> float:
    """A probability, written as a number or in percent."""
    if isinstance(text, str) and text.endswith("%"):
        return float(text.removesuffix("%")) / 100
    return float(text) if isinstance(text, int | float | str) else math.nan


def _response(flow: Flow, p: float, mtu: float) -> float:
    """The mean rate at a loss probability, in bits per second on the wire: Reno's window is sqrt(3/2p), CUBIC's at
    least that of its friendly region, which is Reno's.
    """
    reno = math.sqrt(1.5 / p)
    cubic = 1.054 * (flow.rtt / p) ** 0.75 if flow.cc == "cubic" else 0.0
    return max(reno, cubic) * mtu * 8 / flow.rtt
