"""The model that names controllers: what the forest learns, that training repeats, and that the stored model fits."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from windtunnel import _core
from windtunnel.explain import train
from windtunnel.explain.controllers import model
from windtunnel.explain.forest import Forest, grow, tempered
from windtunnel.papers.talk.controllers import catalogue


def rings(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that no line parts: inside and outside of a circle; a third number is missing in one of them."""
    random = np.random.default_rng(seed)
    points = random.uniform(-1, 1, (count, 2))
    inside = np.hypot(*points.T) < 0.7
    third = np.where(inside & (random.uniform(size=count) < 0.5), np.nan, random.uniform(size=count))
    return np.column_stack([points, third]), inside.astype(int)


def test_the_forest_learns_what_no_line_parts() -> None:
    forest = grow(*rings(600, 1), 40, 1)
    vectors, classes = rings(300, 2)
    assert np.mean(forest.votes(vectors).argmax(axis=1) == classes) > 0.95
    assert forest.probabilities(vectors).sum(axis=1) == pytest.approx(np.ones(300))


def test_the_forest_is_calibrated() -> None:
    """A fifth of the labels is random: of fits with a probability of about p, a share of about p is right."""

    def noisy(seed: int) -> tuple[np.ndarray, np.ndarray]:
        vectors, classes = rings(1200, seed)
        wrong = np.random.default_rng(seed).uniform(size=1200) < 0.2
        return vectors[:, :2], np.where(wrong, 1 - classes, classes)

    vectors, classes = noisy(4)
    probabilities = grow(*noisy(3), 40, 1).probabilities(vectors)
    right = probabilities.argmax(axis=1) == classes
    assert probabilities.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.05)


def test_the_same_input_gives_the_same_forest() -> None:
    one, two = (grow(*rings(100, 1), 5, 7) for _ in range(2))
    for name in Forest.__dataclass_fields__:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


def test_temperatures() -> None:
    """A temperature of 1 leaves shares as they are; others keep their order."""
    shares = np.array([[0.7, 0.2, 0.1]])
    assert tempered(shares, 1.0) == pytest.approx(shares)
    assert tempered(shares, 0.5)[0, 0] > 0.7 > tempered(shares, 2.0)[0, 0]


def test_held_back_paths_are_others() -> None:
    trained, held_back = list(train.training_paths()), list(train.held_back_paths())
    for name in ("rate_mbps", "rtt_ms", "buffer", "seed"):
        assert not {getattr(p, name) for p in trained} & {getattr(p, name) for p in held_back}, name
    assert {p.case for p in trained} == {p.case for p in held_back} == {"alone", "reno", "loss", "marks"}


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A model and a page from a few runs; controllers so different are told apart."""
    monkeypatch.setattr(train, "training_paths", lambda _all=train.training_paths: islice(_all(), 6))
    monkeypatch.setattr(train, "held_back_paths", lambda _all=train.held_back_paths: islice(_all(), 2))
    page, stored = tmp_path / "page.md", tmp_path / "model.npz"
    arguments = ["train", "--only", "reno", "scalable", "--workers", "1", "--page", str(page), "--model", str(stored)]
    monkeypatch.setattr("sys.argv", arguments)
    train.main()
    assert "24 traces to train, 8 held back: 100.0 % right" in capsys.readouterr().out
    assert "| reno | **4** |  | 100 % |" in page.read_text(encoding="utf-8")
    with np.load(stored, allow_pickle=False) as content:
        assert json.loads(str(content["about"]))["controllers"] == ["reno", "scalable"]


def test_the_stored_model() -> None:
    """It knows controllers that exist, and the page next to it is about the same ones."""
    stored = model()
    listed = {entry["name"] for entry in json.loads(_core.listing())["controllers"]}
    assert set(stored.names) <= listed
    page = (Path(__file__).parents[2] / "docs" / "explain-controllers.md").read_text(encoding="utf-8")
    matrix = page.split("## Confusion matrix")[1].split("## Calibration")[0]
    assert re.findall(r"^\| ([\w-]+) \|", matrix, re.MULTILINE) == stored.names


def test_controllers_have_one_name() -> None:
    """What `explain` calls a controller is what `windtunnel list`, resolved scenarios and the suites call it, not one
    of its aliases.
    """
    entries = json.loads(_core.listing())["controllers"]
    aliases = {alias for entry in entries for alias in entry.get("aliases", ())}
    assert set(model().names) <= {entry["name"] for entry in entries}
    assert not aliases & {controller.name for controller in catalogue()}
