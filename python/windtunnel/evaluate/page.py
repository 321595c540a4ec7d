"""The page of an evidence pack: a verdict for each clause, its numbers next to the baselines', and what stays open."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from windtunnel.evaluate.grid import Cell, grids
from windtunnel.evaluate.judge import STATES, State, read
from windtunnel.evaluate.picture import margins
from windtunnel.experiment.verdict import Kind
from windtunnel.report.page import write_page
from windtunnel.report.templates import render
from windtunnel.report.text import number

if TYPE_CHECKING:
    from windtunnel.evaluate.pack import Clause, Pack
    from windtunnel.evaluate.results import ClauseResult, Measured, Row
    from windtunnel.evaluate.writer import Evidence

#: A clause with more rows than this shows them when asked for.
_OPEN_ROWS = 12

#: Kinds by which the page filters, and the names of the filters.
_NAMES = (("agrees", "met"), ("differs", "not met"), ("info", "undecided, for information, not applicable"))
#: States that are counted although no clause has them.
_ALWAYS = ("agrees", "differs", "undecided")


def write_pack_page(path: Path, evidence: Evidence, figures: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """Write the page. ``figures`` are files next to it, by clause and by what they show."""
    pack = evidence.pack
    counts = Counter(result.verdict for result in evidence.results)
    html = render(
        "suite",
        "pack.html.j2",
        {
            "title": f"{evidence.subject.name}: {pack.title}",
            "facts": evidence.facts,
            "about": pack.about.strip(),
            "cannot": pack.cannot.strip(),
            "counts": [(counts[s], read(s).text, _kind(s)) for s in STATES if counts[s] or s in _ALWAYS],
            "kinds": _NAMES,
            "has_absolute": any(result.absolute for result in evidence.results),
            "baselines": list(pack.baselines),
            "seeds": evidence.seeds,
            "subject": evidence.subject.name,
            "clauses": [
                {**_clause(result, pack),
                 "figures": list(_figures(path.parent, figures.get(result.clause.id, {})))}
                for result in evidence.results
            ],
        },
    )  # fmt: skip
    write_page(path, html)


def _figures(folder: Path, figures: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    """What each figure shows, a small picture of it, and its files."""
    if not figures:
        return
    from windtunnel.report.thumbnail import thumbnail

    for what, files in figures.items():
        small = base64.b64encode(thumbnail((folder / files[0]).read_bytes())).decode("ascii")
        links = [(file, file.rpartition(".")[2].upper()) for file in files]
        yield {"what": what, "picture": Markup(f"data:image/png;base64,{small}"), "files": links}


def _kind(state: State | None) -> Kind:
    return "info" if state is None else read(state).kind


def _source(clause: Clause, document: str, part: str) -> str:
    """Where the clause is: the document, and its section where the clause has a number."""
    section = clause.id.rpartition("-")[2]
    parts = [clause.document or document, *([f"{part} {section}"] if section[0].isdigit() else [])]
    return f"{', '.join(parts)}; {clause.level}"


def _clause(result: ClauseResult, pack: Pack) -> dict[str, Any]:
    from windtunnel.evaluate.terminal import absolute_reason, reason

    clause = result.clause
    return {
        "id": clause.id,
        "anchor": f"clause-{clause.id}",
        "title": clause.title,
        "source": _source(clause, pack.document, pack.part),
        "requirement": clause.requirement.strip(),
        "method": clause.method.strip(),
        "cannot": clause.cannot.strip(),
        "verdict": result.word,
        "kind": _kind(result.verdict),
        "reason": reason(result),
        "absolute": "" if result.absolute is None else read(result.absolute).text,
        "absolute_kind": _kind(result.absolute),
        "exceeds": absolute_reason(result),
        "picture": Markup(margins(result.rows)),
        "grids": list(_grids(result, pack)),
        "rows": [_row(row, list(pack.baselines)) for row in result.rows],
        "open": len(result.rows) <= _OPEN_ROWS,
    }


def _grids(result: ClauseResult, pack: Pack) -> Iterator[dict[str, Any]]:
    made = grids(result.rows, pack)
    for grid in made:
        parts = [grid.trial if len({each.trial for each in made}) > 1 else "", grid.further]
        yield {
            "title": ", ".join(filter(None, parts)),
            "corner": " \\ ".join(reversed(grid.axes)),
            "columns": grid.columns,
            "rows": [(name, [None if cell is None else _cell(cell) for cell in cells]) for name, cells in grid.rows],
        }


def _cell(cell: Cell) -> dict[str, str]:
    return {"kind": _kind(cell.verdict), "verdict": read(cell.verdict).text, "checks": ", ".join(cell.checks)}


def _row(row: Row, baselines: list[str]) -> dict[str, Any]:
    from windtunnel.evaluate.terminal import needs

    return {
        "id": row.id,
        "text": row.text,
        "cell": row.cell,
        "unit": row.unit,
        "subject": _measured(row.subject),
        "baselines": [_measured(row.baselines[b]) if b in row.baselines else _measured(None) for b in baselines],
        "limit": needs(row),
        "verdict": row.word,
        "kind": _kind(row.verdict),
        "seeds": row.subject.runs or "",
        "absolute": "" if row.absolute is None else f"{row.absolute.text} {row.unit}".strip(),
        "absolute_verdict": "" if row.absolute is None else read(row.absolute.verdict).text,
        "absolute_kind": "" if row.absolute is None else _kind(row.absolute.verdict),
        "source": row.source,
        "method": row.subject.method if row.subject.method != "mean; Student's t" else "",
        "note": row.note,
        "file": row.files.get("subject", ""),
    }


def _measured(measured: Measured | None) -> dict[str, Any]:
    if measured is None or measured.mean is None:
        return {"sort": "", "text": number(None), "interval": ""}
    interval = measured.interval
    shown = interval is not None and interval[1] > interval[0]
    text = f"{number(interval[0], 3)} to {number(interval[1], 3)}" if shown and interval else ""
    return {"sort": measured.mean, "text": number(measured.mean, 3), "interval": text}
