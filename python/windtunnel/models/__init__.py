"""Closed-form models of congestion control: what theory predicts before anything is simulated.

Every function is elementwise and broadcasts: an argument is a number or an array of any shape; the result has the
broadcast shape of all arguments (and is a 0-d array's scalar for plain numbers). Units are SI, with the unit in the
name where there is one: ``rate_bps`` in bit/s, ``rtt_s`` and times in seconds, windows and segments in bytes, or in
packets where a docstring says so. ``beta`` (and ``b`` of an AIMD) is always the factor that a multiplicative decrease
*keeps* (Reno 0.5, CUBIC 0.7).

``mds`` and ``aimd`` hold the formulas of two documents. ``sawteeth`` (windows, rates and RTT over one cycle) and
``losses`` (which flow a loss hits, and the Markov chain of events) are models with a state, imported as modules.
"""

from windtunnel.models.aimd import (
    RENO_A,
    RENO_BETA,
    cubic_concave_time,
    cubic_switch_rtt,
    cycle_rounds,
    equal_rate_peak_ratio,
    friendly_increase,
    hit_probability,
    peak_windows,
)
from windtunnel.models.mds import (
    CUBIC_BETA,
    CUBIC_C,
    LEGACY_WINDOW,
    MSS,
    SCALABLE_A,
    bandwidth_delay_product,
    cubic_k,
    cubic_max_rtt,
    cubic_mds_recovery_time,
    cubic_recovery_time,
    cubic_window,
    mds_factor,
    reduction_per_signal,
    reno_max_rtt,
    reno_recovery_time,
    sawtooth_utilization,
    scalable_max_rtt,
    scalable_recovery_time,
    steady_sce_frequency,
)
from windtunnel.models.values import Result, Values

__all__ = [
    "CUBIC_BETA",
    "CUBIC_C",
    "LEGACY_WINDOW",
    "MSS",
    "RENO_A",
    "RENO_BETA",
    "SCALABLE_A",
    "Result",
    "Values",
    "bandwidth_delay_product",
    "cubic_concave_time",
    "cubic_k",
    "cubic_max_rtt",
    "cubic_mds_recovery_time",
    "cubic_recovery_time",
    "cubic_switch_rtt",
    "cubic_window",
    "cycle_rounds",
    "equal_rate_peak_ratio",
    "friendly_increase",
    "hit_probability",
    "mds_factor",
    "peak_windows",
    "reduction_per_signal",
    "reno_max_rtt",
    "reno_recovery_time",
    "sawtooth_utilization",
    "scalable_max_rtt",
    "scalable_recovery_time",
    "steady_sce_frequency",
]
