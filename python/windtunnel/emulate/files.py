"""What the folder of an emulation has in addition to that of a run: a file for Flent, and the packets as a capture."""

from __future__ import annotations

from pathlib import Path

from windtunnel.export.connections import connections
from windtunnel.export.flent import FLENT_SUFFIX, write_flent
from windtunnel.export.pcapng import write_pcapng
from windtunnel.result import RunResult


def write_files(result: RunResult, folder: Path) -> None:
    """Write those that the result has something for."""
    if any(not connection.udp for connection in connections(result)):
        write_flent(result, folder / f"flows{FLENT_SUFFIX}")
    if "packets" in result.tables:
        write_pcapng(result, folder / "capture.pcapng")
