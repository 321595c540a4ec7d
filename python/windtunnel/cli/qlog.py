"""The options that the commands which write qlog share."""

from collections.abc import Callable
from typing import Any

import click

#: As in ``windtunnel.export.qlog``, which takes long to load.
_VERSIONS = ("0.3", "0.4")


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
