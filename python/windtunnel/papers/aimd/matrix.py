"""Figure 7: several flows of each kind over PIE; the upper plot is the control with CUBIC on both sides."""

from __future__ import annotations

import math

from windtunnel.papers.aimd import whiskers
from windtunnel.papers.aimd.plan import HIGH, LOW, fair_mbps, starts, steady, whisker
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.rows import Row, spread
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results

#: Numbers of flows (A, B): one of each, and all splits of ten. The published axis is not legible: see the notes.
SPLITS = ((1, 1), *((a, 10 - a) for a in range(1, 10)))

#: The two plots, by the kind of flow B.
PLOTS = {"7a": ("CUBIC", "cubic"), "7b": ("Reno", "reno")}

RATE_MBPS = 40.0
#: Top of both plots: equal, for comparison.
TOP = 1.9
#: "More than an order of magnitude smaller" than the variability between P1 and P99.
ORDER = 0.1


def matrix_groups(setups: dict[str, Setup]) -> list[Group]:
    """A group for each of the two plots."""
    return [_group(setups, figure) for figure in PLOTS]


def groups_of(a: int, b: int) -> tuple[str, str]:
    """The flow numbers of A and of B."""
    return _range(0, a), _range(a, b)


def _range(first: int, count: int) -> str:
    return f"{first}" if count == 1 else f"{first}-{first + count - 1}"


def _group(setups: dict[str, Setup], figure: str) -> Group:
    other, kind = PLOTS[figure]
    caption = AIMD.toml("captions.toml")["figure"][figure]
    used = []
    for a, b in SPLITS:
        name = f"fig{figure}/A{a}-B{b}"
        settings = (f"flow.0.count={a}", f"flow.1.count={b}", f'flow.1.cc="{kind}"')
        setup = Setup(name, AIMD.template("pie-many"), settings)
        setup.twins = starts(setup, quick=False)
        for flows in groups_of(a, b):
            for measurement in whisker(flows, fair_mbps(RATE_MBPS, a + b)):
                setup.index(measurement)
        for quantile in (LOW, HIGH):
            setup.index(steady("ratio_quantile", "/".join(groups_of(a, b)), quantile))
        setups[name] = setup
        used.append(setup)

    def rows(results: Results) -> list[Row]:
        return [
            row
            for split, setup in zip(SPLITS, used, strict=True)
            for row in _rows(figure, other, split, setup, results)
        ]

    def png(results: Results) -> bytes | None:
        categories = []
        for (a, b), setup in zip(SPLITS, used, strict=True):
            drawn = tuple(
                whiskers.whisker(
                    *(results.values(setup.name, setup.index(m)) for m in whisker(f, fair_mbps(RATE_MBPS, a + b)))
                )
                for f in groups_of(a, b)
            )
            categories.append(whiskers.Category(f"A{a}-B{b}", f"{a + b} flows", drawn))
        if all(w is None for c in categories for w in c.whiskers):
            return None
        names = ("A: ECN-CUBIC", f"B: {other}")
        title = f"Figure {figure}: {caption}"
        return whiskers.draw(
            [("", names, categories)],
            title=title,
            x_label="Flows of each kind: with A2-B8, two of A and eight of B",
            y_label="Normalised rate, mean over the flows of a kind",
            top=TOP,
            modes=False,
        )

    return Group(f"fig{figure}", f"Figure {figure}", caption, [c.name for c in used], rows, png)


def _rows(figure: str, other: str, split: tuple[int, int], setup: Setup, results: Results) -> list[Row]:
    """The ratio of the groups' means, and its distance from 1 relative to the range of its one-second values."""
    a, b = split
    flows = groups_of(a, b)
    fair = fair_mbps(RATE_MBPS, a + b)
    top, bottom = (results.values(setup.name, setup.index(steady("mean", f, fair))) for f in flows)
    low, high = (
        results.values(setup.name, setup.index(steady("ratio_quantile", "/".join(flows), q))) for q in (LOW, HIGH)
    )
    ratios = [x / y if y > 0 else math.inf for x, y in zip(top, bottom, strict=True)]
    id, group, where = setup.name, f"fig{figure}", f"A{a}-B{b}"
    ratio = sum(ratios) / len(ratios) if ratios else None
    width = sum(h - w for h, w in zip(high, low, strict=True)) / len(high) if high else math.nan
    off = abs(ratio - 1.0) / width if ratio is not None and width > 0 else None
    what = f"{where}: mean rate of ECN-CUBIC over that of {other}"
    note = f"one-second ratios: P1 to P99 {width:.3f} wide" if width == width else ""
    return [
        Row(f"{id}/ratio", group, what, None, ratio, None, "", "info", note, spread(ratios)),
        Row(
            f"{id}/discrepancy",
            group,
            f"{where}: distance of that ratio from 1, relative to the range P1 to P99 of its one-second values",
            f"< {ORDER:g}",
            off,
            None,
            "",
            "agrees" if off is not None and off < ORDER else "differs",
            "section 3.2.1: more than an order of magnitude smaller than the ratio's natural variability",
        ),
    ]
