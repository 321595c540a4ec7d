"""Which figures, tables and claims a text names: "figures 11 and 14a", "table 2", "P17d", "graphs 2 to 4"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from windtunnel.papers.suite import Group

#: What documents number, and the prefix of the ids of its groups.
_KINDS = {"figure": "fig", "table": "table", "graph": "graph", "slide": "slide"}
_NUMBER = r"\d+[a-z]?"
_NUMBERED = re.compile(
    rf"\b({'|'.join(_KINDS)})s?\s+({_NUMBER}(?:(?:,\s+and\s+|,\s*|\s+and\s+|\s+to\s+){_NUMBER})*)\b", re.IGNORECASE
)
#: The ids of claims: a letter, two digits, and perhaps one that tells several apart.
_CLAIM = re.compile(r"\b[A-Z]\d\d[a-z]?\b")


class Mentions:
    """Finds the groups of a suite in texts."""

    def __init__(self, groups: Sequence[Group], aliases: Mapping[str, Sequence[str]]) -> None:
        self.titles = {group.id: group.title for group in groups}
        self._order = list(self.titles)
        self._aliases = aliases

    def in_text(self, text: str) -> list[str]:
        """The ids of the groups that the text names, in its order; those that were not run are not there."""
        found = [*self._numbered(text), *(id for match in _CLAIM.findall(text) for id in self._known(match))]
        return list(dict.fromkeys(found))

    def _numbered(self, text: str) -> Iterator[str]:
        for kind, listed in _NUMBERED.findall(text):
            prefix = _KINDS[kind.lower()]
            for part in re.split(r",\s+and\s+|,\s*|\s+and\s+", listed):
                first, _, last = re.sub(r"\s+to\s+", "-", part).partition("-")
                yield from self._range(prefix + first, prefix + last) if last else self._known(prefix + first)

    def _known(self, name: str) -> list[str]:
        """The group of that name, or those for which it stands (``fig3`` is 3a and 3b)."""
        if name in self.titles:
            return [name]
        return [id for id in self._aliases.get(name, ()) if id in self.titles]

    def _range(self, first: str, last: str) -> list[str]:
        """From the first group of one name to the last of the other, in the suite's order."""
        start, end = self._known(first), self._known(last)
        if not start or not end:
            return [*start, *end]
        return self._order[self._order.index(start[0]) : self._order.index(end[-1]) + 1]
