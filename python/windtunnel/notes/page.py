"""The page of all rules, ``docs/notes.md``, made of the rules: ``python -m windtunnel.notes.page`` writes it."""

from __future__ import annotations

import inspect
from itertools import groupby
from pathlib import Path

from windtunnel.notes import RULES
from windtunnel.notes.note import Rule

#: The page's place in the repository.
PAGE = "docs/notes.md"

_HEAD = """\
# Notes

`windtunnel run` and `windtunnel check` say what is likely to surprise in a scenario or in its results: in the terminal,
on the page, and in `summary.json` under `notes` (`rule`, `level`, `text`, `flow`, `queue`, `numbers` in base units).
From Python: `result.notes`. A *warning* says that something may not be what was meant; a *note* says how to read a
number. Rules marked "before" look at the scenario alone: `check` says them, and `run` says their warnings before it
starts.

This page is made of the rules (`python/windtunnel/notes`); each has a test on both sides of its border.
"""


def page() -> str:
    """The text of the page."""
    parts = [_HEAD]
    for module, rules in groupby(RULES, key=lambda rule: inspect.getmodule(rule.function)):
        parts.append(f"\n## {(inspect.getdoc(module) or '').splitlines()[0].rstrip('.')}\n")
        parts += [_entry(rule) for rule in rules]
    return "".join(parts)


def _entry(rule: Rule) -> str:
    when = "before and after the run" if rule.before else "after the run"
    about = rule.about.replace("``", "`")
    return f"\n**{rule.name}** ({rule.level}, {when}). {about}\nSource: {rule.source}.\n"


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
