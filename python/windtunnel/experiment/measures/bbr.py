"""What a run shows of BBR's state machine, for the example test cases of its draft: ``bbr.CASE.NUMBER`` in a measure.

Source: draft-ietf-ccwg-bbr, appendix "BBR Example Test Cases", at commit 007dbe1; a case's function names its number.
Each reads the first flow's rows of the table ``cc`` (``record.state = "changes"``), finds the moment that decides, and
returns numbers about it. What is expected of them, and whose tolerance that is, are in the evidence pack ``ccwg-bbr``.
A number is NaN where the run has no such moment. One that needs a state which the controller does not have or tell
raises NotToldError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from windtunnel.errors import did_you_mean
from windtunnel.experiment.measures.bbr_state import (
    CRUISE,
    DOWN,
    DRAIN,
    PROBE_RTT,
    REFILL,
    STARTUP,
    UP,
    Machine,
    Numbers,
)  # fmt: skip
from windtunnel.experiment.measures.values import MetricError
from windtunnel.result import RunResult

#: Startup counts losses in ranges; this many in a round may end it (section "BBRCheckStartupHighLoss").
_RANGES = 6
#: The part of a bound that cruising uses (``Headroom`` is 15 %), and what a loss leaves of the target (``Beta``).
_BELOW_BOUND, _BETA = 0.85, 0.7
#: ``ProbeRTTDuration``.
_SEARCH_S = 0.2
#: No version has a ProbeRTT earlier than five seconds after its start; a second for a flow's first row.
_EARLIEST_SEARCH_S = 4.0
#: The window of a stack's own controller.
_WINDOW = "cwnd"
#: More than any round trip, in seconds: where there is no sample yet.
_NO_RTT = 1e9
#: "Full rate" in the cases of aggregation and of a larger capacity, as a part of the largest estimate.
_FULL = 0.9
#: The bounds of the model, each with the column of what is saved of it for an undo.
_BOUNDS = {name: f"undo_{name}" for name in ("bw_short_bit_per_s", "inflight_short_bytes", "inflight_long_bytes")}


def _after_up(m: Machine, row: int) -> float:
    """The mode after UP. DOWN draws a wait, and is over at the same ACK where little is in flight."""
    passed = m["mode"][row] == CRUISE and m.tells("wait_s") and m["wait_s"][row] != m["wait_s"][row - 1]
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
    if m.tells("drain_start_round"):
        before, after = m["drain_start_round"][row - 1 : row + 1]
        if np.isnan(before) and np.isfinite(after):
            return float(DRAIN)
    return float(m["mode"][row])


def startup_ends_by_plateau(m: Machine) -> Numbers | None:
    """Case 1: the bandwidth, and how many rounds had not grown, where Startup ends, and what follows."""
    leaves = [row for row in m.changes(before=STARTUP) if m["mode"][row] != PROBE_RTT]
    if not leaves:
        return None
    row = leaves[0]
    interrupted = len(m.changes(STARTUP, PROBE_RTT))
    return m.at(
        row, max_bw=lambda: m["max_bw_bit_per_s"][row] / m.rate, flat_rounds=lambda: m["full_bw_count"][row],
        next_mode=lambda: _after_startup(m, row), interrupted=interrupted,
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
        row, rounds=lambda: m.rounds(lost, end), next_mode=lambda: _after_startup(m, row),
        flat_rounds=lambda: m["full_bw_count"][row],
    )  # fmt: skip


def drain(m: Machine) -> Numbers | None:
    """Cases 3 and 4: how many rounds Drain takes, and what is in flight at the ACK that ends it; this also as a number
    of those controllers alone that count Drain's rounds.
    """
    starts = m.changes(after=DRAIN)
    end = m.end_of(starts[0]) if starts else None
    if end is None or m["mode"][end] == PROBE_RTT:
        return None

    def in_flight() -> float:
        return float(m["in_flight_bytes"][end] / m.bdp(end))

    return m.at(
        end, pacing_gain=lambda: m["pacing_gain"][starts[0]],
        rounds=lambda: m["rounds"][end] - m["drain_start_round"][starts[0]], in_flight=in_flight,
        still_in_flight=lambda: in_flight() if m.require("drain_start_round") else math.nan,
    )  # fmt: skip


def up_ends_by_plateau(m: Machine) -> Numbers | None:
    """Case 5: how many rounds had not grown where UP ends otherwise than by ProbeRTT, and what follows."""
    ends = [row for row in m.changes(before=UP) if m["mode"][row] != PROBE_RTT]
    if not ends:
        return None
    row = ends[0]
    return m.at(row, flat_rounds=lambda: _flat_rounds_of_probe(m, row), next_mode=lambda: _after_up(m, row))


def _flat_rounds_of_probe(m: Machine, row: int) -> float:
    """Version 1 counts them in Startup alone, and has no plateau of now."""
    return float(m["full_bw_count"][row]) if m.require("full_bw_now") else math.nan


def _loses_too_much(m: Machine, row: int) -> bool:
    """Whether a row notes that a probe lost too much: what was in flight there, or a bound that falls."""
    at_loss, long = (m[name][row - 1 : row + 1] for name in ("inflight_at_loss_bytes", "inflight_long_bytes"))
    return _same(*at_loss) != 1.0 or bool(long[1] < long[0])


def up_ends_by_loss(m: Machine) -> Numbers | None:
    """Case 6: the end of the first UP with a loss, after the start of the window; what happens to the bound."""
    for row in m.changes(before=UP, from_s=m.from_s):
        if _loses_too_much(m, row):
            long = m["inflight_long_bytes"]
            return m.at(
                row, next_mode=_after_up(m, row), app_limited=m["app_limited"][row],
                bound=_same(long[row - 1], long[row]),
            )  # fmt: skip
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
    return m.at(row, exits=float(len(left)), app_limited=lambda: float(np.mean(m["app_limited"][inside])))


def down_ends_by_inflight(m: Machine) -> Numbers | None:
    """Case 8: what is in flight where DOWN becomes CRUISE, as a part of what it should be at most."""
    for start in m.changes(UP, DOWN):
        end = m.end_of(start)
        if end is not None and m["mode"][end] == CRUISE:
            in_flight = m["in_flight_bytes"][end] / _most_in_cruise(m, end)
            return m.at(end, pacing_gain=m["pacing_gain"][start], in_flight=in_flight)
    return None


def _most_in_cruise(m: Machine, row: int) -> float:
    """What may be in flight where CRUISE begins. Version 1 has no bound of the long term."""
    long = m["inflight_long_bytes"][row] if m.tells("inflight_long_bytes") else math.nan
    return min(m.bdp(row, "max_bw_bit_per_s"), math.inf if math.isnan(long) else _BELOW_BOUND * long)


def down_ends_by_time(m: Machine) -> Numbers | None:
    """Case 9: what follows the first DOWN after UP, and how much longer it lasts than the wait that was drawn."""
    starts = m.changes(UP, DOWN)
    end = m.end_of(starts[0]) if starts else None
    if end is None or m["mode"][end] == PROBE_RTT:
        return None
    start, lasted = starts[0], m["time_s"][end] - m["time_s"][starts[0]]
    return m.at(
        end, next_mode=m["mode"][end], wait_s=lambda: m["wait_s"][start], late_s=lambda: lasted - m["wait_s"][start]
    )


def probe_rtt(m: Machine) -> Numbers | None:
    """Case 10: when ProbeRTT is entered after the last lower sample, its window, how long it stays, what follows."""
    searches = _searches(m)
    end = searches[0][1] if searches else None
    if end is None:
        return None
    start = searches[0][0]
    stay = float(m["time_s"][end] - m["time_s"][start])
    cwnd = m["probe_rtt_cwnd_bytes" if m.tells("mode") else _WINDOW][start:end]
    return m.at(
        start, interval_s=lambda: m["time_s"][start] - m["time_s"][_lowest(m, start)], stay_s=stay,
        rounds=lambda: (stay - _SEARCH_S) / m["min_rtt_s"][start], held=float(np.min(cwnd) / np.max(cwnd)),
        of_old=lambda: cwnd[0] / (0.5 * m["bw_bit_per_s"][start] / 8 * m["min_rtt_s"][start - 1]),
        cwnd_gain=lambda: m["cwnd_gain"][start], next_mode=lambda: m["mode"][end],
    )  # fmt: skip


def _searches(m: Machine) -> list[tuple[int, int | None]]:
    """The rows in which each ProbeRTT begins and ends. A controller that tells its window, and no mode, shows one by a
    window that at one ACK halves to no more than the path's product, and is half as large again at another; not in the
    first seconds, in which no version has one and Startup's end looks like it, nor where that takes no more than a part
    of ``ProbeRTTDuration``.
    """
    if m.tells("mode") or not m.tells(_WINDOW):
        return [(row, m.end_of(row)) for row in m.changes(after=PROBE_RTT)]
    time, window = m["time_s"], m[_WINDOW]
    falls = (window[1:] < window[:-1] / 2) & (window[1:] <= m.path_bdp)
    halves = np.flatnonzero(falls & (time[1:] >= time[0] + _EARLIEST_SEARCH_S)) + 1
    spans = [(int(row), m.first(window > 1.5 * window[row], int(row))) for row in halves]
    return [(start, end) for start, end in spans if time[-1 if end is None else end] - time[start] >= _SEARCH_S / 2]


def _lowest(m: Machine, end: int) -> int:
    """The last row before ``end`` in which the least round trip fell."""
    rtt = np.nan_to_num(m["min_rtt_s"][:end], nan=_NO_RTT)
    return int(np.flatnonzero(np.diff(rtt, prepend=_NO_RTT) < 0)[-1])


def probe_rtt_skipped(m: Machine) -> Numbers | None:
    """Case 11: whether a ProbeRTT begins in the two seconds after a restart; the window starts with it."""
    row = m.first(m["time_s"] >= m.from_s)
    if row is None or row == 0:
        return None
    entries = [start for start, _ in _searches(m) if m.from_s <= m["time_s"][start] <= m.from_s + 2]
    return m.at(
        entries[0] if entries else row, entries=float(len(entries)),
        restarts=lambda: float(np.max(m["restarts"][row:]) - m["restarts"][row - 1]),
    )  # fmt: skip


def aggregation_in_startup(m: Machine) -> Numbers | None:
    """Case 12: the largest excess of ACKs in Startup, the bandwidth at its end, and the rounds to nine tenths of it."""
    ends = m.changes(before=STARTUP)
    if not ends:
        return None
    row = ends[0]
    bw = m["max_bw_bit_per_s"][: row + 1]
    full = m.first(bw >= _FULL * m.rate)
    return m.at(
        row, extra_acked_s=lambda: m.seconds(np.max(m["extra_acked_bytes"][: row + 1])), max_bw=bw[-1] / m.rate,
        rounds=lambda: m.rounds(0, full), window=lambda: m["cwnd_bytes"][row] / m.bdp(row),
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
    """Case 16: the rounds from a change until the short-term bound falls, and the bandwidth at the end of the run."""
    rows = np.flatnonzero(m["time_s"] >= m.from_s)
    if not len(rows):
        return None
    start, short = int(rows[0]), None
    if m.tells("bw_short_bit_per_s"):
        short = m.first(m["bw_short_bit_per_s"] < _FULL * m["bw_bit_per_s"][start], start)

    return m.at(
        len(m["time_s"]) - 1 if short is None else short, max_bw=m["max_bw_bit_per_s"][-1] / m.rate,
        rounds=lambda: m.rounds(start, short) if m.require("bw_short_bit_per_s") else math.nan,
    )  # fmt: skip


def spurious_recovery(m: Machine) -> Numbers | None:
    """Cases 18 and 19: what the first losses after the start of the window save, and what their undo gives back."""
    saved = m.grows("undo_saves", max(m.first(m["time_s"] >= m.from_s) or 0, 1))
    undone = None if saved is None else m.grows("undos", saved)
    if saved is None or undone is None:
        return None
    before = saved - 1
    return m.at(
        undone, next_mode=lambda: m["mode"][undone] if _taken(m, before, undone) else math.nan,
        saved=lambda: min(_equal(m[name][before], m[undo][saved]) for name, undo in _BOUNDS.items()),
        restored=lambda: _restored(m, before, undone),
        window=lambda: m["cwnd_bytes"][undone] / m["cwnd_bytes"][before],
    )  # fmt: skip


def _restored(m: Machine, before: int, undone: int) -> float:
    """The least part of a bound that is back after an undo; NaN where the losses had taken nothing of any."""
    back = min(_returned(m[name][before], m[name][undone]) for name in _BOUNDS)
    return back if _taken(m, before, undone) else math.nan


def _taken(m: Machine, before: int, undone: int) -> bool:
    """Whether losses had taken something of a bound, as they do where they end a mode."""
    return any(_returned(m[name][before], low) < 1 for name in _BOUNDS for low in m[name][before:undone])


def _equal(one: float, other: float) -> float:
    """1 where two bounds are the same or neither is set, and less otherwise."""
    ratio = _same(one, other)
    return min(ratio, 1 / ratio) if ratio > 0 else 0.0


def _returned(before: float, after: float) -> float:
    """The part of a bound that is back, at most 1; a bound that is not set is all of it."""
    return 1.0 if math.isnan(after) else min(1.0, _same(before, after))


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
    # The loss is found before the ACK is worked on: product and window are those of the row before.
    target = min(m.bdp(row - 1), m["cwnd_bytes"][row - 1])
    return m.at(
        row, next_mode=_after_up(m, row), least=long[row] / at_loss[row],
        most=long[row] / max(at_loss[row], _BETA * target),
    )  # fmt: skip


def app_limited_refill(m: Machine) -> Numbers | None:
    """Case 22: the first REFILL after the start of the window: its rounds, the bandwidth, and what follows."""
    for start in m.changes(after=REFILL, from_s=m.from_s):
        end = m.end_of(start)
        if end is not None:
            bw = m["max_bw_bit_per_s"]
            return m.at(
                end, next_mode=m["mode"][end], rounds=m.rounds(start, end), max_bw=float(bw[end] / bw[start]),
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
        spurious_recovery,
        probe_rtt_in_startup,
        loss_with_a_bound,
        app_limited_refill,
    )
}


def number(result: RunResult, case: str, name: str) -> float:
    """``bbr.case.name``. Raises MetricError for a name that does not exist, and NotToldError for a state that is not
    told.
    """
    if case not in _CASES:
        raise MetricError(f"bbr.{case}: is not known; there are {', '.join(_CASES)}{did_you_mean(case, _CASES)}")
    numbers = _CASES[case](Machine.of(result))
    if numbers is None:
        return math.nan
    if name not in numbers:
        raise MetricError(f"bbr.{case}: there is no `{name}`; there are {', '.join(numbers)}")
    value = numbers[name]
    return float(value() if callable(value) else value)
