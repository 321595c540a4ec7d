"""What went wrong outside a scenario: a file, a folder, an argument, a run."""

import errno
from collections.abc import Iterable

#: Errors of the operating system that say what the user can change, in the user's words.
_REASONS = {
    errno.ENOENT: "there is no such folder",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EISDIR: "is a folder",
}


class InputError(ValueError):
    """Input that cannot be used. ``str(error)`` is the whole message, ready to print."""


class RunFailedError(RuntimeError):
    """A run that failed although its input was valid."""


class StoppedError(KeyboardInterrupt):
    """An interrupt after which something that was written remains. ``str(error)`` is the whole message."""


def failed_in_words(error: BaseException) -> str:
    """What a run raised, and in whose controller."""
    from windtunnel._core import ControllerError

    if isinstance(error, ControllerError):
        return str(error)
    return ", ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])


def reason(error: OSError) -> str:
    """Why the operating system refused, in a few words."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the nearest of ``names``, or nothing if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), list(names), n=1, cutoff=0.5)
    return f"; did you mean `{near[0]}`?" if near else ""


def cut(text: str, most: int = 80) -> str:
    """A text for a message: its start, if it is long."""
    return text if len(text) <= most else f"{text[: most - 3]}..."
