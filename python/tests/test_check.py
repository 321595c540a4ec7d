"""``make check``: which commands a change leads to. The files are made up, the rules are those of CONTRIBUTING.md."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[1] / "tools"

#: Files of tests by name, with what they say about modules.
TEXTS = {
    f"python/tests/test_{name}.py": text
    for name, text in {
        "folder": "from windtunnel.folder import load\n",
        "stage": "from windtunnel import result, stage\n",
        "sweep": 'from campaigns import FILE\n\ndef test(cli):\n    cli("sweep", "--dry-run")\n',
        "engine": "import windtunnel.engine.cache\n",
        "tools": "def test():\n    import prose\n",
    }.items()
}


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool as a module."""
    monkeypatch.syspath_prepend(str(TOOLS))
    import check

    return check


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("python/tests/test_engine.py", ["engine"]),
        ("python/tests/campaigns.py", ["sweep"]),
        ("python/windtunnel/folder.py", ["folder"]),
        ("python/windtunnel/stage.py", ["stage"]),
        ("python/windtunnel/engine/cache.py", ["engine"]),
        ("python/windtunnel/engine/__init__.py", ["engine"]),
        ("python/windtunnel/engine/threads.py", []),
        ("python/windtunnel/cli/sweep.py", ["sweep"]),
        ("python/windtunnel/table.py", []),
        ("python/tools/prose.py", ["tools"]),
        ("README.md", []),
    ],
)
def test_tests_of_a_change(check: ModuleType, file: str, tests: list[str]) -> None:
    """A file of tests stands for itself; a module for the files that import it or type its command."""
    assert check.tests_of([file], TEXTS) == [f"python/tests/test_{name}.py" for name in tests]


def test_commands_of_a_change(check: ModuleType) -> None:
    """Only what concerns the change runs: a crate's own tests, the linters for Python, the type checker for the
    package.
    """

    def made(*files: str) -> list[list[str]]:
        return [[word.removeprefix(f"{check.BIN}/") for word in words] for words in check.commands(list(files), TEXTS)]

    assert made() == []
    assert made("README.md") == [["python", "python/tools/prose.py"]]
    crate = ["-p", "windtunnel-cc"]
    assert made("crates/cc/src/lib.rs", "crates/cc/Cargo.toml") == [
        ["cargo", "fmt", "--check", *crate],
        ["python", "python/tools/prose.py"],
        ["cargo", "clippy", *crate, "--all-targets", "--", "-D", "warnings"],
        ["cargo", "test", "--quiet", *crate],
    ]
    stage = "python/windtunnel/stage.py"
    assert made(stage) == [
        ["ruff", "check", stage],
        ["ruff", "format", "--check", stage],
        ["python", "python/tools/prose.py"],
        ["mypy"],
        ["pytest", "-q", "python/tests/test_stage.py"],
    ]
    test = "python/tests/test_folder.py"
    assert ["mypy"] not in made(test) and made(test)[-1] == ["pytest", "-q", test]


def test_packages_of_crates(check: ModuleType) -> None:
    """`cargo` knows a crate by the name that the tool makes of its folder."""
    for folder in (check.REPOSITORY / "crates").iterdir():
        if (folder / "Cargo.toml").exists():
            assert f'\nname = "windtunnel-{folder.name}"\n' in (folder / "Cargo.toml").read_text(encoding="utf-8")


def test_a_step_that_fails_ends_the_check(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is that of the first command that fails; later ones do not run."""
    monkeypatch.setattr(check, "changed", lambda base: [])
    monkeypatch.setattr(check, "commands", lambda files, texts: [["true"], ["sh", "-c", "exit 3"], ["no such program"]])
    assert check.main([]) == 3


def test_what_changed(check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Committed on the branch, in the folder, and new; what was deleted has no file to check."""
    monkeypatch.setattr(check, "REPOSITORY", tmp_path)
    git = check._git
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for name in ("same", "edited", "deleted"):
        (tmp_path / name).write_text("x")
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["config", "user.name", "x"],
        ["config", "user.email", "x"],
    ):
        git(*words)
    git("commit", "-q", "-m", "x")
    git("checkout", "-q", "-b", "branch")
    (tmp_path / "committed").write_text("x")
    git("add", ".")
    git("commit", "-q", "-m", "y")
    (tmp_path / "edited").write_text("y")
    (tmp_path / "deleted").unlink()
    (tmp_path / "new").write_text("x")
    assert check.changed(None) == ["committed", "edited", "new"]
    assert check.changed("HEAD") == ["edited", "new"]
