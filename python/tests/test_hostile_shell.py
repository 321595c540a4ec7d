"""Hostile surroundings: control characters in names, streams that are closed or lack Unicode, little memory."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from conftest import PROGRAM, Cli, environment

from windtunnel.cli.consoles import Output
from windtunnel.printable import printable
from windtunnel.progress import progress_bar

#: Colours, a window title, a bell, NUL, a C1 control, a reversed direction; formulas and markup; rare glyphs.
TITLE = "\x1b[31mred \x1b]0;owned\x07 \x00 \x9b1m \u202e \r\nerror: forged $5 $6_{ [/oops] \U0001f98a\U0001f9ff"
HOSTILE = {
    "title": TITLE,
    "duration": "1 s",
    "bottleneck": {"rate": "10 Mbit/s", "queue": {"kind": "fifo", "limit": "1 bdp"}},
    "flow": [
        {"name": "_\x1b[2J\nerror: forged[/x]", "cc": "reno", "rtt": "20 ms"},
        {"name": "caf\xe9", "cc": "reno", "rtt": "20 ms"},
    ],
    "window": [{"name": "\x9b31mw", "from": "0 s", "to": "1 s"}],
}
#: Characters that control a terminal, except line ends.
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A scenario file full of control characters."""
    import tomli_w

    path = tmp_path / "hostile.toml"
    path.write_text(tomli_w.dumps(HOSTILE), encoding="utf-8")
    return path


def harmless(text: str) -> None:
    """Check that no character controls the terminal, and that no line is forged."""
    assert CONTROLS.search(text) is None, repr(text)
    assert not [line for line in text.splitlines() if line.startswith("error: forged")]


def test_printable() -> None:
    """Control characters become escapes as in Rust and Python, and undecodable bytes show their value; text that only
    looks odd stays.
    """
    assert printable("a\x1b\x00\n\r\t\x7f\x9b\u2028\u202e") == r"a\x1b\x00\n\r\t\x7f\x9b\u2028\u202e"
    assert printable(os.fsdecode(b"caf\xe9")) == r"caf\xe9"
    harmless = "Gr\xf6\xdfe \u2013 5 \xb5s, \u65e5\u672c, \U0001f469\u200d\U0001f467"
    assert printable(harmless) == harmless


def test_control_characters_do_not_reach_the_terminal(cli: Cli, hostile: Path, tmp_path: Path) -> None:
    """Summary and messages show the escapes; the folder's files keep the characters; Matplotlib draws the figures
    without warnings.
    """
    done = cli("run", hostile.name, "--figures", "--out", "o")
    assert (done.returncode, done.stderr) == (0, "")
    harmless(done.stdout)
    assert r"\x1b[31mred" in done.stdout.splitlines()[0]
    assert r"error: forged $5 $6_{ [/oops]" in done.stdout.splitlines()[0]
    assert r"_\x1b[2J\nerror: forged[/x]" in done.stdout
    assert r"\x9b31mw: 0 to 1 s" in done.stdout
    document = json.loads((tmp_path / "o" / "summary.json").read_text(encoding="utf-8"))
    assert document["meta"]["title"] == TITLE
    assert document["flows"][0]["name"] == HOSTILE["flow"][0]["name"]  # type: ignore[index]
    svg = (tmp_path / "o" / "figure.svg").read_text(encoding="utf-8")
    assert r"\x1b[31mred" in svg
    assert "$5 $6_{ [/oops]" in svg
    assert r"_\x1b[2J\nerror: forged[/x]" in svg


def test_file_names_and_arguments(cli: Cli, hostile: Path) -> None:
    """A file name stays on one line of a message, whether the command line refuses it or a run does."""
    for arguments in (
        ["check", "no\x1b[31m\nerror: forged"],
        ["run", hostile, "--plugin", "\x9b31m.py"],
        ["export", "no\x1b[31m\nerror: forged", "--csv", "x"],
        ["plot", hostile.parent, "--panel", "\x1b[31m"],
        ["\x1b[31m"],
    ):
        done = cli(*arguments)
        assert done.returncode == 2
        harmless(done.stdout + done.stderr)


def test_progress_bar_shows_them() -> None:
    """The title next to the progress bar is made printable too."""
    screen = io.StringIO()
    console = Output(file=screen, force_terminal=True, markup=False, _environ={"TERM": "xterm"})
    with progress_bar("\x1b]0;owned\x07 [/x]", console) as update:
        assert update is not None
        update(0.5)
        time.sleep(0.3)  # it is drawn ten times a second
    seen = screen.getvalue()
    assert r"\x1b]0;owned\x07 [/x]" in seen
    assert "\x1b]" not in seen
    assert "\x07" not in seen


def test_a_terminal_gets_documents_escaped(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TOML may hold C1 controls and reversed directions as they are; on a terminal they are escapes of TOML."""
    from windtunnel import Scenario
    from windtunnel.cli.streams import write_text

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    text = Scenario.from_file(hostile).check()
    assert CONTROLS.search(text)
    monkeypatch.setattr(sys, "stdout", Terminal())
    write_text(text)
    shown = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert CONTROLS.search(shown) is None
    assert tomllib.loads(shown) == tomllib.loads(text)


def test_a_stream_without_unicode(shell: Cli, hostile: Path, tmp_path: Path) -> None:
    """On an ASCII stdout, characters appear as numbers and tables in ASCII; JSON and TOML read back. The backend of
    Matplotlib has no effect.
    """
    env = {**environment(), "PYTHONIOENCODING": "ascii", "MPLBACKEND": "nonsense"}
    done = shell("run", hostile.name, "--figures", "--out", "o", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert r"caf\u00e9" in done.stdout
    assert (tmp_path / "o" / "figure.png").exists()
    assert json.loads(shell("run", hostile.name, "--json", env=env).stdout)["meta"]["title"] == TITLE
    assert tomllib.loads(shell("check", hostile.name, env=env).stdout)["flow"][1]["name"] == "caf\xe9"
    listed = shell("list", "controllers", "cubic", env=env)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout.isascii()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [(">&-", 2, "error: standard output is closed; redirect it to a file or to /dev/null\n"), ("2>&-", 0, "")],
)
def test_closed_streams(hostile: Path, tmp_path: Path, redirection: str, code: int, message: str) -> None:
    """A closed stdout is refused before anything runs; a closed stderr does not matter."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, *PROGRAM]
    command += ["run", hostile.name]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, message)
    assert (tmp_path / "results").exists() == (code == 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_help_on_a_full_disk(shell: Cli) -> None:
    """Printing can also fail while the command line is read."""
    for option in ("--help", "--version"):
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            done = shell(option, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 2
        assert done.stderr == "error: standard output cannot be written: the disk is full\n"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")
def test_little_memory_leaves_nothing(shell: Cli, hostile: Path, tmp_path: Path) -> None:
    """400 MB of address space are too little for the libraries that draw figures: there is a message, and nothing
    half-written.
    """
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (400_000 * 1024, resource.RLIM_INFINITY))

    done = shell("run", hostile.name, "--out", "o", preexec_fn=limit)
    assert "Traceback" not in done.stderr
    left = {p.name for p in tmp_path.iterdir()} - {hostile.name}
    assert (done.returncode, left) in ((0, {"o"}), (1, set()))
    assert (done.returncode == 0) == (done.stderr == "")
