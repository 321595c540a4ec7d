"""Trains the classifier of controllers on simulated runs, and writes its model and the page about it.

    make train-explain

It takes every controller that a TCP sender can have, and paths of all families (``families.py``). Each path is captured
in one of several ways. How well the classifier does on paths that are like none it has seen is measured by leaving out
whole families: for each of them trees are grown on all others. The same version gives the same model: the runs are
deterministic, and so is the training.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from windtunnel import ScenarioError, _core
from windtunnel.explain import families
from windtunnel.explain.boosting import Boosted, Growth, grow
from windtunnel.explain.controllers import MODEL, RIGHT, UNKNOWN, WRONG, Answer, Ranges, answers, signs
from windtunnel.explain.features import features_of
from windtunnel.explain.trace import RECEIVER, SENDER, Columns, of_run
from windtunnel.explain.training_page import Tested, page
from windtunnel.kinds import listing

_Job = TypeVar("_Job")
_Done = TypeVar("_Done")
#: Controllers that behave as another one, which stands for them.
SAME = {"newreno": "reno", "reno1990": "reno", "aimd": "reno", "dctcp-sce": "dctcp", "binomial": "sqrt",
        "lia": "reno", "olia": "reno", "balia": "reno"}  # fmt: skip
#: Controllers that no host of today uses, and those of media, which no TCP has.
LEFT_OUT = ("bsd42", "gcc", "nada", "scream")
#: A controller with fewer traces than this cannot be learned.
_LEAST_TRACES = 10
_ABOUT = "Train the classifier of controllers on simulated runs; write its model and the page about it."
#: Paths of each family.
PATHS = 24
SEED = 1
#: The trees that tell controllers apart, and those that tell how far to trust them: few numbers, much chance.
LAWS = Growth(rounds=150, rate=0.08, leaves=12, least_leaf=10, tried=0.2)
TRUST = Growth(rounds=100, rate=0.05, leaves=8, least_leaf=50, tried=0.5)
#: In how many parts families are left out: a part has every fourth one.
_PARTS = 4
#: In how many parts controllers are left out, from the trees, and from what trust is learned from.
_CONTROLLER_PARTS, _TRUST_PARTS = 6, 6
#: How much a capture of a controller that the trees have not seen weighs against one of a known one.
_UNKNOWN_WEIGHT = 0.5
#: Answers that are kept for the page.
_KEPT = 3
#: The captures of paths, in turn, and how far each family's first one is from that of the family before it.
_CAPTURES = (
    *("sender", "receiver", "short", "sender", "receiver", "middle"),
    *("sender", "receiver", "packets missing", "sender", "receiver", "offload"),
)
_TURN = 5
#: How far from the receiver a capture in the middle is, as a part of the path behind the bottleneck.
_AHEAD = (0.1, 0.9)
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
    capture, point, seen = captured(over)
    # A flow without a window is not among the trace's.
    flows = of_run(result, Path("run"), point, seen).flows
    flow = next((flow for flow in flows if flow.name == families.ONE), None)
    features, alike = (None, []) if flow is None else features_of(flow)
    return [] if features is None else [Example(controller, family, number, capture, features, alike)]


def captured(over: families.Path) -> tuple[str, int, Callable[[Columns], Columns] | None]:
    """How a path's runs are captured: in words, at which end, and what the capture has of the segments there.

    A path shows more than a second capture of one does.
    """
    turn, kind = divmod(over.number + _TURN * list(families.FAMILIES).index(over.family), len(_CAPTURES))
    end = RECEIVER if turn % 2 else SENDER
    random = np.random.default_rng((SEED, over.number))
    match _CAPTURES[kind]:
        case "middle":
            # After the bottleneck, which is next to the sender.
            ahead = np.int64(random.uniform(*_AHEAD) * over.rtt_ms / 2 * 1e6)
            return "middle", RECEIVER, lambda segments: _seen_before(segments, ahead)
        case "short":
            length = max(_SHORT[0], _SHORT[1] * over.rtt_ms / 1e3)
            return "short", end, lambda segments: _rows(segments, segments["t_ns"] < 1e9 * length)
        case "packets missing":
            return (
                "packets missing",
                end,
                lambda segments: _rows(segments, random.random(len(segments["t_ns"])) >= _MISSING),
            )
        case "offload":
            return "offload", end, _offloaded
        case whole:
            return whole, RECEIVER if whole == "receiver" else SENDER, None


def _seen_before(segments: Columns, ahead: np.int64) -> Columns:
    """What passes so long before it is at the receiver, and its acknowledgements so much later."""
    shift = np.where(segments["dir"] == 0, -ahead, ahead)
    t_ns = np.maximum(segments["t_ns"].astype(np.int64) + shift, 0).astype(np.uint64)
    return _rows({**segments, "t_ns": t_ns}, np.argsort(t_ns, kind="stable"))


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
        captures = [each for captured in _spread(_job, jobs, options.workers, 8) for each in captured]
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


def _spread(do: Callable[[_Job], _Done], jobs: Sequence[_Job], workers: int, chunk: int = 1) -> Iterator[_Done]:
    """What comes of each job, in order."""
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(do, jobs, chunksize=chunk)


def train(names: Sequence[str], captures: Sequence[Example], model: Path, workers: int) -> Tested:
    """Grow the trees, write them, and tell how right they are about what they have not seen."""
    keys = sorted(captures[0].features)
    vectors = np.array([[each.features[key] for key in keys] for each in captures])
    # Infinities come of divisions by what a trace does not have.
    vectors = np.where(np.isfinite(vectors), vectors, np.nan).astype(np.float32)
    classes = np.array([names.index(each.controller) for each in captures])
    family = np.array([list(families.FAMILIES).index(each.family) for each in captures])
    ranges = Ranges.of(vectors, classes, len(names))
    by_family, by_controller = (np.zeros((len(captures), len(names))) for _ in range(2))
    parts = [
        (votes, seen, mine)
        for votes, left_out in (
            (by_family, _other_families(family)),
            (by_controller, _other_controllers(classes, family)),
        )
        for seen, mine in left_out
        if seen.any() and mine.any()
    ]
    jobs = [(vectors[seen], classes[seen], vectors[mine]) for _, seen, mine in parts]
    grown = _spread(_grown, [(vectors, classes, vectors[:0]), *jobs], workers)
    trees, _ = next(grown)
    for (votes, _, mine), (_, told_of) in zip(parts, grown, strict=True):
        votes[mine, : told_of.shape[1]] = told_of
    (told, known_signs), (told_of_unknown, unknown_signs) = (
        _answered(names, captures, keys, vectors, votes, ranges) for votes in (by_family, by_controller)
    )
    right = np.array([each.controller in ranked[0].controllers for each, ranked in zip(captures, told, strict=True)])
    about = _Signs(known_signs, unknown_signs, np.where(right, RIGHT, WRONG))
    trusted = np.zeros((2, len(captures), 3))
    for part in range(_TRUST_PARTS):
        mine = classes % _TRUST_PARTS == part
        if mine.any() and not mine.all():
            trust = about.learned(~mine)
            trusted[:, mine] = trust.votes(known_signs[mine]), trust.votes(unknown_signs[mine])
    save(model, names, keys, trees, about.learned(np.ones(len(captures), bool)), ranges, len(captures))
    return Tested(names, classes, captures, told, told_of_unknown, trusted[0], trusted[1])


def _grown(job: tuple[Any, Any, Any]) -> tuple[Boosted, Any]:
    """Trees, and what they say about what they have not seen."""
    vectors, classes, others = job
    trees = grow(vectors, classes, LAWS, SEED)
    return trees, trees.votes(others)


class _Signs(NamedTuple):
    """Of each capture, what tells how far its best answer can be trusted."""

    #: By trees that have not seen its family, and by such as have not seen its controller either.
    of_known: Any
    of_unknown: Any
    #: Whether the former were right.
    truth: Any

    def learned(self, which: Any) -> Boosted:
        """What tells right from wrong answers, and from those about what the trees do not know."""
        count = int(which.sum())
        return grow(
            np.concatenate([self.of_known[which], self.of_unknown[which]]),
            np.concatenate([self.truth[which], np.full(count, UNKNOWN)]),
            TRUST,
            SEED,
            np.repeat([1.0, _UNKNOWN_WEIGHT], count),
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


def _other_families(family: Any) -> Iterator[tuple[Any, Any]]:
    """What trees are grown on, and captures of families that are not among it."""
    for part in range(_PARTS):
        mine = family % _PARTS == part
        yield ~mine, mine


def _other_controllers(classes: Any, family: Any) -> Iterator[tuple[Any, Any]]:
    """What trees are grown on, and captures of other controllers over other families."""
    for part in range(_CONTROLLER_PARTS):
        controllers = classes % _CONTROLLER_PARTS == part
        for half in (0, 1):
            here = family % 2 == half
            yield ~controllers & ~here, controllers & here


def save(
    file: Path, names: Sequence[str], keys: Sequence[str], trees: Boosted, trust: Boosted, ranges: Ranges, count: int
) -> None:
    """Write the model with its origin."""
    about = {
        "origin": f"python -m windtunnel.explain.train, version {_core.__version__}, {count} simulated captures",
        "controllers": list(names),
        "features": list(keys),
    }
    arrays = {
        f"{which}_{name}": getattr(grown, name)
        for which, grown in (("trees", trees), ("trust", trust))
        for name in Boosted.ARRAYS
    }
    edges = {"low": ranges.low.astype(np.float32), "high": ranges.high.astype(np.float32)}
    np.savez_compressed(file, **{"about": np.array(json.dumps(about)), **arrays, **edges})


if __name__ == "__main__":
    main()
