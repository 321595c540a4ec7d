"""Paper suites: a document's experiments run again, published and measured values side by side."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.errors import InputError
from windtunnel.extras import has, need

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.papers.suite import Suite

#: The suites by name, and the packages here that have them.
_PACKAGES = {
    "mds": "mds",
    "mds-deployment": "deployment",
    "aimd": "aimd",
    "sce": "sce",
    "dualq": "dualq",
    "l4s-tests": "l4s_tests",
    "c4": "c4",
    "talk": "talk",
}
NAMES = tuple(_PACKAGES)


def reproduce(
    name: str,
    *,
    only: Sequence[str],
    quick: bool,
    out: Path,
    jobs: int | None,
    console: Console,
    settings: Sequence[str] = (),
    force: bool = False,
    allow_read: Sequence[Path] = (),
    use_cache: bool = True,
) -> int:
    """Run a suite and write its folder ``out``: ``report.html``, ``rows.csv``, ``rows.json``, figures and run reports.

    ``only`` names groups (``fig5``, ``table2``, ``P13``, ``figures``); empty means all.
    ``settings`` are ``key=value`` strings that change every scenario of the suite: what is compared with the document
    is then another experiment, and page and ``rows.json`` say so. They also say which algorithms were foreign code,
    that of plugins. Files that they name are in the current folder or in those of ``allow_read``. Returns 0 if every
    run ended, 1 if one failed. Raises InputError (a ValueError), with the nearest names, for a name or ID that does
    not exist or a folder that does; ``force`` replaces a suite's folder. The folder appears complete or not at all.
    With ``use_cache`` what was run before is not run again, unless it draws.
    """
    from windtunnel.papers.reproduction import run_suite

    suite = suite_of(_match(name, NAMES, "suite"), quick=quick and not only)
    ids, part = select(suite, only), quick or bool(only)
    return run_suite(
        suite,
        ids,
        out=out,
        jobs=jobs,
        console=console,
        part=part,
        settings=settings,
        force=force,
        allow_read=allow_read,
        use_cache=use_cache,
    ).code


def ids(name: str) -> list[str]:
    """IDs of the groups of a suite, and the names that stand for several; none for an unknown suite, or one that cannot
    be run here.
    """
    if name not in NAMES or not has("matplotlib"):
        return []
    suite = suite_of(name, quick=False)
    return list(dict.fromkeys([*(group.id for group in suite.groups), *suite.aliases]))


def suite_of(name: str, *, quick: bool) -> Suite:
    """A suite by its name; with ``quick``, the part of it that takes a minute. Its figures need an extra."""
    need("matplotlib", "a suite")
    suite: Suite = import_module(f"windtunnel.papers.{_PACKAGES[name]}").suite(quick=quick)
    return suite


def select(suite: Suite, only: Sequence[str]) -> list[str]:
    """IDs of the groups that ``only`` names, in the suite's order."""
    ids = [group.id for group in suite.groups]
    if not only:
        return ids
    chosen: set[str] = set()
    for name in only:
        match = _match(name, [*ids, *suite.aliases], f"ID of the suite {suite.name}")
        chosen.update(suite.aliases.get(match, [match]))
    return [id for id in ids if id in chosen]


def _match(name: str, names: Sequence[str], kind: str) -> str:
    by_lower = {n.lower(): n for n in names}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    near = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.4)
    nearest = ", ".join(by_lower[n] for n in near) or ", ".join(names[:8])
    raise InputError(f"no {kind} is named {name!r}; the nearest: {nearest}")
