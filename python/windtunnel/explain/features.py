"""What the classifier looks at: numbers of a window's curve that do not depend on the units of the path.

Each controller is a law of growth, a law of decrease and a set of signals. The numbers measure these: growth per round
trip as it depends on time since the decrease, on the window and on the queue; the decrease, with and without a full
queue; what a mark does; probing; pacing; the start. NaN stands for what a trace does not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windtunnel.explain.aimd import Epoch, _exponent, _growth, _middle, epochs
from windtunnel.explain.bbr_phases import bbr_phases
from windtunnel.explain.limits import CWND, PACING, Codes, limited_by, limits_of
from windtunnel.explain.overflow import congestion_events, loss_events, mark_events
from windtunnel.explain.rounds import Array, Rounds, rounds_of
from windtunnel.explain.shadows import Shadows, alike, shadow_features, shadows
from windtunnel.explain.trace import Flow

#: Fewer rounds in which the controller decided show too little of it.
LEAST_ROUNDS = 20
_ECT1, _ECT0 = 1, 2
_PACING_CYCLE = (
    *("sent_low", "sent_high", "sends_more", "sends_less", "probe_every_s", "probe_every_rounds", "probe_irregular"),
)
#: A sender that sends this much more than is delivered probes; its flight dips below this share of the usual one.
_PROBE_UP, _DIP = 1.12, 0.7


def features_of(flow: Flow) -> tuple[dict[str, float] | None, list[list[str]]]:
    """The numbers of a connection, by name, and which controllers nothing in it can tell apart; None where the
    controller decided too little.
    """
    rounds = rounds_of(flow)
    if rounds is None:
        return None, []
    codes = limits_of(flow, rounds)
    heard = shadows(flow, rounds, codes)
    return features(flow, rounds, codes, loss_events(flow, rounds), heard), alike(heard)


def features(
    flow: Flow, rounds: Rounds, codes: Codes | None, events: Sequence[Mapping[str, Any]], heard: Shadows | None
) -> dict[str, float] | None:
    """The numbers by name; None where other limits than the controller's ruled."""
    # After the last departure nothing shows the window.
    sending = rounds.sent > 0
    rounds, codes = rounds.only(sending), None if codes is None else codes[sending]
    decided = limited_by(codes, rounds, (CWND, PACING))
    if not np.isfinite(rounds.rtt_min).any():
        return None
    length = rounds.end - rounds.start
    if decided.sum() < LEAST_ROUNDS or length[decided].sum() < 0.5 * length.sum():
        return None
    answered = congestion_events(events, mark_events(rounds), rounds)
    sawteeth = list(epochs(rounds, None if codes is None else np.where(codes == PACING, CWND, codes), answered))
    with np.errstate(all="ignore"):
        return {
            **_decrease(rounds, sawteeth, events),
            **_growth_law(rounds, sawteeth),
            **_level(rounds, events),
            **_signals(flow, rounds),
            **_start(rounds),
            **_probing(rounds),
            **_pacing_cycle(rounds),
            **_dips(rounds),
            **_departures(flow, codes),
            **shadow_features(heard),
        }


def _median(values: Any) -> float:
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else float("nan")


def _decrease(rounds: Rounds, sawteeth: Sequence[Epoch], events: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    kept = np.array([epoch.after / epoch.before if epoch.before > 2 else np.nan for epoch in sawteeth])
    whole = kept[np.isfinite(kept)]
    path = _path_window(rounds)
    lows: list[float] = []
    levels: list[tuple[float, float]] = []
    drops = {True: [], False: []}  # type: dict[bool, list[float]]
    for event in events:
        at = int(np.searchsorted(rounds.start, event["time_s"], "right")) - 1
        before, after = rounds.window[max(at - 2, 0) : at + 1], rounds.window[at + 1 : at + 5]
        if len(before) and len(after) and before.max() > 2:
            lows.append(float(after.min() / before.max()))
            drops[bool(event["queue_full"])].append(float(after.max() / before.max()))
            # Not a number if one of these round trips has no sample.
            levels.append((float(rounds.rtt[max(at - 2, 0) : at + 1].max()), float(after.max() / before.max())))
    ratio = rounds.least_rtt() / float(np.nanmax(rounds.rtt))
    return {
        "kept": _median(whole),
        "kept_spread": float(np.subtract(*np.percentile(whole, (75, 25)))) if len(whole) else float("nan"),
        "kept_least": _median(lows),
        "kept_full": _median(drops[True]),
        "kept_not_full": _median(drops[False]),
        "kept_less_rtt_ratio": _median(whole) - ratio,
        "after_over_path": _median([epoch.after / path for epoch in sawteeth]) if path > 0 else float("nan"),
        "kept_against_queue": _link(levels),
        "unanswered": float(np.mean(whole > 0.95)) if len(whole) else float("nan"),
    }


def _link(pairs: Sequence[tuple[float, float]]) -> float:
    """The correlation of pairs; NaN where it means nothing."""
    points = np.array([pair for pair in pairs if np.isfinite(pair).all()])
    if len(points) < 5 or np.ptp(points[:, 0]) < 0.05 * points[:, 0].mean() or np.ptp(points[:, 1]) == 0:
        return float("nan")
    return float(np.corrcoef(points[:, 0], points[:, 1])[0, 1])


def _path_window(rounds: Rounds) -> float:
    """What the path holds without a queue: the usual rate times the least round-trip time."""
    return float(np.median(rounds.rate())) * rounds.least_rtt()


def _growth_law(rounds: Rounds, sawteeth: Sequence[Epoch]) -> dict[str, float]:
    least = rounds.least_rtt()
    thirds, middle, slopes, relative, queue_link, plateau = [], [], [], [], [], []
    windows, growths, by_queue, by_clock = [], [], [], []
    for epoch in sawteeth:
        if len(epoch.window) < 6:
            continue
        growth, mid = _growth(epoch.window, 2), _middle(epoch.window, 2)
        rise = float(epoch.window[-1] - epoch.window[0])
        slopes.append(rise / (len(epoch.window) - 1))
        relative.append(float(np.median(growth / np.maximum(mid, 1))))
        if rise > 2:
            parts = [float(part.mean()) for part in np.array_split(np.diff(epoch.window), 3)]
            thirds.append(np.array(parts) / (rise / (len(epoch.window) - 1)))
            half = np.interp(epoch.time[-1] / 2, epoch.time, epoch.window)
            middle.append((half - epoch.window[0]) / rise)
        over = 2
        queue = (epoch.rtt[over:] - least) / least
        if np.ptp(queue) > 0.05 and np.ptp(growth) > 0:
            queue_link.append(float(np.corrcoef(queue, growth)[0, 1]))
            low, high = np.quantile(queue, (1 / 3, 2 / 3))
            short, long = growth[queue <= low].mean(), growth[queue >= high].mean()
            by_queue.append(float(np.arcsinh(short) - np.arcsinh(long)))
        by_clock.append(rise / (len(epoch.window) - 1) / max(least, 1e-6) ** 2)
        plateau.append(float(np.mean(np.abs(epoch.window / max(epoch.before, 1) - 1) < 0.05)))
        windows.append(mid)
        growths.append(growth)
    shape = np.median(np.array(thirds), axis=0) if thirds else np.full(3, np.nan)
    exponent = _exponent(np.concatenate(windows), np.concatenate(growths)) if windows else None
    return {
        "growth": float(np.arcsinh(_median(slopes))),
        "growth_relative": float(np.arcsinh(100 * _median(relative))),
        "growth_first": float(shape[0]),
        "growth_second": float(shape[1]),
        "growth_third": float(shape[2]),
        "half_way": _median(middle),
        "growth_exponent": float("nan") if exponent is None else exponent,
        "growth_against_queue": _median(queue_link),
        "growth_lost_to_queue": _median(by_queue),
        # Hybla grows as fast as Reno at a round-trip time of 25 ms: the same per squared second on every path.
        "growth_by_clock": float(np.arcsinh(_median(by_clock))),
        "plateau": _median(plateau),
        "epoch_rounds": float(np.log1p(_median([len(epoch.window) for epoch in sawteeth]))),
    }


def _level(rounds: Rounds, events: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    later = slice(len(rounds) // 4, None)
    window, queue = rounds.window[later], rounds.queue()[later]
    low, middle, high = np.percentile(window, (5, 50, 95))
    change = np.diff(window) / np.maximum(window[:-1], 1)
    quiet = (rounds.lost[later][1:] == 0) & (rounds.lost[later][:-1] == 0) & (rounds.marked[later][:-1] == 0)
    segments = [event["segments"] for event in events]
    path = _path_window(rounds)
    return {
        "window": float(np.log(max(middle, 1))),
        "rtt": float(np.log(rounds.least_rtt())),
        "window_low": float(low / max(middle, 1)),
        "window_high": float(high / max(middle, 1)),
        "window_over_path": float(middle / path) if path > 0 else float("nan"),
        "window_variation": float(window.std() / max(window.mean(), 1)),
        "queue_segments": float(np.arcsinh(_median(queue))),
        "queue_least": float(np.arcsinh(np.nanpercentile(queue, 10))) if np.isfinite(queue).any() else float("nan"),
        "events_per_100_rounds": float(np.log1p(100 * len(events) / len(rounds))),
        "segments_per_event": float(np.log1p(_median(segments))) if segments else 0.0,
        "events_full": float(np.mean([event["queue_full"] for event in events])) if events else float("nan"),
        "still": float(np.mean(np.abs(np.diff(window)[quiet]) < 0.6)) if quiet.any() else float("nan"),
        "backed_off": float(np.mean(change[quiet] < -0.1)) if quiet.any() else float("nan"),
        "stepped_down": float(np.mean(np.diff(window)[quiet] < -0.6)) if quiet.any() else float("nan"),
    }


def _signals(flow: Flow, rounds: Rounds) -> dict[str, float]:
    marked = rounds.marked[:-1] > 0
    after = rounds.window[1:] / np.maximum(rounds.window[:-1], 1)
    numbers = {
        "marked_rounds": float(np.mean(rounds.marked > 0)),
        "kept_when_marked": _median(after[marked]),
        "ect1": float("nan"),
        "ect0": float("nan"),
    }
    if flow.sends is not None and len(flow.sends["ecn"]):
        numbers |= {
            "ect1": float(np.mean(flow.sends["ecn"] == _ECT1)),
            "ect0": float(np.mean(flow.sends["ecn"] == _ECT0)),
        }
    if marked.sum() > 5 and np.ptp(rounds.marked[:-1][marked]) > 0:
        numbers["mark_share_link"] = float(np.corrcoef(rounds.marked[:-1][marked], after[marked])[0, 1])
    else:
        numbers["mark_share_link"] = float("nan")
    return numbers


def _start(rounds: Rounds) -> dict[str, float]:
    growth = rounds.window[1:10] / np.maximum(rounds.window[:9], 1)
    fast = np.flatnonzero(growth < 1.2)
    end = int(fast[0]) if len(fast) else len(growth)
    later = float(np.median(rounds.window[len(rounds) // 4 :]))
    return {
        "start_growth": _median(growth[: max(end, 1)]),
        "start_peak": float(np.log(max(rounds.window[: end + 2].max(), 1) / max(later, 1))),
        "start_lost": float(np.log1p(rounds.lost[: end + 6].sum())),
    }


def _probing(rounds: Rounds) -> dict[str, float]:
    phases = bbr_phases(rounds)
    window = rounds.window[len(rounds) // 4 :]
    centred = window - window.mean()
    power: Array = np.correlate(centred, centred, "full")[len(centred) - 1 :]
    lags = power[2:13] / power[0] if len(power) > 13 and power[0] > 0 else np.array([np.nan])
    return {
        "rtt_probes": float(phases["round_trip_probes"] > 0) if phases else 0.0,
        "bandwidth_probes": float(np.log1p(phases["bandwidth_probes"])) if phases else 0.0,
        "least_window": float(np.log(max(rounds.window[len(rounds) // 4 :].min(), 1))),
        "periodic": float(np.max(lags)) if np.isfinite(lags).all() else float("nan"),
        "period_rounds": float(np.argmax(lags) + 2) if np.isfinite(lags).all() else float("nan"),
    }


def _pacing_cycle(rounds: Rounds) -> dict[str, float]:
    """What was sent for each segment that was delivered, by round trip.

    A sender that probes for bandwidth by its pacing rate goes
    above 1 for a round trip or a few, and below 1 to drain what that has queued. At what distance, in seconds and round
    trips?
    """
    later = rounds.only(np.arange(len(rounds)) >= len(rounds) // 4)
    ratio = later.sent / np.maximum(later.delivered, 1)
    quiet = (later.lost == 0) & (later.delivered > 3)
    if quiet.sum() < LEAST_ROUNDS:
        return dict.fromkeys(_PACING_CYCLE, float("nan"))
    low, high = np.percentile(ratio[quiet], (5, 95))
    up = quiet & (ratio > _PROBE_UP)
    starts = np.flatnonzero(up & ~np.concatenate([[False], up[:-1]]))
    between_s, between = np.diff(later.start[starts]), np.diff(starts)
    values = (
        float(low),
        float(high),
        float(np.mean(ratio[quiet] > _PROBE_UP)),
        float(np.mean(ratio[quiet] < 1 / _PROBE_UP)),
        float(np.log(_median(between_s))) if len(between_s) else float("nan"),
        float(np.log(_median(between))) if len(between) else float("nan"),
        float(np.std(between_s) / np.mean(between_s)) if len(between_s) > 1 else float("nan"),
    )
    return dict(zip(_PACING_CYCLE, values, strict=True))


def _dips(rounds: Rounds) -> dict[str, float]:
    """Times of little in flight that no loss explains, as a probe for the round-trip time makes them: how deep, how
    long, and at what distance.
    """
    window = rounds.window
    usual = float(np.median(window[len(window) // 4 :]))
    low = (window < _DIP * usual) & (np.arange(len(rounds)) > len(rounds) // 8)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], low.astype(int), [0]])))
    starts, lengths, depths = [], [], []
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        if not rounds.lost[max(first - 3, 0) : after].any() and after < len(rounds):
            starts.append(float(rounds.start[first]))
            lengths.append(float(rounds.end[after - 1] - rounds.start[first]))
            depths.append(float(window[first:after].min()))
    return {
        "dips_per_s": float(len(starts) / max(rounds.end[-1] - rounds.start[0], 1e-9)),
        "dip_every_s": _median(np.diff(starts)),
        "dip_length_s": _median(lengths),
        "dip_segments": float(np.log(max(_median(depths), 1))) if depths else float("nan"),
        "dip_share": _median(np.asarray(depths) / usual),
    }


def _departures(flow: Flow, codes: Codes | None) -> dict[str, float]:
    numbers = {"paced": float("nan"), "back_to_back": float("nan")}
    if codes is not None and flow.at_sender and flow.sends is not None and len(flow.sends["t_ns"]) > 20:
        gaps = np.diff(flow.sends["t_ns"].astype(float))
        numbers = {"paced": float(np.mean(codes == PACING)), "back_to_back": float(np.mean(gaps < 0.1 * gaps.mean()))}
    return numbers
