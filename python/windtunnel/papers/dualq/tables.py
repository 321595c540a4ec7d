"""The slides' figures, one for each run over DualPI2; and the runs over each queue: a figure of four panels and a table
of rates, round trips and probabilities.
"""

from __future__ import annotations

import math
from typing import Any

from windtunnel.papers.dualq.plan import (
    MEANINGS,
    PLAIN,
    QUEUES,
    TWEAKED,
    Meaning,
    Queue,
    add_setup,
    measured,
    runs,
    setup_name,
)
from windtunnel.papers.dualq.probabilities import CURVES, NAMES, mean_percent, series
from windtunnel.papers.rows import Row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value

#: The quick suite has both meanings of the base RTT over DualPI2 only.
QUICK = (("dualpi2", "20ms"), ("dualpi2", "40ms"), ("pi2", "20ms"))


def _share(plain: float, tweaked: float) -> float:
    return tweaked / (plain + tweaked) if plain + tweaked > 0 else math.nan


_RATES = (measured("goodput_mbps", PLAIN), measured("goodput_mbps", TWEAKED))

#: The rows of every run.
VALUES = (
    Value("rate", "CUBIC's rate", "Mbit/s", _RATES[:1]),
    Value("rate-joined", "the joining flow's rate", "Mbit/s", _RATES[1:]),
    Value("share", "the joining flow's share", "", _RATES, _share),
    Value("rtt", "CUBIC's RTT, mean", "ms", [measured("rtt_ms.mean", PLAIN)]),
    Value("rtt-joined", "the joining flow's RTT, mean", "ms", [measured("rtt_ms.mean", TWEAKED)]),
    Value("rtt-p95", "CUBIC's RTT, P95", "ms", [measured("rtt_ms.p95", PLAIN)]),
    Value("rtt-p95-joined", "the joining flow's RTT, P95", "ms", [measured("rtt_ms.p95", TWEAKED)]),
)


def slide_groups(setups: dict[str, Setup]) -> list[Group]:
    """A group for each run at a base RTT of 20 ms, with its interactive report; ``setups`` must contain them."""
    return [_slide(setups, run) for run in runs()]


def _slide(setups: dict[str, Setup], run: dict[str, Any]) -> Group:
    queue, meaning = QUEUES[0], MEANINGS[0]
    setup = setups[setup_name(queue, meaning, run["id"])]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.dualq.figure import draw

        excerpt = results.excerpt(setup.name)
        return draw(queue, meaning, [(title(queue, meaning, run), excerpt)]) if excerpt is not None else None

    name = run["slide"].replace(" ", "")
    return Group(name, run["slide"].capitalize(), run["caption"], [setup.name], lambda _: [], png, setup.name)


def table_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """A group for each queue and meaning."""
    chosen = [(q, m) for q in QUEUES for m in MEANINGS if not m.keys or q.id in m.keys]
    if quick:
        chosen = [(q, m) for q, m in chosen if (q.id, m.id) in QUICK]
    return [_group(setups, queue, meaning, quick=quick) for queue, meaning in chosen]


def _values(queue: Queue) -> list[Value]:
    """Queues with probabilities have rows of these, too."""
    curves = CURVES.get(queue.id, ())
    marks = [Value(f"p-{curve}", f"{NAMES[curve]}, mean", "%", [mean_percent(queue.id, curve)]) for curve in curves]
    return [*VALUES, *marks]


def _group(setups: dict[str, Setup], queue: Queue, meaning: Meaning, *, quick: bool) -> Group:
    listed = runs()
    used = [add_setup(setups, queue, meaning, run, quick=quick) for run in listed]
    for run, setup in zip(listed, used, strict=True):
        setup.excerpt, setup.page = series, title(queue, meaning, run)
        for value in _values(queue):
            value.prepare(setup)
    id = f"{queue.id}-{meaning.id}"

    def rows(results: Results) -> list[Row]:
        return [
            value.row(results, setup, f"{id}/{run['id']}", id, f"{run['id']}: {value.what}")
            for run, setup in zip(listed, used, strict=True)
            for value in _values(queue)
        ]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.dualq.figure import draw

        excerpts = [(run, results.excerpt(setup.name)) for run, setup in zip(listed, used, strict=True)]
        drawn = [(kind(run), excerpt) for run, excerpt in excerpts if excerpt is not None]
        return draw(queue, meaning, drawn) if drawn else None

    caption = f"The slides' four runs: 50 Mbit/s, {meaning.text}; the second flow joins at 10 s"
    return Group(id, f"{queue.name}, {meaning.id}", caption, [c.name for c in used], rows, png)


def kind(run: dict[str, Any]) -> str:
    """What the joining flow is: ``ECT1 responsive``, as the slides write it."""
    return f"{run['ect'].upper()} {'responsive' if run['responsive'] else 'unresponsive'}"


def title(queue: Queue, meaning: Meaning, run: dict[str, Any]) -> str:
    """The title of a run, as the slides have it."""
    return f"CUBIC vs CUBIC(40Mbps/{kind(run)}): {queue.id}, bandwidth:50Mbit, {meaning.text}"
