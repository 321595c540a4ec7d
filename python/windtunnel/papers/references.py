"""Numbers in notes are references to rows, filled in when the page is built, so that no note is older than its rows.

``{{P44/five .1f}}`` is what the row P44/five measured, with one decimal; ``{{P44/five}}`` has three significant
digits. ``{{K77/share-100-* .2f}}`` is the range over the rows of that pattern, ``0.53 to 0.54``;
``{{P05a interval .2f}}`` is the row's interval, ``1.10 to 1.12``; with ``%`` as in ``{{P05a .0%}}`` the number is in
percent. ``{{P05a verdict}}`` is what became of it, ``confirmed``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from windtunnel.papers.rows import Row

#: What stands in a part of a suite for a number of the rest.
ELSEWHERE = "\N{HORIZONTAL ELLIPSIS}"
_REFERENCE = re.compile(r"\{\{(?P<row>[^\s{}]+)(?: (?P<of>interval|verdict))?(?: (?P<format>\.\d[fg%]))?\}\}")


def filled(text: str, rows: Iterable[Row], *, whole: bool) -> str:
    """``text`` with its references replaced.

    ``whole``: all of the suite was run. Raises ValueError then for a row that does not exist; in a part of the suite, a
    row of the rest is ``ELSEWHERE``.
    """
    known = {row.id: row for row in rows}

    def number(match: re.Match[str]) -> str:
        found = [row for id, row in known.items() if fnmatchcase(id, match["row"])]
        if not found and whole:
            raise ValueError(f"the notes refer to the row {match['row']}, which does not exist")
        if found and match["of"] == "verdict":
            return " or ".join(dict.fromkeys(_verdict(row) for row in found))
        values = [v for row in found for v in _values(row, interval=match["of"] == "interval")]
        if not values:
            return ELSEWHERE
        low, high = (_shown(v, match["format"] or ".3g") for v in (min(values), max(values)))
        return low if low == high else f"{low} to {high}"

    return _REFERENCE.sub(number, text)


def _verdict(row: Row) -> str:
    return "agrees weakly" if row.verdict == "weak" else row.word.text


def _values(row: Row, *, interval: bool) -> list[float]:
    wanted = row.interval or () if interval else (row.measured,)
    return [value for value in wanted if value is not None and math.isfinite(value)]


def _shown(value: float, spec: str) -> str:
    number, unit = (f"{100 * value:{spec[:-1]}f}", " %") if spec.endswith("%") else (f"{value:{spec}}", "")
    return f"{number if float(number) else number.removeprefix('-')}{unit}"
