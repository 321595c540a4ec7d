"""The columns of the data set: what a row says about a cell, a run and a flow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from windtunnel.campaign.model import SCENARIO
from windtunnel.campaign.plan import Cell, Plan
from windtunnel.experiment.axes import Value

if TYPE_CHECKING:
    import pyarrow as pa

#: The numbers of a flow: their column, and the path in its summary. A number that a flow does not have is null.
OF_FLOW = {
    "path_rtt_ms": ("path_rtt_ms",),
    "throughput_mbps": ("throughput_mbps",),
    "goodput_mbps": ("goodput_mbps",),
    **{f"rtt_ms.{key}": ("rtt_ms", key) for key in ("min", "mean", "p50", "p95", "p99", "max")},
    **{f"cwnd_bytes.{key}": ("cwnd_bytes", key) for key in ("min", "mean", "max")},
    **{key: (key,) for key in ("sent", "retransmits", "loss_episodes", "rtos", "ce_marks", "sce_marks")},
    "transfers.completed": ("transfers", "completed"),
    **{f"transfers.time_ms.{key}": ("transfers", "time_ms", key) for key in ("mean", "p50", "p95", "p99")},
    "datagrams.loss_ratio": ("datagrams", "loss_ratio"),
    "datagrams.jitter_ms": ("datagrams", "jitter_ms"),
    **{f"datagrams.one_way_ms.{key}": ("datagrams", "one_way_ms", key) for key in ("mean", "p50", "p95", "p99")},
}  # fmt: skip


class AxisColumns:
    """The columns of the axes. An axis of numbers is a number; one of quantities is a text, and its number in seconds,
    bytes or bits per second is in ``NAME.number`` next to it.
    """

    def __init__(self, plan: Plan) -> None:
        self._names = plan.axes
        self._numbers = {axis.name for axis in plan.campaign.axes if axis.numeric and not _has_units(axis.values)}
        self._quantities = {axis.name for axis in plan.campaign.axes if axis.numeric} - self._numbers

    def schema(self) -> Iterable[tuple[str, pa.DataType]]:
        """Names and types."""
        import pyarrow as pa

        for name in self._names:
            yield name, pa.float64() if name in self._numbers else pa.dictionary(pa.int32(), pa.string())
            if name in self._quantities:
                yield f"{name}.number", pa.float64()

    def of(self, cell: Cell) -> dict[str, Any]:
        """The values of a cell."""
        row: dict[str, Any] = {}
        for name, value in zip(self._names, cell.values, strict=True):
            row[name] = value.number if name in self._numbers else value.label
            if name in self._quantities:
                row[f"{name}.number"] = value.number
        return row


def _has_units(values: Iterable[Value]) -> bool:
    return any(not _is_number(value.label) for value in values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def number_at(record: Mapping[str, Any], path: Iterable[str]) -> float | None:
    """A number of a flow's summary."""
    value: Any = record
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def known(value: float) -> float | None:
    """A number; null for NaN and infinity, which readers treat in many ways."""
    return value if math.isfinite(value) else None


def where(plan: Plan, cell: Cell) -> str:
    """A cell in words: ``bottleneck.rate = 10 Mbit/s, cc = reno``."""
    pairs = zip(plan.axes, cell.values, strict=True)
    return ", ".join(f"{name} = {value.label}" for name, value in pairs) or SCENARIO
