"""What ``windtunnel explain`` says about the captures of this machine's kernel (``local_captures.py``), counted.

    python python/tests/local_answers.py docs/explain-local.md

explains those that are kept and writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from answers import SURE, Answer, answer, lists, paragraph
from local_captures import LocalCapture, captures

LocalAnswer: TypeAlias = Answer[LocalCapture]


def answers() -> list[LocalAnswer]:
    """Explain all that are kept."""
    return [answer(each, each.file) for each in captures()]


def page(told: Sequence[LocalAnswer]) -> str:
    """Markdown."""
    return "\n".join(_page(told)).rstrip("\n") + "\n"


def _page(told: Sequence[LocalAnswer]) -> Iterator[str]:
    yield "# Which controller is it? In real time"
    yield ""
    yield from paragraph(
        f"""What `windtunnel explain` says about {len(told)} captures that `dumpcap` made of a Linux 6.18 in a virtual
        machine, in real time: through a path of `windtunnel emulate` behind a router, over the kernel's own token
        bucket, and on loopback. They are in `python/tests/data/explain-local`, where a README says how they were
        made."""
    )
    yield "`python python/tests/local_answers.py docs/explain-local.md` writes this page; do not edit it."
    yield ""
    yield from paragraph(
        f"""At the sender several segments are captured as one packet (TSO, GSO): two or three at these rates, 64 kB on
        loopback. At the receiver packets are captured from all devices, with Linux's cooked headers. An answer is sure
        above {100 * SURE:.0f} %."""
    )
    yield "| path | controller | seen at | losses | first answer | probability | right one is |"
    yield "|---|---|---|---:|---|---:|---|"
    for each in told:
        of, rank = each.of, "" if each.rank is None else ("first", "second", "third")[each.rank]
        first = "none that is known" if each.unknown else each.first or "not to be told"
        nearest = f" (nearest: {each.first})" if each.unknown else ""
        share = f"{100 * each.probability:.0f} %" if each.first else ""
        yield f"| {of.path} | {of.controller} | {of.end} | {each.events} | {first}{nearest} | {share} | {rank} |"
    yield ""
    yield from _CAUSES
    yield ""
    yield from lists(told)


#: Why answers are as they are.
_CAUSES = """
- BBR is told by its probes; far from the sender its pacing cannot be seen.
- Over the token bucket a round trip without a queue takes 0.1 ms; the model was trained on 5 ms and more.
- On loopback the program that writes is the limit, not the controller: that is not to be told.
""".strip().splitlines()


def main() -> int:
    """Write the page."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    Path(sys.argv[1]).write_text(page(answers()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
