"""``windtunnel flowgrind``: flowgrind's command lines, simulated, with its report as the output."""

import os
import tempfile
from pathlib import Path
from typing import Any

import click

from windtunnel.atomic import staged
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.streams import say, write_text
from windtunnel.errors import InputError
from windtunnel.flowgrind import Command, default_path, read_command, read_script, scenario_of
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario
from windtunnel.scenario_file import read_text

#: Where the command's captures see packets, by the side that dumps, and their files.
_TAPS = {"s": "sender", "d": "receiver"}


@click.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@click.option(
    "--path",
    type=click.Path(path_type=Path),
    help="Scenario file with the path; its first flow is the pattern of all.",
    show_default="40 Mbit/s, 100 ms, 240 packets",
)
@click.option(
    "--script",
    type=click.Path(path_type=Path),
    help="Read the commands from a shell script with loops, instead of the arguments.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write: the files that the script names.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@plugin_option
@click.pass_context
def flowgrind(
    ctx: click.Context,
    path: Path | None,
    script: Path | None,
    out: Path | None,
    force: bool,
    plugin: tuple[Path, ...],
) -> None:
    """Simulate what a flowgrind command line measures, and print its report.

    Read are -n, -F, -i, -O, -T, -Y, -W and -M; hosts and the sizes of the application's buffers have no effect.
    """
    load_plugins(plugin)
    text = default_path() if path is None else read_text(path)
    if script is None:
        if out is not None:
            raise InputError(
                "--out goes with --script; a single report goes to the output, each capture (-M) to a file"
            )
        _single(read_command(ctx.args), text, path, force=force)
        return
    if ctx.args:
        raise InputError(f"--script takes no further arguments, such as {ctx.args[0]}")
    _script(script, text, path, out or Path("results", script.stem), force=force)


def _single(command: Command, text: str, path: Path | None, *, force: bool) -> None:
    """Print the report of one command, and write the captures it asks for into the current folder."""
    captures = {side: Path(f"flowgrind-{tap}.pcapng") for side, tap in _TAPS.items() if side in command.dump}
    for capture in captures.values():
        if capture.exists() and not force:
            raise InputError(f"{capture}: exists already; replace it with --force")
    result = _scenario(command, text, path).run()
    write_text(_report(result))
    for side, capture in captures.items():
        _export(result, "pcapng", capture, force=force, points=(_TAPS[side],))


def _script(script: Path, text: str, path: Path | None, out: Path, *, force: bool) -> None:
    """Run each command of the script and write the files it names, all or none."""
    lines = read_script(read_text(script), os.environ)
    names = [Path(line.file).name or f"{number}.txt" for number, line in enumerate(lines, 1)]
    if len(set(names)) < len(names):
        raise InputError(f"{script}: two commands write the same file")
    scenarios = [_scenario(line.command, text, path) for line in lines]
    for scenario in scenarios:
        scenario.check()
    with staged(
        out, force=force, ours=lambda folder: all(f.suffix in (".csv", ".txt") for f in folder.iterdir())
    ) as to:
        for name, line, scenario in zip(names, lines, scenarios, strict=True):
            (to / name).write_text(line.kept(_report(scenario.run())), encoding="utf-8")
    for name in names:
        say(out / name)


def _scenario(command: Command, text: str, path: Path | None) -> Scenario:
    return Scenario.from_toml(scenario_of(command, text), file=str(path) if path else "flowgrind's path")


def _report(result: RunResult) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report")
        _export(result, "flowgrind", file)
        return file.read_text(encoding="utf-8")


def _export(result: RunResult, kind: str, path: Path, **options: Any) -> None:
    # The other commands need not wait for the exporters' libraries.
    from windtunnel.export import export_file

    export_file(result, kind, path, **options)
