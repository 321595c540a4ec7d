"""What the runs of a campaign gave so far: rows in batches, in a journal that outlives this process; and which row is
whose.

A batch in the journal has the keys of its runs, so that another process that goes on with the campaign finds them, also
after the campaign has changed. Here are only the slots of rows, eight bytes for each run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel.campaign.batch import Done
from windtunnel.campaign.rows import Rows
from windtunnel.engine.cache import KEY_BYTES, Store, key_of

#: A run: the index of its cell among the wanted ones, and its own in the cell.
Address: TypeAlias = tuple[int, int]
Slots: TypeAlias = npt.NDArray[np.int64]

#: The key of a run that is not known when a campaign goes on.
_NONE = bytes(KEY_BYTES)
#: A slot is 1 + the row of a batch, and the batch above this bit; 0 is none.
_BATCH = 32
#: Decoded batches that are kept: next to the one that is read, those of its baselines.
_DECODED = 16


class Ledger:
    """The rows of ``cells`` cells, ``each`` runs of them at first. ``name`` is what was read from the runs."""

    def __init__(self, journal: Store, name: bytes, cells: int, each: int) -> None:
        self._journal, self._name = journal, name
        self._slots = np.zeros((cells, each), np.int64)
        self._more: dict[int, list[int]] = {}
        self._batches: list[bytes] = []
        self._decoded = OrderedDict[int, Rows]()
        self._first, self._second, self._where = self._read()

    def _read(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], Slots]:
        """The runs of earlier processes: both halves of their keys, in the order of the first, and their slots."""
        keys, slots = [np.empty((0, 2), np.uint64)], [np.empty(0, np.int64)]
        for key, value in self._journal.items():
            if value[:KEY_BYTES] == self._name:
                end = 2 * KEY_BYTES + int.from_bytes(value[KEY_BYTES : 2 * KEY_BYTES], "little") * KEY_BYTES
                keys.append(_halves(value[2 * KEY_BYTES : end]))
                slots.append((len(self._batches) << _BATCH) + 1 + np.arange(len(keys[-1])))
                self._batches.append(key)
        halves, where = np.concatenate(keys), np.concatenate(slots)
        is_lasting = halves.any(axis=1)
        halves, where = halves[is_lasting], where[is_lasting]
        order = np.argsort(halves[:, 0], kind="stable")
        return halves[order, 0], halves[order, 1], where[order]

    def recall(self, runs: Sequence[Address], keys: Sequence[bytes]) -> list[bool]:
        """Which of these runs were done before the campaign went on; from then on they are settled."""
        if not len(self._first):
            return [False] * len(runs)
        halves = _halves(b"".join(keys))
        at = np.minimum(np.searchsorted(self._first, halves[:, 0]), len(self._first) - 1)
        is_known = (self._first[at] == halves[:, 0]) & (self._second[at] == halves[:, 1])
        for run, slot in zip(compress(runs, is_known), self._where[at[is_known]].tolist(), strict=True):
            self._settle(run, slot)
        answers: list[bool] = is_known.tolist()
        return answers

    def add(self, runs: Sequence[Address], keys: Sequence[bytes], done: Done) -> None:
        """Keep the rows of these runs."""
        lasting = list(keys)
        for at in done.doubtful:
            lasting[at] = _NONE
        head = self._name + len(keys).to_bytes(KEY_BYTES, "little") + b"".join(lasting)
        self._journal.put(key := key_of(keys), head + done.rows)
        for row, run in enumerate(runs):
            self._settle(run, (len(self._batches) << _BATCH) + 1 + row)
        self._batches.append(key)

    def _settle(self, run: Address, slot: int) -> None:
        cell, index = run
        if index < self._slots.shape[1]:
            self._slots[cell, index] = slot
            return
        more = self._more.setdefault(cell, [])
        more.extend([0] * (index + 1 - self._slots.shape[1] - len(more)))
        more[index - self._slots.shape[1]] = slot

    def rows(self, cell: int) -> Rows:
        """The rows of a cell, in the order of its runs."""
        return self._at(np.concatenate([self._slots[cell], np.array(self._more.get(cell, []), np.int64)]))

    def row(self, run: Address) -> Rows:
        """The row of one run."""
        cell, index = run
        slot = self._slots[cell, index] if index < (each := self._slots.shape[1]) else self._more[cell][index - each]
        return self._at(np.array([slot]))

    def groups(self, most: int) -> Iterator[tuple[Slots, Rows]]:
        """All runs, ``most`` at a time, in the order of the plan: their cells and rows."""
        cells, each = self._slots.shape
        cell, index, slots = np.repeat(np.arange(cells), each), np.tile(np.arange(each), cells), self._slots.ravel()
        if self._more:
            more = [(key, each + at, slot) for key, slots in self._more.items() for at, slot in enumerate(slots)]
            added = np.array(more, np.int64)
            cell, index, slots = (np.concatenate([old, new]) for old, new in zip((cell, index, slots), added.T,
                                                                                 strict=True))  # fmt: skip
            order = np.lexsort((index, cell))
            cell, index, slots = cell[order], index[order], slots[order]
        for first in range(0, len(slots), most):
            part = slice(first, first + most)
            yield cell[part], self._at(slots[part])

    def _at(self, slots: Slots) -> Rows:
        """The rows at these slots; neighbours usually are neighbours in a batch."""
        assert slots.all(), "each run is settled"
        starts = np.flatnonzero(np.diff(slots, prepend=slots[0] - 2) != 1)
        ends = np.append(starts[1:], len(slots))
        parts = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            batch, row = divmod(int(slots[start]) - 1, 1 << _BATCH)
            parts.append(self._batch(batch).part(row, row + end - start))
        return Rows.together(parts)

    def _batch(self, number: int) -> Rows:
        if number not in self._decoded:
            value = self._journal.get(self._batches[number])
            assert value is not None, "each batch is in the journal"
            count = int.from_bytes(value[KEY_BYTES : 2 * KEY_BYTES], "little")
            self._decoded[number] = Rows.decode(value[(2 + count) * KEY_BYTES :])
            if len(self._decoded) > _DECODED:
                self._decoded.popitem(last=False)
        self._decoded.move_to_end(number)
        return self._decoded[number]


def _halves(keys: bytes) -> npt.NDArray[np.uint64]:
    return np.frombuffer(keys, "<u8").reshape(-1, 2)
