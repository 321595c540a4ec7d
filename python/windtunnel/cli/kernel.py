"""``windtunnel kernel``: the Linux kernel that runs in virtual time, from its source to its end."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windtunnel.cli.streams import message, say, write_json

if TYPE_CHECKING:
    from windtunnel.kernel.build import Steps
    from windtunnel.kernel.kept import Kernel

#: Seconds between two lines where no terminal shows how far a build is.
_LINE = 30.0


@click.group
def kernel() -> None:
    """Build, list, test and remove kernels that run in virtual time.

    The unmodified Linux kernel as a process (User-Mode Linux with time travel). It is compiled on this machine from
    Debian's source or from one of yours, and kept in the cache; nothing needs the rights of an administrator.
    """


@kernel.command
@click.option(
    "--package", metavar="NAME", help="Debian's package of the source.", show_default="the newest that apt has"
)
@click.option("--source", type=click.Path(path_type=Path), help="A source of yours instead: a folder or a tarball.")
@click.option(
    "--hz",
    type=click.Choice(["1000", "250"]),
    default="1000",
    show_default=True,
    help="Ticks of its clock in a second.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of compilers at the same time.", show_default="one per core"
)
@click.option("--force", is_flag=True, help="Build also what is there already.")
def build(package: str | None, source: Path | None, hz: str, jobs: int | None, force: bool) -> None:
    """Compile a kernel: about 20 minutes on two cores, and 3 GB of disk while it lasts."""
    from windtunnel.errors import InputError
    from windtunnel.kernel.build import build as build_kernel

    if package is not None and source is not None:
        raise InputError("--package and --source exclude each other")
    with _steps() as steps:
        built = build_kernel(
            hz=int(hz), package=package, source=source, jobs=jobs or os.cpu_count() or 1, steps=steps, again=force
        )
    made = built.kernel
    say(f"Linux {made.version}, HZ {made.hz}, SHA-256 {made.sha256}{' (there already)' if built.was_there else ''}")
    say(f"lacks: {', '.join(made.lacking()) or 'nothing'}")
    say(made.folder)


@kernel.command
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(as_json: bool) -> None:
    """List the kernels in the cache: version, HZ, hash, size, and what each lacks.

    The first is the one that commands take which are not told another.
    """
    from windtunnel.kernel.kept import NONE, kernels

    there = kernels()
    if as_json:
        write_json(json.dumps([_facts(each) for each in there], indent=2))
        return
    if not there:
        message(NONE)
    for each in there:
        say(each.name)
        say(f"  {each.program.stat().st_size / 1e6:.1f} MB, SHA-256 {each.sha256}")
        say(f"  from {each.source}, by {each.compiler}")
        say(f"  lacks: {', '.join(each.lacking()) or 'nothing'}")


@kernel.command
@click.argument(
    "version", required=False, help="A kernel: a version or a name, as `status` shows it.", metavar="[VERSION]"
)
@click.pass_context
def test(ctx: click.Context, version: str | None) -> None:
    """Boot kernels and check clock, repetition, controllers and queue disciplines.

    Without a VERSION all kernels are tested. The exit code is 1 if a check fails.
    """
    from windtunnel.kernel.kept import choose, kernels, matching, whole
    from windtunnel.kernel.trial import trial

    there = kernels() or [choose()]
    failed = 0
    for each in there if version is None else matching(version, there):
        say(whole(each).name)
        for check in trial(each):
            word = {True: "passed", False: "FAILED", None: "not tried"}[check.passed]
            failed += check.passed is False
            say(f"  {word:9}  {check.name}{'' if check.said == 'ok' else f': {check.said}'}")
    ctx.exit(1 if failed else 0)


@kernel.command
@click.argument(
    "version", required=False, help="A kernel: a version or a name, as `status` shows it.", metavar="[VERSION]"
)
@click.option("--all", "everything", is_flag=True, help="Remove all kernels.")
def remove(version: str | None, everything: bool) -> None:
    """Remove kernels from the cache."""
    from windtunnel.errors import InputError
    from windtunnel.kernel.kept import kernels, matching
    from windtunnel.kernel.kept import remove as remove_kernel

    if (version is None) != everything:
        raise InputError("name a kernel, as `windtunnel kernel status` shows it, or give --all")
    there = kernels()
    for each in there if version is None else matching(version, there):
        remove_kernel(each)
        say(f"removed {each.name}")


def _facts(each: Kernel) -> dict[str, object]:
    return {"name": each.name, **each.facts(), "bytes": each.program.stat().st_size, "folder": str(each.folder)}


@contextmanager
def _steps() -> Iterator[Steps]:
    """What a build says: on a terminal a line that moves, elsewhere a line now and then."""
    from windtunnel.kernel.build import Steps

    if sys.stderr.isatty():
        from windtunnel.cli.consoles import messages

        with messages().status("") as line:
            yield Steps(line.update, lambda steps: line.update(steps.words()))
        return
    last = time.monotonic()

    def moved(steps: Steps) -> None:
        nonlocal last
        if time.monotonic() - last > _LINE:
            last = time.monotonic()
            message(steps.words())

    yield Steps(message, moved)
