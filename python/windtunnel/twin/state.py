"""What a controller of the kernel tells about itself (TCP_CC_INFO), in the columns of our own controllers' state.

The structures are those of ``linux/inet_diag.h``. Most controllers tell nothing; `ss -i` shows the same.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import nan
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.twin.traffic import Floats

#: What Vegas and its relatives have before the first sample.
_NO_RTT = 0x7FFFFFFF


def _rtt(word: int) -> Callable[[tuple[int, ...]], float]:
    """A round-trip time in microseconds."""
    return lambda words: words[word] * 1e-6 if words[word] < _NO_RTT else nan


#: By controller: the column, how the structure is unpacked, and its value.
_FIELDS: Mapping[str, tuple[tuple[str, str, Callable[[tuple[int, ...]], float]], ...]] = {
    "dctcp": (("alpha", "=2H3I", lambda words: words[2] / 1024 if words[0] else nan),),
    "bbr": (
        # Bytes in a second, of 64 bits in two words.
        ("bw_bit_per_s", "=5I", lambda words: 8.0 * (words[0] | words[1] << 32)),
        ("min_rtt_s", "=5I", _rtt(2)),
        ("pacing_gain", "=5I", lambda words: words[3] / 256),
        ("cwnd_gain", "=5I", lambda words: words[4] / 256),
    ),
    # They share a structure, and fill it differently.
    **dict.fromkeys(("vegas", "yeah"), (("base_rtt_s", "=4I", _rtt(2)),)),
    "illinois": (("base_rtt_s", "=4I", _rtt(3)),),
    "nv": (("min_rtt_s", "=4I", _rtt(3)),),
}


def readers(controller: str) -> dict[str, Callable[[str], float]]:
    """The columns that a controller has, and what reads them from the digits that the guest wrote."""
    return {name: partial(_read, layout, of) for name, layout, of in _FIELDS.get(controller, ())}


def _read(layout: str, of: Callable[[tuple[int, ...]], float], digits: str) -> float:
    data = bytes.fromhex(digits)
    size = struct.calcsize(layout)
    return of(struct.unpack(layout, data[:size])) if len(data) >= size else nan


def state_table(flows: Sequence[tuple[int, str, Mapping[str, Floats]]], times: Floats) -> dict[str, npt.NDArray[Any]]:
    """The table of controllers' state: a row for each flow that tells any, in each interval; empty if none does.

    ``flows``: the number of a flow, its controller, and its samples.
    """
    telling = [(number, readers(controller), samples) for number, controller, samples in flows if readers(controller)]
    if not telling:
        return {}
    nothing = np.full(len(times), nan)
    table: dict[str, npt.NDArray[Any]] = {
        "time_s": np.repeat(times, len(telling)),
        "flow": np.tile(np.array([number for number, _, _ in telling], dtype=np.uint32), len(times)),
    }
    for name in dict.fromkeys(name for _, names, _ in telling for name in names):
        each = [
            np.where(samples["there"] > 0, samples[name], nan) if name in names else nothing
            for _, names, samples in telling
        ]
        table[name] = np.stack(each, axis=1).reshape(-1)
    return table
