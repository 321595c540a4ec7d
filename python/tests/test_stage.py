"""Stages: what a killed process leaves behind is found and removed; what a living one owns is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from conftest import HUNG, environment

from windtunnel import InputError
from windtunnel.atomic import check_free, staged, staged_file
from windtunnel.stage import stage_for, sweep

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs locks of POSIX")

#: A process that writes the folder ``o`` and then waits.
WRITER = """\
import sys, time
from pathlib import Path
from windtunnel.atomic import staged
from windtunnel.cli.signals import end_cleanly
end_cleanly()
with staged(Path(sys.argv[1]), force=True, ours=lambda _: True) as stage:
    (stage / "half").write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


def writer(target: Path, **options: object) -> subprocess.Popen[str]:
    """The process, once it has written half of the folder."""
    env = {**environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WRITER, str(target)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env, **options)  # type: ignore[call-overload]
    assert process.stdout.readline() == "ready\n"
    return process  # type: ignore[no-any-return]


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_the_stage_of_a_killed_process(tmp_path: Path) -> None:
    """A living process keeps its stage; the stage of a killed one is removed as soon as anything is written next to
    it.
    """
    with writer(tmp_path / "o") as process:
        sweep(tmp_path)
        stage, lock = names(tmp_path)
        assert (tmp_path / stage / "half").exists()
        assert lock == f"{stage}.lock"
        process.kill()
        process.wait()
    assert names(tmp_path) == [stage, lock]
    with staged_file(tmp_path / "other", force=False) as file:
        file.write_text("x", encoding="utf-8")
    assert names(tmp_path) == ["other"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_signals_that_end_a_process(tmp_path: Path, number: signal.Signals) -> None:
    """The end of the terminal and a plain kill leave nothing; a terminal that closes may send both."""
    with writer(tmp_path / "deep" / "o") as process:
        process.send_signal(number)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=HUNG) in (128 + number, 128 + signal.SIGHUP)
    assert names(tmp_path) == []


def test_nohup(tmp_path: Path) -> None:
    """A process that was told to ignore the end of its terminal goes on."""
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    with writer(tmp_path / "o", preexec_fn=ignore) as process:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert process.poll() is None
        process.terminate()


def replace_folder(target: Path) -> None:
    """What a command does with ``--force``."""
    with staged(target, force=True, ours=lambda _: True) as stage:
        (stage / "new").touch()


def test_a_signal_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a signal raises its exception while a folder is replaced, the old or the new one is in its place, and
    nothing else is left once the functions of the interpreter's end have run.
    """
    signalled = {sys.modules[name].__file__ for name in ("windtunnel.stage", "windtunnel.atomic", "contextlib")}
    at_end: list[Callable[[], object]] = []
    monkeypatch.setattr("windtunnel.stage.atexit.register", at_end.append)
    monkeypatch.setattr("windtunnel.stage.atexit.unregister", lambda end: end in at_end and at_end.remove(end))

    def ends(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit

    def replace_until(step: int) -> bool:
        """Whether the folder was replaced in fewer steps."""
        left = step

        def trace(frame: FrameType, event: str, _arg: object) -> Any:
            nonlocal left
            if frame.f_code.co_filename not in signalled:
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                left -= 1
                if left == 0:
                    sys.settrace(None)
                    signal.raise_signal(signal.SIGTERM)
            return trace

        before = sys.gettrace()
        try:
            sys.settrace(trace)
            replace_folder(tmp_path / "o")
        except SystemExit:
            return False
        finally:
            sys.settrace(before)
            for end in reversed(at_end):
                end()
            at_end.clear()
        return left > 0

    before = signal.signal(signal.SIGTERM, ends)
    try:
        step, over = 0, False
        while not over:
            (tmp_path / "o").mkdir(exist_ok=True)
            (tmp_path / "o" / "old").touch()
            over = replace_until(step := step + 1)
            assert names(tmp_path) == ["o"], step
            assert names(tmp_path / "o") in (["old"], ["new"]), step
            (tmp_path / "o" / "new").unlink(missing_ok=True)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert step > 500


def forgotten(target: Path, /, **owner: str) -> Path:
    """A stage whose owner is gone, with the lock file's content changed."""
    with stage_for(target) as stage:
        content = json.loads(stage.lock.read_text(encoding="utf-8"))
    stage.path.mkdir()
    stage.lock.write_text(json.dumps({**content, **owner}), encoding="utf-8")
    return stage.path


def test_stages_of_other_machines_stay(tmp_path: Path) -> None:
    """Stages of other machines stay, because their locks may be invisible on a shared file system. After a reboot the
    host is still the same.
    """
    theirs = forgotten(tmp_path / "o", boot="another", host="another")
    forgotten(tmp_path / "o", host="another")
    sweep(tmp_path)
    assert names(tmp_path) == [theirs.name, f"{theirs.name}.lock"]


def test_other_files_stay(tmp_path: Path) -> None:
    """Files that only look like a stage are not touched: another program's file, or one that names another folder."""
    (tmp_path / ".o.0123456789ab.partial.lock").write_text("{}", encoding="utf-8")
    (tmp_path / ".x.partial").mkdir()
    theirs = forgotten(tmp_path / "o", place="../o")
    sweep(tmp_path)
    assert set(names(tmp_path)) == {
        *(".o.0123456789ab.partial.lock", ".x.partial"),
        *(theirs.name, f"{theirs.name}.lock"),
    }


def test_an_owner_killed_before_it_wrote_its_name(tmp_path: Path) -> None:
    """The process was killed before it made a stage: the lock file is empty, and there is no stage."""
    (tmp_path / ".o.0123456789ab.partial.lock").touch()
    sweep(tmp_path)
    assert names(tmp_path) == []


def test_a_predecessor_that_was_not_replaced_comes_back(tmp_path: Path) -> None:
    """Killed between the two renames: the old folder returns, and is in the way again."""
    target = tmp_path / "o"
    stage = forgotten(target)
    aside = stage.with_suffix(".replaced")
    aside.mkdir()
    (aside / "years of work").touch()
    with pytest.raises(InputError, match="exists already"):
        check_free(target, force=False, ours=lambda _: True)
    assert names(tmp_path) == ["o"]
    assert names(target) == ["years of work"]


def test_a_predecessor_that_was_replaced_goes(tmp_path: Path) -> None:
    """Killed after both renames: the new folder stays."""
    target = tmp_path / "o"
    aside = forgotten(target).with_suffix(".replaced")
    aside.mkdir()
    target.mkdir()
    (target / "new").touch()
    sweep(tmp_path)
    assert names(tmp_path) == ["o"]
    assert names(target) == ["new"]


def test_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system without locks, folders are written as usual, and no process removes the stages of others."""
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError("no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with staged(tmp_path / "o", force=False, ours=lambda _: False) as stage:
        (stage / "x").touch()
        sweep(tmp_path)
        assert stage.exists()
    assert names(tmp_path) == ["o"]
