"""The rows of the table ``cc`` as BBR's state machine, in the words of its draft, whatever version has written them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel.experiment.measures.values import NotToldError
from windtunnel.metrics import Array
from windtunnel.result import RunResult

#: The numbers of the column ``mode``, in the draft's words.
MODES = ("Startup", "Drain", "DOWN", "CRUISE", "REFILL", "UP", "ProbeRTT")
STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(len(MODES))

#: A controller without these is no BBR.
COLUMNS = ("mode", "pacing_gain", "cwnd_gain", "max_bw_bit_per_s", "min_rtt_s")

#: The modes of version 1: the phases of its third are told apart by their gains.
_FIRST_VERSION = "bbr"
_PROBE_BW, _FIRST_PROBE_RTT = 2, 3

#: A segment's payload, as a part of its packet.
_PAYLOAD = 1448 / 1500

#: A number of a moment, or how it is computed: only the one that is asked for, since others may need what is not told.
Numbers: TypeAlias = Mapping[str, float | Callable[[], float]]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Machine:
    """The rows of the first flow, the link's rate, and when the window ``measured`` begins: when a path changes."""

    columns: Mapping[str, Array]
    from_s: float
    rate: float
    """Payload that the first queue's link carries at the end, in bit/s."""
    path_bdp: float
    """That payload in a round trip of the path without queues, in bytes."""
    name: str
    """Whose rows they are."""
    refills: bool
    """Whether its cycle has REFILL, which version 1's has not."""

    @classmethod
    def of(cls, result: RunResult) -> Machine:
        """Raises NotToldError for a run without the state of a controller."""
        name = _name(result)
        table: Mapping[str, Array] = result.tables.get("cc", {})
        if "flow" not in table:
            raise NotToldError(f"{name} tells nothing of its state")
        mine = np.asarray(table["flow"]) == 0
        columns = {name: np.asarray(column, dtype=np.float64)[mine] for name, column in table.items() if name != "flow"}
        is_first = "cycle_phase" in columns and result.summary["flows"][0]["cc"] == _FIRST_VERSION
        if is_first:
            columns["mode"] = _modes_of_first_version(columns)
        starts = [float(w["from_s"]) for w in result.windows if w["name"] == "measured"]
        rate = float(result.summary["queues"][0]["rate_mbps"]) * 1e6 * _PAYLOAD
        path_bdp = rate / 8 * float(result.summary["flows"][0]["path_rtt_ms"]) / 1e3
        return cls(columns, starts[0] if starts else 0.0, rate, path_bdp, name, not is_first)

    def tells(self, name: str) -> bool:
        """Whether the controller has a number of this name, even if it has no value."""
        return name in self.columns

    def require(self, name: str) -> bool:
        """True. Raises NotToldError, which says that a number is missing, unless the controller tells it."""
        if not self.tells(name):
            raise NotToldError(f"{self.name} tells no `{name}`")
        return True

    def __getitem__(self, name: str) -> Array:
        self.require(name)
        return self.columns[name]

    def changes(self, before: int | None = None, after: int | None = None, from_s: float = -math.inf) -> list[int]:
        """The rows in which a mode begins, the one before and the new one being these."""
        if REFILL in (before, after) and not self.refills:
            raise NotToldError(f"{self.name} has no REFILL")
        mode = self["mode"]
        rows = np.flatnonzero(np.diff(mode)) + 1
        kept = (row for row in rows if self["time_s"][row] >= from_s)
        return [int(r) for r in kept if before in (None, mode[r - 1]) and after in (None, mode[r])]

    def first(self, condition: Flags, start: int = 0) -> int | None:
        """The first row from ``start`` on in which the condition holds."""
        rows = np.flatnonzero(condition[start:])
        return int(rows[0]) + start if len(rows) else None

    def grows(self, name: str, start: int = 0) -> int | None:
        """The first row from ``start`` on in which a count is higher than in the row before."""
        return self.first(np.diff(self[name], prepend=self[name][:1]) > 0, start)

    def end_of(self, row: int) -> int | None:
        """The row in which the mode of ``row`` ends."""
        return self.first(self["mode"] != self["mode"][row], row)

    def rounds(self, start: int, end: int | None) -> float:
        """The rounds between two rows; where there is no second one, those until the end of the run."""
        return float(self["rounds"][-1 if end is None else end] - self["rounds"][start])

    def bdp(self, row: int, bw: str = "bw_bit_per_s") -> float:
        """Bandwidth times the least round trip, in bytes."""
        return float(self[bw][row] / 8 * self["min_rtt_s"][row])

    def seconds(self, size: float) -> float:
        """How long the link takes for this many bytes of payload."""
        return float(size * 8 / self.rate)

    def at(self, row: int, **numbers: float | Callable[[], float]) -> Numbers:
        """Numbers of the moment that decides."""
        return {"at_s": float(self["time_s"][row]), **numbers}


def _name(result: RunResult) -> str:
    """The controller of the first flow, as scenarios call it."""
    flow = result.summary["flows"][0]
    return f"`{flow['cc']}`"


def _modes_of_first_version(columns: Mapping[str, Array]) -> Array:
    mode, gain = columns["mode"], columns["pacing_gain"]
    phase = np.select([gain > 1, gain < 1], [UP, DOWN], CRUISE)
    return np.select([mode == _PROBE_BW, mode == _FIRST_PROBE_RTT], [phase, PROBE_RTT], mode)
