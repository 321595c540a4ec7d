"""The recipes of CONTRIBUTING.md for the Python part, followed in a copy of the package: what they add is there, in all
places that they name, and no further step is needed.

The copy is of links, with the edits of all recipes; one interpreter looks for what they added. Without the edits, none
of it is there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "python" / "windtunnel"
#: What a recipe adds: files of the package with their text, and lines below the only line of a file that ends in a
#: text; without such a text, at the end.
Steps = tuple[Mapping[str, str], Mapping[tuple[str, str], str]]

PANEL = '''
from windtunnel.panels.model import Panel
from windtunnel.panels.of_flows import flow_series
from windtunnel.panels.tables import split


def panel(run):
    """The panel."""
    samples = list(split(run.intervals, "flow", "srtt_ms"))
    return Panel("smoothed", "Smoothed RTT", "ms", flow_series(run, samples, 1.0, "hold"), shown=False)
'''
COMMAND = '''
import click


@click.command
def greet() -> None:
    """Greet the user."""
    click.echo("good day")
'''
CLAUSE = """
[[clause]]
id = "99"
title = "Courtesy"
level = "should"
requirement = "An algorithm is courteous."
method = "It runs alone."
cannot = "Whether it means it."

[[clause.trial]]
id = "alone"
[clause.trial.metrics]
own = "flows.subject.goodput_mbps"
[clause.trial.scenario]
duration = "10 s"
bottleneck = { rate = "20 Mbit/s", queue = "fifo" }
flow = [{ name = "subject", cc = "$cc", rtt = "40 ms" }]

[[clause.check]]
id = "own"
text = "its goodput"
value = "own"
unit = "Mbit/s"
expect = { above = 10 }
"""
NOTE = '''
@rule("long-path", before=True, source="RFC 2488")
def long_path(subject: Subject) -> Sayings:
    """A path is longer than a second."""
    for flow in subject.flows:
        if flow.rtt > 1:
            yield Said(f"{flow.name}: a path of {time(flow.rtt)}", flow=flow)
'''
NUMBER = """
[[number]]
id = "J99"
what = "the loss probability of one packet in a million"
place = "Added"
published = 2e-8
precision = 0.5e-8
model = "reno_loss_for"
arguments = [1e9, 0.1]
"""
CLAIM = """
[[claim]]
id = "K99"
text = "Graph 1: Reno's throughput is not nothing"
measure = "throughput"
unit = "Mbit/s"
value = "a"
quantities.a.run = "graph1{sender}"
quantities.a.panel = "summary"
quantities.a.flow = 0
quantities.a.method = 'window_value("steady", "throughput_mbps")'
expected = { above = 1.0, why = "it runs" }
"""

#: What each recipe adds.
RECIPES: Mapping[str, Steps] = {
    "A metric": (
        {},
        {
            (
                "experiment/measures/names.py",
                "FLOW: Mapping[str, Name] = {",
            ): '"naps_hz": Name("its naps", ("siestas",)),'
        },
    ),
    "A function of metrics": (
        {},
        {("experiment/measures/language.py", "_OF_MANY: dict[str, Callable[[Array], float]] = {"): '"least": np.min,'},
    ),
    "A column of a run's summary": (
        {},
        {("report/summary_columns.py", "_FLOW = ("): 'Column("Naps", "Hz", _of("naps_hz"), "naps"),'},
    ),
    "A panel": (
        {"panels/smoothed.py": PANEL},
        {
            ("panels/catalogue.py", "from windtunnel.panels import ("): "smoothed,",
            ("panels/catalogue.py", "CATALOGUE: Mapping[str, Entry] = {"): '"smoothed": Entry(smoothed.panel, "TCP"),',
        },
    ),
    "A number that runs are compared by": ({}, {("compare/differences.py", "_OF_FLOW = ("): '("sent",),'}),
    "A column of a comparison": (
        {},
        {("compare/columns.py", "_NUMBER = ("): 'Column("share", lambda row: f"{row.share}"),'},
    ),
    "A clause": ({"evaluate/packs/rfc9743/99.toml": CLAUSE}, {}),
    "A note": ({}, {("notes/starting.py", ""): NOTE}),
    "A row of a paper suite": (
        {},
        {("papers/talk/data/numbers.toml", ""): NUMBER, ("papers/sce/data/claims.toml", ""): CLAIM},
    ),
    "A command": ({"cli/greet.py": COMMAND}, {("cli/app.py", "_COMMANDS = {"): '"greet": ("greet", "greet"),'}),
}


def _metric() -> Any:
    """It has a value, with and without its unit; a word of the field leads to it; and it is in the reference."""
    from generators.metrics import pages

    from windtunnel.experiment.measures import Expression, MetricError

    result = _napping()
    expression = Expression.parse("flows.a.naps")
    with pytest.raises(MetricError, match="`siestas` is `naps` here"):
        Expression.parse("flows.a.siestas").value(result)
    return (
        expression.value(result) == 3 and expression.unit == "Hz" and "| `naps_hz` | its naps | Hz |" in _plain(pages())
    )


def _function() -> Any:
    from windtunnel.experiment.measures import Expression, MetricError

    with pytest.raises(MetricError, match=r"there are .*least"):
        Expression.parse("leest(flows.goodput)")
    return Expression.parse("least(flows.goodput)").value(_napping()) > 0


def _summary_column() -> Any:
    """It is on the page and in the terminal."""
    from rich.console import Console

    from windtunnel.cli.summary import show_summary
    from windtunnel.panels import Run
    from windtunnel.report.summary import summary_tables

    result, console = _napping(), Console(record=True, width=200, file=StringIO())
    show_summary(result, None, console)
    heads = [column.head for table in summary_tables(result.summary, Run(result)) for column in table.columns]
    return "Naps" in heads and "naps" in console.export_text()


def _panel() -> Any:
    """It is on the page of a run, and `plot` and figures draw it."""
    from windtunnel.cli.plot import plot
    from windtunnel.figures import four_panel
    from windtunnel.panels import Run, panels_of

    (offered,) = (parameter.type for parameter in plot.params if parameter.name == "panels")
    shown = [panel.id for panel in panels_of(Run(_napping()))]
    return "smoothed" in shown and "smoothed" in offered.choices and four_panel(_napping(), panels=["smoothed"]).axes


def _compared_number() -> Any:
    return any(row.what == "a: sent" for row in _differences())


def _compared_column() -> Any:
    """It is in the terminal and in Markdown."""
    from windtunnel.compare.columns import columns
    from windtunnel.compare.markdown import table

    rows = _differences()
    return "share" in [column.head for column in columns(rows)] and "share" in table(rows).splitlines()[0]


def _clause() -> Any:
    """The pack has it, and its value is one of the trial's."""
    from windtunnel.evaluate.pack import read

    clauses = [clause for clause in read("rfc9743").clauses if clause.id == "99"]
    return [(clause.title, clause.checks[0].value) for clause in clauses] == [("Courtesy", "own")]


def _note() -> Any:
    """It is said, and explained on the page of notes."""
    from windtunnel import Scenario
    from windtunnel.notes import notes_before
    from windtunnel.notes.page import page

    flows = [{"name": "a", "cc": "reno", "rtt": "2 s"}]
    scenario = Scenario(duration="9 s", bottleneck={"rate": "1 Mbit/s"}, flows=flows)
    said = [note.text for note in notes_before(scenario.resolve()) if note.rule == "long-path"]
    return said == ["a: a path of 2 s"] and "**long-path** (note, before" in page()


def _row() -> Any:
    """`reproduce` has its group, and the group its row."""
    from windtunnel.papers import ids
    from windtunnel.papers.suite import Results
    from windtunnel.papers.talk.numbers import numbers_group

    rows = numbers_group().rows(Results([]))
    return "K99" in ids("sce") and [row.verdict for row in rows if row.id == "numbers/J99"] == ["agrees"]


def _command() -> Any:
    """The help lists it, it runs, and it gets a manual page."""
    from click.testing import CliRunner
    from man_pages import pages

    from windtunnel.cli import app

    run = CliRunner().invoke
    listed = re.search(r"^ +greet +Greet the user.$", run(app, ["--help"]).output, re.MULTILINE)
    return bool(listed) and run(app, ["greet"]).output == "good day\n" and "windtunnel-greet.1" in pages()


#: How what a recipe added is looked for.
PROBES: Mapping[str, Callable[[], Any]] = {
    "A metric": _metric,
    "A function of metrics": _function,
    "A column of a run's summary": _summary_column,
    "A panel": _panel,
    "A number that runs are compared by": _compared_number,
    "A column of a comparison": _compared_column,
    "A clause": _clause,
    "A note": _note,
    "A row of a paper suite": _row,
    "A command": _command,
}


def _plain(pages: Mapping[str, str]) -> str:
    """The text of pages, with one space in place of several."""
    return re.sub(" +", " ", "".join(pages.values()))


def _napping() -> Any:
    """A short run whose flow has a number more, as the core would add it."""
    from windtunnel import RunResult, Scenario

    flows = [{"name": "a", "cc": "reno", "rtt": "20 ms"}]
    result = Scenario(duration="1 s", bottleneck={"rate": "10 Mbit/s"}, flows=flows).run()
    more = {**result.summary, "flows": [{**flow, "naps_hz": 3} for flow in result.flows]}
    return RunResult(more, result.tables, result.meta)


def _differences() -> list[Any]:
    from windtunnel import Scenario
    from windtunnel.compare.differences import of_runs
    from windtunnel.compare.sides import RunSide

    result = _napping()
    side = RunSide("a", result, Scenario.from_toml(result.meta["scenario_toml"]))
    return of_runs(side, side)


def probe() -> dict[str, str]:
    """What is there of each recipe: ``yes``, ``no``, or how the search for it ended."""
    answers = {}
    for name, search in PROBES.items():
        try:
            answers[name] = "yes" if search() else "no"
        except (Exception, pytest.fail.Exception) as error:
            answers[name] = f"{type(error).__name__}: {error}"
    return answers


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The answers of an interpreter that has the copy."""
    folder = tmp_path_factory.mktemp("recipes")
    copy = folder / "windtunnel"
    shutil.copytree(PACKAGE, copy, copy_function=os.symlink, symlinks=True)
    for files, lines in RECIPES.values():
        for name, text in files.items():
            assert not (copy / name).exists()
            (copy / name).write_text(text, encoding="utf-8")
        for (name, above), line in lines.items():
            _insert(copy / name, above, line)
    paths = [folder, REPOSITORY / "docs", REPOSITORY / "python" / "tools", Path(__file__).parent]
    done = subprocess.run(
        [sys.executable, "-c", "import json, test_recipes; print(json.dumps(test_recipes.probe()))"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    probed: dict[str, str] = json.loads(done.stdout)
    return probed


def _insert(file: Path, above: str, line: str) -> None:
    """Write a line below the only one that ends in ``above``, or at the end; the file is a link until then."""
    text = file.read_text(encoding="utf-8")
    if above:
        assert text.count(f"{above}\n") == 1, f"{file.name}: {above}"
        text = text.replace(f"{above}\n", f"{above}\n    {line}\n")
    else:
        text += line
    file.unlink()
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_a_recipe_adds_is_there(recipe: str, answers: dict[str, str]) -> None:
    assert answers[recipe] == "yes"


def test_without_the_steps_nothing_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The searches find what recipes added, and nothing else."""
    monkeypatch.syspath_prepend(REPOSITORY / "docs")
    monkeypatch.syspath_prepend(REPOSITORY / "python" / "tools")
    assert "yes" not in probe().values()


def test_each_recipe_is_followed() -> None:
    """The recipes of the text, and their files, are those that are tried here."""
    section = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## How to add a metric")[2]
    texts = dict(re.findall(r"^- \*\*(.+?)\*\*(.+?)(?=^- |^#)", section.partition("\n## ")[0] + "\n#", re.M | re.S))
    assert texts.keys() == RECIPES.keys()
    for recipe, (files, lines) in RECIPES.items():
        for name in (*files, *(name for name, _ in lines)):
            folder = Path(name).parent.as_posix().replace("rfc9743", "NAME")
            assert f"`{folder}/" in texts[recipe], (recipe, name)


@pytest.mark.long
def test_a_new_kind_is_a_file_and_a_line() -> None:
    """A controller, an AQM and an element pass all tests of their crates; none is changed for them."""
    program = REPOSITORY / "python" / "tools" / "try_new_kinds.py"
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
