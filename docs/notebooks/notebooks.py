"""Runs the notebooks: ``python docs/notebooks/notebooks.py`` writes their outputs anew, ``--check`` compares the texts.

Pictures are not compared: libraries draw them a little differently from version to version.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def notebooks() -> list[Path]:
    """All notebooks, in the order in which to read them."""
    return sorted(HERE.glob("*.ipynb"))


def executed(path: Path) -> Any:
    """The notebook with the outputs of a new kernel. Raises CellExecutionError where a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}).execute()
    # When a cell ran, and with which interpreter, differs each time.
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    return notebook


def texts(notebook: Any) -> Iterator[str]:
    """What the cells print and show as text."""
    for cell in notebook.cells:
        outputs = cell.get("outputs", ())
        # What a cell prints may come in one piece or in several.
        text = "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)
        # The size of a figure depends on the libraries' versions.
        yield re.sub(r"<Figure .*>", "<Figure>", text)


def main() -> int:
    """Run all notebooks; 1 if some differ from what they show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the texts, write nothing")
    check = parser.parse_args().check
    differ = 0
    for path in notebooks():
        new = executed(path)
        if list(texts(new)) != list(texts(nbformat.read(path, as_version=4))):
            differ += 1
            print(f"{path.name}: outputs differ")
        if not check:
            nbformat.write(new, path)
    return 1 if check and differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
