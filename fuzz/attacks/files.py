"""Hostile files: valid scenarios, traces and result folders with a few random changes, given to every command."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.attacks import samples
from fuzz.attacks.campaign import Attack
from fuzz.attacks.program import judge, run

#: Bytes that mean something to one of the readers or to a terminal.
PIECES = [
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\x1b]0;x\x07",
    b"\x1b[2J",
    b"\r",
    b"\n",
    b'"',
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
]
PIECES += [
    b"0",
    b"-1",
    b"1e308",
    b"nan",
    b"9" * 30,
    b"true",
    b"null",
    b"../" * 9,
    "\N{CRAB}".encode(),
    b"PAR1",
    b" " * 5000,
]

#: JSON values that may replace the expected ones.
VALUES: list[Any] = [None, True, 0, -1, 1e308, 2**70, "", "x\x1b[2Jx", "\ud800", [], {}, [[]], {"a": {}}]

READERS = (
    ("plot", "run", "--out", "figure.png"),
    ("export", "run", "--csv", "csv"),
    ("export", "run", "--parquet", "tables"),
    ("export", "run", "--flent", "run.flent.gz"),
    ("export", "run", "--ss", "ss.txt"),
    ("export", "run", "--xplot", "xplot"),
    ("export", "run", "--pcapng", "run.pcapng"),
)


def change(data: bytes, stream: random.Random) -> bytes:
    """Makes one to eight changes of bytes."""
    changed = bytearray(data)
    for _ in range(stream.randint(1, 8)):
        at, to = sorted(stream.randint(0, len(changed)) for _ in range(2))
        match stream.randrange(6):
            case 0:
                changed[at:at] = stream.choice(PIECES)
            case 1:
                del changed[at : min(to, at + 20)]
            case 2:
                changed[at:at] = changed[at : min(to, at + 200)]
            case 3 if changed:
                changed[min(at, len(changed) - 1)] ^= 1 << stream.randrange(8)
            case 4:
                changed[at : at + 4] = stream.randbytes(4)
            case _:
                del changed[to:]
    return bytes(changed)


def change_json(document: Any, stream: random.Random) -> Any:
    """Replaces or removes one value somewhere."""
    if isinstance(document, dict) and document and stream.random() < 0.9:
        key = stream.choice(sorted(document))
        if stream.random() < 0.2:
            return {k: v for k, v in document.items() if k != key}
        return {**document, key: change_json(document[key], stream)}
    if isinstance(document, list) and document and stream.random() < 0.9:
        at = stream.randrange(len(document))
        return [*document[:at], change_json(document[at], stream), *document[at + 1 :]]
    return stream.choice(VALUES)


def attack_scenario(stream: random.Random, folder: Path) -> None:
    """A scenario file."""
    file = samples.write_scenario(folder)
    file.write_bytes(change(file.read_bytes(), stream))
    judge(run(folder, "check", file.name), folder)


def attack_trace(stream: random.Random, folder: Path) -> None:
    """A trace."""
    file = samples.write_scenario(folder)
    trace = folder / "up.trace"
    trace.write_bytes(change(trace.read_bytes(), stream))
    judge(run(folder, "check", file.name), folder)


def attack_results(stream: random.Random, folder: Path) -> None:
    """A file of a result folder."""
    results = samples.write_results(folder)
    readable = sorted(p for p in results.rglob("*") if p.suffix in (".json", ".toml", ".parquet"))
    file = stream.choice([results / "summary.json", *readable])
    if file.suffix == ".json" and stream.random() < 0.7:
        document = change_json(json.loads(file.read_text(encoding="utf-8")), stream)
        file.write_text(json.dumps(document), encoding="utf-8")
    else:
        file.write_bytes(change(file.read_bytes(), stream))
    judge(run(folder, *stream.choice(READERS)), folder)


#: One case of a kind.
Attempt = Callable[[random.Random, Path], None]
KINDS: tuple[Attempt, ...] = (attack_scenario, attack_trace, attack_results)


def attempt(stream: random.Random, folder: Path) -> None:
    """A hostile file of any kind."""
    stream.choice(KINDS)(stream, folder)


ATTACK = Attack("files", attempt)
