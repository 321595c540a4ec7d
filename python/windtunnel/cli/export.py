"""``windtunnel export``: a result folder in formats that other programs read."""

from pathlib import Path
from typing import Any

import click

from windtunnel.cli.qlog import qlog_options, tell_left_out
from windtunnel.cli.streams import message, say
from windtunnel.errors import InputError, did_you_mean

_PATH = click.Path(path_type=Path)


@click.command
@click.argument("result_dir", type=_PATH, help="Result folder of `windtunnel run`.")
@click.option("--csv", type=_PATH, metavar="DIR", help="Write every table as CSV.")
@click.option("--parquet", type=_PATH, metavar="DIR", help="Write every table as Parquet.")
@click.option("--xplot", type=_PATH, metavar="DIR", help="Write the four plots for xplot.")
@click.option(
    "--qlog",
    type=_PATH,
    metavar="DIR",
    help="Write each TCP flow as qlog, a file for each of --points; needs record.packets.",
)
@click.option(
    "--wireshark-profile",
    type=_PATH,
    metavar="DIR",
    help="Write a profile for Wireshark, best into profiles/windtunnel of its personal configuration.",
)
@click.option("--pcapng", type=_PATH, metavar="FILE", help="Write the packets as a capture; needs record.packets.")
@click.option("--flent", type=_PATH, metavar="FILE", help="Write a data file of Flent (.flent.gz).")
@click.option("--ss", type=_PATH, metavar="FILE", help="Write what `ss -tin` would have shown over time.")
@click.option("--flowgrind", type=_PATH, metavar="FILE", help="Write flowgrind's interval reports.")
@click.option(
    "--tc", type=_PATH, metavar="FILE", help="Write the queues, rates and delays as commands of tc (iproute2)."
)
@click.option(
    "--points",
    metavar="LIST",
    default="sender",
    show_default=True,
    help="Where capture and qlog see packets: sender, queue-in, queue-out, receiver, separated by commas, or all. "
    "With more than one point, an analyser takes a packet's repeated appearances for retransmissions.",
)
@click.option(
    "--link",
    type=click.Choice(["ethernet", "raw"]),
    default="ethernet",
    show_default=True,
    help="Ethernet headers in the capture, or none.",
)
@click.option(
    "--ip", type=click.Choice(["4", "6"]), default="4", show_default=True, help="Version of IP in the capture."
)
@click.option(
    "--snaplen",
    type=click.IntRange(min=0),
    default=None,
    help="Bytes to capture of each packet; 0 for all. By default all where payloads are recorded, else 128.",
)
@qlog_options
@click.option("--force", is_flag=True, help="Replace an existing export of the same format.")
def export(
    result_dir: Path,
    points: str,
    link: str,
    ip: str,
    snaplen: int | None,
    qlog_version: str,
    qlog_gzip: bool,
    force: bool,
    **paths: Path | None,
) -> None:
    """Export a result folder. CSV, Parquet, xplot, qlog and a profile for Wireshark each need a new folder, the
    other formats a file.
    """
    chosen = {kind: path for kind, path in paths.items() if path}
    if not chosen:
        raise InputError(
            "nothing to export: give --csv DIR, --parquet DIR, --xplot DIR, --qlog DIR, "
            "--wireshark-profile DIR, --pcapng FILE, --flent FILE, --ss FILE, --flowgrind FILE or --tc FILE"
        )
    if len({path.resolve() for path in chosen.values()}) < len(chosen):
        raise InputError("each format needs a folder or a file of its own")
    options: dict[str, dict[str, Any]] = {
        "pcapng": {"points": _points(points), "link": link, "ip": int(ip), "snaplen": snaplen},
        "qlog": {"points": _points(points), "version": qlog_version, "compress": qlog_gzip},
    }
    from windtunnel.export import export as write
    from windtunnel.export import export_file, pcapng
    from windtunnel.folder import load

    # A capture and qlog take the packets in parts, whose number does not matter then.
    result = load(result_dir, lazily=("packets",))
    # Folders first, in the order of the help.
    for kind in sorted(chosen, key=_ORDER.index):
        if kind in _FOLDERS:
            write(result, kind, chosen[kind], force=force, **options.get(kind, {}))
        else:
            export_file(result, kind, chosen[kind], force=force, **options.get(kind, {}))
        say(chosen[kind])
    if "pcapng" in chosen and pcapng.has_zeros(result):
        message(_ZEROS)
    if "qlog" in chosen:
        tell_left_out(result)


_ZEROS = (
    "the payloads of real stacks are zeros in the capture, because the run did not record them: "
    "run it with --set record.packets=true --set record.payloads=true"
)
_FOLDERS = ("csv", "parquet", "xplot", "qlog", "wireshark_profile")
_ORDER = (*_FOLDERS, "pcapng", "flent", "ss", "flowgrind", "tc")


def _points(text: str) -> tuple[str, ...]:
    """The points named in a comma-separated list, in their own order; ``all`` names all."""
    from windtunnel.export.packets import POINTS

    names = {name.strip() for name in text.split(",")}
    if names == {"all"}:
        return POINTS
    for name in names:
        if name not in POINTS:
            raise InputError(f"--points: `{name}` is none of {', '.join(POINTS)}{did_you_mean(name, POINTS)}")
    return tuple(point for point in POINTS if point in names)
