"""What runs gave, as columns: one value for each run, or for each flow of each run. Workers make them, and the process
that conducts a campaign only puts them together.

Texts are places in a list, -1 for none; a number that there is not is NaN.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.experiment.measures import Expression
from windtunnel.experiment.runs import Record

#: Columns and their types. ``values`` has a place for each quantity that is read of a run, ``least`` for each index
#: of fairness among them: the least value that it can have. ``flows`` counts a run's rows in the second table.
OF_RUN = {
    "seed": "u8", "has_seed": "?", "offset": "i4", "digest": "i4", "packets": "i8", "stalled": "i1", "foreign": "i4",
    "error": "i4", "values": "f8", "least": "f8", "flows": "i4",
}  # fmt: skip
OF_FLOW = {"flow": "i4", "flow_name": "i4", "cc": "i4", "application": "i4", "numbers": "f8"}
#: A row for each quantity that a run does not have.
OF_PROBLEM = {"run": "i4", "quantity": "i4", "text": "i4"}

#: The numbers of a flow, and their paths in its summary.
NUMBERS = {
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
#: The same by the table of a summary that has them, so that each table is looked for once.
_BY_TABLE = [
    (table, [path[-1] for path in paths]) for table, paths in groupby(NUMBERS.values(), lambda path: path[:-1])
]
_NONE: Mapping[str, Any] = {}
_FAST = 1

Column = npt.NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """Columns by name, of three tables, and the texts in them. They are read, and not changed."""

    columns: Mapping[str, Column]
    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.columns["seed"])

    def text(self, name: str, row: int) -> str:
        """A text; an empty one for none."""
        index = int(self.columns[name][row])
        return self.texts[index] if index >= 0 else ""

    @cached_property
    def _ends(self) -> Column:
        """Before which row of the flows each run begins, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.columns["flows"], dtype=np.int64)])

    def part(self, first: int, past: int) -> Rows:
        """Some of the runs. They have the same texts."""
        columns = {name: self.columns[name][first:past] for name in OF_RUN}
        start, end = self._ends[first], self._ends[past]
        columns |= {name: self.columns[name][start:end] for name in OF_FLOW}
        mine = (self.columns["run"] >= first) & (self.columns["run"] < past)
        columns |= {name: self.columns[name][mine] for name in OF_PROBLEM}
        columns["run"] = columns["run"] - first
        return Rows(columns, self.texts)

    def problems(self, row: int) -> Iterator[tuple[int, str]]:
        """The quantities that a run does not have, and why."""
        for at in np.flatnonzero(self.columns["run"] == row):
            yield int(self.columns["quantity"][at]), self.text("text", int(at))

    def encode(self) -> bytes:
        """As bytes."""
        shapes = [[name, column.dtype.str, column.shape] for name, column in self.columns.items()]
        head = json.dumps({"columns": shapes, "texts": self.texts}, separators=(",", ":")).encode()
        parts = (column.tobytes() for column in self.columns.values())
        return zlib.compress(b"".join((len(head).to_bytes(8, "little"), head, *parts)), _FAST)

    @classmethod
    def decode(cls, data: bytes) -> Rows:
        """Back from bytes."""
        plain = zlib.decompress(data)
        at = 8 + int.from_bytes(plain[:8], "little")
        head, columns = json.loads(plain[8:at]), {}
        for name, kind, shape in head["columns"]:
            column = np.frombuffer(plain, kind, int(np.prod(shape, dtype=np.int64)), at).reshape(shape)
            columns[name] = column
            at += column.nbytes
        return cls(columns, head["texts"])

    @classmethod
    def together(cls, parts: Iterable[Rows]) -> Rows:
        """The runs of all parts; there must be one."""
        parts = list(parts)
        if len(parts) == 1:
            return parts[0]
        texts: dict[str, int] = {}
        moved = []
        for part in parts:
            places = np.array([texts.setdefault(text, len(texts)) for text in part.texts] + [-1], np.int32)
            moved.append({
                name: places[column] if name in _TEXTS else column for name, column in part.columns.items()
            })  # fmt: skip
        first = 0
        for part, columns in zip(parts, moved, strict=True):
            columns["run"] = columns["run"] + first
            first += len(part)
        return cls({name: np.concatenate([each[name] for each in moved]) for name in parts[0].columns}, list(texts))


_TEXTS = frozenset({"digest", "foreign", "error", "flow_name", "cc", "application", "text"})


class RowsOfRecords:
    """Makes rows of records, one by one. ``quantities`` are what is read of each."""

    def __init__(self, quantities: Sequence[Expression]) -> None:
        self._quantities = quantities
        self._fair = [quantity for quantity in quantities if quantity.kind == "jain"]
        self._texts: dict[str, int] = {}
        self._columns: dict[str, list[Any]] = {name: [] for name in (*OF_RUN, *OF_FLOW, *OF_PROBLEM)}

    def __len__(self) -> int:
        return len(self._columns["seed"])

    def add(self, record: Record, seed: int | None, offset: int) -> None:
        """Add a run, which was to have this seed and offset."""
        columns, number, summary = self._columns, len(self), record.summary
        values = []
        for at, quantity in enumerate(self._quantities):
            value, problem = record.value(quantity)
            values.append(value)
            if problem:
                for name, cell in (("run", number), ("quantity", at), ("text", self._text(problem))):
                    columns[name].append(cell)
        flows, seed = summary.get("flows", ()), summary.get("seed", seed)
        row = {
            "seed": seed or 0,
            "has_seed": seed is not None,
            "offset": offset,
            "digest": self._text(record.digest or None),
            "packets": summary.get("packets", -1),
            "stalled": -1 if record.error else summary["stalled"] is not None,
            "foreign": self._text(", ".join(record.foreign) or None),
            "error": self._text(record.error or None),
            "values": values,
            "least": [record.scale(quantity).low for quantity in self._fair],
            "flows": len(flows),
        }
        for name, cell in row.items():
            columns[name].append(cell)
        for index, flow in enumerate(flows):
            columns["flow"].append(index)
            columns["flow_name"].append(self._text(flow["name"]))
            columns["cc"].append(self._text(flow.get("cc")))
            columns["application"].append(self._text(flow.get("application")))
            columns["numbers"].append(_numbers(flow))

    def _text(self, text: str | None) -> int:
        return self._texts.setdefault(text, len(self._texts)) if text is not None else -1

    def rows(self) -> Rows:
        """All of them."""
        widths = {"values": len(self._quantities), "least": len(self._fair), "numbers": len(NUMBERS)}
        columns = {}
        for name, kind in {**OF_RUN, **OF_FLOW, **OF_PROBLEM}.items():
            shape = (len(self._columns[name]), widths[name]) if name in widths else len(self._columns[name])
            columns[name] = np.array(self._columns[name], kind).reshape(shape)
        return Rows(columns, list(self._texts))


def _numbers(flow: Mapping[str, Any]) -> list[float | None]:
    numbers: list[float | None] = []
    for table, keys in _BY_TABLE:
        record: Any = flow
        for key in table:
            record = record.get(key) or _NONE
        numbers.extend(map(record.get, keys))
    return numbers
