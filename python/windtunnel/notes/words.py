"""Quantities in the words of notes: a few digits, and the unit that suits them."""

from __future__ import annotations

import math


def time(seconds: float) -> str:
    """A time: ``319 ms``."""
    unit, one = next(((u, o) for u, o in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if abs(seconds) >= o), ("s", 1.0))
    return f"{_short(seconds / one)} {unit}"


def size(amount: float) -> str:
    """Bytes: ``50 kB``."""
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= one:
            return f"{_short(amount / one)} {unit}"
    return f"{_short(amount)} B"


def rate(bits_per_second: float) -> str:
    """A rate: ``12.5 Mbit/s``."""
    for unit, one in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits_per_second >= one:
            return f"{_short(bits_per_second / one)} {unit}"
    return f"{_short(bits_per_second)} bit/s"


def percent(share: float) -> str:
    """A share: ``8 %``."""
    return f"{_short(100 * share, 2)} %"


def times(factor: float) -> str:
    """A multiple: ``1.5``."""
    return _short(factor, 2)


def count(amount: float, what: str) -> str:
    """A number of things, which is plural unless it is 1."""
    plural = f"{what}es" if what.endswith(("s", "h")) else f"{what}s"
    return f"{round(amount)} {what if round(amount) == 1 else plural}"


def _short(value: float, digits: int = 3) -> str:
    """At most ``digits`` significant digits, without trailing zeros; whole numbers from a thousand on."""
    if not math.isfinite(value):
        return "?"
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{value:.0f}"
