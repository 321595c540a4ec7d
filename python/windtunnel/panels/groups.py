"""Groups: what is shown where flows are more than a reader can tell apart.

The flows of a group differ only in the number at the end of their names, or have the same controller. A group is shown
by its sum, its median, the range from the 10th to the 90th percentile, and Jain's index; a few of its flows by name on
demand.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.panels.model import Array

#: With more flows than this, equals are one group: a legend of them says the same many times.
FEW = 12
#: With more flows than this, colours and dashes no longer tell them apart: groups are shown instead.
MANY = 24
#: The percentiles between which most flows of a group are.
BAND = (10.0, 90.0)
#: The number of flows of a group that are offered by name.
NAMED = 5


@dataclass(frozen=True)
class Group:
    """A flow, or flows that are shown together: ``label`` is ``"cubic x 1000"``, ``members`` are their indices."""

    label: str
    members: tuple[int, ...]

    @property
    def several(self) -> bool:
        """Whether it is more than one flow."""
        return len(self.members) > 1


def groups_of(
    names: Sequence[str],
    controllers: Sequence[str] = (),
    terms: Sequence[Hashable] | None = None,
    *,
    few: int = FEW,
) -> list[Group]:
    """The groups of flows in the order of their first members.

    Up to ``few`` flows each are their own; up to :data:`MANY`, those are together that differ in the number of
    their names alone, and in nothing of ``terms``, which are what is known of each flow. Without ``terms`` none are.
    """
    if len(names) <= few or (len(names) <= MANY and terms is None):
        return [Group(name, (i,)) for i, name in enumerate(names)]
    if terms is not None and len(names) <= MANY:
        return _together(names, list(zip(map(stem, names), terms, strict=True)), [stem(name) for name in names])
    groups = by_stem(names)
    if len(groups) > MANY and len(controllers) == len(names):
        groups = _together(names, controllers, controllers)
    return groups


def stem(name: str) -> str:
    """A name without the number at its end."""
    return re.sub(r"[\s._#:/-]*\d+$", "", name) or name


def by_stem(names: Sequence[str]) -> list[Group]:
    """Flows whose names differ only in the number at the end form a group."""
    stems = [stem(name) for name in names]
    return _together(names, stems, stems)


def _together(names: Sequence[str], keys: Sequence[Hashable], labels: Sequence[str]) -> list[Group]:
    members: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        members.setdefault(key, []).append(index)
    return [
        Group(
            f"{labels[each[0]]} \N{MULTIPLICATION SIGN} {len(each)}" if len(each) > 1 else names[each[0]], tuple(each)
        )
        for each in members.values()
    ]


def median_and_band(values: Array) -> tuple[Array, Array, Array]:
    """Over the columns of a matrix: the median and the ends of the band of each row; NaN where a row has none."""
    out = np.full((3, len(values)), np.nan)
    # Sorted, NaN is at the end: rows with equally many values are done at once.
    ordered = np.sort(values, axis=1)
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    for count in distinct(counts[np.isfinite(values).any(axis=1)]):
        rows = counts == count
        out[:, rows] = np.percentile(ordered[rows, :count], (50.0, *BAND), axis=1)
    return out[0], out[1], out[2]


def named(group: Group, values: Array) -> list[int]:
    """A few flows of a group that stand for all: with the least, the greatest, and the values between at equal ranks.

    ``values`` are one number for each member.
    """
    order = np.argsort(np.where(np.isfinite(values), values, -np.inf), kind="stable")
    ranks = distinct(np.round(np.linspace(0, len(order) - 1, NAMED)).astype(np.int64))
    return sorted(group.members[i] for i in order[ranks])
