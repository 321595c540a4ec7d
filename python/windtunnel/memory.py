"""How much memory a run may take.

By default half of what is available: the other half is for what Python does with the result, whose tables it compresses
one at a time. What is available is the least of three: the machine's free memory, what the control groups of this
process leave (as in a container), and how far its address space may still grow (``ulimit -v``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import index
from pathlib import Path
from typing import SupportsIndex

from windtunnel import _core
from windtunnel.errors import InputError

#: The share of the available memory that a run may take.
SHARE = 0.5

#: The files in which Linux says to which control groups this process belongs, and where these are mounted.
_CGROUPS_OF_PROCESS, _CGROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def limit(memory: SupportsIndex | str | None) -> int | None:
    """The bytes that a run may take: ``memory``, such as ``"8 GB"``, or the default; None if nothing is known.

    Raises InputError for what is not a size, and for more than this process may allocate.
    """
    room = [*_address_space(), *_cgroups()]
    if memory is None:
        available = [*room, *_machine()]
        return int(min(available) * SHARE) if available else None
    wanted = _size(memory)
    if room and wanted > min(room):
        msg = f"memory {memory!s}: this process may take {min(room) / 2**30:.1f} GiB more, by a limit of its system"
        raise InputError(msg)
    return wanted


def give_back() -> None:
    """Gives what the core has freed back to the system. The C library keeps it for later, in pieces, and Python has
    memory of its own; a library that cannot do this is left alone.
    """
    import ctypes

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):
        return


def _size(memory: SupportsIndex | str) -> int:
    if isinstance(memory, str):
        try:
            size = _core.size(memory)
        except ValueError as error:
            raise InputError(f"memory: {error}") from None
    else:
        size = index(memory)  # NumPy's integers too
    if size <= 0:
        raise InputError(f'memory: {memory!r} is not allowed: more than 0 B, such as "8 GB"')
    return size


def _machine() -> Iterator[int]:
    """The memory that is free or can be freed."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        names = getattr(os, "sysconf_names", {})
        if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return
    for line in lines:
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            yield int(value.split()[0]) * 1024


def _address_space() -> Iterator[int]:
    """How far the address space may still grow."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            yield max(0, most - pages * resource.getpagesize())
    except (ImportError, OSError):
        return


def _cgroups(of_process: Path = _CGROUPS_OF_PROCESS, mounted: Path = _CGROUPS) -> Iterator[int]:
    """What each control group of this process, and each group that contains it, leaves."""
    try:
        lines = of_process.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, most, used = mounted, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, most, used = mounted / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        group = root / path.lstrip("/")
        # In a container the group may be mounted as the root.
        for folder in (group, *group.parents):
            if not folder.is_relative_to(root):
                break
            left = _left(folder, most, used)
            if left is not None:
                yield left


def _left(group: Path, most: str, used: str) -> int | None:
    """What a control group leaves; None without a limit. Memory of files that it has read and may drop counts as
    free.
    """
    try:
        limit = (group / most).read_text(encoding="ascii").strip()
        if not limit.isdigit():  # "max"
            return None
        return max(0, int(limit) - int((group / used).read_text(encoding="ascii")) + _cached(group))
    except (OSError, ValueError):
        return None


def _cached(group: Path) -> int:
    """Memory of files that a control group has not used for a while."""
    try:
        stat = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):
        return 0
    # Version 1 has a value for the group itself as well as the total.
    return int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
