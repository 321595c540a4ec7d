"""``windtunnel conform``: rows of real stacks, that each row can fail, and that windtunnel's own controllers do not."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from conftest import Cli, refused
from rich.console import Console

from windtunnel.conform.subject import Subject
from windtunnel.conform.suite import DATA, suite
from windtunnel.papers import select
from windtunnel.papers.reproduction import run_suite
from windtunnel.papers.rows import Row
from windtunnel.papers.suite import Results

MUTANTS = tomllib.loads(DATA.text("mutants.toml"))["mutant"]

#: A controller of windtunnel's in the place of the stack's CUBIC, with a shadow that is the same.
OUR_CUBIC = (
    'flow.0.cc={ windtunnel={ kind="cubic", variant="rfc9438", slow_start="standard" },'
    ' shadow={ kind="cubic", variant="rfc9438", slow_start="standard" } }'
)


def rows_of(stack: str, ids: Sequence[str], folder: Path, settings: Sequence[str] = ()) -> dict[str, Row]:
    """The rows of some sections, with every scenario changed."""
    examined = suite(Subject(stack))
    with (folder / "log").open("w") as log:
        done = run_suite(
            examined, select(examined, ids), out=folder / "rows", jobs=2, console=Console(file=log), part=True,
            settings=settings,
        )  # fmt: skip
    assert not done.failed, (folder / "log").read_text()
    return {row.id: row for row in done.rows}


def settings_of(mutant: dict[str, Any]) -> list[str]:
    """What makes a stack a mutant."""
    return [*mutant.get("set", ()), *([f"flow.0.stack={mutant['stack']}"] if "stack" in mutant else [])]


def test_subjects() -> None:
    """The controllers of a stack, and that its own can have a shadow, are what `check` takes."""
    quinn, noq = Subject("quinn"), Subject("noq")
    assert quinn.controllers == ("newreno", "cubic", "bbr")
    assert noq.controllers == ("newreno", "cubic", "bbr3")
    assert all(stack.has("shadow") and stack.has("cubic") and not stack.has("bbr2") for stack in (quinn, noq))


def test_command(cli: Cli, tmp_path: Path) -> None:
    """Rows, page and JUnit; the exit code says whether every row is as its section says (quinn's CUBIC is not)."""
    good = cli("conform", "quinn", "--only", "9002-6.1.1", "--only", "9002-7.2", "--junit", "good.xml")
    assert good.returncode == 0, good.stderr
    assert (tmp_path / "results/conform-quinn/report.html").is_file()
    assert {case.get("name") for case in ET.parse(tmp_path / "good.xml").iter("testcase")} == {
        "9002-6.1.1/detected", "9002-6.1.1/reordered", "9002-7.2/packets",
    }  # fmt: skip
    bad = cli("conform", "quinn", "--only", "9438-4.2", "--out", "bad", "--junit", "bad.xml")
    assert bad.returncode == 1
    assert "refuted" in bad.stdout
    failures = ET.parse(tmp_path / "bad.xml").findall(".//testcase[failure]")
    assert {case.get("name") for case in failures} == {"9438-4.2/K-largest", "9438-4.2/standstill"}
    rows = json.loads((tmp_path / "bad/rows.json").read_text())["rows"]
    assert {row["id"] for row in rows} >= {"9438-4.2/C", "9438-4.2/K"}


def test_refusals(cli: Cli) -> None:
    """One message each, and nothing is written."""
    refused(cli("conform", "quin"), "a stack is one of", "did you mean `quinn`?")
    refused(cli("conform", "linux"), "windtunnel's own")
    refused(cli("conform", "quinn", "--only", "9439"), "no ID", "9438")
    refused(cli("conform", "quinn", "--junit", "none/a.xml"), "there is no folder")


def test_every_judged_row_has_a_mutant() -> None:
    """A row that no fault turns may be one that cannot fail. Rows of several controllers are one idea."""
    examined = suite(Subject("quinn"))
    with_limits = {row.id for group in examined.groups for row in group.rows(Results([])) if row.limits is not None}
    turned = {row for mutant in MUTANTS for row in mutant["differs"]}
    assert turned <= with_limits
    ideas = {id.rpartition("-")[0] if id.startswith("9743") else id for id in with_limits}
    assert ideas == {id.rpartition("-")[0] if id.startswith("9743") else id for id in turned}
    assert len(with_limits) >= 40


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant["id"] for mutant in MUTANTS])
def test_mutants(mutant: dict[str, Any], tmp_path: Path) -> None:
    """A stack with one thing wrong turns the rows that are about it."""
    sections = sorted({row.partition("/")[0] for row in mutant["differs"]})
    rows = rows_of("quinn", sections, tmp_path, settings_of(mutant))
    verdicts = {id: rows[id].verdict for id in mutant["differs"]}
    assert set(verdicts.values()) == {"differs"}, verdicts


@pytest.mark.long
@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_windtunnels_own_cubic_conforms(stack: str, tmp_path: Path) -> None:
    """The rows measure the controller and not the stack: windtunnel's CUBIC inside it is what RFC 9438 says."""
    rows = rows_of(stack, ["9438", "9406"], tmp_path, [OUR_CUBIC])
    assert {row.verdict for row in rows.values()} == {"agrees", "info"}, rows
    assert rows["9438-4.4/first-epoch"].measured == 0.0
