"""The kernel's side: a network namespace of its own, a TUN device, and a sending socket."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CLONE_NEWNET = 0x40000000

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000

#: A clock that advances once per tick (clock_getres(2)).
CLOCK_MONOTONIC_COARSE = 6

DEVICE = "path"
SENDER, RECEIVER, PORT = "10.77.0.1", "10.77.0.2", 5001

#: tcp(7), Documentation/networking/ip-sysctl.rst. Linux's defaults, stated so that a distribution's own have no effect;
#: the kernel remembers nothing about earlier connections, and the socket's buffer holds any transfer.
SYSCTLS: Mapping[str, str] = {
    "tcp_sack": "1",
    "tcp_dsack": "1",
    "tcp_timestamps": "1",
    "tcp_window_scaling": "1",
    "tcp_ecn": "0",
    "tcp_recovery": "1",
    "tcp_early_retrans": "3",
    "tcp_frto": "2",
    "tcp_reordering": "3",
    "tcp_slow_start_after_idle": "1",
    "tcp_no_metrics_save": "1",
    "tcp_fastopen": "0",
    "tcp_mtu_probing": "0",
    "tcp_notsent_lowat": "4294967295",
    "tcp_wmem": "4096 33554432 33554432",
}


def new_network(
    sysctls: Mapping[str, str],
    initial_window: int | None = None,
    largest_burst: int | None = None,
    mtu: int = 1500,
) -> int:
    """A network namespace for this process, with nothing but a TUN device in it; returns the device's descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "a network namespace needs root")
    for name, value in {**SYSCTLS, **sysctls}.items():
        Path("/proc/sys/net/ipv4", name).write_text(value, encoding="ascii")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    request = struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI)
    fcntl.ioctl(device, TUNSETIFF, request)
    window = ["initcwnd", str(initial_window)] if initial_window else []
    _ip("addr", "add", f"{SENDER}/32", "dev", DEVICE)
    # TCP always builds large packets, which a lower layer splits, whatever the device's offloads (Linux 4.17). With
    # room for one segment in them, each packet is the one that TCP decided to send.
    burst = ["gso_max_segs", str(largest_burst)] if largest_burst else []
    _ip("link", "set", DEVICE, "mtu", str(mtu), *burst, "up")
    _ip("route", "add", f"{RECEIVER}/32", "dev", DEVICE, *window)
    return device


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def sending_socket(cc: str, send_buffer: int | None = None) -> socket.socket:
    """A socket that starts to connect; ``send_buffer``, if given, fixes the size of its send buffer."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sender.setblocking(False)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if send_buffer:
        # socket(7): the kernel doubles the value to have room for its own records.
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer // 2)
    sender.connect_ex((RECEIVER, PORT))
    return sender


def listening_socket() -> socket.socket:
    """A socket that waits for a connection."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind((SENDER, PORT))
    listener.listen(1)
    return listener


def tick_ms() -> float:
    """The kernel's tick: its timers' granularity, and how often CUBIC computes its growth."""
    return time.clock_getres(CLOCK_MONOTONIC_COARSE) * 1000


STATES = ("open", "disorder", "cwr", "recovery", "loss")

#: The start of ``struct tcp_info``: eight single bytes, then words.
TCP_INFO = struct.Struct("8B24I")
WORDS = (
    *("rto", "ato", "snd_mss", "rcv_mss", "unacked", "sacked", "lost", "retrans", "fackets"),
    *("last_data_sent", "last_ack_sent", "last_data_recv", "last_ack_recv"),
    *("pmtu", "rcv_ssthresh", "rtt", "rttvar", "snd_ssthresh", "snd_cwnd", "advmss", "reordering"),
    *("rcv_rtt", "rcv_space", "total_retrans"),
)

#: A slow-start threshold that is not set yet.
INFINITE = 0x7FFFFFFF


@dataclass(frozen=True)
class Info:
    """What ``TCP_INFO`` says about the sender. Windows are in segments, times in microseconds."""

    state: str
    backoff: int
    words: Mapping[str, int]

    @property
    def cwnd(self) -> int:
        """The congestion window."""
        return self.words["snd_cwnd"]

    @property
    def ssthresh(self) -> int | None:
        """The slow-start threshold; None while it is infinite."""
        ssthresh = self.words["snd_ssthresh"]
        return None if ssthresh == INFINITE else ssthresh


def tcp_info(sender: socket.socket) -> Info:
    """The sender's state now."""
    values = TCP_INFO.unpack_from(sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size))
    return Info(STATES[values[1]], values[4], dict(zip(WORDS, values[8:], strict=True)))
