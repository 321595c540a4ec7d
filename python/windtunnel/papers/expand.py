"""Tables that stand for many: ``for = { rtt = [20, 80] }`` repeats a table with ``$rtt`` replaced by each value.

``quick_for`` has the values of the quick suite where these are fewer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from string import Template
from typing import Any


def expanded(tables: Sequence[Mapping[str, Any]], *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Each table once for every combination of the values of its ``for``; in lists of tables within it, too."""
    for table in tables:
        fewer = table.get("quick_for", {}) if quick else {}
        values: Mapping[str, Sequence[object]] = {**table.get("for", {}), **fewer}
        rest = {key: value for key, value in table.items() if key not in ("for", "quick_for")}
        for chosen in itertools.product(*values.values()):
            yield _replaced(rest, dict(zip(values, map(str, chosen), strict=True)))


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return Template(value).safe_substitute(names)
    if isinstance(value, list):
        return [_replaced(each, names) for each in value]
    if isinstance(value, dict):
        return {Template(key).safe_substitute(names): _replaced(each, names) for key, each in value.items()}
    return value
