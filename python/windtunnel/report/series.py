"""From rows of a table to series of a panel: descriptions (JSON) that point into binary columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.report.looks import TOTAL, Look, flow_look, flow_looks

Array = npt.NDArray[Any]
Table = Mapping[str, Array]
Tables = Mapping[str, Table]

#: Samples this many times farther apart than the others leave a gap.
GAP_FACTOR = 8
# Gaps that are this small a share of the whole do not count: the round trips of slow start are no gaps.
_GAP_SHARE = 0.01


def last_time(tables: Tables) -> float:
    """The latest time in any table that has ``time_s``; 0 if none has."""
    times = [t["time_s"][-1] for t in tables.values() if len(t.get("time_s", ())) > 0]
    return float(max(times, default=0.0))


def rows_of(tables: Tables, name: str) -> Table | None:
    """A table, or None if it is absent or has no rows."""
    table = tables.get(name)
    return table if table and len(next(iter(table.values()))) > 0 else None


def grouped(table: Table, keys: Sequence[str], keep: Array | None = None) -> Iterator[tuple[tuple[int, ...], Table]]:
    """The rows of each combination of ``keys``, by time, in ascending order of the keys."""
    table = dict(table) if keep is None else {name: column[keep] for name, column in table.items()}
    order = np.lexsort([table["time_s"], *(table[k] for k in reversed(keys))])
    ordered = {name: column[order] for name, column in table.items()}
    n = len(order)
    if n == 0:
        return
    new = np.zeros(n, dtype=bool)
    new[0] = True
    for k in keys:
        new[1:] |= ordered[k][1:] != ordered[k][:-1]
    starts = np.flatnonzero(new)
    for start, end in zip(starts, [*starts[1:], n], strict=True):
        rows = {name: column[start:end] for name, column in ordered.items()}
        yield tuple(int(rows[k][0]) for k in keys), rows


def name_of(names: Sequence[str], index: int, what: str) -> str:
    """A flow's or queue's name, even if the summary does not know it."""
    return names[index] if 0 <= index < len(names) else f"{what} {index}"


def _gap(times: Array) -> float | None:
    if len(times) < 3:
        return None
    return float(max(GAP_FACTOR * np.quantile(np.diff(times), 0.99), _GAP_SHARE * (times[-1] - times[0]))) or None


def series_of(
    key: str,
    label: str,
    look: Look,
    data: Mapping[str, dict[str, Any]],
    flow: int | None = None,
    gap: float | None = None,
    *,
    mean: bool = False,
    hold: bool = False,
) -> dict[str, Any]:
    """One series of a panel; ``data`` are the references of its columns.

    With ``mean`` a sample is the mean since the one before it; with ``hold`` it holds until the next one.
    """
    return {
        "key": key,
        "label": label,
        "colour": look.colour,
        "marker": look.marker,
        "dash": look.dash,
        "flow": flow,
        "gap": gap,
        "mean": mean,
        "hold": hold,
        "columns": dict(data),
    }


def finite_max(column: Array) -> float:
    """The greatest value that is not NaN; 0 if there is none."""
    finite = column[np.isfinite(column)]
    return float(finite.max()) if len(finite) > 0 else 0.0


def flow_series(
    parts: Iterator[tuple[tuple[int, ...], Table]],
    flows: Sequence[str],
    data: Callable[[Table], dict[str, dict[str, Any]]],
    *,
    mean: bool = False,
) -> list[dict[str, Any]]:
    """One series per flow; flow -1 is the sum of all, which gets a line only where there are several flows.

    With ``mean`` a sample covers the time since the one before it, so that nothing is unknown between them.
    """
    out = []
    looks = flow_looks(flows)
    for (flow,), rows in parts:
        if flow < 0 and len(flows) < 2:
            continue
        label, look = ("all flows", TOTAL) if flow < 0 else (name_of(flows, flow, "flow"), look_of(looks, flow))
        index = None if flow < 0 else flow
        gap = None if mean else _gap(rows["time_s"])
        out.append(series_of(f"flow{flow}", label, look, data(rows), index, gap, mean=mean))
    return out


def look_of(looks: Sequence[Look], flow: int) -> Look:
    """A flow's look, even if the summary does not know the flow."""
    return looks[flow] if flow < len(looks) else flow_look(flow)
