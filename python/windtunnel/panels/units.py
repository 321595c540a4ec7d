"""Units, written one way everywhere: Mbit/s, ms, kB. A panel's unit suits its greatest value."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

#: A unit and how many of the table's unit it is.
Unit = tuple[str, float]

#: From Mbit/s.
RATES: tuple[Unit, ...] = (("Gbit/s", 1e3), ("Mbit/s", 1.0), ("kbit/s", 1e-3))
#: From bytes.
SIZES: tuple[Unit, ...] = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))
#: From milliseconds.
DELAYS: tuple[Unit, ...] = (("ms", 1.0),)

#: How many of its table's unit a unit is.
FACTORS = dict(RATES + SIZES + DELAYS)

# The greatest value has at least two digits before its point.
_LEAST = 10.0


def suited(units: tuple[Unit, ...], greatest: float) -> Unit:
    """The unit in which ``greatest`` is at least 10; without one, the smallest (of rates Mbit/s, the usual one)."""
    if units is RATES and not greatest > 0.1:
        return units[1] if not greatest > 0 else units[-1]
    usual = units[:2] if units is RATES else units
    return next((unit for unit in usual if greatest >= _LEAST * unit[1]), usual[-1])


def greatest(columns: Iterable[npt.ArrayLike]) -> float:
    """The greatest finite value; 0 if there is none."""
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    return max((float(a[np.isfinite(a)].max()) for a in arrays if np.isfinite(a).any()), default=0.0)
