"""What ``hunt`` and ``tune`` share: where their folder goes, and the search from its file to the report on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from windtunnel.cli.places import Where, shown, stopped
from windtunnel.cli.streams import message, say
from windtunnel.scenario_file import STDIN

if TYPE_CHECKING:
    from windtunnel.engine.progress import Count
    from windtunnel.search.laboratory import Search
    from windtunnel.search.model import Hunt, Tune


def out_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the folder goes."""
    force = click.option("--force", is_flag=True, help="Replace the folder of an earlier search.")
    out = click.option(
        "--out", type=click.Path(path_type=Path), help="Folder of what is found.", show_default="results/<name of FILE>"
    )
    return out(force(command))


def search(
    ctx: click.Context,
    made: Hunt | Tune,
    begun: Search[Any],
    folder: ModuleType,
    *,
    file: Path,
    out: Path | None,
    force: bool,
    dry_run: bool,
    where: Where,
    restart: bool,
    no_cache: bool,
) -> None:
    """Carry out the search that ``file`` describes. The module ``folder`` writes what is found, and says it."""
    from windtunnel.search.carry_out import carry_out, check_place, forecast

    target = out or Path("results", "stdin" if file == STDIN else file.stem)
    check_place(target, force=force)
    place = where.place()
    for line in forecast(made, place.workers):
        message(line)
    if dry_run:
        return

    def write(result: Any, count: Count) -> None:
        folder.write(made, result, count.done, target, force=force)

    try:
        result, count = carry_out(
            made, begun, target, write, place=place, restart=restart, use_cache=not no_cache, show=shown
        )
    except KeyboardInterrupt:
        stopped(ctx, target)
    for line in folder.summary(made, result):
        say(line)
    say(count.line())
    say(target)
