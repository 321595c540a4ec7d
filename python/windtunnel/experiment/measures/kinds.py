"""The quantity that an expression gives, as far as its own text says: its kind (``experiment/scales.py``) and its unit.

Built-in functions say it (``ratio``, ``jain``), and so do names of the summary: a name that ends in ``utilization`` or
``_ratio`` is a share, ``goodput_mbps`` is in Mbit/s. For other expressions, the metric declares both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from windtunnel.experiment.measures.names import FLOW, QUEUE, unit, without_unit
from windtunnel.experiment.scales import Kind

if TYPE_CHECKING:
    from windtunnel.experiment.measures.language import Node

_SHARES = re.compile(r"utilization|\w+_ratio")
#: Columns of tables whose unit may be left out, with it.
_COLUMNS = ("ssthresh_bytes", "in_flight_bytes", "srtt_ms")
#: Keys of a distribution: the name before them says the unit.
_OF_DISTRIBUTION = re.compile(r"min|max|mean|p\d+(\.\d+)?")
#: Functions whose value is of the kind, or at least in the unit, of what they are of.
_KEEPS = ("min", "max", "mean", "median")
_KEEPS_UNIT = (*_KEEPS, "sum", "std", "abs", "baseline")
_QUANTILE = re.compile(r"p\d+(_\d+)?")


def kind_of(node: Node) -> Kind:
    """The kind of an expression."""
    from windtunnel.experiment.measures.language import Binary, Call, Number, PathNode

    match node:
        case PathNode(parts=parts):
            return "share" if _is_share(parts) else "plain"
        case Call(name=("ratio" | "jain" | "share") as name):
            return name
        case Call(name=name, arguments=arguments) if name in (*_KEEPS, "baseline") or _QUANTILE.fullmatch(name):
            kinds: set[Kind] = {kind_of(argument) for argument in arguments}
            return kinds.pop() if len(kinds) == 1 and kinds != {"jain"} else "plain"
        case Binary(operator=operator, left=left, right=right):
            match operator.__name__, left, right:
                case ("Mult", Number(number=100), share) | ("Mult", share, Number(number=100)) if (
                    kind_of(share) == "share"
                ):
                    return "percent"
                case "Sub", Number(number=1), share if kind_of(share) == "share":
                    return "share"
    return "plain"


def unit_of(node: Node) -> str:
    """The unit of an expression; empty for a number without one, and where the text does not say."""
    from windtunnel.experiment.measures.language import Binary, Call, Number, PathNode

    match node:
        case PathNode(parts=parts):
            return "" if _is_share(parts) else _unit_of_path(parts)
        case Call(name=name, arguments=arguments) if name in _KEEPS_UNIT or _QUANTILE.fullmatch(name):
            return _common(map(unit_of, arguments))
        case Binary(operator=operator, left=left, right=right):
            if kind_of(node) == "percent":
                return "%"
            match operator.__name__, left, right:
                case (("Add" | "Sub"), Number(), other):
                    return unit_of(other)
                case (("Add" | "Sub"), other, Number()):
                    return unit_of(other)
                case (("Add" | "Sub"), _, _):
                    return _common([unit_of(left), unit_of(right)])
    return ""


def flows_of(node: Node) -> Node | None:
    """An expression that counts the flows of Jain's index; None where ``node`` is none."""
    from windtunnel.experiment.measures.language import Call, Number

    if not isinstance(node, Call) or node.name != "jain":
        return None
    return Call("count", node.arguments) if len(node.arguments) == 1 else Number(float(len(node.arguments)))


def _is_share(parts: tuple[str | int, ...]) -> bool:
    """Whether it is a share of a rate, of packets, or (``limited``) of a flow's time."""
    return bool(_SHARES.fullmatch(_names(parts)[-1])) or "limited" in parts[1:-1]


def _names(parts: Sequence[str | int]) -> list[str]:
    """The names of a path without keys of a distribution: the last one is that of what is measured."""
    names = [part for part in parts if isinstance(part, str)]
    while len(names) > 1 and _OF_DISTRIBUTION.fullmatch(names[-1]):
        names.pop()
    return names


def _unit_of_path(parts: Sequence[str | int]) -> str:
    """The unit of what is measured, which its name may leave out."""
    names, units = _names(parts), _units()
    return next((units[name] for name in (".".join(names[-2:]), names[-1]) if name in units), unit(names[-1]))


@cache
def _units() -> Mapping[str, str]:
    """The units of numbers of the summary and of columns, by their names with and without them."""
    names = (*FLOW, *QUEUE, *_COLUMNS)
    return {without_unit(name): unit(name) for name in names} | {name: unit(name) for name in names}


def _common(units: Iterable[str]) -> str:
    distinct = set(units)
    return distinct.pop() if len(distinct) == 1 else ""
