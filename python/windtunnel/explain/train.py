"""Trains the classifier of controllers on simulated runs, and writes its model and its confusion matrix.

    python -m windtunnel.explain.train

It takes every controller that can be named in a scenario. Each runs alone, against Reno, and with random losses, on
paths of several rates, round-trip times and buffers, over a FIFO queue and over one that marks. The runs that are held
back for the confusion matrix have other rates, round-trip times, buffers and seeds than all that were trained on. The
same version gives the same model: the runs are deterministic, and so is the training.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import windtunnel
from windtunnel import ScenarioError, _core
from windtunnel.explain.controllers import MODEL
from windtunnel.explain.features import features
from windtunnel.explain.forest import Forest, grow
from windtunnel.explain.limits import limits_of
from windtunnel.explain.overflow import loss_events
from windtunnel.explain.rounds import rounds_of
from windtunnel.explain.trace import RECEIVER, SENDER, of_run
from windtunnel.explain.training_page import page
from windtunnel.kinds import has_trait, listing

#: Controllers that behave as another one, which stands for them.
SAME = {"newreno": "reno", "reno1990": "reno", "aimd": "reno", "dctcp-sce": "dctcp", "binomial": "sqrt",
        "lia": "reno", "olia": "reno", "balia": "reno"}  # fmt: skip
#: Controllers that no host of today uses, and those of media, which no TCP has.
LEFT_OUT = ("bsd42", "gcc", "nada", "scream")
_ONE = "one"
#: A controller with fewer traces than this cannot be learned.
_LEAST_TRACES = 10
_ABOUT = "Train the classifier of controllers on simulated runs; write its model and its confusion matrix."
#: Of the paths: Mbit/s, ms, bandwidth-delay products; and seconds of the runs, because captures are short, too.
_RANGES = ((1.5, 25.0), (15.0, 120.0), (0.5, 3.0), (8.0, 30.0))
#: What else happens on the paths.
_CASES = ("reno", "loss", "marks")
TREES = 80
SEED = 1


#: The features of a trace, with its controller's name.
Labelled: TypeAlias = tuple[str, dict[str, float]]


@dataclass(frozen=True)
class TestPath:
    """A path and what happens on it."""

    rate_mbps: float
    rtt_ms: float
    #: In bandwidth-delay products.
    buffer: float
    seconds: float
    #: ``alone``, ``reno`` (against it), ``loss`` (at random) or ``marks`` (a queue that marks).
    case: str
    seed: int


def training_paths() -> Iterator[TestPath]:
    """What the model is trained on."""
    return _paths(range(1, 65), 100)


def held_back_paths() -> Iterator[TestPath]:
    """What it is tested on: other rates, round-trip times, buffers and seeds, of the same ranges."""
    return _paths(range(1001, 1025), 9000)


def _paths(places: range, seed: int) -> Iterator[TestPath]:
    """Paths spread evenly over the logarithms of rate, round-trip time, buffer and length (Halton's sequence)."""
    for n in places:
        rate, rtt, buffer, seconds = (
            low * (high / low) ** _halton(n, base) for base, (low, high) in zip((2, 3, 5, 7), _RANGES, strict=True)
        )
        # Half of the paths belong to the flow alone.
        case = "alone" if n % 2 else _CASES[n // 2 % len(_CASES)]
        yield TestPath(round(rate, 3), round(rtt, 3), round(buffer, 3), round(seconds, 1), case, seed + n)


def _halton(n: int, base: int) -> float:
    """The n-th number of the sequence: the digits of n behind the point, in reverse."""
    value, weight = 0.0, 1.0
    while n:
        weight /= base
        n, digit = divmod(n, base)
        value += weight * digit
    return value


def names() -> list[str]:
    """The controllers that are told apart."""
    listed = {kind["name"] for kind in listing()["controllers"]}
    return sorted(listed - set(SAME) - set(LEFT_OUT))


def examples(controller: str, path: TestPath) -> list[dict[str, float]]:
    """The features of one run, seen at its sender and at its receiver; none where the controller did not decide."""
    try:
        result = scenario(controller, path).run()
    except ScenarioError:
        # It is for datagrams, or has no ECN.
        return []
    vectors = []
    for point in (SENDER, RECEIVER):
        # A flow without a window is not among the trace's.
        flow = next((flow for flow in of_run(result, Path("run"), point).flows if flow.name == _ONE), None)
        rounds = None if flow is None else rounds_of(flow)
        if flow is not None and rounds is not None:
            vectors.append(features(flow, rounds, limits_of(flow, rounds), loss_events(flow, rounds)))
    return [each for each in vectors if each is not None]


def scenario(controller: str, path: TestPath) -> windtunnel.Scenario:
    """The run, with its packets."""
    bottleneck: dict[str, Any] = {
        "rate": f"{path.rate_mbps} Mbit/s",
        "queue": {"kind": "fifo", "limit": f"{path.buffer} bdp"},
    }
    flow: dict[str, Any] = {"name": _ONE, "cc": controller, "rtt": f"{path.rtt_ms} ms"}
    flows = [flow]
    if path.case == "reno":
        flows.append({"name": "other", "cc": "reno", "rtt": f"{path.rtt_ms} ms", "start": "1 s"})
    if path.case == "loss":
        bottleneck["impair"] = [{"kind": "loss", "probability": "0.3 %", "affects": "data"}]
    if path.case == "marks":
        bottleneck["queue"] = {"kind": "codel", "ecn": True}
        # Controllers that answer shares of marks have a feedback of their own.
        if not has_trait(controller, "scalable"):
            flow["ecn"] = True
    return windtunnel.Scenario(
        duration=f"{path.seconds} s",
        seed=path.seed,
        bottleneck=bottleneck,
        flows=flows,
        record={"packets": True, "interval": "100 ms"},
    )


def main() -> None:
    """Run, train, test, write."""
    parser = argparse.ArgumentParser(prog="python -m windtunnel.explain.train", description=_ABOUT)
    parser.add_argument("--model", type=Path, default=MODEL, help="The file to write the model to.")
    parser.add_argument("--page", type=Path, default=Path("docs/explain-controllers.md"), help="The page to write.")
    parser.add_argument("--workers", type=int, default=2, help="Processes.")
    parser.add_argument("--only", nargs="*", help="Controllers; all without.")
    options = parser.parse_args()
    asked = options.only or names()
    with ProcessPoolExecutor(options.workers) as pool:
        trained = _traces(pool, asked, list(training_paths()))
        counts = Counter(name for name, _ in trained)
        wanted = [name for name in asked if counts[name] >= _LEAST_TRACES]
        held_back = _traces(pool, wanted, list(held_back_paths()))
    keys = sorted(trained[0][1])
    vectors, classes = _arrays(trained, wanted, keys)
    test, truth = _arrays(held_back, wanted, keys)
    forest = grow(vectors, classes, TREES, SEED)
    save(options.model, forest, wanted, keys, vectors)
    probabilities = forest.probabilities(test)
    options.page.write_text(page(wanted, truth, probabilities, len(classes), forest.temperature), encoding="utf-8")
    right = float(np.mean(probabilities.argmax(axis=1) == truth))
    print(f"{len(classes)} traces to train, {len(truth)} held back: {100 * right:.1f} % right")
    if left_out := sorted(set(asked) - set(wanted)):
        print(f"left out, because they have no such runs: {', '.join(left_out)}")


def _traces(pool: ProcessPoolExecutor, wanted: Sequence[str], paths: Sequence[TestPath]) -> list[Labelled]:
    jobs = [(name, path) for name in wanted for path in paths]
    by_job = pool.map(_job, jobs, chunksize=4)
    return [(name, each) for (name, _), traces in zip(jobs, by_job, strict=True) for each in traces]


def _arrays(traces: Sequence[Labelled], wanted: Sequence[str], keys: Sequence[str]) -> tuple[Any, Any]:
    """Vectors of features, and the numbers of their controllers."""
    mine = [(wanted.index(name), values) for name, values in traces if name in wanted]
    vectors = np.array([[values[key] for key in keys] for _, values in mine])
    # Infinities come of divisions by what a trace does not have.
    return np.where(np.isfinite(vectors), vectors, np.nan), np.array([number for number, _ in mine])


def _job(job: tuple[str, TestPath]) -> list[dict[str, float]]:
    return examples(*job)


def save(file: Path, forest: Forest, wanted: Sequence[str], keys: Sequence[str], vectors: Any) -> None:
    """Write the model with its origin."""
    about = {
        "origin": f"python -m windtunnel.explain.train, version {_core.__version__}, {len(vectors)} simulated traces",
        "controllers": list(wanted),
        "features": list(keys),
        "low": [float(value) for value in np.nan_to_num(np.nanmin(vectors, axis=0))],
        "high": [float(value) for value in np.nan_to_num(np.nanmax(vectors, axis=0))],
        "temperature": forest.temperature,
    }
    arrays = {name: getattr(forest, name) for name in Forest.__dataclass_fields__ if name != "temperature"}
    np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)


if __name__ == "__main__":
    main()
