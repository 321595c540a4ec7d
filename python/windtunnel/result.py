"""The result of a run: a summary, tables, and how the run went."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from windtunnel import _core
from windtunnel.stored import StoredTables, coarse
from windtunnel.table import Table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

    from windtunnel.table import Column

#: Tables by name.
Tables: TypeAlias = Mapping[str, Table]

#: The number of flows in a piece of ``summary.json``.
_PIECE = 1000


@dataclass(frozen=True, init=False, repr=False)
class RunResult:
    """The result of a run. Immutable.

    ``summary``: the core's summary (see ``windtunnel._core.RunResult.summary``): ``duration_s, seed, digest, packets,
    events``, ``stalled``, and lists of plain data: ``flows``, ``queues``, ``impairments``, ``windows``, ``changes``.

    ``tables``: columns as one-dimensional NumPy arrays by table and name, the unit in the name; see
    ``windtunnel._core.RunResult.tables``. They are the core's own memory, not copies. Other libraries read a table as
    Arrow, see :class:`windtunnel.Table`.

    ``meta``: ``title, scenario`` (resolved, plain data), ``scenario_toml`` (the same as TOML text), ``version, seed,
    foreign`` (algorithms whose code is not windtunnel's own: ``["controller my-aimd"]``), ``unseeded`` (what drew
    random numbers that the seed does not decide, so that another run may differ), ``digest, duration_s,
    packets, events, cpu_seconds`` (of this process, in the simulation alone), ``packets_per_second`` (packets over CPU
    seconds) and ``host`` (``python, system, machine``); where payloads are recorded, also ``secrets`` (the lines of a
    TLS key log, RFC 9850). Only ``cpu_seconds``, ``packets_per_second``, ``host`` and ``secrets`` differ between runs
    of the same scenario and version.
    """

    summary: Mapping[str, Any]
    tables: Tables
    meta: Mapping[str, Any]

    def __init__(
        self, summary: Mapping[str, Any], tables: Mapping[str, Mapping[str, Column]], meta: Mapping[str, Any]
    ) -> None:
        if not isinstance(tables, StoredTables):
            tables = {name: t if isinstance(t, Table) else Table(t) for name, t in tables.items()}
        for name, value in {
            "summary": summary,
            "tables": tables,
            "meta": meta,
        }.items():
            object.__setattr__(self, name, value)  # immutable from here on

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
    def changes(self) -> list[dict[str, Any]]:
        """What changed during the run: ``what``, ``t_s`` in seconds, and ``when``, the condition, if it had one.

        ``t_s`` is None where the condition was never met.
        """
        return list(self.summary.get("changes", ()))

    @property
    def stalled(self) -> dict[str, Any] | None:
        """When (``t_s``) and ``why`` nothing moved any more before the end of the run; None if that did not happen."""
        stall: dict[str, Any] | None = self.summary.get("stalled")
        return stall

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

        return [note.document() for note in notes_after(self.meta["scenario"], self.summary, coarse(self.tables))]

    @cached_property
    def fairness(self) -> list[dict[str, Any]]:
        """How equally flows share each queue; see :func:`windtunnel.notes.fairness.fairness_of`."""
        if "fairness" in self.summary:  # of a result that was read back
            return list(self.summary["fairness"])
        if not self.meta.get("scenario"):
            return []
        from windtunnel.notes.fairness import fairness_of

        return fairness_of(self)

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """The claims of the scenario, decided by this run alone.

        Each has ``name, text, check, verdict`` (``confirmed``, ``refuted`` or ``undecided``), ``value`` (of what the
        condition limits), and ``why`` there is none.
        """
        if "claims" in self.summary:  # of a result that was read back
            return list(self.summary["claims"])
        if not (self.meta.get("scenario") or {}).get("claim"):
            return []
        from windtunnel.claims.decide import of_run

        return of_run(self)

    def fairness_between(self, from_s: float, to_s: float) -> list[dict[str, Any]]:
        """The same for a part of the run, in seconds: ``result.fairness_between(20, 60)``.

        Raises InputError for a part that is empty, or of a result whose scenario is not known.
        """
        from windtunnel.errors import InputError
        from windtunnel.notes.fairness import fairness_of

        if not to_s > from_s:
            raise InputError(f"from {from_s:g} s to {to_s:g} s there is no time")
        if not self.meta.get("scenario"):
            raise InputError("the scenario of this result is not known, and so not who shares which queue")
        return fairness_of(self, (from_s, to_s))

    def table(self, name: str) -> pa.Table:
        """The table ``name`` as a ``pyarrow.Table``; NaN, which stands for a missing value, becomes null.

        Numbers are not copied; truth values are packed into bits.

        Raises KeyError for a table that the run did not record, and MissingExtraError if pyarrow is not installed.
        """
        return self._recorded(name).to_arrow()

    def to_pandas(self, name: str) -> pd.DataFrame:
        """The table ``name`` as a ``pandas.DataFrame``.

        Raises KeyError for a table that the run did not record, and MissingExtraError if pandas is not
        installed.
        """
        return self._recorded(name).to_pandas()

    def to_polars(self, name: str) -> pl.DataFrame:
        """The table ``name`` as a ``polars.DataFrame``; a missing value is null.

        Raises KeyError for a table that the run did not record, and MissingExtraError if Polars or pyarrow is not
        installed.
        """
        return self._recorded(name).to_polars()

    def _recorded(self, name: str) -> Table:
        if name not in self.tables:
            raise KeyError(f"no table {name!r}; there are {', '.join(sorted(self.tables))}")
        return self.tables[name]

    def document(self) -> dict[str, Any]:
        """The content of ``summary.json``.

        Its keys are ``schema_version``, ``meta``, ``stalled``, ``notes``, ``flows``, ``queues``, ``fairness``,
        ``impairments``, ``windows``, ``changes``, ``claims``.
        """
        from windtunnel.contract import SCHEMA_VERSION

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
            "changes": self.changes,
            "claims": self.claims,
        }

    def to_json(self) -> str:
        """The text of ``summary.json``."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """The same in pieces: the text of a million flows takes as much memory as their run."""
        document = self.document()
        keys, flows = list(document), document["flows"]
        flows_at = keys.index("flows")
        before, after = (
            _indented({key: document[key] for key in part}) for part in (keys[:flows_at], keys[flows_at + 1 :])
        )
        opening, closing = '{\n  "flows": [', "\n  ]\n}"
        yield before.removesuffix("\n}") + "," + opening.removeprefix("{")
        for first in range(0, len(flows), _PIECE):
            piece = _indented({"flows": flows[first : first + _PIECE]})
            yield ("," if first else "") + piece[len(opening) : -len(closing)]
        yield ("\n  ]" if flows else "]") + "," + after.removeprefix("{") + "\n"

    def plot(
        self,
        panels: Sequence[str] | None = None,
        *,
        states: Sequence[str] = (),
        span: tuple[float | None, float | None] = (None, None),
        title: str | None = None,
        flent: bool = False,
    ) -> Figure:
        """A figure of the run, as ``windtunnel plot`` draws it: a Matplotlib figure, which a notebook shows.

        ``panels``: ``"throughput"``, ``"sojourn"``, ``"cwnd"``, ``"mark"``; all, unless ``states`` names numbers of the
        controllers' or queues' state to draw. ``span``: seconds from and to. ``flent``: rates and round-trip times on
        two axes, as Flent does. Raises InputError for what is not there.
        """
        from windtunnel.notebook import plot

        return plot(self, panels, states=states, span=span, title=title, flent=flent)

    def _repr_html_(self) -> str:
        """The interactive page in a notebook. The notebook's file grows by its size each time: 0.3 MB for seconds of
        two flows, a few MB for a run of minutes; a page of more than 8 MB is not shown.
        """
        from windtunnel.notebook import page

        return page(self)

    def save(self, path: str | Path, *, force: bool = False, figures: bool = False) -> Path:
        """Write the result folder; see :func:`windtunnel.folder.save`."""
        from windtunnel.folder import save

        return save(self, Path(path), force=force, figures=figures)

    def __repr__(self) -> str:
        flows, seconds = len(self.flows), self.summary.get("duration_s")
        return f"<RunResult {self.title!r}: {flows} flows, {seconds:g} s, digest {self.digest}>"


def _indented(document: Mapping[str, Any]) -> str:
    """JSON with line breaks."""
    return _core.indented(json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
