"""Figures as files."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from windtunnel.figures.style import RC


def write_figure(figure: Figure, path: Path, extension: str | None = None) -> None:
    """Write a figure as ``extension`` (``png``, ``svg``, ``pdf``; default: the file's).

    The date of writing is omitted, so that equal runs give equal files.
    """
    extension = (extension or path.suffix[1:]).lower()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(extension)
    with mpl.rc_context(RC):
        figure.savefig(path, format=extension, metadata=metadata)
