"""The figure of "Multiplicative Decrease Scaling" (Heist, 2025): throughput, sojourn time, cwnd and marks of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from windtunnel.errors import InputError
from windtunnel.figures.draw import Window, draw
from windtunnel.figures.legible import legible
from windtunnel.figures.strips import crowded, draw_strips
from windtunnel.figures.style import RC, drawn
from windtunnel.panels import Panel, Result, Run, choose, panel_of, state
from windtunnel.panels.catalogue import DRAWN, FOUR
from windtunnel.panels.looks import flow_look
from windtunnel.panels.units import FACTORS
from windtunnel.state_tables import find_state

#: Ranges of a panel: ``(x0, x1, y0, y1)``, x in seconds, y in Mbit/s, ms, bytes or Hz. None leaves an end open.
Zoom = tuple[float | None, float | None, float | None, float | None]
#: Axes of frequencies.
Scale = Literal["auto", "linear", "log"]

#: Panels whose rates are averaged over a time that the caller chooses.
_AVERAGED = ("throughput", "io")
_PANEL_INCHES = (5.6, 3.3)
_LEGEND_ENTRIES = 24
# Names of panels here that differ from their own.
_IDS = {"mark": "marks"}


def four_panel(
    result: Result,
    *,
    title: str | None = None,
    span: tuple[float | None, float | None] = (None, None),
    zoom: Mapping[str, Zoom] | None = None,
    panels: Sequence[str] = FOUR,
    states: Sequence[str] = (),
    choices: Mapping[str, str] | None = None,
    average_s: float | None = None,
    scale: Scale = "auto",
    changes: Mapping[str, Mapping[str, Any]] | None = None,
) -> Figure:
    """Draw a run: by default two by two, all panels over the whole run.

    ``title`` (default: the scenario's) is at the top. ``span`` is the time in seconds that all panels show; ``zoom``
    gives single panels their own ranges, in the units of the tables (see :data:`Zoom`). ``panels`` chooses among those
    that can be drawn. ``states`` names numbers of the tables ``cc`` and ``aqm`` that get a panel each, behind the
    others: ``w_max_bytes``, or ``cc.w_max_bytes``. ``choices`` says what panels show that offer several things:
    ``{"cdf": "throughput"}``. ``average_s`` is the time over which throughput is averaged: by
    default 0.2 s, less in a short run; 0 draws what was recorded. ``scale`` is that of the frequencies of marks: by
    default logarithmic where they range widely. ``changes`` are fields of panels to replace, by the panels' names. At
    most about 20 000 points are drawn per panel; every extreme is among them.

    Raises InputError for an unknown panel, state or choice, or a span that is empty.
    """
    unknown = [p for p in (*panels, *(zoom or {})) if p not in DRAWN]
    if unknown or not (panels or states):
        names = ", ".join(DRAWN)
        raise InputError(f"there is no panel {unknown[0]!r}: one of {names}" if unknown else "no panel")
    run = Run(result)
    chosen = {p: panel_of(run, _IDS.get(p, p)) for p in DRAWN if p in panels}
    chosen |= {p: _changed(panel, (changes or {}).get(panel.id, {})) for p, panel in chosen.items()}
    for name, choice in (choices or {}).items():
        if name not in chosen:
            raise InputError(f"the figure has no panel {name!r} that could show {choice!r}")
        chosen[name] = choose(chosen[name], choice)
    if average_s is not None:
        chosen |= {p: replace(panel, average=average_s) for p, panel in chosen.items() if p in _AVERAGED}
    if scale != "auto" and "mark" in chosen:
        chosen["mark"] = replace(chosen["mark"], log=scale == "log")
    for table, name in (find_state(result.tables, name) for name in states):
        chosen[f"{table}.{name}"] = state.panel(run, table, name)
    columns = 1 if len(chosen) == 1 else 2
    rows = (len(chosen) + 1) // 2
    with mpl.rc_context(RC):
        width, height = _PANEL_INCHES
        figure = Figure(figsize=(columns * width, rows * height + 0.6), dpi=150)
        figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.07))
        for i, (name, panel) in enumerate(chosen.items()):
            axes = figure.add_subplot(rows, columns, i + 1)
            axes.set_label(name)
            window = _window(run, panel, span, (zoom or {}).get(name, (None,) * 4))
            if crowded(panel, window):
                draw_strips(axes, panel, window)
            else:
                draw(axes, panel, window)
        text = title if title is not None else str(getattr(result, "title", ""))
        if text:
            figure.suptitle(legible(text), fontsize=11, x=0.01, ha="left")
        if any(s.flow is not None for panel in chosen.values() for s in panel.series):
            flow_legend(figure, run, columns)
    return figure


def _changed(panel: Panel, changes: Mapping[str, Any]) -> Panel:
    """The panel with other fields; its short title would be that of a run."""
    return replace(panel, **{"short_title": "", **changes}) if changes else panel


def _window(run: Run, panel: Panel, span: tuple[float | None, float | None], zoom: Zoom) -> Window:
    if not panel.x.time:
        return _whole(panel)
    x0, x1, bottom, top = zoom
    start = next((x for x in (x0, span[0]) if x is not None), 0.0)
    end = next((x for x in (x1, span[1]) if x is not None), float(run.summary.get("duration_s") or 0) or 1.0)
    if not end > start:
        raise InputError(f"the figure would show nothing: from {start:g} s to {end:g} s")
    factor = FACTORS.get(panel.unit, 1.0)
    return Window(start, end, *(None if y is None else y / factor for y in (bottom, top)))


def _whole(panel: Panel) -> Window:
    """All of a panel whose abscissa is not time."""
    values = [s.x[np.isfinite(s.x)] for s in panel.series]
    low = min((float(v.min()) for v in values if len(v)), default=0.0)
    high = max((float(v.max()) for v in values if len(v)), default=1.0)
    if panel.x.log:
        return Window(low / 1.2, high * 1.2)
    low = min(low, 0.0)
    return Window(low, high + 0.04 * ((high - low) or 1.0))


def flow_legend(figure: Figure, run: Run, columns: int) -> None:
    """One legend for all panels that show flows, below the panels, where it covers nothing."""
    entries = [(legible(group.label), drawn(flow_look(i))) for i, group in enumerate(run.groups)]
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
