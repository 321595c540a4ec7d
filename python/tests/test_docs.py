"""The documents: the reference has every name and key, and what tutorial, how-to pages and README show works."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import windtunnel
from windtunnel import _core

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
README = REPOSITORY / "README.md"

#: Pages that a reader follows by typing what they show.
FOLLOWED = sorted([README, DOCS / "commands.md", *DOCS.glob("tutorial/*.md"), *DOCS.glob("how-to/*.md")])


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """The pages of the reference that are made of the program."""
    sys.path.insert(0, str(DOCS))
    try:
        from generators import commands, keys, kinds, metrics, results
    finally:
        sys.path.remove(str(DOCS))
    return {name: text for module in (commands, keys, kinds, metrics, results) for name, text in module.pages().items()}


def test_every_name_has_a_section(generated: dict[str, str]) -> None:
    """A heading for each name of the registry, with its aliases, and a row for each parameter."""
    listing = json.loads(_core.listing())
    for kind, entries in listing.items():
        page = generated[f"{kind.replace('_', '-')}.md"]
        for entry in entries:
            section = page.partition(f"## `{entry['name']}`\n")[2].partition("\n## ")[0]
            assert section, entry["name"]
            for name in (*entry.get("aliases", ()), *(p["name"] for p in entry["parameters"])):
                assert f"`{name}`" in section, (entry["name"], name)
    assert all(f"\n{kind.replace('_', '-')}\n" in generated["kinds.md"] for kind in listing)


def test_every_key_has_a_row(generated: dict[str, str]) -> None:
    """All keys of the file and of its tables."""
    schema = json.loads(_core.schema())
    tables = (
        "BottleneckTable",
        "ReverseTable",
        "NodeTable",
        "LinkTable",
        "FlowTable",
        "RecordParams",
        "Window",
        "Claim",
    )
    for table in (schema, *(schema["$defs"][name] for name in tables)):
        for key in table["properties"]:
            assert f"| `{key}` |" in generated["scenario.md"]


def test_results_and_python_are_whole(generated: dict[str, str]) -> None:
    """Every table of a run with all records, and every public name."""
    for table in ("flows", "queues", "bands", "cc", "aqm", "transfers", "packets", "ack_events", "mark_points"):
        assert f"### `{table}`" in generated["results.md"]
    # The core's own words on keys and columns, and on the attributes of what a controller is given.
    assert "ecn_reductions" in generated["results.md"] and "gap_min_ms" in generated["results.md"]
    assert ".. py:attribute:: newly_delivered" in generated["python.md"]
    for name in windtunnel.__all__:
        assert name == "__version__" or f":: windtunnel.{name}" in generated["python.md"]


@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.stem)
def test_what_a_page_shows_works(page: Path) -> None:
    """Scenarios are valid, and links lead to files. Commands: test_printed.py."""
    text = page.read_text(encoding="utf-8")
    for scenario in re.findall(r"```toml\n(.*?)```", text.replace("\n   ", "\n"), re.DOTALL):
        windtunnel.Scenario.from_toml(scenario).check()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists() or "generated/" in link, link


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_files_that_a_map_of_the_code_names_exist(page: str) -> None:
    """Paths from the root of the repository, and a function with the file in brackets behind it."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:crates|python|docs|examples|fuzz|scenarios|web)/[\w./-]+)`", text)
    assert len(named) >= 5
    assert [name for name in named if not (REPOSITORY / name).exists()] == []
    functions = re.findall(r"`(\w+)` \(`(crates/[\w./-]+\.rs)`\)", text)
    assert functions or page != "CONTRIBUTING.md"
    for function, file in functions:
        assert f"fn {function}(" in (REPOSITORY / file).read_text(encoding="utf-8")


def test_the_hooks_are_the_lints() -> None:
    """Before a commit runs what ``make lint`` runs, and nothing that needs the network."""
    recipe = (
        (REPOSITORY / "Makefile").read_text(encoding="utf-8").partition("\nlint: install\n")[2].partition("\n\n")[0]
    )
    lints = {line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()}
    hooks = (REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    entries = re.findall(r"^ +entry: (.+)$", hooks, re.MULTILINE)
    assert {entry.replace(" --offline", "") for entry in entries} == lints
    assert re.findall(r"^ *- repo: (.+)$", hooks, re.MULTILINE) == ["local"]


def test_nobody_is_told_to_install_from_a_registry() -> None:
    """The package is published nowhere: what installs it is a wheel in a folder, in documents and in messages."""
    files = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb"), *(REPOSITORY / "python/windtunnel").rglob("*.py"), README]
    assert len(files) > 300
    told = re.compile(r"pip install ['\"]?windtunnel")
    assert [file.name for file in files if told.search(file.read_text(encoding="utf-8"))] == []


def test_no_document_has_a_name_that_sphinx_takes() -> None:
    """Sphinx writes pages of these names itself, in the place of a document."""
    taken = ("search", "genindex", "py-modindex")
    assert [name for name in taken if (DOCS / f"{name}.md").exists()] == []


def test_the_readme_is_short() -> None:
    """It is read in a minute; what is dense is in the documents. Its picture is light."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 90
    assert (DOCS / "static/page.png").stat().st_size < 200_000
