"""What a figure shows, as a hash: equal where data, colours, marks and words are, whatever the fonts and the renderer.

A committed picture carries the hash of what was drawn into it, so that a picture older than its scenario or than the
drawing code is found by drawing again, without a comparison of pixels.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from PIL import Image, PngImagePlugin

#: Where a PNG has the hash.
KEY = "drawn"

#: The colours of a picture's file: lines, their edges and a few marks need no more, and it is a third as large.
COLOURS = 64


@contextmanager
def figures() -> Iterator[list[Figure]]:
    """The figures that are saved meanwhile."""
    seen: list[Figure] = []
    save = Figure.savefig

    def kept(figure: Figure, *arguments: Any, **options: Any) -> None:
        seen.append(figure)
        save(figure, *arguments, **options)

    Figure.savefig = kept  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        Figure.savefig = save  # type: ignore[method-assign]


def digest(figure: Figure) -> str:
    """16 hex digits of what is drawn. Numbers count with six digits: the last ones are the machine's. Ticks do not
    count: how many there are depends on fonts.
    """
    shown, ticks = [_numbers(figure.get_size_inches())], set()
    for axes in figure.axes:
        shown += [axes.get_xscale(), axes.get_yscale(), _numbers(axes.get_xlim()), _numbers(axes.get_ylim())]
        for axis in (axes.xaxis, axes.yaxis):
            ticks |= {part for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()) for part in tick.findobj()}
    shown += [text for artist in figure.findobj() if artist not in ticks for text in _artist(artist)]
    return hashlib.sha256("\n".join(shown).encode()).hexdigest()[:16]


def _artist(artist: Artist) -> list[str]:
    """What one artist shows; nothing for those that are only layout."""
    if not artist.get_visible():
        return []
    match artist:
        case Text():
            return [artist.get_text(), _colour(artist.get_color())]
        case Line2D():
            look = [_colour(artist.get_color()), str(artist.get_linestyle()), str(artist.get_marker())]
            return [*look, artist.get_drawstyle(), _numbers(artist.get_xydata())]
        case Collection():
            vertices = [_numbers(path.vertices) for path in artist.get_paths()]
            colours = [*map(_colour, artist.get_facecolor()), *map(_colour, artist.get_edgecolor())]
            return [*vertices, _numbers(artist.get_offsets()), *colours]
        case Patch():
            return [_numbers(artist.get_path().vertices), _colour(artist.get_facecolor())]
    return []


def _colour(colour: Any) -> str:
    return to_hex(colour, keep_alpha=True)


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.6g}" for value in np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel())


def keep(drawn: Path, figure: Figure, picture: Path) -> None:
    """Write what was drawn as the committed picture, small and with its hash."""
    about = PngImagePlugin.PngInfo()
    about.add_text(KEY, digest(figure))
    with Image.open(drawn) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(picture, optimize=True, pnginfo=about)


def write(figure: Figure, picture: Path) -> None:
    """Draw a figure, and keep it as the committed picture."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / picture.name
        figure.savefig(file)
        keep(file, figure, picture)


def kept(picture: Path) -> str:
    """The hash in a committed picture, or nothing."""
    with Image.open(picture) as image:
        return str(image.info.get(KEY, ""))
