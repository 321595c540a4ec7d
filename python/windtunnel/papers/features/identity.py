"""When two measurements are one: methods that have several names, and panels whose extremes are one symbol."""

from __future__ import annotations

from windtunnel.experiment.measures.language import call_of
from windtunnel.papers.features.view import Axis

#: By method: the one that it is another name of, and the arguments that this one has first.
_FIRST = {"first_fall_t": "fall_t", "first_mark_t": "mark_t"}
#: Extremes of a whole panel: its axis ends at the peak of a series, which may be that of the only one.
_EXTREME = {"peak", "axis_y_max"}


def identity(panel: str, flow: str, method: str, axis: Axis) -> str:
    """What is measured. Extremes of a panel's series are one here; whether they are the same shows in their values."""
    name, arguments = call_of(method)
    if name in _EXTREME:
        return f"{panel} peak"
    if name in _FIRST:
        name, arguments = _FIRST[name], [1.0, *arguments]
    if panel == "summary":
        return f"{flow} {method}"
    listed = ", ".join(str(float(a)) if isinstance(a, int | float) else repr(a) for a in arguments)
    return f"{panel} {flow} {name}({listed}) in pixels of {axis.bin_width:.6g} s and {axis.step:.6g}"
