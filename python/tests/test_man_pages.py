"""The manual pages are those of the commands, and man shows them without a complaint."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def test_pages_follow_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are what the generator makes of the commands' options."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "python" / "tools"))
    import man_pages

    written = {file.name: file.read_text(encoding="utf-8") for file in man_pages.TARGET.iterdir()}
    assert written == man_pages.pages(), "run `make man`"


def test_man_shows_them() -> None:
    """Every page is shown, with name and options, and groff has no warning."""
    man = shutil.which("man")
    if man is None or shutil.which("groff") is None:
        pytest.skip("needs man and groff (Debian: apt-get install man-db groff)")
    for file in sorted((REPOSITORY / "man").rglob("*.1")):
        done = subprocess.run([man, "--warnings", "-l", str(file)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), file.name
        assert file.stem in done.stdout and "--help" in done.stdout, file.name
