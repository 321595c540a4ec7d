"""A random forest: which class a vector of numbers belongs to, with a probability (Breiman, Machine Learning 45, 2001).

It needs no scaling of the numbers, and a missing number goes the way of its own that each node learns. It is grown by
scikit-learn (``train.py``); what it says is found here, so that no user needs that library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
#: Shares of classes are kept as multiples of 1 / this.
SHARE_UNIT = 255


@dataclass(frozen=True)
class Forest:
    """Trees as arrays, one node after the other: ``feature`` -1 is a leaf."""

    feature: npt.NDArray[np.int16]
    threshold: npt.NDArray[np.float32]
    #: The child for lesser values; that for greater ones is ``greater``.
    lesser: npt.NDArray[np.int32]
    greater: npt.NDArray[np.int32]
    #: Whether a missing value goes to the greater child.
    missing: npt.NDArray[np.bool_]
    #: The shares of the classes, by leaf; ``leaf`` is a node's row in them.
    shares: npt.NDArray[np.uint8]
    leaf: npt.NDArray[np.int32]
    roots: npt.NDArray[np.int32]
    ARRAYS: ClassVar = ("feature", "threshold", "lesser", "greater", "missing", "shares", "leaf", "roots")

    def votes(self, vectors: Array) -> Array:
        """The mean shares of the classes over all trees, by vector."""
        single = np.asarray(vectors, np.float32)
        votes: Array = np.mean([self._tree(root, single) for root in self.roots], axis=0)
        return votes

    def _tree(self, root: int, vectors: npt.NDArray[np.float32]) -> Array:
        node = np.full(len(vectors), root)
        while True:
            inner = self.feature[node] >= 0
            if not inner.any():
                shares = np.asarray(self.shares[self.leaf[node]], float)
                return np.asarray(shares / shares.sum(axis=1, keepdims=True))
            at, rows = node[inner], np.flatnonzero(inner)
            value = vectors[rows, self.feature[at]]
            greater = np.where(np.isnan(value), self.missing[at], value > self.threshold[at])
            node[rows] = np.where(greater, self.greater[at], self.lesser[at])


def grow(
    vectors: Array,
    classes: npt.NDArray[np.int_],
    trees: int,
    seed: int,
    *,
    workers: int = 1,
    tried: float = 0.2,
    least_leaf: int = 2,
    weights: Array | None = None,
) -> Forest:
    """A forest that is the same for the same input. Needs scikit-learn.

    ``tried``: the share of the numbers that each node tries. Many say something about few controllers alone, and the
    usual square root would seldom draw them. ``weights``: of the vectors; without them all classes weigh the same.
    """
    from sklearn.ensemble import RandomForestClassifier

    grown = RandomForestClassifier(
        trees,
        max_features=tried,
        min_samples_leaf=least_leaf,
        class_weight="balanced" if weights is None else None,
        n_jobs=workers,
        random_state=seed,
    ).fit(vectors, classes, weights)
    nodes: dict[str, list[Any]] = {
        name: [] for name in ("feature", "threshold", "lesser", "greater", "missing", "leaf")
    }
    shares: list[Any] = []
    roots, first = [], 0
    for each in grown.estimators_:
        tree = each.tree_
        is_leaf = tree.children_left < 0
        leaf = np.cumsum(is_leaf) - 1 + sum(len(part) for part in shares)
        of_class = np.zeros((int(is_leaf.sum()), int(classes.max()) + 1))
        values = tree.value[is_leaf, 0, :]
        of_class[:, grown.classes_] = values / values.sum(axis=1, keepdims=True)
        shares.append(np.rint(SHARE_UNIT * of_class).astype(np.uint8))
        nodes["feature"].append(np.where(is_leaf, -1, tree.feature))
        nodes["threshold"].append(np.where(is_leaf, 0, _single(tree.threshold)))
        nodes["lesser"].append(np.where(is_leaf, 0, tree.children_left + first))
        nodes["greater"].append(np.where(is_leaf, 0, tree.children_right + first))
        nodes["missing"].append(~is_leaf & (tree.missing_go_to_left == 0))
        nodes["leaf"].append(np.where(is_leaf, leaf, 0))
        roots.append(first)
        first += tree.node_count
    kinds = {"feature": np.int16, "threshold": np.float32, "missing": np.bool_}
    arrays: dict[str, Any] = {
        name: np.concatenate(parts).astype(kinds.get(name, np.int32)) for name, parts in nodes.items()
    }
    return Forest(**arrays, shares=np.concatenate(shares), roots=np.array(roots, np.int32))


def _single(thresholds: Array) -> npt.NDArray[np.float32]:
    """The greatest numbers of single precision that are not above: those of the vectors compare with both alike."""
    single = thresholds.astype(np.float32)
    return np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
