"""Libraries that only some of windtunnel's work needs, and what is said where one is missing.

They are the optional dependencies (extras) of the package. Messages name the libraries themselves, since pip knows
these wherever windtunnel was installed from.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from windtunnel.errors import InputError

#: The extras, and what each brings, as ``pyproject.toml`` has them.
EXTRAS = {
    "arrow": ("pyarrow>=15",),
    "dask": ("distributed>=2025.1",),
    "plot": ("matplotlib>=3.8", "pillow>=10.2"),
    "hunt": ("cmaes>=0.11", "matplotlib>=3.8", "optuna>=5"),
    "pandas": ("pandas>=2.2",),
    "polars": ("polars>=1", "pyarrow>=15"),
}


class MissingExtraError(InputError, ImportError):
    """A library that is not installed: the message says what installs it."""


def library(name: str, what: str) -> Any:
    """An optional library, imported. Raises MissingExtraError, which says that ``what`` needs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise _missing(name, what) from None


def need(name: str, what: str) -> None:
    """As :func:`library`, without importing it: for a command that will need it in the end."""
    if not has(name):
        raise _missing(name, what)


def has(name: str) -> bool:
    """Whether an optional library is installed."""
    try:
        return find_spec(name) is not None
    except ValueError:  # a module without a specification, as of a test
        return False


def _missing(name: str, what: str) -> MissingExtraError:
    return MissingExtraError(f"{what} needs {name}, which is not installed: {command(name)}")


def command(name: str) -> str:
    """What installs a library, with all that its extra brings."""
    brought = next(all_of for all_of in EXTRAS.values() if any(each.partition(">")[0] == name for each in all_of))
    return " ".join(["pip install", *(f"'{each}'" for each in brought)])
