"""A short page of Markdown from the folders of packs: a finding, and a line for each clause.

The finding is written by hand; its numbers are not. ``{rfc9743: 5.1.2/delay [buffer=1 bdp]}`` is the mean of that row,
``{rfc9743: 5.1.2/delay [buffer=1 bdp] | cubic}`` that of a baseline; ``| verdict`` and ``| limit`` are the row's.
``{rfc9743: count 5.2.1 met}`` is how many rows of a clause have a verdict.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from windtunnel.evaluate.judge import STATES, read
from windtunnel.report.text import number

#: A number of a finding, and where it comes from.
NUMBER = re.compile(r"\{([a-z0-9-]+): ([^{}|]+?)(?: \| ([^{}]+?))?\}")


def read_packs(folders: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """The ``pack.json`` of each folder, by the name of its pack."""
    packs = [json.loads((folder / "pack.json").read_text(encoding="utf-8")) for folder in folders]
    return {pack["pack"]: pack for pack in packs}


def finding(text: str, packs: Mapping[str, Mapping[str, Any]]) -> str:
    """The text with its numbers. Raises ValueError for a row that does not exist or has no value."""
    rows = {
        (name, row["id"]): row for name, pack in packs.items() for clause in pack["clauses"] for row in clause["rows"]
    }

    def value(match: re.Match[str]) -> str:
        pack, id, part = match.groups()
        if counted := re.fullmatch(r"count (\S+) (.+)", id):
            return str(_count(packs[pack], *counted.groups()))
        row = rows.get((pack, id))
        if row is None:
            raise ValueError(f"{match[0]}: no row of {pack} has this name")
        if part == "verdict":
            return str(row["verdict"])
        if part == "limit":
            return _short(row["limit"])
        arm = row["measured"] if part is None else row["baselines"].get(part)
        if arm is None:
            raise ValueError(f"{match[0]}: there is no baseline `{part}`")
        if arm["mean"] is None:
            raise ValueError(f"{match[0]}: the row has no value, because a run shows nothing to measure")
        return _short(arm["mean"])

    return NUMBER.sub(value, " ".join(text.split()))


def _count(pack: Mapping[str, Any], clause: str, verdict: str) -> int:
    rows = next(c["rows"] for c in pack["clauses"] if c["id"] == clause)
    return sum(row["verdict"] == verdict for row in rows)


def _short(value: float | None) -> str:
    """Three digits, and no zeros that say nothing."""
    text = number(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def page(name: str, text: str, packs: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole page."""
    parts = [
        f"# {name}: evidence",
        "Written by `make packs` from runs of `windtunnel evaluate`; the finding's numbers come from them. A clause is "
        "*not met* where a limit of windtunnel's own is not kept; the report says why each limit is what it is. That "
        "is something to explain, not a judgement. What the packs are, and how a verdict is reached: "
        "[evaluate.md](../evaluate.md).",
        "## What we found",
        *(finding(paragraph, packs) for paragraph in text.strip().split("\n\n")),
    ]
    for pack in packs.values():
        parts += _pack(pack)
    return "\n\n".join(parts) + "\n"


def _pack(pack: Mapping[str, Any]) -> list[str]:
    subject, baselines = pack["subject"], " and ".join(pack["baselines"])
    counts = Counter(clause["verdict"] for clause in pack["clauses"])
    rows = Counter(row["verdict"] for clause in pack["clauses"] for row in clause["rows"])
    value = subject["value"] if isinstance(subject["value"], str) else f"'{_inline(subject['value'])}'"
    command = f"windtunnel evaluate {pack['pack']} --{subject['kind']} {value}"
    lines = [
        "| clause | | level | verdict | rows met, not met, undecided | what decides |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_line(clause) for clause in pack["clauses"]]
    return [
        f"## {pack['title']}",
        pack["about"],
        f"`{command}{' --quick' if pack['quick'] else ''}`, compared with {baselines}: {len(pack['runs'])} runs with "
        f"{pack['seeds']}, by windtunnel {pack['version']}. "
        f"Clauses: {_counted(counts)}. Rows: {_counted(rows)}.",
        "\n".join(lines),
        f"What a simulation cannot show: {pack['cannot']}",
    ]


def _inline(table: Mapping[str, Any]) -> str:
    """A table as one types it."""
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) + " }"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in (read(state).text for state in STATES) if counts.get(verdict)
    )


def _line(clause: Mapping[str, Any]) -> str:
    counts = Counter(row["verdict"] for row in clause["rows"])
    tally = f"{counts['met']}, {counts['not met']}, {counts['undecided']}" if clause["rows"] else ""
    decides = clause["decides"].replace("|", "\\|")
    return f"| {clause['id']} | {clause['title']} | {clause['level']} | {clause['verdict']} | {tally} | {decides} |"
