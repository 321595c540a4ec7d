"""What ``windtunnel explain`` says about logs of QUIC stacks whose controller is known, counted.

    python python/tests/quic_answers.py docs/explain-quic.md

runs each stack with each of its controllers over the paths of the kernel's captures, in virtual time, explains the logs
and writes the page. Nothing is kept: the packets are the same in each run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import quic_packets
from answers import MANY, SURE, Answer, answer, by, lists, paragraph, short_table, taken_for_others
from kernel_captures import PATHS, KernelPath

from windtunnel import RunResult, Scenario

#: The stacks that are built in, and the controllers of each, with the right answers.
STACKS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "quinn": {"newreno": ("reno",), "cubic": ("cubic",), "bbr": ("bbr",)},
    "noq": {"newreno": ("reno",), "cubic": ("cubic",), "bbr3": ("bbr3",)},
}
#: Controllers that draw numbers which no seed decides, so that each run differs; and how often each is run.
DRAWING = ("bbr", "bbr3")
DRAWS = 3
#: Controllers of windtunnel's inside of them: what differs from the stack's own is the controller, not the transport.
#: quinn does not use the rate of BBR.
OURS: Mapping[str, tuple[str, ...]] = {"quinn": ("reno", "cubic"), "noq": ("reno", "cubic", "bbr3")}


@dataclass(frozen=True)
class QuicCase:
    """A log. ``marked``: the queue marks, as the stacks ask for (ECT); ``ours``: the controller is windtunnel's."""

    path: KernelPath
    stack: str
    controller: str
    marked: bool = False
    ours: bool = False

    @property
    def name(self) -> str:
        """Path, stack and controller."""
        return f"{self.where}, {self.who}"

    @property
    def where(self) -> str:
        """The path."""
        return f"{self.path.name}, marks" if self.marked else self.path.name

    @property
    def who(self) -> str:
        """Stack and controller."""
        return f"{self.stack} {self.controller}"

    @property
    def truth(self) -> tuple[str, ...]:
        """The right answers."""
        return (self.controller,) if self.ours else STACKS[self.stack][self.controller]


QuicAnswer: TypeAlias = Answer[QuicCase]


def cases() -> list[QuicCase]:
    """Of each stack's own controllers all paths, without marks and, where the queue can mark, with them. Those that
    draw are left out.
    """
    return [each for each in _every() if each.controller not in DRAWING]


def cases_of_ours() -> list[QuicCase]:
    """Of windtunnel's controllers in the stacks the paths without marks."""
    return [QuicCase(path, stack, cc, ours=True) for stack, of in OURS.items() for cc in of for path in PATHS]


def cases_that_draw() -> list[QuicCase]:
    """The others of the stacks' own, each several times."""
    return [each for each in _every() if each.controller in DRAWING for _ in range(DRAWS)]


def _every() -> list[QuicCase]:
    return [
        QuicCase(path, stack, controller, marked)
        for stack, controllers in STACKS.items()
        for controller in controllers
        for path, marked in [*((path, False) for path in PATHS), *((path, True) for path in PATHS if path.marks)]
    ]


#: The groups of the page.
GROUPS = (cases, cases_of_ours, cases_that_draw)


def scenario(case: QuicCase) -> Scenario:
    """The scenario of a log."""
    path = case.path
    link: dict[str, Any] = {"rate": path.rate, "queue": {**path.queue, **({"ecn": case.marked} if path.marks else {})}}
    if path.loss:
        link["impair"] = [{"kind": "loss", "probability": path.loss, "affects": "data"}]
    flow = {
        "name": "one",
        "stack": {"kind": case.stack, "null_crypto": True},
        "cc": {"windtunnel": case.controller} if case.ours else case.controller,
        "rtt": path.rtt,
    }
    return Scenario.from_table(
        {
            "duration": f"{path.seconds} s",
            "seed": 1,
            "record": {"packets": True, "payloads": True, "interval": "100 ms"},
            "bottleneck": link,
            "flow": [flow],
        }
    )


def run(case: QuicCase) -> RunResult:
    """Its run."""
    return scenario(case).run()


def told_of(case: QuicCase) -> QuicAnswer:
    """Run it, and explain its log."""
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "client.sqlog"
        quic_packets.write(run(case), log)
        return answer(case, log)


def answers(of: Sequence[QuicCase]) -> list[QuicAnswer]:
    """Explain these."""
    return [told_of(case) for case in of]


#: Of the page, what comes before this is the same whenever it is written.
DRAWN = "## BBR"


def page(own: Sequence[QuicAnswer], ours: Sequence[QuicAnswer], drawn: Sequence[QuicAnswer]) -> str:
    """Markdown."""
    return "\n".join(_page(own, ours, drawn)) + "\n"


def _page(own: Sequence[QuicAnswer], ours: Sequence[QuicAnswer], drawn: Sequence[QuicAnswer]) -> Iterator[str]:
    few, many = ([each for each in own if each.many is those] for those in (False, True))
    yield "# Which controller is it? Of QUIC stacks"
    yield ""
    yield from paragraph(
        """What `windtunnel explain` says about logs (qlog) of quinn 0.11.19 and noq 1.4.0: each of their controllers
        alone on the paths of [the kernel's captures](explain-kernel.md) for 12 to 25 s, over PIE and FQ-CoDel also with
        marks. The model was trained without them, and knows no QUIC."""
    )
    yield "`python python/tests/quic_answers.py docs/explain-quic.md` writes this page; do not edit it."
    yield ""
    yield from paragraph(
        """A log has what the stack's host sent and received: packet numbers, lengths and frames, which are read from
        payloads that no cipher protects (`null_crypto`). What the stack found lost is not in it, and is found as RFC
        9002 does."""
    )
    yield from paragraph(
        f"""*Events* are losses and marks; *none is known* is the answer that it is no controller that the model knows;
        *sure and wrong* is a wrong first answer with more than {100 * SURE:.0f} %; *accused* is a flow with a sign of
        misbehaviour. The right answer for NewReno is `reno`, for quinn's BBR `bbr`, for noq's BBRv3 `bbr3`."""
    )
    yield from short_table("logs", [("all", own), (f"{MANY} events or more", many), (f"fewer than {MANY} events", few)])
    yield "## By controller"
    yield ""
    yield from short_table("stack and controller", by(own, _who))
    yield from taken_for_others(own, _who)
    yield ""
    yield from _CAUSES
    yield ""
    yield "## By path"
    yield ""
    yield from short_table("path", by(own, _where))
    yield "## windtunnel's controllers inside the stacks"
    yield ""
    yield from paragraph(
        "The same, without marks, with controllers that the model knows: where these are right and the stack's own are "
        "not, the law of the stack's controller is another one."
    )
    yield from short_table("stack and controller", [*by(ours, _who), ("all", ours)])
    yield from lists([*own, *ours])
    yield DRAWN
    yield ""
    yield from paragraph(
        f"""The BBR of both stacks draws numbers that no seed decides. Each path was run {DRAWS} times, and another time
        the numbers may differ a little."""
    )
    yield from short_table("stack and controller", [*by(drawn, _who), ("all", drawn)])
    yield from short_table("path", by(drawn, _where))
    yield from taken_for_others(drawn, _who)
    yield ""
    yield from _CAUSES_OF_BBR


def _who(case: QuicCase) -> str:
    return case.who


def _where(case: QuicCase) -> str:
    return case.where


#: Why answers are as they are.
_CAUSES = """
- The CUBIC of both computes K from a W_max that fast convergence has lowered ([](packs/quic-stacks.md)): after every
  second loss its window stands still, and then rises to a lower plateau. In short epochs, as PIE and FQ-CoDel make
  them, that is the shape of BIC, and BIC's shadow is nearer than CUBIC's. windtunnel's CUBIC in the same stacks is told
  from BIC there.
- NewReno's windows over PIE are 5 to 12 packets. A window is halved in bytes, and a flight has whole packets: about 0.6
  of it is left, which is what Westwood+ leaves there.
""".strip().splitlines()
_CAUSES_OF_BBR = """
- quinn paces by the window and the round trip, not at the rate of its BBR, and has no probes that the model could know:
  most of the answers are that none is known. It loses more than 2 % in half of its round trips in a short buffer, and
  does not answer CE, though it sets ECT(0): that is why it is accused, and it is so.
- noq's BBRv3 differs from windtunnel's: it leaves a part of the link unused ([](packs/quic-stacks.md)). Over short
  buffers it is taken for version 2.
""".strip().splitlines()


def main() -> int:
    """Write the page."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    told = [answers(of()) for of in GROUPS]
    Path(sys.argv[1]).write_text(page(*told), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
