"""Figures as files."""

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from windtunnel.errors import RunFailedError
from windtunnel.figures.legible import boxes_for_missing_glyphs
from windtunnel.figures.style import RC


def write_figure(figure: Figure, path: Path, extension: str | None = None) -> None:
    """Write a figure as ``extension`` (``png``, ``svg``, ``pdf``, ``rfc-svg``; default: the file's).

    The date of writing is omitted, so that equal runs give equal files. Raises RunFailedError.
    """
    extension = (extension or path.suffix[1:]).lower()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(extension)
    try:
        with mpl.rc_context(RC), boxes_for_missing_glyphs():
            if extension == "rfc-svg":
                # What it escapes text with loads a client for HTTP.
                from windtunnel.figures.rfc_svg import write_rfc_svg

                write_rfc_svg(figure, path)
                return
            figure.savefig(path, format=extension, metadata=metadata)
    except (RuntimeError, SystemError) as error:
        # Where memory ends, FreeType and NumPy raise these instead of MemoryError.
        raise RunFailedError(f"the figure cannot be drawn, perhaps for lack of memory: {error}") from error


def write_figures(figure: Figure, paths: Sequence[Path]) -> None:
    """Write a figure in several formats, with one layout: to find it takes as long as to draw."""
    for path in paths:
        write_figure(figure, path)
        figure.set_layout_engine("none")


def png(figure: Figure, dpi: int) -> bytes:
    """A figure as the content of a PNG."""
    out = io.BytesIO()
    with boxes_for_missing_glyphs():
        figure.savefig(out, format="png", dpi=dpi)
    return out.getvalue()
