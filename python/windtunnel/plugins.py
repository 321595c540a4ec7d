"""Plugins: Python files that register congestion controllers, and shared libraries that are stacks.

A controller is a class. Each instance is told what happens on one connection and answers with a ``Control``::

    class Fixed:
        '''Holds a fixed window.'''

        def __init__(self, segments=20):
            self.segments = segments

        def on_start(self, flow):
            self.cwnd = self.segments * flow.mss

        def on_ack(self, ack, path): ...
        def on_congestion(self, event, path): return False
        def on_rto(self, new_episode, path): ...
        def control(self): return wt.Control(self.cwnd)

    wt.register_controller("fixed", Fixed)

From then on ``cc = "fixed"`` and ``cc = { kind = "fixed", segments = 40 }`` run wherever a scenario names a controller.
:class:`Controller` lists all methods.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, get_type_hints

from windtunnel import _core
from windtunnel.errors import InputError, did_you_mean, reason

#: The methods that a class must have.
REQUIRED = ("on_ack", "on_congestion", "on_rto", "control")
#: The methods that it may have.
OPTIONAL = (
    "on_start",
    "on_established",
    "on_sent",
    "on_lost",
    "on_tx_start",
    "on_cwnd_validation",
    "on_undo",
    "on_recovered",
    "probe",
)


class Controller(Protocol):
    """A congestion controller in Python. Times are in seconds, amounts in bytes, rates in bits per second.

    These four methods are required. A class may also have, with the same meaning as in Rust
    (``CongestionControl``): ``on_start(flow)``, called once before everything else; ``on_established(path)``,
    ``on_sent(segment, path)``, ``on_lost(segment, path)``, ``on_tx_start(idle, path)``,
    ``on_cwnd_validation(cwnd, path)``, ``on_undo(path)``, ``on_recovered(path)``; ``probe()``, a dictionary of
    numbers to record; and ``needs``, a :class:`windtunnel.Needs`.
    """

    def on_ack(self, ack: _core.AckSample, path: _core.PathView, /) -> None:
        """An ACK arrived."""

    def on_congestion(self, event: _core.CongestionEvent, path: _core.PathView, /) -> bool | None:
        """Segments were lost, or CE was echoed. Returns False if the window was not reduced."""

    def on_rto(self, new_episode: bool, path: _core.PathView, /) -> None:
        """The retransmission timer expired; ``new_episode`` is False if that loss was answered already."""

    def control(self) -> _core.Control:
        """What the sender is to do now; called after every other method."""


class Quantity(float):
    """A number of seconds, bytes or bits per second that remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> Quantity:
        """The quantity that ``text`` stands for."""
        quantity = super().__new__(cls, _core.quantity(text))
        quantity.text = text
        return quantity

    def __reduce__(self) -> tuple[type[Quantity], tuple[str]]:
        return Quantity, (self.text,)


def quantity(text: str) -> Quantity:
    """A quantity as a scenario writes it, ``"5 ms"``: seconds, bytes or bits per second.

    As the default of a parameter it makes that parameter a quantity: scenarios give it with a unit. Raises ValueError.
    """
    return Quantity(text)


#: The controllers registered in this process: names and classes, and the plugin that each comes from.
_registered: dict[str, tuple[type, Path | None]] = {}
_loading: list[Path] = []

#: How the names of shared libraries end.
_LIBRARY = (".so", ".dylib", ".dll")
#: The shared libraries that scenarios may name as stacks, by their resolved paths.
_libraries: dict[Path, None] = {}


@dataclass(frozen=True)
class Plugin:
    """A plugin file as it was loaded."""

    path: Path
    source: bytes

    @property
    def sha256(self) -> str:
        """The hash of its source."""
        import hashlib

        return hashlib.sha256(self.source).hexdigest()


#: The plugins that were loaded, by their resolved paths.
_plugins: dict[Path, Plugin] = {}


def origin(name: str) -> Plugin | None:
    """The plugin that registered a controller; None for another's class, and for one that comes from no file."""
    _, path = _registered.get(name, (None, None))
    return _plugins.get(path) if path is not None else None


def register_controller(name: str, cls: type[Controller], *, replace: bool = False) -> None:
    """Make a class a controller that scenarios name ``name``.

    The keyword arguments of the class (or its fields, if it is a dataclass) are the keys of
    ``cc = { kind = "name", ... }``. Each needs a default, which also determines its type: true or false, a whole
    number, a number, a text, or a :func:`quantity`. A description is given with ``Annotated[float, "..."]``.

    ``replace`` allows the name of another class that was registered before. Raises ValueError for a name that is taken,
    TypeError for a class that cannot be a controller.
    """
    _check_methods(cls)
    parameters = [
        (key, (default.text,) if isinstance(default, Quantity) else default, description)
        for key, default, description in _parameters(cls)
    ]
    plugin = _loading[-1] if _loading else None
    _core.register_controller(name, cls, _summary(cls), _source(cls, plugin), parameters, replace)
    _registered[name] = (cls, plugin)


def load_plugin(path: str | Path) -> None:
    """Run a Python file that registers controllers, once; or allow a shared library as a stack of scenarios.

    Raises InputError if the file fails, or registers nothing. A library is loaded by the scenarios that name it.
    """
    path = Path(path)
    if path.suffix in _LIBRARY:
        _allow_library(path)
        return
    if any(plugin == path.resolve() for _, plugin in _registered.values()):
        return
    if not os.path.isfile(path):  # noqa: PTH113 - false also for a name that is too long
        raise InputError(f"{path}: there is no such file; a plugin is a Python file that registers controllers")
    before = len(_registered)
    name = f"windtunnel_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    _loading.append(path.resolve())
    try:
        _plugins[path.resolve()] = Plugin(path, path.read_bytes())
        spec.loader.exec_module(module)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason(error)}") from None
    except Exception as error:
        raise InputError(f"{_location(path, error)}: cannot be loaded: {type(error).__name__}: {error}") from error
    finally:
        _loading.pop()
    if len(_registered) == before:
        raise InputError(f"{path}: registers no controller: it must call windtunnel.register_controller(name, class)")


def _allow_library(path: Path) -> None:
    try:
        _core.allow_library(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason(error)}") from None
    _libraries[path.resolve()] = None


def registered_by(path: str | Path) -> list[type]:
    """The classes that a loaded plugin has registered."""
    return [cls for cls, plugin in _registered.values() if plugin == Path(path).resolve()]


def _location(path: Path, error: Exception) -> str:
    """The file, with the line at which it raised the exception."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


#: What another process needs to have the same controllers and stacks: plugin files, and classes by name.
Registrations = tuple[tuple[Path, ...], tuple[tuple[str, type], ...]]


def registrations() -> Registrations:
    """What :func:`restore` needs. A class that comes from no plugin and cannot be imported stays in this process."""
    files = dict.fromkeys(plugin for _, plugin in _registered.values() if plugin is not None)
    others = ((name, cls) for name, (cls, plugin) in _registered.items() if plugin is None)
    return (*files, *_libraries), tuple((name, cls) for name, cls in others if _can_be_imported(cls))


def all_travel() -> bool:
    """Whether each class that is registered here can be registered in another process."""
    return all(plugin is not None or _can_be_imported(cls) for cls, plugin in _registered.values())


def restore(files: Sequence[Path], classes: Sequence[tuple[str, type]]) -> None:
    """Register in this process what another one registered; the processes of a pool call this first."""
    for file in files:
        load_plugin(file)
    for name, cls in classes:
        # Unpickling the class imported its module, which may have registered it.
        if name not in _registered:
            register_controller(name, cls)


def _can_be_imported(cls: type) -> bool:
    return getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is cls


def _check_methods(cls: type) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"{cls!r} is not a class")
    missing = [name for name in REQUIRED if not callable(getattr(cls, name, None))]
    if missing:
        raise TypeError(f"{cls.__name__} cannot be a controller: it has no method {', '.join(missing)}")
    for name in vars(cls):
        if name.startswith("on_") and name not in (*REQUIRED, *OPTIONAL):
            raise TypeError(f"{cls.__name__}.{name} would never be called{did_you_mean(name, (*REQUIRED, *OPTIONAL))}")


def _parameters(cls: type) -> list[tuple[str, Any, str]]:
    """Name, default and description of each keyword argument."""
    descriptions = _descriptions(cls)
    parameters = []
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"{cls.__name__}: parameter `{parameter.name}` must be one that is given by keyword")
        if parameter.default is parameter.empty:
            raise TypeError(f"{cls.__name__}: parameter `{parameter.name}` needs a default")
        # A number of NumPy becomes one of Python.
        default = parameter.default.tolist() if hasattr(parameter.default, "tolist") else parameter.default
        parameters.append((parameter.name, default, descriptions.get(parameter.name, "")))
    return parameters


def _descriptions(cls: type) -> Mapping[str, str]:
    """What ``Annotated[..., "description"]`` says about each parameter."""
    descriptions = {}
    for annotated in (cls, vars(cls).get("__init__")):
        try:
            hints = get_type_hints(annotated, include_extras=True)
        except (NameError, TypeError):  # names that only a type checker knows
            continue
        for name, hint in hints.items():
            texts = [text for text in getattr(hint, "__metadata__", ()) if isinstance(text, str)]
            if texts:
                descriptions[name] = texts[0]
    return descriptions


def _summary(cls: type) -> str:
    lines = (inspect.getdoc(cls) or "").strip().splitlines()
    return lines[0].rstrip(".") if lines else f"The Python class {cls.__name__}"


def _source(cls: type, plugin: Path | None) -> str:
    where = plugin.name if plugin is not None else cls.__module__
    return f"class {cls.__qualname__} in {where}"
