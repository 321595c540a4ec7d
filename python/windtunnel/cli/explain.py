"""``windtunnel explain``: what a run or a capture tells about its senders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windtunnel.cli.streams import say, write_json
from windtunnel.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

_MOST_FLOWS = 8


@click.command
@click.argument(
    "trace",
    type=click.Path(path_type=Path),
    metavar="RUN|PCAP",
    help="Result folder of `windtunnel run`, or a capture: pcap or pcapng.",
)
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--page", type=click.Path(path_type=Path), metavar="FILE", help="Write a page (HTML).")
@click.option("--all", "all_flows", is_flag=True, help="Show all flows, not only those with most data.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
def explain(trace: Path, json: bool, page: Path | None, all_flows: bool, force: bool) -> None:
    """Explain a run or a capture: what limits its senders, their windows and controllers, losses, queues,
    misbehaviour.
    """
    from windtunnel.explain import explain as explain_path

    # Refuse the place before the work, not after it.
    if page is not None and page.exists() and not force:
        raise InputError(f"{page}: exists already; choose another name with --page, or replace it with --force")
    explanation = explain_path(trace)
    if json:
        write_json(explanation.to_json())
    else:
        from windtunnel.cli.consoles import output

        _show(explanation.document, output(), None if all_flows else _MOST_FLOWS)
    if page is not None:
        from windtunnel.atomic import staged_file
        from windtunnel.explain.page import write_page

        with staged_file(page, force=force) as stage:
            write_page(explanation, stage)
        if not json:
            say(page)


def _show(document: dict[str, Any], console: Console, most: int | None) -> None:
    from rich import box
    from rich.table import Table

    from windtunnel.explain.findings import findings

    console.print(str(document["title"]), style="bold", soft_wrap=True)
    for note in document["notes"]:
        console.print(note)
    sections = list(findings(document))
    flows = len(document["flows"])
    shown = sections if most is None else sections[:most] + sections[max(flows, most) :]
    for heading, answers in shown:
        console.print()
        console.print(heading, style="bold", soft_wrap=True)
        table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False, show_edge=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for question, answer in answers:
            table.add_row(question, answer)
        console.print(table)
    if len(shown) < len(sections):
        console.print(f"\n{len(sections) - len(shown)} more flows: --all shows them.")
