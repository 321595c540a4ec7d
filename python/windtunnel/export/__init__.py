"""Results in formats that other programs read: CSV, Parquet, xplot, qlog; pcapng, and a profile for Wireshark; Flent,
the text of ss, flowgrind and tc.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from windtunnel.atomic import staged, staged_file
from windtunnel.errors import InputError
from windtunnel.export.flent import FLENT_SUFFIX, write_flent
from windtunnel.export.flowgrind import write_flowgrind
from windtunnel.export.pcapng import write_pcapng
from windtunnel.export.qlog import SUFFIXES, write_qlog
from windtunnel.export.ss import write_ss
from windtunnel.export.tables import write_csv, write_parquet
from windtunnel.export.tc import write_tc
from windtunnel.export.wireshark import FILES as WIRESHARK_FILES
from windtunnel.export.wireshark import write_wireshark_profile
from windtunnel.export.xplot import write_xplot
from windtunnel.result import RunResult

#: Writers by format: each fills an empty folder with files whose names end in ``FORMATS[name][1]``, and describes its
#: own options.
FORMATS: Mapping[str, tuple[Callable[..., object], str | tuple[str, ...]]] = {
    "csv": (write_csv, ".csv"),
    "parquet": (write_parquet, ".parquet"),
    "xplot": (write_xplot, ".xpl"),
    "qlog": (write_qlog, SUFFIXES),
    "wireshark_profile": (write_wireshark_profile, WIRESHARK_FILES),
}

#: Writers of single files by format; each describes its own options.
FILE_FORMATS: Mapping[str, Callable[..., object]] = {
    "pcapng": write_pcapng,
    "ss": write_ss,
    "flowgrind": write_flowgrind,
    "flent": write_flent,
    "tc": write_tc,
}

__all__ = [
    "FILE_FORMATS",
    "FORMATS",
    "export",
    "export_file",
    "write_csv",
    "write_flent",
    "write_flowgrind",
    "write_parquet",
    "write_pcapng",
    "write_qlog",
    "write_ss",
    "write_tc",
    "write_wireshark_profile",
    "write_xplot",
]


def export(result: RunResult, kind: str, folder: Path, *, force: bool = False, **options: Any) -> None:
    """Write ``result`` as ``kind``, one of :data:`FORMATS`, into a new folder, complete or not at all.

    ``force`` replaces a folder that holds only files of this format; ``options`` are those of the format's writer.
    Raises InputError if the path exists, cannot be written to, if the disk is full, and if the result lacks what the
    format needs.
    """
    write, extension = FORMATS[kind]

    def ours(path: Path) -> bool:
        return all(f.is_file() and f.name.endswith(extension) for f in path.iterdir())

    with staged(folder, force=force, ours=ours) as stage:
        write(result, stage, **options)


def export_file(result: RunResult, kind: str, path: Path, *, force: bool = False, **options: Any) -> None:
    """Write ``result`` as ``kind``, one of :data:`FILE_FORMATS`, into a file, complete or not at all.

    ``options`` are those of the format's writer. Raises InputError if the file exists and ``force`` is not given, if it
    cannot be written, if readers of the format do not accept its name, and if the result lacks what the format needs.
    """
    if kind == "flent" and not path.name.endswith(FLENT_SUFFIX):
        raise InputError(f"{path}: Flent reads files whose name ends in {FLENT_SUFFIX}")
    with staged_file(path, force=force) as stage:
        FILE_FORMATS[kind](result, stage, **options)
