"""The median of some values, and their middle half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def spread(values: Sequence[float] | npt.NDArray[Any]) -> dict[str, float] | None:
    """``median``, ``low`` and ``high`` (quartiles), ``count``; None without values."""
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return None
    low, middle, high = np.percentile(finite, (25, 50, 75))
    return {"median": float(middle), "low": float(low), "high": float(high), "count": len(finite)}
