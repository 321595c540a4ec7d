"""What a run of a campaign need not record, because no metric reads it: rows take most of the time that is not traffic.

Recording changes neither a run nor its summary, but for the count of events.
"""

from __future__ import annotations

from collections.abc import Set

_BY_INTERVAL = {"flows", "queues", "bands", "classes"}
_STATE = {"cc", "aqm", "qdisc"}


def settings(tables: Set[str], duration: str) -> tuple[str, ...]:
    """The settings of ``[record]`` for a run if only ``tables`` are read."""
    found = []
    if not tables & (_BY_INTERVAL | _STATE):
        found.append(f'record.interval="{duration}"')
    if not tables & _STATE:
        found.append('record.state="off"')
    if not any(table.endswith("_points") for table in tables):
        found.append(f'record.points="{duration}"')
    if not any(table.endswith("_events") for table in tables):
        found.append("record.events=false")
    if "packets" not in tables:
        found.append("record.packets=false")
    return tuple(found)
