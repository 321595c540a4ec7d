"""The folder of a hunt: what was found as scenario files, all trials, and a report with pictures."""

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
from windtunnel.search.explore import Trial
from windtunnel.search.hunt import Change, Find, Findings
from windtunnel.search.model import Hunt
from windtunnel.search.shrink import Held
from windtunnel.search.tables import counted, number, share_interval, table, write_trials
from windtunnel.search.written import text_of

FOLDER = "finds"


def write(hunt: Hunt, findings: Findings, runs: int, out: Path, *, force: bool) -> None:
    """Write the folder; it appears complete or not at all. Raises InputError."""
    with staged(out, force=force, ours=is_search) as stage:
        rows = [
            {"value": trial.value, "found": hunt.goal.holds(trial.value), "error": trial.error or None,
             **{f"run{n + 1}": value for n, value in enumerate(trial.values)}}
            for trial in findings.trials
        ]  # fmt: skip
        write_trials(hunt.space, [trial.point for trial in findings.trials], rows, stage / "trials.parquet")
        if findings.finds:
            (stage / FOLDER).mkdir()
        for rank, find in enumerate(findings.finds, 1):
            (stage / FOLDER / f"{rank}.toml").write_text(scenario_text(hunt, find), encoding="utf-8")
        _draw(hunt, findings, stage)
        (stage / "report.md").write_text("\n".join(_report(hunt, findings, runs)) + "\n", encoding="utf-8")
        # Written last, because this file makes the folder one of a hunt.
        (stage / "hunt.json").write_text(_document(hunt, findings, runs), encoding="utf-8")


def scenario_text(hunt: Hunt, find: Find) -> str:
    """The minimal scenario as a file that runs by itself and shows the find."""
    head = (
        f"Found by a hunt for: {hunt.goal.text}\n"
        f"Here {hunt.goal.label} is {number(find.example_value)}."
        f" In {find.final.held} of {len(find.final.values)} runs with other seeds"
        f"{' and starts of flows' if hunt.replicas.offsets else ''} the property held."
    )
    return text_of(find.example.arranged(), hunt.title or "Found by a hunt", head)


def _draw(hunt: Hunt, findings: Findings, stage: Path) -> None:
    measured = [trial for trial in findings.trials if math.isfinite(trial.value)]
    if not measured:
        return
    best: list[float] = []
    for trial in measured:
        better = not best or hunt.goal.score(trial.value) < hunt.goal.score(best[-1])
        best.append(trial.value if better else best[-1])
    values, label = [trial.value for trial in measured], hunt.goal.label
    limits = [limit for limit in (hunt.goal.limits.low, hunt.goal.limits.high) if math.isfinite(limit)]
    pictures.history(values, best, limits, label, stage / "history.png")
    names = list(findings.importances)[:2] or [dimension.name for dimension in hunt.space.dimensions[:2]]
    first, second = hunt.space[names[0]], hunt.space[names[1]] if len(names) > 1 else None
    pictures.keys([trial.point for trial in measured], values, first, second, label, stage / "keys.png")


def _report(hunt: Hunt, findings: Findings, runs: int) -> Iterator[str]:
    trials = findings.trials
    holding = [trial for trial in trials if hunt.goal.holds(trial.value)]
    failed = [trial for trial in trials if trial.error]
    yield from (f"# {markdown(hunt.title or 'A hunt')}", "")
    yield f"Looked for: {markdown_code(hunt.goal.text)}."
    yield (
        f"{counted(len(trials), 'candidate')} of {counted(hunt.seeds, 'run')} ({hunt.sampler}, seed {hunt.seed}), "
        f"{counted(runs, 'run')} in all. {counted(len(holding), 'candidate')} had the property in the median "
        "of their runs."
    )
    if failed:
        first = markdown(failed[0].error.splitlines()[0])
        yield f"{counted(len(failed), 'candidate')} had failed runs; the first: {first}"
    if any(math.isfinite(trial.value) for trial in trials):
        yield from ("", "![All candidates](history.png)", "")
    for rank, find in enumerate(findings.finds, 1):
        yield from _of_find(hunt, find, rank)
    if not findings.finds:
        yield "Nothing was found that holds in fresh runs. That is no proof that there is nothing."
        measured = [trial for trial in trials if math.isfinite(trial.value)]
        if measured:
            closest = min(measured, key=lambda trial: hunt.goal.score(trial.value))
            yield f"The nearest value was {number(closest.value)}, at {markdown(hunt.space.shown(closest.point))}."
        else:
            yield "No candidate had a value."
    for trial, held in findings.lucky:
        point = markdown(hunt.space.shown(trial.point))
        yield from ("", f"Not a find: {point} had {number(trial.value)} in its first runs, but the "
                    f"property held in only {_held(held)} fresh ones.")  # fmt: skip
    if findings.importances:
        yield from ("", "## Which keys matter over the whole space", "")
        yield "The share of each key in whether a candidate is among the best tenth (PED-ANOVA; keys alone, without "
        yield from ("their interplay).", "")
        yield from table(("key", "share"), [(k, f"{100 * v:.0f} %") for k, v in findings.importances.items()])
        yield from ("", "![The most important keys](keys.png)")


def _of_find(hunt: Hunt, find: Find, rank: int) -> Iterator[str]:
    shrunk = find.shrunk
    yield from (f"## Find {rank}", "")
    yield f"{markdown(hunt.space.shown(find.trial.point))}: {number(find.trial.value)}."
    yield f"In fresh runs the property held in {_held(find.checked)}."
    yield ""
    whole = "" if shrunk.complete else " The runs for shrinking were used up before everything was tried."
    point = hunt.space.shown(shrunk.variant.point) or "the base scenario itself"
    yield f"Minimal scenario: [{FOLDER}/{rank}.toml]({FOLDER}/{rank}.toml), {markdown(point)}."
    yield f"In runs that had decided nothing before, its property held in {_held(find.final)}, with a median of " + (
        f"{number(hunt.goal.value(find.final.values))}.{whole}"
    )
    if shrunk.steps:
        yield from ("", "What it did not need: " + "; ".join(map(markdown, shrunk.steps)) + ".")
    if find.around:
        yield from ("", "One change at a time, from the minimal scenario:", "")
        rows = [
            (change.name, hunt.space[change.name].shown(change.to), number(change.value),
             f"{change.held.held} of {len(change.held.values)}")
            for change in find.around
        ]  # fmt: skip
        yield from table(("key", "changed to", hunt.goal.label, "holds in"), rows)
    if find.compared:
        yield from ("", "The minimal scenario with something else:", "")
        others = [
            (name, number(hunt.goal.value(held.values)), f"{held.held} of {len(held.values)}")
            for name, held in find.compared
        ]
        yield from table(("with", hunt.goal.label, "holds in"), others)
    yield ""


def _held(held: Held) -> str:
    low, high = share_interval(held.held, len(held.values))
    return f"{held.held} of {len(held.values)} (95 % interval of the share {100 * low:.0f} to {100 * high:.0f} %)"


def _document(hunt: Hunt, findings: Findings, runs: int) -> str:
    document = {
        "kind": "hunt",
        "schema_version": 1,
        "version": _core.__version__,
        "title": hunt.title,
        "goal": hunt.goal.text,
        "sampler": hunt.sampler,
        "seed": hunt.seed,
        "seeds": hunt.seeds,
        "offsets": hunt.replicas.offsets,
        "candidates": len(findings.trials),
        "found": sum(hunt.goal.holds(trial.value) for trial in findings.trials),
        "runs": runs,
        "importances": findings.importances,
        "finds": [_find(hunt, find, rank) for rank, find in enumerate(findings.finds, 1)],
        "lucky": [{**_trial(trial), "checked": _counts(held)} for trial, held in findings.lucky],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _find(hunt: Hunt, find: Find, rank: int) -> dict[str, Any]:
    return {
        "file": f"{FOLDER}/{rank}.toml",
        **_trial(find.trial),
        "checked": _counts(find.checked),
        "minimal": find.shrunk.variant.point,
        "duration_share": find.shrunk.variant.share,
        "steps": find.shrunk.steps,
        "complete": find.shrunk.complete,
        "final": _counts(find.final),
        "final_value": _finite(hunt.goal.value(find.final.values)),
        "around": [_change(change) for change in find.around],
        "compared": {name: _counts(held) for name, held in find.compared},
    }


def _change(change: Change) -> dict[str, Any]:
    return {"key": change.name, "to": change.to, "value": _finite(change.value), "holds": _counts(change.held)}


def _trial(trial: Trial) -> dict[str, Any]:
    return {"candidate": trial.number, "point": trial.point, "value": _finite(trial.value)}


def _counts(held: Held) -> dict[str, Any]:
    return {"held": held.held, "of": len(held.values), "values": list(map(_finite, held.values))}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def summary(hunt: Hunt, findings: Findings) -> Sequence[str]:
    """What a terminal shows."""
    lines = []
    for rank, find in enumerate(findings.finds, 1):
        lines.append(
            f"find {rank}: {hunt.space.shown(find.shrunk.variant.point) or 'the base scenario itself'}: "
            f"{number(hunt.goal.value(find.final.values))}, held in {_held(find.final)} fresh runs"
        )
    lines += [
        f"not a find: {hunt.space.shown(trial.point)} held in only {_held(held)} fresh runs"
        for trial, held in findings.lucky
    ]
    return lines or ["nothing was found"]
