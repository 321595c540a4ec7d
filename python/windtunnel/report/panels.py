"""Panels as a page receives them: descriptions (JSON) whose series point into binary columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.panels.model import Abscissa, Choice, Flag, Look, Panel, Series, Ticks
from windtunnel.report.columns import Columns

_U16_MAX = 65_535


def encoded(panel: Panel, columns: Columns) -> dict[str, Any]:
    """A panel; its data go into ``columns``."""
    return {
        "id": panel.id,
        "title": panel.title,
        "unit": panel.unit,
        "kind": panel.kind,
        "x": _abscissa(panel.x),
        "log": panel.log,
        "flag": None if panel.flag is None else _flag(panel.flag),
        "series": _series(panel.series, columns),
        "thresholds": _series(panel.thresholds, columns),
        "threshold": panel.threshold,
        "ticks": [_ticks(ticks, columns) for ticks in panel.ticks],
        "choices": [_choice(choice, columns) for choice in panel.choices],
        "averages": list(panel.averages),
        "average": panel.average,
        "changes": [list(change) for change in panel.changes],
        "empty": panel.empty,
        "note": panel.note,
        "shown": panel.shown,
    }


def _abscissa(x: Abscissa) -> dict[str, Any]:
    return {"label": x.label, "unit": x.unit, "time": x.time, "log": x.log}


def _flag(flag: Flag) -> dict[str, Any]:
    return {"label": flag.label, "marker": flag.marker, "colour": flag.colour}


def _choice(choice: Choice, columns: Columns) -> dict[str, Any]:
    return {
        "name": choice.name,
        "unit": choice.unit,
        "log": choice.log,
        "x": _abscissa(choice.x),
        "series": _series(choice.series, columns),
    }


def _look(look: Look) -> dict[str, Any]:
    return {"colour": look.colour, "marker": look.marker, "dash": list(look.dash)}


def _series(every: Sequence[Series], columns: Columns) -> list[dict[str, Any]]:
    return [
        {
            "key": s.key,
            "label": s.label,
            **_look(s.look),
            "flow": s.flow,
            "gap": s.gap,
            "step": s.step,
            "marked": s.marked,
            "columns": _columns(s, columns),
        }
        for s in every
    ]


def _columns(s: Series, columns: Columns) -> dict[str, Any]:
    data = {"t": columns.add_scaled(s.x), "v": columns.add(s.y, "f32")}
    if s.flag is not None and s.flag.any():
        data["flag"] = columns.add(s.flag, "u8")
    if s.who is not None:
        data["who"] = columns.add(np.maximum(s.who, 0), "u16")
    for name, bound in (("low", s.low), ("high", s.high)):
        if bound is not None:
            data[name] = columns.add(bound, "f32")
    return data


def _ticks(ticks: Ticks, columns: Columns) -> dict[str, Any]:
    counts = {"retransmits": ticks.retransmits, "rtos": ticks.rtos}
    data = {name: columns.add(np.minimum(values, _U16_MAX), "u16") for name, values in counts.items()}
    return {
        "key": ticks.key,
        "label": ticks.label,
        "colour": ticks.look.colour,
        "flow": ticks.flow,
        "row": ticks.row,
        "timeouts": bool(np.any(ticks.rtos)),
        "columns": {"t": columns.add_scaled(ticks.x), **data},
    }
