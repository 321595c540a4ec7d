"""What a capture shows of a sender directly: what answers to congestion leave, and the window against the delay."""

from __future__ import annotations

from typing import Final

import numpy as np

from windtunnel.panels.groups import NAMED
from windtunnel.panels.model import Abscissa, Choice, Index, Look, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Table

_LOSS: Final = 0
#: By the number of the cause.
_CAUSES: Final = (("losses", Look("blue", "circle")), ("marks", Look("green", "square")))
_LAW: Final = Look("orange", "plus")
_FLIGHT: Final = Look("blue", "circle")
_WINDOW: Final = Abscissa("Window before", "segments", time=False)
_RTT: Final = Abscissa("RTT", "ms", time=False)
#: Dots of a law's line.
_DOTS: Final = 30


def reductions(run: Run) -> Panel | None:
    """The share of the window that each answer left, with a choice for each of the first flows; None for all but
    captures and logs with answers.
    """
    table = run.recorded.get("reductions")
    if table is None:
        return None
    choices = []
    for flow in np.unique(table["flow"])[:NAMED].tolist():
        rows = np.flatnonzero(table["flow"] == flow)
        law = run.records[flow]["kept"] if np.any(table["cause"][rows] == _LOSS) else ("", [])
        name = run.flow(flow)
        choices.append(Choice(name, "", _answers(table, rows, "time_s", law)))
        choices.append(Choice(f"{name}, by the window before", "", _answers(table, rows, "before", law), x=_WINDOW))
    return Panel(
        "reductions", "What Losses and Marks Leave", "", choices[0].series, short_title="Answers", kind="points",
        quantity="Share left", choices=tuple(choices), shown=False, markers="all",
        note="The flight once all is repaired, as a share of the most in flight before. The law is that of the "
        "likeliest controller, for losses.",
    )  # fmt: skip


def _answers(table: Table, rows: Index, by: str, law: tuple[str, list[float]]) -> tuple[Series, ...]:
    """The law below the dots, and the dots of each cause."""
    (name, values), series = law, []
    if values:
        x = np.repeat(np.linspace(table[by][rows].min(), table[by][rows].max(), _DOTS), len(values))
        label = f"as {name} would: {' to '.join(f'{value:g}' for value in values)}"
        series.append(Series("law", label, _LAW, x, np.tile(np.asarray(values, float), _DOTS)))
    for cause, (label, look) in enumerate(_CAUSES):
        mine = rows[table["cause"][rows] == cause]
        if len(mine):
            mine = mine[np.argsort(table[by][mine], kind="stable")]
            series.append(Series(f"cause {cause}", label, look, table[by][mine], table["kept"][mine]))
    return tuple(series)


def delay(run: Run) -> Panel | None:
    """The flight against the round-trip time, without congestion, with a choice for each of the first flows; None for
    all but captures and logs.
    """
    table = run.recorded.get("delay")
    if table is None:
        return None
    choices = []
    for flow in np.unique(table["flow"])[:NAMED].tolist():
        rows = np.flatnonzero(table["flow"] == flow)
        rows = rows[np.argsort(table["rtt_ms"][rows], kind="stable")]
        dots = Series("flight", "in flight", _FLIGHT, table["rtt_ms"][rows], table["segments"][rows], flow=flow)
        choices.append(Choice(run.flow(flow), "segments", (dots,), x=_RTT))
    return Panel(
        "delay", "Window against Round-Trip Time", "segments", choices[0].series, short_title="Window", kind="points",
        quantity="In flight", x=_RTT, choices=tuple(choices), shown=False, markers="all",
        note="A dot is a round trip after slow start without losses and marks. With one flow on the path the dots are "
        "on the line of what it holds; where a window falls without a loss, they are below it.",
    )  # fmt: skip
