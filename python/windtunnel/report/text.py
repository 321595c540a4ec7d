"""Numbers as people read them: significant digits, a real minus sign, thin spaces between thousands."""

import math
import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

_MINUS = "\N{MINUS SIGN}"
_THIN = "\N{NARROW NO-BREAK SPACE}"
NOTHING = "\N{EN DASH}"


def number(value: Any, digits: int = 4) -> str:
    """A number with ``digits`` significant digits; whole numbers in full; text as it is; a dash for nothing."""
    if value is None:
        return NOTHING
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return grouped(value)
    if not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude >= 9 or magnitude < -5:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa.replace('-', _MINUS)}e{int(exponent)}"
    if magnitude >= digits - 1:
        return grouped(round(value))
    return f"{value:.{digits - 1 - magnitude}f}".replace("-", _MINUS)


def grouped(value: int) -> str:
    """A whole number, with thousands separated from 10 000 on."""
    text = f"{abs(value):,}".replace(",", _THIN) if abs(value) >= 10_000 else str(abs(value))
    return _MINUS + text if value < 0 else text


def signed(value: Any, digits: int = 3) -> str:
    """As ``number``, with a plus sign where it is positive."""
    text = number(value, digits)
    return f"+{text}" if isinstance(value, int | float) and math.isfinite(value) and value > 0 else text


def setting(value: Any) -> str:
    """A configured value, which is exact: without trailing zeros, which only show precision."""
    text = number(value, 6)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def with_code(text: str) -> Markup:
    """Text whose parts between backticks are code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def averaging(seconds: float) -> str:
    """A time over which to average; 0 s is that of each sample."""
    if seconds == 0:
        return "each sample"
    return f"{1e3 * seconds:g} ms" if seconds < 1 else f"{seconds:g} s"


def without_seed(what: Sequence[str]) -> str:
    """What a page and the terminal say about a run in which ``what`` drew random numbers that no seed decides."""
    return f"drawn without the seed by {' and '.join(what)}: the digest does not bind"
