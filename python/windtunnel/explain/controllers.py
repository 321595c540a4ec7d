"""Which controllers fit the window best, with a probability that is calibrated.

The model was trained on simulated runs of every controller that windtunnel has (``train.py``; how right it is on paths
of families that it was not trained on: docs/explain-controllers.md). It is a file next to this one, and ``make
train-explain`` makes it again.

Controllers that did the same in a trace are one answer: without marks nothing tells DCTCP from Reno. How far the best
answer can be trusted is learned, too: from how the votes are divided, and from how near that controller's shadow was,
other trees tell answers that are right from wrong ones, and from those about controllers that the first have never
seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.boosting import Boosted

MODEL = Path(__file__).parent / "controllers.npz"
#: From this probability on the best fit is sure.
SURE = 0.7
_SHOWN = 3
#: Shadows did the same as the sender in at least this share of what they are compared in, if they can be it.
_CAN_BE = 0.6
#: Linux's TCP-LP behaves as Reno on nearly all connections: its clock overflows.
AS_RENO = "lp of Linux"
#: What an answer can be; the numbers of the classes that ``trust`` tells apart.
WRONG, RIGHT, UNKNOWN = range(3)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ranges:
    """By controller and number, where nearly all of its captures are."""

    low: Array
    high: Array

    @classmethod
    def of(cls, vectors: Array, classes: npt.NDArray[np.int_], count: int) -> Ranges:
        """Those of these captures, with a margin."""
        low, high = np.full((count, vectors.shape[1]), -np.inf), np.full((count, vectors.shape[1]), np.inf)
        for number in range(count):
            mine = vectors[classes == number]
            have = np.isfinite(mine).any(axis=0)
            edges = np.nanquantile(mine[:, have], (0.005, 0.995), axis=0)
            margin = 0.05 * (edges[1] - edges[0])
            low[number, have], high[number, have] = edges[0] - margin, edges[1] + margin
        return cls(low, high)

    def outside(self, vector: Array, number: int) -> npt.NDArray[np.int_]:
        """The numbers that are not as this controller's are."""
        with np.errstate(invalid="ignore"):
            return np.flatnonzero((vector < self.low[number]) | (vector > self.high[number]))


@dataclass(frozen=True)
class Model:
    """What was trained, and on what."""

    names: list[str]
    features: list[str]
    trees: Boosted
    trust: Boosted
    ranges: Ranges

    def vector(self, features: Mapping[str, float]) -> Array:
        """The numbers in the order of the model."""
        return np.array([features.get(name, np.nan) for name in self.features])


@cache
def model() -> Model:
    """The stored model."""
    with np.load(MODEL, allow_pickle=False) as stored:
        about = json.loads(str(stored["about"]))
        trees, trust = (
            Boosted(**{name: stored[f"{which}_{name}"] for name in Boosted.ARRAYS}) for which in ("trees", "trust")
        )
        ranges = Ranges(stored["low"].astype(float), stored["high"].astype(float))
    return Model(about["controllers"], about["features"], trees, trust, ranges)


@dataclass(frozen=True)
class Answer:
    """Controllers that did the same, the likeliest first, and the probability that it is one of them."""

    controllers: list[str]
    probability: float


def answers(
    names: Sequence[str], probabilities: Array, features: Mapping[str, float], alike: Sequence[Sequence[str]]
) -> list[Answer]:
    """The answers, the likeliest first."""
    by_name = dict(zip(names, probabilities.tolist(), strict=True))
    groups = [[name for name in group if name in by_name and near(features, name) >= _CAN_BE] for group in alike]
    groups = [group for group in groups if len(group) > 1]
    grouped = {name for group in groups for name in group}
    ranked = [
        Answer(sorted(group, key=lambda name: -by_name[name]), sum(by_name[name] for name in group))
        for group in [*([name] for name in names if name not in grouped), *groups]
    ]
    return sorted(ranked, key=lambda answer: -answer.probability)


def near(features: Mapping[str, float], name: str) -> float:
    """The share of stretches and answers in which a controller's shadow did what the sender did; 0 without a shadow."""
    value = features.get(f"shadow_near_{name}", np.nan) + features.get("shadow_most_near", np.nan)
    return float(value) if np.isfinite(value) else 0.0


def signs(ranked: Sequence[Answer], votes: Array, features: Mapping[str, float], outside: int) -> Array:
    """What tells how far the best answer can be trusted."""
    name = ranked[0].controllers[0]
    share = votes[votes > 0]
    first = ranked[0].probability
    second = ranked[1].probability if len(ranked) > 1 else 0.0
    behind, worse = features.get(f"shadow_near_{name}", np.nan), features.get(f"shadow_error_{name}", np.nan)
    return np.array(
        [
            first,
            second,
            first - second,
            -(share * np.log(share)).sum(),
            behind + features.get("shadow_most_near", np.nan),
            behind,
            worse + features.get("shadow_least_error", np.nan),
            worse,
            outside,
            np.isfinite(behind),
        ]
    )


def controllers(features: Mapping[str, float] | None, alike: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The best fits as ``fits``: ``controller``, ``probability``, and ``same``, which did the same here; ``none``, the
    probability that it is no controller that the model knows; ``known`` and ``sure``; and in which numbers it is
    ``unlike`` the best fit.
    """
    if features is None:
        why_not = "the controller decided in too few round trips"
        return {"fits": [], "none": None, "sure": False, "known": None, "why_not": why_not}
    trained = model()
    vector = trained.vector(features)
    votes = trained.trees.votes(vector[None])[0]
    ranked = answers(trained.names, votes, features, alike)
    number = trained.names.index(ranked[0].controllers[0])
    outside = trained.ranges.outside(vector, number)
    trust = trained.trust.votes(signs(ranked, votes, features, len(outside))[None])[0]
    # What is left belongs to the others, as their votes divide it.
    rest = trust[WRONG] / max(1 - ranked[0].probability, 1e-9)
    probabilities = [trust[RIGHT], *(min(rest * each.probability, trust[RIGHT]) for each in ranked[1:_SHOWN])]
    is_known = bool(trust[UNKNOWN] <= 0.5)
    return {
        "fits": [
            {
                "controller": each.controllers[0],
                "probability": round(float(probability), 3),
                "same": [*each.controllers[1:], *([AS_RENO] if each.controllers[0] == "reno" else [])],
            }
            for each, probability in zip(ranked[:_SHOWN], probabilities, strict=True)
        ],
        "none": round(float(trust[UNKNOWN]), 3),
        "sure": bool(trust[RIGHT] > SURE),
        "known": is_known,
        "unlike": [] if is_known else [trained.features[n] for n in outside],
    }
