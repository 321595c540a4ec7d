"""The mail's eight graphs: a group for each with its time series and numbers, and one figure of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from windtunnel.experiment.scales import Scale
from windtunnel.papers.data_folder import SCE
from windtunnel.papers.rows import Row
from windtunnel.papers.sce.plan import RATE_MBPS, RTT_MS, SENDERS, Sender, add_setup, cake, measured, ramp_key, twins
from windtunnel.papers.setups import Excerpt, Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.time_series import flow_series

#: The names by which rows and figures call controllers.
NAMES = {"reno": "Reno", "reno-sce": "Reno-SCE", "dctcp-sce": "DCTCP-SCE", "cubic-sce": "CUBIC-SCE"}

#: The flow numbers of the two flows and of the probe.
FIRST, SECOND, PROBE = "0", "1", "2"
QUEUE = "queue 0"


def _jain(a: float, b: float) -> float:
    return (a + b) ** 2 / (2 * (a * a + b * b)) if a + b > 0 else math.nan


def _share(a: float, b: float) -> float:
    return a / (a + b) if a + b > 0 else math.nan


_RATES = (measured("throughput_mbps", FIRST), measured("throughput_mbps", SECOND))
SHARE = Value("share", "share of {first} in the throughput of both", "", _RATES, _share, Scale.of("share"))
JAIN = Value("jain", "Jain's index of both throughputs", "", _RATES, _jain, Scale.of("jain", 2))
USED = Value(
    "used", "throughput of both over the link's rate", "", _RATES, lambda a, b: (a + b) / RATE_MBPS, Scale.of("share")
)
DELAY_P95 = Value("delay-p95", "queueing delay, P95", "ms", [measured("sojourn_ms.p95", QUEUE)])

#: What the rows of a graph show.
VALUES = (
    Value("rate-1", "throughput of {first}", "Mbit/s", _RATES[:1]),
    Value("rate-2", "throughput of {second}", "Mbit/s", _RATES[1:]),
    USED,
    SHARE,
    JAIN,
    Value("delay-p50", "queueing delay, median", "ms", [measured("sojourn_ms.p50", QUEUE)]),
    DELAY_P95,
    Value("delay-p99", "queueing delay, P99", "ms", [measured("sojourn_ms.p99", QUEUE)]),
    Value(
        "probe-p95",
        "the probe's RTT above the path's, P95",
        "ms",
        [measured("rtt_ms.p95", PROBE)],
        lambda p: p - RTT_MS,
    ),
    Value("ce-1", "CE marks of {first} in 40 s", "", [measured("ce_marks", FIRST)]),
    Value("ce-2", "CE marks of {second} in 40 s", "", [measured("ce_marks", SECOND)]),
    Value("sce-2", "SCE marks of {second} in 40 s", "", [measured("sce_marks", SECOND)]),
)

#: The rows of a graph with another sender.
FEW = tuple(value for value in VALUES if value.id in ("used", "share", "delay-p50", "delay-p95", "ce-1", "ce-2"))


def graph_groups(setups: dict[str, Setup], sender: Sender, *, quick: bool) -> list[Group]:
    """The figure of all graphs, with a few numbers of each; for the first sender also a group for each graph."""
    graphs: list[dict[str, Any]] = SCE.toml("graphs.toml")["graph"]
    used = [_add_graph(setups, graph, sender, quick=quick) for graph in graphs]
    first = sender is SENDERS[0]
    groups = [_group(graph, setup) for graph, setup in zip(graphs, used, strict=True)] if first else []

    def rows(results: Results) -> list[Row]:
        if first:
            return []
        out = []
        for graph, setup in zip(graphs, used, strict=True):
            for row in number_rows(setup.name, graph["flows"], setup, results, FEW):
                out.append(replace(row, group=f"graphs{sender.suffix}", what=f"{title(graph)}: {row.what}"))
        return out

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.sce.figures import draw_graphs

        excerpts = [results.excerpt(setup.name) for setup in used]
        return draw_graphs(list(zip(graphs, excerpts, strict=True))) if any(excerpts) else None

    caption = (
        "50 Mbit/s, 80 ms, two flows and a sparse probe: means over 200 ms, as Flent draws them; equal scales. "
        f"Reno-SCE: {sender.text}"
    )
    title_ = "The eight graphs" if first else "The eight graphs, Reno-SCE halves at CE"
    return [Group(f"graphs{sender.suffix}", title_, caption, [c.name for c in used], rows, png), *groups]


def flow_names(flows: Sequence[str]) -> tuple[str, str]:
    """What both flows are called; equal ones get numbers."""
    first, second = (NAMES[flow] for flow in flows)
    return (first, second) if first != second else (f"{first} 1", f"{second} 2")


def number_rows(id: str, flows: Sequence[str], setup: Setup, results: Results, values: Sequence[Value]) -> list[Row]:
    """A row for information of each number: the mean over the runs and its interval."""
    first, second = flow_names(flows)
    return [value.row(results, setup, id, id, value.what.format(first=first, second=second)) for value in values]


def title(graph: dict[str, Any]) -> str:
    """The title of a graph: its number, queue, flows and ramp."""
    queue = "FQ" if graph["queue"] == "flows" else "Single queue"
    first, second = (NAMES[flow] for flow in graph["flows"])
    flows = f"{second} vs {first}" if first != second else f"two {first}"
    return f"{graph['id'].removeprefix('graph')}. {queue}: {flows}, ramp {_ramp_text(graph)}"


def _ramp_text(graph: dict[str, Any]) -> str:
    return str(SCE.toml("graphs.toml")["ramp"][graph["ramp"]]["text"])


def _add_graph(setups: dict[str, Setup], graph: dict[str, Any], sender: Sender, *, quick: bool) -> Setup:
    queue, name = cake(graph["queue"], ramp_key(graph["ramp"])), f"{graph['id']}{sender.suffix}"
    setup = add_setup(setups, name, queue, graph["flows"], twins=twins(quick=quick), sender=sender)
    setup.excerpt, setup.page = flow_series, title(graph) if sender is SENDERS[0] else ""
    for value in VALUES:
        value.prepare(setup)
    return setup


def _group(graph: dict[str, Any], setup: Setup) -> Group:
    def rows(results: Results) -> list[Row]:
        return number_rows(graph["id"], graph["flows"], setup, results, VALUES)

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.sce.figures import draw_graph

        excerpt: Excerpt | None = results.excerpt(setup.name)
        return draw_graph(graph, excerpt) if excerpt is not None else None

    number = graph["id"].removeprefix("graph")
    return Group(graph["id"], f"Graph {number}", graph["caption"], [setup.name], rows, png, setup.name)
