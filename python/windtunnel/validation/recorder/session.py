"""One transfer of a kernel socket over the scripted path, in real time."""

from __future__ import annotations

import os
import select
import socket
import time
from dataclasses import dataclass

from windtunnel.validation.recorder import kernel
from windtunnel.validation.recorder.kernel import Info
from windtunnel.validation.recorder.path import MS, Agenda, Bottleneck, Medium
from windtunnel.validation.recorder.receiver import Receiver
from windtunnel.validation.recorder.wire import FIN, MODULUS, SYN, Segment, build, parse

#: Longest IP packet.
PACKET = 65_536

#: How much earlier the answer to the SYN arrives. A SYN passes a bottleneck sooner than data, so the handshake has the
#: least round trip, which RACK compares with; in real time a margin has to ensure this.
SYN_LEAD_NS = MS


@dataclass(frozen=True)
class Transfer:
    """The data to send, and the path."""

    segments: tuple[int, ...]
    """The writes of the application: each ``pause_ms`` after all data of the previous one are acknowledged."""
    mss: int
    cc: str
    forward: str = ""
    """The effects on the path of the data: ``impair`` of a scenario."""
    reverse: str = ""
    """The same for the path of the ACKs."""
    marked: tuple[int, ...] = ()
    """The data packets that get CE, by the order of their transmission, from 1 on."""
    ecn: bool = False
    sack: bool = True
    timestamps: bool = True
    initial_window: int | None = None
    largest_burst: int | None = 1
    """Segments that TCP may send as one packet (GSO); None: as many as it likes."""
    pause_ms: int = 0
    close: bool = False
    """The application closes its side of the connection after its last write."""
    rtt_ms: int = 100
    rate_mbps: int = 100
    longest_ms: int = 60_000
    send_buffer: int | None = None
    """The socket's buffer in bytes of the kernel's memory, if the application sets it."""
    sysctls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Transmission:
    """A data segment or FIN that left the sender, and the sender's state at that time."""

    time_ns: int
    """Since the first SYN."""
    segment: int | None
    """Its number, from 1 on; None for a FIN without data."""
    retransmission: bool
    info: Info
    fin: bool = False


@dataclass(frozen=True)
class Step:
    """An ACK that the sender has taken in, and its state afterwards."""

    time_ns: int
    ack: int
    """The highest segment acknowledged."""
    sack: tuple[tuple[int, int], ...]
    """The segments, first and last, of each block."""
    info: Info


class Session:
    """The network that the kernel's sender sees, the receiver behind it, and the application before it."""

    def __init__(self, transfer: Transfer) -> None:
        self.transmissions: list[Transmission] = []
        self.steps: list[Step] = []
        self._transfer = transfer
        self._device = kernel.new_network(
            {
                "tcp_sack": str(int(transfer.sack)),
                "tcp_timestamps": str(int(transfer.timestamps)),
                "tcp_ecn": str(int(transfer.ecn)),
                **dict(transfer.sysctls),
            },
            transfer.initial_window,
            transfer.largest_burst,
        )
        self._agenda = Agenda()
        self._receiver = Receiver(sack=transfer.sack, timestamps=transfer.timestamps, ecn=transfer.ecn)
        forward = Medium(transfer.forward, self._agenda, self._to_receiver)
        self._reverse = Medium(transfer.reverse, self._agenda, self._to_sender)
        self._bottleneck = Bottleneck(transfer.rate_mbps, frozenset(transfer.marked), self._agenda, forward.enter)
        self._sender = kernel.sending_socket(transfer.cc, transfer.send_buffer)
        self._began: int | None = None
        self._initial = self._highest = 0
        self._written = self._acked = 0
        self._left = 0
        """The part of the current write that the socket has not taken yet."""
        self._writes = list(transfer.segments)
        self._write_waits = False
        self._closes = transfer.close

    @property
    def finished(self) -> bool:
        """Whether everything is acknowledged, also by the sender if the connection closes."""
        acknowledged = not self._writes and not self._left and 0 < self._written == self._acked
        return acknowledged and not self._closes and (not self._transfer.close or self._receiver.closed)

    def run(self) -> None:
        """Run until everything is acknowledged, or the time limit is reached."""
        end = time.monotonic_ns() + self._transfer.longest_ms * MS
        while not self.finished and time.monotonic_ns() < end:
            self._drain()
            due = self._agenda.next_due
            wait_ns = end - time.monotonic_ns() if due is None else due - self._now()
            if due is not None and wait_ns <= 0:
                self._agenda.run_next()
            else:
                select.select([self._device], self._connecting(), [], wait_ns / 1e9)
                self._write()
        self._close()

    def _now(self) -> int:
        return 0 if self._began is None else time.monotonic_ns() - self._began

    def _connecting(self) -> list[socket.socket]:
        return [] if self._written or self._began is None else [self._sender]

    def _write(self) -> None:
        """Do the application's next write, if it is due, or continue the current one, if the socket has room."""
        if self._left and select.select([], [self._sender], [], 0)[1]:
            self._go_on()
        if not self._writes or self._left or self._acked < self._written or self._write_waits:
            return
        if self._sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or not self._established():
            return
        if self._written:
            self._write_waits = True
            self._agenda.at(self._now() + self._transfer.pause_ms * MS, lambda _: self._write_now())
        else:
            self._write_now()

    def _write_now(self) -> None:
        self._write_waits = False
        self._left = self._writes.pop(0) * self._transfer.mss
        self._go_on()

    def _go_on(self) -> None:
        while self._left:
            try:
                taken = self._sender.send(bytes(self._left))
            except BlockingIOError:
                return
            self._left -= taken
            self._written += taken
        if not self._writes and self._closes:
            self._closes = False
            # Sends the FIN as close(2) does, but the socket can still be asked about its state.
            self._sender.shutdown(socket.SHUT_WR)

    def _established(self) -> bool:
        try:
            self._sender.getpeername()
        except OSError:
            return False
        return True

    def _drain(self) -> None:
        """The kernel's transmissions."""
        while True:
            try:
                packet = os.read(self._device, PACKET)
            except BlockingIOError:
                return
            segment = parse(packet)
            if segment is not None and segment.target == kernel.PORT:
                self._on_sent(segment)

    def _on_sent(self, segment: Segment) -> None:
        if self._began is None:
            self._began = time.monotonic_ns()
        now = self._now()
        if segment.flags & SYN:
            self._initial = segment.seq
        fin = bool(segment.flags & FIN)
        if segment.payload or fin:
            start = (segment.seq - self._initial) % MODULUS - 1
            again = start < self._highest
            self._highest = max(self._highest, start + segment.payload + fin)
            number = start // self._transfer.mss + 1 if segment.payload else None
            self.transmissions.append(Transmission(now, number, again, kernel.tcp_info(self._sender), fin))
        self._bottleneck.enter(segment, now)

    def _to_receiver(self, segment: Segment, now_ns: int) -> None:
        half = self._transfer.rtt_ms * MS // 2
        self._agenda.at(now_ns + half, lambda at: self._arrive(segment, at))

    def _arrive(self, segment: Segment, now_ns: int) -> None:
        answer = self._receiver.on_segment(segment, now_ns)
        if answer is not None:
            self._reverse.enter(answer, now_ns)

    def _to_sender(self, answer: Segment, now_ns: int) -> None:
        lead = SYN_LEAD_NS if answer.flags & SYN else 0
        half = self._transfer.rtt_ms * MS // 2
        self._agenda.at(now_ns + half - lead, lambda _: self._deliver(answer))

    def _deliver(self, answer: Segment) -> None:
        os.write(self._device, build(answer, kernel.RECEIVER, kernel.SENDER))
        if not answer.flags & SYN:
            # The FIN has a sequence number of its own.
            acked = min((answer.ack - self._initial) % MODULUS - 1, self._written)
            self._acked = max(self._acked, acked)
            numbers = tuple((self._number(start) + 1, self._number(end)) for start, end in answer.sack)
            self.steps.append(Step(self._now(), self._number(answer.ack), numbers, kernel.tcp_info(self._sender)))
        self._drain()
        self._write()

    def _number(self, seq: int) -> int:
        """The segment that ends before a sequence number."""
        return ((seq - self._initial) % MODULUS - 1) // self._transfer.mss

    def _close(self) -> None:
        # A reset: after it, nothing is left that could send.
        self._sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self._sender.close()
        os.close(self._device)
