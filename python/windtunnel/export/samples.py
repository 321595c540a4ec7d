"""The time series of each flow, as rows like those that other tools sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from windtunnel.errors import InputError
from windtunnel.export.connections import Connection, connections
from windtunnel.metrics import Cells
from windtunnel.result import RunResult

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """The intervals of one flow: ``time`` is their ends in seconds."""

    connection: Connection
    time: Array
    columns: dict[str, Array]

    def get(self, name: str) -> Array | None:
        """A column, or None if the run did not record it for this flow."""
        return self.columns[name] if name in self._recorded else None

    @cached_property
    def _recorded(self) -> frozenset[str]:
        return frozenset(name for name, values in self.columns.items() if np.isfinite(values).any())

    @property
    def outstanding(self) -> Array:
        """Bytes sent and not acknowledged; for loss-free endpoints the bytes in flight, which are the same."""
        unacked = self.get("unacked_bytes")
        return self["in_flight_bytes"] if unacked is None else unacked

    @property
    def delivery_rate(self) -> Array:
        """The sender's rate samples in Mbit/s, or the goodput if the sender takes none."""
        sampled = self.get("delivery_rate_mbps")
        return self["goodput_mbps"] if sampled is None else sampled

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def between(self, begin: float, end: float) -> Samples:
        """The intervals that overlap the time from one to the other."""
        lengths = np.diff(self.time, prepend=0.0)
        mine = (self.time > begin) & (self.time - lengths < end)
        return Samples(self.connection, self.time[mine], {name: values[mine] for name, values in self.columns.items()})


def samples(result: RunResult) -> list[Samples]:
    """The samples of all flows, in order. Raises InputError for a run without time series."""
    table = result.tables.get("flows")
    if table is None or not len(table["time_s"]):
        raise InputError("the result has no time series of flows to export")
    # Connections of an emulation have rows from their start on; all have the same times here.
    cells, flows = Cells(table["time_s"], table["flow"]), connections(result)
    matrices = {name: cells.matrix(values, len(flows)) for name, values in table.items() if name != "flow"}
    matrices["time_s"] = np.broadcast_to(cells.times[:, None], matrices["time_s"].shape)
    return [
        Samples(flow, cells.times, {name: matrix[:, flow.index] for name, matrix in matrices.items()}) for flow in flows
    ]


def sockets(result: RunResult) -> list[Samples]:
    """The samples of the flows that are TCP connections. Raises InputError if there is none."""
    flows = [flow for flow in samples(result) if flow.connection.is_socket]
    if not flows:
        raise InputError("the result has no TCP connection to export")
    return flows


def moments(flows: list[Samples]) -> Iterator[tuple[float, int, Samples]]:
    """Every sample in order of time, then of flows: its time, its index in the flow's columns, the flow."""
    for row in range(max(len(flow.time) for flow in flows)):
        for flow in flows:
            if row < len(flow.time):
                yield float(flow.time[row]), row, flow


def cumulative(flow: Samples, name: str) -> Array | None:
    """A column of counts per interval, accumulated from the start of the run."""
    counts = flow.get(name)
    return None if counts is None else np.nancumsum(counts)
