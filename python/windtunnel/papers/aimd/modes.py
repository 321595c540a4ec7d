"""The mode of CUBIC on a path: the background of the report's figures 3, 4 and 6.

The report takes the switch-over RTT from equation 6 of [Bri21] ("PI2 Parameters", arXiv:2107.01003), whose text was
not available. Here it follows from RFC 9438 itself, with the same assumption that all sawteeth peak at the tail of the
buffer, or at the AQM's target, in two ways.

The equation gives it in closed form, as an RTT that depends on the rate alone: the RTT is taken to stay as it is at
the peak (``models.cubic_switch_rtt``).

The formula follows the RTT through the sawtooth: CUBIC and Reno reduce together and have equal rates, so that one
sawtooth takes T seconds (the fluid model of ``models.sawteeth``), in which the Reno-friendly window rises in a straight
line from 0.7 W to W. The cubic function does so in K seconds, on a concave curve whose slope starts at 3 (1 - b) W / K.
So with T <= K/3 the straight line is ahead all the way, and with T >= K the curve is; in between, one overtakes the
other part-way. The same two limits hold for the equation. Round trips are shorter below the peak, which it ignores: its
sawtooth takes longer than the formula's, so that it finds CUBIC's own mode on somewhat shorter paths.
"""

from __future__ import annotations

from typing import Literal

from windtunnel import models
from windtunnel.models.mds import CUBIC_BETA
from windtunnel.models.sawteeth import C_RENO, RENO, Path, synchronized

Mode = Literal["Reno-friendly", "mixed", "CUBIC"]

#: Frames per second and Mbit/s.
FRAME_BITS = 1514 * 8
#: Where PIE holds the delay (RFC 8033; Linux's default), which is about where the sawteeth peak. The report finds that
#: no other feasible estimate changes the mode of a setup.
PIE_TARGET_S = 0.015


def friendly_period(rate_mbps: float, base_rtt_s: float, queue_s: float) -> tuple[float, float]:
    """Seconds of a Reno-friendly sawtooth next to one Reno flow, and CUBIC's K at its peak."""
    cycle = synchronized([RENO, C_RENO], Path(rate_mbps * 1e6 / FRAME_BITS, base_rtt_s, queue_s))
    return float(cycle.time_s[-1]), float(models.cubic_concave_time(cycle.windows[-1, 1]))


def mode(rate_mbps: float, base_rtt_s: float, queue_s: float) -> Mode:
    """The mode of CUBIC next to one Reno flow."""
    period, concave = friendly_period(rate_mbps, base_rtt_s, queue_s)
    if period <= concave / 3.0:
        return "Reno-friendly"
    return "mixed" if period < concave else "CUBIC"


def switch_rtts(rate_mbps: float) -> tuple[float, float]:
    """The equation's RTTs in seconds: up to the first CUBIC is Reno-friendly throughout, from the second on never.

    Next to one Reno flow of the same mean rate it has 15/32 of all packets at the peak (the report's equation 8).
    """
    rate = float(models.hit_probability(CUBIC_BETA)) * rate_mbps * 1e6 / FRAME_BITS
    shared, whole = (float(models.cubic_switch_rtt(rate, share)) for share in (1.0 / 3.0, 1.0))
    return shared, whole


def mode_by_equation(rate_mbps: float, base_rtt_s: float, queue_s: float) -> Mode:
    """The mode of CUBIC next to one Reno flow, by the equation's RTTs and the RTT at the peak."""
    friendly, cubic = switch_rtts(rate_mbps)
    peak = base_rtt_s + queue_s
    if peak <= friendly:
        return "Reno-friendly"
    return "mixed" if peak < cubic else "CUBIC"


def mode_of_share(friendly: float) -> Mode:
    """The mode that a run shows by its share of time in the Reno-friendly region; 1 % at either end is start-up."""
    if friendly >= 0.99:
        return "Reno-friendly"
    return "mixed" if friendly > 0.01 else "CUBIC"
