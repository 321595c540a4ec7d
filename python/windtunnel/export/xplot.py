"""xplot: the four plots of the figure in the colours and symbols of "Multiplicative Decrease Scaling" (Heist, 2025).

Flow ``i`` has the ``i``-th colour below; the sum of n flows is crosses of colour n; a window that limits is a cross in
the colour of flow ``i + 2``. Sojourn times are white, red where the queue was empty after the dequeue. SCE marks are
white dots, CE yellow crosses, drops red crosses.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from windtunnel import _core
from windtunnel.panels import cwnd, marks, sojourn, throughput
from windtunnel.panels.tables import Samples
from windtunnel.result import RunResult

Array = npt.NDArray[np.float64]
XplotSeries = tuple[str, str, Array, Array]

_COLOURS = ("white", "green", "red", "blue", "yellow", "purple", "orange", "magenta", "pink")
_MARKS = (("white", "dot"), ("yellow", "x"), ("red", "x"))


def write_xplot(result: RunResult, folder: Path) -> None:
    """Write ``throughput.xpl``, ``sojourn.xpl``, ``cwnd.xpl`` and ``mark.xpl`` with every recorded point."""
    flows = len(result.flows)
    plots: dict[str, tuple[str, str, list[XplotSeries]]] = {
        "throughput": (
            "IP Throughput",
            "Throughput (Mbit/s)",
            [
                (_colour(s.index), "dot", s.t, s.y) if s.index >= 0 else (_colour(flows), "x", s.t, s.y)
                for s in throughput.samples(result.tables)
            ],
        ),
        "sojourn": (
            "Queue Sojourn Time (red: queue empty after dequeue)",
            "Sojourn time (ms)",
            [
                (colour, "dot", s.t[mask], s.y[mask])
                for s in sojourn.samples(result.tables)
                for colour, mask in (("white", ~_flag(s)), ("red", _flag(s)))
            ],
        ),
        "cwnd": (
            "cwnd (x: flow is cwnd-limited)",
            "cwnd (bytes)",
            [
                (_colour(s.index + 2 * (symbol == "x")), symbol, s.t[mask], s.y[mask])
                for s in cwnd.samples(result.tables)
                for symbol, mask in (("dot", ~_flag(s)), ("x", _flag(s)))
            ],
        ),
        "mark": (
            "Mark Frequency - SCE:white, CE:yellow, drop:red",
            "Frequency (Hz)",
            [
                (*_MARKS[kind], s.t[s.y > 0], s.y[s.y > 0])
                for kind, *_ in marks.KINDS
                for s in marks.samples(result.tables, kind)
            ],
        ),
    }
    for name, (title, y_label, series) in plots.items():
        text = _core.xplot(title, "Time (s)", y_label, _contiguous(series))
        (folder / f"{name}.xpl").write_text(text, encoding="utf-8")


def _flag(s: Samples) -> npt.NDArray[np.bool_]:
    return np.zeros(len(s.t), dtype=np.bool_) if s.flag is None else s.flag


def _colour(index: int) -> str:
    return _COLOURS[index] if index < len(_COLOURS) else "white"


def _contiguous(series: Sequence[XplotSeries]) -> list[XplotSeries]:
    return [(c, s, np.ascontiguousarray(x), np.ascontiguousarray(y)) for c, s, x, y in series if len(x)]
