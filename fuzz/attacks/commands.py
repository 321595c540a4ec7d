"""Odd command lines in odd environments: random options and values, a closed or full stdout, foreign locales."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

from fuzz.attacks import samples
from fuzz.attacks.campaign import Attack
from fuzz.attacks.program import Fault, environment, judge, run

#: Commands with their arguments, and the options that each takes.
COMMANDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("run", "attack.toml"), ("--out", "--set", "--force", "--json", "--figures", "--plugin")),
    (("check", "attack.toml"), ("--set", "--plugin")),
    (("plot", "run"), ("--out", "--from", "--to", "--state", "--force")),
    (("export", "run"), ("--csv", "--parquet", "--xplot", "--pcapng", "--flent", "--ss", "--flowgrind", "--force")),
    (("list",), ("--json", "--help")),
    (("schema",), ("--help",)),
    (("reproduce", "nothing"), ("--quick", "--only", "--out")),
    (("--version",), ("--help",)),
)
FLAGS = {"--force", "--json", "--figures", "--quick", "--help"}
VALUES = (
    *("", "-", "--", "0", "-1", "1e309", "nan", "x" * 5000, "a b", "\N{CRAB}", "\x1b[2J", "a\nb", "=", "a="),
    *("../../x", "/dev/null", "/", "out", "attack.toml", "run", "/proc/self/mem"),
    *("flow[0].rtt=1 ms", "flow[9].rtt=1 ms", "flow=[]", "duration=0.1 s", "record.interval=1 s"),
    *("bottleneck.rate=1 x\nerror: no", "title=\x1b]0;x\x07"),
)
ENVIRONMENTS: tuple[dict[str, str | None], ...] = (
    {},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "no_SUCH.locale"},
    {"LC_ALL": "tr_TR.UTF-8"},
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
    {"MPLBACKEND": "nonsense"},
    {"MPLBACKEND": "TkAgg", "DISPLAY": None},
    {"COLUMNS": "1"},
    {"COLUMNS": "abc", "LINES": "-1"},
    {"TERM": "nonsense"},
    {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"},
    {"HOME": None, "USER": None},
    {"NO_COLOR": "1", "FORCE_COLOR": "1"},
    {"TZ": "nonsense"},
)
STDOUTS = ("a pipe", "a pipe", "a pipe", "closed", "full", "a broken pipe")


def arguments(stream: random.Random) -> list[str]:
    """A random command line: mostly known options, sometimes nonsense."""
    command, options = stream.choice(COMMANDS)
    words = list(command)
    for _ in range(stream.randrange(4)):
        option = stream.choice(options)
        words.append(option)
        if option not in FLAGS or stream.random() < 0.1:
            words.append(stream.choice(VALUES))
    if stream.random() < 0.2:
        words[stream.randrange(len(words))] = stream.choice(VALUES)
    return words


def attempt(stream: random.Random, folder: Path) -> None:
    """A command line in an environment."""
    samples.write_scenario(folder)
    samples.write_results(folder)
    words, env = arguments(stream), environment(**stream.choice(ENVIRONMENTS))
    kind = stream.choice(STDOUTS)
    if kind == "closed":
        done = run(folder, *words, env=env, stdout=subprocess.DEVNULL, prepare=_close_stdout)
    elif kind == "full":
        with Path("/dev/full").open("wb") as full:
            done = run(folder, *words, env=env, stdout=full.fileno())
    elif kind == "a broken pipe":
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = run(folder, *words, env=env, stdout=writer)
        finally:
            os.close(writer)
    else:
        done = run(folder, *words, env=env)
    try:
        judge(done, folder)
    except Fault as fault:
        changes = {k: v for k, v in env.items() if os.environ.get(k) != v}
        raise Fault(f"stdout is {kind}, environment {changes}: {fault}") from None


def _close_stdout() -> None:
    os.close(1)


ATTACK = Attack("commands", attempt)
