"""Boosted trees: which class a vector of numbers belongs to, with a probability.

Each round adds one small tree for each class, which corrects what the rounds before it say (Friedman, "Greedy function
approximation: a gradient boosting machine", Annals of Statistics 29(5), 2001). The sums of the trees are the logarithms
of the classes' odds. Numbers need no scaling, and a missing one goes the way that each node has learned. scikit-learn
grows the trees (``train.py``); what they say is found here, so that no user needs that library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
#: Vectors that are answered at once: each takes some bytes for every tree.
_AT_ONCE = 256
#: Thresholds that are tried for a number.
_BINS = 63


@dataclass(frozen=True)
class Boosted:
    """Trees as arrays, one node after the other: ``feature`` -1 is a leaf. They belong to the classes in turn."""

    feature: npt.NDArray[np.int16]
    #: Of an inner node its threshold, of a leaf what it adds.
    number: npt.NDArray[np.float32]
    #: How far behind an inner node its child for greater values is. The child for others is the next node.
    greater: npt.NDArray[np.uint8]
    #: Whether a missing value goes to the greater child.
    missing: npt.NDArray[np.bool_]
    roots: npt.NDArray[np.int32]
    #: By class, what all trees add to.
    baseline: Array
    ARRAYS: ClassVar = ("feature", "number", "greater", "missing", "roots", "baseline")

    def votes(self, vectors: Array) -> Array:
        """The probabilities of the classes, by vector."""
        single = np.asarray(vectors, np.float32)
        parts = [self._votes(single[first : first + _AT_ONCE]) for first in range(0, len(single), _AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.baseline)))

    def _votes(self, vectors: npt.NDArray[np.float32]) -> Array:
        node = np.tile(self.roots, (len(vectors), 1))
        # Places in the tree of each vector that has not reached its leaf.
        row, tree = (places.ravel() for places in np.indices(node.shape))
        while len(row):
            at = node[row, tree]
            feature = self.feature[at]
            inner = feature >= 0
            row, tree, at, feature = row[inner], tree[inner], at[inner], feature[inner]
            value = vectors[row, feature]
            greater = np.where(np.isnan(value), self.missing[at], value > self.number[at])
            node[row, tree] = at + np.where(greater, self.greater[at], 1)
        rounds = len(self.roots) // len(self.baseline)
        added = self.number[node].astype(float).reshape(len(vectors), rounds, len(self.baseline)).sum(axis=1)
        odds = np.exp((sums := added + self.baseline) - sums.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


_KINDS: Mapping[str, type[np.generic]] = {
    "feature": np.int16,
    "number": np.float32,
    "greater": np.uint8,
    "missing": np.bool_,
}


class Growth(NamedTuple):
    """How trees are grown."""

    rounds: int
    #: The part of its correction that each tree makes.
    rate: float
    leaves: int
    least_leaf: int
    #: The share of the numbers that each node tries: without all of them, the trees differ more.
    tried: float


def grow(
    vectors: Array, classes: npt.NDArray[np.int_], growth: Growth, seed: int, weights: Array | None = None
) -> Boosted:
    """Trees for all classes up to the greatest, the same for the same input. Needs scikit-learn.

    One thread grows them: sums of several would depend on how many there are. ``weights``: of the vectors.
    """
    if len(np.unique(classes)) == 1:
        return _of_one_class(int(classes[0]))
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    # scikit-learn refuses a number that no vector has; one that all have alike tells nothing either.
    vectors = np.where(np.isnan(vectors).all(axis=0), 0, vectors)

    with threadpool_limits(limits=1):
        grown = HistGradientBoostingClassifier(
            max_iter=growth.rounds,
            learning_rate=growth.rate,
            max_leaf_nodes=growth.leaves,
            min_samples_leaf=growth.least_leaf,
            max_features=growth.tried,
            l2_regularization=1.0,
            max_bins=_BINS,
            early_stopping=False,
            random_state=seed,
        ).fit(np.asarray(vectors, np.float32), classes, weights)
    return _stored(grown, int(classes.max()) + 1)


def _of_one_class(number: int) -> Boosted:
    """What is always that class."""
    nothing: dict[str, Any] = {name: np.zeros(0, kind) for name, kind in _KINDS.items()}
    baseline = np.where(np.arange(number + 1) == number, 0.0, -np.inf)
    return Boosted(**nothing, roots=np.zeros(0, np.int32), baseline=baseline)


def _stored(grown: Any, classes: int) -> Boosted:
    """What scikit-learn has grown, which has no tree for classes without vectors, and one tree for two classes."""
    of_class: list[Any] = [None] * classes
    baseline = np.full(classes, -np.inf)
    rounds = [list(trees) for trees in grown._predictors]
    present = [int(number) for number in grown.classes_]
    raw = np.ravel(grown._baseline_prediction)
    if len(present) == 2:
        # Its sum is the logarithm of the second one's odds.
        present, raw = present[1:], raw[:1]
        baseline[int(grown.classes_[0])] = 0.0
    baseline[present] = raw
    parts: dict[str, list[Any]] = {name: [] for name in _KINDS}
    roots, first = [], 0
    for trees in rounds:
        for number in range(classes):
            of_class[number] = trees[present.index(number)].nodes if number in present else _NOTHING
        for nodes in of_class:
            leaf = nodes["is_leaf"].astype(bool)
            inner = np.flatnonzero(~leaf)
            assert (nodes["left"][inner] == inner + 1).all()
            parts["feature"].append(np.where(leaf, -1, nodes["feature_idx"]))
            parts["number"].append(np.where(leaf, nodes["value"], _single(nodes["num_threshold"])))
            parts["greater"].append(np.where(leaf, 0, nodes["right"] - np.arange(len(nodes))))
            parts["missing"].append(~leaf & (nodes["missing_go_to_left"] == 0))
            roots.append(first)
            first += len(nodes)
    arrays: dict[str, Any] = {name: np.concatenate(part).astype(_KINDS[name]) for name, part in parts.items()}
    return Boosted(**arrays, roots=np.array(roots, np.int32), baseline=baseline)


#: A tree that adds nothing.
_NOTHING = np.zeros(
    1,
    [
        ("value", float),
        ("num_threshold", float),
        ("feature_idx", int),
        ("missing_go_to_left", np.uint8),
        ("left", int),
        ("right", int),
        ("is_leaf", np.uint8),
    ],
)
_NOTHING["is_leaf"] = 1


def _single(thresholds: Array) -> npt.NDArray[np.float32]:
    """The greatest numbers of single precision that are not above: those of the vectors compare with both alike."""
    single = thresholds.astype(np.float32)
    return np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
