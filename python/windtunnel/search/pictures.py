"""What reports draw: the history of a search, its most important keys, the trade-off front, the proof."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.search.dimensions import Dimension, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BEST, _OTHER, _MARK = "#b2182b", "#9aa5b1", "#2166ac"


def history(values: Sequence[float], best: Sequence[float], limits: Sequence[float], label: str, file: Path) -> None:
    """Each candidate's value in order, the best so far, and from where on a value is a find."""
    axes = _axes()
    axes.plot(range(1, len(values) + 1), values, ".", color=_OTHER, label="a candidate")
    axes.step(range(1, len(best) + 1), best, where="post", color=_BEST, label="best so far")
    for limit in limits:
        axes.axhline(limit, color=_MARK, linestyle="--", linewidth=1)
    axes.set(xlabel="candidate", ylabel=_folded(label))
    axes.legend()
    _write(axes, file)


def keys(
    points: Sequence[Point], values: Sequence[float], x: Dimension, y: Dimension | None, label: str, file: Path
) -> None:
    """Values over the two most important dimensions, or over the only one."""
    axes = _axes()
    xs = _places(axes, x, [point.get(x.name) for point in points], "x")
    if y is None:
        axes.plot(xs, values, ".", color=_MARK)
        axes.set_ylabel(_folded(label))
    else:
        ys = _places(axes, y, [point.get(y.name) for point in points], "y")
        dots = axes.scatter(xs, ys, c=list(values), cmap="viridis", s=18)
        axes.figure.colorbar(dots, ax=axes, label=_folded(label))
    _write(axes, file)


@dataclass(frozen=True)
class Dot:
    """A candidate with two objectives."""

    x: float
    y: float
    allowed: bool
    on_front: bool


def front(
    dots: Sequence[Dot], default: Sequence[float], chosen: Sequence[float] | None, labels: Sequence[str], file: Path
) -> None:
    """Candidates by two objectives, those on the front, the default and the chosen one."""
    axes = _axes()
    for allowed, name, marker in ((False, "breaks a constraint", "x"), (True, "allowed", ".")):
        some = [dot for dot in dots if dot.allowed == allowed and not dot.on_front]
        if some:
            axes.plot([d.x for d in some], [d.y for d in some], marker, color=_OTHER, label=name, linestyle="")
    line = sorted((dot.x, dot.y) for dot in dots if dot.on_front)
    axes.plot([x for x, _ in line], [y for _, y in line], "o-", color=_BEST, label="front", markersize=5)
    axes.plot(default[0], default[1], "s", color="black", label="default")
    if chosen is not None:
        axes.plot(chosen[0], chosen[1], "*", color=_MARK, markersize=14, label="chosen")
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.legend()
    _write(axes, file)


def proof(rows: Sequence[tuple[str, float, float, float]], label: str, file: Path) -> None:
    """The chosen setting minus the default on each held-out path, with its interval."""
    axes = _axes(height=1.2 + 0.3 * len(rows))
    for index, (_, mean, low, high) in enumerate(rows):
        axes.plot([low, high], [index, index], color=_MARK)
        axes.plot(mean, index, "o", color=_MARK, markersize=4)
    axes.axvline(0, color="black", linewidth=1)
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows])
    axes.invert_yaxis()
    axes.set_xlabel(_folded(label, 80))
    _write(axes, file)


def _axes(height: float = 4.2) -> Axes:
    from matplotlib.figure import Figure

    return Figure(figsize=(7, height), layout="constrained").add_subplot()


def _folded(label: str, width: int = 48) -> str:
    """An expression on as many lines as it needs."""
    return textwrap.fill(label, width)


def _places(axes: Axes, dimension: Dimension, values: Sequence[Any], which: str) -> list[float]:
    """Where values are on an axis, which gets its scale and its name."""
    unit = f" ({dimension.unit})" if dimension.unit else ""
    axes.set(**{f"{which}label": f"{dimension.name}{unit}"})
    if dimension.choices:
        getattr(axes, f"set_{which}ticks")(range(len(dimension.labels)), dimension.labels)
        return [float("nan") if v is None else float(dimension.labels.index(v)) for v in values]
    if dimension.log:
        axes.set(**{f"{which}scale": "log"})
    return [float("nan") if v is None else float(v) for v in values]


def _write(axes: Axes, file: Path) -> None:
    axes.grid(alpha=0.3)
    axes.get_figure().savefig(file, dpi=120, metadata={"Software": None})  # type: ignore[union-attr]
