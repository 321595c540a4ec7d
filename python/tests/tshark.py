"""Captures as tshark reads them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")

#: Severities of expert information.
COMMENT, CHAT, NOTE, WARNING = "1048576", "2097152", "4194304", "6291456"


def tshark(path: Path, *fields: str, only: str = "", options: tuple[str, ...] = ()) -> list[list[str]]:
    """The fields of each packet that passes a display filter; checksums are verified.

    Where a packet has a field several times, its values are separated by ``|``.
    """
    assert TSHARK is not None
    checks = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]
    command = [TSHARK, "-n", *checks, *options, "-r", str(path), "-Tfields", "-Eseparator=/t", "-Eaggregator=|"]
    command += [f"-e{name}" for name in fields] + (["-Y", only] if only else [])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]
