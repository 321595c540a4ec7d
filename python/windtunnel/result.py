"""The result of a run: a summary, tables, and how the run went."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

#: Columns by name; all have the same length.
Table: TypeAlias = "Mapping[str, npt.NDArray[np.generic]]"
Tables: TypeAlias = "Mapping[str, Table]"

#: Version of ``summary.json`` and of the result folder; it changes when readers have to change.
SCHEMA_VERSION = 2


@dataclass(frozen=True, repr=False)
class RunResult:
    """The result of a run. Immutable.

    ``summary``: the core's summary (see ``windtunnel._core.RunResult.summary``): ``duration_s, seed, digest, packets,
    events``, ``stalled``, and ``flows``, ``queues``, ``impairments`` and ``windows`` as lists of plain data.

    ``tables``: columns as one-dimensional NumPy arrays by table and name, the unit in the name; see
    ``windtunnel._core.RunResult.tables``. They are the core's own memory, not copies.

    ``meta``: ``title, scenario`` (resolved, plain data), ``scenario_toml`` (the same as TOML text), ``version, seed,
    foreign`` (algorithms whose code is not windtunnel's own: ``["controller my-aimd"]``), ``digest, duration_s,
    packets, events, cpu_seconds`` (of this process, in the simulation alone), ``packets_per_second`` (packets over CPU
    seconds) and ``host`` (``python, system, machine``). Only ``cpu_seconds``, ``packets_per_second`` and ``host``
    differ between runs of the same scenario and version.
    """

    summary: Mapping[str, Any]
    tables: Tables
    meta: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Hex digits; equal for equal scenario and seed, on every platform."""
        return str(self.summary["digest"])

    @property
    def title(self) -> str:
        """The scenario's title, or an empty string."""
        return str(self.meta.get("title") or "")

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The summary of each flow over the whole run."""
        return list(self.summary.get("flows", ()))

    @property
    def queues(self) -> list[dict[str, Any]]:
        """The summary of each queue over the whole run."""
        return list(self.summary.get("queues", ()))

    @property
    def windows(self) -> list[dict[str, Any]]:
        """The summary of each measurement window of the scenario."""
        return list(self.summary.get("windows", ()))

    @property
    def impairments(self) -> list[dict[str, Any]]:
        """What each impairment did to packets over the whole run."""
        return list(self.summary.get("impairments", ()))

    @property
    def stalled(self) -> dict[str, Any] | None:
        """When (``t_s``) and ``why`` nothing moved any more before the end of the run; None if that did not happen."""
        found: dict[str, Any] | None = self.summary.get("stalled")
        return found

    @cached_property
    def notes(self) -> list[dict[str, Any]]:
        """What explains the results (:mod:`windtunnel.notes`), warnings first.

        Each has ``rule, level`` (``warning`` or ``note``), ``text``, ``flow`` and ``queue`` (the name of what it is
        about, or None), and ``numbers`` (those in the text, in base units).
        """
        if "notes" in self.summary:  # of a result that was read back
            return list(self.summary["notes"])
        if not self.meta.get("scenario"):
            return []
        from windtunnel.notes import notes_after

        return [note.document() for note in notes_after(self.meta["scenario"], self.summary, self.tables)]

    @cached_property
    def fairness(self) -> list[dict[str, Any]]:
        """How equally flows share each queue; see :func:`windtunnel.fairness.fairness_of`."""
        if "fairness" in self.summary:  # of a result that was read back
            return list(self.summary["fairness"])
        if not self.meta.get("scenario"):
            return []
        from windtunnel.fairness import fairness_of

        return fairness_of(self)

    def table(self, name: str) -> pa.Table:
        """The table ``name`` as a ``pyarrow.Table``; NaN, which stands for a missing value, becomes null.

        Numbers are not copied; truth values are packed into bits.

        Raises KeyError for a table that the run did not record.
        """
        import pyarrow as pa

        if name not in self.tables:
            raise KeyError(f"no table {name!r}; there are {', '.join(sorted(self.tables))}")
        return pa.table({column: pa.array(values, from_pandas=True) for column, values in self.tables[name].items()})

    def document(self) -> dict[str, Any]:
        """The content of ``summary.json``.

        Its keys are ``schema_version``, ``meta``, ``stalled``, ``notes``, ``flows``, ``queues``, ``fairness``,
        ``impairments``, ``windows``.
        """
        meta = {key: value for key, value in self.meta.items() if key != "scenario_toml"}
        return {
            "schema_version": SCHEMA_VERSION,
            "meta": meta,
            "stalled": self.stalled,
            "notes": self.notes,
            "flows": self.flows,
            "queues": self.queues,
            "fairness": self.fairness,
            "impairments": self.impairments,
            "windows": self.windows,
        }

    def to_json(self) -> str:
        """The text of ``summary.json``."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: str | Path, *, force: bool = False, figures: bool = True) -> Path:
        """Write the result folder; see :func:`windtunnel.folder.save`."""
        from windtunnel.folder import save

        return save(self, Path(path), force=force, figures=figures)

    def __repr__(self) -> str:
        flows, seconds = len(self.flows), self.summary.get("duration_s")
        return f"<RunResult {self.title!r}: {flows} flows, {seconds:g} s, digest {self.digest}>"
