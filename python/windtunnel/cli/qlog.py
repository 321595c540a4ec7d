"""The option that the commands which write qlog share."""

import click

#: As in ``windtunnel.export.qlog``, which takes long to load.
_VERSIONS = ("0.3", "0.4")

qlog_version_option = click.option(
    "--qlog-version",
    type=click.Choice(_VERSIONS),
    default=_VERSIONS[-1],
    show_default=True,
    help="Names of events: 0.3 for qvis, 0.4 for the current drafts.",
)
