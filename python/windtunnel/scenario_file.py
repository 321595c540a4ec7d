"""Reads the text of a scenario file, with a message for each kind of file that cannot be one; and says which scenario
files another file may name.
"""

import os
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path

from windtunnel._core import LONGEST_SCENARIO as MAX_BYTES
from windtunnel.errors import InputError, did_you_mean, reason
from windtunnel.input_file import STDIN as STDIN
from windtunnel.input_file import open_input, shown_name


def folder_of(path: Path) -> Path:
    """Where the names of files are searched for that a file has in it. What comes through a pipe has the current
    folder.
    """
    return path.parent if path.is_file() else Path()


def named_file(name: str, folder: Path, allow_read: Sequence[str | Path] = ()) -> Path:
    """The scenario file that a file in ``folder`` names: a regular file in this folder or below it, or where the user
    allows more, as for the files that a scenario names. Links are followed.

    Raises InputError; for other files its message does not reveal whether they exist.
    """
    try:
        resolved, *allowed = (path.resolve() for path in (folder / name, folder, *map(Path, allow_read)))
    except (OSError, RuntimeError):  # links in a circle
        raise InputError(f"{name!r}: cannot be read: its links lead nowhere") from None
    except ValueError:  # a NUL in the name
        raise InputError(f"{name!r}: is not a file name") from None
    if not any(resolved.is_relative_to(each) for each in allowed):
        raise InputError(
            f"{name!r} is not allowed: a scenario file in the folder of this file or below it, also at the end of "
            "links; --allow-read PATH (in Python allow_read) allows more"
        )
    if resolved.exists() and not (resolved.is_file() or resolved.is_dir()):
        raise InputError(f"{name!r} is not allowed: a regular file; this is a pipe or a device")
    return folder / name


def read_text(path: Path) -> str:
    """The text of the file, or of a stream (``-`` for the standard input). Raises InputError if it is missing, no file,
    unreadable, too large or not UTF-8.
    """
    try:
        with open_input(path) as opened, BufferedReader(opened) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_BYTES:
                raise InputError(_too_large(path, f"{size / 1e6:.0f} MB"))
            data = file.read(MAX_BYTES + 1)
    except InputError:
        raise
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; a scenario file (TOML) is needed{_scenarios_in(path)}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file{_nearest(path)}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason(error)}") from None
    except ValueError:  # a NUL in the name
        raise InputError(f"{str(path)!r}: is not a file name") from None
    return _decoded(shown_name(path), data)


def _decoded(path: str, data: bytes) -> str:
    if len(data) > MAX_BYTES:  # a stream, which has no size
        raise InputError(_too_large(path, "more"))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        raise InputError(
            f"{path}:{line}: is not UTF-8 text: byte 0x{byte:02x} at offset {error.start}{_encoding(data)}"
        ) from None


def _too_large(path: str | Path, size: str) -> str:
    return f"{path}: is too large for a scenario file: {size}, at most {MAX_BYTES / 1e6:.0f} MB"


def _encoding(data: bytes) -> str:
    return "; the file looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""


def _nearest(path: Path) -> str:
    try:
        names = {entry.name.lower(): str(entry) for entry in path.parent.iterdir() if entry.is_file()}
    except OSError:
        return ""
    hint = did_you_mean(path.name, names)
    for name, full in names.items():
        if f"`{name}`" in hint:
            return hint.replace(f"`{name}`", f"`{full}`")
    return hint


def _scenarios_in(folder: Path) -> str:
    try:
        files = sorted(str(entry) for entry in folder.glob("*.toml"))
    except OSError:
        return ""
    return f", for example {files[0]}" if files else ""
