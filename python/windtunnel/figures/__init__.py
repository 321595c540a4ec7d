"""Figures for print: safe for colour-blind readers, readable without colour too, and small enough to mail."""

from windtunnel.figures.files import png, write_figure, write_figures
from windtunnel.figures.flent_style import flent_style
from windtunnel.figures.four_panel import four_panel
from windtunnel.figures.side_by_side import side_by_side

__all__ = ["flent_style", "four_panel", "png", "side_by_side", "write_figure", "write_figures"]
