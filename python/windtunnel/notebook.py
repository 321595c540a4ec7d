"""Results in notebooks: the page of a run as a part of the notebook, and figures that show themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.estimate import size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from windtunnel.result import RunResult

#: The largest page that is put into a notebook, in bytes. The notebook's file grows by the page wherever it is shown.
LARGEST_PAGE = 8 << 20

_HEIGHT = 640
_DPI = 80
#: A time from which and one to which; None leaves an end open.
Span = tuple[float | None, float | None]


def page(result: RunResult) -> str:
    """HTML that shows the run's page in a frame of its own; for a page that is too large, a line that says so."""
    from windtunnel.report import write_report

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.html")
        write_report(result, file, title=result.title or "run")
        html = file.read_text(encoding="utf-8")
    if len(html) > LARGEST_PAGE:
        return (
            f"<p>{escape(repr(result))}: its page has {size(len(html))}, too much for a notebook. "
            "<code>result.save(folder)</code> writes it, <code>result.plot()</code> draws it.</p>"
        )
    # In a sandbox, the page's script reaches neither the notebook nor its server.
    return (
        f'<iframe srcdoc="{escape(html)}" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
    )


def plot(
    result: RunResult,
    panels: Sequence[str] | None,
    *,
    states: Sequence[str],
    span: Span,
    title: str | None,
    flent: bool,
) -> Figure:
    """A figure of the run, which notebooks show; see :meth:`windtunnel.RunResult.plot`."""
    from windtunnel.errors import InputError
    from windtunnel.extras import need

    need("matplotlib", "plot")
    from windtunnel.figures import flent_style, four_panel
    from windtunnel.panels.catalogue import FOUR

    if flent:
        if panels or states:
            raise InputError("flent is a figure of its own: leave out panels and states")
        figure = flent_style(result, title=title, span=span)
    else:
        chosen = panels if panels is not None else () if states else FOUR
        figure = four_panel(result, title=title, span=span, panels=chosen, states=states)
    # IPython asks an object for this method. Matplotlib's own way into notebooks is pyplot, which keeps every figure
    # in memory until it is closed.
    vars(figure)["_repr_png_"] = lambda: _png(figure)
    return figure


def _png(figure: Figure) -> bytes:
    import matplotlib as mpl

    from windtunnel.figures import png
    from windtunnel.figures.style import RC

    with mpl.rc_context(RC):
        return png(figure, _DPI)
