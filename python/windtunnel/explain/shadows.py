"""What controllers of windtunnel's would have done after the same acknowledgements, losses and marks.

Each is a shadow of the sender: it hears what the sender heard, as far as the packets show it, and decides nothing
(``crates/trace/src/shadow``). Two questions show how well it fits. How much did the window grow within a stretch of
up to 16 round trips without congestion, and how much would the shadow's have grown from there? And what did an answer
to losses or marks leave, of the window that was in flight? The errors do not depend on the path: a shadow hears the
path's own round-trip times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel import _core
from windtunnel.explain.limits import APPLICATION, RECEIVER, Codes
from windtunnel.explain.rounds import Rounds, echoes
from windtunnel.explain.trace import Flow, seconds

#: Those whose window alone decides, by their names in scenarios. Rates of BBR and its like follow from what they
#: themselves measure of the path, so that a shadow of theirs is not far from any sender.
SHADOWS = (
    *("reno", "cubic", "bic", "cdg", "compound", "dctcp", "highspeed", "htcp", "hybla", "iiad", "illinois", "ledbat"),
    *("ledbat-pp", "lp", "nv", "scalable", "sqrt", "tahoe", "vegas", "veno", "westwood", "yeah"),
)
#: Linux's TCP-LP acts as Reno on most connections; what is told apart is the published one.
AS_PUBLISHED: Mapping[str, Mapping[str, str]] = {"lp": {"variant": "paper"}}
#: Acknowledgements that are heard: more would not tell more.
_MOST_ACKS = 100_000
_LOSS, _MARKS, _TIMEOUT = range(3)
#: Smaller windows say nothing about a share.
_LEAST_WINDOW = 4
#: Windows are this near, in segments or as a share, if a flight of whole segments may be that of the other.
_NEAR, _NEAR_SHARE = 1.0, 0.03
#: Two shadows did the same if their windows are no more segments than this apart in nearly all round trips.
_ALIKE, _ALIKE_SHARE = 0.5, 0.98
_SHOWN = 3


@dataclass(frozen=True)
class Shadows:
    """What shadows did. Windows are in segments."""

    #: When the last segment of each round trip left, in seconds (column ``round`` of the packets).
    time: npt.NDArray[np.float64]
    #: The most in flight, by round trip.
    flight: npt.NDArray[np.float64]
    #: By shadow and round trip: its window when the most was in flight.
    window: Mapping[str, npt.NDArray[np.float64]]
    #: First and last round trip of stretches without congestion.
    stretches: list[tuple[int, int]]
    #: Of answers to congestion: the round trip in which each ended, the flight before and after it, and its cause.
    episodes: list[tuple[int, float, float, int]]
    #: By shadow and episode: its window in the round trip after it.
    after: Mapping[str, npt.NDArray[np.float64]]


@cache
def _scenario() -> str:
    """The shadows, each with its defaults, as the flows of a scenario."""

    def cc(name: str) -> str:
        keys = {"kind": name, **AS_PUBLISHED.get(name, {})}
        return f"{{ {', '.join(f'{key} = {json.dumps(value)}' for key, value in keys.items())} }}"

    flows = (f'[[flow]]\nname = "{name}"\ncc = {cc(name)}\nrtt = "1 ms"\n' for name in SHADOWS)
    return 'duration = "1 s"\nbottleneck = { rate = "1 Gbit/s" }\n' + "".join(flows)


def shadows(flow: Flow, rounds: Rounds, codes: Codes | None) -> Shadows | None:
    """Let the shadows hear a connection; None without its packets."""
    heard = _hear(flow, rounds, codes, each_loss=True)
    if heard is None:
        return None
    sends, told = heard
    mss = float(flow.mss)
    time = np.full(len(told["flight"]), np.nan)
    time[sends["round"]] = seconds(sends["t_ns"])
    return Shadows(
        time,
        np.asarray(told["flight"], float) / mss,
        {name: window / mss for name, window in told["window"].items()},
        told["stretches"],
        [(ended, before / mss, after / mss, cause) for ended, before, after, cause in told["episodes"]],
        {name: window / mss for name, window in told["after"].items()},
    )


def own_windows(flow: Flow, rounds: Rounds, codes: Codes | None) -> Mapping[str, npt.NDArray[np.float64]]:
    """By shadow and round trip: its window where it takes over the flight's size only at the first loss or mark after a
    stretch without. It shows what many small answers add up to.
    """
    heard = _hear(flow, rounds, codes, each_loss=False)
    return {} if heard is None else {name: window / flow.mss for name, window in heard[1]["window"].items()}


def _hear(
    flow: Flow, rounds: Rounds, codes: Codes | None, *, each_loss: bool
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]] | None:
    """The departures that are heard, and what the core says."""
    if flow.sends is None or flow.acks is None:
        return None
    last = flow.acks["t_ns"][min(len(flow.acks["t_ns"]), _MOST_ACKS) - 1]
    sends = {name: np.ascontiguousarray(column[flow.sends["t_ns"] <= last]) for name, column in flow.sends.items()}
    acks = {name: np.ascontiguousarray(column[:_MOST_ACKS]) for name, column in flow.acks.items()}
    if not len(sends["t_ns"]):
        return None
    acks["marked"] = np.ascontiguousarray(echoes(flow, acks))
    number = int(max(sends["round"].max(), acks["round"].max())) + 1
    unused = _unused(rounds, codes, acks, number)
    connection = (flow.mss, _handshake_ns(flow), flow.quic)
    return sends, _core.follow(sends, acks, connection, unused, _scenario(), each_loss)


def _handshake_ns(flow: Flow) -> int | None:
    """The sender's own round trip of the handshake; None where it was not captured."""
    return None if flow.handshake_s is None else round(1e9 * (flow.handshake_s + flow.back_s))


def _unused(
    rounds: Rounds, codes: Codes | None, acks: Mapping[str, npt.NDArray[Any]], number: int
) -> npt.NDArray[np.bool_]:
    """By round trip: something else than the window limited the sender, so that the window does not grow."""
    unused = np.zeros(number, bool)
    if codes is None:
        return unused
    other = np.isin(codes, (APPLICATION, RECEIVER))
    # All edges at once: a search converts the whole column.
    first, after = (np.searchsorted(acks["t_ns"], 1e9 * edge[other]) for edge in (rounds.start, rounds.end))
    steps = np.bincount(first, minlength=len(acks["t_ns"]) + 1) - np.bincount(after, minlength=len(acks["t_ns"]) + 1)
    unused[acks["round"][np.cumsum(steps)[:-1] > 0]] = True
    return unused


@dataclass(frozen=True)
class Fit:
    """How far a shadow is from the sender; NaN where nothing shows it."""

    #: In growth: inverse hyperbolic sines of segments, that is, a ratio where it is many. Positive: the shadow grows
    #: more.
    growth: float
    growth_bias: float
    #: In what an answer to losses, and one to marks, leaves: logarithms.
    loss: float
    loss_bias: float
    marks: float
    #: The share of stretches and answers in which it is as near as whole segments can show.
    near: float

    @property
    def error(self) -> float:
        """All of it; NaN where nothing shows anything."""
        parts = [part for part in (self.growth, self.loss, self.marks) if np.isfinite(part)]
        return sum(parts) if parts else float("nan")


def fit(heard: Shadows, name: str) -> Fit:
    """Compare a shadow with the sender."""
    window, flight = heard.window[name], heard.flight
    # The first stretch is slow start, in which nearly all are alike.
    later = [(first, last) for first, last in heard.stretches if first > 0]
    grown = [float(np.arcsinh(window[b] - window[a]) - np.arcsinh(flight[b] - flight[a])) for a, b in later]
    close = [near(flight[b], window[b]) for _, b in later]
    left: dict[int, list[float]] = {_LOSS: [], _MARKS: []}
    for (_, before, then, cause), mine in zip(heard.episodes, heard.after[name], strict=True):
        if cause != _TIMEOUT and before >= _LEAST_WINDOW and then > 0 and np.isfinite(mine):
            left[cause].append(float(np.log(max(mine, 0.5) / max(then, 0.5))))
            close.append(near(then, mine))
    return Fit(
        growth=_mean(np.abs(grown)),
        growth_bias=_mean(grown),
        loss=_mean(np.abs(left[_LOSS])),
        loss_bias=_mean(left[_LOSS]),
        marks=_mean(np.abs(left[_MARKS])),
        near=float(np.mean(close)) if close else float("nan"),
    )


def near(flight: float, window: float) -> bool:
    """Whether a flight of whole segments may be that of a window."""
    return bool(abs(window - flight) <= max(_NEAR, _NEAR_SHARE * flight))


def _mean(values: Any) -> float:
    """Where some are far off, by how much does not matter."""
    values = np.asarray(values, float)
    values = np.clip(values[np.isfinite(values)], -2.0, 2.0)
    return float(values.mean()) if len(values) else float("nan")


def shadow_features(heard: Shadows | None) -> dict[str, float]:
    """Numbers for the classifier: how each shadow fits, and how much worse it fits than the best one."""
    nothing = Fit(*[float("nan")] * 6)
    fits = {name: nothing if heard is None else fit(heard, name) for name in SHADOWS}
    least = min((each.error for each in fits.values() if np.isfinite(each.error)), default=float("nan"))
    most = max((each.near for each in fits.values() if np.isfinite(each.near)), default=float("nan"))
    compared = 0 if heard is None else len(heard.stretches) + len(heard.episodes)
    numbers = {"shadow_least_error": least, "shadow_most_near": most, "shadow_compared": float(np.log1p(compared))}
    for name, each in fits.items():
        numbers |= {f"shadow_{what}_{name}": value for what, value in vars(each).items() if what != "near"}
        numbers[f"shadow_error_{name}"] = each.error - least
        numbers[f"shadow_near_{name}"] = each.near - most
    return numbers


def laws(heard: Shadows) -> list[dict[str, Any]]:
    """The shadows that were nearest, the best first: ``controller``, ``near`` (the share of stretches and answers),
    ``growth`` and ``loss`` (mean errors as shares), ``same`` (others that did the same). Empty where there is nothing
    to compare.
    """
    fits = {name: fit(heard, name) for name in SHADOWS}
    order = sorted(
        (name for name in SHADOWS if np.isfinite(fits[name].near)),
        key=lambda name: (-fits[name].near, fits[name].error),
    )
    same = {name: group for group in alike(heard) for name in group}
    shown: list[dict[str, Any]] = []
    for name in order:
        if len(shown) < _SHOWN and not any(name in each["same"] for each in shown):
            each = fits[name]
            shown.append(
                {
                    "controller": name,
                    "near": each.near,
                    "growth": float(np.expm1(each.growth)),
                    "loss": float(np.expm1(each.loss)),
                    "same": [other for other in same.get(name, []) if other != name],
                }
            )
    return shown


def alike(heard: Shadows | None) -> list[list[str]]:
    """Shadows that did the same in this trace, in groups of two and more: nothing in it can tell them apart."""
    if heard is None:
        return []
    inside = np.zeros(len(heard.flight), bool)
    for first, last in heard.stretches:
        if first > 0:
            inside[first : last + 1] = True
    did = {name: np.concatenate([heard.window[name][inside], heard.after[name]]) for name in SHADOWS}
    if not len(did[SHADOWS[0]]):
        return []
    groups: list[list[str]] = []
    for name in SHADOWS:
        for group in groups:
            apart = np.abs(did[name] - did[group[0]])
            if np.mean(np.nan_to_num(apart) <= _ALIKE) >= _ALIKE_SHARE:
                group.append(name)
                break
        else:
            groups.append([name])
    return [group for group in groups if len(group) > 1]
