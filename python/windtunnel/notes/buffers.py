"""How much a queue without an AQM holds, and what a bucket lets through."""

from __future__ import annotations

import math

from windtunnel.kinds import has_trait, kept
from windtunnel.notes.note import Said, Sayings, rule
from windtunnel.notes.subject import Flow, Queue, Subject, number, seconds
from windtunnel.notes.words import percent, rate, size, time, times

#: A buffer of more than this many bandwidth-delay products only adds delay.
_LARGE = 4.0


@rule("unlimited-queue", level="warning", before=True, source="RFC 7567 section 1; the bufferbloat lists")
def unlimited_queue(subject: Subject) -> Sayings:
    """A FIFO has no limit, and a flow that grows until it loses fills it: what is measured depends on how long the run
    is.
    """
    for queue in subject.data_queues:
        greedy = _growing(subject, queue)
        if subject.ideal or not has_trait(queue.kind, "passive") or not math.isinf(queue.limit) or not greedy:
            continue
        bdp = queue.bdp(greedy[0])
        if subject.ran and not queue.sojourn("max") > greedy[0].rtt:
            continue  # something else kept it short
        numbers = {"bdp_bytes": bdp}
        seen = ""
        if subject.ran and queue.measured.get("sojourn_ms"):
            numbers |= {"mean_s": queue.sojourn("mean"), "max_s": queue.sojourn("max")}
            seen = f", {time(queue.sojourn('mean'))} mean and {time(queue.sojourn('max'))} at most"
        advice = f'limit = "1 bdp" is {size(bdp)} here' if bdp > 0 else "give it a limit"
        yield Said(
            f"{queue.name} has no queue limit: FIFO is unlimited{seen}, and grows as long as "
            f"{greedy[0].label} runs; {advice}",
            queue=queue,
            numbers=numbers,
        )


@rule(
    "small-buffer",
    before=True,
    source="Appenzeller, Keslassy, McKeown, Sizing Router Buffers, 2004; netem's default limit of 1000 packets",
)
def small_buffer(subject: Subject) -> Sayings:
    """A FIFO is shorter than half of what keeps the link busy after a flow's answer to a loss: ``(1/b - 1)``
    bandwidth-delay products, where b is the part of the window that it keeps, divided by the square root of the
    number of flows.
    """
    for queue in subject.data_queues:
        greedy = _growing(subject, queue)
        if subject.ideal or not has_trait(queue.kind, "passive") or not greedy or not queue.limit < math.inf:
            continue
        longest = max(greedy, key=lambda flow: flow.rtt)
        bdp = queue.bdp(longest)
        needed = bdp * (1 / kept(longest.cc) - 1) / math.sqrt(number(greedy))
        if not queue.limit < needed / 2:
            continue
        numbers = {"limit_bytes": queue.limit, "bdp_bytes": bdp, "needed_bytes": needed}
        seen = ""
        if subject.ran and queue.measured.get("utilization") is not None:
            numbers["utilization"] = queue.measured["utilization"]
            seen = f"; the link was used to {percent(queue.measured['utilization'])}"
        yield Said(
            f"{queue.name} holds {size(queue.limit)}, {times(queue.limit / bdp)} BDP: after a loss {longest.label} "
            "needs "
            f"{size(needed)} to keep the link busy{seen}",
            queue=queue,
            numbers=numbers,
        )


@rule("large-buffer", before=True, source="RFC 7567 section 1; the bufferbloat lists")
def large_buffer(subject: Subject) -> Sayings:
    """A FIFO holds more than four bandwidth-delay products and a flow that grows until it loses fills them."""
    for queue in subject.data_queues:
        greedy = _growing(subject, queue)
        if subject.ideal or not has_trait(queue.kind, "passive") or not greedy or not queue.limit < math.inf:
            continue
        bdp = max(queue.bdp(flow) for flow in greedy)
        if not queue.limit > _LARGE * bdp:
            continue
        delay = queue.drain(queue.limit)
        numbers = {"limit_bytes": queue.limit, "bdp_bytes": bdp, "delay_s": delay}
        seen = ""
        if subject.ran and queue.measured.get("sojourn_ms"):
            numbers["mean_s"] = queue.sojourn("mean")
            seen = f" ({time(queue.sojourn('mean'))} mean)"
        yield Said(
            f"{queue.name} holds {size(queue.limit)}, {times(queue.limit / bdp)} BDP: up to {time(delay)} of delay"
            f"{seen}, where {time(queue.drain(bdp))} are enough",
            queue=queue,
            numbers=numbers,
        )


@rule("bucket-wider-than-link", level="warning", before=True, source="tc-tbf(8)")
def bucket_wider_than_link(subject: Subject) -> Sayings:
    """A token bucket has a rate that the link around it does not reach: it never shapes or polices."""
    for queue in subject.data_queues:
        own = seconds(queue.spec.get("rate"))
        if own >= queue.rate:
            yield Said(
                f"{queue.name}: {queue.kind} allows {rate(own)} on a link of {rate(queue.rate)}, and does nothing",
                queue=queue,
                numbers={"bucket_bps": own, "link_bps": queue.rate},
            )


@rule("policer-burst", before=True, source="Flach and others, An Internet-Wide Analysis of Traffic Policing, 2016")
def policer_burst(subject: Subject) -> Sayings:
    """A policer's bucket is smaller than the bandwidth-delay product of a TCP that passes it: it has no queue, and
    TCP sends in bursts, so that the flow gets less than the policer's rate.
    """
    for queue in subject.data_queues:
        greedy = _growing(subject, queue)
        own, burst = seconds(queue.spec.get("rate")), seconds(queue.spec.get("burst"))
        if queue.kind != "police" or not greedy or not own < queue.rate:
            continue
        longest = max(flow.rtt for flow in greedy)
        if burst < own / 8 * longest:
            numbers = {"burst_bytes": burst, "bdp_bytes": own / 8 * longest}
            yield Said(
                f"{queue.name}: the policer's bucket of {size(burst)} is less than a BDP at its rate "
                f"({size(own / 8 * longest)}): TCP gets less than {rate(own)}",
                queue=queue,
                numbers=numbers,
            )


def _growing(subject: Subject, queue: Queue) -> list[Flow]:
    """The flows that grow until this queue, on the slowest link of their way, makes them lose."""
    return [flow for flow in queue.flows if flow.is_greedy and flow.by_loss and subject.narrowest(flow) is queue]
