"""The options that the commands which write qlog share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from windtunnel.cli.streams import message

if TYPE_CHECKING:
    from windtunnel.result import RunResult

#: As in ``windtunnel.export.qlog``, which takes long to load.
_VERSIONS = ("0.3", "0.4")
#: Names in a message.
_SHOWN = 8


def qlog_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options; the command gets them as ``qlog_version`` and ``qlog_gzip``."""
    version = click.option(
        "--qlog-version",
        type=click.Choice(_VERSIONS),
        default=_VERSIONS[-1],
        show_default=True,
        help="Names of events: 0.3 for qvis, 0.4 for the current drafts.",
    )
    packed = click.option("--qlog-gzip", is_flag=True, help="Compress the logs: FLOW.client.sqlog.gz.")
    decorated: Callable[..., Any] = version(packed(command))
    return decorated


def tell_left_out(result: RunResult) -> None:
    """Say which flows have no log."""
    from windtunnel.export.qlog import left_out

    if names := left_out(result):
        shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], f"and {len(names) - _SHOWN} more"]
        message(f"not in the qlog, because they are not one connection each: {', '.join(shown)}")
