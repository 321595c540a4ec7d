"""What a check expects of the mean over the seeds, as the data say it: ``above``, ``below`` or ``within``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windtunnel.papers.trials import Limits


@dataclass(frozen=True)
class Expected:
    """The limits of the mean, and how the report shows them."""

    limits: Limits
    text: str

    @staticmethod
    def of(data: Mapping[str, Any]) -> Expected:
        """From ``{ above = 3 }``, ``{ below = 3 }``, ``{ within = [1, 3] }`` or ``{ exactly = 0 }``."""
        match dict(data):
            case {"above": low}:
                return Expected(Limits(low, math.inf, strict=True), f"> {low:g}")
            case {"below": high}:
                return Expected(Limits(-math.inf, high, strict=True), f"< {high:g}")
            case {"within": [low, high]}:
                return Expected(Limits(low, high), f"{low:g} to {high:g}")
            case {"exactly": value}:
                return Expected(Limits(value, value), f"{value:g}")
        raise ValueError(f"not an expectation: {data}")
