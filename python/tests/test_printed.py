"""Every command that a document prints is one that the program knows; ``make test-long`` runs them all, in order."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from windtunnel.cli.app import app

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("printed", DOCS / "printed.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["printed"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = _tool()

#: Documents whose commands are only read: reports of measurements, which name what ran for days, and papers for those
#: who change the program.
ONLY_READ = {
    *(
        "SECURITY.md",
        "CONTRIBUTING.md",
        "fuzz/README.md",
        "web/README.md",
        "docs/validation.md",
        "docs/validation-kernel.md",
        "examples/bpf/README.md",
    ),
    *(f"docs/{name}.md" for name in ("index", "trust", "speed", "reliability", "what-is-in-it", "explain-controllers")),
    *(f"docs/explain-{what}.md" for what in ("kernel", "quic", "local")),
}

#: What is printed and not run.
NOT_RUN = {
    "make demo",
    "make test",
    "make twin",
    "make twin ONLY='vegas/*/alone'",
    "pip install dist/*.whl",
    "pip install dist/windtunnel-*.whl",
    "pip install 'optuna>=5' cmaes matplotlib",
    "pip install distributed",
    "cargo test",
    "cargo run -- rust-plugin.toml bottleneck.queue.aqm.k=20",
    "cargo run -- --list",
    "cargo run --manifest-path examples/rust-plugin/Cargo.toml -- examples/rust-plugin/rust-plugin.toml",
    "python docs/measured.py course",
    "python docs/measured.py gallery",
    "make train-explain",
    "windtunnel lab",
    "windtunnel lab scenarios/tail-drop.toml",
    "windtunnel plot capture.pcap",
    "windtunnel plot capture.pcap --panel sequence --from 7.6 --to 8",
    "windtunnel plot capture.pcap --panel io --average 100ms --choice 'io=bits of all flows'",
    "windtunnel plot connection.sqlog --panel in_flight --panel rtt --out rtt.svg",
    "python docs/packs/campaign_pages.py ledbat",
    "python docs/packs/campaign_pages.py slow-starts",
    "cargo run --release -p windtunnel-hosted --features quinn,noq --example loopback -- quinn cubic 5",
    "windtunnel conform ./libwt_ngtcp2.so",
    "windtunnel kernel build",
    "windtunnel kernel build --package linux-source-6.12 --hz 250",
    "windtunnel kernel test",
    "windtunnel kernel remove --all",
    "windtunnel emulate scenarios/tail-drop.toml --serve 'iperf3 -s' -- iperf3 -c 10.0.0.2 -t 10",
    "windtunnel emulate scenarios/tail-drop.toml --duration '60 s'",
    "windtunnel sweep scenarios/campaigns/ledbat-latecomer.toml",
    "windtunnel sweep scenarios/campaigns/ledbat-next-to-cubic.toml",
    "windtunnel sweep scenarios/campaigns/quic-coexistence.toml",
    "windtunnel sweep scenarios/campaigns/slow-starts-compared.toml",
    "windtunnel sweep scenarios/campaigns/slow-starts-resumed.toml",
    "windtunnel evaluate ccwg-bbr --cc bbr3",
    'windtunnel evaluate ccwg-bbr --cc \'{ kind = "bbr3", variant = "draft-06" }\'',
}

FOLLOWED = {page for pages in TOOL.families().values() for page in pages}
READ = {REPOSITORY / name for name in ONLY_READ}
STEPS = [step for page in sorted(FOLLOWED | READ) for step in TOOL.steps(page)]
COMMANDS = [step for step in STEPS if step.kind == "command"]


def test_every_document_is_followed_or_read() -> None:
    """A new document with commands joins a family. The decisions and the specification print none for a reader."""
    pages = {page for folder in ("docs", "examples") for page in (REPOSITORY / folder).rglob("*.md")}
    apart = {"_build", "generated", "figures", "target", "spec", "decisions", "explanation"}
    pages = {page for page in pages if not apart & set(page.relative_to(REPOSITORY).parts)}
    rest = {page for page in pages - FOLLOWED - READ if any(step.kind == "command" for step in TOOL.steps(page))}
    assert rest == set()
    assert len(FOLLOWED) > 60 and len(COMMANDS) > 120


@pytest.mark.parametrize("step", COMMANDS, ids=lambda step: step.place)
def test_a_command_is_known(step: Any) -> None:
    """Its name and options are the program's, its targets the Makefile's, and the repository's files in it exist."""
    program, *words = step.words
    if program == "windtunnel":
        name, *words = words
        # With the settings of the program: click keeps the names of `--help` that it sees first.
        context = click.Context(app, **app.context_settings)
        command = app.get_command(context, name)
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            context = click.Context(command, info_name=name, parent=context)
            name, *words = words
            command = command.get_command(context, name)
        if name != "COMMAND":
            assert command is not None, name
            # It reads another program's options; and help ends the reading.
            if name != "flowgrind" and "--help" not in words:
                command.make_context(name, [word.strip("[]") for word in words], parent=context)
    elif program == "make":
        makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
        assert all(re.search(rf"^{word}:", makefile, re.MULTILINE) for word in words if "=" not in word)
    for word in words:
        if re.match(r"(scenarios|docs|examples|python)/", word) and "*" not in word:
            assert (REPOSITORY / word).exists(), word


def _folder(step: Any) -> str:
    """The folder of results that a command claims for itself, which must not be there before; or nothing."""
    program, *words = step.words
    if program != "windtunnel" or step.reason or step.general:
        return ""
    if "--out" in words:
        return str(words[words.index("--out") + 1])
    match words:
        case ["run" | "hunt" | "tune", file, *_]:
            return f"results/{Path(file).stem}"
        case ["evaluate", pack, "--cc" | "--queue", name, *_]:
            return f"results/{pack}-{name}"
        case ["reproduce", document, *_]:
            return f"results/{document}"
    return ""


def _files(step: Any) -> list[str]:
    """The files that a command writes and does not replace: pages and exports, by the options that name them."""
    program, *words = step.words
    if program != "windtunnel" or step.reason or step.general or "--force" in words:
        return []
    named = pairwise(words)
    return [
        value
        for option, value in named
        if option in {"--page", "--pcapng", "--ss", "--flent", "--tc"} and Path(value).suffix
    ]


@pytest.mark.parametrize("family", TOOL.families())
def test_no_command_finds_its_folder_taken(family: str) -> None:
    """A reader who follows a family from its first command to its last is never refused: neither a folder nor a file is
    claimed twice.
    """
    steps = [step for page in TOOL.families()[family] for step in TOOL.steps(page) if step.kind == "command"]
    claimed = Counter(filter(None, map(_folder, steps)))
    for step in steps:
        claimed.update(_files(step))
    assert [name for name, count in claimed.items() if count > 1] == []


def test_what_is_not_run_is_listed_and_says_why() -> None:
    """A mark in a text excuses a command only if it is here, too."""
    excused = {step.text.partition("#")[0].strip(): step.reason for step in STEPS if step.reason}
    assert set(excused) == NOT_RUN
    assert all(len(reason.split()) > 2 for reason in excused.values())


def test_a_file_of_a_text_is_named_to_the_reader() -> None:
    """The comment that names a file is invisible; the name is in the text, too."""
    files = [step for step in STEPS if step.kind == "file"]
    assert len(files) >= 6
    for step in files:
        assert f"`{step.name}`" in step.page.read_text(encoding="utf-8"), step.name


def test_a_command_that_fails_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps run in order, in one folder, without marked ones; one that fails is named with its place."""
    page = tmp_path / "page.md"
    page.write_text(
        "Save it.\n\n<!-- file: a.toml -->\n```toml\nx = 1\n```\n\n    cp a.toml b.toml\n\n"
        "<!-- not run: the reader has no such file -->\n    cp c.toml d.toml\n\n"
        "And then\n\n    cp b.toml e.toml   # a comment\n\n"
        "Then `cp nothing.toml here.toml` and no more.\n"
    )
    monkeypatch.setattr(TOOL, "families", lambda: {"one": [page]})
    monkeypatch.setattr(TOOL, "REPOSITORY", tmp_path)
    monkeypatch.setattr(TOOL, "clean", lambda folder: None)
    (tmp_path / "folder").mkdir()
    ran = list(TOOL.run("one", tmp_path / "folder", tmp_path / "cache"))
    assert [bool(one.step.reason) for one in ran] == [False, True, False, False]
    assert [one.failure.split("\ncp:")[0] for one in ran if one.failure] == [
        "page.md:17: cp nothing.toml here.toml\nexit code 1"
    ]
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["a.toml", "b.toml", "e.toml"]


@pytest.mark.long
@pytest.mark.parametrize("family", TOOL.families())
def test_documents_run(family: str, tmp_path: Path) -> None:
    """Every command of the family's documents ends with exit code 0, in the order in which they are printed."""
    ran = list(TOOL.run(family, tmp_path, Path(os.environ["WINDTUNNEL_CACHE"])))
    assert ran
    assert [one.failure for one in ran if one.failure] == []
