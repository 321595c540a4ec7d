"""The command line: ``windtunnel COMMAND``. One file per command; errors become messages in one place."""

from windtunnel.cli.app import app, main

__all__ = ["app", "main"]
