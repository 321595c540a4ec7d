"""A file or a stream that is explained: a capture (pcap, pcapng) or a log (qlog), whatever its name, packed or not."""

from __future__ import annotations

from pathlib import Path

from windtunnel import _core
from windtunnel.errors import InputError, reason
from windtunnel.explain.log import of_log
from windtunnel.explain.packed import unpacked
from windtunnel.explain.trace import Trace, of_capture
from windtunnel.input_file import open_input, shown_name


def of_file(path: Path) -> Trace:
    """What is in it. Raises InputError if nothing in it can be read."""
    try:
        with open_input(path) as file:
            kind, read = _core.read_trace(unpacked(file, shown_name(path)))
    except InputError:
        raise
    except OSError as error:
        what = "there is no such file or folder" if isinstance(error, FileNotFoundError) else reason(error)
        raise InputError(f"{shown_name(path)}: {what}") from None
    except ValueError as error:
        raise InputError(f"{shown_name(path)}: {error}") from None
    return of_log(path, read) if kind == "qlog" else of_capture(path, *read)
