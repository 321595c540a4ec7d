"""``windtunnel export``: a result folder in formats that other programs read."""

from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli.consoles import output
from windtunnel.errors import InputError
from windtunnel.folder import load


def export(
    result_dir: Annotated[Path, typer.Argument(help="Result folder of `windtunnel run`.")],
    csv: Annotated[Path | None, typer.Option("--csv", metavar="DIR", help="Write every table as CSV.")] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="DIR", help="Write every table as Parquet.")
    ] = None,
    xplot: Annotated[
        Path | None, typer.Option("--xplot", metavar="DIR", help="Write the four plots for xplot.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing folder of the same export.")] = False,
) -> None:
    """Export a result folder; each format into a new folder of its own."""
    wanted = {kind: place for kind, place in (("csv", csv), ("parquet", parquet), ("xplot", xplot)) if place}
    if not wanted:
        raise InputError("nothing to export: give --csv DIR, --parquet DIR or --xplot DIR")
    if len({place.resolve() for place in wanted.values()}) < len(wanted):
        raise InputError("each format needs a folder of its own")
    result = load(result_dir)
    from windtunnel.export import export as write

    for kind, place in wanted.items():
        write(result, kind, place, force=force)
        output().print(str(place), markup=False, soft_wrap=True)
