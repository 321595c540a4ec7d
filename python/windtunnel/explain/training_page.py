"""The page about the classifier: how right it is about families and controllers that it has not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from windtunnel.explain.controllers import RIGHT, SURE, UNKNOWN, Answer

if TYPE_CHECKING:
    from windtunnel.explain.train import Example

_STEPS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Controllers with laws so near to each other that the name of one tells what the other does.
RELATIVES = (
    {"bbr", "bbr2", "bbr3"},
    {"reno", "compound", "dctcp", "lp", "tahoe", "veno", "westwood"},
    {"bic", "cubic"},
    {"highspeed", "illinois", "scalable", "yeah"},
    {"cdg", "nv", "vegas"},
    {"ledbat", "ledbat-pp"},
    {"iiad", "sqrt"},
    {"copa", "vivace"},
    {"dctcp", "prague"},
)


class Tested(NamedTuple):
    """The captures, and what was said about them."""

    names: Sequence[str]
    #: The number of each capture's controller.
    truth: Any
    captures: Sequence[Example]
    #: The answers of trees that have not seen its family, and of such as have not seen its controller either.
    answers: Sequence[Sequence[Answer]]
    unknown_answers: Sequence[Sequence[Answer]]
    #: How far both can be trusted: the shares of wrong, right and unknown.
    known_trust: Any
    unknown_trust: Any

    @property
    def right(self) -> Any:
        """Whether the controller is in the first answer."""
        return np.array([each.controller in ranked[0].controllers for each, ranked in self._pairs()])

    @property
    def in_three(self) -> Any:
        """Whether it is in one of the first three."""
        return np.array(
            [any(each.controller in one.controllers for one in ranked[:3]) for each, ranked in self._pairs()]
        )

    @property
    def sure(self) -> Any:
        """Whether the first answer is sure."""
        return self.known_trust[:, RIGHT] > SURE

    def _pairs(self) -> Iterator[tuple[Example, Sequence[Answer]]]:
        return zip(self.captures, self.answers, strict=True)


def page(tested: Tested) -> str:
    """Markdown."""
    return "\n".join(
        [
            "# Which controller is it?",
            "",
            "How well `windtunnel explain` tells controllers apart. `make train-explain` trains the model and writes",
            "this page; do not edit it.",
            "",
            f"{len(tested.truth)} captures of simulated runs: {len(tested.names)} controllers, all over the same",
            f"paths of {len({each.family for each in tested.captures})} families (`explain/families.py`), captured at",
            "the sender, at the receiver, and in ways in which captures are less than whole. All numbers are about",
            "captures of a family that the classifier has not seen: it is trained on the others. The model in the",
            "package is trained on all. Controllers that did the same in a capture are one answer.",
            "",
            f"The first answer is right in **{_percent(tested.right)}**; the right one is among the first three in "
            f"{_percent(tested.in_three)}.",
            f"{_percent(tested.sure)} of the answers are sure (over {100 * SURE:.0f} %); "
            f"{_percent(tested.sure & ~tested.right)} of all are sure and wrong.",
            "",
            *_by(tested, "family", [each.family for each in tested.captures]),
            *_by(tested, "capture", [each.capture for each in tested.captures]),
            *_confusion(tested),
            *_calibration(tested),
            *_left_out(tested),
        ]
    )


def _percent(share: Any) -> str:
    return f"{100 * float(np.mean(share)):.1f} %" if len(share) else "-"


def _by(tested: Tested, what: str, of: Sequence[str]) -> list[str]:
    kinds, right, in_three, sure = np.asarray(of), tested.right, tested.in_three, tested.sure
    rows = [
        f"| {kind} | {np.sum(mine := kinds == kind)} | {_percent(right[mine])} | {_percent(in_three[mine])} | "
        f"{_percent(sure[mine])} | {_percent((sure & ~right)[mine])} |"
        for kind in dict.fromkeys(of)
    ]
    head = f"| {what} | captures | right | among three | sure | sure and wrong |"
    return [f"## By {what}", "", head, "|---|---:|---:|---:|---:|---:|", *rows, ""]


def _confusion(tested: Tested) -> list[str]:
    lines = [
        "## Confusion",
        "",
        "What was taken for something else in 3 % of its captures and more.",
        "",
        "| controller | captures | right | taken for |",
        "|---|---:|---:|---|",
    ]
    right = tested.right
    for number, name in enumerate(tested.names):
        mine = np.flatnonzero(tested.truth == number)
        taken = Counter(tested.answers[int(n)][0].controllers[0] for n in mine if not right[n])
        shares = [(other, count / len(mine)) for other, count in taken.most_common() if count >= 0.03 * len(mine)]
        others = ", ".join(f"{other} {100 * share:.0f} %" for other, share in shares)
        lines.append(f"| {name} | {len(mine)} | {100 * right[mine].mean():.0f} % | {others} |")
    return [*lines, ""]


def _calibration(tested: Tested) -> list[str]:
    lines = [
        "## Calibration",
        "",
        "Of the first answers that were ranked a probability in this range, the share that was right, if half as many",
        "captures again are of controllers that the classifier does not know.",
        "",
        "| probability | captures | mean probability | right |",
        "|---|---:|---:|---:|",
    ]
    likely = np.concatenate([tested.known_trust[:, RIGHT], tested.unknown_trust[:, RIGHT]])
    right = np.concatenate([tested.right, np.zeros(len(tested.truth), bool)])
    weight = np.repeat([1.0, 0.5], len(tested.truth))
    error = 0.0
    for low, high in pairwise(_STEPS):
        mine = (likely >= low) & (likely < high if high < 1 else likely <= high)
        if mine.any():
            mean, share = (float(np.average(values[mine], weights=weight[mine])) for values in (likely, right))
            error += float(weight[mine].sum() / weight.sum()) * abs(mean - share)
            lines.append(f"| {low:g} to {high:g} | {mine.sum()} | {100 * mean:.0f} % | {100 * share:.0f} % |")
    return [*lines, "", f"Expected calibration error: {100 * error:.1f} %.", ""]


def _left_out(tested: Tested) -> list[str]:
    lines = [
        "## Controllers that it does not know",
        "",
        "Each controller was left out of the training, with half of the families. Its captures should be called",
        "unknown, or a relative: a controller with a law near to its own. `sure` counts answers that are sure, and no",
        "relative.",
        "",
        "| controller | unknown | unknown or a relative | sure | taken for |",
        "|---|---:|---:|---:|---|",
    ]
    unknown = tested.unknown_trust[:, UNKNOWN] > 0.5
    sure = tested.unknown_trust[:, RIGHT] > SURE
    first = [ranked[0].controllers[0] for ranked in tested.unknown_answers]
    related = np.array(
        [
            any({each.controller, name} <= group for group in RELATIVES)
            for each, name in zip(tested.captures, first, strict=True)
        ]
    )
    for number, name in enumerate(tested.names):
        mine = np.flatnonzero(tested.truth == number)
        taken = Counter(first[n] for n in mine if not unknown[n]).most_common(3)
        lines.append(
            f"| {name} | {_percent(unknown[mine])} | {_percent((unknown | related)[mine])} | "
            f"{_percent((sure & ~related)[mine])} | {', '.join(other for other, _ in taken)} |"
        )
    lines.append(f"| all | {_percent(unknown)} | {_percent(unknown | related)} | {_percent(sure & ~related)} | |")
    called = tested.known_trust[:, UNKNOWN] > 0.5
    return [*lines, "", f"Of captures of known controllers, {_percent(called)} are called unknown.", ""]
