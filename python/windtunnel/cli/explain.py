"""``windtunnel explain``: what runs, captures and logs tell about their senders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windtunnel.cli.signals import interrupt_ends_stream
from windtunnel.cli.streams import say, write_json
from windtunnel.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

_MOST_FLOWS = 8


@click.command
@click.argument(
    "traces",
    type=click.Path(path_type=Path),
    metavar="RUN|PCAP|QLOG...",
    nargs=-1,
    required=True,
    help="Result folders of `windtunnel run`, captures (pcap, pcapng), or logs (qlog); - for the standard input.",
)
@click.option("--json", is_flag=True, help="Print JSON; of several traces, one document after the other.")
@click.option("--page", type=click.Path(path_type=Path), metavar="FILE", help="Write a page (HTML), of one trace.")
@click.option("--all", "all_flows", is_flag=True, help="Explain and show all flows, not only those with most data.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
def explain(traces: tuple[Path, ...], json: bool, page: Path | None, all_flows: bool, force: bool) -> None:
    """Explain runs, captures or logs: what limits their senders, their windows and controllers, losses, queues,
    misbehaviour.
    """
    from windtunnel.explain import explain as explain_path
    from windtunnel.explain.trace import MOST_FLOWS

    # Refuse the place before the work, not after it.
    if page is not None and len(traces) > 1:
        raise InputError("--page shows one trace; explain several one by one, or leave it out")
    if page is not None and page.exists() and not force:
        raise InputError(f"{page}: exists already; choose another name with --page, or replace it with --force")
    # All are explained before anything is printed.
    most = None if json or all_flows else MOST_FLOWS
    explanations = [explain_path(trace, most, interrupt_ends_stream, keep=page is not None) for trace in traces]
    for number, explanation in enumerate(explanations):
        if json:
            write_json(explanation.to_json())
            continue
        from windtunnel.cli.consoles import output

        if number > 0:
            say("")
        _show(explanation.document, output(), None if all_flows else _MOST_FLOWS)
    if page is not None:
        from windtunnel.atomic import staged_file
        from windtunnel.explain.page import write_page

        with staged_file(page, force=force) as stage:
            write_page(explanations[0], stage)
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
