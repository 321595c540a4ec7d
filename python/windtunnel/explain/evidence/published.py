"""The numbers of published laws: the one place for them.

Where the registry states what a loss leaves of a large window (``kinds.kept``), it is taken from there; here are the
other numbers, with their sources. A controller has none where its publication gives none, or where it depends on the
path in a way that a number cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windtunnel import kinds


@dataclass(frozen=True)
class Law:
    """A law's numbers. Shares of the window are what is kept."""

    source: str
    #: After a loss: a range; or what the registry states.
    loss: tuple[float, float] | str | None = None
    #: After a mark: a share; ``"proportional"``: less for few marks; None: as after a loss.
    mark: float | str | None = None
    #: The distance of its probes for bandwidth in least round-trip times, and of those for the round-trip time in
    #: seconds.
    probe_round_trips: tuple[float, float] | None = None
    dip_s: float | None = None
    #: Segments that it keeps in the queue.
    queue_segments: tuple[float, float] | None = None


PROPORTIONAL = "proportional"
_REGISTRY = "registry"
_HALF = (0.5, 0.5)

#: Of controllers that the registry has, by name.
LAWS: Mapping[str, Law] = {
    "reno": Law("RFC 5681 section 3.1", loss=_HALF),
    "newreno": Law("RFC 6582 section 3.2", loss=_HALF),
    "cubic": Law("RFC 9438 section 4.6", loss=_REGISTRY),
    "scalable": Law("Kelly 2003", loss=_REGISTRY),
    "bic": Law("Xu, Harfoush and Rhee 2004", loss=_REGISTRY),
    # From 0.5 at 38 segments to 0.9 at 83,000.
    "highspeed": Law("RFC 3649 section 5", loss=(0.5, 0.9)),
    # The least round-trip time over the greatest of the epoch, within these limits.
    "htcp": Law("Leith and Shorten 2004", loss=(0.5, 0.8)),
    "hybla": Law("Caini and Firrincieli 2004", loss=_HALF),
    "compound": Law("draft-sridharan-tcpm-ctcp-02", loss=_HALF),
    "lp": Law("Kuzmanovic and Knightly 2003", loss=_HALF),
    # 0.5 with a full queue, 0.875 with an empty one.
    "illinois": Law("Liu, Basar and Srikant 2006", loss=(0.5, 0.875)),
    # 0.8 where there is little in the queue, as after random losses.
    "veno": Law("Fu and Liew 2003", loss=(0.5, 0.8)),
    # 0.875 with little in the queue.
    "yeah": Law("Baiocchi, Castellani and Vacirca 2007", loss=(0.5, 0.875)),
    "dctcp": Law("RFC 8257 section 3", loss=_HALF, mark=PROPORTIONAL),
    "prague": Law("draft-briscoe-iccrg-prague-congestion-control", mark=PROPORTIONAL),
    # alpha and beta, in packets.
    "vegas": Law("Brakmo and Peterson 1995", queue_segments=(2.0, 4.0)),
    # Eight phases of a round trip each; 10 s after the least round-trip time was seen.
    "bbr": Law(
        "draft-cardwell-iccrg-bbr-congestion-control-00", loss=(1.0, 1.0), mark=1.0, probe_round_trips=(8.0, 8.0),
        dip_s=10.0,
    ),
    "bbr3": Law("draft-ietf-ccwg-bbr", loss=(0.7, 1.0)),
}  # fmt: skip

#: Of senders and receivers, whatever the controller.
INITIAL_WINDOW, INITIAL_WINDOW_SOURCE = 10, "RFC 6928"
SLOW_START_GROWTH, SLOW_START_SOURCE = 2.0, "RFC 5681 section 3.1"
AFTER_TIMEOUT_SEGMENTS, AFTER_TIMEOUT_SOURCE = 1, "RFC 5681 section 3.1"
SEGMENTS_PER_ACK, SEGMENTS_PER_ACK_SOURCE = 2, "RFC 5681 section 4.2"


def source(controller: str) -> str:
    """Whose law it is, and where it is published."""
    return f"{kinds.title(controller)}, {LAWS[controller].source}"


def kept_after_loss(controller: str) -> tuple[float, float] | None:
    """The range of what a loss leaves; None where no law of this name is known."""
    law = LAWS.get(controller)
    if law is None:
        return None
    return (kinds.kept(controller),) * 2 if isinstance(law.loss, str) else law.loss


def kept_after_mark(controller: str) -> tuple[float, float] | str | None:
    """What a mark leaves: a range, or how it depends on their share."""
    law = LAWS.get(controller)
    if law is None:
        return None
    if law.mark is None:
        return kept_after_loss(controller)
    return law.mark if isinstance(law.mark, str) else (law.mark, law.mark)
