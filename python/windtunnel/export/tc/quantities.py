"""Quantities of a resolved scenario in tc's words (tc(8), PARAMETERS): ``5 ms`` is ``5ms``."""

from __future__ import annotations

from collections.abc import Mapping

#: A resolved scenario prints one of these units.
_SECONDS: Mapping[str, float] = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_BYTES: Mapping[str, float] = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_BITS_PER_S: Mapping[str, float] = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}


def _number(text: object, units: Mapping[str, float]) -> float:
    value, _, unit = str(text).partition(" ")
    return float(value) * units[unit]


def seconds(text: object) -> float:
    """A duration, in s."""
    return _number(text, _SECONDS)


def size(text: object) -> float:
    """A length, in bytes."""
    return _number(text, _BYTES)


def bits_per_s(text: object) -> float:
    """A rate, in bit/s."""
    return _number(text, _BITS_PER_S)


def plain(value: float) -> str:
    """A number without exponent and without idle digits."""
    return f"{value:.9f}".rstrip("0").rstrip(".")


def tc_time(s: float) -> str:
    """A time for tc, which counts in ns."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if s * factor >= 1 or unit == "us":
            return plain(s * factor) + unit
    raise AssertionError


def tc_rate(bit_per_s: float) -> str:
    """A rate for tc, whose ``mbit`` are 10^6 bit/s."""
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
        if bit_per_s >= factor:
            return plain(bit_per_s / factor) + unit
    return f"{round(bit_per_s)}bit"


def tc_size(length: float) -> str:
    """A size for tc, in bytes: its ``kb`` are 1024."""
    return f"{round(length)}b"


def percent(text: object) -> str:
    """A share for tc: ``1 %`` is ``1%``."""
    return str(text).replace(" ", "")
