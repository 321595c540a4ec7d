"""Arguments and results of the models: numbers or arrays of numbers."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.ArrayLike
Result: TypeAlias = npt.NDArray[np.float64]


def as_floats(value: Values) -> Result:
    """The argument of a model as an array of double precision."""
    return np.asarray(value, dtype=np.float64)
