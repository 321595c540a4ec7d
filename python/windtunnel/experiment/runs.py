"""A run of a campaign: the scenario with its settings to what is kept of it, in any thread, process or machine.

What is kept is the summary, and the values of metrics that need a table. Metrics that read only the summary are
evaluated when they are asked for: a metric that is added later needs no new run.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
import zlib
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from windtunnel import _core
from windtunnel.active_runs import counted
from windtunnel.engine.cache import KEY_BYTES, core, key_of
from windtunnel.engine.work import GoOn
from windtunnel.errors import failed_in_words
from windtunnel.experiment.measures import Expression, MetricError, NotToldError
from windtunnel.experiment.scales import Scale
from windtunnel.memory import limit
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario

_FAST = 1


_BY_INTERVAL = {"flows", "queues", "bands", "classes"}
_STATE = {"cc", "aqm", "qdisc"}
#: An interval that is longer than any run.
_NEVER = "1000000 h"


@dataclass(frozen=True)
class Run:
    """One run of a cell. ``text`` to ``built`` are the scenario, as the core takes it."""

    cell: int
    index: int
    """Among the runs of the cell."""
    text: str
    file: str | None
    overrides: tuple[str, ...]
    allow_read: tuple[Path, ...]
    built: bool
    recording: tuple[str, ...]
    """Settings that leave out what no metric reads."""
    metrics: tuple[str, ...]
    """The texts of the metrics that need a table."""
    memory: int | None
    """What it may hold, in bytes; None: what the machine that runs it has for one run."""
    key: bytes
    """What decides its outcome."""


@dataclass(frozen=True)
class Outcome:
    """The encoded record of a run; its error, if it failed; and whether another run might have another one."""

    data: bytes
    error: str = ""
    foreign: bool = False
    reused: bool = False
    """Whether it is of an earlier run."""


@dataclass(frozen=True)
class Record:
    """What is kept of a run. ``error`` is the message of a run that failed, which has nothing else."""

    summary: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, float | None] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    """Why a metric that needs a table has no value."""
    digest: str = ""
    foreign: tuple[str, ...] = ()
    """What the run depends on besides scenario, seed and version: code of others, and random numbers without a seed."""
    error: str = ""
    untold: tuple[str, ...] = ()
    """The metrics among those with a problem whose state the run's controller does not have or tell."""
    text: str = field(default="", compare=False, repr=False)
    """The summary as the core wrote it, which needs not be written again."""

    def encode(self) -> bytes:
        """As bytes, for the cache."""
        rest = {
            "values": self.values, "problems": self.problems, "digest": self.digest, "foreign": self.foreign,
            "error": self.error, "untold": self.untold,
        }  # fmt: skip
        summary = self.text or json.dumps(self.summary, allow_nan=False)
        text = f'{json.dumps(rest, separators=(",", ":"), allow_nan=False)[:-1]},"summary":{summary}}}'
        return zlib.compress(text.encode(), _FAST)

    @classmethod
    def decode(cls, data: bytes) -> Record:
        """Back from bytes."""
        plain = json.loads(zlib.decompress(data))
        fields = {name: plain[name] for name in ("summary", "values", "problems", "digest", "error")}
        return cls(**fields, foreign=tuple(plain["foreign"]), untold=tuple(plain["untold"]))

    def value(self, metric: Expression) -> tuple[float, str]:
        """The value of a metric, or NaN and why there is none."""
        if self.error:
            return math.nan, ""
        if metric.text in self.problems:
            return math.nan, self.problems[metric.text]
        if metric.tables:
            value = self.values.get(metric.text)
            return math.nan if value is None else value, ""
        try:
            return metric.value(self._result), ""
        except MetricError as error:
            return math.nan, str(error)

    @cached_property
    def _result(self) -> RunResult:
        """The run without its tables."""
        return RunResult(self.summary, {}, {})

    def scale(self, metric: Expression) -> Scale:
        """The scale of a metric: that of its kind, and of Jain's index for as many flows as this run has."""
        flows = metric.flows if metric.kind == "jain" else None
        return Scale.of(metric.kind, math.nan if flows is None else self.value(flows)[0])

    def answers(self, metrics: Iterable[str]) -> bool:
        """Whether these metrics, which need a table, were asked for in this run, and it did not fail."""
        return not self.error and all(text in self.values or text in self.problems for text in metrics)


class Simulate:
    """The work of a run: to its record."""

    def __call__(self, task: Run, go_on: GoOn) -> Outcome:
        """The record; of a failed run too."""
        return encoded(attempt(task, go_on))

    def lost(self, task: Run, why: str) -> Outcome:
        """The record of a run that ended its process."""
        del task
        return encoded(Record(error=why))


def attempt(run: Run, go_on: GoOn) -> Record:
    """The record of a run; of a failed one too. Raises KeyboardInterrupt."""
    return attempted(lambda: simulate(run, go_on))


def attempted(make: Callable[[], Record]) -> Record:
    """What ``make`` returns, or the record of a run that failed. Raises KeyboardInterrupt."""
    try:
        return make()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the core's panics are not Exceptions; any error concerns this run only
        return failed(error)


def failed(error: BaseException) -> Record:
    """The record of a run that raised."""
    expected = isinstance(error, _core.ScenarioError | _core.MemoryLimitError | OSError)
    return Record(error=str(error) if expected else failed_in_words(error))


def encoded(record: Record) -> Outcome:
    """A record as it is kept."""
    return Outcome(record.encode(), record.error, bool(record.foreign))


def simulate(run: Run, go_on: GoOn) -> Record:
    """Run it, and evaluate the metrics that need its tables."""
    metrics = [_parsed(text) for text in run.metrics]
    tables = frozenset[str]().union(*(metric.tables for metric in metrics))
    overrides = (*run.overrides, *run.recording)
    memory = limit(None) if run.memory is None else run.memory
    with counted():
        raw = _core.run(run.text, run.file, overrides, lambda _: go_on(), run.allow_read, memory, run.built)
    result = RunResult(json.loads(raw.summary), raw.tables if tables else {}, {})
    return record_of(result, metrics, raw.digest, (*raw.foreign, *raw.unseeded), raw.summary)


def record_of(
    result: RunResult, metrics: Iterable[Expression], digest: str, foreign: tuple[str, ...] = (), text: str = ""
) -> Record:
    """What is kept of a result: its summary, whose ``text`` need not be written again, and the values of metrics."""
    values, problems, untold = {}, {}, list[str]()
    for metric in metrics:
        try:
            value = metric.value(result)
            values[metric.text] = value if math.isfinite(value) else None
        except MetricError as error:
            problems[metric.text] = str(error)
            if isinstance(error, NotToldError):
                untold.append(metric.text)
    return Record(result.summary, values, problems, digest, foreign, untold=tuple(untold), text=text)


def recording(tables: Set[str]) -> tuple[str, ...]:
    """The settings of ``[record]`` where only ``tables`` are read: other rows would only take time.

    Recording changes neither a run nor its summary, but for the count of events.
    """
    settings = []
    if not tables & (_BY_INTERVAL | _STATE):
        settings.append(f'record.interval="{_NEVER}"')
    if not tables & _STATE:
        settings.append('record.state="off"')
    if not any(table.endswith("_points") for table in tables):
        settings.append(f'record.points="{_NEVER}"')
    if not any(table.endswith("_events") for table in tables):
        settings.append("record.events=false")
    if "packets" not in tables:
        settings += ["record.packets=false", "record.payloads=false"]
    return tuple(settings)


def key_of_run(resolved: str, file: str | None) -> bytes:
    """All that decides what a run gives: the scenario with every default, the files that it reads, and the core.

    Raises OSError for a file that cannot be read.
    """
    return key_of([b"run", core(), _without_claims(resolved).encode(), *_files(resolved, file)])


def keys_of_runs(scenario: Scenario, where: bytes = b"") -> Callable[[int | None, int], bytes]:
    """The keys of the runs of one scenario, by seed and start offset. ``where``: what runs it, if not the core alone.

    The scenario counts as it is written, but for its claims, layout and comments: to fill in the defaults of a million
    scenarios would take one process longer than their runs take the others.
    """
    text, file, overrides, _, _ = scenario.arguments
    files: Iterable[bytes] = ()
    if any("trace" in each for each in (text, *overrides)):
        with suppress(_core.ScenarioError, OSError):  # the run says so
            files = list(_files(scenario.resolve_text(), file))
    parts = [b"runs", core(), where, _content(text), *(setting.encode() for setting in overrides), *files]
    hasher = hashlib.blake2b(key_of(parts), digest_size=KEY_BYTES)

    def key(seed: int | None, offset: int) -> bytes:
        mine = hasher.copy()
        mine.update(f"{seed} {offset}".encode())
        return mine.digest()

    return key


@lru_cache(maxsize=64)
def _content(text: str) -> bytes:
    """What a scenario's text says, without its claims."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text.encode()
    table.pop("claim", None)
    return json.dumps(table, default=str).encode()


def _without_claims(resolved: str) -> str:
    """The scenario but for its claims, which decide nothing in a run."""
    if '"claim":' not in resolved:
        return resolved
    scenario = json.loads(resolved)
    scenario.pop("claim", None)
    # As the core writes it, so that the same scenario without claims has the same key.
    return json.dumps(scenario, indent=2, ensure_ascii=False)


def _files(resolved: str, file: str | None) -> Iterable[bytes]:
    """The content of the files that a scenario names, which are relative to its folder."""
    if '"trace":' in resolved:
        folder = Path(file or "").parent
        for name in sorted(set(_traces(json.loads(resolved)))):
            yield (folder / name).read_bytes()


def _traces(node: Any) -> Iterable[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "trace" and isinstance(value, str):
                yield value
            else:
                yield from _traces(value)
    elif isinstance(node, list):
        for item in node:
            yield from _traces(item)


@cache
def _parsed(text: str) -> Expression:
    return Expression.parse(text)
