"""BBR's phases, where the trace shows them: start-up, drain, bandwidth probes and round-trip probes.

What each looks like is in draft-ietf-ccwg-bbr section 4.3: start-up doubles the rate each round until three rounds
bring no quarter more; drain lets the queue go; every few round trips a probe sends a quarter above the delivery rate
and then that much below; and the round-trip probe leaves four segments (v1) or half the window (v3) in flight for 200
ms, after the least round-trip time has not been renewed for 10 s (5 s in v3). No phase is looked for in a sender that
no probe of either kind shows to be one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windtunnel.explain.rounds import Array, Rounds

#: A start-up round brings at least this much more (draft section 4.3.1.2).
_GROWTH = 1.25
_FLAT_ROUNDS = 3
#: Segments in flight in the round-trip probe of version 1, and one for what is being acknowledged.
_PROBE_SEGMENTS = 5
_LONGEST_PROBE_S = 2.0
#: A probe for bandwidth: this much of the usual flight.
_UP = 1.12


def bbr_phases(rounds: Rounds) -> dict[str, Any] | None:
    """The phases with their times, and the probes; None if there is no sign of BBR."""
    rate = rounds.rate()
    startup = _startup(rate)
    usual = float(np.median(rounds.window[startup:])) if startup < len(rounds) else 0.0
    if usual <= 2 * _PROBE_SEGMENTS:
        # A path so short that four segments are its flight shows no round-trip probe.
        return None
    probes = _rtt_probes(rounds, startup, usual)
    ups = _bandwidth_probes(rounds, startup, usual)
    # Losses that lower no window, and probes at regular distances, are what others do not have.
    regular = len(ups) >= 4 and float(np.std(np.diff(ups)) / np.mean(np.diff(ups))) < 0.6
    if not probes and not (regular and _steady(rounds, startup)):
        return None
    drain = _drain(rounds, startup)
    phases: list[dict[str, Any]] = [
        {"phase": "start-up", "from_s": float(rounds.start[0]), "to_s": float(rounds.start[startup])}
    ]
    if drain > startup:
        phases.append({"phase": "drain", "from_s": float(rounds.start[startup]), "to_s": float(rounds.start[drain])})
    at = float(rounds.start[drain])
    for begins, ends in probes:
        phases.append({"phase": "bandwidth", "from_s": at, "to_s": begins})
        phases.append({"phase": "round-trip probe", "from_s": begins, "to_s": ends})
        at = ends
    phases.append({"phase": "bandwidth", "from_s": at, "to_s": float(rounds.end[-1])})
    return {
        "phases": [p for p in phases if p["to_s"] > p["from_s"]],
        "round_trip_probes": len(probes),
        "round_trip_probe_every_s": _mean_gap([begins for begins, _ in probes]),
        "bandwidth_probes": len(ups),
        "bandwidth_probe_every_s": _mean_gap(ups),
    }


def _startup(rate: Array) -> int:
    """The first round in which the rate has not grown for some rounds."""
    best, flat = 0.0, 0
    for n, value in enumerate(rate):
        if value >= best * _GROWTH:
            best, flat = value, 0
        else:
            flat += 1
            if flat == _FLAT_ROUNDS:
                return n
    return len(rate) - 1


def _drain(rounds: Rounds, startup: int) -> int:
    """The round in which the round-trip time is back near its least."""
    least = rounds.least_rtt()
    for n in range(startup, len(rounds)):
        if rounds.rtt_min[n] <= 1.1 * least:
            return n
        if rounds.start[n] - rounds.start[startup] > _LONGEST_PROBE_S:
            break
    return startup


def _rtt_probes(rounds: Rounds, startup: int, usual: float) -> list[tuple[float, float]]:
    """Stretches of at least 0.15 s with little in flight that no loss explains, and with the usual flight after
    them.
    """
    low = (rounds.window <= _PROBE_SEGMENTS) & (np.arange(len(rounds)) > startup)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], low.astype(int), [0]])))
    probes = []
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        length = float(rounds.end[after - 1] - rounds.start[first])
        lost = rounds.lost[max(first - 3, 0) : after].any()
        back = rounds.window[after : after + 4]
        if 0.15 <= length <= _LONGEST_PROBE_S and not lost and len(back) and back.max() > 0.5 * usual:
            probes.append((float(rounds.start[first]), float(rounds.end[after - 1])))
    return probes


def _bandwidth_probes(rounds: Rounds, startup: int, usual: float) -> list[float]:
    up = (rounds.window > _UP * usual) & (np.arange(len(rounds)) > startup)
    starts = np.flatnonzero(up & ~np.concatenate([[False], up[:-1]]))
    return [float(rounds.start[n]) for n in starts]


def _steady(rounds: Rounds, startup: int) -> bool:
    """Losses, if there are any, lowered no window, and the flight keeps near one level."""
    window = rounds.window[startup:]
    low, high = np.percentile(window, (20, 80))
    return bool(low > 0 and high / low < 1.3 and not rounds.timeouts.any())


def _mean_gap(times: list[float]) -> float | None:
    return float(np.mean(np.diff(times))) if len(times) > 1 else None
