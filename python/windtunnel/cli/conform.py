"""``windtunnel conform``: a real stack against the RFCs."""

from pathlib import Path

import click

from windtunnel.cli.claims import check_junit, claim_options
from windtunnel.cli.completion import stacks
from windtunnel.cli.reading import allow_read_option
from windtunnel.cli.reproduce import force_option, jobs_option, no_cache_option


@click.command
@click.argument("stack", help="A stack, e.g. quinn, or the file of a library that has one.", shell_complete=stacks)
@click.option(
    "--only",
    metavar="ID",
    multiple=True,
    help="Run only the rows of this section, e.g. 9002-6.1.1, document, e.g. 9438, or topic, e.g. ecn. Repeatable.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write.", show_default="results/conform-<STACK>")
@jobs_option
@force_option
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change every scenario, e.g. flow.0.ecn=false. Repeatable; the page says so.",
)
@no_cache_option
@claim_options
@allow_read_option
@click.pass_context
def conform(
    ctx: click.Context,
    stack: str,
    only: tuple[str, ...],
    out: Path | None,
    jobs: int | None,
    force: bool,
    settings: tuple[str, ...],
    no_cache: bool,
    undecided: str,
    junit: Path | None,
    allow_read: tuple[Path, ...],
) -> None:
    """Compare a real stack with RFC 9002, 9438, 9406, 9000 and 9743: loss detection, windows, ECN, coexistence.

    The exit code is 1 if a row is not what its section says, so that continuous integration can run this.
    """
    from windtunnel.cli.consoles import output
    from windtunnel.conform import conform as run_conform

    check_junit(junit)
    ctx.exit(
        run_conform(
            stack,
            only=only,
            out=out,
            jobs=jobs,
            console=output(),
            settings=settings,
            force=force,
            allow_read=allow_read,
            use_cache=not no_cache,
            junit=junit,
            undecided_passes=undecided == "pass",
        )
    )
