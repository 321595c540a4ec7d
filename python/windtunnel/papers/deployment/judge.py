"""What several seeds say about a claim: the mean, its interval, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel.papers.rows import Verdict

#: Student's t, 97.5 %, by degrees of freedom from 1 on.
T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


@dataclass(frozen=True)
class Estimate:
    """The mean over the seeds, and its 95 % t interval."""

    mean: float
    low: float
    high: float
    n: int


def estimate(values: Sequence[float]) -> Estimate | None:
    """The estimate from one value per seed; None without at least two finite ones, or if one is not finite.

    A run in which there is nothing to measure is not left out: the other seeds would answer another question.
    """
    if not 2 <= len(values) <= len(T_975) + 1 or not all(map(math.isfinite, values)):
        return None
    x = np.asarray(values, dtype=np.float64)
    mean, half = float(x.mean()), T_975[len(x) - 2] * float(x.std(ddof=1)) / math.sqrt(len(x))
    return Estimate(mean, mean - half, mean + half, len(x))


@dataclass(frozen=True)
class Expected:
    """What a claim expects of the mean: to be at least ``low`` and at most ``high``."""

    low: float = -math.inf
    high: float = math.inf

    @staticmethod
    def of(data: Mapping[str, Any]) -> Expected:
        """From ``{ above = 3 }``, ``{ below = 3 }`` or ``{ within = [1, 3] }``."""
        if "within" in data:
            low, high = data["within"]
            return Expected(float(low), float(high))
        return Expected(float(data.get("above", -math.inf)), float(data.get("below", math.inf)))

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:g}"
        if self.high == math.inf:
            return f"≥ {self.low:g}"
        return f"≤ {self.high:g}" if self.low == -math.inf else f"{self.low:g} to {self.high:g}"

    def verdict(self, found: Estimate | None) -> Verdict:
        """Confirmed if the whole interval is where the claim expects the mean, refuted if none of it is."""
        if found is None:
            return "undecided"
        if self.low <= found.low and found.high <= self.high:
            return "confirmed"
        return "refuted" if found.high < self.low or found.low > self.high else "undecided"
