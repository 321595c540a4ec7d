"""``windtunnel evaluate``: evidence for a controller or a queue, clause by clause of a document."""

from pathlib import Path

import click

from windtunnel.cli.completion import controllers, pack_clauses, packs, queues
from windtunnel.cli.plugins import load_plugins, plugin_option


@click.command
@click.argument("name", help="The pack, e.g. rfc9743.", shell_complete=packs)
@click.option(
    "--cc",
    metavar="NAME",
    shell_complete=controllers,
    help="The controller to examine: rfc9743, tcpeval, ccwg-bbr, rmcat, multipath. A table in TOML has its parameters, "
    'or a stack\'s own: \'{ stack = "quinn", cc = "bbr" }\'.',
)
@click.option(
    "--queue", metavar="NAME", shell_complete=queues, help="The queue to examine: rfc7928, l4s-aqm, bufferbloat."
)
@click.option(
    "--only",
    metavar="CLAUSE",
    multiple=True,
    shell_complete=pack_clauses,
    help="Run only this clause, or those under it: 5.2.1, or 5. Repeatable.",
)
@click.option("--quick", is_flag=True, help="Fewer seeds, and fewer values of the axes.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write.", show_default="results/<PACK>-<NAME>")
@click.option("--jobs", type=click.IntRange(min=1), help="Number of parallel processes.", show_default="one per core")
@click.option("--no-cache", is_flag=True, help="Run what is known from before, too.")
@click.option("--force", is_flag=True, help="Replace a pack's existing folder.")
@plugin_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    name: str,
    cc: str | None,
    queue: str | None,
    only: tuple[str, ...],
    quick: bool,
    out: Path | None,
    jobs: int | None,
    no_cache: bool,
    force: bool,
    plugin: tuple[Path, ...],
) -> None:
    """Examine a controller or a queue as a document asks; write an evidence pack.

    NAME is rfc9743 (new congestion controls), rfc7928 (AQMs), tcpeval (draft-irtf-iccrg-tcpeval-01), l4s-aqm (RFC 9331
    and 9332), bufferbloat (RRUL), ccwg-bbr (the example test cases of BBR's draft), rmcat (calls, RFC 8867),
    or multipath (the goals of RFC 6356).
    """
    from windtunnel.cli.consoles import output
    from windtunnel.evaluate import evaluate as examine
    from windtunnel.evaluate.pack import read

    load_plugins(plugin)
    pack = read(name)
    text = _subject(name, pack.kind, cc, queue)
    target = out or Path("results", f"{name}-{_file_name(text)}")
    code = examine(
        name, text, out=target, console=output(), only=only, quick=quick, jobs=jobs, force=force, use_cache=not no_cache
    )
    ctx.exit(code)


def _subject(name: str, kind: str, cc: str | None, queue: str | None) -> str:
    """What is to be examined. Raises InputError where it is missing, or is of the other kind."""
    from windtunnel.errors import InputError

    wanted, other = (cc, queue) if kind == "cc" else (queue, cc)
    noun, example = ("a controller", "cubic") if kind == "cc" else ("a queue", "fq_codel")
    if other is not None:
        raise InputError(f"{name} examines {noun}: give --{kind}, not --{'queue' if kind == 'cc' else 'cc'}")
    if wanted is None:
        raise InputError(f"{name} examines {noun}: say which, e.g. --{kind} {example}")
    return wanted


def _file_name(text: str) -> str:
    """A name that folders may have."""
    return "-".join("".join(c if c.isalnum() or c in "_.-" else " " for c in text).split())
