"""ECN that was asked for and does nothing: signals that no queue makes, or that do not arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from windtunnel.kinds import has_trait
from windtunnel.notes.note import Said, Sayings, rule
from windtunnel.notes.subject import Flow, Queue, Subject, number
from windtunnel.notes.words import count, percent

#: What a mark point's ``kind`` says.
_SCE, _CE = 0, 1


@rule("ecn-without-marks", before=True, source="RFC 3168 section 5; RFC 8087")
def ecn_without_marks(subject: Subject) -> Sayings:
    """A flow asks for ECN, but no queue on its way marks: it learns of congestion by losses only."""
    # QUIC stacks do not ask: they always set ECT(0).
    able = [flow for flow in subject.flows if flow.ecn and not flow.stack and not subject.ideal]
    flows = [flow for flow in able if not has_trait(flow.cc, "scalable")]
    for flow, queues in _unmarked(subject, flows):
        yield Said(f"{flow.name} asks for ECN, but {_why(queues)}: it learns by losses only", flow=flow)


@rule("scalable-without-marks", level="warning", before=True, source="RFC 8257 section 5; RFC 9331 section 4.3")
def scalable_without_marks(subject: Subject) -> Sayings:
    """DCTCP or Prague passes only queues that do not mark: it answers losses as Reno does, and is no test of itself."""
    flows = [flow for flow in subject.flows if has_trait(flow.cc, "scalable") or flow.response == "dctcp"]
    for flow, queues in _unmarked(subject, flows):
        yield Said(f"{flow.name}: {flow.label} needs marks, and {_why(queues)}: it falls back to Reno", flow=flow)


@rule("marks-without-ecn", before=True, source="RFC 7567 section 4.2.1; tc-fq_codel(8): ecn")
def marks_without_ecn(subject: Subject) -> Sayings:
    """A queue may mark, but no flow through it is ECN-capable: it drops instead."""
    for queue in subject.data_queues:
        tcp = [flow for flow in queue.flows if flow.cc]
        if subject.ideal or not tcp or not queue.marks or any(flow.ecn for flow in tcp):
            continue
        dropped = queue.drops("aqm")
        seen = f": it dropped {count(dropped, 'packet')}" if subject.ran else " and drops"
        if not subject.ran or dropped:
            yield Said(
                f"{queue.label} can mark, but no flow is ECN-capable{seen} (ecn = true)",
                queue=queue,
                numbers={"dropped": dropped} if subject.ran else {},
            )


@rule(
    "l4s-read-as-mds", level="warning", before=True, source="docs/spec/mds.md, L4S Compatibility; RFC 9331 section 5.1"
)
def l4s_read_as_mds(subject: Subject) -> Sayings:
    """A flow sends ECT(1) through a queue in the ECN mode ``mds``: without the MDS identifier these packets are
    dropped, not marked.
    """
    for queue in subject.data_queues:
        l4s = [flow for flow in queue.flows if flow.setup.get("ect") == "ect1"]
        if queue.spec.get("ecn_mode") == "mds" and queue.marks and l4s and queue.kind != "dualpi2":
            yield Said(
                f'{queue.name}: {queue.label} in ecn_mode "mds" drops what it would mark of '
                f'{_names(l4s)}, which sends ECT(1); ecn_mode = "l4s" or "rfc3168", or dualpi2, marks it',
                queue=queue,
                numbers={"flows": number(l4s)},
            )


@rule("ecn-bleached", level="warning", source="RFC 9768 section 3.2.2.3: mangling of the ECN field")
def ecn_bleached(subject: Subject) -> Sayings:
    """Queues marked packets of a flow, but none arrived with a mark: something on the way cleared the ECN field."""
    marked = _marks_made(subject, _CE)
    for flow in subject.flows:
        made = marked.get(flow.index, 0)
        if made and not flow.measured.get("ce_marks") and not subject.ideal:
            yield Said(
                f"{flow.name}: queues marked {count(made, 'packet')} CE, and none arrived so: the ECN field is "
                "bleached",
                flow=flow,
                numbers={"marked": made, "arrived": 0},
            )


@rule("no-fine-signals", source="docs/spec/mds.md section 1")
def no_fine_signals(subject: Subject) -> Sayings:
    """A flow with the MDS response, or one to SCE, got no SCE mark although it was congested: no queue made one, or the
    marks were cleared on the way. It answered only CE and losses, as a conventional flow does.
    """
    by_flow = _marks_made(subject, _SCE)
    for flow in subject.flows:
        fine = flow.response in ("mds", "sce", "dctcp-sce")
        losses, marks = flow.lost(), int(flow.measured.get("ce_marks") or 0)
        path = subject.path(flow)
        made_at_all = sum(int(queue.measured.get("sce") or 0) for queue in path)
        # Without single marks it is not known whose they were.
        made = by_flow.get(flow.index, 0) if by_flow else made_at_all
        if fine and not flow.measured.get("sce_marks") and (losses + marks or made):
            kinds = ", ".join(queue.label for queue in path)
            why = (
                f"{kinds} made {made}, and what followed cleared the ECN field"
                if made
                else f"{kinds} made none for it"
                if made_at_all
                else f"{kinds} made none"
            )
            yield Said(
                f"{flow.name}: no SCE mark arrived ({why}); its {flow.response} response answered "
                f"{count(losses, 'loss')} and {count(marks, 'CE mark')}",
                flow=flow,
                numbers={"losses": losses, "ce": marks, "made": made},
            )


@rule("dense-marks", source="RFC 3168 section 6.1.2: one answer in a round trip, however many marks")
def dense_marks(subject: Subject) -> Sayings:
    """More than a fifth of a flow's packets were marked and it answers marks once a round trip: most marks say
    nothing new.
    """
    for flow in subject.flows:
        marks, sent = int(flow.measured.get("ce_marks") or 0), int(flow.measured.get("sent") or 0)
        if flow.ecn in ("rfc3168", "accecn") and not has_trait(flow.cc, "scalable") and sent and marks > 0.2 * sent:
            answered = int(flow.measured.get("ecn_reductions") or 0)
            yield Said(
                f"{flow.name}: {percent(marks / sent)} of its packets were marked CE, and it answered {answered} "
                "times: "
                f"the queue marks as for a scalable controller",
                flow=flow,
                numbers={"marked": marks, "sent": sent, "answered": answered},
            )


def _unmarked(subject: Subject, flows: Iterable[Flow]) -> Iterable[tuple[Flow, list[Queue]]]:
    """The flows whose packets no queue on the way marks, each with its queues."""
    for flow in flows:
        queues = subject.path(flow)
        if queues and all(queue.marks is False for queue in queues):
            yield flow, queues


def _why(queues: list[Queue]) -> str:
    """Why queues do not mark."""
    queue = queues[0]
    if queue.spec.get("ecn_mode") == "none":
        return f'{queue.name} has ecn_mode "none"'
    if has_trait(queue.kind, "passive"):
        return f"{queue.name} is a tail drop"
    return f"{queue.label} does not mark (ecn = false)" if "ecn" in queue.spec else f"{queue.label} does not mark"


def _names(flows: list[Flow]) -> str:
    return flows[0].name if len(flows) == 1 else f"{flows[0].name} and {number(flows) - 1} more"


def _marks_made(subject: Subject, kind: int) -> dict[int, int]:
    """How many packets of each flow queues marked so; empty where single marks are not recorded, or there are none."""
    table: Mapping[str, Any] = (subject.tables or {}).get("mark_points") or {}
    if not all(name in table for name in ("flow", "kind", "count")):
        return {}
    import numpy as np

    mine = np.asarray(table["kind"]) == kind
    flows = np.asarray(table["flow"])[mine]
    if not len(flows):
        return {}
    sums = np.bincount(flows, np.asarray(table["count"])[mine])
    return {int(flow): int(sums[flow]) for flow in np.flatnonzero(np.bincount(flows))}
