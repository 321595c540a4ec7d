"""Verdicts as a JUnit report (XML), which systems of continuous integration show: a claim in a cell is a test case,
and so is a row of a suite.

The report needs four kinds of elements, and is never read here: the standard library writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from windtunnel.atomic import staged_file
from windtunnel.claims.decide import Decided, Decision
from windtunnel.errors import InputError
from windtunnel.escape import xml
from windtunnel.experiment.verdict import Verdict


@dataclass(frozen=True)
class Case:
    """A statement with its verdict, the word for it, and what was measured."""

    name: str
    verdict: Verdict
    word: str
    what: str


def check_writable(path: Path) -> None:
    """Refuse a place where :func:`write` could not write, before a long run starts. Raises InputError."""
    if path.is_dir():
        raise InputError(f"--junit {path}: is a folder; the name of a file is needed")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--junit {path}: there is no folder {path.parent}")


def write(path: Path, suites: Iterable[tuple[str, Iterable[Case]]], *, undecided: bool) -> None:
    """Write the report; it appears complete or not at all. ``suites`` are the cases of each scenario, campaign or stack
    with its name. Those that are undecided fail, or with ``undecided`` count as skipped. Raises InputError.
    """
    root = ET.Element("testsuites", name="windtunnel")
    for name, cases in suites:
        root.append(_suite(name, [_case(name, case, undecided=undecided) for case in cases]))
    for count in ("tests", "failures", "skipped"):
        root.set(count, str(sum(int(suite.attrib[count]) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=False)
    with staged_file(path, force=True) as stage:
        stage.write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', encoding="utf-8", newline="\n")


def _suite(name: str, cases: Sequence[ET.Element]) -> ET.Element:
    counts = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "skipped")}
    suite = ET.Element("testsuite", name=xml(name), tests=str(len(cases)), failures=str(counts["failure"]),
                       errors="0", skipped=str(counts["skipped"]))  # fmt: skip
    suite.extend(cases)
    return suite


def _case(suite: str, case: Case, *, undecided: bool) -> ET.Element:
    element = ET.Element("testcase", classname=xml(suite), name=xml(case.name))
    if case.verdict in ("agrees", "weak", "info"):
        ET.SubElement(element, "system-out").text = xml(case.what)
        return element
    passes = case.verdict == "undecided" and undecided
    kind = "skipped" if passes else "failure"
    outcome = ET.SubElement(element, kind, message=xml(f"{case.word}: {case.what}"))
    if not passes:
        outcome.set("type", case.word)
    return element


_NO_CELL = Decision("undecided", 0, None, why="no cell was run that it is about")


def cases_of(decisions: Iterable[Decided]) -> Iterator[Case]:
    """The cases of claims."""
    for decided in decisions:
        for decision in decided.decisions or [_NO_CELL]:
            where = decision.where()
            name = f"{decided.claim.name} [{where}]" if where else decided.claim.name
            what = f"{decided.claim.text} {decided.claim.condition.text}: {decision.words()}"
            yield Case(name, decision.verdict, decision.word, what)
