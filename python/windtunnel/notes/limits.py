"""What keeps senders from sending, if it is not congestion."""

from __future__ import annotations

import math

from windtunnel.kinds import has_trait
from windtunnel.notes.note import Said, Sayings, rule
from windtunnel.notes.subject import Flow, Subject, seconds
from windtunnel.notes.words import count, percent, rate, size, time

#: From this share of time on, a limit decides.
_DECIDES = 0.5
#: From this share on, a limit that the user did not set is worth a note.
_MATTERS = 0.1


@rule("application-limited", source="RFC 7661; RFC 9438 section 5.8")
def application_limited(subject: Subject) -> Sayings:
    """The application had nothing to send for more than half of the time while a flow was active: its controller
    decides little.
    """
    for flow in subject.flows:
        share = flow.limited("application")
        # Connections that arrive on their own are idle by design.
        if share > _DECIDES and flow.app["kind"] != "poisson":
            window = flow.limited("cwnd")
            yield Said(
                f"{flow.name} is cwnd-limited only {percent(window)} of the time: the application "
                f"({flow.app['kind']}) decides, for {percent(share)}",
                flow=flow,
                numbers={"cwnd": window, "application": share},
            )


@rule(
    "receive-window-small", level="warning", before=True, source="RFC 7323 section 1.1; esnet/iperf issues 198 and 481"
)
def receive_window_small(subject: Subject) -> Sayings:
    """A flow's receive window is smaller than its part of the bandwidth-delay product: window over RTT is the most
    that it gets, whatever its controller does.
    """
    if subject.ideal:
        return
    for flow in subject.flows:
        narrowest = subject.narrowest(flow) if flow.is_greedy else None
        if narrowest is None or "receive_window" not in flow.tcp:
            continue
        window = seconds(flow.tcp["receive_window"])
        most, fair = window * 8 / flow.rtt, narrowest.fair_rate
        if most < fair:
            share = flow.limited("receiver")
            seen = f"; it was limited by it {percent(share)} of the time" if subject.ran else ""
            yield Said(
                f"{flow.name}: a receive window of {size(window)} over {time(flow.rtt)} allows {rate(most)}; the "
                f"link has {rate(fair)} for it{seen}",
                flow=flow,
                numbers={"window_bytes": window, "most_bps": most, "fair_bps": fair, "receiver": share},
            )


@rule("receiver-limited", source="RFC 9293 section 3.8.6; esnet/iperf issue 198")
def receiver_limited(subject: Subject) -> Sayings:
    """The receive window, which grows as autotuning lets it, kept a flow from sending for more than a tenth of the
    time.
    """
    for flow in subject.flows:
        share = flow.limited("receiver")
        if share > _MATTERS:
            yield Said(
                f"{flow.name}: the receive window kept it from sending {percent(share)} of the time, not congestion",
                flow=flow,
                numbers={"receiver": share},
            )


@rule("send-buffer-limited", source="tcp(7): tcp_wmem; tcp_notsent_lowat")
def send_buffer_limited(subject: Subject) -> Sayings:
    """The send buffer was full for more than a tenth of the time."""
    for flow in subject.flows:
        share = flow.limited("send_buffer")
        if share > _MATTERS:
            yield Said(
                f"{flow.name}: the send buffer kept it from sending {percent(share)} of the time, not congestion",
                flow=flow,
                numbers={"send_buffer": share},
            )


@rule("offered-load-low", before=True, source="RFC 7567 section 1: without load there is nothing to manage")
def offered_load_low(subject: Subject) -> Sayings:
    """All applications on a link together offer less than nine tenths of its rate: no lasting queue, and little for
    controllers and AQMs to decide.
    """
    for queue in subject.data_queues:
        offered = sum(_offers(flow) * flow.count for flow in queue.flows)
        # An unknown load is NaN, which compares as false.
        if offered < 0.9 * queue.rate:
            yield Said(
                f"{queue.name}: the applications offer {rate(offered)} of {rate(queue.rate)}: no congestion is "
                "expected",
                queue=queue,
                numbers={"offered_bps": offered, "link_bps": queue.rate},
            )


@rule("unresponsive-overload", level="warning", before=True, source="RFC 2914 section 5; esnet/iperf issue 904")
def unresponsive_overload(subject: Subject) -> Sayings:
    """Datagrams that do not answer losses are sent at nine tenths of a link's rate or more: the queue is full
    whatever others do.
    """
    for queue in subject.data_queues:
        deaf = [flow for flow in queue.flows if not flow.cc and has_trait(flow.app["kind"], "paced")]
        sent = sum(_offers(flow) * flow.count for flow in deaf if not flow.app.get("responsive"))
        if sent >= 0.9 * queue.rate:
            yield Said(
                f"{queue.name}: datagrams that answer nothing come at {rate(sent)} to a link of {rate(queue.rate)}",
                queue=queue,
                numbers={"offered_bps": sent, "link_bps": queue.rate},
            )


@rule("deaf-flow", before=True, source="RFC 2914 section 5")
def deaf_flow(subject: Subject) -> Sayings:
    """A flow is told not to answer losses, marks or both (``unresponsive``): its results are no results of its
    controller.
    """
    for flow in subject.flows:
        deaf = flow.setup.get("unresponsive")
        if deaf and flow.cc:
            signals = "any signal" if deaf == "all" else deaf
            yield Said(f"{flow.name} does not answer {signals} (unresponsive): no test of {flow.label}", flow=flow)


@rule("idle-link", level="warning", source="the first question of every throughput report")
def idle_link(subject: Subject) -> Sayings:
    """A bottleneck of flows that always have data to send was used to less than four fifths, while its queue was
    empty half of the time: the cause is elsewhere, and the limits say where.
    """
    for queue in subject.data_queues:
        used = queue.measured.get("utilization")
        greedy = [flow for flow in queue.flows if flow.is_greedy and subject.narrowest(flow) is queue]
        if used is None or used >= 0.8 or not greedy or not queue.sojourn("p50") < queue.drain(queue.mtu):
            continue
        losses, rtos = sum(flow.lost() for flow in greedy), sum(int(flow.measured.get("rtos") or 0) for flow in greedy)
        waits = [back.sojourn("mean") for back in subject.queues if back.acks and back.sojourn("mean") > greedy[0].rtt]
        cause = f"ACKs waited {time(waits[0])} on the way back" if waits else _cause(greedy, losses, rtos)
        yield Said(
            f"{queue.name} was used to {percent(used)} only, and its queue mostly empty: {cause}",
            queue=queue,
            numbers={"utilization": used, "losses": losses, "rtos": rtos},
        )


def _cause(greedy: list[Flow], losses: int, rtos: int) -> str:
    """What kept flows from using the link."""
    limits = ("receiver", "send_buffer", "pacing", "handshake", "host")
    mean = {limit: sum(flow.limited(limit) for flow in greedy) / len(greedy) for limit in limits}
    most = max(mean, key=lambda limit: mean[limit])
    if mean[most] > 0.3:
        return f"flows were {most.replace('_', '-')}-limited {percent(mean[most])} of the time"
    marks = sum(int(flow.measured.get("ce_marks") or 0) for flow in greedy)
    if marks > losses:
        return f"{count(marks, 'CE mark')} kept windows below the path's"
    if losses:
        timeouts = f" and {count(rtos, 'timeout')}" if rtos else ""
        return f"{count(losses, 'loss')}{timeouts} kept windows below the path's"
    return "windows had not grown to the path's yet"


def _offers(flow: Flow) -> float:
    """The rate at which a flow's application writes, in bits per second; NaN where nothing bounds it."""
    app = flow.app
    if has_trait(app["kind"], "paced"):
        return seconds(app.get("rate"))
    match app["kind"]:
        case "poisson" if app.get("load"):
            return seconds(app["load"])
        case "probe":
            return seconds(app.get("size")) * 8 / seconds(app.get("interval"))
    return math.nan
