"""The TUN device of one end: what the kernel routes into it can be read from its descriptor, one IP packet at a time.

It has no header in front of packets (``IFF_NO_PI``) and no offloads, so the kernel segments what is longer than the MTU
before it gets here, and merges nothing. Nothing is resolved on it (ARP, ND), as it has no link layer. The device, its
addresses and its routes are gone when the last descriptor is closed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from windtunnel.emulate.namespaces import RefusedError

_FILE = "/dev/net/tun"
#: From linux/if_tun.h.
_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
#: The number of packets that wait in the device while the emulator's thread is not scheduled: 200 ms of 50,000 a
#: second.
QUEUE = 10_000
#: IPv6 needs links that carry this (RFC 8200, section 5).
_LEAST_IPV6 = 1280


def open_device(pattern: str) -> tuple[int, str]:
    """A new device: its descriptor, which does not block, and its name; ``%d`` in the pattern is a free number."""
    try:
        descriptor = os.open(_FILE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
            raise RefusedError(f"there is no {_FILE}: `modprobe tun` loads it, as root") from None
        raise RefusedError(f"{_FILE} cannot be opened ({error.strerror}): `chmod 666 {_FILE}`, as root") from None
    request = struct.pack("16sH22x", pattern.encode(), _IFF_TUN | _IFF_NO_PI)
    try:
        answer = fcntl.ioctl(descriptor, _TUNSETIFF, request)
        fcntl.ioctl(descriptor, _TUNSETOFFLOAD, 0)
    except OSError as error:
        os.close(descriptor)
        raise RefusedError(f"no TUN device can be made here ({error.strerror}): use sudo") from None
    return descriptor, answer[:16].rstrip(b"\0").decode()


def configure(ip: str, device: str, addresses: Sequence[str], mtu: int, *, alone: bool) -> list[str]:
    """Bring the device up, with its addresses; returns those that it has. ``alone``: the namespace is new."""
    six = mtu >= _LEAST_IPV6 and _has_ipv6()
    mine = [address for address in addresses if six or ":" not in address]
    lines = [
        *(["link set dev lo up"] if alone else []),
        f"link set dev {device} mtu {mtu} txqueuelen {QUEUE}",
        # Without an address of the link there are no router solicitations.
        *([f"link set dev {device} addrgenmode none"] if six else []),
        *(f"addr add {each} dev {device}{' nodad' if ':' in each else ''}" for each in mine),
        f"link set dev {device} up",
    ]
    done = _ip(ip, ["-batch", "-"], "\n".join(lines))
    if done.returncode:
        said = next(iter(done.stderr.splitlines()), f"exit code {done.returncode}")
        raise RefusedError(f"the device {device} cannot be set up: {said.removeprefix('RTNETLINK answers: ')}")
    return mine


def taken(ip: str, addresses: Sequence[str]) -> str:
    """A route of this namespace to one of these addresses; empty if there is none but a default one."""
    for each in addresses:
        address = each.partition("/")[0]
        version = "-6" if ":" in address else "-4"
        done = _ip(ip, [version, "route", "show", "table", "all", "match", address])
        for line in done.stdout.splitlines():
            if not line.startswith("default"):
                return line.strip()
    return ""


def dropped(ip: str, device: str) -> int:
    """The packets that found no place in the device."""
    done = _ip(ip, ["-json", "-statistics", "link", "show", "dev", device])
    try:
        return int(json.loads(done.stdout)[0]["stats64"]["tx"]["dropped"])
    except (ValueError, LookupError):
        return 0


def _ip(ip: str, words: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([ip, *words], input=text, capture_output=True, text=True, check=False)


def _has_ipv6() -> bool:
    try:
        return Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").read_text(encoding="utf-8").strip() == "0"
    except OSError:
        return False
