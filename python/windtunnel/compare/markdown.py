"""The differences as Markdown that GitHub shows: in the summary of a workflow, or a comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.claims.decide import Decided, Decision
from windtunnel.compare.differences import Difference
from windtunnel.escape import markdown, markdown_code

#: Rows of a table; a comment is at most 65,536 characters long.
_ROWS = 200


def document(
    baseline: str,
    compared: Sequence[tuple[str, Sequence[Difference]]],
    firsts: Sequence[str],
    failing: Sequence[tuple[Decided, Decision]],
    gates: int,
) -> str:
    """The whole text. ``firsts``: sentences on first differences; ``gates``: how many conditions were judged."""
    parts = []
    for name, rows in compared:
        parts.append(f"### {markdown(name)} compared with {markdown(baseline)}")
        parts.append(table(rows))
    parts += [markdown(line) for line in firsts]
    if gates:
        parts.append(f"**{len(failing)} failing**" if failing else "**No condition fails.**")
        parts += [
            f"- {markdown_code(gate.claim.condition.text)}: {markdown(cell(d) + d.words())}" for gate, d in failing
        ]
    return "\n\n".join(parts) + "\n"


def cell(decision: Decision) -> str:
    """The cell before what was measured in it; nothing for a run."""
    return "".join(f"{label}: " for _, label in decision.cell if label != "all")


def table(rows: Sequence[Difference]) -> str:
    """The differences; those that are no chance are bold."""
    cells, several = any(row.cell for row in rows), any(row.pairs > 1 for row in rows)
    head = [*(["cell"] if cells else []), "number", "baseline", "candidate", "difference"]
    head += ["95 % interval", "pairs"] if several else []
    if several:
        head[-2] = "interval"
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows[:_ROWS]:
        line = [
            *([markdown(row.cell)] if cells else []),
            markdown(row.what),
            f"{row.baseline:.4g}",
            f"{row.candidate:.4g}",
        ]
        shown = change(row)
        line.append(f"**{shown}**" if row.is_certain else shown)
        line += [span(row), str(row.pairs)] if several else []
        lines.append(_line(line))
    if len(rows) > _ROWS:
        lines.append(f"\n... and {len(rows) - _ROWS} more rows")
    return "\n".join(lines)


def change(row: Difference) -> str:
    """The difference, and what share of the baseline it is: ``+1.2 (+30 %)``."""
    share = "" if row.share is None or not row.difference else f" ({100 * row.share:+.3g} %)"
    return f"{row.difference:+.4g}{share}" if row.difference else "0"


def span(row: Difference) -> str:
    """The interval of the difference."""
    return "-" if row.interval is None else f"{row.interval[0]:+.4g} to {row.interval[1]:+.4g}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
