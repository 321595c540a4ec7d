"""The picture of a clause: for each judged row its margin to the limit, with the interval, on a logarithmic axis.

The dashed line in the middle is the limit; values to its right meet it. Ten times better or worse is at the edge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from windtunnel.evaluate.judge import State
from windtunnel.evaluate.results import Row

_WIDTH, _ROW, _TOP, _BOTTOM, _SIDE = 340, 13, 6, 22, 12
_COLOURS: dict[State, str] = {"agrees": "--c-good", "differs": "--c-bad"}

#: More rows than this are drawn closer together.
_MANY = 24


def margins(rows: Sequence[Row]) -> str:
    """An SVG for the page, in the page's own colours; empty where nothing was judged against a limit."""
    judged = [row for row in rows if row.margin is not None]
    if not judged:
        return ""
    step = _ROW if len(judged) <= _MANY else 7
    height = _TOP + step * len(judged) + _BOTTOM
    bottom = height - _BOTTOM
    parts = [
        f'<svg class="margins" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Margins to the limits" '
        f'style="width:100%;max-width:{_WIDTH}px;height:auto">'
    ]
    for factor in (0.1, 0.2, 0.5, 1, 2, 5, 10):
        x = _x(factor)
        dash = ' stroke-dasharray="4 3"' if factor == 1 else ""
        colour = "--c-ink" if factor == 1 else "--c-grid"
        parts.append(f'<path d="M{x:.1f} {_TOP - 4}V{bottom}" stroke="var({colour})"{dash}/>')
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 14}" font-size="10" text-anchor="middle" '
            f'fill="var(--c-soft)">{_label(factor)}</text>'
        )
    for number, row in enumerate(judged):
        assert row.margin is not None
        value, low, high = map(_x, row.margin)
        y = _TOP + step * (number + 0.5)
        colour = _COLOURS.get(row.verdict, "--c-soft")
        parts.append(f'<path d="M{low:.1f} {y}H{high:.1f}" stroke="var({colour})" stroke-width="2"/>')
        parts.append(f'<circle cx="{value:.1f}" cy="{y}" r="{3.2 if step == _ROW else 2.2}" fill="var({colour})"/>')
    return "".join([*parts, "</svg>"])


def _label(factor: float) -> str:
    return "limit" if factor == 1 else f"{factor:g}"


def _x(factor: float) -> float:
    """The place of a margin between a tenth and ten."""
    share = 0.5 if math.isnan(factor) else (math.log10(min(max(factor, 0.1), 10.0)) + 1) / 2
    return _SIDE + share * (_WIDTH - 2 * _SIDE)
