"""Panels: from the tables of a run to what figures and pages draw. The rules for that are here, and nowhere else."""

from windtunnel.panels.catalogue import CATALOGUE, choose, panel_of, panels_of
from windtunnel.panels.model import Abscissa, Choice, Flag, Look, Panel, Series, Ticks
from windtunnel.panels.run import Result, Run
from windtunnel.panels.thinning import thin

__all__ = [
    "CATALOGUE",
    "Abscissa",
    "Choice",
    "Flag",
    "Look",
    "Panel",
    "Result",
    "Run",
    "Series",
    "Ticks",
    "choose",
    "panel_of",
    "panels_of",
    "thin",
]
