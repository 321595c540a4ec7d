"""What happens to packets behind a link, as netem's words (tc-netem(8)).

netem decides by chance as the elements do; what else an element does (outages, bleaching, tunnels, aggregation) tc has
no words for, and the script says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from windtunnel.export.tc.words import percent, seconds, tc_time

Element = Mapping[str, Any]

#: netem drops what exceeds its limit, by default 1000 packets: less than a long path holds.
LIMIT = 1_000_000


def _loss(element: Element) -> list[str]:
    return ["loss", "random", percent(element["probability"])]


def _gilbert_elliott(element: Element) -> list[str]:
    # gemodel p r 1-h 1-k: 1-h is the loss in the bad state, 1-k in the good one.
    return ["loss", "gemodel", *(percent(element[key]) for key in ("p", "r", "loss_bad", "loss_good"))]


def _corruption(element: Element) -> list[str]:
    return ["corrupt", percent(element["probability"])]


def _duplication(element: Element) -> list[str]:
    return ["duplicate", percent(element["probability"])]


#: Elements that netem can imitate, apart from those that change the delay.
WORDS: Mapping[str, Callable[[Element], list[str]]] = {
    "loss": _loss,
    "gilbert-elliott": _gilbert_elliott,
    "corruption": _corruption,
    "duplication": _duplication,
}

#: netem's distributions by ours.
_DISTRIBUTIONS = {"uniform": None, "normal": "normal", "pareto": "pareto"}


def netem(delay_s: float, elements: Sequence[Element]) -> tuple[list[str], list[str]]:
    """Return netem's words for a delay and elements, and notes on what they leave out."""
    words, notes, losses = [], [], 0
    jitter: list[str] = []
    reorder: list[str] = []
    for element in elements:
        kind = str(element["kind"])
        if "only" in element:
            notes.append(f"{kind}: tc would affect all packets, not only those of a filter")
        elif str(element.get("affects", "all")) != "all":
            notes.append(f"{kind}: tc would affect all packets, not only {element['affects']}")
        elif kind in WORDS:
            losses += kind in ("loss", "gilbert-elliott")
            if losses > 1 and kind in ("loss", "gilbert-elliott"):
                notes.append(f"{kind}: netem has one model of loss; put a second netem behind the first")
                continue
            words += WORDS[kind](element)
        elif kind == "jitter" and str(element.get("distribution")) in _DISTRIBUTIONS and not jitter:
            delay_s += seconds(element["mean"])
            jitter = [tc_time(seconds(element["deviation"]))]
            distribution = _DISTRIBUTIONS[str(element["distribution"])]
            jitter += ["distribution", distribution] if distribution else []
            if not element.get("reorder", True):
                notes.append("jitter: netem lets packets overtake each other, unless its leaf is pfifo")
        elif kind == "reordering" and element.get("mode") == "early" and not reorder:
            reorder = ["reorder", percent(element["probability"])]
        else:
            notes.append(f"{kind}: tc has no equivalent")
    return ["netem", "limit", str(LIMIT), "delay", tc_time(delay_s), *jitter, *words, *reorder], notes
