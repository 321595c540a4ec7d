"""Table 7: what a rate drop does to two flows of different RTT, read off the runs of figures 14 and 15."""

from __future__ import annotations

from windtunnel.papers.data_folder import MDS
from windtunnel.papers.rows import Row, compare
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

CONTROLLERS = {"14": "CUBIC-MDS", "15": "Scalable-MDS"}


def ratedrop_group(setups: dict[str, Setup]) -> Group:
    """The group of table 7; ``setups`` must contain the runs of figures 14 and 15."""
    lines = MDS.table("tables/table7.csv")
    places = []
    for line in lines:
        setup = setups[f"fig{line['figure']}a"]
        places.append((setup.name, setup.index(Measurement(line["panel"], line["flow"], line["method"]))))

    def rows(results: Results) -> list[Row]:
        return [
            compare(
                f"table7/{line['observation'].replace(' ', '-')}/{CONTROLLERS[line['figure']]}",
                "table7",
                f"{CONTROLLERS[line['figure']]}: {line['observation']}",
                float(line["published"]),
                float(line["tolerance"]),
                results.values(*place),
                line["unit"],
                line["definition"],
                setups[place[0]].identity(place[1]),
            )
            for line, place in zip(lines, places, strict=True)
        ]

    return Group("table7", "Table 7", MDS.toml("captions.toml")["table"]["7"], ["fig14a", "fig15a"], rows)
