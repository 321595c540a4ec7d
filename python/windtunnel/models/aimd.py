"""Equal rates of two AIMD flows, after "Friendliness between AIMD Algorithms" (Briscoe and Albisser, 2023).

AIMD(a, b) adds ``a`` packets per round trip and keeps ``b`` of its window at a congestion event. Equation numbers are
the report's. Windows are in packets; packet size and base RTT of the flows are equal.
"""

from __future__ import annotations

import numpy as np

from windtunnel.models.mds import CUBIC_BETA, CUBIC_C
from windtunnel.models.values import Result, Values
from windtunnel.models.values import as_floats as _f

#: Reno's additive increase in packets per round trip, and the factor that it keeps (RFC 5681).
RENO_A = 1.0
RENO_BETA = 0.5


def friendly_increase(b: Values, a_ref: Values = RENO_A, b_ref: Values = RENO_BETA) -> Result:
    """Additive increase with which AIMD(., ``b``) gets the rate of AIMD(``a_ref``, ``b_ref``) (equations 5 and 6).

    ``a = a_ref (1 - b) (1 + b_ref) / ((1 + b) (1 - b_ref))``, for flows that reduce at the same moments. Against Reno
    ``3 (1 - b) / (1 + b)``: 9/17 for CUBIC's b = 0.7. In packets per round trip; broadcast.
    """
    kept, kept_ref = _f(b), _f(b_ref)
    return _f(a_ref) * (1.0 - kept) * (1.0 + kept_ref) / ((1.0 + kept) * (1.0 - kept_ref))


#: CUBIC's increase in its Reno-friendly mode, packets per round trip: 9/17 (RFC 9438 section 4.3).
CUBIC_FRIENDLY_A = float(friendly_increase(CUBIC_BETA))


def equal_rate_peak_ratio(b: Values, b_ref: Values = RENO_BETA) -> Result:
    """Largest window of AIMD(., ``b``) over that of AIMD(., ``b_ref``) when their rates are equal (equation 4).

    ``(1 + b_ref) / (1 + b)``: the midpoints of the two ramps are at the same height. Pure numbers, broadcast.
    """
    return (1.0 + _f(b_ref)) / (1.0 + _f(b))


def cycle_rounds(peak_window: Values, a: Values, b: Values) -> Result:
    """Round trips of one sawtooth, ``W (1 - b) / a`` (equations 1 and 2). Windows in packets; broadcast."""
    return _f(peak_window) * (1.0 - _f(b)) / _f(a)


def peak_windows(pipe: Values, a: Values, b: Values) -> Result:
    """Windows of flows that share ``pipe`` packets (link and full buffer) at the moment when all of them reduce.

    ``a`` and ``b`` have one entry per flow along the last axis, which the result keeps; ``pipe`` broadcasts against the
    others. All sawteeth take the same number of rounds, so that windows are proportional to ``a / (1 - b)``
    (equations 1 and 2).
    """
    weight = _f(a) / (1.0 - _f(b))
    return np.asarray(_f(pipe)[..., None] * weight / np.sum(weight, axis=-1, keepdims=True))


def hit_probability(b: Values, b_ref: Values = RENO_BETA) -> Result:
    """Probability that a loss hits AIMD(., ``b``) and not AIMD(., ``b_ref``), of equal mean rate (equations 7 to 10).

    A loss hits a flow with a probability proportional to its packet rate at the peak: 15/32 for CUBIC's 0.7 against
    Reno, hence 17/32 for Reno. Pure numbers, broadcast.
    """
    ratio = equal_rate_peak_ratio(b, b_ref)
    return ratio / (1.0 + ratio)


def cubic_concave_time(peak_window: Values, b: Values = CUBIC_BETA, c: Values = CUBIC_C) -> Result:
    """Seconds in which CUBIC's cubic function alone leads back to ``peak_window`` packets: ``K`` of RFC 9438.

    ``cbrt((1 - b) W / C)``, for an epoch that starts at ``b W``; ``c`` in packets/s^3; broadcast.
    """
    return np.cbrt((1.0 - _f(b)) * _f(peak_window) / _f(c))


def cubic_switch_rtt(
    peak_rate_pps: Values,
    share_of_k: Values = 1.0,
    a: Values = CUBIC_FRIENDLY_A,
    b: Values = CUBIC_BETA,
    c: Values = CUBIC_C,
) -> Result:
    """RTT in seconds at which a Reno-friendly sawtooth takes this share of the cubic function's ``K``.

    At the RTT R of its peak a flow of r packets/s has the window W = r R. Its Reno-friendly window takes (1 - b) W / a
    round trips from b W to W (equation 2 of the report), (1 - b) r R^2 / a seconds if the RTT stays as it is at the
    peak; the cubic function takes K = cbrt((1 - b) r R / C) (RFC 9438, equation 2). The two are in this ratio at
    R^5 = share^3 a^3 / (C (1 - b)^2 r^2). Below this RTT the straight line is ahead of the curve at the peak. ``c`` in
    packets/s^3; broadcast.
    """
    kept = 1.0 - _f(b)
    fifth = (_f(share_of_k) * _f(a)) ** 3 / (_f(c) * kept**2 * _f(peak_rate_pps) ** 2)
    return np.asarray(fifth**0.2)
