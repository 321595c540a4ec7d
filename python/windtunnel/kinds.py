"""The kinds that a scenario can name, and what is known about each beyond its name: the registry states it.

``windtunnel list --json`` shows the same, and ``TRAITS`` in ``crates/scenario/src/listing.rs`` explains the traits. No
list of kinds is written in Python.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from windtunnel import _core

#: A kind: ``name``, ``title``, ``summary``, ``source``, ``traits``, ``parameters``, ``aliases``.
Kind: TypeAlias = Mapping[str, Any]


def listing() -> Mapping[str, Sequence[Kind]]:
    """All kinds by family: ``controllers``, ``queues``, ``applications``, ..."""
    kinds: dict[str, list[Kind]] = json.loads(_core.listing())
    return kinds


def names(kind: Kind) -> list[str]:
    """Its name and its aliases."""
    return [kind["name"], *kind["aliases"]]


def has_trait(name: str, trait: str) -> bool:
    """Whether a controller, a queue or an application of this name has a trait."""
    return any(trait in kind["traits"] for kind in _named(name))


def title(name: str) -> str:
    """The kind as text shows it: ``CUBIC``, ``FQ-CoDel``. A name that the registry does not have stays as it is."""
    return next((str(kind["title"]) for kind in _named(name)), name)


def kept(controller: str) -> float:
    """The part of a large window that a controller keeps after a loss: a half, if it states nothing else."""
    return next((float(kind["kept"]) for kind in _named(controller) if "kept" in kind), 0.5)


def _named(name: str) -> Sequence[Kind]:
    """The kinds of this name, in any family."""
    return _by_name().get(name, ())


@cache
def _by_name() -> Mapping[str, Sequence[Kind]]:
    by_name: dict[str, list[Kind]] = {}
    for kinds in listing().values():
        for kind in kinds:
            by_name.setdefault(kind["name"], []).append(kind)
    return by_name
