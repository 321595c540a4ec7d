"""What single simplifications and settings of the document do to its numbers: its figures, run again without them."""

from __future__ import annotations

from windtunnel.papers.data_folder import MDS
from windtunnel.papers.mds.figures import axes_of, read_features, run_of
from windtunnel.papers.rows import Row, spread
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

#: Perturbed runs per figure, to tell an effect from chaos.
PERTURBED = 4


def effects_group(setups: dict[str, Setup]) -> Group:
    """The group of all effects; ``setups`` must contain the figures' own runs."""
    features = {f.id: f for f in read_features()}
    axes = axes_of(list(features.values()))
    lines = MDS.table("effects.csv")
    places = []
    for line in lines:
        feature = features[line["row"]]
        base = setups[run_of(feature.figure)]
        name = f"effect/{base.name}/{line['settings']}"
        if name not in setups:
            setups[name] = Setup(
                name, MDS.template(base.template.name), tuple(line["settings"].split(";")), perturbed=PERTURBED
            )
        measurement = Measurement(feature.panel, feature.flow, feature.method, axes[feature.figure, feature.panel])
        places.append(((base.name, base.index(measurement)), (name, setups[name].index(measurement))))

    def rows(results: Results) -> list[Row]:
        out = []
        for line, (with_it, without) in zip(lines, places, strict=True):
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

    names = sorted({name for place in places for name, _ in place})
    caption = "Simplifications and settings of the document, changed one at a time"
    return Group("effects", "Effects", caption, names, rows)
