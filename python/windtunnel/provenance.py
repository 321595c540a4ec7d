"""Where a result comes from: the build, the machine, and code that is not windtunnel's own. No number depends on it."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

from windtunnel import _core

#: How ``foreign`` of a run names a controller.
_CONTROLLER = "controller "


def build() -> dict[str, str]:
    """The version, and the commit of the build, which is absent where the core was built outside of the repository."""
    commit = _core.commit()
    return {"version": _core.__version__, **({"commit": commit} if commit else {})}


def build_in_words() -> str:
    """``0.1.0, commit 1234567890ab``."""
    commit = _core.commit()
    return f"{_core.__version__}, commit {short(commit)}" if commit else _core.__version__


def short(commit: str) -> str:
    """Twelve digits of a commit, and whether the build had changes in addition to it."""
    digits, plus, changes = commit.partition("+")
    return digits[:12] + plus + changes


@cache
def host() -> dict[str, str]:
    """The machine; what it does not tell is absent."""
    facts = {
        "python": platform.python_version(),
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }
    with suppress(OSError):
        facts["distribution"] = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return {key: value for key, value in facts.items() if value}


def plugins(foreign: Iterable[str]) -> list[dict[str, str]]:
    """The files of controllers that are not windtunnel's own, with the hash of each as it was loaded.

    ``foreign`` is what runs say about themselves. A class that comes from no plugin has no file.
    """
    from windtunnel.plugins import origin

    files = []
    for name in sorted({what.removeprefix(_CONTROLLER) for what in foreign}):
        plugin = origin(name)
        if plugin is not None:
            files.append({"controller": name, "file": plugin.path.name, "sha256": plugin.sha256})
    return files
