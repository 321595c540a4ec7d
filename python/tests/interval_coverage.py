"""Synthetic campaigns with a known answer: how often a 95 % interval contains it, for each kind and several methods.

``python python/tests/interval_coverage.py`` prints the table of docs/campaigns.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from windtunnel.experiment import scales as sc
from windtunnel.experiment import statistics as st
from windtunnel.experiment.distributions import student

#: The numbers of runs that are in use.
RUNS = (5, 10, 30)
#: Campaigns of the table; the chance in a share of them is 0.2 %.
MANY = 10_000

Draws = np.ndarray[Any, np.dtype[np.float64]]


def lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> Draws:
    """Ratios around 1.3, with a deviation of a factor of 2: the geometric mean is 1.3 by definition."""
    return np.exp(rng.normal(math.log(1.3), math.log(2), shape))


def half(rng: np.random.Generator, shape: tuple[int, int]) -> Draws:
    """Shares around one half."""
    return rng.beta(5, 5, shape)


def busy(rng: np.random.Generator, shape: tuple[int, int]) -> Draws:
    """Utilisations of a beta distribution with the mean 20 / 21, most of them near 1."""
    return rng.beta(20, 1, shape)


def full(rng: np.random.Generator, shape: tuple[int, int]) -> Draws:
    """Utilisations; 16 % are exactly 1."""
    return np.minimum(rng.normal(0.97, 0.03, shape), 1.0)


def jain(flows: int, evenness: float) -> Callable[[np.random.Generator, tuple[int, int]], Draws]:
    """Jain's index of flows that are equal but for chance: the rates are gamma distributed."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Draws:
        rates = rng.gamma(evenness, 1, (*shape, flows))
        return np.asarray(rates.sum(-1) ** 2 / (flows * np.square(rates).sum(-1)))

    return draw


#: How values are drawn, their scale, and their mean, if it is known in closed form. That of clipped normal numbers is
#: 0.97 - 0.03 (phi(1) - (1 - Phi(1))).
SYNTHETIC: Mapping[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Draws], sc.Scale, float | None]] = {
    "plain: normal": (lambda rng, shape: rng.normal(10, 3, shape), sc.PLAIN, 10.0),
    "ratio: log-normal, a factor of 2": (lognormal, sc.RATIO, 1.3),
    "share: beta(5, 5)": (half, sc.SHARE, 0.5),
    "share: beta(20, 1)": (busy, sc.SHARE, 20 / 21),
    "share: 0.97 +- 0.03, cut at 1": (full, sc.SHARE, 0.97 - 0.03 * 0.0833155),
    "Jain's index of 2 equal flows": (jain(2, 20), sc.Scale.of("jain", 2), None),
    "Jain's index of 8 flows": (jain(8, 4), sc.Scale.of("jain", 8), None),
}


def known_mean(name: str) -> float:
    """The answer; for Jain's index by a million draws of another seed."""
    draw, _, mean = SYNTHETIC[name]
    return mean if mean is not None else float(np.mean(draw(np.random.default_rng(2), (1000, 1000))))


def logit(x: Draws, scale: sc.Scale) -> tuple[float, float]:
    """Student's interval of a mean on the scale of logits: the usual one, which was tried."""
    m = (float(np.mean(x)) - scale.low) / (scale.high - scale.low)
    error = float(np.std(x, ddof=1)) / (scale.high - scale.low) / math.sqrt(len(x)) / (m * (1 - m))
    middle, step = math.log(m / (1 - m)), student(0.975, len(x) - 1) * error
    low, high = (1 / (1 + math.exp(-(middle + sign * step))) for sign in (-1, 1))
    return scale.low + low * (scale.high - scale.low), scale.low + high * (scale.high - scale.low)


def coverage(name: str, interval: Callable[[Draws, sc.Scale], tuple[float, float] | None], campaigns: int) -> str:
    """The shares of campaigns whose interval contains the answer, in percent, for each number of runs."""
    draw, scale, _ = SYNTHETIC[name]
    answer, shares = known_mean(name), []
    for runs in RUNS:
        intervals = [interval(x, scale) or (1.0, 0.0) for x in draw(np.random.default_rng(1), (campaigns, runs))]
        shares.append(sum(low <= answer <= high for low, high in intervals) / campaigns)
    return ", ".join(f"{100 * share:.1f}" for share in shares)


def main() -> None:
    """Print the table."""
    print("| values | this | Student's t | logit | bootstrap (BCa) |\n|---|---|---|---|---|")
    for name, (_, scale, _) in SYNTHETIC.items():
        cells = [
            coverage(name, lambda x, scale: st.mean_interval(x, 0.95, "t", scale), MANY),
            coverage(name, lambda x, _: st.mean_interval(x, 0.95, "t"), MANY) if scale.kind != "ratio" else "",
            coverage(name, logit, MANY) if scale.is_bounded else "",
            coverage(name, lambda x, scale: st.mean_interval(x, 0.95, "bootstrap", scale), 300),
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
