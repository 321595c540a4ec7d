"""What is wrong in a campaign, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windtunnel.errors import InputError


class CampaignError(InputError):
    """A campaign that is wrong: ``path`` leads to a value in the file, ``problem`` says what is wrong there."""

    def __init__(self, path: Sequence[str | int], problem: str, value: object = None) -> None:
        self.path, self.problem, self.value = tuple(path), problem, value
        super().__init__(f"{shown(self.path)}: {problem}")


def shown(path: Iterable[str | int]) -> str:
    """A path as messages show it: ``axes[0].grid.rate``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
