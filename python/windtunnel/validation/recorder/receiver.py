"""A receiver that acknowledges every segment at once: the ``immediate`` one of scenarios.

SACK with the newest block first (RFC 2018), D-SACK (RFC 2883), timestamps (RFC 7323, with PAWS), ECN (RFC 3168). It has
no timers and an endless buffer, so that the sender alone determines its behaviour. It answers the sender's FIN with its
own (RFC 9293 section 3.6).
"""

from __future__ import annotations

from windtunnel.validation.recorder.wire import ACK, CE, CWR, ECE, FIN, MODULUS, SYN, Segment

#: The initial sequence number; any value would do.
ISS = 1_000_000

#: SACK blocks that fit next to timestamps, and without them.
BLOCKS_BESIDE_TIMESTAMPS, BLOCKS = 3, 4

MSS, SCALE, TICKS_PER_S = 1460, 14, 1000

#: How many ticks a timestamp may be behind the latest one: processors' clocks differ (Linux).
PAWS_WINDOW = 1


class Receiver:
    """The receiving end of one connection. Numbers are relative to the sender's initial sequence number."""

    def __init__(self, *, sack: bool, timestamps: bool, ecn: bool) -> None:
        self._sack, self._timestamps, self._ecn = sack, timestamps, ecn
        self._initial = 0
        self._next = 0
        self._out_of_order: list[tuple[int, int]] = []
        """Blocks above ``_next``, the newest first."""
        self._ts_recent = 0
        self._echo_ce = False
        self._fin: int | None = None
        """The number of the sender's FIN, once it has arrived."""
        self.closed = False
        """Whether its own FIN was acknowledged."""

    def on_segment(self, segment: Segment, now_ns: int) -> Segment | None:
        """The answer to a segment."""
        if segment.flags & SYN:
            return self._on_syn(segment, now_ns)
        self.closed |= segment.flags & ACK > 0 and segment.ack == ISS + 2
        fin = bool(segment.flags & FIN)
        if not segment.payload and not fin:
            return None
        start = (segment.seq - self._initial) % MODULUS
        end = start + segment.payload + fin
        if segment.timestamps and not self._take_timestamp(segment.timestamps[0], start, end):
            duplicate = (start, end) if start < self._next else None
            return self._answer(segment, ACK, now_ns, self._blocks(duplicate))
        if fin:
            self._fin = end - 1
        if segment.flags & CWR:
            self._echo_ce = False
        if segment.ecn == CE:
            self._echo_ce = True
        duplicate = self._take(start, end)
        closes = self._fin is not None and self._next > self._fin
        return self._answer(segment, ACK | (FIN if closes else 0), now_ns, self._blocks(duplicate))

    def _on_syn(self, syn: Segment, now_ns: int) -> Segment:
        self._initial, self._next = syn.seq, 1
        self._sack &= syn.sack_permitted
        self._timestamps &= syn.timestamps is not None
        self._ecn &= syn.flags & (ECE | CWR) == ECE | CWR
        if syn.timestamps:
            self._ts_recent = syn.timestamps[0]
        answer = self._answer(syn, SYN | ACK | (ECE if self._ecn else 0), now_ns, ())
        answer.seq, answer.mss, answer.scale, answer.sack_permitted = ISS, MSS, SCALE, self._sack
        return answer

    def _answer(self, segment: Segment, flags: int, now_ns: int, blocks: tuple[tuple[int, int], ...]) -> Segment:
        echo = ECE if self._echo_ce else 0
        ticks = now_ns * TICKS_PER_S // 1_000_000_000 % MODULUS
        return Segment(
            source=segment.target,
            target=segment.source,
            seq=ISS + 1,
            ack=self._on_wire(self._next),
            flags=flags | echo,
            timestamps=(ticks, self._ts_recent) if self._timestamps else None,
            sack=tuple((self._on_wire(start), self._on_wire(end)) for start, end in blocks),
        )

    def _take_timestamp(self, value: int, start: int, end: int) -> bool:
        """Note the timestamp of a segment (RFC 7323 section 4.3). False if PAWS rejects it (section 5)."""
        if value + PAWS_WINDOW < self._ts_recent:
            return False
        # As in Linux, the timestamp of a segment that ends below the last ACK is not noted, and neither is a smaller
        # one.
        if start <= self._next <= end and value > self._ts_recent:
            self._ts_recent = value
        return True

    def _on_wire(self, number: int) -> int:
        return (self._initial + number) % MODULUS

    def _take(self, start: int, end: int) -> tuple[int, int] | None:
        """Take in data. Returns the part that had been received before: none or all of it, because segments never
        change.
        """
        if end <= self._next or any(first <= start and end <= last for first, last in self._out_of_order):
            return start, end
        if start > self._next:
            joined = [block for block in self._out_of_order if block[1] >= start and block[0] <= end]
            apart = [block for block in self._out_of_order if block not in joined]
            newest = min(start, *(b[0] for b in joined), start), max(end, *(b[1] for b in joined), end)
            self._out_of_order = [newest, *apart]
            return None
        self._next = end
        while below := [block for block in self._out_of_order if block[0] <= self._next]:
            self._next = max(self._next, below[0][1])
            self._out_of_order.remove(below[0])
        return None

    def _blocks(self, duplicate: tuple[int, int] | None) -> tuple[tuple[int, int], ...]:
        if not self._sack:
            return ()
        if duplicate and duplicate[0] >= self._next:
            # The block that contains the duplicate follows it (RFC 2883 section 4).
            self._out_of_order.sort(key=lambda block: not block[0] <= duplicate[0] < block[1])
        most = BLOCKS_BESIDE_TIMESTAMPS if self._timestamps else BLOCKS
        return tuple(([duplicate] if duplicate else []) + self._out_of_order)[:most]
