"""Figures 1 to 17: every feature read from the published images, measured in the same way on a run.

Table 7 is read off the runs of two figures. Effects are what single simplifications and settings of the document do to
its numbers: the figures, run again without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windtunnel.experiment.measures.language import call_of
from windtunnel.papers.data_folder import MDS
from windtunnel.papers.features import Axis
from windtunnel.papers.features.extremes import GIVEN
from windtunnel.papers.mds import curves
from windtunnel.papers.mds.plan import perturbed_runs
from windtunnel.papers.readings import readings
from windtunnel.papers.rows import Row, compare, spread
from windtunnel.papers.setups import Measurement, Picture, Setup
from windtunnel.papers.suite import Group, Results, given

#: Figures that show another figure's run again, with axes chosen by hand.
SAME_RUN = {"3b": "3a", "14b": "14a", "15b": "15a"}

#: Why rates are not averaged in the pictures.
RAW = (
    "Rates are those of every sample, as in the document, whose readings are of single symbols; where samples are too "
    "many to show, a line is their mean and the pale band reaches from the least to the greatest."
)

#: Why a row has no measured value.
CHOSEN_AXIS = "the axes of this zoomed view were chosen by hand in the plot viewer; no property of the run"
#: The controllers of table 7, by the figure of their run.
RATEDROP = {"14": "CUBIC-MDS", "15": "Scalable-MDS"}
#: Perturbed runs per figure, to tell an effect from chaos.
EFFECT_RUNS = 4


@dataclass(frozen=True)
class Feature:
    """One row of features.csv."""

    figure: str
    panel: str
    flow: str
    name: str
    value: float
    error: float
    unit: str
    method: str
    how: str

    @property
    def id(self) -> str:
        """The row's id."""
        return f"fig{self.figure}/{self.panel}/{self.flow}/{self.name}"

    @property
    def what(self) -> str:
        """The row in words."""
        return f"{self.panel}, {self.flow}: {self.name.replace('_', ' ')}"


def read_features() -> list[Feature]:
    """All of features.csv."""
    return [
        Feature(
            r["figure"],
            r["panel"],
            r["flow"],
            r["feature"],
            float(r["value"]),
            float(r["error"]),
            r["unit"],
            r["method"],
            r["how"],
        )
        for r in MDS.table("features.csv")
    ]


def axes_of(features: list[Feature]) -> dict[tuple[str, str], Axis]:
    """The published axes by figure and panel; an axis without a stated lower end starts at 0."""
    ends: dict[tuple[str, str], dict[str, float]] = {}
    for f in features:
        if f.name.startswith("axis_"):
            ends.setdefault((f.figure, f.panel), {})[f.name] = f.value
    return {
        key: Axis(e["axis_x_min"], e["axis_x_max"], e.get("axis_y_min", 0.0), e["axis_y_max"])
        for key, e in ends.items()
    }


def run_of(figure: str) -> str:
    """The name of the run that a figure shows."""
    return f"fig{SAME_RUN.get(figure, figure)}"


def figure_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """A group for each figure; the runs that they need are added to ``setups``."""
    features = read_features()
    axes = axes_of(features)
    captions: Mapping[str, str] = MDS.toml("captions.toml")["figure"]
    groups = []
    for figure, caption in captions.items():
        mine = [f for f in features if f.figure == figure]
        if figure in curves.FIGURES:
            groups.append(_curve_group(figure, caption, mine))
        else:
            groups.append(_run_group(setups, figure, caption, mine, axes, quick=quick))
    return groups


def _curve_group(figure: str, caption: str, features: list[Feature]) -> Group:
    def rows(_: Results) -> list[Row]:
        return [
            compare(f.id, f"fig{figure}", f.what, f.value, f.error, [curves.value(f.method, f.flow)], f.unit)
            for f in features
        ]

    points = [(f.method, f.value) for f in features]
    return Group(f"fig{figure}", f"Figure {figure}", caption, [], rows, lambda _: curves.draw(figure, points))


def _run_group(
    setups: dict[str, Setup],
    figure: str,
    caption: str,
    features: list[Feature],
    axes: Mapping[tuple[str, str], Axis],
    *,
    quick: bool,
) -> Group:
    name, id = run_of(figure), f"fig{figure}"
    if name not in setups:
        setups[name] = setup = Setup(name, MDS.template(name))
        setup.perturbed = perturbed_runs(setup, figure=True, quick=quick)
    setup = setups[name]
    zoom = tuple((panel, axis) for (f, panel), axis in axes.items() if f == figure) if figure in SAME_RUN else ()
    setup.pictures.append(Picture(id, f"Figure {figure}: {caption}", zoom, readings(features), raw=True))
    indices = {
        f.id: setup.index(Measurement(f.panel, f.flow, f.method, axes[f.figure, f.panel])) for f in features if f.method
    }

    def rows(results: Results) -> list[Row]:
        out = []
        for f in features:
            if f.id not in indices:
                out.append(Row(f.id, id, f.what, f.value, None, f.error, f.unit, "info", CHOSEN_AXIS))
                continue
            values, note = results.values(name, indices[f.id]), f"{f.how}: {f.method}"
            row = compare(f.id, id, f.what, f.value, f.error, values, f.unit, note, setup.identity(indices[f.id]))
            by = GIVEN.get(call_of(f.method)[0])
            out.append(given(row, by) if by else row)
        # An axis may end at a reading that has a row of its own, and then repeats it.
        return sorted(out, key=lambda row: "/axis_" in row.id)

    return Group(id, f"Figure {figure}", caption, [name], rows, lambda r: r.picture(name, id), report=name, remark=RAW)


def ratedrop_group(setups: dict[str, Setup]) -> Group:
    """The group of table 7; ``setups`` must contain the runs of figures 14 and 15."""
    lines = MDS.table("tables/table7.csv")
    addresses = []
    for line in lines:
        setup = setups[f"fig{line['figure']}a"]
        addresses.append((setup.name, setup.index(Measurement(line["panel"], line["flow"], line["method"]))))

    def rows(results: Results) -> list[Row]:
        return [
            compare(
                f"table7/{line['observation'].replace(' ', '-')}/{RATEDROP[line['figure']]}",
                "table7",
                f"{RATEDROP[line['figure']]}: {line['observation']}",
                float(line["published"]),
                float(line["tolerance"]),
                results.values(*address),
                line["unit"],
                line["definition"],
                setups[address[0]].identity(address[1]),
            )
            for line, address in zip(lines, addresses, strict=True)
        ]

    return Group("table7", "Table 7", MDS.toml("captions.toml")["table"]["7"], ["fig14a", "fig15a"], rows)


def effects_group(setups: dict[str, Setup]) -> Group:
    """The group of all effects; ``setups`` must contain the figures' own runs."""
    features = {f.id: f for f in read_features()}
    axes = axes_of(list(features.values()))
    lines = MDS.table("effects.csv")
    pairs = []
    for line in lines:
        feature = features[line["row"]]
        base = setups[run_of(feature.figure)]
        name = f"effect/{base.name}/{line['settings']}"
        if name not in setups:
            setups[name] = Setup(
                name, MDS.template(base.template.name), tuple(line["settings"].split(";")), perturbed=EFFECT_RUNS
            )
        measurement = Measurement(feature.panel, feature.flow, feature.method, axes[feature.figure, feature.panel])
        pairs.append(((base.name, base.index(measurement)), (name, setups[name].index(measurement))))

    def rows(results: Results) -> list[Row]:
        out = []
        for line, (with_it, without) in zip(lines, pairs, strict=True):
            feature = features[line["row"]]
            values, own = results.values(*without), results.values(*with_it)
            note = f"as the document ran it: {own[0]:.6g}" if own else ""
            id = f"effect/{line['effect']}/{feature.id}".replace(" ", "-")
            what = f"{line['effect']}: figure {feature.figure}, {feature.what}"
            measured = values[0] if values else None
            out.append(
                Row(id, "effects", what, feature.value, measured, None, feature.unit, "info", note, spread(values))
            )
        return out

    names = sorted({name for pair in pairs for name, _ in pair})
    caption = "Simplifications and settings of the document, changed one at a time"
    return Group("effects", "Effects", caption, names, rows)
