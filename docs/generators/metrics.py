"""The names of metrics: what a campaign, a claim or a pack can measure of flows and queues."""

from __future__ import annotations

from collections.abc import Mapping

from generators.markdown import code, table
from windtunnel.experiment.measures.names import FLOW, QUEUE, Name, unit

HEAD = """# Names of metrics

What `[metrics]` of a [campaign](../campaigns.md#metrics), a claim, `--fail-if` and an evidence pack can name. The unit
at the end of a name may be left out: `flows.a.goodput` is `flows.a.goodput_mbps`. Of a *distribution*, write
`p99(...)`, `mean(...)`, `max(...)` and so on. A word in the last column is answered with the name.

The columns of tables, such as `tables.cc.w_max`, are on the page of [results](results.md).
"""

#: Distributions of the summary.
DISTRIBUTIONS = ("rtt_ms", "cwnd_bytes", "transfers.time_ms", "datagrams.one_way_ms", "sojourn_ms")


def pages() -> dict[str, str]:
    """The page of the names."""
    flows, queues = _rows(FLOW), _rows(QUEUE)
    head = ("name", "is", "unit", "kind", "also called")
    run = [("`duration_s`", "simulated time", "s", "", ""), ("`packets`", "data segments delivered", "", "", "")]
    parts = [
        HEAD,
        "## Of a flow\n",
        "Below `flows.NAME`, by the flow's name or number; `flows` alone means all, as in `sum(flows.goodput)`.\n",
        table(head, flows),
        "\n## Of a queue\n",
        "Below `queue` where there is one, below `queues.NAME` where there are several.\n",
        table(head, queues),
        "\n## Of the run\n",
        table(head, run),
    ]
    return {"metrics.md": "\n".join(parts) + "\n"}


def _rows(names: Mapping[str, Name]) -> list[tuple[str, ...]]:
    return [
        (
            code(name),
            about.meaning,
            unit(name),
            "distribution" if name in DISTRIBUTIONS else "",
            ", ".join(map(code, about.words)),
        )
        for name, about in names.items()
    ]
