"""The kernel as a receiver: segments arrive at given times, ACKs are recorded, and the application reads at once."""

from __future__ import annotations

import os
import select
import socket
import time
from dataclasses import dataclass

from windtunnel.validation.receiver_scripts import Arrival, ReceiverScript
from windtunnel.validation.recorder import kernel
from windtunnel.validation.recorder.session import PACKET
from windtunnel.validation.recorder.wire import ACK, CWR, ECE, FIN, MODULUS, PSH, SYN, Segment, build, parse

#: Initial sequence number and port of the sender; any values would do.
ISS, PORT = 1_000, 4_000

#: The sender's timestamps count milliseconds; so do the kernel's.
TICKS_PER_S = 1000

#: More bytes than there ever are to read.
READ = 1 << 20


@dataclass(frozen=True)
class Answer:
    """An ACK of the kernel."""

    time_ns: int
    after: int
    """How many segments had arrived."""
    ack: int
    """The bytes acknowledged."""
    window: int
    sack: tuple[tuple[int, int], ...]
    ece: bool
    fin: bool


class ReceiverSession:
    """A connection to the kernel's receiver, in real time."""

    def __init__(self, script: ReceiverScript) -> None:
        self.answers: list[Answer] = []
        self.times_ns: list[int] = []
        """When each segment arrived, since the handshake ended."""
        self.initial_window = 0
        self._script = script
        self._device = kernel.new_network(
            {
                "tcp_sack": str(int(script.sack)),
                "tcp_timestamps": str(int(script.timestamps)),
                "tcp_ecn": str(int(script.ecn)),
                "tcp_rmem": f"4096 131072 {script.largest_buffer}",
            },
            mtu=script.mtu,
        )
        self._listener = kernel.listening_socket()
        self._acked_seq = self._scale = 0
        self._kernel_ticks = (0, 0)
        """A timestamp of the kernel, and when it arrived."""
        self._began = 0

    def run(self) -> None:
        """Whether everything has arrived, and the last ACK has had time to leave."""
        try:
            application = self._connect()
            for arrival in self._script.arrivals:
                self._wait_until(self._began + int(arrival.at_ms * 1e6))
                self.times_ns.append(time.monotonic_ns() - self._began)
                self._put(arrival)
                self._note()
                self._read(application)
                self._note()
            self._wait_until(time.monotonic_ns() + int(self._script.quiet_ms * 1e6))
            application.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            application.close()
        finally:
            self._listener.close()
            os.close(self._device)

    def _connect(self) -> socket.socket:
        script = self._script
        flags = SYN | (ECE | CWR if script.ecn else 0)
        syn = Segment(PORT, kernel.PORT, ISS, 0, flags, mss=script.mtu - 40, scale=14, sack_permitted=script.sack)
        syn.timestamps = (self._ticks(), 0) if script.timestamps else None
        sent_at = time.monotonic_ns()
        self._write(syn)
        answer = self._segments()[0]
        self._acked_seq, self._scale = (answer.seq + 1) % MODULUS, answer.scale or 0
        self.initial_window = answer.window
        self._take_ticks(answer)
        while time.monotonic_ns() < sent_at + script.rtt_ms * 1_000_000:
            time.sleep(1e-4)
        self._began = time.monotonic_ns()
        acknowledgment = self._segment(ISS + 1, ACK)
        if script.timestamps:
            # Linux accepts only the echo of its SYN|ACK here.
            acknowledgment.timestamps = self._ticks(), self._kernel_ticks[0]
        self._write(acknowledgment)
        self._listener.settimeout(1)
        application, _ = self._listener.accept()
        application.setblocking(False)
        return application

    def _segment(self, seq: int, flags: int) -> Segment:
        segment = Segment(PORT, kernel.PORT, seq % MODULUS, self._acked_seq, flags)
        if self._script.timestamps:
            ticks, at_ns = self._kernel_ticks
            echoed_at = time.monotonic_ns() - self._script.rtt_ms * 1_000_000
            segment.timestamps = self._ticks(), (ticks + round((echoed_at - at_ns) / 1e6)) % MODULUS
        return segment

    def _put(self, arrival: Arrival) -> None:
        flags = ACK | (PSH if arrival.push else 0) | (CWR if arrival.cwr else 0) | (FIN if arrival.fin else 0)
        segment = self._segment(ISS + 1 + arrival.first, flags)
        segment.payload, segment.ecn = arrival.length, arrival.ecn
        self._write(segment)

    def _wait_until(self, due_ns: int) -> None:
        while (left := due_ns - time.monotonic_ns()) > 0:
            # Wait for the last part without sleeping, because a sleep ends late.
            select.select([self._device], [], [], max(0.0, left / 1e9 - 1e-3))
            self._note()

    def _read(self, application: socket.socket) -> None:
        """What has arrived; at the end of the stream the application closes its side too."""
        try:
            if not application.recv(READ) or not application.recv(READ):
                application.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return

    def _note(self) -> None:
        for segment in self._segments():
            self._take_ticks(segment)
            blocks = tuple(((start - ISS - 1) % MODULUS, (end - ISS - 1) % MODULUS) for start, end in segment.sack)
            self.answers.append(
                Answer(
                    time.monotonic_ns() - self._began,
                    len(self.times_ns),
                    (segment.ack - ISS - 1) % MODULUS,
                    segment.window << self._scale,
                    blocks,
                    bool(segment.flags & ECE),
                    bool(segment.flags & FIN),
                )
            )

    def _take_ticks(self, segment: Segment) -> None:
        if segment.timestamps:
            self._kernel_ticks = segment.timestamps[0], time.monotonic_ns()

    def _ticks(self) -> int:
        return time.monotonic_ns() * TICKS_PER_S // 1_000_000_000 % MODULUS

    def _write(self, segment: Segment) -> None:
        os.write(self._device, build(segment, kernel.RECEIVER, kernel.SENDER))

    def _segments(self) -> list[Segment]:
        segments: list[Segment] = []
        while True:
            try:
                segment = parse(os.read(self._device, PACKET))
            except BlockingIOError:
                return segments
            if segment is not None and segment.source == kernel.PORT:
                segments.append(segment)
