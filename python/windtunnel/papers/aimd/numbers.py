"""The report's formulas: printed numbers compared with the models', and what follows for other decrease factors."""

from __future__ import annotations

from functools import cache
from typing import Any

from windtunnel import models
from windtunnel.experiment.words import word
from windtunnel.models import losses
from windtunnel.models.sawteeth import C_RENO, RENO, Aimd, Path, synchronized
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.rows import Row, compare, printed_precision
from windtunnel.papers.suite import Group

#: Decrease factors, the report's 0.7 and others.
FACTORS = (0.5, 0.6, 0.7, 0.8, 0.9)
#: Rounding of double precision.
EXACT = 1e-12
#: The path on which the geometric model checks the formula; any other path gives the same ratio.
PATH = Path(2000.0, 0.020, 0.020)


def friendly(b: float) -> Aimd:
    """The flow that keeps ``b`` and should have Reno's rate."""
    return Aimd(float(models.friendly_increase(b)), b)


@cache
def predicted_ratio(b: float, *, aqm: bool) -> float:
    """Rate of AIMD(., ``b``) over Reno's in the Markov chain."""
    flow = friendly(b)
    counts = losses.AQM_LOSSES if aqm else losses.tail_drop_losses(RENO, flow)
    return losses.stationary(RENO, flow, counts).rate_ratio


def independent_ratio(b: float) -> float:
    """Rate of AIMD(., ``b``) over Reno's if losses are independent of the windows."""
    return losses.independent_window(friendly(b)) / losses.independent_window(RENO)


def number_groups() -> list[Group]:
    """The groups ``formula`` and ``losses``."""
    captions = {
        "formula": ("Formula", "The increase that gives AIMD(a, b) the rate of Reno: equations 4 to 6"),
        "losses": ("Losses", "Who catches a loss: equations 7 to 10, and the Markov chain of congestion events"),
    }
    further = {"formula": _formula_rows, "losses": _chain_rows}
    return [
        Group(id, title, caption, [], lambda _, id=id: [*_printed(id), *further[id]()])  # type: ignore[misc]
        for id, (title, caption) in captions.items()
    ]


def _printed(group: str) -> list[Row]:
    return [_number(group, n) for n in AIMD.toml("numbers.toml")["number"] if n["group"] == group]


def _number(group: str, n: dict[str, Any]) -> Row:
    function = getattr(losses if n["model"] == "catch_probabilities" else models, n["model"])
    result = function(*n["arguments"])
    value = float(result[n["index"]] if "index" in n else result) * (100.0 if n.get("percent") else 1.0)
    printed = n["published"]
    if isinstance(printed, str):
        published, tolerance = float(printed), printed_precision(printed)
    else:
        published, tolerance = printed[0] / printed[1], EXACT
    return compare(
        f"{group}/{n['id']}",
        group,
        n["what"],
        published,
        tolerance,
        [value],
        "%" if n.get("percent") else "",
        n.get("why", ""),
    )


def _formula_rows() -> list[Row]:
    """The table for several b; the geometric model, which integrates rates over time, must find equal rates."""
    out = []
    for b in FACTORS:
        flow = friendly(b)
        reno, other = synchronized([RENO, flow], PATH).mean_rates()
        out.append(
            Row(f"formula/a-{b:g}", "formula", f"increase for b = {b:g}", None, flow.a, None, "packets/RTT", "info")
        )
        what = f"rate of AIMD({flow.a:.4g}, {b:g}) over Reno's, synchronized, from the fluid model"
        out.append(compare(f"formula/rates-{b:g}", "formula", what, 1.0, 1e-9, [float(other / reno)], ""))
    return out


def _chain_rows() -> list[Row]:
    out = [
        compare(
            "losses/growth",
            "losses",
            "queue growth between responses (section 3.1.2)",
            1.53,
            0.005,
            [RENO.a + C_RENO.a],
            "packets/RTT",
        )
    ]
    counts = losses.tail_drop_losses(RENO, C_RENO)
    mean = sum(n * p for n, p in counts.items())
    listed = ", ".join(f"{n}: {100 * p:.0f} %" for n, p in counts.items())
    out.append(Row("losses/count", "losses", "losses per tail-drop event", None, mean, None, "", "info", listed))
    tail = losses.stationary(RENO, C_RENO, counts)
    slightly = word("slightly").limits("ratio")
    inside = slightly.low < tail.rate_ratio < slightly.high
    what = "tail drop: rate of C-Reno over Reno's from the Markov chain, slightly higher than 1"
    out.append(
        _bounded("losses/chain-tail-drop", what, f"{slightly.low:g} to {slightly.high:g}", tail.rate_ratio, inside)
    )
    aqm = losses.stationary(RENO, C_RENO, losses.AQM_LOSSES)
    what = "AQM: responses of Reno over those of C-Reno: Reno is hit somewhat more often (section 3.2)"
    out.append(_bounded("losses/chain-aqm-hits", what, "> 1", aqm.hit_ratio, aqm.hit_ratio > 1.0))
    for b in FACTORS:
        for aqm_too, name in ((False, "tail drop"), (True, "AQM")):
            what = f"{name}: rate of AIMD(., {b:g}) over Reno's from the Markov chain"
            id = f"losses/ratio-{name.replace(' ', '-').lower()}-{b:g}"
            out.append(Row(id, "losses", what, None, predicted_ratio(b, aqm=aqm_too), None, "", "info"))
        what = f"independent losses: rate of AIMD(., {b:g}) over Reno's, both with the same loss probability"
        out.append(Row(f"losses/independent-{b:g}", "losses", what, None, independent_ratio(b), None, "", "info"))
    return out


def _bounded(id: str, what: str, bound: str, value: float, holds: bool) -> Row:
    return Row(id, "losses", what, bound, value, None, "", "agrees" if holds else "differs")
