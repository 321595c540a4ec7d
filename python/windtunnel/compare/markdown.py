"""The differences as Markdown that GitHub shows: in the summary of a workflow, or a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windtunnel.claims.decide import Decided, Decision
from windtunnel.compare.columns import CHANGE, Column, columns
from windtunnel.compare.differences import Difference
from windtunnel.compare.gate import words
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
        parts += [f"- {markdown_code(gate.claim.condition.text)}: {markdown(words(d))}" for gate, d in failing]
    return "\n\n".join(parts) + "\n"


def table(rows: Sequence[Difference]) -> str:
    """The differences; those that are no chance are bold."""
    shown = columns(rows)
    lines = [_line(column.head for column in shown), _line("---" for _ in shown)]
    lines += [_line(_cell(column, row) for column in shown) for row in rows[:_ROWS]]
    if len(rows) > _ROWS:
        lines.append(f"\n... and {len(rows) - _ROWS} more rows")
    return "\n".join(lines)


def _cell(column: Column, row: Difference) -> str:
    text = markdown(column.text(row))
    return f"**{text}**" if column is CHANGE and row.is_certain else text


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
