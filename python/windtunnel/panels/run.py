"""A run as the panels see it: its tables, the names of its flows and queues, and their looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from windtunnel.metrics import Cells
from windtunnel.panels.groups import FEW, MANY, Group, groups_of
from windtunnel.panels.looks import flow_look
from windtunnel.panels.model import Array, Index, Look, Panel
from windtunnel.panels.tables import Table, Tables, last_time, rows
from windtunnel.stored import coarse


class Result(Protocol):
    """What panels need of a result; ``windtunnel.RunResult`` has it."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """The core's summary."""
        ...

    @property
    def tables(self) -> Tables:
        """Columns by table and name."""
        ...


class Run:
    """A result, with what several panels ask of it."""

    def __init__(self, result: Result) -> None:
        self.tables = coarse(result.tables)
        self.recorded = result.tables
        self.summary = result.summary
        self._scenario: Mapping[str, Any] = (getattr(result, "meta", None) or {}).get("scenario") or {}
        #: Other words than usual for what a capture shows in place of a run: by the names of counters, mostly.
        self.labels: Mapping[str, str] = result.summary.get("labels") or {}
        self.records: list[Mapping[str, Any]] = list(result.summary.get("flows", ()))
        self.flows = [str(one.get("name", f"flow {i}")) for i, one in enumerate(self.records)]
        self.queues = [str(one.get("name", f"queue {i}")) for i, one in enumerate(result.summary.get("queues", ()))]

    @cached_property
    def duration_s(self) -> float:
        """The end of the run, which panels over time reach."""
        return max(float(self.summary.get("duration_s") or 0.0), last_time(self.tables)) or 1.0

    @cached_property
    def changes(self) -> tuple[tuple[float, str], ...]:
        """When something changed during the run, in seconds, and what."""
        changes = [(change["t_s"], change["what"]) for change in self.summary.get("changes") or ()]
        return tuple((float(time), str(what)) for time, what in changes if time is not None)

    def dated(self, panel: Panel) -> Panel:
        """The panel, with what changed during the run if it is over time."""
        return replace(panel, changes=self.changes) if panel.x.time and self.changes else panel

    @cached_property
    def groups(self) -> list[Group]:
        """The flows, each by itself unless they are many."""
        return self.groups_beyond(FEW)

    def groups_beyond(self, few: int) -> list[Group]:
        """The flows, each by itself up to ``few`` of them."""
        # Flows of one entry of a scenario have these in common; for a flow without a known path they are not known.
        # Many flows are not compared by them.
        same = ("cc", "application", "path_rtt_ms")
        terms = [
            (str(one.get("run", "")), *(str(one[key]) for key in same)) if all(key in one for key in same) else index
            for index, one in enumerate(self.records[: MANY + 1])
        ]
        # Flows of several runs (a comparison) are never one group: their names begin with that of their run.
        kinds = [
            f"{one['run']}: {one.get('cc', 'flows')}" if "run" in one else str(one.get("cc", "flows"))
            for one in self.records
        ]
        return groups_of(self.flows, kinds, terms, few=few)

    @cached_property
    def group_of(self) -> Index:
        """The place of each flow's group among ``groups``."""
        group_of = np.zeros(len(self.flows), dtype=np.int64)
        for index, group in enumerate(self.groups):
            group_of[list(group.members)] = index
        return group_of

    @cached_property
    def group_labels(self) -> dict[str, str]:
        """The label of each flow's group, by the flow's name."""
        return {self.flows[member]: group.label for group in self.groups for member in group.members}

    @cached_property
    def grouped(self) -> bool:
        """Whether some flows are shown as groups."""
        return any(group.several for group in self.groups)

    def is_shared(self, flows: Iterable[int]) -> bool:
        """Whether the data of these flows pass a link together: what they have in sum is not told of separate links,
        nor of several runs.
        """
        members = list(flows)
        if self._of_runs and len({self.record(flow).get("run") for flow in members}) > 1:
            return False
        if not self._paths or not members or max(members) >= len(self._paths):
            return True
        # Flows of one entry have one path.
        return bool(frozenset.intersection(*set(map(self._paths.__getitem__, members))))

    @cached_property
    def _of_runs(self) -> bool:
        """Whether flows are of several runs."""
        return any("run" in one for one in self.records)

    @cached_property
    def _paths(self) -> list[frozenset[str]]:
        """The links that the data of each flow pass, where the scenario is a graph of links; else all share one."""
        if "link" not in self._scenario:
            return []
        setups = self._scenario.get("flow") or ()
        return [frozenset(flow.get("path") or ()) for flow in setups for _ in range(int(flow.get("count") or 1))]

    @cached_property
    def looks(self) -> list[Look]:
        """The look of each flow, which is that of its group."""
        looks = [flow_look(index) for index in range(len(self.groups))]
        return [looks[index] for index in self.group_of.tolist()]

    @cached_property
    def intervals(self) -> Table:
        """The rows of the flows' intervals."""
        return rows(self.tables, "flows")

    def look(self, flow: int) -> Look:
        """A flow's look, even if the summary does not know the flow."""
        return self.looks[flow] if flow < len(self.looks) else flow_look(flow)

    def flow(self, index: int) -> str:
        """A flow's name, even if the summary does not know the flow."""
        return self.flows[index] if 0 <= index < len(self.flows) else f"flow {index}"

    def queue(self, index: int) -> str:
        """A queue's name, even if the summary does not know the queue."""
        return self.queues[index] if 0 <= index < len(self.queues) else f"queue {index}"

    def class_of(self, queue: int, index: int) -> str:
        """What a class of a queue is called: by its own name where there is one queue."""
        queues = self.summary.get("queues", ())
        classes = queues[queue].get("classes") or () if 0 <= queue < len(queues) else ()
        name = str(classes[index]["name"]) if 0 <= index < len(classes) else f"class {index}"
        return name if len(self.queues) == 1 else f"{self.queue(queue)}: {name}"

    def record(self, flow: int) -> Mapping[str, Any]:
        """A flow's summary; empty if there is none."""
        return self.records[flow] if 0 <= flow < len(self.records) else {}

    def matrix(self, column: str) -> tuple[Array, Array]:
        """The ends of the intervals, and a column of all flows: shapes ``(t,)`` and ``(t, flows)``."""
        if column not in self.intervals:
            return np.empty(0), np.empty((0, len(self.flows)))
        return self._cells.times, self._cells.matrix(self.intervals[column], len(self.flows))

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.intervals["time_s"], self.intervals["flow"])
