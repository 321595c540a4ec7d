"""What ``windtunnel explain`` says about the captures of the kernel (``kernel_captures.py``), counted.

    python python/tests/kernel_answers.py docs/explain-kernel.md

explains all and writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_captures import CONTROLLERS, DATA, PATHS, KernelCapture, captures

from windtunnel.explain import explain
from windtunnel.explain.overflow import congestion_events, loss_events, mark_events

#: A capture has many losses or marks from this number on.
MANY = 10
#: A probability that is taken for certainty.
SURE = 0.7


@dataclass(frozen=True)
class KernelAnswer:
    """What is said about a capture. ``events``: losses and marks. ``rank``: the right answer's, from 0, or None."""

    of: KernelCapture
    events: int
    first: str
    probability: float
    rank: int | None
    accused: tuple[str, ...]

    @property
    def right(self) -> bool:
        """The first answer is right."""
        return self.rank == 0

    @property
    def sure_and_wrong(self) -> bool:
        """The first answer is believed, and is not right."""
        return self.probability > SURE and not self.right

    @property
    def many(self) -> bool:
        """There are enough events to tell."""
        return self.events >= MANY

    @property
    def name(self) -> str:
        """Path, controller and end."""
        return f"{self.of.path.name}, {self.of.controller}, {self.of.end}"


@dataclass(frozen=True)
class Counted:
    """Answers in numbers."""

    captures: int
    right: int
    in_three: int
    sure_and_wrong: int
    accused: int

    @classmethod
    def of(cls, answers: Sequence[KernelAnswer]) -> Counted:
        """Count them."""
        return cls(
            len(answers),
            sum(each.right for each in answers),
            sum(each.rank is not None for each in answers),
            sum(each.sure_and_wrong for each in answers),
            sum(bool(each.accused) for each in answers),
        )


def answer(capture: KernelCapture) -> KernelAnswer:
    """Explain a capture."""
    explanation = explain(capture.file)
    [flow], [traced], [rounds] = explanation.document["flows"], explanation.trace.flows, explanation.rounds
    if rounds is None:
        return KernelAnswer(capture, 0, "", 0.0, None, ())
    events = congestion_events(loss_events(traced, rounds), mark_events(rounds), rounds)
    fits = flow["controller"]["fits"]
    # Controllers that did the same are one answer.
    names = [{fit["controller"], *fit["same"]} for fit in fits]
    return KernelAnswer(
        capture,
        len(events),
        fits[0]["controller"] if fits else "",
        float(fits[0]["probability"]) if fits else 0.0,
        next((rank for rank, group in enumerate(names) if group & set(capture.truth)), None),
        tuple(sign["sign"] for sign in flow["misbehaviour"] or () if sign["found"]),
    )


def answers() -> list[KernelAnswer]:
    """Explain all captures."""
    return [answer(each) for each in captures()]


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
    yield from _table("captures", [("all", told), (f"{MANY} events or more", many), (f"fewer than {MANY} events", few)])
    for heading, group in (("path", _path), ("controller", _controller), ("end", _end)):
        yield f"## By {heading}"
        yield ""
        names = dict.fromkeys(group(each) for each in told)
        yield from _table(heading, [(name, [each for each in told if group(each) == name]) for name in names])
    yield from _list(
        "Sure and wrong",
        [
            f"{each.name}: {each.first} {100 * each.probability:.0f} %, {each.events} events"
            for each in told
            if each.sure_and_wrong
        ],
    )
    yield from _list("Accused", [f"{each.name}: {', '.join(each.accused)}" for each in told if each.accused])
    yield "## Taken for others"
    yield ""
    yield "First answers that are wrong, by controller."
    yield ""
    yield "| controller | taken for |"
    yield "|---|---|"
    for controller in CONTROLLERS:
        wrong = [each.first or "none" for each in told if each.of.controller == controller and not each.right]
        if wrong:
            counts = sorted(((wrong.count(name), name) for name in set(wrong)), key=lambda pair: (-pair[0], pair[1]))
            yield f"| {controller} | {', '.join(f'{name} {count}' for count, name in counts)} |"


def _path(told: KernelAnswer) -> str:
    return told.of.path.name


def _controller(told: KernelAnswer) -> str:
    return told.of.controller


def _end(told: KernelAnswer) -> str:
    return told.of.end


def _table(what: str, groups: Sequence[tuple[str, Sequence[KernelAnswer]]]) -> Iterator[str]:
    """A row for each group: all, and of those with many events."""
    yield (
        f"| {what} | number | first right | in three | sure and wrong | accused "
        f"| with {MANY} events or more | of these first right | in three | sure and wrong |"
    )
    yield "|---|" + 9 * "---:|"
    for name, told in groups:
        every, many = Counted.of(told), Counted.of([each for each in told if each.many])
        yield (
            f"| {name} | {every.captures} | {_share(every, _right)} | {_share(every, _in_three)} "
            f"| {every.sure_and_wrong} | {every.accused} | {many.captures} | {_share(many, _right)} "
            f"| {_share(many, _in_three)} | {many.sure_and_wrong} |"
        )
    yield ""


def _right(counted: Counted) -> int:
    return counted.right


def _in_three(counted: Counted) -> int:
    return counted.in_three


def _share(counted: Counted, number: Callable[[Counted], int]) -> str:
    return f"{number(counted)} ({100 * number(counted) / counted.captures:.0f} %)" if counted.captures else ""


def _list(heading: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"## {heading}"
    yield ""
    yield from [f"- {line}" for line in lines] or ["None."]
    yield ""


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
