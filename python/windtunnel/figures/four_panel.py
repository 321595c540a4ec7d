"""The figure of "Multiplicative Decrease Scaling" (Heist, 2025): throughput, sojourn time, cwnd and marks of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from windtunnel.errors import InputError
from windtunnel.figures.legible import legible
from windtunnel.figures.panels import DRAW, Window, flow_looks
from windtunnel.figures.series import Result
from windtunnel.figures.state import draw_state
from windtunnel.figures.style import RC
from windtunnel.state_tables import find_state

#: Names of the panels in reading order.
PANELS = tuple(DRAW)
#: Ranges of a panel: ``(x0, x1, y0, y1)``, x in seconds, y in Mbit/s, ms, bytes or Hz. None leaves an end open.
Zoom = tuple[float | None, float | None, float | None, float | None]

_PANEL_INCHES = (5.6, 3.3)
_LEGEND_ENTRIES = 24
# Up to this many seconds, times are shown in milliseconds.
_SHORT_RUN = 0.1


def four_panel(
    result: Result,
    *,
    title: str | None = None,
    span: tuple[float | None, float | None] = (None, None),
    zoom: Mapping[str, Zoom] | None = None,
    panels: Sequence[str] = PANELS,
    states: Sequence[str] = (),
) -> Figure:
    """Draw a run: by default two by two, all panels over the whole run.

    ``title`` (default: the scenario's) stands above. ``span`` is the time in seconds that all panels show; ``zoom``
    gives single panels their own ranges, in the units of the tables (see :data:`Zoom`). ``panels`` chooses among
    :data:`PANELS`. ``states`` names numbers of the tables ``cc`` and ``aqm`` that get a panel each, behind the others:
    ``w_max_bytes``, or ``cc.w_max_bytes``. At most about 20 000 points are drawn per panel; every extreme is among
    them.

    Raises InputError for an unknown panel or state, or a span that is empty.
    """
    unknown = [p for p in (*panels, *(zoom or {})) if p not in PANELS]
    if unknown or not (panels or states):
        raise InputError(f"there is no panel {unknown[0]!r}: one of {', '.join(PANELS)}" if unknown else "no panel")
    panels = [p for p in PANELS if p in panels]
    windows = {p: _window(result, span, (zoom or {}).get(p, (None,) * 4)) for p in panels}
    found = [find_state(result.tables, name) for name in states]
    count = len(panels) + len(found)
    columns = 1 if count == 1 else 2
    rows = (count + 1) // 2
    with mpl.rc_context(RC):
        width, height = _PANEL_INCHES
        figure = Figure(figsize=(columns * width, rows * height + 0.6), dpi=150)
        figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.07))
        for i, panel in enumerate(panels):
            axes = figure.add_subplot(rows, columns, i + 1)
            axes.set_label(panel)
            DRAW[panel](axes, result, windows[panel])
            _label_time(axes, windows[panel])
        everything = _window(result, span, (None,) * 4)
        for i, (table, name) in enumerate(found, len(panels)):
            axes = figure.add_subplot(rows, columns, i + 1)
            axes.set_label(f"{table}.{name}")
            draw_state(axes, result, everything, table, name)
            _label_time(axes, everything)
        text = title if title is not None else str(getattr(result, "title", ""))
        if text:
            figure.suptitle(legible(text), fontsize=11, x=0.01, ha="left")
        if {"throughput", "cwnd"}.intersection(panels) or any(table == "cc" for table, _ in found):
            _flow_legend(figure, result, columns)
    return figure


def _window(result: Result, span: tuple[float | None, float | None], zoom: Zoom) -> Window:
    duration = float(result.summary.get("duration_s") or 0) or 1.0
    x0, x1, bottom, top = zoom
    start = next((x for x in (x0, span[0]) if x is not None), 0.0)
    end = next((x for x in (x1, span[1]) if x is not None), duration)
    if not end > start:
        raise InputError(f"the figure would show nothing: from {start:g} s to {end:g} s")
    return Window(start, end, bottom, top)


def _label_time(axes: Axes, window: Window) -> None:
    """In seconds or, for the first moments of a run, in milliseconds."""
    short = window.end < _SHORT_RUN
    axes.set_xlabel("Time (ms)" if short else "Time (s)")
    if short:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda t, _: f"{1e3 * t:g}"))


def _flow_legend(figure: Figure, result: Result, columns: int) -> None:
    """One legend for all panels that show flows, below the panels, where it covers nothing."""
    _, entries = flow_looks(result)
    shown = entries if len(entries) <= _LEGEND_ENTRIES else entries[: _LEGEND_ENTRIES - 1]
    handles = [
        Line2D(
            [], [], color=look.colour, linestyle=look.dash, marker=look.marker, markersize=5, linewidth=1.4, label=name
        )
        for name, look in shown
    ]
    if len(shown) < len(entries):
        handles.append(Line2D([], [], linestyle="none", label=f"and {len(entries) - len(shown)} more"))
    longest = max((len(name) for name, _ in shown), default=0)
    ncols = max(1, min(len(handles), columns * 70 // (longest + 8)))
    figure.legend(handles=handles, loc="outside lower center", ncols=ncols, handlelength=3.2)
