"""A plotted series, and its division into bins by the pixels of a printed figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bins:
    """The non-empty bins of a series: their numbers, and the slice of the samples each holds."""

    number: npt.NDArray[np.int64]
    start: npt.NDArray[np.intp]
    stop: npt.NDArray[np.intp]


def _middle(bins: Bins, width: float) -> Column:
    return np.asarray((bins.number + 0.5) * width, dtype=np.float64)


def _symbols(values: Column, step: float) -> Column:
    """The mean of the values on each pixel row."""
    _, row = np.unique(np.round(values / step), return_inverse=True)
    return np.asarray(np.bincount(row, values) / np.bincount(row), dtype=np.float64)


@dataclass(frozen=True)
class Series:
    """Samples in the order of time: seconds, and values in the panel's unit."""

    time: Column
    value: Column

    def __len__(self) -> int:
        return len(self.time)

    def window(self, start: float, stop: float) -> Series:
        """The samples with ``start <= time <= stop``."""
        lo = int(np.searchsorted(self.time, start, side="left"))
        hi = int(np.searchsorted(self.time, stop, side="right"))
        return Series(self.time[lo:hi], self.value[lo:hi])

    def bins(self, width: float) -> Bins:
        """Non-empty bins of ``width`` seconds, bin ``k`` covering ``[k, k + 1) * width``."""
        number = np.floor(self.time / width).astype(np.int64)
        if not len(number):
            none = np.empty(0, dtype=np.intp)
            return Bins(number, none, none)
        start = np.concatenate(([0], np.flatnonzero(np.diff(number)) + 1)).astype(np.intp)
        stop = np.append(start[1:], len(number)).astype(np.intp)
        return Bins(number[start], start, stop)

    def bin_max(self, width: float) -> Series:
        """Largest value of each non-empty bin, at the bin's middle."""
        bins = self.bins(width)
        if not len(bins.number):
            return Series(np.empty(0), np.empty(0))
        return Series(_middle(bins, width), np.maximum.reduceat(self.value, bins.start))

    def bin_min(self, width: float) -> Series:
        """Smallest value of each non-empty bin, at the bin's middle."""
        bins = self.bins(width)
        if not len(bins.number):
            return Series(np.empty(0), np.empty(0))
        return Series(_middle(bins, width), np.minimum.reduceat(self.value, bins.start))

    def bin_median(self, width: float, step: float) -> Series:
        """Median of the symbols of each non-empty bin, at the bin's middle.

        Any number of values within one pixel of height ``step`` are one symbol: a plot shows no density.
        """
        bins = self.bins(width)
        medians = [
            float(np.median(_symbols(self.value[a:b], step))) for a, b in zip(bins.start, bins.stop, strict=True)
        ]
        return Series(_middle(bins, width), np.asarray(medians, dtype=np.float64))

    @staticmethod
    def merge(parts: list[Series]) -> Series:
        """One series with all samples of ``parts``, in the order of time."""
        time = np.concatenate([p.time for p in parts]) if parts else np.empty(0)
        value = np.concatenate([p.value for p in parts]) if parts else np.empty(0)
        order = np.argsort(time, kind="stable")
        return Series(time[order], value[order])
