"""The page of the list: how many measures are within the kernel's own spread, in each cell, and causes of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import fill

import numpy as np

from windtunnel.atomic import staged_file
from windtunnel.experiment.verdict import Verdict
from windtunnel.kernel.kept import Kernel
from windtunnel.twin.measures import Measure
from windtunnel.twin.truth.carry_out import OURS, Done
from windtunnel.twin.truth.causes import Cause, cause_of
from windtunnel.twin.truth.cells import Cell

_HEAD = """# The real Linux next to the simulator

Written by `make twin`, which anyone can run again where `windtunnel kernel build` has made a kernel
([](how-to/linux-kernel.md)). Each controller of Linux {version} runs over each queue of a list, alone, in a pair and
with four others like it: {draws} draws on the kernel, and {ours} of our model. Draws differ by their seed and by when
in its first round trip each flow starts.

The kernel's own spread of a measure is from the least to the greatest of its draws. The simulator is *within* it where
the interval (95 %) of its mean is, *outside* where none of the interval is, and otherwise the draws do not decide. A
lone flow behind a queue without chance has nearly no spread: there a difference of a thousandth is outside. So the
tables say by how much, relative to the kernel's mean.

The kernel is {name}. The list is `python/windtunnel/twin/truth/cells.toml`.
"""

_CELLS = """## The cells

*alone* is one flow; *pair* is one flow and one of CUBIC (of Reno, where the cell's controller is CUBIC); *five* are
five flows, whose measures are taken together: which of them wins is chance. In 10M-20ms no flow negotiates ECN; in
25M-60ms all do. Of two controllers, a column has the one that is farther outside. A dot is within; `?` is not decided;
a percentage is how far outside the simulator's mean is, relative to the kernel's mean; a bare number is an absolute
one, where the kernel's mean is 0.
"""

_VERDICTS: tuple[Verdict, ...] = ("agrees", "differs", "undecided")
#: The longest line of a document.
_WIDTH = 120
#: Measures that are whole numbers, and may be 0.
_COUNTS = ("retransmissions", "CE", "drops")
#: Borders of classes by which the page counts what is outside.
_BORDERS = (0.01, 0.05, 0.2)


def write(path: Path, text: str) -> None:
    """Write the page, completely or not at all."""
    with staged_file(path, force=True) as stage:
        stage.write_text(text, encoding="utf-8")


def page(cells: Sequence[Cell], done: Sequence[Done], kernel: Kernel, draws: int) -> str:
    """The page as Markdown. ``done`` has the outcomes in any order."""
    order = {cell.name: number for number, cell in enumerate(cells)}
    done = sorted(done, key=lambda each: order[each.cell.name])
    parts = [_HEAD.format(version=kernel.version, draws=draws, ours=OURS * draws, name=kernel.name)]
    parts.append("\n".join(_counts(cells, done)))
    parts.append("## By measure\n\n" + "\n".join(_by_measure(done)))
    parts.append("## By controller and queue\n\n" + "\n".join(_by_group(done)))
    parts.append("## What is outside, by cause\n\n" + "\n".join(_by_cause(done)))
    parts.append(_CELLS + "\n" + "\n".join(_table(done)))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def summary(done: Iterable[Done]) -> str:
    """How many cells and measures there are of each verdict, in words."""
    done = list(done)
    count = Counter(measure.verdict for each in done for measure in each.measures)
    failed = sum(bool(each.error) for each in done)
    words = f"{len(done)} cells, {sum(count.values())} measures: {count['agrees']} within the kernel's own spread, "
    words += f"{count['differs']} outside, {count['undecided']} not decided"
    return words + (f"; {failed} cells failed" if failed else "")


def _counts(cells: Sequence[Cell], done: Sequence[Done]) -> Iterator[str]:
    yield f"{summary(done)}.".capitalize()
    lacking = Counter(cell.lacks for cell in cells if cell.lacks)
    for what, number in lacking.items():
        yield f"{number} cells of the list are not tried, because this kernel has no {what}."
    yield from (f"{each.cell.name} failed: {each.error}" for each in done if each.error)


def _measures(done: Iterable[Done]) -> Iterator[tuple[Cell, Measure]]:
    return ((each.cell, measure) for each in done for measure in each.measures)


def _by_measure(done: Sequence[Done]) -> Iterator[str]:
    """Counts for each measure, how far apart the means are, and how many are outside by the borders of the classes."""
    yield "*Apart* is the difference of both means, relative to the kernel's: of half of the cells, and of nine in ten."
    yield ""
    classes = [f"outside by {100 * border:g} % and more" for border in _BORDERS]
    yield from _head("measure", "within", "outside", "not decided", "apart, half", "apart, nine in ten", *classes)
    names = dict.fromkeys(_column(measure) for _, measure in _measures(done))
    for name in names:
        some = [measure for _, measure in _measures(done) if _column(measure) == name]
        count = Counter(measure.verdict for measure in some)
        apart = [_percent(float(share)) for share in np.percentile([_apart(measure) for measure in some], (50, 90))]
        farther = [sum(abs(_share(measure)) >= border for measure in some) for border in _BORDERS]
        yield _row(name, *(str(count[verdict]) for verdict in _VERDICTS), *apart, *map(str, farther))


def _by_group(done: Sequence[Done]) -> Iterator[str]:
    """For each controller and queue: measures within and outside, and the mean share of what is outside."""
    queues = list(dict.fromkeys(each.cell.queue for each in done))
    yield "Measures within, of all; then the median of how far those outside are outside."
    yield ""
    yield from _head("controller", *queues)
    for controller, some in groupby(done, key=lambda each: each.cell.controller):
        mine = list(some)
        yield _row(controller, *(_group([each for each in mine if each.cell.queue == queue]) for queue in queues))


def _group(done: Sequence[Done]) -> str:
    every = [measure for _, measure in _measures(done)]
    within = sum(measure.verdict == "agrees" for measure in every)
    shares = [abs(_share(measure)) for measure in every if measure.verdict == "differs"]
    return f"{within} of {len(every)}" + (f", {_percent(float(np.median(shares)))}" if shares else "")


def _by_cause(done: Sequence[Done]) -> Iterator[str]:
    """Each cause with the number of measures that it explains, and what no cause explains."""
    outside = [(cell, measure) for cell, measure in _measures(done) if measure.verdict == "differs"]
    by_cause: dict[Cause | None, list[tuple[Cell, Measure]]] = {}
    for cell, measure in outside:
        by_cause.setdefault(cause_of(cell, measure), []).append((cell, measure))
    rest = by_cause.pop(None, [])
    for cause, some in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        assert cause is not None
        cells = len({cell.name for cell, _ in some})
        yield fill(f"**{cause.name}** ({len(some)} measures of {cells} cells). {cause.text}", _WIDTH)
        yield ""
    small = [measure for _, measure in rest if abs(_share(measure)) < _BORDERS[0]]
    yield fill(
        f"**Without a known cause**: {len(rest)} measures, {len(small)} of them by less than"
        f" {100 * _BORDERS[0]:g} % of the kernel's mean. The table has those of {100 * _BORDERS[2]:g} % and more.",
        _WIDTH,
    )
    yield ""
    yield from _head("cell", "measure", "kernel's spread", "simulator", "outside by")
    far = [(cell, measure) for cell, measure in rest if abs(_share(measure)) >= _BORDERS[2]]
    for cell, measure in sorted(far, key=lambda item: -abs(_share(item[1]))):
        name = f"{measure.subject}: {measure.name}{f' ({measure.unit})' if measure.unit else ''}"
        yield _row(cell.name, name, measure.spread.words(), f"{np.mean(measure.ours):.4g}", _far(measure))


def _table(done: Sequence[Done]) -> Iterator[str]:
    """A row for each cell."""
    columns = list(dict.fromkeys(_column(measure) for _, measure in _measures(done)))
    rows = []
    for each in done:
        worst = [_worst([measure for measure in each.measures if _column(measure) == name]) for name in columns]
        rows.append(_row(each.cell.name, *(["failed"] * len(columns) if each.error else worst)))
    yield from by_controller(_head("cell", *columns), rows)


def by_controller(head: Sequence[str], rows: Iterable[str]) -> Iterator[str]:
    """A table for each controller, with a heading, so that the site can make a page of it."""
    for controller, some in groupby(rows, key=lambda row: row.removeprefix("| ").partition("/")[0]):
        yield from (f"### {controller}", "", *head, *some, "")


def _worst(some: Sequence[Measure]) -> str:
    """The measure that is farthest outside, or the word for several that are not."""
    differing = [measure for measure in some if measure.verdict == "differs"]
    if differing:
        return _far(max(differing, key=lambda measure: abs(_share(measure))))
    if any(measure.verdict == "undecided" for measure in some):
        return "?"
    return "·" if some else ""


def _column(measure: Measure) -> str:
    """A measure's name; that of a queue's own marks has them apart from those that a flow's receiver has seen."""
    return f"queue: {measure.name}" if measure.subject == "bottleneck" else measure.name


def _share(measure: Measure) -> float:
    """How far outside, relative to the kernel's mean; infinite where that is 0, and 0 for what is not outside."""
    if measure.verdict != "differs":
        return 0.0
    scale = abs(float(np.mean(measure.linux)))
    return measure.outside / scale if scale else float(np.copysign(np.inf, measure.outside))


def _apart(measure: Measure) -> float:
    """The difference of both means, relative to the kernel's; of counts, at least 1 is what it is relative to."""
    linux, ours = float(np.mean(measure.linux)), float(np.mean(measure.ours))
    scale = max(abs(linux), 1.0) if measure.name in _COUNTS else abs(linux)
    return abs(ours - linux) / scale if scale else 0.0


def _far(measure: Measure) -> str:
    share = _share(measure)
    return f"{measure.outside:+.3g}" if np.isinf(share) else _percent(share, sign=True)


def _percent(share: float, *, sign: bool = False) -> str:
    if np.isinf(share):
        return "from 0"
    return (
        f"{100 * share:{'+' if sign else ''}.2g} %" if abs(share) < 0.1 else f"{100 * share:{'+' if sign else ''}.0f} %"
    )


def _head(*names: str) -> list[str]:
    return [_row(*names), "|---" * len(names) + "|"]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
