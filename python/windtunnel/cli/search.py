"""``windtunnel hunt`` and ``windtunnel tune``: a search from its file to the report on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from windtunnel.cli.places import Where, place_options, shown, stopped
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.streams import message, say
from windtunnel.scenario_file import STDIN

if TYPE_CHECKING:
    from windtunnel.engine.progress import Count


def _options(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The file of a search, where it runs, and where its folder goes."""
    path = click.Path(path_type=Path)
    options = (
        click.argument("file", type=path, help=f"File of the {what} (TOML); - for the standard input."),
        click.option("--out", type=path, help="Folder of what is found.", show_default="results/<name of FILE>"),
        click.option("--force", is_flag=True, help="Replace the folder of an earlier search."),
        click.option("--dry-run", is_flag=True, help=f"Check the file and say what the {what} needs; run nothing."),
        set_option,
        place_options,
        allow_read_option,
        plugin_option,
    )

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


@click.command
@_options("hunt")
@click.pass_context
def hunt(ctx: click.Context, /, **options: Any) -> None:
    """Search for the worst case: scenarios with a property, shrunk and explained.

    A hunt that was interrupted continues when the same command is given again.
    """
    from windtunnel.search import hunted
    from windtunnel.search.file import read_hunt
    from windtunnel.search.hunt import hunting

    _search(ctx, read_hunt, hunting, hunted, **options)


@click.command
@_options("tuning")
@click.pass_context
def tune(ctx: click.Context, /, **options: Any) -> None:
    """Search for the best parameters under constraints, and compare them with the default on held-out paths.

    A tuning that was interrupted continues when the same command is given again.
    """
    from windtunnel.search import tuned
    from windtunnel.search.file import read_tune
    from windtunnel.search.tune import tuning

    _search(ctx, read_tune, tuning, tuned, **options)


def _search(
    ctx: click.Context,
    read: Callable[..., Any],
    begin: Callable[[Any], Any],
    folder: ModuleType,
    *,
    file: Path,
    settings: Sequence[str],
    allow_read: Sequence[Path],
    plugin: Sequence[Path],
    out: Path | None,
    force: bool,
    dry_run: bool,
    where: Where,
    restart: bool,
    no_cache: bool,
) -> None:
    """Carry out the search that ``file`` describes. The module ``folder`` writes what is found, and says it."""
    from windtunnel.search.carry_out import carry_out, check_writable, forecast, ready

    ready()
    load_plugins(plugin)
    made = read(file, settings, allow_read=allow_read)
    begun = begin(made)
    target = out or Path("results", "stdin" if file == STDIN else file.stem)
    check_writable(target, force=force)
    backend = where.backend()
    for line in forecast(made, backend.workers):
        message(line)
    if dry_run:
        return

    def write(result: Any, count: Count) -> None:
        folder.write(made, result, count.done, target, force=force)

    try:
        result, count = carry_out(
            made, begun, target, write, backend=backend, restart=restart, use_cache=not no_cache, show=shown
        )
    except KeyboardInterrupt:
        stopped(ctx, target)
    for line in folder.summary(made, result):
        say(line)
    say(count.line())
    say(target)
