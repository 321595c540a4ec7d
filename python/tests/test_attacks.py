"""A few cases of each attack of ``make fuzz``: hostile files, odd commands and environments, kills."""

from __future__ import annotations

import json
import random
import signal
import sys
from pathlib import Path

import pytest

from fuzz.attacks import commands, files, interrupted, kills, samples
from fuzz.attacks.campaign import Attack, search
from fuzz.attacks.program import Done, Fault, judge


@pytest.mark.parametrize("attempt", files.KINDS, ids=lambda attempt: attempt.__name__)
@pytest.mark.parametrize("seed", [1, 2])
def test_hostile_files(attempt: files.Attempt, seed: int, tmp_path: Path) -> None:
    """Whatever a file contains, there is one message, nothing half-written, and no traceback."""
    attempt(random.Random(seed), tmp_path)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5, 19])
def test_odd_commands(seed: int, tmp_path: Path) -> None:
    """The same holds for any command line in any environment."""
    commands.attempt(random.Random(seed), tmp_path)


@pytest.mark.parametrize("number", kills.SIGNALS, ids=lambda number: number.name)
def test_kills(number: signal.Signals, tmp_path: Path) -> None:
    """A run that is told to stop leaves nothing half-written; the next run removes what a killed run left."""
    kills.kill(random.Random(1), tmp_path, (number,))


@pytest.mark.parametrize("name", ["run", "sweep"])
def test_interrupted_commands(name: str) -> None:
    """A command ends at a signal, with its exit code and without a traceback, and goes on when it is given again: a run
    in the core, and runs in threads.
    """
    [command] = [command for command in interrupted.COMMANDS if command.name == name]
    interrupted.interrupt(command, 2, random.Random(1), full=False)


@pytest.mark.long
@pytest.mark.parametrize("command", interrupted.COMMANDS, ids=lambda command: command.name)
def test_interrupted_at_many_moments(command: interrupted.Command, capsys: pytest.CaptureFixture[str]) -> None:
    """Each signal at 20 random moments of each long command, which ends soon; how soon is reported."""
    ended = interrupted.interrupt(command, 20 * len(kills.HEARD), random.Random(1), full=True)
    with capsys.disabled():
        print(f"\n{interrupted.summary(command, ended)}")


@pytest.mark.parametrize(
    ("code", "spoke", "said", "fault"),
    [
        (0, True, "out\n", "exit code"),
        (-15, True, "", "exit code"),
        (1, True, "error: x", "exit code"),
        (143, True, "Traceback (most recent call last):", "inside"),
        (143, True, "thread 'main' panicked at x", "inside"),
    ],
)
def test_broken_promises_to_signals_are_seen(code: int, spoke: bool, said: str, fault: str, tmp_path: Path) -> None:
    """A command that goes on to its end, or shows its inside, is noticed; so is one that ends late."""
    command, number = interrupted.COMMANDS[0], signal.SIGTERM
    (tmp_path / "said").write_text(said, encoding="utf-8")
    with pytest.raises(Fault, match=fault):
        interrupted.check(command, interrupted.Ended(number, 1.0, 0.1, 0.1, code, spoke), tmp_path)
    (tmp_path / "said").write_text("", encoding="utf-8")
    interrupted.check(command, interrupted.Ended(number, 1.0, 20.0, 1.9, 143, True), tmp_path)
    with pytest.raises(Fault, match="ends late"):
        interrupted.check(command, interrupted.Ended(number, 1.0, 2.5, 2.1, 143, True), tmp_path)


def test_a_command_that_ends_late_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes by on the attack's clock while a command does nothing, as on a wall's."""
    program = "import signal, sys, time\ndef end(*_):\n time.sleep(2)\n sys.exit(143)\n"
    program += "signal.signal(signal.SIGTERM, end)\ntime.sleep(60)"
    monkeypatch.setattr(interrupted, "PROGRAM", (sys.executable, "-c", program))
    monkeypatch.setattr(interrupted, "SOON_S", 0.01)
    command = interrupted.Command("late", (), lambda *_: None)
    end = interrupted._run(command, tmp_path, tmp_path / "cache", signal.SIGTERM, 0.0)
    assert (end.code, end.number) == (143, signal.SIGTERM)
    with pytest.raises(Fault, match="ends late"):
        interrupted.check(command, end, tmp_path)


def test_changes_are_changes() -> None:
    """Most changed files differ from their originals, and most changed documents are still JSON."""
    stream = random.Random(1)
    data = samples.SCENARIO.encode()
    assert sum(files.change(data, stream) != data for _ in range(100)) > 95
    document = {"a": [1, {"b": 2}], "c": None}
    changed = [files.change_json(document, stream) for _ in range(100)]
    assert sum(each != document for each in changed) > 80
    assert all(json.loads(json.dumps(each)) == each for each in changed)


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (Done(("run",), -6, "", ""), "exit code"),
        (Done(("run",), 1, "", "Traceback (most recent call last):\n"), "inside"),
        (Done(("run",), 2, "", "error: \x1b[2J"), "control"),
        (Done(("run",), 2, "half a table", "error: no"), "stderr"),
        (Done(("run",), 2, "", ""), "stderr"),
    ],
)
def test_faults_are_seen(done: Done, said: str, tmp_path: Path) -> None:
    """The attacks notice each broken promise."""
    with pytest.raises(Fault, match=said):
        judge(done, tmp_path)


def test_leftovers_are_seen(tmp_path: Path) -> None:
    """The attacks notice what a killed run left; a failing case is kept, with its command."""

    def attempt(_: random.Random, folder: Path) -> None:
        (folder / ".run.x.partial").mkdir()
        judge(Done(("run",), 0, "", ""), folder)

    outcome = search(Attack("files", attempt), seconds=60, cases=2, seed=7, keep=tmp_path)
    assert list(outcome.failures) == [7, 8]
    assert "--seed 7 --cases 1" in (tmp_path / "fuzz-files-7" / "FAULT").read_text(encoding="utf-8")
