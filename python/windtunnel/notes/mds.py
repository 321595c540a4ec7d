"""MDS where its signal is lost, misread or not its own: what happens to others, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from windtunnel.kinds import has_trait
from windtunnel.notes.note import Said, Sayings, rule
from windtunnel.notes.subject import Flow, Queue, Subject, aqms, impairments
from windtunnel.notes.words import count, rate

#: How long MDS packets may overtake others in a queue that takes their marks for L4S: the delay of its classic part at
#: the peaks, several times its target of 15 ms.
_OVERTAKEN_S = 0.1


@rule("mds-signal-lost", level="warning", before=True, source="docs/spec/queues-and-signalling.md 17.6; mds-deployment")
def mds_signal_lost(subject: Subject) -> Sayings:
    """SCE are cleared or rewritten behind the queue that marks them, or the flag AE on ACKs, and a flow with MDS has no
    ``fallback``: it grows until it gets CE, which conventional flows get long before.
    """
    for flow in _mds_flows(subject):
        how = _loses_signal(subject, flow)
        if not how or _fallback(flow):
            continue
        marked = sum(int(queue.measured.get("sce") or 0) for queue in subject.path(flow))
        if subject.ran and not marked:
            continue
        got = ""
        if subject.ran and (others := _others(subject, flow)):
            mean = sum(float(other.measured.get("throughput_mbps") or 0.0) for other in others) / len(others)
            own = float(flow.measured.get("throughput_mbps") or 0.0)
            got = f" (here {rate(own * 1e6)}, and {rate(mean * 1e6)} each)"
        yield Said(
            f"{flow.name}: {how}. {flow.label} hears no SCE, and takes the rate of conventional flows next to "
            f"it{got}: keep ECT(1) and AE as they are, or give the flow fallback = 16, so that it becomes conventional",
            flow=flow,
            numbers={"marked": marked} if subject.ran else {},
        )


@rule("mds-overtakes-in-vpn", level="warning", before=True, source="docs/packs/mds-hazards.md; RFC 4303 section 3.4.3")
def mds_overtakes_in_vpn(subject: Subject) -> Sayings:
    """A flow with MDS is in a VPN with an anti-replay window, over a queue that marks SCE and then one that takes
    ECT(1) for L4S: marked packets overtake the others, and the VPN's exit drops what then comes too late. Silent
    where the window holds 100 ms of packets.
    """
    for flow in _mds_flows(subject):
        hazard = _overtaken(subject, flow)
        if hazard is None:
            continue
        queue, window = hazard
        lost = _lost_at_exits(subject)
        if subject.ran and not lost:
            continue
        seen = f" (here {count(lost, 'packet')})" if subject.ran else ""
        yield Said(
            f"{flow.name}: {queue.name} takes SCE for L4S. Marked packets overtake the others of the VPN, whose exit "
            f"drops what is more than {window} packets late{seen}: set replay_window = 1024, or mds = true in "
            f"{queue.name}",
            flow=flow,
            numbers={"window": window, **({"lost": lost} if subject.ran else {})},
        )


@rule("mds-own-sce", level="warning", source="docs/packs/mds-hazards.md; docs/spec/mds.md section 1")
def mds_own_sce(subject: Subject) -> Sayings:
    """A queue that flows share marked SCE by a schedule or ramp of its own, not tau for each CE, on a flow with MDS:
    the two signals do not balance, and neither do the flows.
    """
    for queue in subject.data_queues:
        marked = int(queue.measured.get("sce") or 0)
        if not marked:
            continue
        mds = [flow for flow in queue.flows if flow.response == "mds" and flow.measured.get("sce_marks")]
        others = [flow for flow in queue.flows if flow.is_greedy and flow.response != "mds"]
        if not mds or not others or has_trait(queue.kind, "fair") or _keeps_tau(queue):
            continue
        yield Said(
            f"{queue.name}: {queue.label} marks SCE by its own schedule, not tau for each CE: {mds[0].name} and "
            f"{others[0].name} do not share as MDS intends. Use a queue that does (deltim, codel-mds), turn SCE off in "
            "this one, or give the flow the response that it was made for (reno-sce)",
            queue=queue,
            numbers={"marked": marked, "flows": len(mds)},
        )


def _mds_flows(subject: Subject) -> list[Flow]:
    """The flows that answer SCE as MDS does."""
    return [flow for flow in subject.flows if flow.response == "mds"]


def _fallback(flow: Flow) -> bool:
    """It gives up MDS where SCE are missing."""
    cc = flow.setup.get("cc")
    return isinstance(cc, Mapping) and bool(cc.get("fallback"))


def _others(subject: Subject, flow: Flow) -> list[Flow]:
    """The flows without MDS that always have data to send, in the queues of a flow."""
    queues = subject.path(flow)
    return [other for other in subject.flows if other.is_greedy and other.response != "mds" and other is not flow
            and any(other in queue.flows for queue in queues)]  # fmt: skip


def _keeps_tau(queue: Queue) -> bool:
    """It marks SCE by the relation of MDS: tau for each CE, with no other schedule or ramp of SCE."""
    parts = list(aqms(queue.spec))
    own = any(part.get("sce") for part in parts)
    return not own and any(part.get("tau") for part in parts)


def _signals_mds(queue: Queue) -> bool:
    """It may mark packets with the MDS identifier SCE, by any schedule; what it did in a run takes precedence."""
    if queue.measured:
        return bool(queue.measured.get("sce"))
    if queue.spec.get("ecn_mode") not in (None, "mds", "sce"):
        return False
    return any((part.get("tau") and part.get("mds", True)) or part.get("sce") for part in aqms(queue.spec))


def _path(subject: Subject, flow: Flow) -> list[Queue]:
    """The queues that a flow's data pass, in order."""
    names = [str(name) for name in flow.setup.get("path") or ()]
    return sorted(subject.path(flow), key=lambda queue: names.index(queue.name) if queue.name in names else -1)


def _elements(queue: Queue, kind: str) -> Iterator[Mapping[str, Any]]:
    return (element for element in impairments(queue.link) if element["kind"] == kind)


def _loses_signal(subject: Subject, flow: Flow) -> str:
    """What clears the signal on its way to the receiver and back, if something does."""
    signalled = ""
    for queue in _path(subject, flow):
        signalled = signalled or (queue.name if _signals_mds(queue) else "")
        # A link's elements are behind its queue.
        for box in _elements(queue, "ecn-bleacher") if signalled else ():
            if "ect1" in box["from"] and box.get("affects") != "acks":
                return f"an element of {queue.name} rewrites ECT(1) behind {signalled}"
    if signalled:
        for queue in subject.queues:
            boxes = _elements(queue, "option-stripper") if flow in queue.acks else ()
            if any("ae-flag" in box["options"] and box.get("on") != "syn" for box in boxes):
                return f"an element of {queue.name} clears AE on its ACKs"
    return ""


def _overtaken(subject: Subject, flow: Flow) -> tuple[Queue, int] | None:
    """The queue in which a flow's marked packets overtake the rest of a VPN, and the VPN's anti-replay window."""
    within = signalled = False
    splits: Queue | None = None
    for queue in _path(subject, flow):
        # What is behind a queue takes effect after it.
        if within and signalled and _takes_for_l4s(queue):
            splits = splits or queue
        signalled = signalled or (within and _signals_mds(queue))
        within = within or any(_elements(queue, "tunnel-entry"))
        for end in _elements(queue, "tunnel-exit"):
            window = int(end.get("replay_window") or 0)
            if splits is not None and window and window < splits.rate / 8 * _OVERTAKEN_S / splits.mtu:
                return splits, window
            within, signalled, splits = False, False, None
    return None


def _takes_for_l4s(queue: Queue) -> bool:
    """It gives ECT(1) a queue of its own, also where ECT(1) is the mark of a queue before."""
    return queue.spec.get("mds") is False


def _lost_at_exits(subject: Subject) -> int:
    """The packets that exits of tunnels refused."""
    placed = (subject.summary or {}).get("impairments") or ()
    return sum(int(each.get("lost") or 0) for each in placed if each.get("kind") == "tunnel-exit")
