"""Table 1: the effects of tau, as numbers from runs over five values of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windtunnel.papers.data_folder import MDS
from windtunnel.papers.features import Axis
from windtunnel.papers.rows import Row, spread
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

#: The values of tau.
TAUS = (8, 16, 32, 64, 128)

#: A trend counts if the rank correlation with tau reaches 0.9, the one-sided 5 % critical value for five pairs: at most
#: one neighbouring pair may be out of order.
CRITICAL = 0.9

#: Bins of the plots: as wide as the panels' own for a run of 30 s, which is fine enough for the longer runs, too.
AXIS = Axis(0.0, 30.0, 0.0, 1.0)


def rank_correlation(values: npt.ArrayLike) -> float:
    """Spearman's rank correlation of ``values`` with their order, ties at their mean rank; NaN if all are equal."""
    x = np.asarray(values, dtype=np.float64)
    ranks = np.array([np.count_nonzero(x < v) + (np.count_nonzero(x == v) - 1) / 2 for v in x])
    if np.ptp(ranks) == 0 or not np.isfinite(x).all():
        return float("nan")
    return float(np.corrcoef(np.arange(len(x)), ranks)[0, 1])


def _settings(scenario: str, tau: int) -> tuple[str, ...]:
    flows = MDS.template(scenario).data["flow"]
    assert isinstance(flows, list)
    return (f"bottleneck.queue.tau={tau}", *(f"flow.{i}.cc.tau={tau}" for i in range(len(flows))))


def tau_group(setups: dict[str, Setup]) -> Group:
    """The group of table 1."""
    lines = MDS.table("tables/table1.csv")
    addresses: list[list[tuple[str, int]]] = []
    for line in lines:
        row = []
        for tau in TAUS:
            name = f"table1/{line['scenario']}/tau{tau}"
            if name not in setups:
                setups[name] = Setup(
                    name, MDS.template(line["scenario"]), _settings(line["scenario"], tau), perturbed=2
                )
            row.append((name, setups[name].index(Measurement(line["panel"], line["flow"], line["method"], AXIS))))
        addresses.append(row)

    def rows(results: Results) -> list[Row]:
        out = []
        for line, row in zip(lines, addresses, strict=True):
            base = f"table1/{line['characteristic'].replace(' ', '-').replace(',', '')}"
            by_tau = [results.values(*address) for address in row]
            measured = [v[0] if v else float("nan") for v in by_tau]
            numbers = ", ".join(f"{v:.4g}" for v in measured)
            trend = rank_correlation(measured)
            agreed = trend * float(line["published"]) >= CRITICAL - 1e-9
            note = f"{line['definition']}: {numbers} {line['unit']} for tau {', '.join(map(str, TAUS))}"
            out.append(
                Row(
                    base,
                    "table1",
                    f"{line['characteristic']}: {line['word']} (rank correlation with tau)",
                    float(line["published"]),
                    trend,
                    1 - CRITICAL,
                    "1",
                    "agrees" if agreed else "differs",
                    note,
                )
            )
            for tau, values in zip(TAUS, by_tau, strict=True):
                what = f"{line['characteristic']}, tau {tau}"
                value = values[0] if values else None
                out.append(
                    Row(f"{base}/tau{tau}", "table1", what, None, value, None, line["unit"], "info", "", spread(values))
                )
        return out

    names = sorted({name for row in addresses for name, _ in row})
    return Group("table1", "Table 1", MDS.toml("captions.toml")["table"]["1"], names, rows)
