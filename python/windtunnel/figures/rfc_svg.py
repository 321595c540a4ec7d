"""Figures in the SVG profile of RFCs (RFC 7996, a subset of SVG 1.2 Tiny): black on white, text in a generic font.

Matplotlib's own SVG has style sheets, clip paths and pictures, which the profile lacks. Here the figure draws itself
through a renderer that knows only paths and text, and that cuts lines at the edges of their panels itself. There is no
grey: a line is known by its dashes and markers. Grid lines and shaded ranges, which only colour could keep in the
background, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from matplotlib.backend_bases import FigureCanvasBase, GraphicsContextBase, RendererBase
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextToPath
from matplotlib.transforms import Affine2D, Bbox, Transform

#: Points per inch: lengths in the file are points.
_DPI = 72.0
#: Paler than this, on white, is the background.
_PALE = 0.8
#: The thinnest stroke: hairlines vanish in print.
_THINNEST = 0.4


def write_rfc_svg(figure: Figure, path: Path) -> None:
    """Write the figure. Text that is a formula becomes outlines, because the profile has no superscripts."""
    canvas, dpi = figure.canvas, figure.dpi
    FigureCanvasBase(figure)
    figure.set_dpi(_DPI)
    try:
        width, height = (_DPI * inches for inches in figure.get_size_inches())
        renderer = _Renderer(width, height)
        figure.draw(renderer)
        path.write_text(renderer.document(), encoding="utf-8", newline="\n")
    finally:
        figure.set_dpi(dpi)
        figure.set_canvas(canvas)


class _Renderer(RendererBase):
    """Draws into elements of the profile."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__()
        self.width, self.height = width, height
        self._out: list[str] = []

    def document(self) -> str:
        """What was drawn, as a file."""
        width, height = _short(self.width), _short(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}">'
        )
        return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *self._out, "</svg>", ""])

    def get_canvas_width_height(self) -> tuple[float, float]:
        """In points."""
        return self.width, self.height

    def points_to_pixels(self, points: Any) -> Any:
        """A pixel is a point."""
        return points

    def flipy(self) -> bool:
        """Ordinates grow downwards in SVG; those of text come so, those of paths do not."""
        return True

    def draw_path(
        self, gc: GraphicsContextBase, path: Outline, transform: Transform, rgbFace: Any = None  # noqa: N803
    ) -> None:  # fmt: skip
        """A line, or an area that may have an outline."""
        fill = _fill(rgbFace, gc.get_alpha() if gc.get_forced_alpha() else None)
        stroke = _stroke(gc)
        if fill is None and stroke is None:
            return
        bounds = gc.get_clip_rectangle()
        box = Bbox.from_bounds(0, 0, self.width, self.height) if bounds is None else Bbox(bounds.get_points())
        if rgbFace is None:
            data = self._data(path.iter_segments(transform, clip=(box.x0, box.y0, box.x1, box.y1), simplify=None))
        else:
            placed = transform.transform_path(path)
            if not _within(placed.get_extents(), box):
                placed = placed.clip_to_bbox(box)
            data = self._data(placed.iter_segments())
        self._add(data, fill, stroke)

    def draw_markers(
        self,
        gc: GraphicsContextBase,
        marker_path: Outline,
        marker_trans: Transform,
        path: Outline,
        trans: Transform,
        rgbFace: Any = None,  # noqa: N803
    ) -> None:
        """The same outline at each vertex of a path: one element for all."""
        fill, stroke = _fill(rgbFace, None), _stroke(gc)
        if fill is None and stroke is None:
            return
        bounds = gc.get_clip_rectangle()
        places = [
            (x, y)
            for x, y in (vertices[-2:] for vertices, _ in path.iter_segments(trans, simplify=False))
            if np.isfinite(x) and np.isfinite(y) and (bounds is None or _holds(bounds, x, y))
        ]
        if not places:
            return
        shape = marker_path.transformed(marker_trans)
        if fill == "black" and shape.codes is not None and np.isin(Outline.CURVE4, shape.codes):
            # A dot is a line without length whose ends are round: thousands of outlines would make a file of megabytes.
            across = _short(shape.get_extents().width)
            dots = dict.fromkeys(f"M{_short(x)} {_short(self.height - y)}h0" for x, y in places)
            round_ends = [("stroke", "black"), ("stroke-width", across), ("stroke-linecap", "round")]
            self._add("".join(dots), None, round_ends)
            return
        moved = (shape.transformed(Affine2D().translate(x, y)) for x, y in places)
        self._add("".join(self._data(one.iter_segments(simplify=False)) for one in moved), fill, stroke)

    def draw_image(self, *_args: Any, **_more: Any) -> None:
        """The profile has no pictures."""

    def draw_text(
        self, gc: GraphicsContextBase, x: float, y: float, s: str, prop: Any, angle: float, ismath: Any = False,
        mtext: Any = None,
    ) -> None:  # fmt: skip
        """Text in the reader's own sans-serif."""
        if ismath:
            outlines = TextToPath()
            vertices, codes = outlines.get_text_path(prop, s, ismath=True)
            scale = prop.get_size_in_points() / outlines.FONT_SCALE
            transform = Affine2D().scale(scale).rotate_deg(angle).translate(x, self.height - y)
            formula = Outline(np.asarray(vertices), np.asarray(codes))
            self._add(self._data(formula.iter_segments(transform, simplify=False)), "black", None)
            return
        anchor = "start"
        if mtext is not None and not angle:
            # The reader's font is not the one that was measured: what is centred stays so.
            anchor = {"center": "middle", "right": "end"}.get(mtext.get_ha(), anchor)
            x = float(mtext.get_transform().transform(mtext.get_unitless_position())[0])
        size = _short(prop.get_size_in_points())
        weight = ' font-weight="bold"' if prop.get_weight() in ("bold", 700) else ""
        turned = f' transform="rotate({_short(-angle)} {_short(x)} {_short(y)})"' if angle else ""
        self._out.append(
            f'<text x="{_short(x)}" y="{_short(y)}" font-family="sans-serif" font-size="{size}"{weight} fill="black" '
            f'text-anchor="{anchor}"{turned}>{escape(s)}</text>'
        )

    def _data(self, segments: Iterator[tuple[Any, Any]]) -> str:
        """The attribute ``d`` of a path."""
        parts = []
        for vertices, code in segments:
            if code == Outline.CLOSEPOLY:
                parts.append("z")
                continue
            points = np.asarray(vertices).reshape(-1, 2) @ [[1, 0], [0, -1]] + [0, self.height]
            parts.append(_COMMANDS[int(code)] + " ".join(_short(v) for v in points.ravel()))
        return "".join(parts)

    def _add(self, data: str, fill: str | None, stroke: Iterable[tuple[str, str]] | None) -> None:
        if not data:
            return
        keys = [("fill", fill or "none"), *(stroke or [("stroke", "none")])]
        attributes = " ".join(f'{key}="{value}"' for key, value in keys)
        self._out.append(f'<path {attributes} d="{data}"/>')


_COMMANDS = {int(Outline.MOVETO): "M", int(Outline.LINETO): "L", int(Outline.CURVE3): "Q", int(Outline.CURVE4): "C"}


def _short(value: float) -> str:
    """A length to a tenth of a point, which is thinner than any line."""
    return f"{round(float(value), 1) + 0.0:.1f}".removesuffix(".0")


def _paleness(colour: Any, alpha: float | None) -> float:
    """The lightness of a colour on white: 1 is white."""
    red, green, blue, own = to_rgba(colour)
    alpha = own if alpha is None else alpha
    return 1 - alpha * (1 - (0.2126 * red + 0.7152 * green + 0.0722 * blue))


def _fill(colour: Any, alpha: float | None) -> str | None:
    """Black, or white where something must be covered; a shade that lets others through is left out."""
    if colour is None:
        return None
    opacity = to_rgba(colour)[3] if alpha is None else alpha
    if opacity < 1:
        return None
    return "white" if _paleness(colour, alpha) > _PALE else "black"


def _stroke(gc: GraphicsContextBase) -> list[tuple[str, str]] | None:
    """The attributes of a stroke; None without one."""
    width = gc.get_linewidth()
    # The lines of many flows are translucent: they are lines nevertheless.
    if not width or _paleness(gc.get_rgb()[:3], None) > _PALE:
        return None
    attributes = [("stroke", "black"), ("stroke-width", _short(max(width, _THINNEST)))]
    offset, dashes = gc.get_dashes()
    if dashes is not None:
        attributes.append(("stroke-dasharray", " ".join(map(_short, np.asarray(dashes, dtype=np.float64).ravel()))))
        if offset:
            attributes.append(("stroke-dashoffset", _short(offset)))
    return attributes


def _holds(box: Bbox, x: float, y: float) -> bool:
    """Whether a marker at a place is in a panel; on its edge it is whole."""
    room = 0.5
    return bool(box.x0 - room <= x <= box.x1 + room and box.y0 - room <= y <= box.y1 + room)


def _within(extents: Bbox, box: Bbox) -> bool:
    return bool(box.x0 <= extents.x0 and extents.x1 <= box.x1 and box.y0 <= extents.y0 and extents.y1 <= box.y1)
