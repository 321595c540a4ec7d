"""Tables of groups: where flows are many, a row for each group instead of one for each flow.

A count is the sum of the group's (``Sigma 1234``); any other number is the median and, in brackets, the range from the
10th to the 90th percentile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from windtunnel.metrics import jain_index
from windtunnel.panels.groups import BAND
from windtunnel.panels.run import Run
from windtunnel.report.text import NOTHING, number

Record = Mapping[str, Any]

_NUMBERS = {bool, int, float}
_EN_DASH = "\N{EN DASH}"
_SUM = "\N{GREEK CAPITAL LETTER SIGMA}\N{NARROW NO-BREAK SPACE}"


def gathered(records: Sequence[Record], run: Run) -> list[tuple[str, list[Record]]]:
    """The labels and records of the groups, in their order; the sizes of transfers apart."""
    return [(label, [records[index] for index in mine]) for label, mine in places_of_groups(records, run)]


def places_of_groups(records: Sequence[Record], run: Run) -> list[tuple[str, list[int]]]:
    """The same with the places of the records."""
    labels = run.group_labels
    groups: dict[tuple[str, str], list[int]] = {}
    for index, record in enumerate(records):
        name = str(record["name"])
        key = labels.get(name, name), str(record.get("size", ""))
        if key in groups:
            groups[key].append(index)
        else:
            groups[key] = [index]
    return [(label, mine) for (label, _), mine in groups.items()]


def together(values: Sequence[Any], show: Callable[[Any], str] = number) -> str:
    """The values of a group as one text."""
    present = [value for value in values if value is not None]
    if not present:
        return NOTHING
    types = set(map(type, present))
    if types == {int}:
        return _SUM + show(sum(present))
    if all(value == present[0] for value in present):
        return show(present[0])
    if types <= _NUMBERS:
        low, middle, high = np.percentile(present, (BAND[0], 50.0, BAND[1]))
        return f"{show(float(middle))} ({show(float(low))}{_EN_DASH}{show(float(high))})"
    kinds = len(set(map(str, present)))
    return f"{kinds} kinds" if kinds < len(present) else f"{len(present)} values"


def shares(records: Sequence[Record], run: Run) -> list[Record]:
    """What the flows of each group got, as records: sum, median, percentiles and Jain's index of their throughputs."""
    out: list[Record] = []
    for label, mine in gathered(records, run):
        # A capture tells the goodput alone.
        rates = np.array([float(one.get("throughput_mbps", one.get("goodput_mbps", 0.0))) for one in mine])
        low, middle, high = np.percentile(rates, (BAND[0], 50.0, BAND[1]))
        out.append(
            {
                "name": label,
                "flows": len(mine),
                "sum_mbps": float(rates.sum()),
                "median_mbps": float(middle),
                "p10_mbps": float(low),
                "p90_mbps": float(high),
                "jain": float(jain_index(rates)) if len(rates) > 1 else None,
            }
        )
    return out
