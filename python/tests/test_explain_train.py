"""The model that names controllers: what trees learn, that training repeats, and that the stored model fits."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from windtunnel import _core
from windtunnel.explain import families, train
from windtunnel.explain.boosting import Boosted, Growth, grow
from windtunnel.explain.controllers import MODEL, Answer, Ranges, answers, model
from windtunnel.explain.trace import SENDER, of_run
from windtunnel.explain.train import _offloaded, captured
from windtunnel.papers.talk.controllers import catalogue

#: Trees for small questions.
SMALL = Growth(rounds=40, rate=0.3, leaves=8, least_leaf=5, tried=0.7)
#: Three classes for the 400 vectors of one test.
THREE = np.arange(400) % 3


def rings(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that no line parts: inside and outside of a circle; a third number is missing in one of them."""
    random = np.random.default_rng(seed)
    points = random.uniform(-1, 1, (count, 2))
    inside = np.hypot(*points.T) < 0.7
    third = np.where(inside & (random.uniform(size=count) < 0.5), np.nan, random.uniform(size=count))
    return np.column_stack([points, third]), inside.astype(int)


def test_trees_learn_what_no_line_parts() -> None:
    trees = grow(*rings(600, 1), SMALL, 1)
    vectors, classes = rings(300, 2)
    votes = trees.votes(vectors)
    assert np.mean(votes.argmax(axis=1) == classes) > 0.95
    assert votes.sum(axis=1) == pytest.approx(np.ones(300))


@pytest.mark.parametrize("classes_of", [lambda classes: classes, lambda classes: 3 * classes, lambda _: THREE])
def test_trees_vote_as_those_that_were_grown(classes_of: Callable[[np.ndarray], np.ndarray]) -> None:
    """What is stored says the same as scikit-learn's own trees, of two classes and of three, with classes that no
    vector has. A value that is missing, or just at a threshold, goes the same way.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    vectors, classes = rings(400, 3)
    classes = classes_of(classes)
    trees = grow(vectors, classes, SMALL, 7)
    grown = HistGradientBoostingClassifier(
        max_iter=SMALL.rounds,
        learning_rate=SMALL.rate,
        max_leaf_nodes=SMALL.leaves,
        min_samples_leaf=SMALL.least_leaf,
        max_features=SMALL.tried,
        l2_regularization=1.0,
        max_bins=63,
        early_stopping=False,
        random_state=7,
    ).fit(vectors.astype(np.float32), classes)
    inner = trees.feature == 0
    at = np.repeat(vectors[:1], inner.sum(), axis=0)
    at[:, 0] = trees.number[inner]
    for some in (rings(400, 4)[0], at):
        votes = trees.votes(some)
        assert votes[:, grown.classes_] == pytest.approx(grown.predict_proba(some.astype(np.float32)), abs=1e-6)
        assert votes.sum(axis=1) == pytest.approx(np.ones(len(some)))


def test_trees_of_one_class() -> None:
    """Where a training has one class, that is the answer."""
    vectors, _ = rings(20, 1)
    votes = grow(vectors, np.full(20, 2), SMALL, 1).votes(vectors)
    assert votes.tolist() == [[0, 0, 1]] * 20


def test_the_same_input_gives_the_same_trees() -> None:
    one, two = (grow(*rings(100, 1), SMALL, 7) for _ in range(2))
    for name in Boosted.ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


def test_ranges() -> None:
    """A number that nearly no capture of a controller has is outside; a missing one is not."""
    vectors = np.column_stack([np.linspace(0, 1, 400), np.full(400, np.nan)])
    ranges = Ranges.of(vectors, np.zeros(400, int), 1)
    assert ranges.outside(np.array([0.5, np.nan]), 0).tolist() == []
    assert ranges.outside(np.array([1.5, 3.0]), 0).tolist() == [0]


def test_controllers_that_did_the_same_are_one_answer() -> None:
    """Their votes count together, if each was near to the sender."""
    names = ["cubic", "dctcp", "reno"]
    votes = np.array([0.4, 0.25, 0.35])
    near = {"shadow_most_near": 1.0, "shadow_near_dctcp": -0.1, "shadow_near_reno": 0.0}
    assert answers(names, votes, near, [["reno", "dctcp"]])[0] == Answer(["reno", "dctcp"], pytest.approx(0.6))
    far = {**near, "shadow_near_dctcp": -0.7}
    assert answers(names, votes, far, [["reno", "dctcp"]])[0] == Answer(["cubic"], pytest.approx(0.4))


@pytest.mark.parametrize("family", families.FAMILIES)
def test_paths_of_families(family: str) -> None:
    """Each number is another path, within the ranges; the same number is the same path, and every controller can have
    it.
    """
    paths = [families.path(family, number) for number in range(6)]
    assert len({(path.rate_mbps, path.rtt_ms) for path in paths}) == 6
    assert paths == [families.path(family, number) for number in range(6)]
    for path in paths:
        assert 1 <= path.rate_mbps <= 1000
        assert 5 <= path.rtt_ms <= 300
        assert path.seconds >= 0.1 * path.rtt_ms - 0.01
        assert path.rate_mbps * 1e6 * path.seconds / 12_000 < 160_000
    for name in ("reno", "dctcp", "bbr3"):
        families.scenario(name, paths[0]).check()


def test_paths_are_captured_in_every_way() -> None:
    """A third of the paths at each end, the others in four ways; those of every family at the sender and the
    receiver.
    """
    ways = {family: [captured(families.path(family, n))[0] for n in range(12)] for family in families.FAMILIES}
    for family, mine in ways.items():
        assert Counter(mine) == {
            "sender": 4,
            "receiver": 4,
            **dict.fromkeys(("short", "middle", "packets missing", "offload"), 1),
        }, family


def test_a_capture_in_the_middle() -> None:
    """Data pass there before they arrive, and acknowledgements after they left; it is no sender's capture, but the
    flight is the sender's own.
    """
    over = next(path for n in range(12) if captured(path := families.path("tail drop of 2 BDP", n))[0] == "middle")
    result = families.scenario("reno", over).run()
    sender, middle = (
        next(flow for flow in of_run(result, Path("run"), point, seen).flows if flow.name == families.ONE)
        for point, seen in ((SENDER, None), captured(over)[1:])
    )
    assert not middle.at_sender
    assert 0 < middle.back_s < over.rtt_ms / 1e3
    assert sender.sends is not None
    assert middle.sends is not None
    peaks = [flow.sends["in_flight"].max() for flow in (sender, middle)]
    assert peaks[1] == pytest.approx(peaks[0], rel=0.05)


def test_offload_joins_segments() -> None:
    """No byte is lost, none is in two segments, and none is longer than 64 KiB."""
    result = families.scenario("cubic", families.path("tail drop of 2 BDP", 2)).run()
    whole = of_run(result, Path("run"), SENDER).flows[0]
    joined = of_run(result, Path("run"), SENDER, _offloaded).flows[0]
    assert whole.sends is not None
    assert joined.sends is not None
    assert joined.sends["payload"].sum() == whole.sends["payload"].sum()
    assert len(joined.sends["payload"]) < len(whole.sends["payload"])
    assert whole.mss < joined.sends["payload"].max() <= 65_536


def test_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A model and a page from a few runs; controllers so different are told apart. The same again gives the same
    bytes.
    """
    monkeypatch.setattr(families, "FAMILIES", dict(list(families.FAMILIES.items())[:5]))
    files = []
    for attempt in ("one", "two"):
        page, stored = tmp_path / f"{attempt}.md", tmp_path / f"{attempt}.npz"
        arguments = ["train", "--only", "reno", "scalable", "--paths", "5", "--workers", "1"]
        monkeypatch.setattr("sys.argv", [*arguments, "--page", str(page), "--model", str(stored)])
        monkeypatch.setattr(train, "ProcessPoolExecutor", _Here)
        train.main()
        with np.load(stored, allow_pickle=False) as content:
            assert json.loads(str(content["about"]))["controllers"] == ["reno", "scalable"]
            files.append((page.read_bytes(), {name: content[name].tobytes() for name in content.files}))
    assert files[0] == files[1]
    said = re.findall(r"(\d+) captures; of families that were left out, ([\d.]+) % are right", capsys.readouterr().out)
    assert said
    assert float(said[0][1]) > 85


class _Here:
    """A pool of this process."""

    def __init__(self, workers: int) -> None:
        assert workers == 1

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, job: object, jobs: list[object], chunksize: int) -> list[object]:
        assert callable(job)
        assert chunksize > 0
        return [job(each) for each in jobs]


def test_the_stored_model() -> None:
    """It knows controllers that exist, those of the working group too. The page is about the same ones. It is small."""
    stored = model()
    listed = {entry["name"] for entry in json.loads(_core.listing())["controllers"]}
    assert set(stored.names) <= listed
    assert {"c4", "ledbat", "prague", "bbr2", "bbr3"} <= set(stored.names)
    page = (Path(__file__).parents[2] / "docs" / "explain-controllers.md").read_text(encoding="utf-8")
    confusion = page.split("## Confusion")[1].split("## Calibration")[0]
    assert re.findall(r"^\| ([\w-]+) \| \d", confusion, re.MULTILINE) == stored.names
    assert MODEL.stat().st_size < 3_000_000


def test_controllers_have_one_name() -> None:
    """What `explain` calls a controller is what `windtunnel list`, resolved scenarios and the suites call it, not one
    of its aliases.
    """
    entries = json.loads(_core.listing())["controllers"]
    aliases = {alias for entry in entries for alias in entry.get("aliases", ())}
    assert set(model().names) <= {entry["name"] for entry in entries}
    assert not aliases & {controller.name for controller in catalogue()}
