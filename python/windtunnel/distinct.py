"""The different values of an array."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

_Type = TypeVar("_Type", bound=np.generic)


def distinct(values: npt.NDArray[_Type]) -> npt.NDArray[_Type]:
    """The different values, ascending, as ``np.unique`` has them.

    That one loads masked arrays, which nothing here has, to ask whether these are: a tenth of the time that all of
    NumPy takes to load.
    """
    ordered = np.sort(values)
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]
