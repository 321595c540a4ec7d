"""The namespaces of one end: its network, where none has a name, and its processes, which end with the first of them.

Python has calls for these only from 3.12 on, so they go to the C library. Each ``RefusedError`` is a line for a user.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from pathlib import Path

_NEW_USER, _NEW_PID, _NEW_NET = 0x10000000, 0x20000000, 0x40000000
#: From linux/prctl.h.
_SET_PARENT_DEATH_SIGNAL = 1

_libc = ctypes.CDLL(None, use_errno=True)


class RefusedError(Exception):
    """What the system does not allow, or lacks, and how to change that."""


def die_with_parent() -> None:
    """Let this process be killed when the thread that started it ends, however that ends."""
    _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def leave_network() -> None:
    """Move into a network namespace without a name. The next child is the first process of a namespace, too: when it
    ends, the kernel ends all others there. Without rights over the machine's own network, a user namespace gives
    rights over the new one.
    """
    user, group = os.geteuid(), os.getegid()
    number = _unshare(_NEW_NET | _NEW_PID) if user == 0 else errno.EPERM
    if number == errno.EPERM:
        number = _unshare(_NEW_USER | _NEW_NET | _NEW_PID)
        if number == 0:
            _become_root(user, group)
    if number:
        raise RefusedError(_why_not(number))


def enter_network(name: str) -> None:
    """Move into a network namespace that has a name; the next child is as in :func:`leave_network`."""
    try:
        descriptor = os.open(f"/run/netns/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise RefusedError(f"there is no network namespace `{name}`: `ip netns add {name}` makes it") from None
    except OSError as error:
        raise RefusedError(f"the network namespace `{name}` cannot be opened: {error.strerror}") from None
    number = _called(_libc.setns(descriptor, _NEW_NET)) or _unshare(_NEW_PID)
    os.close(descriptor)
    if number == errno.EPERM:
        raise RefusedError(f"to enter the network namespace `{name}` takes root: start the command with sudo")
    if number:
        raise RefusedError(f"the network namespace `{name}` cannot be entered: {os.strerror(number)}")


def _unshare(what: int) -> int:
    return _called(_libc.unshare(what))


def _called(result: int) -> int:
    """The error of a call; 0 if there was none."""
    return ctypes.get_errno() if result else 0


def _become_root(user: int, group: int) -> None:
    """Of the new user namespace alone. Files still see the user."""
    try:
        for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path("/proc/self", file).write_text(text, encoding="utf-8")
    except OSError:
        raise RefusedError(_why_not(errno.EPERM)) from None


def _why_not(number: int) -> str:
    """Why there is no namespace, and what to do."""
    if number in (errno.ENOSPC, errno.EUSERS):
        return "there may be no more namespaces: raise user.max_user_namespaces and user.max_net_namespaces with sysctl"
    if number not in (errno.EPERM, errno.EACCES):
        return f"this kernel makes no namespaces: {os.strerror(number)}"
    for switch, allowed in _SWITCHES.items():
        if _line(switch) not in ("", allowed):
            name = switch.removeprefix("/proc/sys/").replace("/", ".")
            return f"users may not make namespaces here: `sysctl -w {name}={allowed}` allows it, or use sudo"
    return "this process may make no namespaces, as in some containers: use sudo, or allow CAP_SYS_ADMIN"


#: What forbids user namespaces, and the value that allows them.
_SWITCHES = {
    "/proc/sys/kernel/unprivileged_userns_clone": "1",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "0",
}


def _line(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
