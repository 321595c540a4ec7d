"""``report.html``: the interactive report of one run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from markupsafe import Markup

from windtunnel.report.columns import Columns
from windtunnel.report.looks import flow_groups, flow_looks
from windtunnel.report.page import render, script_json, write_page
from windtunnel.report.panels import build_panels
from windtunnel.report.series import Tables, last_time
from windtunnel.report.summary import (
    DATAGRAM_COLUMNS,
    FAIRNESS_COLUMNS,
    FLOW_COLUMNS,
    IMPAIRMENT_COLUMNS,
    QUEUE_COLUMNS,
    RECOVERY_COLUMNS,
    SIZE_COLUMNS,
    TRANSFER_COLUMNS,
    by_size,
    summary_table,
)
from windtunnel.report.text import number, setting


class RunLike(Protocol):
    """What a report needs from a result; ``windtunnel.result.RunResult`` has it."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """What `summary.json` holds without its `meta`."""
        ...

    @property
    def tables(self) -> Tables:
        """Columns by table and name."""
        ...

    @property
    def meta(self) -> Mapping[str, Any]:
        """Version, seed, digest, title, `scenario_toml`; all optional here."""
        ...


def write_report(
    result: RunLike,
    path: Path,
    *,
    title: str | None = None,
    findings: Sequence[tuple[str, Sequence[tuple[str, str]]]] = (),
    notes: Sequence[str] = (),
    changes: Mapping[str, Mapping[str, Any]] | None = None,
    facts: Sequence[str] | None = None,
) -> None:
    """Write the report of a run as one self-contained file.

    The title is ``title``, else the scenario's (``meta["title"]``), else the file's name. ``findings``: questions and
    answers under headings, and ``notes`` on what is missing. ``changes``: keys of panels to replace,
    by the panels' names. ``facts``: the line below the title, instead of a run's.
    """
    summary, tables, meta = result.summary, result.tables, result.meta
    flows = [str(f.get("name", f"flow {i}")) for i, f in enumerate(summary.get("flows", []))]
    queues = [str(q.get("name", f"queue {i}")) for i, q in enumerate(summary.get("queues", []))]
    columns = Columns()
    panels = build_panels(tables, flows, queues, columns)
    for panel in panels:
        panel |= (changes or {}).get(panel["id"], {})
    end = max(float(summary.get("duration_s") or 0), last_time(tables)) or 1.0
    page = {
        "from": 0.0,
        "to": end,
        "flows": flows,
        "switches": _switches(flows),
        "panels": panels,
    }
    html = render(
        "run.html.j2",
        {
            "title": title or meta.get("title") or path.stem,
            "facts": _facts(summary, meta) if facts is None else facts,
            "stalled": _stalled(summary),
            "panels": panels,
            "end": end,
            "findings": findings,
            "notes": notes,
            "explained": getattr(result, "notes", ()),
            "sections": _sections({**summary, "fairness": getattr(result, "fairness", ())}),
            "scenario": meta.get("scenario_toml") or "",
            "footer": _footer(summary, meta),
            "meta_json": script_json(page),
            "data": Markup(columns.base64()),
        },
    )
    write_page(path, html)


def _switches(flows: list[str]) -> list[dict[str, Any]]:
    looks = flow_looks(flows)
    return [
        {"label": label, "colour": looks[members[0]].colour, "marker": looks[members[0]].marker, "flows": members}
        for label, members in flow_groups(flows)
    ]


def _stalled(summary: Mapping[str, Any]) -> str:
    """When and why nothing moved any more; empty if that did not happen."""
    stalled = summary.get("stalled")
    return f"Stalled at {setting(stalled['t_s'])} s: {stalled['why']}." if stalled else ""


def _facts(summary: Mapping[str, Any], meta: Mapping[str, Any]) -> list[str]:
    flows = summary.get("flows", [])
    facts = [
        *(f"foreign code: {what}" for what in meta.get("foreign") or ()),
        f"{setting(summary.get('duration_s'))} s",
        f"{len(flows)} flow{'' if len(flows) == 1 else 's'}",
    ]
    queues = summary.get("queues", [])
    if len(queues) > 1:
        facts.append(f"{len(queues)} queues")
    for queue in queues if len(queues) == 1 else ():
        if queue.get("rate_mbps") is not None:
            facts.append(f"{queue.get('name', 'queue')} {setting(queue['rate_mbps'])} Mbit/s")
        if queue.get("utilization") is not None:
            facts.append(f"utilization {number(100 * queue['utilization'])} %")
    packets = summary.get("packets", meta.get("packets"))
    if packets is not None:
        facts.append(f"{number(packets)} packets")
    if meta.get("packets_per_second"):
        facts.append(f"simulated at {number(meta['packets_per_second'] / 1e6, 2)} million packets/s")
    return facts


def _sections(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables of the whole run, then of each measurement window."""
    parts = [("Whole run", summary)]
    for window in summary.get("windows", []):
        span = f"{setting(window.get('from_s'))} s to {setting(window.get('to_s'))} s"
        parts.append((f"Window {window.get('name', '')}: {span}", window))
    return [
        {
            "title": title,
            "tables": [
                table
                for table in (
                    summary_table(FLOW_COLUMNS, part.get("flows", [])),
                    summary_table(RECOVERY_COLUMNS, [f for f in part.get("flows", []) if f.get("limited")]),
                    summary_table(TRANSFER_COLUMNS, [f for f in part.get("flows", []) if f.get("transfers")]),
                    summary_table(SIZE_COLUMNS, [size for f in part.get("flows", []) for size in by_size(f)]),
                    summary_table(DATAGRAM_COLUMNS, [f for f in part.get("flows", []) if f.get("datagrams")]),
                    summary_table(QUEUE_COLUMNS, part.get("queues", [])),
                    summary_table(FAIRNESS_COLUMNS, part.get("fairness", [])),
                    summary_table(IMPAIRMENT_COLUMNS, part.get("impairments", [])),
                )
                if table is not None
            ],
        }
        for title, part in parts
    ]


def _footer(summary: Mapping[str, Any], meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    entries = [
        ("windtunnel", meta.get("version")),
        ("seed", meta.get("seed", summary.get("seed"))),
        ("digest", meta.get("digest", summary.get("digest"))),
    ]
    return [(name, str(value)) for name, value in entries if value is not None]
