"""What ``windtunnel explain`` says about the captures of the kernel (``kernel_captures.py``), counted.

    python python/tests/kernel_answers.py docs/explain-kernel.md

explains all and writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from answers import MANY, SURE, Answer, answer, by, lists, table, taken_for_others
from kernel_captures import CONTROLLERS, DATA, PATHS, KernelCapture, captures

KernelAnswer: TypeAlias = Answer[KernelCapture]


def answers() -> list[KernelAnswer]:
    """Explain all captures."""
    return [answer(each, each.file) for each in captures()]


def page(told: Sequence[KernelAnswer]) -> str:
    """Markdown."""
    return "\n".join(_page(told)) + "\n"


def _page(told: Sequence[KernelAnswer]) -> Iterator[str]:
    few, many = ([each for each in told if each.many is those] for those in (False, True))
    yield "# Which controller is it? Of a kernel"
    yield ""
    yield f"What `windtunnel explain` says about {len(told)} captures of the unmodified Linux 7.3.4: each controller"
    yield "alone on six paths for 12 to 25 s, seen at both ends. The model was trained without them. They are in"
    yield "`python/tests/data/explain-kernel`, where a README says how they were made."
    yield "`python python/tests/kernel_answers.py docs/explain-kernel.md` writes this page; do not edit it."
    yield ""
    yield f"*Events* are losses and marks; *sure and wrong* is a wrong first answer with more than {100 * SURE:.0f} %;"
    yield "*accused* is a flow with a sign of misbehaviour. Where DCTCP has no ECN, the kernel itself puts Reno in its"
    yield "place; and its TCP-LP sends the packets of its Reno, with times that differ by less than 0.1 ms. Of all"
    yield "three, `reno` and `lp` are right answers."
    yield ""
    yield from table("captures", [("all", told), (f"{MANY} events or more", many), (f"fewer than {MANY} events", few)])
    for heading, group in (("path", _path), ("controller", _controller), ("end", _end)):
        yield f"## By {heading}"
        yield ""
        yield from table(heading, by(told, group))
    yield from lists(told)
    yield "## Taken for others"
    yield ""
    yield from taken_for_others(told, _controller)


def _path(capture: KernelCapture) -> str:
    return capture.path.name


def _controller(capture: KernelCapture) -> str:
    return capture.controller


def _end(capture: KernelCapture) -> str:
    return capture.end


def main() -> int:
    """Write the page."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    missing = [each.file for each in captures() if not each.file.exists()]
    if missing:
        print(f"{len(missing)} of {len(PATHS) * len(CONTROLLERS) * 2} captures are missing in {DATA}")
        return 1
    Path(sys.argv[1]).write_text(page(answers()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
