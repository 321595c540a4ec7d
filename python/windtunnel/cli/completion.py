"""What a shell completes beyond files, commands and options, which click knows: names and IDs.

``eval "$(_WINDTUNNEL_COMPLETE=bash_source windtunnel)"`` switches completion on in bash; ``zsh_source`` and
``fish_source`` do in these shells.
"""

from __future__ import annotations

from collections.abc import Iterable

import click


def suites(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Suites of ``reproduce``."""
    from windtunnel.papers import NAMES

    return _that_start(incomplete, NAMES)


def suite_ids(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Figures, tables and claims of the suite that was typed."""
    from windtunnel.papers import ids

    # Before an option that is not complete, click leaves arguments as they are.
    name = ctx.params.get("name") or next(iter(ctx.args), None)
    return _that_start(incomplete, ids(name)) if name else []


def packs(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Packs of ``evaluate``."""
    from windtunnel.evaluate.pack import NAMES

    return _that_start(incomplete, NAMES)


def pack_clauses(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Clauses of the pack that was typed."""
    from windtunnel.evaluate.pack import NAMES, read

    name = ctx.params.get("name") or next(iter(ctx.args), None)
    return _that_start(incomplete, [clause.id for clause in read(name).clauses]) if name in NAMES else []


def controllers(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Controllers."""
    return _that_start(incomplete, _listing()["controllers"])


def stacks(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Stacks of other people."""
    from windtunnel.conform.subject import OURS

    return _that_start(incomplete, [name for name in _listing()["stacks"] if name not in OURS])


def queues(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Queues."""
    return _that_start(incomplete, _listing()["queues"])


def kinds(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Kinds of algorithms, and the algorithms."""
    listing = _listing()
    return _that_start(incomplete, [*listing, *(name for names in listing.values() for name in names)])


def names_of_kind(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The algorithms of the kind that was typed."""
    return _that_start(incomplete, _listing().get(str(ctx.params.get("kind")), ()))


def works(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Works of the benchmark."""
    from windtunnel.bench import LARGE, WORKS

    return _that_start(incomplete, [work.name for work in (*WORKS, *LARGE)])


def _listing() -> dict[str, list[str]]:
    from windtunnel.kinds import listing

    return {family.replace("_", "-"): [kind["name"] for kind in kinds] for family, kinds in listing().items()}


def _that_start(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.lower().startswith(incomplete.lower())]
