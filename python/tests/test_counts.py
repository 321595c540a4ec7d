"""docs/counts.py: the verdicts of the suites, which README and docs/trust.md have from one file."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from paper_suites import made_up

from windtunnel.experiment.verdict import OF_SUITES
from windtunnel.papers import NAMES, suite_of
from windtunnel.papers.jobs import JobResult
from windtunnel.papers.reproduction import _write
from windtunnel.papers.suite import rows_of

DOCS = Path(__file__).parents[2] / "docs"


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("counts", DOCS / "counts.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = _tool()


@pytest.mark.parametrize("page", TOOL.DOCUMENTS, ids=lambda page: page.name)
def test_documents_have_the_numbers_of_the_file(page: Path) -> None:
    """``make counts`` would write the document as it stands."""
    text = page.read_text(encoding="utf-8")
    assert TOOL.BLOCK.search(text)
    assert TOOL.filled(text, TOOL.kept()) == text


@pytest.mark.parametrize("page", TOOL.DOCUMENTS, ids=lambda page: page.name)
def test_no_count_is_written_by_hand(page: Path) -> None:
    """Outside of what ``counts.py`` writes nothing says how many rows, or how many agree."""
    text = TOOL.BLOCK.sub("", page.read_text(encoding="utf-8"))
    words = "|".join(["rows", "agree", "differ", "(are )?(confirmed|refuted|undecided)", "(are )?for information"])
    assert not re.search(rf"\d ({words})\b", text)


def test_the_file_is_whole() -> None:
    """Each suite that was counted has every verdict, runs, their time, the day and the commit, in the suites' order."""
    counts = TOOL.kept()
    assert list(counts) == [name for name in NAMES if name in counts]
    for count in counts.values():
        assert list(count) == [*OF_SUITES, "runs", "cpu_seconds", "date", "commit"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole suite with made-up results; the rows of its tables are enough."""
    out = tmp_path_factory.mktemp("suite")
    suite = replace(suite_of("mds", quick=False), notes="")
    results, groups = made_up(suite, {}), [group for group in suite.groups if group.id.startswith("table")]
    setups = [suite.setups[name] for name in {name for group in suite.groups for name in group.setups}]
    outcomes = [
        JobResult(setup.name, k, (), {}, 0.5, 1, "") for setup in setups for k, _ in enumerate(setup.variants())
    ]
    _write(out, suite, groups, rows_of(groups, results), results, outcomes, (), (), part=True)
    os.utime(out / "rows.json", (0, 0))
    return out


def test_a_folder_is_counted(folder: Path, tmp_path: Path) -> None:
    """Verdicts are those of the rows, weak ones apart; what is kept is read again, and is in table and sentence."""
    name, count = TOOL.counted(folder, "0123456789ab")
    document = json.loads((folder / "rows.json").read_text())
    verdicts = [row["verdict"] for row in document["rows"]]
    assert name == "mds"
    assert {word: count[word] for word in OF_SUITES} == {word: verdicts.count(word) for word in OF_SUITES}
    assert count["weak"] > 0
    runs = len(document["runs"])
    facts = {"runs": runs, "cpu_seconds": round(runs / 2), "date": "1970-01-01", "commit": "0123456789ab"}
    assert count.items() >= facts.items()
    TOOL.write({name: count}, tmp_path / "counts.toml")
    counts = TOOL.kept(tmp_path / "counts.toml")
    assert counts == {name: count}
    [row] = [line for line in TOOL.table(counts).splitlines() if line.startswith("| `mds` |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:9] == [str(len(verdicts)), *(str(count[verdict]) for verdict in OF_SUITES)]
    assert f"{count['weak']} agree weakly" in TOOL.sentence(counts)
    assert f"the {len(verdicts) - count['info']} rows" in TOOL.sentence(counts)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda document: document["runs"].pop(), "runs are not those"),
        (lambda document: document.update(suite="sce"), "runs are not those"),
        (lambda document: document.update(settings=["seed=2"]), "changed"),
        (lambda document: document.update(foreign=["x"]), "foreign"),
        (lambda document: document["runs"][0].update(error="no"), "failed"),
    ],
)
def test_only_a_whole_suite_is_counted(
    change: Callable[[dict[str, Any]], object], said: str, folder: Path, tmp_path: Path
) -> None:
    """A part of a suite, one with changed scenarios or foreign code, and one with failed runs are refused."""
    document = json.loads((folder / "rows.json").read_text())
    change(document)
    (tmp_path / "rows.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=said):
        TOOL.counted(tmp_path, "")
