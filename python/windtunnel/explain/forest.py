"""A random forest: which class a vector of numbers belongs to, with a probability (Breiman, Machine Learning 45, 2001).

It needs no scaling of the numbers, and a missing number goes the way of its own that each node learns. Each tree is
grown on a sample drawn with replacement; the vectors that it did not draw tell how far its votes can be trusted: one
temperature, fitted on them, makes the forest's shares of votes probabilities (Guo et al., ICML 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_LEAST_LEAF = 2


@dataclass(frozen=True)
class Forest:
    """Trees as arrays, one node after the other: ``feature`` -1 is a leaf."""

    feature: npt.NDArray[np.int16]
    threshold: npt.NDArray[np.float32]
    #: The child for lesser values; that for greater ones follows it.
    child: npt.NDArray[np.int32]
    #: Whether a missing value goes to the greater child.
    missing: npt.NDArray[np.bool_]
    #: The shares of the classes, by leaf; ``leaf`` is a node's row in them.
    shares: npt.NDArray[np.float32]
    leaf: npt.NDArray[np.int32]
    roots: npt.NDArray[np.int32]
    temperature: float

    def votes(self, vectors: Array) -> Array:
        """The mean shares of the classes over all trees, by vector."""
        votes: Array = np.mean([self._tree(root, vectors) for root in self.roots], axis=0)
        return votes

    def probabilities(self, vectors: Array) -> Array:
        """The calibrated probabilities of the classes, by vector."""
        return tempered(self.votes(vectors), self.temperature)

    def _tree(self, root: int, vectors: Array) -> Array:
        node = np.full(len(vectors), root)
        while True:
            inner = self.feature[node] >= 0
            if not inner.any():
                return np.asarray(self.shares[self.leaf[node]], float)
            at, rows = node[inner], np.flatnonzero(inner)
            value = vectors[rows, self.feature[at]]
            greater = np.where(np.isnan(value), self.missing[at], value > self.threshold[at])
            node[rows] = self.child[at] + greater


def tempered(votes: Array, temperature: float) -> Array:
    """Shares as probabilities: sharper below a temperature of 1, flatter above it."""
    scaled = np.log(np.maximum(votes, 1e-3)) / temperature
    odds = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def grow(vectors: Array, classes: npt.NDArray[np.int_], trees: int, seed: int) -> Forest:
    """A forest that is the same for the same input."""
    random = np.random.default_rng(seed)
    count = int(classes.max()) + 1
    nodes: dict[str, list[Any]] = {name: [] for name in ("feature", "threshold", "child", "missing", "leaf")}
    shares: list[Array] = []
    roots, drawn = [], []
    # Classes with few examples weigh as much as others.
    weight = 1 / np.bincount(classes, minlength=count)[classes]
    for _ in range(trees):
        sample = random.choice(len(classes), len(classes), p=weight / weight.sum())
        roots.append(len(nodes["feature"]))
        drawn.append(np.unique(sample))
        _grow_tree(vectors[sample], classes[sample], count, random, nodes, shares)
    forest = Forest(
        np.array(nodes["feature"], np.int16),
        np.array(nodes["threshold"], np.float32),
        np.array(nodes["child"], np.int32),
        np.array(nodes["missing"], bool),
        np.array(shares, np.float32),
        np.array(nodes["leaf"], np.int32),
        np.array(roots, np.int32),
        1.0,
    )
    return Forest(**{**forest.__dict__, "temperature": _temperature(forest, vectors, classes, drawn)})


def _temperature(forest: Forest, vectors: Array, classes: npt.NDArray[np.int_], drawn: list[Any]) -> float:
    """The temperature with the least surprise (mean negative log probability) on vectors that a tree did not draw."""
    votes, voters = np.zeros((len(classes), forest.shares.shape[1])), np.zeros(len(classes))
    for root, sample in zip(forest.roots, drawn, strict=True):
        out = np.setdiff1d(np.arange(len(classes)), sample)
        votes[out] += forest._tree(int(root), vectors[out])
        voters[out] += 1
    have = voters > 0
    votes = votes[have] / voters[have, None]
    right = classes[have]

    def surprise(temperature: float) -> float:
        return float(-np.log(tempered(votes, temperature)[np.arange(len(right)), right]).mean())

    return float(min(np.linspace(0.3, 2.0, 69).tolist(), key=surprise))


def _grow_tree(
    vectors: Array,
    classes: Any,
    count: int,
    random: np.random.Generator,
    nodes: dict[str, list[Any]],
    shares: list[Array],
) -> None:
    def add() -> int:
        for name, value in (("feature", -1), ("threshold", 0.0), ("child", 0), ("missing", False), ("leaf", 0)):
            nodes[name].append(value)
        return len(nodes["feature"]) - 1

    waiting = [(add(), np.arange(len(classes)))]
    while waiting:
        node, rows = waiting.pop()
        split = _best_split(vectors[rows], classes[rows], count, random)
        if split is None:
            nodes["leaf"][node] = len(shares)
            shares.append(np.bincount(classes[rows], minlength=count) / len(rows))
            continue
        feature, threshold, missing = split
        value = vectors[rows, feature]
        greater = np.where(np.isnan(value), missing, value > np.float32(threshold))
        lesser_child = add()
        greater_child = add()
        nodes["feature"][node], nodes["threshold"][node] = feature, threshold
        nodes["child"][node], nodes["missing"][node] = lesser_child, missing
        waiting += [(lesser_child, rows[~greater]), (greater_child, rows[greater])]


def _best_split(
    vectors: Array, classes: Any, count: int, random: np.random.Generator
) -> tuple[int, float, bool] | None:
    """The split with the least impurity (Gini) of some features that are drawn."""
    if len(classes) < 2 * _LEAST_LEAF or np.all(classes == classes[0]):
        return None
    tried = random.permutation(vectors.shape[1])
    best: tuple[float, int, float, bool] | None = None
    wanted = int(np.ceil(np.sqrt(vectors.shape[1])))
    one_hot = np.eye(count)[classes]
    for index, feature in enumerate(tried):
        # More than the usual number only while none of them splits anything.
        if index >= wanted and best is not None:
            break
        for missing in (False, True):
            split = _split_at(vectors[:, feature], one_hot, missing)
            if split is not None and (best is None or split[0] < best[0] - 1e-12):
                best = (split[0], int(feature), split[1], missing)
            if not np.isnan(vectors[:, feature]).any():
                break
    return None if best is None else best[1:]


def _split_at(value: Array, one_hot: Array, missing: bool) -> tuple[float, float] | None:
    filled = np.where(np.isnan(value), np.inf if missing else -np.inf, value)
    order = np.argsort(filled, kind="stable")
    ordered = filled[order]
    below = np.cumsum(one_hot[order], axis=0)
    whole, number = below[-1], len(value)
    sizes = np.arange(1, number)
    left, right = below[:-1], whole - below[:-1]
    impurity = number - (left**2).sum(axis=1) / sizes - (right**2).sum(axis=1) / (number - sizes)
    # A threshold must keep the order in single precision, too.
    middle = (ordered[:-1] + ordered[1:]) / 2
    possible = (sizes >= _LEAST_LEAF) & (number - sizes >= _LEAST_LEAF) & np.isfinite(middle)
    with np.errstate(all="ignore"):
        single = middle.astype(np.float32)
        possible &= (ordered[:-1] <= single) & (ordered[1:] > single)
    if not possible.any():
        return None
    at = int(np.argmin(np.where(possible, impurity, np.inf)))
    return float(impurity[at]), float(middle[at])
