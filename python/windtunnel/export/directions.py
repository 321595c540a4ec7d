"""Which way each flow goes, for tools that tell uploads from downloads.

Such a tool runs at one end of the path. Where flows go both ways, that is the end to which the faster direction leads,
as at home; in equal directions the first flow is an upload. Where all flows go one way, the tool is where they come
from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.export.connections import groups_of_flows
from windtunnel.export.tc.words import bits_per_s
from windtunnel.result import RunResult


def downloads(result: RunResult) -> list[bool]:
    """Whether each flow is a download."""
    scenario: Mapping[str, Any] = result.meta.get("scenario") or {}
    groups = groups_of_flows(scenario, len(result.flows))
    ways = [(_links(group, "path"), _links(group, "reverse")) for group in groups]
    there, back = ways[0] if ways else ((), ())
    others = [bool(set(path) & set(back) or set(reverse) & set(there)) for path, reverse in ways]
    if not any(others):
        return [False] * len(result.flows)
    rates = {str(link.get("name")): link.get("rate") for link in scenario.get("link", ())}
    other = ways[others.index(True)][0]
    firsts_are_downloads = _narrowest(there, rates) > _narrowest(other, rates)
    return [is_other != firsts_are_downloads for is_other in others]


def _links(group: Mapping[str, Any], key: str) -> Sequence[str]:
    return tuple(map(str, group.get(key) or ()))


def _narrowest(path: Sequence[str], rates: Mapping[str, object]) -> float:
    """The least rate on a path; a trace, and a link without a rate, count as faster than any."""
    speeds = [bits_per_s(rate) for name in path if isinstance(rate := rates.get(name), str)]
    return min(speeds, default=math.inf)
