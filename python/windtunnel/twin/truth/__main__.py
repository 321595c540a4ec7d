"""``python -m windtunnel.twin.truth``: what ``make twin`` and ``make twin-quick`` do."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from windtunnel.engine.progress import Count, shown
from windtunnel.errors import InputError
from windtunnel.kernel.kept import Kernel, choose, kernels
from windtunnel.twin.truth import cells as listed
from windtunnel.twin.truth.carry_out import Done, carry_out
from windtunnel.twin.truth.cells import Cell
from windtunnel.twin.truth.guests import Guests
from windtunnel.twin.truth.page import page, summary, write


def main(words: Sequence[str] | None = None) -> int:
    """Run the list; returns 1 if a cell failed, or differs by more than the quick list allows."""
    arguments = _arguments().parse_args(words)
    if not kernels() and arguments.kernel is None:
        print("skipped: there is no kernel here; `windtunnel kernel build` makes one in about 20 minutes")
        return 0
    kernel = choose(arguments.kernel)
    every = listed.cells(kernel)
    quick = listed.quick()
    draws = arguments.draws or (quick.draws if arguments.quick else listed.draws())
    some = [cell for cell in every if cell.name in quick.cells] if arguments.quick else every
    if arguments.only is not None:
        some = listed.chosen(some, arguments.only)
        if not some:
            raise InputError(f"--only {arguments.only}: no cell has such a name; one is {every[0].name}")
    done = _carry_out(some, kernel, draws, arguments.jobs, arguments.keep)
    print(summary(done))
    if arguments.only is None and not arguments.quick and arguments.page is not None:
        write(arguments.page, page(every, done, kernel, draws))
        print(arguments.page)
    wrong = [f"{each.cell.name}: {each.error}" for each in done if each.error]
    if arguments.quick:
        wrong += [text for each in done if (text := _too_far(each, quick.bound))]
    for text in wrong:
        print(text)
    return 1 if wrong else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m windtunnel.twin.truth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten cells, in about a minute")
    parser.add_argument("--only", metavar="PATTERN", help="cells with this in their name, * for anything; no page")
    parser.add_argument("--draws", type=_at_least(2), metavar="N", help="runs of the kernel")
    parser.add_argument("--jobs", type=_at_least(1), default=os.cpu_count() or 1, metavar="N", help="guests at a time")
    parser.add_argument("--kernel", metavar="VERSION", help="a kernel, as `windtunnel kernel status` names it")
    parser.add_argument("--keep", type=Path, default=Path("results/twin"), help="where what guests wrote is kept")
    parser.add_argument("--page", type=Path, help="the page to write, of the whole list")
    return parser


def _at_least(least: int) -> type[int]:
    def number(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text}: a whole number from {least} on")
        return int(text)

    return number  # type: ignore[return-value]


def _carry_out(some: Sequence[Cell], kernel: Kernel, draws: int, jobs: int, keep: Path) -> list[Done]:
    """All cells that the kernel has. Each is a line of ``cells.jsonl`` as soon as it is there."""
    count = Count(draws * sum(not cell.lacks for cell in some))
    console = None
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True, highlight=False)
    keep.mkdir(parents=True, exist_ok=True)
    try:
        guests = Guests(keep, kernel)
    except OSError as error:
        raise InputError(f"{keep}: {error.strerror or error}") from None
    done = []
    with (keep / "cells.jsonl").open("w", encoding="utf-8") as lines, shown(count, console, _tell) as moved:
        try:
            for each in carry_out(some, kernel, draws, jobs, guests, count, moved):
                done.append(each)
                rows = [measure.document() for measure in each.measures]
                document = {"cell": each.cell.name, "error": each.error, "measures": rows}
                print(json.dumps(document), file=lines, flush=True)
        finally:
            guests.close()
    return done


def _too_far(done: Done, bound: float) -> str:
    """What is wrong with a cell of the quick list: goodputs that differ by more than the bound."""
    goodputs = [measure for measure in done.measures if measure.name == "goodput"]
    linux, ours = (
        sum(float(np.mean(side)) for side in sides)
        for sides in zip(*((measure.linux, measure.ours) for measure in goodputs), strict=True)
    )
    if goodputs and abs(ours - linux) <= bound * linux:
        return ""
    return f"{done.cell.name}: {ours:.4g} Mbit/s, and {linux:.4g} by the kernel: more than {100 * bound:g} % apart"


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    # Guests are processes of their own: they end with the blocks that this leaves.
    for each in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _end)
    try:
        code = main()
    except InputError as error:
        _tell(f"error: {error}")
        code = 2
    except KeyboardInterrupt:
        _tell("stopped; what was done is kept: give the same command again to continue")
        code = 130
    sys.exit(code)
