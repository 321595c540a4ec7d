"""What ``hunt`` and ``tune`` share: options, progress, and the message after Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from windtunnel.cli.streams import message

if TYPE_CHECKING:
    from windtunnel.engine.progress import Count


def out_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the folder goes."""
    force = click.option("--force", is_flag=True, help="Replace the folder of an earlier search.")
    out = click.option(
        "--out", type=click.Path(path_type=Path), help="Folder of what is found.", show_default="results/<name of FILE>"
    )
    return out(force(command))


def shown(count: Count) -> AbstractContextManager[Callable[[], None]]:
    """Progress on stderr."""
    from windtunnel.engine.progress import shown as lines

    if not sys.stderr.isatty():
        return lines(count, None, message)
    from windtunnel.cli.consoles import messages

    return lines(count, messages(), message)


def stopped(ctx: click.Context, target: Path) -> NoReturn:
    """After Ctrl-C."""
    from windtunnel.campaign.sweep import journal_of

    kept = journal_of(target).exists()
    message("stopped; what was done is kept: give the same command again to continue" if kept else "stopped")
    ctx.exit(130)
