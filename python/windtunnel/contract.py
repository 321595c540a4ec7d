"""Checks what a result folder contains when it is read. There is a message for each way in which a file can be damaged.

All readers of a result (figures, exports, pages) rely on these checks and have none of their own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from windtunnel.errors import InputError, reason
from windtunnel.table import KEYS, NAMES, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

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
    from windtunnel import arrow

    tables = []
    for file in files:
        parquet, names = _open_table(file, name)
        with _readable(file):
            tables.append(parquet.read(columns=names))
    if len(tables) == 1:
        (table,) = tables
    else:
        import pyarrow as pa

        table = pa.concat_tables(tables, promote_options="default").select(tables[-1].column_names)
    return Table({column: arrow.column(table[column]) for column in table.column_names})


def rows_of(files: Sequence[Path]) -> int:
    """How many rows the files have together. Raises InputError."""
    return sum(_open_table(file, None)[0].metadata.num_rows for file in files)


def columns_of(file: Path, name: str) -> list[str]:
    """The columns that a file has of the table ``name``. Raises InputError."""
    return _open_table(file, name)[1]


def read_parts(file: Path, columns: Collection[str], rows: int, *, name: str | None = None) -> Iterator[Table]:
    """Those of ``columns`` that a table has, in parts of at most ``rows`` rows; there is always a first part. It is
    called as the file if it has no ``name``.

    Raises InputError.
    """
    from windtunnel import arrow

    parquet, names = _open_table(file, name)
    names = [name for name in names if name in columns]
    batches = parquet.iter_batches(rows, columns=names, use_threads=False)
    there = parquet.metadata.num_rows > 0
    while True:
        with _readable(file):
            batch = next(batches, None)
        if batch is None:
            break
        yield Table({name: arrow.column(batch[name]) for name in names})
    if not there:
        yield Table({name: np.empty(0, dtype=np.int64) for name in names})


def read_arrow(file: Path, columns: Mapping[str, pa.DataType | None]) -> pa.Table:
    """These columns of a table, with their types (None: any); checksums and texts are verified. Raises InputError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    _check_file(file)
    with _readable(file):
        table = pq.read_table(file, page_checksum_verification=True)
        table.validate(full=True)
    if len(set(table.column_names)) < table.num_columns:
        raise InputError(f"{file}: two columns have the same name")
    if missing := [name for name in columns if name not in table.column_names]:
        raise InputError(f"{file}: column {', '.join(f'`{name}`' for name in missing)} is missing")
    for name, kind in columns.items():
        actual = table.schema.field(name).type
        if kind is not None and actual != kind and not (pa.types.is_dictionary(actual) and actual.value_type == kind):
            raise InputError(f"{file}: column `{name}` holds {actual}, not {kind}")
    return table


def _open_table(file: Path, table: str | None) -> tuple[ParquetFile, list[str]]:
    """The file of a table, or of a part of it, and its columns of numbers or bytes. Raises InputError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from windtunnel import arrow

    _check_file(file)
    with _readable(file):
        # Reading ahead would take the memory of a million rows.
        parquet = pq.ParquetFile(file, pre_buffer=False)
        schema = parquet.schema_arrow
    # Names are for others: readers here take them from the summary.
    columns = [field for field in schema if field.name not in (*KEYS, *NAMES.values())]
    names = [column.name for column in columns]
    for column in columns:
        kind = column.type
        if (table or file.stem, column.name) in _BYTES:
            if not arrow.is_binary(kind):
                raise InputError(f"{file}: column `{column.name}` holds {kind}, not bytes")
        elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise InputError(f"{file}: column `{column.name}` holds {kind}, not numbers")
    if missing := [name for name in COLUMNS.get(table or file.stem, ()) if name not in names]:
        raise InputError(f"{file}: column {', '.join(f'`{name}`' for name in missing)} is missing")
    if len(set(names)) < len(names):
        raise InputError(f"{file}: two columns have the same name")
    return parquet, names


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """What goes wrong with a table's file as InputError."""
    import pyarrow as pa

    try:
        yield
    except PermissionError as error:
        raise InputError(f"{file}: cannot be read: {reason(error)}") from None
    except (pa.ArrowException, OSError) as error:
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
