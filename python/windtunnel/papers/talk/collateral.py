"""Collateral damage: overflows and packets of one stream, the talk's counts, and the buffer that fits these.

The talk prints how often each controller overflowed the buffer, but not how large the buffer was (R12). Each controller
with a printed count therefore runs alone over a grid of buffers. The fit is the buffer with the least sum of squared
logarithms of (measured + 1) / (printed + 1): overflows range from 0 to 23, and a factor matters, not a difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from windtunnel.flowgrind import default_path, scenario_of
from windtunnel.papers.data_folder import TALK
from windtunnel.papers.rows import Row, compare, trial_row
from windtunnel.papers.setups import Setup, Template
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.controllers import available, title
from windtunnel.papers.talk.gallery import OVERFLOWS, add_gallery_setup
from windtunnel.papers.talk.plan import (
    BDP_PACKETS,
    BUFFER_PACKETS,
    INTERVAL_S,
    ONE,
    command,
    measured,
)

#: Buffers that are tried, in packets: from 0.18 to 2.9 times what the path holds.
BUFFERS = (60, 120, 180, 240, 300, 360, 420, 480, 600, 720, 960)
_SENT = Value("packets", "packets of data", "thousands", [measured("0", 'field("sent")')], lambda n: n / 1e3)


@dataclass(frozen=True)
class Printed:
    """What a slide prints."""

    controller: str
    overflows: float
    packets: float | None
    text: str

    @property
    def is_count(self) -> bool:
        """Whether it is a number: "same as Reno" and "almost unnoticeable" are none."""
        return any(character.isdigit() for character in self.text)


def printed() -> list[Printed]:
    """The slides' counts of the controllers that this build has."""
    names = {c.name for c in available()}
    rows = [r for r in TALK.table("collateral.csv") if r["controller"] in names]
    return [
        Printed(
            r["controller"],
            float(r["overflows"]),
            float(r["packets_thousands"]) if r["packets_thousands"] else None,
            r["printed"],
        )
        for r in rows
    ]


def collateral_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """The counts; and, in the whole suite, the calibration."""
    groups = [_counts(setups, quick=quick)]
    return groups if quick else [*groups, _calibration(setups)]


def _counts(setups: dict[str, Setup], *, quick: bool) -> Group:
    slides = {p.controller: p for p in printed()}
    used = {c: add_gallery_setup(setups, ONE, c.name, quick=quick) for c in available(quick=quick)}
    for setup in used.values():
        _SENT.prepare(setup)

    def rows(results: Results) -> list[Row]:
        out = []
        for controller, setup in used.items():
            said = slides.get(controller.name)
            id, seen = f"collateral/{controller.slug}", OVERFLOWS.values(results, setup)
            packets = _SENT.mean(results, setup)
            note = f"of {packets:.0f}k packets of data" if packets is not None else ""
            what = f"{controller.title}: buffer overflows in 60 s"
            if said is not None and said.packets is not None:
                note += f'; the slide prints "{said.text}" of {said.packets:.0f}k packets'
            if said is None or not said.is_count:
                text = said.text if said is not None else None
                out.append(trial_row(id, "collateral", what, text, None, seen, "", note))
                continue
            out.append(compare(id, "collateral", what, said.overflows, 0.5, seen, "", note))
        return out

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.collateral_figure import draw_counts

        means = [
            (c.title, m, slides[c.name].overflows if c.name in slides else None)
            for c, setup in used.items()
            if (m := OVERFLOWS.mean(results, setup)) is not None
        ]
        return draw_counts(means) if means else None

    caption = f"Buffer overflows of one stream in 60 s over {BUFFER_PACKETS} packets, and the slides' counts"
    return Group("collateral", "Collateral damage", caption, [c.name for c in used.values()], rows, png)


def _calibration(setups: dict[str, Setup]) -> Group:
    slides = [p for p in printed() if p.is_count]
    used = {(p.controller, buffer): _add(setups, p.controller, buffer) for p in slides for buffer in BUFFERS}

    def counts(results: Results) -> dict[tuple[str, int], float]:
        means = {key: OVERFLOWS.mean(results, setup) for key, setup in used.items()}
        return {key: value for key, value in means.items() if value is not None}

    def rows(results: Results) -> list[Row]:
        seen, out = counts(results), []
        errors = {b: _error(slides, seen, b) for b in BUFFERS}
        for buffer, error in errors.items():
            listed = ", ".join(f"{title(p.controller)} {seen[p.controller, buffer]:g}" for p in slides) if seen else ""
            what = f"{buffer} packets: distance from the printed counts"
            out.append(Row(f"buffer/{buffer}", "buffer", what, None, error, None, "", "info", listed))
        distances = {b: e for b, e in errors.items() if e is not None}
        best = min(distances, key=lambda b: distances[b]) if distances else None
        note = f"BUFFER_PACKETS of the suite; {BUFFER_PACKETS / BDP_PACKETS:.2f} of what the path holds"
        what = "the buffer of the grid that fits the printed counts best, compared with the suite's"
        chosen = [float(best)] if best is not None else []
        return [compare("buffer/best", "buffer", what, BUFFER_PACKETS, 0.0, chosen, "packets", note), *out]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.collateral_figure import draw_buffers

        seen = counts(results)
        lines = {p: [(b, seen[p.controller, b]) for b in BUFFERS if (p.controller, b) in seen] for p in slides}
        return draw_buffers(lines) if seen else None

    caption = "The talk does not give the buffer: overflows in 60 s over a grid of buffers, and the printed counts"
    return Group("buffer", "The buffer", caption, [c.name for c in used.values()], rows, png)


def _add(setups: dict[str, Setup], cc: str, buffer: int) -> Setup:
    name = f"buffer/{cc}-{buffer}"
    scenario = scenario_of(command(ONE.script, cc), default_path(), title=name, interval_s=INTERVAL_S)
    setup = Setup(name, Template(name, scenario), (f'bottleneck.queue.limit="{buffer} packets"',))
    OVERFLOWS.prepare(setup)
    setups[name] = setup
    return setup


def _error(slides: list[Printed], seen: dict[tuple[str, int], float], buffer: int) -> float | None:
    """The sum of squared logarithms of the counts' ratios, each plus one."""
    pairs = [(p.overflows, seen.get((p.controller, buffer))) for p in slides]
    if any(count is None for _, count in pairs):
        return None
    return sum(math.log((count + 1) / (said + 1)) ** 2 for said, count in pairs if count is not None)
