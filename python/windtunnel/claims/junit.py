"""Decisions as a JUnit report (XML), which systems of continuous integration show: a claim in a cell is a test case.

The report needs four kinds of elements, and is never read here: the standard library writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from windtunnel.atomic import staged_file
from windtunnel.claims.decide import Decided, Decision
from windtunnel.errors import InputError
from windtunnel.escape import xml


def check_writable(path: Path) -> None:
    """Refuse a place where :func:`write` could not write, before a long run starts. Raises InputError."""
    if path.is_dir():
        raise InputError(f"--junit {path}: is a folder; the name of a file is needed")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--junit {path}: there is no folder {path.parent}")


def write(path: Path, suites: Iterable[tuple[str, Sequence[Decided]]], *, undecided: bool) -> None:
    """Write the report; it appears complete or not at all. ``suites`` are the decisions of each scenario or campaign
    with its name. Claims that are undecided fail, or with ``undecided`` count as skipped. Raises InputError.
    """
    root = ET.Element("testsuites", name="windtunnel")
    for name, decided in suites:
        root.append(_suite(name, decided, undecided=undecided))
    for count in ("tests", "failures", "skipped"):
        root.set(count, str(sum(int(suite.attrib[count]) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=False)
    with staged_file(path, force=True) as stage:
        stage.write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', encoding="utf-8", newline="\n")


def _suite(name: str, decided: Sequence[Decided], *, undecided: bool) -> ET.Element:
    cases = [
        _case(name, each, decision, undecided=undecided)
        for each in decided
        for decision in each.decisions or [_NO_CELL]
    ]
    counts = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "skipped")}
    suite = ET.Element("testsuite", name=xml(name), tests=str(len(cases)), failures=str(counts["failure"]),
                       errors="0", skipped=str(counts["skipped"]))  # fmt: skip
    suite.extend(cases)
    return suite


_NO_CELL = Decision("undecided", 0, None, why="no cell was run that it is about")


def _case(suite: str, decided: Decided, decision: Decision, *, undecided: bool) -> ET.Element:
    where = decision.where()
    name = f"{decided.claim.name} [{where}]" if where else decided.claim.name
    case = ET.Element("testcase", classname=xml(suite), name=xml(name))
    what = f"{decided.claim.text} {decided.claim.condition.text}: {decision.words()}"
    if decision.verdict == "agrees":
        ET.SubElement(case, "system-out").text = xml(what)
        return case
    passes = decision.verdict == "undecided" and undecided
    outcome = ET.SubElement(case, "skipped" if passes else "failure", message=xml(f"{decision.word}: {what}"))
    if not passes:
        outcome.set("type", decision.word)
    return case
