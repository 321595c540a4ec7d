"""The talk's gallery: for each controller one stream, against Reno, five streams, five displaced, 1 % random loss."""

from __future__ import annotations

from windtunnel.experiment.scales import PERCENT, Scale
from windtunnel.papers.rows import Row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.controllers import Controller, available, missing
from windtunnel.papers.talk.plan import (
    BUFFER_PACKETS,
    DISPLACED,
    FIVE,
    FRIENDLY,
    FROM_S,
    KINDS,
    LOSS,
    ONE,
    Kind,
    add_setup,
    measured,
)
from windtunnel.papers.talk.series import flow_series

_QUEUE = "queue 0"
#: When all five displaced streams send, and have had ten seconds together.
ALL_FIVE = (50.0, 60.0)
#: What counts as converged: Jain's index of one-second rates, and for how long it holds, in seconds.
FAIR, HELD_S = 0.95, 3.0

OVERFLOWS = Value("overflows", "buffer overflows in 60 s", "", [measured(_QUEUE, f"overflow_count(0, {ONE.end_s})")])
SHARE = Value(
    "share",
    "share next to Reno, 20 to 90 s",
    "%",
    [measured("0", f'share_percent("0-1", {FROM_S}, 90)')],
    scale=PERCENT,
)
JAIN = Value(
    "jain",
    "Jain's index of five streams, 20 to 90 s",
    "",
    [measured("0-4", f"jain_mean({FROM_S}, 90)")],
    scale=Scale.of("jain", 5),
)
LOSSY_RATE = Value("rate", "goodput with 1 % loss, 10 to 60 s", "Mbit/s", [measured("0", "rate_mean(1, 10, 60)")])

#: The numbers of each picture.
VALUES: dict[Kind, tuple[Value, ...]] = {
    ONE: (
        Value("use", "use of the link in 60 s", "%", [measured(_QUEUE, "utilization_percent()")], scale=PERCENT),
        OVERFLOWS,
        Value("lost", "packets lost in these", "", [measured(_QUEUE, 'field("drops.full")')]),
        Value("delay", "queueing delay, mean", "ms", [measured(_QUEUE, 'field("sojourn_ms.mean")')]),
    ),
    FRIENDLY: (SHARE,),
    FIVE: (JAIN,),
    DISPLACED: (
        Value(
            "converged",
            "time until the fifth displaced stream has its share (Jain's index 0.95 for 3 s; 20 s: never)",
            "s",
            [measured("0-4", f"converged_in(40, 60, {FAIR}, {HELD_S})")],
        ),
        Value("jain", "Jain's index of five displaced streams, 50 to 60 s", "", [
            measured("0-4", f"jain_mean({ALL_FIVE[0]}, {ALL_FIVE[1]})")
        ]),
    ),
    LOSS: (LOSSY_RATE,),
}  # fmt: skip


def gallery_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """A group for each controller, and one that names those that this build does not have."""
    groups = [_group(setups, controller, quick=quick) for controller in available(quick=quick)]
    return [*groups, _missing()] if missing() else groups


def add_gallery_setup(setups: dict[str, Setup], kind: Kind, cc: str, *, quick: bool) -> Setup:
    """The setup of a picture, with its numbers and time series."""
    setup = add_setup(setups, kind, cc, quick=quick)
    for value in VALUES[kind]:
        value.prepare(setup)
    setup.excerpt = flow_series
    return setup


def _group(setups: dict[str, Setup], controller: Controller, *, quick: bool) -> Group:
    used = {kind: add_gallery_setup(setups, kind, controller.name, quick=quick) for kind in KINDS}
    used[ONE].page = f"{controller.title}: one stream"
    id = f"gallery-{controller.slug}"

    def rows(results: Results) -> list[Row]:
        return [
            value.row(results, setup, f"{id}/{kind.id}", id, f"{controller.title}: {value.what}")
            for kind, setup in used.items()
            for value in VALUES[kind]
        ]

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.gallery_figure import draw

        excerpts = {kind: e for kind, setup in used.items() if (e := results.excerpt(setup.name)) is not None}
        return draw(controller, excerpts) if len(excerpts) == len(used) else None

    caption = f"40 Mbit/s, 100 ms, {BUFFER_PACKETS} packets: {', '.join(kind.title for kind in KINDS)}"
    return Group(id, controller.title, caption, [c.name for c in used.values()], rows, png, used[ONE].name)


def _missing() -> Group:
    """A clean message instead of runs that fail."""

    def rows(_: Results) -> list[Row]:
        return [
            Row(f"missing/{c.slug}", "missing", c.title, None, None, None, "", "info",
                f"this build has no controller `{c.name}`: nothing of it is run")
            for c in missing()
        ]  # fmt: skip

    return Group("missing", "Not run", "Controllers of the talk that this build does not have", [], rows)
