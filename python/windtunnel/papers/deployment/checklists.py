"""The document's lists, line by line: each with the checks that decide it, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from windtunnel.experiment.verdict import Word, together, word
from windtunnel.papers.experiments import Check, Experiment
from windtunnel.papers.rows import Row
from windtunnel.papers.suite import Group, Results


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
        words = {check.id: word(check.verdict(results), check.of(results)) for check in self.checks}
        kept = sum(each.verdict == "agrees" for each in words.values())
        others = [f"{each.text}: {', '.join(ids)}" for each, ids in _by_word(words).items() if each.verdict != "agrees"]
        tried = ", ".join(sorted({check.id.partition("/")[0] for check in self.checks}))
        notes = [self.note, f"see {tried}" if tried else "", *others]
        return Row(
            f"{group}/{self.id}",
            group,
            self.text,
            f"all {len(words)}" if words else None,
            float(kept) if words else None,
            None,
            "checks",
            "info" if self.requirement or not words else together(each.verdict for each in words.values()),
            "; ".join(filter(None, notes)),
            of="statement",
        )


def _by_word(words: Mapping[str, Word]) -> dict[Word, list[str]]:
    out: dict[Word, list[str]] = {}
    for id, each in words.items():
        out.setdefault(each, []).append(id)
    return out


def checklist_group(data: Mapping[str, Any], experiments: Sequence[Experiment], *, quick: bool) -> Group:
    """A list of the document; in the quick suite, lines have the checks that were run.

    Raises ValueError for a pattern that no check has.
    """
    checks = [c for e in experiments for c in e.checks if c.expected is not None and not c.not_judged]
    requirements = data.get("requirements", False)
    lines = [_line(line, checks, requirements=requirements, quick=quick) for line in data["line"]]
    ids = {check.id for line in lines for check in line.checks}
    setups = sorted({q.setup for check in checks if check.id in ids for q in check.quantities.values()})
    return Group(
        data["id"],
        data["title"],
        data["caption"],
        setups,
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
