"""The document's lists, line by line: each with the checks that stand for it, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from windtunnel.papers.experiments import Check, Experiment
from windtunnel.papers.rows import Row, Verdict
from windtunnel.papers.suite import Group, Results
from windtunnel.verdicts import agrees


@dataclass(frozen=True)
class Line:
    """A line of a list: its checks by patterns of their ids, and what they do not cover."""

    id: str
    text: str
    checks: tuple[Check, ...]
    note: str
    requirement: bool = False
    """Whether it demands something, so that it is shown and not judged."""

    def row(self, group: str, results: Results) -> Row:
        """Confirmed if all checks are, refuted if any is; the note names those that are not confirmed.

        A requirement is for information.
        """
        found = {check.id: check.verdict(results) for check in self.checks}
        kept = sum(map(agrees, found.values()))
        others = [f"{verdict}: {', '.join(ids)}" for verdict, ids in _by_verdict(found).items() if not agrees(verdict)]
        tried = ", ".join(sorted({check.id.partition("/")[0] for check in self.checks}))
        notes = [self.note, f"see {tried}" if tried else "", *others]
        return Row(
            f"{group}/{self.id}",
            group,
            self.text,
            f"all {len(found)}" if found else None,
            float(kept) if found else None,
            None,
            "checks",
            "info" if self.requirement else together(list(found.values())),
            "; ".join(filter(None, notes)),
        )


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """What several checks of one statement say: it holds if all do."""
    if not verdicts:
        return "info"
    if {"refuted", "differs"} & set(verdicts):
        return "refuted"
    return "confirmed" if all(map(agrees, verdicts)) else "undecided"


def _by_verdict(found: Mapping[str, Verdict]) -> dict[Verdict, list[str]]:
    out: dict[Verdict, list[str]] = {}
    for id, verdict in found.items():
        out.setdefault(verdict, []).append(id)
    return out


def checklist_group(data: Mapping[str, Any], experiments: Sequence[Experiment], *, quick: bool) -> Group:
    """A list of the document; in the quick suite, lines have the checks that were run.

    Raises ValueError for a pattern that no check has.
    """
    checks = [c for e in experiments for c in e.checks if c.expected is not None and not c.not_judged]
    requirements = data.get("requirements", False)
    lines = [_line(line, checks, requirements=requirements, quick=quick) for line in data["line"]]
    ids = {check.id for line in lines for check in line.checks}
    cells = sorted({q.cell for check in checks if check.id in ids for q in check.quantities.values()})
    return Group(
        data["id"],
        data["title"],
        data["caption"],
        cells,
        lambda results: [line.row(data["id"], results) for line in lines],
    )


def _line(data: Mapping[str, Any], checks: Sequence[Check], *, requirements: bool, quick: bool) -> Line:
    about, left_out = data.get("about"), data.get("left_out", {})
    patterns: Sequence[str] = data.get("checks", ())
    chosen = [c for c in checks if about in c.about or any(fnmatchcase(c.id, p) for p in patterns)]
    for pattern in (*patterns, *left_out):
        if not quick and not any(fnmatchcase(check.id, pattern) for check in chosen):
            raise ValueError(f"{data['id']}: no check is named {pattern}")
    used = tuple(c for c in chosen if not any(fnmatchcase(c.id, p) for p in left_out))
    notes = [
        data.get("note", ""),
        *(f"without {pattern}: {why}" for pattern, why in left_out.items()),
        "only with the checks of the quick suite" if quick and chosen else "",
    ]
    return Line(data["id"], data["text"], used, "; ".join(filter(None, notes)), requirements)
