"""``windtunnel lab``: a scenario in the browser, to watch and to change."""

from __future__ import annotations

from pathlib import Path

import click

from windtunnel.cli.streams import say


@click.command
@click.argument(
    "scenario",
    type=click.Path(path_type=Path),
    metavar="[SCENARIO|RUN]",
    required=False,
    help="A scenario file (TOML), or the folder of a run, with which the page opens; without one, an example.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; by default one that is free.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the page (HTML) instead.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
def lab(scenario: Path | None, port: int, out: Path | None, force: bool) -> None:
    """Run a scenario in the browser while you watch and change it: a page on 127.0.0.1, up to Ctrl-C."""
    from windtunnel.atomic import staged_file
    from windtunnel.errors import InputError
    from windtunnel.lab.examples import examples, of_file
    from windtunnel.lab.page import lab_page
    from windtunnel.lab.serve import served

    # Refuse the place before the work, not after it.
    if out is not None and out.exists() and not force:
        raise InputError(f"{out}: exists already; choose another name with --out, or replace it with --force")
    html = lab_page([*([of_file(scenario)] if scenario is not None else []), *examples()])
    if out is not None:
        with staged_file(out, force=force) as stage:
            stage.write_text(html, encoding="utf-8", newline="\n")
        say(out)
        return
    with served(html, port) as (address, server):
        say(f"{address} (Ctrl-C ends it)")
        server.serve_forever(poll_interval=0.2)
