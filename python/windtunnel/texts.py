"""A column of texts, many of them the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Texts:
    """A column of texts: the place of each in a list of words, -1 for a text that is missing.

    Iteration gives the texts, with None for a missing one.
    """

    __slots__ = ("at", "words")

    def __init__(self, at: npt.NDArray[np.int32], words: Sequence[str]) -> None:
        self.at = at
        self.words = words

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> Texts:
        """The column of these texts."""
        import numpy as np

        places: dict[str, int] = {}
        at = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
        return cls(np.array(at, np.int32), list(places))

    def __len__(self) -> int:
        return len(self.at)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.tolist())

    def __getitem__(self, rows: Any) -> Texts:
        """Some of the rows: a slice, their indices, or a truth value for each."""
        return Texts(self.at[rows], self.words)

    def tolist(self) -> list[str | None]:
        """The texts."""
        words = [*self.words, None]
        return [words[index] for index in self.at.tolist()]

    def among(self, words: Iterable[str]) -> npt.NDArray[np.int64]:
        """The place of each text in another list; -1 for one that is not there."""
        import numpy as np

        there = {word: index for index, word in enumerate(words)}
        return np.array([*(there.get(word, -1) for word in self.words), -1], np.int64)[self.at]

    def __repr__(self) -> str:
        return f"<{len(self)} texts, {len(self.words)} different ones>"
