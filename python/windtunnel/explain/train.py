"""Trains the classifier of controllers on simulated runs, and writes its model and the page about it.

    make train-explain

It takes every controller that a TCP sender can have, and paths of all families (``families.py``). Each run is captured
in several ways. How well the classifier does on paths that are like none it has seen is measured by leaving out whole
families: for each of them a forest is grown on all others. The same version gives the same model: the runs are
deterministic, and so is the training.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from windtunnel import ScenarioError, _core
from windtunnel.explain import families
from windtunnel.explain.controllers import MODEL, RIGHT, UNKNOWN, WRONG, Answer, Ranges, answers, signs
from windtunnel.explain.features import features_of
from windtunnel.explain.forest import Forest, grow
from windtunnel.explain.trace import RECEIVER, SENDER, Columns, of_run
from windtunnel.explain.training_page import Tested, page
from windtunnel.kinds import listing

#: Controllers that behave as another one, which stands for them.
SAME = {"newreno": "reno", "reno1990": "reno", "aimd": "reno", "dctcp-sce": "dctcp", "binomial": "sqrt",
        "lia": "reno", "olia": "reno", "balia": "reno"}  # fmt: skip
#: Controllers that no host of today uses, and those of media, which no TCP has.
LEFT_OUT = ("bsd42", "gcc", "nada", "scream")
#: A controller with fewer traces than this cannot be learned.
_LEAST_TRACES = 10
_ABOUT = "Train the classifier of controllers on simulated runs; write its model and the page about it."
#: Paths of each family.
PATHS = 12
TREES = 80
SEED = 1
#: In how many parts families are left out: a part has every fourth one.
_PARTS = 4
#: In how many parts controllers are left out, from the forest, and from what trust is learned from.
_CONTROLLER_PARTS, _TRUST_PARTS = 6, 6
#: How much a capture of a controller that the forest has not seen weighs against one of a known one.
_UNKNOWN_WEIGHT = 0.5
#: Answers that are kept for the page.
_KEPT = 3
#: A short capture: seconds, and round trips.
_SHORT = (5.0, 60)
#: The share of packets that a capture may lack.
_MISSING = 0.005
#: Segmentation offload: the greatest size of a segment, and the longest time between two parts of one.
_OFFLOAD_BYTES, _OFFLOAD_NS = 65_536, 100_000


class Example(NamedTuple):
    """The features of a capture."""

    controller: str
    family: str
    path: int
    #: How it was captured.
    capture: str
    features: dict[str, float]
    #: Controllers that nothing in it can tell apart, in groups.
    alike: list[list[str]]


def names() -> list[str]:
    """The controllers that are told apart."""
    listed = {kind["name"] for kind in listing()["controllers"]}
    return sorted(listed - set(SAME) - set(LEFT_OUT))


def examples(controller: str, family: str, number: int) -> list[Example]:
    """The captures of one run; none where the controller did not decide, or cannot have this path."""
    over = families.path(family, number)
    try:
        result = families.scenario(controller, over).run()
    except ScenarioError:
        return []
    captures = []
    for capture, point, seen in _captures(over, number):
        # A flow without a window is not among the trace's.
        flows = of_run(result, Path("run"), point, seen).flows
        flow = next((flow for flow in flows if flow.name == families.ONE), None)
        features, alike = (None, []) if flow is None else features_of(flow)
        if features is not None:
            captures.append(Example(controller, family, number, capture, features, alike))
    return captures


def _captures(over: families.Path, number: int) -> Iterator[tuple[str, int, Any]]:
    """Each run at both ends, and in one of the ways in which captures are less than whole."""
    yield "sender", SENDER, None
    yield "receiver", RECEIVER, None
    point = RECEIVER if number % 2 else SENDER
    random = np.random.default_rng((SEED, number))
    match number // 2 % 3:
        case 0:
            length = max(_SHORT[0], _SHORT[1] * over.rtt_ms / 1e3)
            if length < 0.7 * over.seconds:
                yield "short", point, lambda segments: _rows(segments, segments["t_ns"] < 1e9 * length)
        case 1:
            yield (
                "packets missing",
                point,
                lambda segments: _rows(segments, random.random(len(segments["t_ns"])) >= _MISSING),
            )
        case _:
            yield "offload", point, _offloaded


def _rows(segments: Columns, keep: Any) -> Columns:
    return {name: column[keep] for name, column in segments.items()}


def _offloaded(segments: Columns) -> Columns:
    """Segments of data that follow each other at once are one, as segmentation offload shows them."""
    payload, seq, t_ns = (segments[name].astype(np.int64) for name in ("payload", "seq", "t_ns"))
    same = (np.diff(segments["flow"]) == 0) & (segments["dir"][1:] == 0) & (segments["dir"][:-1] == 0)
    follows = same & (seq[1:] == seq[:-1] + payload[:-1]) & (payload[:-1] > 0) & (payload[1:] > 0)
    follows &= (np.diff(t_ns) < _OFFLOAD_NS) & (np.diff(segments["ecn"]) == 0)
    first, size = [], 0
    for row, joins in enumerate(np.concatenate([[False], follows]).tolist()):
        if joins and size + payload[row] <= _OFFLOAD_BYTES:
            size += int(payload[row])
        else:
            first.append(row)
            size = int(payload[row])
    kept = _rows(segments, np.array(first))
    joined = np.add.reduceat(payload, first)
    return {**kept, "payload": np.where(kept["payload"] > 0, joined, kept["payload"]).astype(np.uint32)}


def main() -> None:
    """Run, train, test, write."""
    parser = argparse.ArgumentParser(prog="python -m windtunnel.explain.train", description=_ABOUT)
    parser.add_argument("--model", type=Path, default=MODEL, help="The file to write the model to.")
    parser.add_argument("--page", type=Path, default=Path("docs/explain-controllers.md"), help="The page to write.")
    parser.add_argument("--workers", type=int, default=2, help="Processes.")
    parser.add_argument("--paths", type=int, default=PATHS, help="Paths of each family.")
    parser.add_argument("--only", nargs="*", help="Controllers; all without.")
    parser.add_argument("--keep", type=Path, help="A file of the captures' numbers: read if it exists, else written.")
    options = parser.parse_args()
    asked = options.only or names()
    jobs = [(name, family, n) for n in range(options.paths) for family in families.FAMILIES for name in asked]
    if options.keep and options.keep.exists():
        captures = [Example(*json.loads(line)) for line in options.keep.read_text(encoding="utf-8").splitlines()]
    else:
        with ProcessPoolExecutor(options.workers) as pool:
            captures = [each for captured in pool.map(_job, jobs, chunksize=8) for each in captured]
    if options.keep and not options.keep.exists():
        options.keep.write_text("".join(json.dumps(each) + "\n" for each in captures), encoding="utf-8")
    counts = Counter(each.controller for each in captures)
    wanted = [name for name in asked if counts[name] >= _LEAST_TRACES]
    tested = train(wanted, [each for each in captures if each.controller in wanted], options.model, options.workers)
    options.page.write_text(page(tested), encoding="utf-8")
    print(f"{len(tested.truth)} captures; of families that were left out, {100 * tested.right.mean():.1f} % are right")
    if missing := sorted(set(asked) - set(wanted)):
        print(f"left out, because they have no such runs: {', '.join(missing)}")


def _job(job: tuple[str, str, int]) -> list[Example]:
    return examples(*job)


def train(names: Sequence[str], captures: Sequence[Example], model: Path, workers: int) -> Tested:
    """Grow the forests, write them, and tell how right they are about what they have not seen."""
    keys = sorted(captures[0].features)
    vectors = np.array([[each.features[key] for key in keys] for each in captures])
    # Infinities come of divisions by what a trace does not have.
    vectors = np.where(np.isfinite(vectors), vectors, np.nan)
    classes = np.array([names.index(each.controller) for each in captures])
    family = np.array([list(families.FAMILIES).index(each.family) for each in captures])
    ranges = Ranges.of(vectors, classes, len(names))
    forest = grow(vectors, classes, TREES, SEED, workers=workers)
    (told, known_signs), (told_of_unknown, unknown_signs) = (
        _answered(names, captures, keys, vectors, votes, ranges)
        for votes in (
            _of_other_families(vectors, classes, family, workers),
            _of_other_controllers(vectors, classes, family, workers),
        )
    )
    right = np.array([each.controller in ranked[0].controllers for each, ranked in zip(captures, told, strict=True)])
    about = _Signs(known_signs, unknown_signs, np.where(right, RIGHT, WRONG))
    trusted = np.zeros((2, len(captures), 3))
    for part in range(_TRUST_PARTS):
        mine = classes % _TRUST_PARTS == part
        if mine.any() and not mine.all():
            trust = about.learned(~mine, workers)
            trusted[:, mine] = trust.votes(known_signs[mine]), trust.votes(unknown_signs[mine])
    save(model, names, keys, forest, about.learned(np.ones(len(captures), bool), workers), ranges, len(captures))
    return Tested(names, classes, captures, told, told_of_unknown, trusted[0], trusted[1])


class _Signs(NamedTuple):
    """Of each capture, what tells how far its best answer can be trusted."""

    #: By a forest that has not seen its family, and by one that has not seen its controller either.
    of_known: Any
    of_unknown: Any
    #: Whether the former was right.
    truth: Any

    def learned(self, which: Any, workers: int) -> Forest:
        """What tells right from wrong answers, and from those about what the forest does not know."""
        count = int(which.sum())
        return grow(
            np.concatenate([self.of_known[which], self.of_unknown[which]]),
            np.concatenate([self.truth[which], np.full(count, UNKNOWN)]),
            TREES,
            SEED,
            workers=workers,
            tried=0.4,
            least_leaf=15,
            weights=np.repeat([1.0, _UNKNOWN_WEIGHT], count),
        )


def _answered(
    names: Sequence[str], captures: Sequence[Example], keys: Sequence[str], vectors: Any, votes: Any, ranges: Ranges
) -> tuple[list[list[Answer]], Any]:
    """The answers about captures, and the signs of how far they can be trusted."""
    told, numbers = [], []
    for each, vector, mine in zip(captures, vectors, votes, strict=True):
        features = dict(zip(keys, vector.tolist(), strict=True))
        ranked = answers(names, mine, features, each.alike)
        outside = ranges.outside(vector, names.index(ranked[0].controllers[0]))
        told.append(ranked[:_KEPT])
        numbers.append(signs(ranked, mine, features, len(outside)))
    return told, np.array(numbers)


def _of_other_families(vectors: Any, classes: Any, family: Any, workers: int) -> Any:
    """The votes on each capture of a forest that has seen no capture of its family."""
    votes = np.zeros((len(classes), int(classes.max()) + 1))
    for part in range(_PARTS):
        mine = family % _PARTS == part
        if mine.any() and not mine.all():
            votes[mine] = grow(vectors[~mine], classes[~mine], TREES, SEED, workers=workers).votes(vectors[mine])
    return votes


def _of_other_controllers(vectors: Any, classes: Any, family: Any, workers: int) -> Any:
    """The votes on each capture of a forest that has seen neither its controller nor its family."""
    votes = np.zeros((len(classes), int(classes.max()) + 1))
    for part in range(_CONTROLLER_PARTS):
        controllers = classes % _CONTROLLER_PARTS == part
        for half in (0, 1):
            here = family % 2 == half
            seen, mine = ~controllers & ~here, controllers & here
            if mine.any() and seen.any():
                some = grow(vectors[seen], classes[seen], TREES // 2, SEED, workers=workers).votes(vectors[mine])
                votes[mine, : some.shape[1]] = some
    return votes


def save(
    file: Path, names: Sequence[str], keys: Sequence[str], forest: Forest, trust: Forest, ranges: Ranges, count: int
) -> None:
    """Write the model with its origin."""
    about = {
        "origin": f"python -m windtunnel.explain.train, version {_core.__version__}, {count} simulated captures",
        "controllers": list(names),
        "features": list(keys),
    }
    arrays = {
        f"{which}_{name}": getattr(grown, name)
        for which, grown in (("forest", forest), ("trust", trust))
        for name in Forest.ARRAYS
    }
    edges = {"low": ranges.low.astype(np.float32), "high": ranges.high.astype(np.float32)}
    np.savez_compressed(file, **{"about": np.array(json.dumps(about)), **arrays, **edges})


if __name__ == "__main__":
    main()
