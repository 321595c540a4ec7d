"""``_core.pyi``, which is written by hand, describes the core that is installed (decision 0045)."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from windtunnel import _core

CORE = Path(str(_core.__file__))
STUB = CORE.with_name("_core.pyi")


def _class(name: str) -> ast.ClassDef:
    """A class of the stub."""
    body = ast.parse(STUB.read_text(encoding="utf-8")).body
    return next(node for node in body if isinstance(node, ast.ClassDef) and node.name == name)


def test_names_and_parameters(tmp_path: Path) -> None:
    """The stub has the names of the core, with the same attributes and with parameters of the same kinds and defaults:
    mypy's stubtest finds no difference.
    """
    # Apart from the package, which stubtest would check first. PyO3 adds `__all__`.
    for file in (CORE, STUB):
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "allowed").write_text("_core.__all__\n")
    command = [sys.executable, "-m", "mypy.stubtest", "_core", "--allowlist", "allowed"]
    paths = {"MYPYPATH": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | paths, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_attributes_of_errors() -> None:
    """An error of a scenario has the attributes that the stub gives it, which exist only once it is raised."""
    annotated = {node.target.id for node in _class("ScenarioError").body if isinstance(node, ast.AnnAssign)}
    with pytest.raises(_core.ScenarioError) as raised:
        _core.check("")
    assert vars(raised.value).keys() == annotated


def test_words_of_arguments() -> None:
    """``Needs`` takes the kinds of feedback that the stub lists, and no others."""
    listed = re.findall(r"feedback: Literal(\[.*?\])", ast.unparse(_class("Needs")))
    with pytest.raises(ValueError, match="is not a kind of feedback") as refused:
        _core.Needs(feedback="none of them")  # type: ignore[arg-type]
    assert re.split(", | or ", str(refused.value).partition(": ")[2]) == ast.literal_eval(listed[0])
