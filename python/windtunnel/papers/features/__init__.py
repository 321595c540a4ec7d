"""Numbers read off a four-panel figure, computed from a run the same way as they were read from the printed image.

A published figure's feature names a panel, a flow and a *method* such as ``max(10, 30)`` or
``fall_peak_mean(2, 30, 0.3)``; :func:`evaluate` computes it from a :class:`View` of a run. Methods live in one file per
family and register themselves.
"""

from windtunnel.papers.features import (
    bins,
    captures,
    crossings,
    extremes,
    falls,
    loss_detection,
    marks,
    overflows,
    probes,
    queues,
    rates,
    shapes,
    sharing,
    spikes,
    summary,
    transients,
    window_laws,
    windows,
)
from windtunnel.papers.features.method import METHODS, evaluate, identity
from windtunnel.papers.features.series import Series
from windtunnel.papers.features.view import Axis, RunData, View

__all__ = [
    "METHODS",
    "Axis",
    "RunData",
    "Series",
    "View",
    "bins",
    "captures",
    "crossings",
    "evaluate",
    "extremes",
    "falls",
    "identity",
    "loss_detection",
    "marks",
    "overflows",
    "probes",
    "queues",
    "rates",
    "shapes",
    "sharing",
    "spikes",
    "summary",
    "transients",
    "window_laws",
    "windows",
]
