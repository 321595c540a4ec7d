"""``windtunnel export``: a result folder in formats that other programs read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from windtunnel.cli.consoles import output
from windtunnel.errors import InputError, did_you_mean
from windtunnel.folder import load


class Link(StrEnum):
    """The link-layer header of captured packets."""

    ethernet = "ethernet"
    raw = "raw"


class Ip(StrEnum):
    """Versions of IP."""

    v4 = "4"
    v6 = "6"


def export(
    result_dir: Annotated[Path, typer.Argument(help="Result folder of `windtunnel run`.")],
    csv: Annotated[Path | None, typer.Option("--csv", metavar="DIR", help="Write every table as CSV.")] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="DIR", help="Write every table as Parquet.")
    ] = None,
    xplot: Annotated[
        Path | None, typer.Option("--xplot", metavar="DIR", help="Write the four plots for xplot.")
    ] = None,
    pcapng: Annotated[
        Path | None,
        typer.Option("--pcapng", metavar="FILE", help="Write the packets as a capture; needs record.packets."),
    ] = None,
    flent: Annotated[
        Path | None, typer.Option("--flent", metavar="FILE", help="Write a data file of Flent (.flent.gz).")
    ] = None,
    ss: Annotated[
        Path | None, typer.Option("--ss", metavar="FILE", help="Write what `ss -tin` would have shown over time.")
    ] = None,
    flowgrind: Annotated[
        Path | None, typer.Option("--flowgrind", metavar="FILE", help="Write flowgrind's interval reports.")
    ] = None,
    tc: Annotated[
        Path | None,
        typer.Option("--tc", metavar="FILE", help="Write the queues, rates and delays as commands of tc (iproute2)."),
    ] = None,
    points: Annotated[
        str,
        typer.Option(
            "--points",
            metavar="LIST",
            help="Where the capture sees packets: sender, queue-in, queue-out, receiver, separated by commas, or all. "
            "With more than one point, an analyser takes a packet's repeated appearances for retransmissions.",
        ),
    ] = "sender",
    link: Annotated[Link, typer.Option("--link", help="Ethernet headers in the capture, or none.")] = Link.ethernet,
    ip: Annotated[Ip, typer.Option("--ip", help="Version of IP in the capture.")] = Ip.v4,
    snaplen: Annotated[int, typer.Option("--snaplen", min=0, help="Bytes to capture of each packet; 0 for all.")] = 128,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export of the same format.")] = False,
) -> None:
    """Export a result folder. CSV, Parquet and xplot each need a new folder, the other formats a file."""
    folders = _given(csv=csv, parquet=parquet, xplot=xplot)
    files = _given(pcapng=pcapng, flent=flent, ss=ss, flowgrind=flowgrind, tc=tc)
    places = [*folders.values(), *files.values()]
    if not places:
        raise InputError(
            "nothing to export: give --csv DIR, --parquet DIR, --xplot DIR, "
            "--pcapng FILE, --flent FILE, --ss FILE, --flowgrind FILE or --tc FILE"
        )
    if len({place.resolve() for place in places}) < len(places):
        raise InputError("each format needs a folder or a file of its own")
    options: dict[str, dict[str, Any]] = {
        "pcapng": {"points": _points(points), "link": link.value, "ip": int(ip.value), "snaplen": snaplen}
    }
    result = load(result_dir)
    from windtunnel.export import export as write
    from windtunnel.export import export_file

    for kind, place in folders.items():
        write(result, kind, place, force=force)
        output().print(str(place), soft_wrap=True)
    for kind, place in files.items():
        export_file(result, kind, place, force=force, **options.get(kind, {}))
        output().print(str(place), soft_wrap=True)


def _given(**places: Path | None) -> dict[str, Path]:
    return {kind: place for kind, place in places.items() if place}


def _points(text: str) -> tuple[str, ...]:
    """The points named in a comma-separated list, in their own order; ``all`` names all."""
    from windtunnel.export.pcapng import POINTS

    names = {name.strip() for name in text.split(",")}
    if names == {"all"}:
        return POINTS
    for name in names:
        if name not in POINTS:
            raise InputError(f"--points: `{name}` is none of {', '.join(POINTS)}{did_you_mean(name, POINTS)}")
    return tuple(point for point in POINTS if point in names)
