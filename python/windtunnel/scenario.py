"""The scenario model for Python users: the same names and units as in a scenario file.

A scenario becomes TOML text and goes through the core's parser, so that there is one parser, one set of defaults and
one set of messages, wherever a scenario comes from.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

import tomli_w

from windtunnel import _core
from windtunnel.active_runs import counted
from windtunnel.errors import InputError
from windtunnel.memory import give_back
from windtunnel.memory import limit as memory_limit
from windtunnel.parts import Place, Temporary, tables_of
from windtunnel.provenance import build, host, plugins
from windtunnel.result import RunResult
from windtunnel.scenario_file import STDIN, read_text
from windtunnel.scenario_types import Bottleneck, Claim, Flow, Link, Node, Record, Reverse, Tcp, Window
from windtunnel.table import NAMES

#: Called with the share of simulated time that is done; a run stops when it returns False.
Progress: TypeAlias = Callable[[float], bool]

#: From this number of flows on, what the core leaves behind is worth giving back before the summary is read.
_MANY_FLOWS = 10_000

__all__ = ["Bottleneck", "Claim", "Flow", "Link", "Node", "Record", "Reverse", "Scenario", "Tcp", "Window"]


class Scenario:
    """A scenario to simulate. Immutable; nothing is validated before :meth:`check`, :meth:`resolve` or :meth:`run`.

    The keyword arguments are the keys of a scenario file, and quantities are strings with units; the arrays of tables
    have plural names here (``flows``, ``windows``, ``links``, ``nodes``, ``claims``). Keys without an argument of their
    own are passed on unchanged. None leaves the key out.

    A scenario may read the files that it names in its own folder and below it: the folder of its file, or the current
    one if it has none. ``allow_read`` are folders and files elsewhere that it may read as well.
    """

    __slots__ = ("_allow_read", "_built", "_file", "_overrides", "_text")

    def __init__(
        self,
        *,
        duration: str,
        flows: Sequence[Flow | Mapping[str, Any]],
        bottleneck: Bottleneck | Mapping[str, Any] | None = None,
        reverse: Reverse | Mapping[str, Any] | None = None,
        title: str | None = None,
        seed: int | None = None,
        endpoints: str | None = None,
        mtu: str | None = None,
        tcp: Tcp | Mapping[str, Any] | None = None,
        windows: Sequence[Window | Mapping[str, Any]] | None = None,
        record: Record | Mapping[str, Any] | None = None,
        links: Sequence[Link | Mapping[str, Any]] | None = None,
        nodes: Sequence[Node | Mapping[str, Any]] | None = None,
        claims: Sequence[Claim | Mapping[str, Any]] | None = None,
        allow_read: Sequence[str | Path] = (),
        **more: Any,
    ) -> None:
        table: dict[str, Any] = {
            "title": title,
            "duration": duration,
            "seed": seed,
            "endpoints": endpoints,
            "mtu": mtu,
            **more,
            "tcp": tcp,
            "record": record,
            "bottleneck": bottleneck,
            "reverse": reverse,
            "node": nodes,
            "link": links,
            "flow": flows,
            "window": windows,
            "claim": claims,
        }
        self._text = tomli_w.dumps(_plain(table))
        self._file: str | None = None
        self._overrides: tuple[str, ...] = ()
        self._allow_read = checked(allow_read)
        self._built = True

    @classmethod
    def from_toml(
        cls,
        text: str,
        *,
        file: str | None = None,
        overrides: Sequence[str] = (),
        allow_read: Sequence[str | Path] = (),
    ) -> Scenario:
        """A scenario from the text of a scenario file. ``file`` is the name that messages give, and files that the
        scenario names are searched for in its folder.

        ``overrides`` are ``key=value`` strings, as for ``windtunnel run --set``.
        """
        scenario = cls.__new__(cls)
        scenario._text, scenario._file, scenario._overrides = text, file, tuple(overrides)
        scenario._allow_read = checked(allow_read)
        scenario._built = False
        return scenario

    @classmethod
    def from_file(
        cls, path: str | Path, *, overrides: Sequence[str] = (), allow_read: Sequence[str | Path] = ()
    ) -> Scenario:
        """A scenario from a scenario file, or the standard input (``-``). Raises InputError if it cannot be read."""
        path = Path(path)
        name = "standard input" if path == STDIN else str(path)
        return cls.from_toml(read_text(path), file=name, overrides=overrides, allow_read=allow_read)

    @classmethod
    def from_table(
        cls, table: Mapping[str, Any], *, file: str | None = None, allow_read: Sequence[str | Path] = ()
    ) -> Scenario:
        """A scenario from plain data: the tables and arrays that a TOML parser makes of a scenario file.

        Messages name keys, because there are no lines.
        """
        scenario = cls.from_toml(tomli_w.dumps(_plain(table)), file=file, allow_read=allow_read)
        scenario._built = True
        return scenario

    def override(self, *overrides: str) -> Scenario:
        """The same scenario with ``key=value`` strings applied, later ones over earlier ones."""
        overrides = (*self._overrides, *overrides)
        changed = Scenario.from_toml(self._text, file=self._file, overrides=overrides, allow_read=self._allow_read)
        changed._built = self._built
        return changed

    def to_toml(self) -> str:
        """The scenario as it was given, without overrides and defaults: the text of a scenario file."""
        return self._text

    @property
    def arguments(self) -> tuple[str, str | None, tuple[str, ...], tuple[Path, ...], bool]:
        """The scenario as the core takes it, and as another process can be given it: text, name of the file, overrides,
        what may be read, and whether the text was made from arguments.
        """
        return self._text, self._file, self._overrides, self._allow_read, self._built

    def check(self) -> str:
        """Validate; returns the scenario with every default as TOML text. Raises ScenarioError."""
        text = _core.check(self._text, self._file, self._overrides, self._allow_read, self._built)
        self.check_claims()
        return text

    def check_claims(self) -> None:
        """Refuse a claim whose condition is none. Raises ScenarioError."""
        if not any("claim" in text for text in (self._text, *self._overrides)):
            return
        from windtunnel.claims.decide import of_scenario
        from windtunnel.claims.model import ClaimError

        for index, table in enumerate(self.resolve().get("claim", ())):
            try:
                of_scenario(index, table)
            except ClaimError as error:
                raise _core.error_at(f"claim[{index}].check", str(error), *self.arguments) from None

    def resolve(self) -> dict[str, Any]:
        """Validate; returns the scenario with every default as plain data. Raises ScenarioError."""
        resolved: dict[str, Any] = json.loads(self.resolve_text())
        return resolved

    def resolve_text(self) -> str:
        """The same as JSON text: equal for scenarios that mean the same, but for files that they name."""
        return _core.resolve(self._text, self._file, self._overrides, self._allow_read, self._built)

    def estimate(self) -> dict[str, Any]:
        """What a run will need, as plain data; see :func:`windtunnel._core.estimate`. Raises ScenarioError."""
        estimate: dict[str, Any] = json.loads(
            _core.estimate(self._text, self._file, self._overrides, self._allow_read, self._built)
        )
        return estimate

    def run(
        self,
        progress: Progress | None = None,
        *,
        memory: SupportsIndex | str | None = None,
        parts: Place | None = None,
        threads: int = 1,
        tell: Callable[[str], None] | None = None,
    ) -> RunResult:
        """Simulate. ``memory`` is what the run may take: bytes, or a size such as ``"8 GB"``; by default half of what
        is available. ``parts`` is where rows go that are too many for memory (:mod:`windtunnel.parts`); by default a
        temporary folder. ``threads`` share the run where that pays; the result is the same. ``tell`` is told whether
        they did, if there were to be several.

        Raises ScenarioError, also where more memory is expected to be needed; MemoryLimitError if a run needs more than
        expected; KeyboardInterrupt if ``progress`` returned False; and what a controller written in Python raises.
        """
        # The core returns NumPy arrays: without this, the import would be timed as a part of the run.
        import numpy as np  # noqa: F401

        self.check_claims()
        limit = memory_limit(memory)
        # Of this thread: other threads may be running other scenarios.
        clock = time.thread_time if threads == 1 else time.process_time
        before = clock()
        parts = parts or Temporary()
        with counted():
            raw = _core.run(
                self._text, self._file, self._overrides, progress, self._allow_read, limit, self._built,
                (parts.make, NAMES), threads,
            )  # fmt: skip
        cpu_seconds = clock() - before
        if tell is not None and threads > 1:
            shared = f"{raw.threads} threads shared the run, in parts that delays separate"
            tell(f"one thread had the whole run: {raw.undivided}" if raw.undivided else shared)
        return result_of(raw, parts, cpu_seconds)

    def __eq__(self, other: object) -> bool:
        """Whether both say the same: the same keys with the same values, however they are written.

        A quantity is the same in any unit (``"1 Gbit/s"``, ``"1000 Mbit/s"``) and a default is the same whether it is
        given or not. Texts that are no valid scenario are equal only if they are the same text.
        """
        if not isinstance(other, Scenario):
            return NotImplemented
        return self._meaning() == other._meaning()

    def __hash__(self) -> int:
        """A hash that goes with equality; it validates the scenario."""
        return hash(self._meaning())

    def _meaning(self) -> tuple[object, ...]:
        try:
            text = _core.resolve(self._text, self._file, self._overrides, self._allow_read)
        except _core.ScenarioError:
            return self._text, self._file, self._overrides, self._allow_read
        # The names of files mean something in the folder of the scenario.
        return (text, Path(self._file or "").absolute().parent) if '"trace":' in text else (text,)

    def __repr__(self) -> str:
        origin = self._file or "Python"
        return f"<Scenario from {origin}{' with ' + ', '.join(self._overrides) if self._overrides else ''}>"


def result_of(raw: _core.RunResult, parts: Place, cpu_seconds: float) -> RunResult:
    """The result of what the core has run, whose rows may be in ``parts``."""
    resolved = json.loads(raw.resolved)
    if sum(int(flow.get("count") or 1) for flow in resolved.get("flow") or ()) >= _MANY_FLOWS:
        give_back()
    summary = json.loads(raw.summary)
    meta = {
        "title": resolved.get("title") or "",
        "scenario": resolved,
        "scenario_toml": raw.toml,
        **build(),
        "seed": summary["seed"],
        "foreign": raw.foreign,
        "unseeded": raw.unseeded,
        **({"plugins": plugins(raw.foreign)} if raw.foreign else {}),
        **({"secrets": raw.secrets} if raw.secrets else {}),
        "digest": raw.digest,
        "duration_s": summary["duration_s"],
        "packets": summary["packets"],
        "events": summary["events"],
        "cpu_seconds": cpu_seconds,
        "packets_per_second": summary["packets"] / cpu_seconds if cpu_seconds > 0 else None,
        "host": host(),
    }
    return RunResult(summary, tables_of(raw.tables, parts), meta)


def checked(paths: Sequence[str | Path]) -> tuple[Path, ...]:
    """The folders and files that a scenario may read. Raises InputError for one that does not exist."""
    allowed = tuple(Path(path) for path in paths)
    for path in allowed:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder for a scenario to read")
    return allowed


def _plain(value: Any) -> Any:
    """Plain data without None values: TOML has no null. Numbers of NumPy become those of Python, arrays lists."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, Path):
        return str(value)
    # NumPy need not be loaded to know its numbers and arrays: they have this method, and no other type here does.
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(v) for v in value]
    return value
