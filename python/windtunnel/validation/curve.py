"""CUBIC's curve, fitted to the window of a run (RFC 9438 section 4.2).

One flow on a long fat path loses a single segment; afterwards its window follows ``W(t) = C (t - K)^3 + W_max``. C and
K are fitted by least squares to the recorded window from the end of the recovery on; K should be
``cbrt(W_max (1 - beta) / C)``. Linux's C is 410/1024 and its beta 717/1024.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from windtunnel.result import RunResult
from windtunnel.validation.comparison import Comparison, Line, Run, Values

MSS = 1448
C = 410 / 1024
BETA = 717 / 1024
#: The segment that is lost, in slow start, when the window is about a thousand segments.
LOST = 1_500

SCENARIO = f"""
duration = "25 s"
endpoints = "linux"
[bottleneck]
rate = "10 Gbit/s"
impair = {{ kind = "scripted-loss", packets = [{LOST}], affects = "data" }}
[[flow]]
cc = "cubic"
rtt = "100 ms"
[record]
interval = "10 ms"
points = "0 s"
"""


def fit(t: npt.NDArray[np.float64], w: npt.NDArray[np.float64], w_max: float) -> tuple[float, float]:
    """C and K of ``w = C (t - K)^3 + w_max``, by least squares on the cube root, which is linear in t."""
    root = np.cbrt(w - w_max)
    slope, offset = np.polyfit(t, root, 1)
    return float(slope**3), float(-offset / slope)


def reduce(result: RunResult) -> Values:
    """The fit over the concave and the convex part of the curve, without its flat middle, where segments are coarse.

    The controller reports when the epoch started, and from which window.
    """
    flows, state = result.tables["flows"], result.tables["cc"]
    start = float(np.nanmax(np.asarray(state["epoch_start_s"], dtype=np.float64)))
    w_max = float(np.asarray(state["w_max_segments"], dtype=np.float64)[-1])
    t = np.asarray(flows["time_s"], dtype=np.float64)
    w = np.asarray(flows["cwnd_bytes"], dtype=np.float64) / MSS
    # A row at exactly the start is older than the epoch: intervals end before anything else that happens at their time.
    since, window = t[t > start] - start, w[t > start]
    k = float(np.cbrt(w_max * (1 - BETA) / C))
    part = (since < 2 * k) & (np.abs(window - w_max) > 0.02 * w_max)
    c_fit, k_fit = fit(since[part], window[part], w_max)
    return {"c": c_fit, "k": k_fit, "k_expected": k, "w_max": w_max, "kept": float(window[0] / w_max)}


def comparisons() -> list[Comparison]:
    """The only one."""

    def lines(values: Mapping[str, Values]) -> list[Line]:
        run = values["one loss"]
        k = float(run["k_expected"])
        return [
            Line("C fitted to the window", C, run["c"], 0.05 * C, "segments/s^3"),
            Line(f"K fitted to the window, W_max = {run['w_max']:.0f} segments", k, run["k"], 0.02 * k, "s"),
            Line("share of W_max that the loss left", BETA, run["kept"], 0.01, ""),
        ]

    return [Comparison("CUBIC's curve", [Run("one loss", SCENARIO, reduce, 2e5)], lines)]
