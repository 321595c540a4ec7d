"""Small copies of pictures, for lists."""

from __future__ import annotations

import io

from PIL import Image

#: Width and height in pixels: twice those on the page, for screens that show two pixels where the page has one.
SIZE = (360, 240)
#: Colours of a copy: figures have few, and a palette is a third of the size.
_COLOURS = 32


def thumbnail(png: bytes) -> bytes:
    """A copy of a PNG within :data:`SIZE`."""
    with Image.open(io.BytesIO(png)) as picture:
        small = picture.convert("RGB")
    small.thumbnail(SIZE)
    out = io.BytesIO()
    small.quantize(_COLOURS).save(out, format="png", optimize=True)
    return out.getvalue()
