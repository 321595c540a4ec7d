"""Checks what a result folder contains when it is read. There is a message for each way in which a file can be damaged.

All readers of a result (figures, exports, pages) rely on these checks and have none of their own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from windtunnel import _core
from windtunnel.errors import InputError, reason
from windtunnel.table import KEYS, NAMES, Table, masked
from windtunnel.texts import Texts

if TYPE_CHECKING:
    from windtunnel.table import Column

#: Version of ``summary.json`` and of the result folder; it changes when readers have to change.
SCHEMA_VERSION = 2

#: A kind of JSON value: in words, and the types that Python has for it.
Kind: TypeAlias = tuple[str, tuple[type, ...]]

TEXT: Kind = ("a text", (str,))
WHOLE: Kind = ("a whole number", (int,))
NUMBER: Kind = ("a number", (int, float))
OBJECT: Kind = ("an object", (dict,))
LIST: Kind = ("a list", (list,))

#: Keys of the objects in ``summary.json``, and those that may be missing or null.
_DOCUMENT = {"schema_version": WHOLE, "meta": OBJECT, "flows": LIST, "queues": LIST, "windows": LIST}
_DOCUMENT_MORE = {
    "stalled": OBJECT,
    **dict.fromkeys(("impairments", "notes", "fairness", "claims", "changes"), LIST),
}
_META = {"duration_s": NUMBER, "seed": WHOLE, "digest": TEXT, "packets": WHOLE, "events": WHOLE}
# What is known of a run before its end.
_INCOMPLETE_META = {"duration_s": NUMBER, "seed": WHOLE}
_INCOMPLETE_FLOW = {"name": TEXT, "cc": TEXT}
_META_MORE = {
    "title": TEXT, "version": TEXT, "scenario": OBJECT, "foreign": LIST, "unseeded": LIST, "secrets": TEXT,
    "emulation": OBJECT,
}  # fmt: skip
_FLOW = {"name": TEXT, "cc": TEXT, "goodput_mbps": NUMBER}
_FLOW_MORE = {
    "application": TEXT,
    "first_packet_s": NUMBER,
    "last_packet_s": NUMBER,
    "datagrams": OBJECT,
    "frames": OBJECT,
}
_QUEUE = {"name": TEXT}
_QUEUE_MORE = {"bands": LIST, "classes": LIST}
_CLASS = {"name": TEXT, "drops": OBJECT}
_NOTE = {"rule": TEXT, "level": TEXT, "text": TEXT}
_FAIRNESS = {"name": TEXT, "flows": WHOLE, "jain": NUMBER}
_FAIRNESS_MORE = {"convergence_s": NUMBER, "shared_s": NUMBER}
_CLAIM = {"name": TEXT, "text": TEXT, "check": TEXT, "verdict": TEXT, "why": TEXT}
_CLAIM_MORE = {"value": NUMBER}
_CHANGE = {"what": TEXT}
_CHANGE_MORE = {"t_s": NUMBER, "when": TEXT}
_NOTE_MORE = {"flow": TEXT, "queue": TEXT, "numbers": OBJECT}
_SCENARIO_MORE = {"mtu": TEXT, "tcp": OBJECT, "flow": LIST}
_SCENARIO_FLOW_MORE = {"count": WHOLE, "tcp": OBJECT, "ack": OBJECT}

#: Tables that every run has, and the columns on which readers rely, by table. In files they also have columns that name
#: the run, flows and queues (``table.py``).
TABLES = ("flows", "queues")
COLUMNS: Mapping[str, Sequence[str]] = {
    "flows": (
        *("time_s", "flow", "throughput_mbps", "goodput_mbps", "cwnd_bytes", "cwnd_limited"),
        *("in_flight_bytes", "srtt_ms", "rtt_mean_ms", "rtt_min_ms"),
    ),
    "queues": ("time_s", "queue", "sojourn_mean_ms", "emptied", "sce", "ce", "drops"),
    "classes": ("time_s", "queue", "class", "sojourn_mean_ms"),
    "cc": ("time_s", "flow"),
    "aqm": ("time_s", "queue"),
    "qdisc": ("time_s", "queue"),
    "throughput_points": ("time_s", "flow", "mbps"),
    "cwnd_points": ("time_s", "flow", "bytes", "limited"),
    "sojourn_points": ("time_s", "queue", "ms", "empty"),
    "mark_points": ("time_s", "queue", "kind", "hz"),
}

#: The columns of bytes; all others are numbers.
_BYTES = {("payloads", "content")}
#: The types of all others, as Arrow calls them.
_NUMBERS = re.compile(r"u?int(8|16|32|64)|float|double|bool")


def is_summary(document: object) -> bool:
    """Whether a document is the summary of a run, of any version."""
    return isinstance(document, dict) and "schema_version" in document


def read_text(file: Path) -> str:
    """The text of a file of the folder. Raises InputError."""
    _check_file(file)
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text: {error}") from None


def read_summary(file: Path) -> dict[str, Any]:
    """``summary.json``. Raises InputError."""
    text = read_text(file)
    try:
        document = json.loads(text)
        # Python's JSON reader accepts more than others do: NaN, infinity, unpaired surrogates.
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is not JSON: {error}") from None
    if not is_summary(document):
        raise InputError(f"{file}: is not the summary of a run: it has no schema_version")
    version = document["schema_version"]
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise InputError(f"{file}: has schema version {version}; this windtunnel reads up to {SCHEMA_VERSION}")
    _Checker(file).document(document)
    summary: dict[str, Any] = document
    return summary


def read_table(*files: Path, name: str | None = None) -> Table:
    """A table, whose rows are in these files; it is called as the first one if it has no ``name``. A number that came
    later than the first rows is missing there. Raises InputError.
    """
    tables: list[Table] = []
    for file in files:
        reader, names = _open_table(file, name)
        tables.extend(_parts(file, reader, names, reader.rows))
    if len(tables) == 1:
        return tables[0]
    rows = [table.rows for table in tables]
    return Table({
        column: np.concatenate([
            table.pop(column) if column in table else np.full(n, np.nan) for table, n in zip(tables, rows, strict=True)
        ])
        for column in list(tables[-1])
    })  # fmt: skip


def rows_of(files: Sequence[Path]) -> int:
    """How many rows the files have together. Raises InputError."""
    return sum(_open_table(file, None)[0].rows for file in files)


def columns_of(file: Path, name: str) -> list[str]:
    """The columns that a file has of the table ``name``. Raises InputError."""
    return _open_table(file, name)[1]


def read_parts(file: Path, columns: Collection[str], rows: int, *, name: str | None = None) -> Iterator[Table]:
    """Those of ``columns`` that a table has, in parts of at most ``rows`` rows; there is always a first part. It is
    called as the file if it has no ``name``.

    Raises InputError.
    """
    reader, names = _open_table(file, name)
    yield from _parts(file, reader, [name for name in names if name in columns], rows)


def read_columns(file: Path, columns: Mapping[str, str | None], only: Collection[str] | None = None) -> Table:
    """A table that has these columns, with their types as Arrow calls them (None: any), or ``only`` some columns of it.
    Checksums and texts are verified. Raises InputError.
    """
    _check_file(file)
    with _readable(file):
        reader = _core.TableReader(file)
    kinds = dict(reader.columns)
    if len(kinds) < len(reader.columns):
        raise InputError(f"{file}: two columns have the same name")
    if missing := [name for name in columns if name not in kinds]:
        raise InputError(f"{file}: column {', '.join(f'`{name}`' for name in missing)} is missing")
    for name, kind in columns.items():
        if kind is not None and kinds[name] != kind:
            raise InputError(f"{file}: column `{name}` holds {kinds[name]}, not {kind}")
    names = [name for name in kinds if only is None or name in only]
    with _readable(file):
        (part,) = reader.parts(names, max(reader.rows, 1))
    return Table({name: _column(each) for name, each in zip(names, part, strict=True)})


def _column(read: Any) -> Column:
    """A column as the core reads it."""
    if not isinstance(read, tuple):
        return cast("Column", read)
    values, more = read
    return Texts(values, more) if isinstance(more, list) else masked(values, more)


def _parts(file: Path, reader: _core.TableReader, names: Sequence[str], rows: int) -> Iterator[Table]:
    with _readable(file):
        parts = reader.parts(names, max(rows, 1))
    while True:
        with _readable(file):
            part = next(parts, None)
        if part is None:
            return
        yield Table({name: _numbers(each) for name, each in zip(names, part, strict=True)})


def _numbers(read: Any) -> npt.NDArray[Any]:
    """A column of numbers; no table of a run has whole numbers that are missing, and here they are NaN."""
    return np.where(read[1], np.nan, read[0]) if isinstance(read, tuple) else cast("npt.NDArray[Any]", read)


def _open_table(file: Path, table: str | None) -> tuple[_core.TableReader, list[str]]:
    """The file of a table, or of a part of it, and its columns of numbers or bytes. Raises InputError."""
    _check_file(file)
    with _readable(file):
        reader = _core.TableReader(file)
    # Names are for others: readers here take them from the summary.
    columns = [(name, kind) for name, kind in reader.columns if name not in (*KEYS, *NAMES.values())]
    names = [name for name, _ in columns]
    for name, kind in columns:
        if (table or file.stem, name) in _BYTES:
            if kind != "binary":
                raise InputError(f"{file}: column `{name}` holds {kind}, not bytes")
        elif not _NUMBERS.fullmatch(kind):
            raise InputError(f"{file}: column `{name}` holds {kind}, not numbers")
    if missing := [name for name in COLUMNS.get(table or file.stem, ()) if name not in names]:
        raise InputError(f"{file}: column {', '.join(f'`{name}`' for name in missing)} is missing")
    if len(set(names)) < len(names):
        raise InputError(f"{file}: two columns have the same name")
    return reader, names


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """What goes wrong with a table's file as InputError."""
    try:
        yield
    except PermissionError as error:
        raise InputError(f"{file}: cannot be read: {reason(error)}") from None
    except (ValueError, OSError) as error:
        raise InputError(f"{file}: is not a Parquet file, or is damaged: {error}") from None


def check_tables(folder: Path, tables: Mapping[str, Table], summary: Mapping[str, Any]) -> None:
    """Check that the tables are there, and that their rows belong to flows and queues of the run. Raises InputError."""
    if missing := [f"{name}.parquet" for name in TABLES if name not in tables]:
        raise InputError(f"{folder}: {', '.join(missing)} is missing")
    for name in COLUMNS.keys() & tables.keys():
        for key, those in (("flow", "flows"), ("queue", "queues")):
            rows, count = tables[name].get(key), len(summary[those])
            if rows is None or not len(rows):
                continue
            # -1 stands for all flows.
            if rows.dtype.kind not in "iu" or rows.min() < -1 or rows.max() >= count:
                raise InputError(f"{folder}: table {name} has rows of a {key} that is not one of {count}")
        if not np.isfinite(tables[name]["time_s"]).all():
            raise InputError(f"{folder}: table {name} has rows without a time")


def _check_file(file: Path) -> None:
    """Refuse anything but a regular file, such as a folder in its place or a pipe without a writer."""
    try:
        if not file.exists():
            raise InputError(f"{file}: is missing")
        if not file.is_file():
            raise InputError(f"{file}: is not a file")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {reason(error)}") from None


class _Checker:
    """Checks the content of ``summary.json``."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def document(self, document: Mapping[str, Any]) -> None:
        self.keys("", document, _DOCUMENT, _DOCUMENT_MORE)
        meta = document["meta"]
        incomplete = bool(document.get("incomplete"))
        self.keys("meta", meta, _INCOMPLETE_META if incomplete else _META, _META_MORE)
        if not 0 < meta["duration_s"] < 2**64 / 1e9:
            raise self.wrong("meta.duration_s", "is no time of a run")
        for name, needed, more in (
            ("flows", _INCOMPLETE_FLOW if incomplete else _FLOW, _FLOW_MORE),
            ("queues", _QUEUE, _QUEUE_MORE),
            ("windows", {}, {}),
            ("impairments", {}, {}),
            ("notes", _NOTE, _NOTE_MORE),
            ("fairness", _FAIRNESS, _FAIRNESS_MORE),
            ("claims", _CLAIM, _CLAIM_MORE),
            ("changes", _CHANGE, _CHANGE_MORE),
        ):
            self.objects(name, document.get(name) or [], needed, more)
        for index, queue in enumerate(document["queues"]):
            self.objects(f"queues[{index}].classes", queue.get("classes") or [], _CLASS, {})
        scenario = meta.get("scenario") or {}
        self.keys("meta.scenario", scenario, {}, _SCENARIO_MORE)
        self.objects("meta.scenario.flow", scenario.get("flow") or [], {}, _SCENARIO_FLOW_MORE)

    def objects(self, path: str, values: Sequence[Any], needed: Mapping[str, Kind], more: Mapping[str, Kind]) -> None:
        for index, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.wrong(f"{path}[{index}]", "is not an object")
            self.keys(f"{path}[{index}]", value, needed, more)

    def keys(self, path: str, value: Mapping[str, Any], needed: Mapping[str, Kind], more: Mapping[str, Kind]) -> None:
        missing = [key for key in needed if key not in value]
        if missing:
            where = f" in {path}" if path else ""
            raise InputError(f"{self.file}: is not the summary of a run: {', '.join(missing)} missing{where}")
        for key, kind in {**needed, **more}.items():
            if key in needed or value.get(key) is not None:
                self.kind(f"{path}.{key}" if path else key, value[key], kind)

    def kind(self, path: str, value: object, kind: Kind) -> None:
        words, types = kind
        # In Python, True and False are whole numbers, and the JSON reader accepts NaN.
        odd = isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value))
        if odd or not isinstance(value, types):
            raise self.wrong(path, f"is not {words}")
        # The simulation counts in 64 bits, nanoseconds included.
        if isinstance(value, int | float) and not abs(value) < 2**64:
            raise self.wrong(path, "is out of range")

    def wrong(self, path: str, what: str) -> InputError:
        return InputError(f"{self.file}: {path} {what}")
