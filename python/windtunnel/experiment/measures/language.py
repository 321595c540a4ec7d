"""Text to expression: ``ratio(flows.a.goodput, flows.b.goodput)``, ``p99(queue.sojourn_ms)``.

Python's own parser reads the text, and everything in it that is not listed here is refused: nothing is executed.

| function | value |
|---|---|
| ``sum, min, max, mean, median, std, count`` | of the numbers of all flows or queues, a column, or several arguments |
| ``p50`` ... ``p99.9`` | quantiles in percent |
| ``jain`` | Jain's fairness index |
| ``ratio(a, b)``, ``abs(a)``, ``log2(a)``, ``ceil(a)`` | of numbers |
| ``share(a, b, ...)`` | a / (a + b + ...) |
| ``baseline(a)`` | the same of what is compared with (``windtunnel compare``) |
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from windtunnel.errors import did_you_mean
from windtunnel.experiment.measures.kinds import flows_of, kind_of, unit_of
from windtunnel.experiment.measures.names import root_hint
from windtunnel.experiment.measures.paths import ROOTS, Path, resolve, show, tables_behind
from windtunnel.experiment.measures.values import Distribution, MetricError, Value, reduce
from windtunnel.experiment.scales import Kind
from windtunnel.metrics import Array, jain_index
from windtunnel.result import RunResult

__all__ = ["Expression", "MetricError"]

LONGEST = 2000
_DEEPEST = 50

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b if b else math.nan,
}
#: Functions of many numbers; what is empty has no value.
_OF_MANY: dict[str, Callable[[Array], float]] = {
    "sum": lambda x: float(np.sum(x)),
    "min": lambda x: float(np.min(x, initial=math.inf)) if len(x) else math.nan,
    "max": lambda x: float(np.max(x, initial=-math.inf)) if len(x) else math.nan,
    "mean": lambda x: float(np.mean(x)) if len(x) else math.nan,
    "median": lambda x: float(np.median(x)) if len(x) else math.nan,
    "std": lambda x: float(np.std(x, ddof=1)) if len(x) > 1 else math.nan,
    "count": lambda x: float(len(x)),
    "jain": lambda x: float(jain_index(x)) if len(x) else math.nan,
}
#: Functions of one number; what has no value has none here.
_OF_ONE: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "log2": lambda x: math.log2(x) if x > 0 else math.nan,
    "ceil": lambda x: float(math.ceil(x)) if math.isfinite(x) else x,
}
_OF_NUMBERS = {"ratio": 2, **dict.fromkeys(_OF_ONE, 1), "baseline": 1}
_QUANTILE = re.compile(r"p(\d+(?:_\d+)?)")
#: Of these the summary has the value itself, counted over every packet.
_COUNTED = {"min": "min", "mean": "mean", "max": "max", "median": "p50"}
_COUNTED_QUANTILES = ("p50", "p95", "p99")
_FUNCTIONS = (*_OF_MANY, *_OF_NUMBERS, "share", "p50", "p90", "p95", "p99", "p99.9")

# `flows.0.rtt` and `p99.9(...)` are natural to write, but no Python.
_INDEX = re.compile(r"(?<=[A-Za-z_\]])\.(\d+)(?![\w(])")
_FRACTION = re.compile(r"\bp(\d+)\.(\d+)(?=\s*\()")


@dataclass(frozen=True)
class Number:
    number: float


@dataclass(frozen=True)
class PathNode:
    parts: Path


@dataclass(frozen=True)
class Call:
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Binary:
    operator: type[ast.operator]
    left: Node
    right: Node


@dataclass(frozen=True)
class Name:
    """A number that has a name of its own, and is no part of a run."""

    name: str


Node: TypeAlias = "Number | PathNode | Name | Call | Binary"

#: What an expression is read from: a run, or the values of some expressions, which are all that is known of one.
Measured: TypeAlias = "RunResult | Mapping[Node, float]"


@dataclass(frozen=True)
class Expression:
    """An expression over a run's result."""

    text: str
    root: Node
    tables: frozenset[str]
    """The tables that it may need; all else is in the summary."""
    kind: Kind = "plain"
    """What kind of quantity it is, which decides how values of several runs are put together."""
    unit: str = ""

    @classmethod
    def parse(cls, text: str, kind: Kind | None = None, unit: str | None = None) -> Expression:
        """Kind and unit are what the text says, unless given. Raises MetricError, with the nearest of unknown names."""
        expression = cls.of(text, node_of(python_of(text)))
        return replace(expression, kind=kind or expression.kind, unit=expression.unit if unit is None else unit)

    @classmethod
    def of(cls, text: str, root: Node) -> Expression:
        """The expression of a node that ``text`` holds."""
        return cls(text, root, frozenset(_tables(root)), kind_of(root), unit_of(root))

    @classmethod
    def of_python(cls, node: ast.expr) -> Expression:
        """The expression of a part of a longer text; its own text says the same. Raises MetricError."""
        root = node_of(node)
        return cls.of(ast.unparse(node), root)

    def value(self, result: Measured, baseline: Measured | None = None) -> float:
        """Its value; NaN where the run has none (a flow without data, a ratio to 0). Raises MetricError."""
        return _number(_value(self.root, result, baseline), self.text)

    @classmethod
    def of_names(cls, text: str) -> Expression:
        """An expression over numbers with names: ``ratio(after, before)``. Raises MetricError."""
        return cls.of(text, node_of(python_of(text), path=_name))

    @property
    def names(self) -> frozenset[str]:
        """The names in it; see :meth:`of_names`."""
        return frozenset(node.name for node in _nodes(self.root) if isinstance(node, Name))

    def of_numbers(self, numbers: Mapping[str, float]) -> float:
        """Its value where its names are these numbers. Raises MetricError for a name that is not among them."""
        return self.value({Name(name): number for name, number in numbers.items()})

    @property
    def is_quantile(self) -> bool:
        """Whether a quantile of a distribution is in it, such as ``p99(...)`` or ``rtt_ms.p50``."""
        return any(map(_is_quantile, _nodes(self.root)))

    @cached_property
    def flows(self) -> Expression | None:
        """How many flows its index of fairness is of; None where it is another expression."""
        root = flows_of(self.root)
        return None if root is None else Expression.of(f"flows of {self.text}", root)

    @property
    def compares(self) -> bool:
        """Whether it names a baseline."""
        return any(isinstance(node, Call) and node.name == "baseline" for node in _nodes(self.root))


#: No expressions that a text may name.
NONE: Mapping[str, Expression] = {}


class _Named(ast.NodeTransformer):
    """Puts expressions in the place of their names."""

    def __init__(self, names: Mapping[str, Expression]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return python_of(self._names[node.id].text) if node.id in self._names else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return node  # the root of a path is no metric

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments = [self.visit(argument) for argument in node.args]
        return ast.Call(node.func, arguments, node.keywords)


def python_of(text: str, names: Mapping[str, Expression] = NONE) -> ast.expr:
    """The text as Python reads it, with expressions in the place of their ``names``. Raises MetricError."""
    if len(text) > LONGEST:
        raise MetricError(f"is longer than {LONGEST} characters")
    try:
        node = ast.parse(_FRACTION.sub(r"p\1_\2", _INDEX.sub(r"[\1]", text.strip())), mode="eval").body
        replaced: ast.expr = _Named(names).visit(node) if names else node
        return replaced
    except (SyntaxError, ValueError) as error:
        if "integer string conversion" in str(error):  # Python reads no number of more than 4300 digits
            raise MetricError("a number in it is too large: at most 1.8e308, about 308 digits") from None
        hint = '; names with other characters than letters, digits and _ are written flows["name"]'
        raise MetricError(f"is no expression{hint}") from None
    except (RecursionError, MemoryError):
        raise MetricError("is nested too deeply") from None


def node_of(node: ast.expr, depth: int = 0, path: Callable[[ast.expr], Node] | None = None) -> Node:
    """A part of an expression. ``path`` reads what stands for a number; by default it is in a run's result.

    Raises MetricError for everything that is no expression.
    """
    if depth > _DEEPEST:
        raise MetricError("is nested too deeply")
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Number(_finite(number))
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return (path or _path)(node)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return Binary(type(op), node_of(left, depth + 1, path), node_of(right, depth + 1, path))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Binary(ast.Sub, Number(0.0), node_of(operand, depth + 1, path))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return node_of(operand, depth + 1, path)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call(name, [node_of(argument, depth + 1, path) for argument in arguments])
    raise MetricError(f"`{ast.unparse(node)}` is not allowed here: paths, numbers, + - * / and functions are")


def _finite(number: float) -> float:
    """A number as the floating-point number that it is calculated with. Raises MetricError for one that is none."""
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if math.isinf(value):
        raise MetricError("a number in it is too large: at most 1.8e308, about 308 digits")
    return value


def _path(node: ast.expr) -> PathNode:
    parts: list[str | int] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner, attr=name):
                parts.append(name)
            case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as key)):
                parts.append(key)
            case _:
                raise MetricError(f"`{ast.unparse(node)}` is no path")
        node = inner
    parts.append(node.id)
    if node.id not in ROOTS:
        raise MetricError(f"`{node.id}` is not known; a path starts with {', '.join(ROOTS)}{root_hint(node.id, ROOTS)}")
    return PathNode(tuple(reversed(parts)))


def _name(node: ast.expr) -> Name:
    if not isinstance(node, ast.Name):
        raise MetricError(f"`{ast.unparse(node)}` is not the name of a number")
    return Name(node.id)


def _call(name: str, arguments: Sequence[Node]) -> Call:
    shown = name.replace("_", ".") if _QUANTILE.fullmatch(name) else name
    if name in _OF_NUMBERS:
        if len(arguments) != _OF_NUMBERS[name]:
            raise MetricError(f"{name}() takes {_OF_NUMBERS[name]} arguments, not {len(arguments)}")
    elif match := _QUANTILE.fullmatch(name):
        if len(arguments) != 1 or not 0 <= float(match[1].replace("_", ".")) <= 100:
            raise MetricError(f"{shown}() is the quantile of one argument, from p0 to p100")
    elif name == "share":
        if len(arguments) < 2:
            raise MetricError("share() takes at least 2 arguments: a part, and the rest")
    elif name not in _OF_MANY:
        raise MetricError(f"there is no function `{shown}`; there are {', '.join(_FUNCTIONS)}"
                          f"{did_you_mean(shown, _FUNCTIONS)}")  # fmt: skip
    if not arguments:
        raise MetricError(f"{shown}() needs an argument")
    return Call(name, tuple(arguments))


def call_of(text: str) -> tuple[str, list[float | str]]:
    """The name and the arguments of one call with constants, such as ``max(10, inf)``. Raises MetricError."""
    match python_of(text):
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return name, [_argument(each) for each in arguments]
    raise MetricError(f"{text!r} is not a call, such as max(10, 30)")


def _argument(node: ast.expr) -> float | str:
    match node:
        case ast.Name(id="inf"):
            return math.inf
        case ast.Constant(value=str() as text):
            return text
        case ast.Constant(value=int() | float() as number):
            return _finite(number)
    raise MetricError(f"`{ast.unparse(node)}` is neither a number nor a text in quotes")


def _tables(node: Node) -> set[str]:
    match node:
        case PathNode(parts=("tables", str() as table, *_)):
            return {table}
        case PathNode(parts=("bbr", *_)):
            return {"cc"}
        case Binary(left=left, right=right):
            return _tables(left) | _tables(right)
        case Call(name=name, arguments=arguments):
            tables = set[str]().union(*map(_tables, arguments))
            # A window at a median needs a table too: the summary has no quantiles of it.
            counted = name in ("min", "mean", "max") or name in ("median", *_COUNTED_QUANTILES)
            for argument in arguments:
                if isinstance(argument, PathNode) and (not counted or _is_window(argument.parts, name)):
                    tables |= tables_behind(argument.parts)
            return tables
    return set()


def _is_window(path: Path, name: str) -> bool:
    """A quantile of a congestion window, which the summary does not have."""
    return str(path[-1]) in ("cwnd", "cwnd_bytes") and name not in ("min", "mean", "max")


def _is_quantile(node: Node) -> bool:
    match node:
        case PathNode(parts=parts):
            return any(isinstance(part, str) and _QUANTILE.fullmatch(part.replace(".", "_")) for part in parts)
        case Call(name=name):
            return bool(_QUANTILE.fullmatch(name))
    return False


def _nodes(node: Node) -> Iterator[Node]:
    """The node, and all below it."""
    yield node
    match node:
        case Binary(left=left, right=right):
            yield from _nodes(left)
            yield from _nodes(right)
        case Call(arguments=arguments):
            for argument in arguments:
                yield from _nodes(argument)


def _value(node: Node, result: Measured, baseline: Measured | None) -> Value:
    if isinstance(result, Mapping) and node in result:
        return result[node]
    match node:
        case Number(number=number):
            return number
        case Name(name=name):
            raise MetricError(f"`{name}` is not known")
        case PathNode(parts=parts):
            if isinstance(result, Mapping):
                raise MetricError(f"`{show(parts)}` is no metric of the campaign")
            return resolve(parts, result)
        case Call(name="baseline", arguments=(inner,)):
            if baseline is None:
                raise MetricError("baseline() is known only where two are compared")
            return _number(_value(inner, baseline, None), "baseline()")
        case Binary(operator=op, left=left, right=right):
            of = show(left.parts) if isinstance(left, PathNode) else "this"
            a, b = _value(left, result, baseline), _value(right, result, baseline)
            return _OPERATORS[op](_number(a, of), _number(b, "this"))
        case Call(name=name, arguments=arguments):
            return _apply(name, [_value(argument, result, baseline) for argument in arguments])


def _apply(name: str, values: Sequence[Value]) -> float:
    if name == "ratio":
        above, below = (_number(value, "ratio()") for value in values)
        return above / below if below else math.nan
    if name == "share":
        parts = [_number(value, "share()") for value in values]
        whole = sum(parts[1:], parts[0])
        return parts[0] / whole if whole else math.nan
    if name in _OF_ONE:
        return _OF_ONE[name](_number(values[0], f"{name}()"))
    if match := _QUANTILE.fullmatch(name):
        percent = float(match[1].replace("_", "."))
        name = f"p{percent:g}"
        return reduce(name, values[0], name, lambda x: float(np.percentile(x, percent)) if len(x) else math.nan)
    value: Value = values[0] if len(values) == 1 else [*(_number(v, f"{name}()") for v in values)]
    return reduce(name, value, _COUNTED.get(name), _OF_MANY[name])


def _number(value: Value, of: str) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, Distribution):
        raise MetricError(f"{value.name} is a distribution: write .mean or .p99, or a function of it")
    many = "numbers of several flows or queues" if isinstance(value, list) else "a column"
    raise MetricError(f"{of}: one number is needed, not {many}: write a function of it, such as mean() or sum()")
