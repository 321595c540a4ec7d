"""Response functions: the rules of controllers as curves, from the specification's formulas, checked against runs.

The check is by what a flow adds in a round trip (a) alone, and keeps at a loss (b) among five streams.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from windtunnel import models
from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.verdict import Verdict
from windtunnel.metrics import Array
from windtunnel.papers.data_folder import TALK
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.controllers import available, title
from windtunnel.papers.talk.gallery import add_gallery_setup
from windtunnel.papers.talk.plan import FIVE, ONE, measured

#: RFC 3649: the windows between which HighSpeed's response is a line on logarithmic axes, its loss rate and decrease.
HS_LOW, HS_HIGH, HS_HIGH_DECREASE = 38.0, 83_000.0, 0.1
#: Illinois: the limits of alpha and beta, and the parts of the longest delay at which beta starts and ends.
ILLINOIS_ALPHA, ILLINOIS_BETA, ILLINOIS_DELAYS = (0.3, 10.0), (0.125, 0.5), (0.1, 0.8)
#: Vegas: packets in the queue below which it grows, above which it shrinks, and above which slow start ends.
VEGAS_ALPHA, VEGAS_BETA, VEGAS_GAMMA = 2.0, 4.0, 1.0
_KEPT = Value("kept", "part of the window kept at a loss, median", "", [measured("0", "kept_at_losses(3, 90)")])
_GROWN = Value("grown", "growth in a round trip, median", "packets", [measured("0", "growth_per_round(5, 60)")])
#: ssthresh is in whole packets, and the window's peak is seen within an interval of 50 ms.
_KEPT_SLACK = 0.02
#: The round trip grows within the half second over which growth is measured, and packets are whole.
_GROWN_SLACK = 0.05


def highspeed_decrease(w: npt.ArrayLike) -> Array:
    """b(w): what a loss takes; a half up to 38 packets, a tenth at 83,000 (RFC 3649 section 5)."""
    x = np.clip(np.asarray(w, dtype=np.float64), HS_LOW, None)
    part = (np.log(x) - math.log(HS_LOW)) / (math.log(HS_HIGH) - math.log(HS_LOW))
    return np.asarray((HS_HIGH_DECREASE - 0.5) * part + 0.5)


def highspeed_increase(w: npt.ArrayLike) -> Array:
    """a(w): packets per round trip; with p(w) = 0.078 / w^1.2, ``w^2 p(w) 2 b(w) / (2 - b(w))``, and 1 up to 38."""
    x = np.asarray(w, dtype=np.float64)
    b = highspeed_decrease(x)
    return np.where(x <= HS_LOW, 1.0, x**2 * (0.078 / x**1.2) * 2.0 * b / (2.0 - b))


def illinois_alpha(delay: npt.ArrayLike, longest: float) -> Array:
    """alpha: packets per round trip with this mean queueing delay, of a longest one in the same unit."""
    low, high = ILLINOIS_ALPHA
    first = longest / 100.0
    d = np.asarray(delay, dtype=np.float64)
    span = longest - first
    return np.where(d <= first, high, high * span / (span + (d - first) * (high - low) / low))


def illinois_beta(delay: npt.ArrayLike, longest: float) -> Array:
    """beta: the part that a loss takes, from an eighth to a half, linear between a tenth and 80 % of the longest."""
    low, high = ILLINOIS_BETA
    start, end = (part * longest for part in ILLINOIS_DELAYS)
    return np.asarray(np.interp(np.asarray(delay, dtype=np.float64), [start, end], [low, high]))


def cubic_curve(t_s: npt.ArrayLike, w_max: float) -> Array:
    """W(t) after a loss at ``w_max``, in packets."""
    k = models.cubic_k(w_max, models.CUBIC_BETA * w_max)
    return np.asarray(models.cubic_window(t_s, w_max, k))


def responses_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """The curves, and what runs keep at a loss."""
    curves = Group(
        "responses", "Response functions",
        "HighSpeed's a(w) and b(w), Illinois' alpha and beta, CUBIC's W(t), Vegas' bands",
        [], lambda _: _vectors(), lambda _: _draw(),
    )  # fmt: skip
    return [curves, _factors(setups, quick=quick)]


def _draw() -> bytes:
    from windtunnel.papers.talk.responses_figure import draw

    return draw()


def _vectors() -> list[Row]:
    """The formulas and the values that the specification derives (docs/spec/congestion-control.md section 3)."""
    out = []
    for n in TALK.toml("responses.toml")["vector"]:
        value = float(np.asarray(_FUNCTIONS[n["function"]](*n["arguments"])))
        inside = abs(value - n["expected"]) <= n["precision"]
        verdict: Verdict = "agrees" if inside else "differs"
        out.append(Row(f"responses/{n['id']}", "responses", n["what"], float(n["expected"]), value, n["precision"], "",
                       verdict, n["source"]))  # fmt: skip
    return out


_FUNCTIONS = {
    f.__name__: f for f in (highspeed_increase, highspeed_decrease, illinois_alpha, illinois_beta, cubic_curve)
}


def _factors(setups: dict[str, Setup], *, quick: bool) -> Group:
    """What controllers add and keep, where the catalogue has a number, as their runs show it."""
    responses = TALK.toml("responses.toml")
    checks = ((_KEPT, FIVE, responses["kept"], _KEPT_SLACK), (_GROWN, ONE, responses["grown"], _GROWN_SLACK))
    used: list[tuple[Value, Setup, str, tuple[float, float], float]] = []
    for value, kind, expected, slack in checks:
        for controller in available(quick=quick):
            if controller.name in expected:
                setup = add_gallery_setup(setups, kind, controller.name, quick=quick)
                value.prepare(setup)
                low, high = expected[controller.name]
                used.append((value, setup, controller.name, (float(low), float(high)), slack))

    def rows(results: Results) -> list[Row]:
        out = []
        for value, setup, cc, (low, high), slack in used:
            text = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            limits = Limits(low - slack, high + slack)
            note = "docs/spec/congestion-control.md sections 3 and 6.1"
            out.append(trial_row(f"factors/{value.id}-{cc}", "factors", f"{title(cc)}: {value.what}", text, limits,
                                 value.values(results, setup), value.unit, note, scale=value.scale))  # fmt: skip
        return out

    caption = "a in one stream and b in five streams on the talk's path, compared with what the catalogue says"
    return Group("factors", "a and b in runs", caption, [setup.name for _, setup, *_ in used], rows)
