"""The page of an explanation: that of a run, with the answers above its tables."""

from __future__ import annotations

from pathlib import Path

from windtunnel.explain.explanation import Explanation
from windtunnel.explain.findings import findings
from windtunnel.explain.seen import PANELS, seen
from windtunnel.explain.trace import MOST_FLOWS, with_most_data
from windtunnel.report.run_page import write_report
from windtunnel.report.text import number


def write_page(explanation: Explanation, path: Path) -> None:
    """Write the page."""
    notes = list(explanation.trace.notes)
    if explanation.result is None and (more := len(explanation.trace.flows) - MOST_FLOWS) > 0:
        explanation = explanation.only(with_most_data(explanation.trace.flows, MOST_FLOWS))
        notes.append(f"{more} connections with less data are not on this page; --json has them.")
    answers = list(findings(explanation.document))
    if explanation.result is not None:
        write_report(explanation.result, path, title=explanation.trace.title, findings=answers, notes=notes)
    else:
        write_report(
            seen(explanation),
            path,
            title=explanation.trace.title,
            findings=answers,
            notes=notes,
            changes=PANELS,
            facts=_facts(explanation),
        )


def _facts(explanation: Explanation) -> list[str]:
    flows = len(explanation.trace.flows)
    pairs = zip(explanation.rounds, explanation.trace.flows, strict=True)
    data = sum(float(r.delivered.sum()) * flow.mss for r, flow in pairs if r is not None)
    return [
        explanation.trace.kind,
        f"{number(explanation.trace.duration_s)} s",
        f"{flows} connection{'' if flows == 1 else 's'}",
        f"{number(data / 1e6, 3)} MB acknowledged",
    ]
