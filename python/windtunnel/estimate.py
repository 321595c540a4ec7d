"""What a run will need, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: A run that takes longer than this, in seconds, is announced.
LONG = 60.0
#: A run that takes more than this share of the memory that it may take is announced.
LARGE = 0.25

_PARTS = 3


def is_large(estimate: Mapping[str, Any], limit: int | None) -> bool:
    """Whether to print the estimate before a run starts."""
    return estimate["seconds"] > LONG or (limit is not None and estimate["memory_bytes"] > LARGE * limit)


def lines(estimate: Mapping[str, Any], limit: int | None) -> Iterator[str]:
    """The estimate as text: traffic and time, memory with its largest parts, rows, and files."""
    packets, disk = estimate["packets"], estimate["disk"]
    yield (
        f"expected: {count(packets['data'])} data packets, {count(packets['events'])} events, "
        f"{seconds(estimate['seconds'])} of a core, roughly"
    )
    allowed = "" if limit is None else f" of the {size(limit)} that it may take (--memory)"
    yield f"memory: about {size(estimate['memory_bytes'])}{allowed}"
    for part in estimate["parts"][:_PARTS]:
        about = "at most" if part["certainty"] == "bound" else "about"
        yield f"  {about} {size(part['bytes'])}: {part['what']} ({part['key']})"
    rows = (f"{table['table']} {count(table['rows'])}" for table in estimate["tables"])
    yield f"rows: {', '.join(rows)}"
    files = f"files: about {size(disk['parquet'])} of Parquet; as CSV {size(disk['csv'])}"
    yield files + (f", as pcapng {size(disk['pcapng'])}" if disk["pcapng"] else "")


def size(amount: float) -> str:
    """Bytes in units of powers of two, as memory is measured."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def count(number: float) -> str:
    """A number with about two significant digits."""
    for unit in ("", " thousand", " million", " billion"):
        if number < 1000 or unit == " billion":
            return f"{number:.0f}{unit}" if number >= 10 or not unit else f"{number:.1f}{unit}"
        number /= 1000
    raise AssertionError


def seconds(duration: float) -> str:
    """A time in the unit that suits it."""
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if duration >= 2 * length:
            return f"{duration / length:.0f} {unit}"
    return f"{duration:.0f} s" if duration >= 1 else "less than a second"
