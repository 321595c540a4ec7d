"""Which controllers fit the window best, with a probability that is calibrated.

The model was trained on simulated runs of every controller that windtunnel has (``train.py``; its confusion matrix on
other paths than it was trained on: docs/explain-controllers.md). It is a file next to this one and can be made again
with ``python -m windtunnel.explain.train``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.explain.forest import Forest

MODEL = Path(__file__).parent / "controllers.npz"
#: Below this probability the best fit is named, but not believed.
SURE = 0.5
_SHOWN = 3
#: A trace with more numbers than this outside the range of training is of a kind that the model does not know. One or
#: two of some fifty are a little outside in most traces.
MOST_OUTSIDE = 2


@dataclass(frozen=True)
class Model:
    """What was trained, and on what."""

    names: list[str]
    features: list[str]
    #: Of each feature, the range of its values in training.
    low: list[float]
    high: list[float]
    forest: Forest


@cache
def model() -> Model:
    """The stored model."""
    with np.load(MODEL, allow_pickle=False) as stored:
        about = json.loads(str(stored["about"]))
        arrays = {name: stored[name] for name in Forest.__dataclass_fields__ if name != "temperature"}
    forest = Forest(**arrays, temperature=float(about["temperature"]))
    return Model(about["controllers"], about["features"], about["low"], about["high"], forest)


def controllers(features: Mapping[str, float] | None) -> dict[str, Any]:
    """The best fits: ``fits`` as ``{"controller", "probability"}``, ``sure``, and what is unusual about the trace."""
    if features is None:
        return {"fits": [], "sure": False, "why_not": "the controller decided in too few round trips"}
    trained = model()
    vector = np.array([[features.get(name, np.nan) for name in trained.features]])
    probabilities = trained.forest.probabilities(vector)[0]
    best = np.argsort(-probabilities, kind="stable")[:_SHOWN]
    outside = [
        name
        for name, value, low, high in zip(trained.features, vector[0], trained.low, trained.high, strict=True)
        if np.isfinite(value) and not low <= value <= high
    ]
    return {
        "fits": [{"controller": trained.names[n], "probability": round(float(probabilities[n]), 3)} for n in best],
        "sure": bool(probabilities[best[0]] >= SURE and len(outside) <= MOST_OUTSIDE),
        "outside_training": outside,
    }
