"""AQMs that cannot act, or whose parameters are for another path."""

from __future__ import annotations

import math

from windtunnel.kinds import has_trait
from windtunnel.notes.note import Said, Sayings, rule
from windtunnel.notes.subject import Subject, number, seconds
from windtunnel.notes.words import count, percent, rate, size, time

#: A length that counts packets.
_PACKETS = ("packets", "packet")


@rule("aqm-behind-limit", level="warning", before=True, source="tc-pie(8): limit, 1000 packets by default")
def aqm_behind_limit(subject: Subject) -> Sayings:
    """The queue is full before its delay reaches the target of its AQM: it is a tail drop."""
    for queue in subject.data_queues:
        target = seconds(queue.spec.get("target"))
        full = queue.drain(queue.limit)
        if has_trait(queue.kind, "target") and full < target:
            acted = queue.signals + queue.drops("aqm")
            what = f"acted {count(acted, 'time')} only" if acted else "never acted" if subject.ran else "cannot act"
            tail = f", and {count(queue.drops('full'), 'packet')} met a full queue" if subject.ran else ""
            yield Said(
                f"{queue.label} {what}: its limit of {queue.spec['limit']} is {time(full)} at this rate, below its "
                f"target of {time(target)}{tail}",
                queue=queue,
                numbers={"limit_s": full, "target_s": target, "acted": acted, "full": queue.drops("full")},
            )


@rule("aqm-overrun", source="RFC 7567 section 4.2")
def aqm_overrun(subject: Subject) -> Sayings:
    """Most of what a queue with an AQM dropped met a full queue: it was not the AQM that controlled the delay."""
    for queue in subject.data_queues:
        full, decided = queue.drops("full", "overlimit"), queue.drops("aqm")
        signals = decided + queue.signals
        if has_trait(queue.kind, "target") and full > 10 and full > signals and signals:
            yield Said(
                f"{queue.label} decided {count(signals, 'signal')}, but {count(full, 'packet')} met a full queue: its "
                "limit "
                f"({queue.spec.get('limit')}) or unresponsive traffic controls the delay",
                queue=queue,
                numbers={"full": full, "signals": signals},
            )


@rule("target-below-packet", level="warning", before=True, source="RFC 8289 section 4.4; tc-codel(8)")
def target_below_packet(subject: Subject) -> Sayings:
    """CoDel's target is less than the time that the link takes for one packet: every queue is too long for it, and the
    link runs empty.
    """
    for queue in subject.data_queues:
        target, packet = seconds(queue.spec.get("target")), queue.drain(queue.mtu)
        if has_trait(queue.kind, "codel") and target < packet:
            yield Said(
                f"{queue.label}'s target of {time(target)} is less than one packet of {size(queue.mtu)} takes at "
                f"{rate(queue.rate)} ({time(packet)}): give it at least that, and add it to the interval",
                queue=queue,
                numbers={"target_s": target, "packet_s": packet},
            )


@rule(
    "step-below-packets",
    before=True,
    source="Linux sch_dualpi2: step_thresh is 1 ms, min_qlen_step 0; kernel 7.3.4 in virtual time",
)
def step_below_packets(subject: Subject) -> Sayings:
    """DualPI2's step is less than the time that the link takes for two packets, and nothing spares a short queue from
    it: the second of two packets is marked, and scalable flows get less than their share. In the kernel, too: next to
    CUBIC, at 20 ms, DCTCP on ECT(1) gets 0.77, 1.72, 1.81 and 1.99 Mbit/s of 5, 10, 12 and 20. Scalable flows alone are
    short of it only on a link without ``ring``: there DCTCP gets 1.75, 1.97, 2.04 and 17.4 Mbit/s, and 4.57, 9.41,
    11.0 and 18.9 with ``ring = 1``, since the AQM no longer times the packet that the device has taken. The kernel's
    gets 4.52, 9.46, 11.2 and 18.8 behind tbf, which takes one as well. Next to CUBIC ``ring = 1`` changes nothing:
    0.67, 1.64, 1.70 and 1.82.
    """
    for queue in subject.data_queues:
        text = str(queue.spec.get("step_thresh") or "1 ms")
        step, packets = (math.nan if text.endswith(_PACKETS) else seconds(text)), queue.drain(2 * queue.mtu)
        scalable = [flow for flow in queue.flows if flow.setup.get("ect") == "ect1"]
        alone, ring = len(scalable) == len(queue.flows), int(queue.link.get("ring") or 0)
        if (
            queue.kind == "dualpi2"
            and queue.spec.get("variant") == "linux"
            and not queue.spec.get("low_latency")
            and int(queue.spec.get("min_qlen_step") or 0) < 2
            and step < packets
            and scalable
            and not (alone and ring)
        ):
            yield Said(
                f"{queue.label}'s step of {time(step)} is less than two packets take at {rate(queue.rate)} "
                f"({time(packets)}): it marks the second of two, and {scalable[0].label} gets little"
                + (
                    "; ring = 1 on the link, as a device has it, or min_qlen_step = 2 spares a queue of one packet"
                    if alone
                    else ", as in Linux; min_qlen_step = 2 spares a queue of one packet"
                ),
                queue=queue,
                numbers={"step_s": step, "packets_s": packets},
            )


@rule("interval-below-rtt", before=True, source="RFC 8289 section 4.3: the interval is of the order of the longest RTT")
def interval_below_rtt(subject: Subject) -> Sayings:
    """CoDel's interval is shorter than a flow's round trip: it acts again before the first answer can arrive."""
    for queue in subject.data_queues:
        interval = seconds(queue.spec.get("interval"))
        longest = max((flow.rtt for flow in queue.flows if flow.cc and flow.rtt > 0), default=math.nan)
        if has_trait(queue.kind, "codel") and interval < longest:
            yield Said(
                f"{queue.label}'s interval of {time(interval)} is shorter than the longest RTT, {time(longest)}: it "
                "acts "
                f"before flows can have answered",
                queue=queue,
                numbers={"interval_s": interval, "rtt_s": longest},
            )


@rule(
    "red-bandwidth", before=True, source="tc-red(8): bandwidth, 10 Mbit/s by default, ages the average of an idle queue"
)
def red_bandwidth(subject: Subject) -> Sayings:
    """RED's ``bandwidth`` differs from the link's rate by more than a factor of two: the average ages too fast or too
    slowly after the queue was empty.
    """
    for queue in subject.data_queues:
        own = seconds(queue.spec.get("bandwidth"))
        if has_trait(queue.kind, "red") and not 0.5 <= own / queue.rate <= 2:
            yield Said(
                f"{queue.label} takes the link for one of {rate(own)} (bandwidth); it has {rate(queue.rate)}",
                queue=queue,
                numbers={"bandwidth_bps": own, "link_bps": queue.rate},
            )


@rule("hash-collisions", before=True, source="RFC 8290; the birthday problem")
def hash_collisions(subject: Subject) -> Sayings:
    """A fair queue with a real hash has so few buckets for its flows that one flow in twenty or more is expected to
    share its bucket.
    """
    for queue in subject.data_queues:
        buckets, flows = queue.spec.get("flows"), number(queue.flows)
        if queue.spec.get("hash", "perfect") == "perfect" or not buckets or flows < 2:
            continue
        shared = 1 - (1 - 1 / buckets) ** (flows - 1)
        if shared >= 0.05:
            yield Said(
                f"{queue.label} hashes {flows} flows into {buckets} buckets: {percent(shared)} of them are expected to "
                f"share a bucket, and its rate, with another",
                queue=queue,
                numbers={"flows": flows, "buckets": buckets, "shared": shared},
            )
