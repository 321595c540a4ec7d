"""Which version and commit the documents are of, and the list of versions that a deployment may extend."""

from __future__ import annotations

import json
import subprocess
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent


def release() -> str:
    """The program's version."""
    return version("windtunnel")


def commit() -> str:
    """The commit of the sources, in twelve digits, with a + if files differ from it; nothing without Git."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return f"{head}+" if _git("status", "--porcelain", "--untracked-files=no") else head
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=HERE, capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def written(folder: Path) -> str:
    """A folder with ``versions.json``, which has this version alone; the site's top gets it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps([{"name": release(), "commit": commit(), "url": "./"}], indent=2)
    (folder / "versions.json").write_text(f"{text}\n", encoding="utf-8")
    return str(folder)
