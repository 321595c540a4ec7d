"""A file or a stream that is explained: a capture (pcap, pcapng) or a log (qlog), whatever its name, packed or not.

A live stream is read until its writer ends, or until the user wants no more.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from windtunnel import _core
from windtunnel.errors import InputError, reason
from windtunnel.explain.log import of_log
from windtunnel.explain.packed import unpacked
from windtunnel.explain.trace import Trace, at_most, of_capture, with_less
from windtunnel.input_file import Stream, is_live, open_input, shown_name

#: What surrounds the reading of a stream; it gives a function that says whether no more is wanted.
Watch: TypeAlias = Callable[[], AbstractContextManager[Callable[[], bool]]]

_CUT = "Reading was ended by Ctrl-C while more was coming: what came after is missing."


def never() -> AbstractContextManager[Callable[[], bool]]:
    """Streams are read to their ends."""
    return nullcontext(lambda: False)


def of_file(path: Path, most: int | None = None, watch: Watch = never, keep: bool = False) -> Trace:
    """What is in it: of more connections than ``most`` those with most data; with all segments of a capture, if they
    are to be kept. Raises InputError if nothing in it can be read.
    """
    cut = False
    try:
        with open_input(path) as file:
            if is_live(file):
                with watch() as is_over:
                    stream = Stream(file, is_over)
                    kind, read = _core.read_trace(unpacked(stream, shown_name(path)), most)
                    cut = stream.cut
            else:
                kind, read = _core.read_trace(unpacked(file, shown_name(path)), most)
    except InputError:
        raise
    except OSError as error:
        what = "there is no such file or folder" if isinstance(error, FileNotFoundError) else reason(error)
        raise InputError(f"{shown_name(path)}: {what}") from None
    except ValueError as error:
        raise InputError(f"{shown_name(path)}: {error}") from None
    if kind == "qlog":
        trace = at_most(of_log(path, read), most)
    else:
        connections, segments, packets, notes, less = read
        trace = with_less(of_capture(path, connections, segments, packets, notes, keep), less)
    return replace(trace, notes=[_CUT, *trace.notes]) if cut else trace
