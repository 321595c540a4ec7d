"""The notebooks: each runs, and shows what it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"


def test_outputs_are_those_of_a_run(tmp_path: Path) -> None:
    """A new kernel prints in every cell what the notebook shows."""
    # IPython writes its settings into this folder.
    env = {**environment(), "IPYTHONDIR": str(tmp_path), "PYTHONPATH": str(NOTEBOOKS.parents[1] / "python")}
    command = [sys.executable, str(NOTEBOOKS / "notebooks.py"), "--check"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_whole(path: Path) -> None:
    """It has a picture, results in every code cell, something to change, and is small enough for a repository."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in code)
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell["outputs"])
    assert any("**Change it.**" in "".join(cell["source"]) for cell in cells)
    assert path.stat().st_size < 500_000
