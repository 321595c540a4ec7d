"""Trains the classifier of controllers on simulated runs, and writes its model and its confusion matrix.

    python -m windtunnel.explain.train

It takes every controller that can be named in a scenario. Each runs alone, against Reno, and with random losses, on
paths of several rates, round-trip times and buffers, over a FIFO queue and over one that marks. The runs that are held
back for the confusion matrix have other rates, round-trip times, buffers and seeds than all that were trained on. The
same version gives the same model: the runs are deterministic, and so is the training.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import windtunnel
from windtunnel import _core
from windtunnel.explain.controllers import MODEL
from windtunnel.explain.features import features
from windtunnel.explain.forest import Forest, grow
from windtunnel.explain.limits import limits_of
from windtunnel.explain.overflow import loss_events
from windtunnel.explain.rounds import rounds_of
from windtunnel.explain.trace import RECEIVER, SENDER, of_run
from windtunnel.explain.training_page import page

#: Controllers that behave as another one, which stands for them.
SAME = {"newreno": "reno", "reno1990": "reno", "aimd": "reno", "dctcp-sce": "dctcp"}
#: Controllers that no host of today uses, or whose own receiver no host has.
LEFT_OUT = ("bsd42",)
_ABOUT = "Train the classifier of controllers on simulated runs; write its model and its confusion matrix."
#: Controllers that turn ECN on by themselves.
_OWN_ECN = ("dctcp", "prague")
TREES = 80
SEED = 1


@dataclass(frozen=True)
class TestPath:
    """A path and what happens on it."""

    rate_mbps: float
    rtt_ms: float
    #: In bandwidth-delay products.
    buffer: float
    #: ``alone``, ``reno`` (against it), ``loss`` (at random) or ``marks`` (a queue that marks).
    case: str
    seed: int


def training_paths() -> Iterator[TestPath]:
    """What the model is trained on."""
    rates, rtts, buffers = (4.0, 10.0, 20.0), (20.0, 45.0, 100.0), (0.6, 1.0, 2.0)
    yield from _paths(rates, rtts, buffers, 100)


def held_back_paths() -> Iterator[TestPath]:
    """What it is tested on: none of these numbers is one of the others."""
    rates, rtts, buffers = (6.0, 15.0), (30.0, 70.0), (0.8, 1.5)
    yield from _paths(rates, rtts, buffers, 9000)


def _paths(rates: Sequence[float], rtts: Sequence[float], buffers: Sequence[float], seed: int) -> Iterator[TestPath]:
    for rate, rtt, buffer in itertools.product(rates, rtts, buffers):
        seed += 1
        yield TestPath(rate, rtt, buffer, "alone", seed)
    # The other cases on a part of the paths, each buffer in turn.
    for n, (case, rate, rtt) in enumerate(itertools.product(("reno", "loss", "marks"), rates, rtts)):
        seed += 1
        yield TestPath(rate, rtt, buffers[n % len(buffers)], case, seed)


def names() -> list[str]:
    """The controllers that are told apart."""
    listed = json.loads(_core.listing())["controllers"]
    return sorted(e["name"] for e in listed if e["name"] not in SAME and e["name"] not in LEFT_OUT)


def examples(controller: str, path: TestPath) -> list[dict[str, float]]:
    """The features of one run, seen at its sender and at its receiver; none where the controller did not decide."""
    result = scenario(controller, path).run()
    found = []
    for place in (SENDER, RECEIVER):
        flow = of_run(result, Path("run"), place).flows[0]
        rounds = rounds_of(flow)
        if rounds is not None:
            found.append(features(flow, rounds, limits_of(flow, rounds), loss_events(flow, rounds)))
    return [each for each in found if each is not None]


def scenario(controller: str, path: TestPath) -> windtunnel.Scenario:
    """The run: about 300 round trips, at least 15 s, so that probes every 10 s are in it."""
    seconds = min(max(0.3 * path.rtt_ms, 15.0), 30.0)
    bottleneck: dict[str, Any] = {
        "rate": f"{path.rate_mbps} Mbit/s",
        "queue": {"kind": "fifo", "limit": f"{path.buffer} bdp"},
    }
    flow: dict[str, Any] = {"name": "one", "cc": controller, "rtt": f"{path.rtt_ms} ms"}
    flows = [flow]
    if path.case == "reno":
        flows.append({"name": "other", "cc": "reno", "rtt": f"{path.rtt_ms} ms", "start": "1 s"})
    if path.case == "loss":
        bottleneck["impair"] = [{"kind": "loss", "probability": "0.3 %", "affects": "data"}]
    if path.case == "marks":
        bottleneck["queue"] = {"kind": "codel", "ecn": True}
        # Controllers that answer shares of marks have a feedback of their own.
        if controller not in _OWN_ECN:
            flow["ecn"] = True
    return windtunnel.Scenario(
        duration=f"{seconds} s",
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
    given = parser.parse_args()
    wanted = given.only or names()
    with ProcessPoolExecutor(given.workers) as pool:
        vectors, classes, keys = _examples(pool, wanted, list(training_paths()), None)
        test, truth, _ = _examples(pool, wanted, list(held_back_paths()), keys)
    forest = grow(vectors, classes, TREES, SEED)
    save(given.model, forest, wanted, keys, vectors, len(classes))
    probabilities = forest.probabilities(test)
    given.page.write_text(page(wanted, truth, probabilities, len(classes), forest.temperature), encoding="utf-8")
    right = float(np.mean(probabilities.argmax(axis=1) == truth))
    print(f"{len(classes)} traces to train, {len(truth)} held back: {100 * right:.1f} % right")


def _examples(
    pool: ProcessPoolExecutor, wanted: Sequence[str], paths: Sequence[TestPath], keys: list[str] | None
) -> tuple[Any, Any, list[str]]:
    jobs = [(name, path) for name in wanted for path in paths]
    found = list(pool.map(_job, jobs, chunksize=4))
    rows = [(wanted.index(name), f) for (name, _), each in zip(jobs, found, strict=True) for f in each]
    keys = keys or sorted(rows[0][1])
    vectors = np.array([[f[key] for key in keys] for _, f in rows])
    # Infinities come of divisions by what a trace does not have.
    return np.where(np.isfinite(vectors), vectors, np.nan), np.array([n for n, _ in rows]), keys


def _job(job: tuple[str, TestPath]) -> list[dict[str, float]]:
    return examples(*job)


def save(file: Path, forest: Forest, wanted: Sequence[str], keys: Sequence[str], vectors: Any, runs: int) -> None:
    """Write the model with its origin."""
    about = {
        "origin": f"python -m windtunnel.explain.train, windtunnel {_core.__version__}, {runs} simulated traces",
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
