"""The folder of a tuning: the chosen setting, all candidates, the front, the proof, and a report with pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from windtunnel import _core
from windtunnel.atomic import staged
from windtunnel.escape import markdown, markdown_code
from windtunnel.search import pictures
from windtunnel.search.carry_out import is_search
from windtunnel.search.model import Tune
from windtunnel.search.tables import counted, number, table, write_trials
from windtunnel.search.tune import Overall, Setting, Tuned
from windtunnel.search.written import text_of


def write(tune: Tune, tuned: Tuned, runs: int, out: Path, *, force: bool) -> None:
    """Write the folder; it appears complete or not at all. Raises InputError."""
    with staged(out, force=force, ours=is_search) as stage:
        on_front = {setting.number for setting in tuned.front}
        rows: list[dict[str, Any]] = [
            {**{o.name: math.nan if s.values is None else s.values[n] for n, o in enumerate(tune.objectives)},
             "violation": s.violation, "allowed": s.is_allowed, "front": s.number in on_front, "error": s.error or None}
            for s in tuned.settings
        ]  # fmt: skip
        write_trials(tune.space, [setting.point for setting in tuned.settings], rows, stage / "trials.parquet")
        if tuned.chosen is not None:
            chosen = tune.space.scenario(tuned.chosen.point)
            text = text_of(chosen, tune.title or "Tuned", f"Chosen: {tune.space.shown(tuned.chosen.point)}")
            (stage / "chosen.toml").write_text(text, encoding="utf-8")
        _draw(tune, tuned, stage)
        (stage / "report.md").write_text("\n".join(_report(tune, tuned, runs)) + "\n", encoding="utf-8")
        # Written last, because this file makes the folder one of a tuning.
        (stage / "tune.json").write_text(_document(tune, tuned, runs), encoding="utf-8")


def _draw(tune: Tune, tuned: Tuned, stage: Path) -> None:
    measured = [setting for setting in tuned.settings if setting.values is not None]
    if not measured:
        return
    names = [o.name for o in tune.objectives]
    if len(names) > 1 and tuned.default is not None:
        front = {setting.number for setting in tuned.front}
        dots = [pictures.Dot(v[0], v[1], s.is_allowed, s.number in front) for s in measured if (v := s.values)]
        chosen = tuned.chosen.values if tuned.chosen else None
        pictures.front(dots, tuned.default, chosen, names, stage / "front.png")
    else:
        first = list(tuned.importances)[:2] or [dimension.name for dimension in tune.space.dimensions[:2]]
        x, y = tune.space[first[0]], tune.space[first[1]] if len(first) > 1 else None
        values = [v[0] for s in measured if (v := s.values)]
        pictures.keys([setting.point for setting in measured], values, x, y, names[0], stage / "keys.png")
    for index, objective in enumerate(tune.objectives):
        rows = [
            (row.path, d, *(row.difference.interval or (d, d)))
            for row in tuned.compared
            if row.objective == objective.name and (d := row.difference.difference) is not None
        ]
        if rows:
            pictures.proof(rows, f"{objective.name}: chosen minus default", stage / f"proof-{index + 1}.png")


def _report(tune: Tune, tuned: Tuned, runs: int) -> Iterator[str]:
    names = [objective.name for objective in tune.objectives]
    yield from (f"# {markdown(tune.title or 'A tuning')}", "")
    for objective in tune.objectives:
        yield f"- {objective.direction} {markdown(objective.name)}: {markdown_code(objective.quantity.text)}"
    for name, condition in tune.constraints:
        yield f"- on each path, {markdown(name)}: {markdown_code(condition.text)}"
    allowed = sum(setting.is_allowed for setting in tuned.settings)
    paths, held_out = tune.cells(tune.paths), tune.cells(tune.held_out)
    yield ""
    yield (
        f"{counted(len(tuned.settings), 'setting')} on {counted(len(paths), 'path')}, "
        f"{counted(tune.seeds, 'run')} of each ({tune.sampler}, seed "
        f"{tune.seed}); {runs} runs in all. {allowed} settings break no constraint. Over the paths: {_over(tune)}."
    )
    yield from ("", "## The front" if len(names) > 1 else "## The best settings", "")
    picture = "front.png" if len(names) > 1 and tuned.default is not None else "keys.png"
    if any(setting.values is not None for setting in tuned.settings):
        yield from (f"![All settings]({picture})", "")
    best = tuned.front if len(names) > 1 else _ranked(tune, tuned)
    rows = [_row(tune, setting, "chosen" if setting is tuned.chosen else "") for setting in best]
    default = ["default", *(["-"] * len(names) if tuned.default is None else map(number, tuned.default))]
    broken = "breaks a constraint" if tuned.default_violation else ""
    yield from table(("setting", *names, ""), [*rows, [*default, broken]])
    if tuned.chosen is None:
        yield from ("", f"{_nothing(tuned)}: nothing is chosen, and nothing to be proved.")
        return
    yield from ("", "## Proof on held-out paths", "")
    yield (
        f"{counted(len(held_out), 'path')} on which nothing was tuned, "
        f"{tune.proof} runs of each with other seeds, the same for "
        f"both settings; intervals of {100 * tune.confidence:g} %, p corrected by Holm for {len(tuned.compared)} "
        "comparisons."
    )
    yield ""
    yield from (f"- {markdown(sentence)}" for sentence in sentences(tune, tuned))
    yield ""
    for index in range(len(names)):
        yield f"![Chosen minus default, {markdown(names[index])}](proof-{index + 1}.png)"
    yield ""
    compared = [
        (row.path, row.objective, number(row.default), number(row.chosen), _interval(row.difference.interval),
         "-" if row.p is None else f"{row.p:.2g}", row.verdict)
        for row in tuned.compared
    ]  # fmt: skip
    yield from table(("path", "objective", "default", "chosen", "difference", "p", "the chosen one is"), compared)


def sentences(tune: Tune, tuned: Tuned) -> Iterator[str]:
    """What the proof says, also where it says nothing good."""
    for overall in tuned.overall:
        rows = [row for row in tuned.compared if row.objective == overall.objective]
        counts = {v: sum(row.verdict == v for row in rows) for v in ("better", "worse", "no difference shown")}
        yield (
            f"{overall.objective}: {_change(overall)} over the held-out paths: {overall.verdict}. Better on "
            f"{counts['better']} of {len(rows)} paths, worse on {counts['worse']}, no difference shown on "
            f"{counts['no difference shown']}."
        )
        worse = [row.path for row in rows if row.verdict == "worse"]
        if worse:
            yield f"{overall.objective} is worse than with the default on: {'; '.join(worse)}."
    for who in ("chosen", "default"):
        if tuned.broken.get(who):
            yield f"The {who} setting breaks a constraint on held-out paths: {'; '.join(tuned.broken[who])}."
    if all(overall.verdict != "better" for overall in tuned.overall):
        yield "On paths that it was not tuned on, the chosen setting is not shown to be better than the default."


def _nothing(tuned: Tuned) -> str:
    """Why nothing is chosen."""
    if all(setting.values is None for setting in tuned.settings):
        return "No setting has values for all objectives and constraints on all paths"
    return "No setting keeps all constraints on all paths"


def _change(overall: Overall) -> str:
    unit = " %" if overall.percent else ""
    between = "" if overall.interval is None else f" ({overall.interval[0]:+.3g} to {overall.interval[1]:+.3g}{unit})"
    return f"{overall.difference:+.3g}{unit}{between}"


def _over(tune: Tune) -> str:
    return {
        "mean": "their mean",
        "worst": "the worst",
        "relative": "the geometric mean of the ratios to the default",
    }[tune.over]


def _ranked(tune: Tune, tuned: Tuned) -> list[Setting]:
    """The ten best settings of one objective."""
    sign = 1 if tune.objectives[0].direction == "minimize" else -1
    allowed = [s for s in tuned.settings if s.is_allowed and s.values is not None]
    return sorted(allowed, key=lambda s: (sign * s.values[0] if s.values else 0.0, s.number))[:10]


def _row(tune: Tune, setting: Setting, note: str) -> Sequence[str]:
    return [tune.space.shown(setting.point), *map(number, setting.values or ()), note]


def _interval(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:+.3g} to {interval[1]:+.3g}"


def _document(tune: Tune, tuned: Tuned, runs: int) -> str:
    document = {
        "kind": "tune",
        "schema_version": 1,
        "version": _core.__version__,
        "title": tune.title,
        "objectives": {o.name: {o.direction: o.quantity.text} for o in tune.objectives},
        "constraints": {name: condition.text for name, condition in tune.constraints},
        "over": tune.over,
        "sampler": tune.sampler,
        "seed": tune.seed,
        "seeds": tune.seeds,
        "candidates": len(tuned.settings),
        "allowed": sum(setting.is_allowed for setting in tuned.settings),
        "runs": runs,
        "importances": tuned.importances,
        "default": tuned.default,
        "front": [{"point": s.point, "values": s.values} for s in tuned.front],
        "chosen": None if tuned.chosen is None else {"point": tuned.chosen.point, "values": tuned.chosen.values},
        "proof": [
            {"path": row.path, "objective": row.objective, "default": _finite(row.default),
             "chosen": _finite(row.chosen), "difference": row.difference.difference,
             "interval": row.difference.interval, "p": row.p, "verdict": row.verdict}
            for row in tuned.compared
        ],
        "overall": [
            {"objective": o.objective, "difference": _finite(o.difference), "percent": o.percent,
             "interval": o.interval, "verdict": o.verdict}
            for o in tuned.overall
        ],
        "broken": tuned.broken,
    }  # fmt: skip
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def summary(tune: Tune, tuned: Tuned) -> Iterator[str]:
    """What a terminal shows."""
    if tuned.chosen is None:
        yield _nothing(tuned)
        return
    yield f"chosen: {tune.space.shown(tuned.chosen.point)}"
    yield from sentences(tune, tuned)
