"""``report.html``: the interactive report of one run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from markupsafe import Markup

from windtunnel.panels import Panel, Run, panels_of, thin
from windtunnel.panels.looks import flow_look
from windtunnel.panels.tables import Tables
from windtunnel.provenance import short
from windtunnel.report import emulation, run_body
from windtunnel.report.bounded import MOST_FLOWS, few_lines, few_names, few_series, some_flows
from windtunnel.report.columns import Columns
from windtunnel.report.page import framed, script_json, write_page
from windtunnel.report.panels import encoded
from windtunnel.report.summary import SummaryTable, summary_tables
from windtunnel.report.text import number, setting, without_seed

# Points in a panel, over all that it can show. A point takes 8 to 11 bytes, and a third more in base64: a page stays
# below 3 MB. To see more of a short time, draw it with `windtunnel plot --from --to`.
_POINTS = {"throughput": 40_000, "sojourn": 45_000, "cwnd": 40_000, "marks": 25_000, "cc": 30_000}
_MORE_POINTS = 12_000


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
    only: Sequence[str] = (),
) -> None:
    """Write the report of a run as one self-contained file.

    The title is ``title``, else the scenario's (``meta["title"]``), else the file's name. ``findings``: questions and
    answers under headings, and ``notes`` on what is missing. ``changes``: keys of panels to replace,
    by the panels' names. ``facts``: the line below the title, instead of a run's. ``only``: the names of the panels.
    """
    summary, meta = result.summary, result.meta
    run = Run(result)
    columns = Columns()
    shown = [_thinned(few_series(panel)) for panel in panels_of(run) if not only or panel.id in only]
    shown, names, members = few_names(run, shown)
    panels = [encoded(panel, columns) for panel in shown]
    for panel in panels:
        panel |= (changes or {}).get(panel["id"], {})
    page = {
        "from": 0.0,
        "to": run.duration_s,
        "flows": names,
        "switches": _switches(run, members),
        "panels": panels,
    }
    title = title or meta.get("title") or path.stem
    parts = [
        run_body.head(
            title, _facts(summary, meta) if facts is None else facts, _stalled(summary), run.duration_s, panels
        ),
        run_body.notes(getattr(result, "notes", ())),
        run_body.claims(getattr(result, "claims", ())),
        run_body.findings([*findings, *_of_emulation(meta)], notes),
        run_body.summary(_sections({**summary, "fairness": getattr(result, "fairness", ())}, run)),
        run_body.tail(
            script_json(_members(run)) if run.grouped else None,
            len(run.flows),
            few_lines(meta.get("scenario_toml") or ""),
            _footer(summary, meta),
            script_json(page),
            Markup(columns.base64()),
        ),
    ]
    write_page(path, framed("run", title, Markup("").join(parts)))


def _thinned(panel: Panel) -> Panel:
    """The panel in its share of the page."""
    return thin(panel, _POINTS.get(panel.id, _MORE_POINTS))


def _switches(run: Run, members: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    looks = [flow_look(i) for i in range(len(run.groups))]
    return [
        {"label": group.label, "colour": look.colour, "marker": look.marker, "flows": list(mine)}
        for group, look, mine in zip(run.groups, looks, members, strict=True)
    ]


def _stalled(summary: Mapping[str, Any]) -> str:
    """When and why nothing moved any more; empty if that did not happen."""
    stalled = summary.get("stalled")
    return f"Stalled at {setting(stalled['t_s'])} s: {stalled['why']}." if stalled else ""


def _facts(summary: Mapping[str, Any], meta: Mapping[str, Any]) -> list[str]:
    flows = summary.get("flows", [])
    facts = [
        *(f"foreign code: {what}" for what in meta.get("foreign") or ()),
        *([without_seed(meta["unseeded"])] if meta.get("unseeded") else ()),
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
    if meta.get("emulation"):
        facts += emulation.facts(meta["emulation"])
    elif meta.get("packets_per_second"):
        facts.append(f"simulated at {number(meta['packets_per_second'] / 1e6, 2)} million packets/s")
    return facts


def _of_emulation(meta: Mapping[str, Any]) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
    return emulation.findings(meta["emulation"]) if meta.get("emulation") else ()


def _sections(summary: Mapping[str, Any], run: Run | None = None) -> list[tuple[str, list[SummaryTable]]]:
    """The tables of the whole run, then of each measurement window; of groups, where ``run`` has any."""
    parts = [("Whole run", summary)]
    for window in summary.get("windows", []):
        span = f"{setting(window.get('from_s'))} s to {setting(window.get('to_s'))} s"
        parts.append((f"Window {window.get('name', '')}: {span}", window))
    return [(title, summary_tables(part, run)) for title, part in parts]


def _members(run: Run) -> list[dict[str, Any]]:
    """The tables of the whole run with a row for each flow, of very many for some; the page builds them on demand."""
    records = run.records if len(run.flows) <= MOST_FLOWS else some_flows(run)
    return [
        {
            "heads": [[column.head, column.unit] for column in table.columns],
            "numeric": [column.numeric for column in table.columns],
            "rows": [[[cell.text, cell.sort] for cell in row] for row in table.rows],
        }
        for table in summary_tables({"flows": records}, None)
    ]


def _footer(summary: Mapping[str, Any], meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    entries = [
        ("windtunnel", meta.get("version")),
        ("commit", short(meta["commit"]) if isinstance(meta.get("commit"), str) else None),
        *((f"plugin {each.get('file')}", f"SHA-256 {each.get('sha256')}") for each in meta.get("plugins") or ()),
        ("seed", meta.get("seed", summary.get("seed"))),
        ("digest", meta.get("digest", summary.get("digest"))),
    ]
    return [(name, str(value)) for name, value in entries if value is not None]
