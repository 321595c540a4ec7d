"""What a scenario may contain: ``windtunnel list`` shows the algorithms with their parameters, defaults, units and
sources; ``windtunnel schema`` is for editors.
"""

from __future__ import annotations

import json as json_
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windtunnel.cli.completion import kinds, names_of_kind
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.streams import say, write_json
from windtunnel.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

Entry = Mapping[str, Any]
Listing = Mapping[str, Sequence[Entry]]
_INDENT = 4 * " "


@click.command
@click.argument(
    "kind",
    required=False,
    shell_complete=kinds,
    help="controllers, slow-starts, responses, queues, applications, distributions, impairments, presets, tcp, acks; "
    "or a NAME in any.",
)
@click.argument("name", required=False, shell_complete=names_of_kind, help="Show only this one.")
@click.option("--json", is_flag=True, help="Print JSON.")
@plugin_option
def list_(kind: str | None, name: str | None, json: bool, plugin: tuple[Path, ...]) -> None:
    """Show every algorithm, application, impairment, preset and mechanism with its parameters."""
    from windtunnel.kinds import listing

    load_plugins(plugin)
    chosen = _choose(listing(), kind, name)
    if json:
        write_json(json_.dumps(chosen, indent=2, ensure_ascii=False))
        return
    from windtunnel.cli.consoles import output

    console = output()
    for i, (group, entries) in enumerate(chosen.items()):
        if i:
            console.print()
        console.print(_label(group).upper(), style="bold")
        for entry in entries:
            _show(entry, console)


@click.command
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write it to this file, next to your scenarios, instead of stdout.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@plugin_option
def schema(out: Path | None, force: bool, plugin: tuple[Path, ...]) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from windtunnel.editor_schema import editor_schema

    load_plugins(plugin)
    text = editor_schema()
    if out is None:
        if force:
            raise InputError("--force needs --out: there is no file to replace")
        write_json(text)
        return
    from windtunnel.atomic import staged_file

    with staged_file(out, force=force) as staged:
        staged.write_text(text, encoding="utf-8", newline="\n")
    say(out)


def _choose(listing: Listing, kind: str | None, name: str | None) -> Listing:
    """The requested part of the listing. Raises InputError for a name that is not in it."""
    if kind is None:
        return listing
    kinds = {_label(k): k for k in listing}
    wanted = kind.lower().replace("_", "-")
    group = kinds.get(wanted) or kinds.get(wanted + "s")
    if group is None:
        if name is None and (matches := _find(listing, kind)):
            return matches
        names = [n for entries in listing.values() for e in entries for n in _names(e)]
        hint = did_you_mean(kind, [*kinds, *names])
        raise InputError(f"there is no kind or algorithm `{kind}`; kinds are {', '.join(kinds)}{hint}")
    if name is None:
        return {group: listing[group]}
    matches = _find({group: listing[group]}, name)
    if not matches:
        names = [n for entry in listing[group] for n in _names(entry)]
        hint = did_you_mean(name, names)
        raise InputError(f"none of the {_label(group)} is named `{name}`; there are {', '.join(names)}{hint}")
    return matches


def _find(listing: Listing, name: str) -> Listing:
    matches = {kind: [e for e in entries if name.lower() in _names(e)] for kind, entries in listing.items()}
    return {kind: entries for kind, entries in matches.items() if entries}


def _names(entry: Entry) -> list[str]:
    return [entry["name"], *entry.get("aliases", ())]


def _label(kind: str) -> str:
    return kind.replace("_", "-")


def _show(entry: Entry, console: Console) -> None:
    """Name and summary, then source and parameters, indented; no line is wider than the terminal."""
    from rich.text import Text

    aliases = f" ({', '.join(entry['aliases'])})" if entry.get("aliases") else ""
    console.print()
    console.print(Text.assemble((entry["name"], "bold cyan"), aliases))
    _indented(Text(entry["summary"]), console)
    if entry.get("source"):
        _indented(Text(f"Source: {entry['source']}", style="dim"), console)
    if entry.get("keys"):
        _indented(Text("\n" + entry["keys"].rstrip(), style="cyan"), console)
    if entry["parameters"]:
        _indented(_parameters(entry["parameters"]), console)


def _indented(what: Text | Table, console: Console) -> None:
    from rich.text import Text

    with console.capture() as capture:
        console.print(what, width=max(20, console.width - len(_INDENT)))
    text = "\n".join(_INDENT + line.rstrip() for line in capture.get().splitlines())
    console.print(Text.from_ansi(text), no_wrap=True, crop=False, overflow="ignore")


def _parameters(parameters: Sequence[Entry]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column("parameter", no_wrap=True)
    table.add_column("default", overflow="fold", max_width=12)
    # Most algorithms have numbers without a unit.
    units = any(p.get("unit") for p in parameters)
    if units:
        table.add_column("unit", overflow="fold", max_width=14)
    table.add_column("description", ratio=1)
    for parameter in parameters:
        cells = [parameter["name"], _default(parameter.get("default")), _description(parameter)]
        if units:
            cells.insert(2, parameter.get("unit") or "")
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _description(parameter: Entry) -> str:
    text = " ".join((parameter.get("description") or "").split())  # the source's line breaks mean nothing to readers
    # For a choice between names, the type is their list.
    choices = (parameter.get("type") or "").replace(" | ", ", ")
    if isinstance(parameter.get("default"), Mapping):
        return f"{text} A value, or a distribution: {choices}."
    return f"{text} One of: {choices}." if ", " in choices else text


def _default(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):  # a distribution; a fixed one is its value
        keys = ", ".join(f"{key} {value[key]}" for key in value if key != "kind")
        return str(value["value"]) if value.get("kind") == "fixed" else f"{value.get('kind')}, {keys}"
    return value if isinstance(value, str) else json_.dumps(value)
