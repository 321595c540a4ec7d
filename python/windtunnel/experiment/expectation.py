"""What is expected of a measured number: limits, which data give as a bound, a number, or a word of the table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """What a number may be: from ``low`` to ``high``; ``strict``: neither of them itself ("more than 0")."""

    low: float = -math.inf
    high: float = math.inf
    strict: bool = False

    def hold(self, value: float) -> bool:
        """Whether a value is within them; NaN is not."""
        return self.low < value < self.high if self.strict else self.low <= value <= self.high

    def words(self) -> str:
        """In figures: ``0.9 to 1.1``, ``> 0.5``."""
        if math.isinf(self.high):
            return f"{'>' if self.strict else '≥'} {self.low:.3g}"
        if math.isinf(self.low):
            return f"{'<' if self.strict else '≤'} {self.high:.3g}"
        return f"{self.low:.3g} to {self.high:.3g}"


@dataclass(frozen=True)
class Expected:
    """The limits, how the report shows them, and where they come from if a word gives them.

    ``near`` and ``tolerance`` are those of a published number.
    """

    limits: Limits
    text: str
    why: str = ""
    near: float | None = None
    tolerance: float | None = None

    @staticmethod
    def of(data: Mapping[str, Any]) -> Expected:
        """From ``{ above = 3 }``, ``{ below = 3 }``, ``{ within = [1, 3] }``, ``{ exactly = 0 }``,
        ``{ near = 3, tolerance = 1 }`` or ``{ word = "equal", of = "share" }``.

        With a word, ``of`` is ``"ratio"`` if absent; with ``percent = true`` the value is in percent.

        Raises ValueError for anything else.
        """
        match dict(data):
            case {"above": low}:
                return Expected(Limits(low, math.inf, strict=True), f"> {low:g}")
            case {"below": high}:
                return Expected(Limits(-math.inf, high, strict=True), f"< {high:g}")
            case {"within": [low, high]}:
                return Expected(Limits(low, high), f"{low:g} to {high:g}")
            case {"exactly": value}:
                return Expected(Limits(value, value), f"{value:g}")
            case {"near": near, "tolerance": tolerance}:
                limits = Limits(near - tolerance, near + tolerance)
                return Expected(limits, f"{near:g}", near=float(near), tolerance=float(tolerance))
            case {"word": name, **rest} if rest.keys() <= {"of", "percent"}:
                from windtunnel.experiment.words import word

                means = word(name)
                limits = means.limits(rest.get("of", "ratio"), rest.get("percent", False))
                return Expected(limits, f"{name.replace('-', ' ')} ({limits.words()})", means.why)
        raise ValueError(f"not an expectation: {data}")

    @property
    def published(self) -> float | str:
        """The content of the published column."""
        return self.text if self.near is None else self.near
