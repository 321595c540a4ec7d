"""The words of tc (tc(8)): quantities of a resolved scenario, ``5 ms`` being ``5ms`` (PARAMETERS), and commands, whose
words stay words whatever is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windtunnel.escape import shell, shell_variable

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


def tc(command: str, variable: str, words: Iterable[object]) -> str:
    """A command for the interface that a variable of the script names: ``qdisc add`` and its words."""
    return f'tc {command} dev "${variable}" {shell(words)}'


class Variables:
    """Names of variables for the links' interfaces, a different one for each.

    That of a dumbbell is ``BOTTLENECK``. Others have a prefix, so that no link is called ``PATH``.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, link: str, *, only: bool) -> str:
        """The variable of a link; ``only``: of a dumbbell."""
        wanted = "BOTTLENECK" if only else f"LINK_{shell_variable(link)}"
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name
