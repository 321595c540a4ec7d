"""Flows grouped by their names, for figures with more flows than a reader can tell apart."""

from __future__ import annotations

import re
from collections.abc import Sequence


def by_name(flow_names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Flows as (label, indices); flows whose names differ only in the number at the end form a group: ``("reno x 6",
    [0, 1, ...])``.
    """
    by_stem: dict[str, list[int]] = {}
    for i, name in enumerate(flow_names):
        by_stem.setdefault(re.sub(r"[\s._#:/-]*\d+$", "", name) or name, []).append(i)
    return [
        (f"{stem} \N{MULTIPLICATION SIGN} {len(each)}" if len(each) > 1 else flow_names[each[0]], each)
        for stem, each in by_stem.items()
    ]
