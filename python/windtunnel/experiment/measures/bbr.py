"""What a run shows of BBR's state machine, for the example test cases of its draft: ``bbr.CASE.NUMBER`` in a measure.

Source: draft-ietf-ccwg-bbr, appendix "BBR Example Test Cases", at commit 007dbe1; a case's function names its number.
Each reads the first flow's rows of the table ``cc`` (``record.state = "changes"``), finds the moment that decides, and
returns numbers about it. What is expected of them, and whose tolerance that is, are in the evidence pack ``ccwg-bbr``.
A number is NaN where the run has no such moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel.errors import did_you_mean
from windtunnel.experiment.measures.values import MetricError
from windtunnel.metrics import Array
from windtunnel.result import RunResult

#: The numbers of the column ``mode``, in the draft's words.
MODES = ("Startup", "Drain", "DOWN", "CRUISE", "REFILL", "UP", "ProbeRTT")
STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(len(MODES))

#: The columns that the cases read; a controller without them is no BBR of the draft's kind.
COLUMNS = (
    "mode", "pacing_gain", "cwnd_gain", "bw_bit_per_s", "max_bw_bit_per_s", "bw_short_bit_per_s", "inflight_long_bytes",
    "min_rtt_s", "rounds", "extra_acked_bytes", "full_bw_now", "full_bw_count", "restarts", "probe_rtt_cwnd_bytes",
    "wait_s", "in_flight_bytes", "drain_start_round", "lost_ranges", "inflight_at_loss_bytes", "app_limited",
)  # fmt: skip

#: Startup counts losses in ranges; this many in a round may end it (section "BBRCheckStartupHighLoss").
_RANGES = 6
#: The part of a bound that cruising uses (``Headroom`` is 15 %), and what a loss leaves of the target (``Beta``).
_BELOW_BOUND, _BETA = 0.85, 0.7
#: ``ProbeRTTDuration``.
_SEARCH_S = 0.2
#: More than any round trip, in seconds: where there is no sample yet.
_NO_RTT = 1e9
#: "Full rate" in the cases of aggregation and of a larger capacity, as a part of the largest estimate.
_FULL = 0.9

#: A segment's payload, as a part of its packet.
_PAYLOAD = 1448 / 1500

Numbers: TypeAlias = Mapping[str, float]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Machine:
    """The rows of the first flow, the link's rate, and when the window ``measured`` begins: when a path changes."""

    columns: Mapping[str, Array]
    from_s: float
    rate: float
    """Payload that the first queue's link carries at the end, in bit/s."""

    @classmethod
    def of(cls, result: RunResult) -> Machine:
        """Raises MetricError for a run without the state of a BBR."""
        table: Mapping[str, Array] = result.tables.get("cc", {})
        if missing := [name for name in ("flow", *COLUMNS) if name not in table]:
            raise MetricError(f"the run has no BBR's state: the table `cc` has no `{missing[0]}`")
        mine = np.asarray(table["flow"]) == 0
        names = ("time_s", *COLUMNS)
        columns = {name: np.asarray(table[name], dtype=np.float64)[mine] for name in names}
        starts = [float(w["from_s"]) for w in result.windows if w["name"] == "measured"]
        rate = float(result.summary["queues"][0]["rate_mbps"]) * 1e6 * _PAYLOAD
        return cls(columns, starts[0] if starts else 0.0, rate)

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def changes(self, before: int | None = None, after: int | None = None, from_s: float = -math.inf) -> list[int]:
        """The rows in which a mode begins, the one before and the new one being these."""
        mode = self["mode"]
        rows = np.flatnonzero(np.diff(mode)) + 1
        kept = (row for row in rows if self["time_s"][row] >= from_s)
        return [int(r) for r in kept if before in (None, mode[r - 1]) and after in (None, mode[r])]

    def first(self, condition: Flags, start: int = 0) -> int | None:
        """The first row from ``start`` on in which the condition holds."""
        rows = np.flatnonzero(condition[start:])
        return int(rows[0]) + start if len(rows) else None

    def end_of(self, row: int) -> int | None:
        """The row in which the mode of ``row`` ends."""
        return self.first(self["mode"] != self["mode"][row], row)

    def bdp(self, row: int, bw: str = "bw_bit_per_s") -> float:
        """Bandwidth times the least round trip, in bytes."""
        return float(self[bw][row] / 8 * self["min_rtt_s"][row])

    def seconds(self, size: float) -> float:
        """How long the link takes for this many bytes of payload."""
        return float(size * 8 / self.rate)

    def at(self, row: int, **numbers: float) -> Numbers:
        """Numbers of the moment that decides."""
        return {"at_s": float(self["time_s"][row]), **numbers}


def _rounds(m: Machine, start: int, end: int | None) -> float:
    """The rounds between two rows; where there is no second one, those until the end of the run."""
    return float(m["rounds"][-1 if end is None else end] - m["rounds"][start])


def _after_up(m: Machine, row: int) -> float:
    """The mode after UP. DOWN draws a wait, and is over at the same ACK where little is in flight."""
    passed = m["mode"][row] == CRUISE and m["wait_s"][row] != m["wait_s"][row - 1]
    return float(DOWN if passed else m["mode"][row])


def _same(before: float, after: float) -> float:
    """How a bound changed, as a ratio; 1 where it was and is not set."""
    if math.isnan(before) and math.isnan(after):
        return 1.0
    return after / before if before > 0 and not math.isnan(after) else 0.0


def _after_startup(m: Machine, row: int) -> float:
    """The mode after Startup. Drain is over at the ACK at which it began where little is in flight, as it is where the
    application limits, or where the room for three bursts exceeds the product.
    """
    drained = np.isnan(m["drain_start_round"][row - 1]) and np.isfinite(m["drain_start_round"][row])
    return float(DRAIN if drained else m["mode"][row])


def startup_ends_by_plateau(m: Machine) -> Numbers | None:
    """Case 1: the bandwidth, and how many rounds had not grown, where Startup ends, and what follows."""
    leaves = [row for row in m.changes(before=STARTUP) if m["mode"][row] != PROBE_RTT]
    if not leaves:
        return None
    row = leaves[0]
    interrupted = len(m.changes(STARTUP, PROBE_RTT))
    return m.at(
        row, max_bw=m["max_bw_bit_per_s"][row] / m.rate, flat_rounds=m["full_bw_count"][row],
        next_mode=_after_startup(m, row), interrupted=interrupted,
    )  # fmt: skip


def startup_ends_by_loss(m: Machine) -> Numbers | None:
    """Case 2: the rounds from the sixth lost range to Drain; and whether the application limited the sender there."""
    lost = m.first((m["lost_ranges"] >= _RANGES) & (m["mode"] == STARTUP))
    if lost is None:
        return None
    end = m.end_of(lost)
    row = lost if end is None else end
    if m["mode"][row] == PROBE_RTT:
        return None
    return m.at(
        row, rounds=_rounds(m, lost, end), next_mode=_after_startup(m, row), flat_rounds=m["full_bw_count"][row]
    )


def drain(m: Machine) -> Numbers | None:
    """Cases 3 and 4: how many rounds Drain takes, and what is in flight at the ACK that ends it."""
    starts = m.changes(after=DRAIN)
    end = m.end_of(starts[0]) if starts else None
    if end is None or m["mode"][end] == PROBE_RTT:
        return None
    started = m["drain_start_round"][starts[0]]
    return m.at(
        end, pacing_gain=m["pacing_gain"][starts[0]], rounds=m["rounds"][end] - started,
        in_flight=m["in_flight_bytes"][end] / m.bdp(end),
    )  # fmt: skip


def up_ends_by_plateau(m: Machine) -> Numbers | None:
    """Case 5: how many rounds had not grown where UP ends otherwise than by ProbeRTT, and what follows."""
    ends = [row for row in m.changes(before=UP) if m["mode"][row] != PROBE_RTT]
    if not ends:
        return None
    row = ends[0]
    return m.at(row, flat_rounds=m["full_bw_count"][row], next_mode=_after_up(m, row))


def _loses_too_much(m: Machine, row: int) -> bool:
    """Whether a row notes that a probe lost too much: what was in flight there, or a bound that falls."""
    at_loss, long = (m[name][row - 1 : row + 1] for name in ("inflight_at_loss_bytes", "inflight_long_bytes"))
    return _same(*at_loss) != 1.0 or bool(long[1] < long[0])


def up_ends_by_loss(m: Machine) -> Numbers | None:
    """Case 6: the end of the first UP with a loss, after the start of the window; what happens to the bound."""
    for row in m.changes(before=UP, from_s=m.from_s):
        if _loses_too_much(m, row):
            long = m["inflight_long_bytes"]
            bound = _same(long[row - 1], long[row])
            return m.at(row, next_mode=_after_up(m, row), app_limited=m["app_limited"][row], bound=bound)
    return None


def no_exit_while_app_limited(m: Machine) -> Numbers | None:
    """Case 7: how often Startup or UP ends otherwise than by ProbeRTT, after the start of the window."""
    time = m["time_s"]
    inside = (time >= m.from_s) & np.isin(m["mode"], (STARTUP, UP))
    first = m.first(inside)
    if first is None:
        return None
    mode = m["mode"]
    left = [r for r in m.changes(from_s=time[first]) if mode[r - 1] in (STARTUP, UP) and mode[r] != PROBE_RTT]
    row = left[0] if left else len(time) - 1
    return m.at(row, exits=float(len(left)), app_limited=float(np.mean(m["app_limited"][inside])))


def down_ends_by_inflight(m: Machine) -> Numbers | None:
    """Case 8: what is in flight where DOWN becomes CRUISE, as a part of what it should be at most."""
    for start in m.changes(UP, DOWN):
        end = m.end_of(start)
        if end is not None and m["mode"][end] == CRUISE:
            long = m["inflight_long_bytes"][end]
            most = min(m.bdp(end, "max_bw_bit_per_s"), math.inf if math.isnan(long) else _BELOW_BOUND * long)
            return m.at(end, pacing_gain=m["pacing_gain"][start], in_flight=m["in_flight_bytes"][end] / most)
    return None


def down_ends_by_time(m: Machine) -> Numbers | None:
    """Case 9: what follows the first DOWN after UP, and how much longer it lasts than the wait that was drawn."""
    starts = m.changes(UP, DOWN)
    end = m.end_of(starts[0]) if starts else None
    if end is None or m["mode"][end] == PROBE_RTT:
        return None
    lasted = m["time_s"][end] - m["time_s"][starts[0]]
    wait = m["wait_s"][starts[0]]
    return m.at(end, next_mode=m["mode"][end], wait_s=wait, late_s=lasted - wait)


def probe_rtt(m: Machine) -> Numbers | None:
    """Case 10: when ProbeRTT is entered after the last lower sample, its window, how long it stays, what follows."""
    starts = m.changes(after=PROBE_RTT)
    end = m.end_of(starts[0]) if starts else None
    if end is None:
        return None
    start = starts[0]
    min_rtt = m["min_rtt_s"]
    lower = np.flatnonzero(np.diff(np.nan_to_num(min_rtt[:start], nan=_NO_RTT), prepend=_NO_RTT) < 0)
    cwnd = m["probe_rtt_cwnd_bytes"][start:end]
    stay = float(m["time_s"][end] - m["time_s"][start])
    return m.at(
        start, interval_s=m["time_s"][start] - m["time_s"][lower[-1]], cwnd_gain=m["cwnd_gain"][start], stay_s=stay,
        rounds=(stay - _SEARCH_S) / min_rtt[start], held=float(np.min(cwnd) / np.max(cwnd)),
        of_old=cwnd[0] / (0.5 * m["bw_bit_per_s"][start] / 8 * min_rtt[start - 1]), next_mode=m["mode"][end],
    )  # fmt: skip


def probe_rtt_skipped(m: Machine) -> Numbers | None:
    """Case 11: whether a ProbeRTT begins in the two seconds after a restart; the window starts with it."""
    row = m.first(m["time_s"] >= m.from_s)
    if row is None or row == 0:
        return None
    entries = [r for r in m.changes(after=PROBE_RTT, from_s=m.from_s) if m["time_s"][r] <= m.from_s + 2]
    restarts = float(np.max(m["restarts"][row:]) - m["restarts"][row - 1])
    return m.at(entries[0] if entries else row, entries=float(len(entries)), restarts=restarts)


def aggregation_in_startup(m: Machine) -> Numbers | None:
    """Case 12: the largest excess of ACKs in Startup, the bandwidth at its end, and the rounds to nine tenths of it."""
    ends = m.changes(before=STARTUP)
    if not ends:
        return None
    row = ends[0]
    bw = m["max_bw_bit_per_s"][: row + 1]
    full = m.first(bw >= _FULL * m.rate)
    return m.at(
        row, extra_acked_s=m.seconds(np.max(m["extra_acked_bytes"][: row + 1])), max_bw=bw[-1] / m.rate,
        rounds=_rounds(m, 0, full),
    )  # fmt: skip


def aggregation_in_cruise(m: Machine) -> Numbers | None:
    """Case 13: the largest excess of ACKs in CRUISE after the start of the window."""
    rows = np.flatnonzero((m["time_s"] >= m.from_s) & (m["mode"] == CRUISE))
    if not len(rows):
        return None
    extra = m["extra_acked_bytes"][rows]
    return m.at(int(rows[np.argmax(extra)]), extra_acked_s=m.seconds(np.max(extra)))


def more_capacity(m: Machine) -> Numbers | None:
    """Case 15: the largest bandwidth after a change, and how long it takes to nine tenths of it."""
    rows = np.flatnonzero(m["time_s"] >= m.from_s)
    if not len(rows):
        return None
    bw = m["max_bw_bit_per_s"][rows]
    row = int(rows[np.argmax(bw >= _FULL * np.max(bw))])
    return m.at(row, max_bw=float(np.max(bw)) / m.rate, after_s=m["time_s"][row] - m.from_s)


def less_capacity(m: Machine) -> Numbers | None:
    """Case 16: the rounds until the short-term bound falls, and the bandwidth ten seconds after the change."""
    rows = np.flatnonzero(m["time_s"] >= m.from_s)
    late = m.first(m["time_s"] >= m.from_s + 10)
    if not len(rows) or late is None:
        return None
    start = int(rows[0])
    short = m.first(m["bw_short_bit_per_s"] < _FULL * m["bw_bit_per_s"][start], start)
    return m.at(
        len(m["time_s"]) - 1 if short is None else short, rounds=_rounds(m, start, short),
        max_bw=m["max_bw_bit_per_s"][late] / m.rate,
    )  # fmt: skip


def probe_rtt_in_startup(m: Machine) -> Numbers | None:
    """Case 20: what follows a ProbeRTT that interrupts Startup."""
    starts = m.changes(STARTUP, PROBE_RTT)
    end = m.end_of(starts[0]) if starts else None
    return None if end is None else m.at(starts[0], next_mode=m["mode"][end])


def loss_with_a_bound(m: Machine) -> Numbers | None:
    """Case 21: the second UP that a loss ends, where a bound exists: what follows, and the new bound."""
    at_loss, long = m["inflight_at_loss_bytes"], m["inflight_long_bytes"]
    ends = [r for r in m.changes(before=UP) if np.isfinite(long[r - 1]) and _loses_too_much(m, r)]
    if not ends:
        return None
    row = ends[0]
    return m.at(
        row, next_mode=_after_up(m, row), least=long[row] / at_loss[row],
        most=long[row] / max(at_loss[row], _BETA * m.bdp(row)),
    )  # fmt: skip


def app_limited_refill(m: Machine) -> Numbers | None:
    """Case 22: the first REFILL after the start of the window: its rounds, the bandwidth, and what follows."""
    for start in m.changes(after=REFILL, from_s=m.from_s):
        end = m.end_of(start)
        if end is not None:
            bw = m["max_bw_bit_per_s"]
            return m.at(
                end, next_mode=m["mode"][end], rounds=_rounds(m, start, end), max_bw=float(bw[end] / bw[start]),
                app_limited=m["app_limited"][end - 1],
            )  # fmt: skip
    return None


_CASES: Mapping[str, Callable[[Machine], Numbers | None]] = {
    case.__name__: case
    for case in (
        startup_ends_by_plateau,
        startup_ends_by_loss,
        drain,
        up_ends_by_plateau,
        up_ends_by_loss,
        no_exit_while_app_limited,
        down_ends_by_inflight,
        down_ends_by_time,
        probe_rtt,
        probe_rtt_skipped,
        aggregation_in_startup,
        aggregation_in_cruise,
        more_capacity,
        less_capacity,
        probe_rtt_in_startup,
        loss_with_a_bound,
        app_limited_refill,
    )
}


def number(result: RunResult, case: str, name: str) -> float:
    """``bbr.case.name``. Raises MetricError for a name that does not exist, or a run without BBR's state."""
    if case not in _CASES:
        raise MetricError(f"bbr.{case}: is not known; there are {', '.join(_CASES)}{did_you_mean(case, _CASES)}")
    numbers = _CASES[case](Machine.of(result))
    if numbers is None:
        return math.nan
    if name not in numbers:
        raise MetricError(f"bbr.{case}: there is no `{name}`; there are {', '.join(numbers)}")
    return float(numbers[name])
