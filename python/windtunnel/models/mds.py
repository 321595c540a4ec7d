"""Signalling, recovery and steady state after "Multiplicative Decrease Scaling" (Heist, 2025; cited as MDS).

That document is the source of every formula, unless a docstring says otherwise.
"""

from __future__ import annotations

import numpy as np

from windtunnel.models.values import Result, Values
from windtunnel.models.values import as_floats as _f

#: Bytes of data in a segment: an MTU of 1500 without IPv4, TCP and timestamps (MDS, test configuration).
MSS = 1448.0
#: CUBIC's scaling constant, in segments/s^3 (RFC 9438, section 5).
CUBIC_C = 0.4
#: CUBIC's multiplicative decrease factor (RFC 9438, section 4.6).
CUBIC_BETA = 0.7
#: Growth of Scalable-MDS per acknowledged byte: half of the Scalable paper's 1/100, so less aggressive (MDS).
SCALABLE_A = 1.0 / 200.0
#: The window in bytes below which Scalable-MDS grows as Reno does (MDS).
LEGACY_WINDOW = 250_000.0


def mds_factor(tau: Values, beta: Values = 0.5) -> Result:
    """Factor kept by the response to one SCE mark, ``beta ** (1 / tau)`` (MDS, signalling relationship).

    ``tau``, ``beta``: pure numbers, broadcast. After ``tau`` marks the window has been multiplied by ``beta``, as after
    one drop or CE mark.
    """
    return np.power(_f(beta), 1.0 / _f(tau))


def reduction_per_signal(tau: Values, beta: Values = 0.5) -> Result:
    """Share of the window given up per SCE mark, ``1 - beta ** (1 / tau)`` (MDS, figure 1).

    ``tau``, ``beta``: pure numbers, broadcast. 2.14 % at tau = 32 and 1.08 % at tau = 64 for beta = 0.5.
    """
    return 1.0 - mds_factor(tau, beta)


def bandwidth_delay_product(rate_bps: Values, rtt_s: Values) -> Result:
    """Bytes in flight that fill a path of ``rate_bps`` (bit/s) and ``rtt_s`` (s); broadcast."""
    return _f(rate_bps) * _f(rtt_s) / 8.0


def sawtooth_utilization(beta: Values = 0.5) -> Result:
    """Lower bound of one AIMD flow's utilization if it is signalled as soon as a queue appears: ``(1 + beta) / 2``.

    The window swings linearly between ``beta`` and 1 times the bandwidth-delay product: 75 % for Reno (MDS,
    background). ``beta``: pure number of any shape.
    """
    return (1.0 + _f(beta)) / 2.0


def reno_recovery_time(rate_bps: Values, rtt_s: Values, md: Values = 0.5, mss: Values = MSS) -> Result:
    """Seconds until Reno fills the link again after its rate fell to ``md`` and rose again (MDS, fairness).

    ``T = BW * rtt^2 * md / mss`` with BW in bytes/s: growth by one segment per round trip. ``rate_bps`` in bit/s,
    ``rtt_s`` in s, ``md`` a pure number, ``mss`` in bytes; all broadcast.
    """
    return _f(rate_bps) / 8.0 * np.square(_f(rtt_s)) * _f(md) / _f(mss)


def reno_max_rtt(rate_bps: Values, recovery_s: Values = 60.0, md: Values = 0.5, mss: Values = MSS) -> Result:
    """Longest round trip in seconds with which Reno recovers within ``recovery_s``: the inverse of
    :func:`reno_recovery_time` (MDS, figure 17). ``rate_bps`` in bit/s, ``recovery_s`` in s, ``mss`` in bytes; all
    broadcast.
    """
    return np.sqrt(_f(mss) * _f(recovery_s) / (_f(rate_bps) / 8.0 * _f(md)))


def cubic_recovery_time(
    rate_bps: Values, rtt_s: Values, md: Values = 0.5, c: Values = CUBIC_C, mss: Values = MSS
) -> Result:
    """Seconds until CUBIC's window is back at W_max, without fast convergence (RFC 9438 section 4.2, K; MDS, fairness).

    ``T = cbrt(md * W / C)`` with W the bandwidth-delay product in segments. ``rate_bps`` in bit/s, ``rtt_s`` in s,
    ``c`` in segments/s^3, ``mss`` in bytes; broadcast.
    """
    return np.cbrt(_f(md) * bandwidth_delay_product(rate_bps, rtt_s) / _f(mss) / _f(c))


def cubic_max_rtt(
    rate_bps: Values, recovery_s: Values = 60.0, md: Values = 0.5, c: Values = CUBIC_C, mss: Values = MSS
) -> Result:
    """Longest round trip in seconds with which CUBIC recovers within ``recovery_s``: the inverse of
    :func:`cubic_recovery_time` (MDS, figure 17). ``rate_bps`` in bit/s, ``recovery_s`` in s; broadcast.
    """
    return _f(c) * _f(recovery_s) ** 3 / (_f(md) * _f(rate_bps) / 8.0 / _f(mss))


def scalable_recovery_time(rtt_s: Values, a: Values = SCALABLE_A, md: Values = 0.5) -> Result:
    """Seconds until Scalable's window has grown by ``1 / md``: ``rtt * -ln(md) / ln(1 + a)`` (MDS, fairness; Kelly,
    "Scalable TCP", section 3). Independent of the rate. ``rtt_s`` in s, ``a`` and ``md`` pure numbers; broadcast.
    """
    return _f(rtt_s) * -np.log(_f(md)) / np.log1p(_f(a))


def scalable_max_rtt(recovery_s: Values = 60.0, a: Values = SCALABLE_A, md: Values = 0.5) -> Result:
    """Longest round trip in seconds with which Scalable recovers within ``recovery_s``: the inverse of
    :func:`scalable_recovery_time` (MDS, figure 17). ``recovery_s`` in s; broadcast.
    """
    return _f(recovery_s) * np.log1p(_f(a)) / -np.log(_f(md))


def cubic_window(t_s: Values, w_max: Values, k_s: Values, c: Values = CUBIC_C) -> Result:
    """CUBIC's window in segments at ``t_s`` seconds of its epoch, ``C (t - K)^3 + W_max`` (RFC 9438, equation 1).

    ``w_max`` in segments, ``k_s`` in s, ``c`` in segments/s^3; broadcast.
    """
    return _f(c) * (_f(t_s) - _f(k_s)) ** 3 + _f(w_max)


def cubic_k(w_max: Values, cwnd_epoch: Values, c: Values = CUBIC_C) -> Result:
    """Seconds until the window is back at ``w_max``, ``cbrt((W_max - cwnd_epoch) / C)`` (RFC 9438, equation 2).

    Windows in segments, broadcast. Negative where the epoch starts above W_max: the cube root is the real one.
    """
    return np.cbrt((_f(w_max) - _f(cwnd_epoch)) / _f(c))


def cubic_mds_recovery_time(
    rate_before_bps: Values,
    rate_after_bps: Values,
    rtt_s: Values,
    beta: Values = CUBIC_BETA,
    c: Values = CUBIC_C,
    mss: Values = MSS,
) -> Result:
    """Seconds until CUBIC-MDS fills a link whose rate rises from ``rate_before_bps`` to ``rate_after_bps``.

    On a plateau every SCE lowers the window below the previous W_max, so that fast convergence sets
    ``W_max = cwnd (1 + beta) / 2``, below the window: K is negative, growth starts in the convex branch, and
    ``T = K + cbrt((W_target - W_max) / C)``. At 20 ms this gives 22.1 s for 2 to 10 Gbit/s and 47.5 s for 20 to
    100 Gbit/s: the 22 s and 47 s of MDS, "CUBIC's scalability limit". Rates in bit/s, ``rtt_s`` in s, ``c`` in
    segments/s^3; all broadcast.
    """
    window = bandwidth_delay_product(rate_before_bps, rtt_s) / _f(mss)
    target = bandwidth_delay_product(rate_after_bps, rtt_s) / _f(mss)
    w_max = window * (1.0 + _f(beta)) / 2.0
    return cubic_k(w_max, window, c) + np.cbrt((target - w_max) / _f(c))


def steady_sce_frequency(
    rate_bps: Values,
    rtt_s: Values,
    flows: Values = 1,
    *,
    a: Values = SCALABLE_A,
    beta: Values = 0.5,
    tau: Values = 64.0,
    lwnd: Values = LEGACY_WINDOW,
    mss: Values = MSS,
) -> Result:
    """SCE marks per second that hold ``flows`` Scalable-MDS flows at the link's rate (MDS, table 8).

    Growth and reduction balance. With a window of at least ``lwnd`` bytes a flow grows by ``a * cwnd`` per round trip:
    ``f = n a / (rtt (1 - beta^(1/tau)))``, independent of the rate. With a smaller window it grows by one segment:
    ``f = n^2 mss / (rtt BDP (1 - beta^(1/tau)))``. In this continuous approximation marked ACKs grow the window, too:
    measured values are a few percent lower. ``rate_bps`` in bit/s, ``rtt_s`` in s, ``lwnd`` and ``mss`` in bytes, the
    others pure numbers; broadcast. The result is in Hz.
    """
    bdp = bandwidth_delay_product(rate_bps, rtt_s)
    n, rtt = _f(flows), _f(rtt_s)
    share = reduction_per_signal(tau, beta)
    scalable = n * _f(a) / (rtt * share)
    reno = np.square(n) * _f(mss) / (rtt * bdp * share)
    return np.where(bdp / n >= _f(lwnd), scalable, reno)
