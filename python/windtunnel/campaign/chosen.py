"""What a campaign chooses: its seeds, the cells that all others are compared with, and the part that is quick."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from windtunnel.campaign.errors import CampaignError
from windtunnel.errors import did_you_mean
from windtunnel.experiment.axes import Block, inline

MOST_SEEDS = 1_000_000
#: A baseline: values of axes, by name.
Baseline: TypeAlias = Mapping[str, Any]
#: What the values of each axis are called.
Labels: TypeAlias = Mapping[str, Sequence[str]]
_OF_QUICK = ("seeds", "only")


@dataclass(frozen=True)
class Quick:
    """The quick part of a campaign: its seeds, None for all, and the values of axes that it keeps."""

    seeds: tuple[int, ...] | None
    only: tuple[tuple[str, tuple[str, ...]], ...]


def seeds_of(path: Sequence[str | int], value: object) -> tuple[int, ...] | None:
    """Seeds: their number, counted from 1, or a list. Raises CampaignError."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_SEEDS:
            raise CampaignError(path, f"{value} is not allowed: from 1 to {MOST_SEEDS}, or a list of seeds", value)
        return tuple(range(1, value + 1))
    if isinstance(value, Sequence | range) and not isinstance(value, str) and value:
        seeds = tuple(value)
        if all(isinstance(s, int) and not isinstance(s, bool) and 0 <= s < 2**63 for s in seeds):
            if len(set(seeds)) < len(seeds):
                raise CampaignError(path, "a seed is there twice: it would give the same run", value)
            return seeds
    raise CampaignError(path, f"{value!r} is not allowed: the number of seeds, or a list of whole numbers", value)


def baselines_of(baselines: object, axes: Labels, blocks: Sequence[Block]) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The baselines, each with the labels of its values. Raises CampaignError."""
    if not isinstance(baselines, Mapping | Sequence) or isinstance(baselines, str):
        msg = f'{baselines!r} is not allowed: values of axes, such as {{ cc = "reno" }}, or a list of such'
        raise CampaignError(["baseline"], msg, baselines)
    several = not isinstance(baselines, Mapping)
    checked = []
    for index, table in enumerate(baselines if several else [baselines] if baselines else []):
        path: list[str | int] = ["baseline", index] if several else ["baseline"]
        if not isinstance(table, Mapping) or not table:
            raise CampaignError(path, f'{table!r} is not allowed: values of axes, such as {{ cc = "reno" }}', table)
        labels = tuple((str(name), _label([*path, name], name, value, axes)) for name, value in table.items())
        _check_zips(path, dict(labels), blocks)
        checked.append(labels)
    return tuple(checked)


def quick_of(table: object, axes: Labels) -> Quick:
    """From ``{"seeds": 2, "only": {"rate": ["10 Mbit/s"]}}``. Raises CampaignError."""
    if not isinstance(table, Mapping) or not table:
        problem = f"{table!r} is not allowed: a table with `seeds`, and `only` with lists of values by axis"
        raise CampaignError(["quick"], problem, table)
    for key in table:
        if key not in _OF_QUICK:
            hint = did_you_mean(str(key), _OF_QUICK)
            raise CampaignError(["quick", key], f"is not a key here; the keys are {', '.join(_OF_QUICK)}{hint}", key)
    only = table.get("only", {})
    if not isinstance(only, Mapping):
        raise CampaignError(["quick", "only"], f"{only!r} is not allowed: lists of values by axis", only)
    kept = []
    for name, values in only.items():
        path: list[str | int] = ["quick", "only", name]
        if not isinstance(values, list | tuple) or not values:
            raise CampaignError(path, f"{values!r} is not allowed: a list of values of this axis", values)
        kept.append((str(name), tuple(_label(path, name, value, axes) for value in values)))
    return Quick(seeds_of(["quick", "seeds"], table.get("seeds")), tuple(kept))


def _label(path: Sequence[str | int], name: str, value: object, axes: Labels) -> str:
    """What a value of an axis is called. Raises CampaignError where there is no such value or axis."""
    if name not in axes:
        names = ", ".join(axes) or "none"
        raise CampaignError(path, f"is no axis; there are {names}{did_you_mean(name, axes)}", name)
    label = value if isinstance(value, str) else inline(value)
    if label not in axes[name]:
        hint = did_you_mean(label, axes[name])
        raise CampaignError(path, f"{value!r} is no value of this axis: {', '.join(axes[name][:20])}{hint}", value)
    return label


def _check_zips(path: Sequence[str | int], table: Mapping[str, str], blocks: Iterable[Block]) -> None:
    """Axes of a zip have values together: a baseline must name some that are side by side."""
    for block in blocks:
        named = [(axis, table[axis.name]) for axis in block.axes if axis.name in table]
        if block.kind == "zip" and named:
            rows = range(len(block.axes[0].values))
            if not any(all(axis.values[row].label == label for axis, label in named) for row in rows):
                raise CampaignError(path, "the values are never side by side in their zip")
