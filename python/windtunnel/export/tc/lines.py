"""The lines of a script: commands of tc whose words are words, and comments that stay comments, whatever is in them."""

from __future__ import annotations

from collections.abc import Iterable

from windtunnel.escape import comment, shell, shell_variable


def tc(command: str, variable: str, words: Iterable[object]) -> str:
    """A command for the interface that a variable of the script names: ``qdisc add`` and its words."""
    return f'tc {command} dev "${variable}" {shell(words)}'


class Variables:
    """Names of variables for the links' interfaces, a different one for each.

    That of a dumbbell is ``BOTTLENECK``. Others have a prefix, so that no link is called ``PATH``.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, link: str, *, only: bool) -> str:
        """The variable of a link; ``only``: of a dumbbell."""
        wanted = "BOTTLENECK" if only else f"LINK_{shell_variable(link)}"
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


__all__ = ["Variables", "comment", "tc"]
