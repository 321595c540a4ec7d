"""The page about the classifier: its confusion matrix and its calibration on runs that were held back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

_STEPS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)


def page(names: Sequence[str], truth: Any, probabilities: Any, trained: int, temperature: float) -> str:
    """Markdown."""
    best = probabilities.argmax(axis=1)
    order = np.argsort(-probabilities, axis=1)
    right = best == truth
    in_three = np.mean([truth[n] in order[n, :3] for n in range(len(truth))])
    surprise = -np.log(np.maximum(probabilities[np.arange(len(truth)), truth], 1e-12)).mean()
    lines = [
        "# Which controller is it?",
        "",
        "How well `windtunnel explain` tells controllers apart. This page is written by",
        "`python -m windtunnel.explain.train`, which also trains the model; do not edit it.",
        "",
        f"Trained on {trained} traces of simulated runs; tested on {len(truth)} traces of runs with other rates, "
        "round-trip times, buffers and seeds.",
        "A run is 8 to 30 s of one flow alone, against Reno, with 0.3 % random losses, or over a queue that marks "
        "(CoDel), captured at its sender and at its receiver.",
        "",
        f"The best fit is right in **{100 * right.mean():.1f} %**; the right one is among the first three in "
        f"{100 * in_three:.1f} %.",
        f"Mean surprise {surprise:.2f} nats (guessing: {np.log(len(names)):.2f}); temperature {temperature:.3f}.",
        "",
        "## Confusion matrix",
        "",
        "Rows: what it was. Columns: the best fit. Numbers of held-back traces.",
        "",
        "| | " + " | ".join(names) + " | right |",
        "|---|" + "---:|" * (len(names) + 1),
    ]
    for n, name in enumerate(names):
        mine = truth == n
        counts = np.bincount(best[mine], minlength=len(names))
        cells = [f"**{c}**" if k == n else (str(c) if c else "") for k, c in enumerate(counts)]
        share = f"{100 * counts[n] / max(mine.sum(), 1):.0f} %" if mine.any() else "no run"
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {share} |")
    lines += [
        "",
        "## Calibration",
        "",
        "Of the fits that were given a probability in this range, the share that was right.",
        "",
        "| probability | traces | mean probability | right |",
        "|---|---:|---:|---:|",
    ]
    sure = probabilities.max(axis=1)
    error = 0.0
    for low, high in pairwise(_STEPS):
        mine = (sure >= low) & (sure < high if high < 1 else sure <= high)
        if mine.any():
            mean, share = sure[mine].mean(), right[mine].mean()
            error += mine.mean() * abs(mean - share)
            lines.append(f"| {low:g} to {high:g} | {mine.sum()} | {100 * mean:.0f} % | {100 * share:.0f} % |")
    lines += ["", f"Expected calibration error: {100 * error:.1f} %.", ""]
    return "\n".join(lines)
