"""The language of metrics: what an expression is worth is computed here from summary and tables in another way."""

from __future__ import annotations

import numpy as np
import pytest
from campaigns import BASE

from windtunnel import RunResult, Scenario
from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.measures import Condition, Expression, MetricError, names

WINDOW = '\n[[window]]\nname = "late"\nfrom = "0.5 s"\nto = "1 s"\n'


@pytest.fixture(scope="module")
def run() -> RunResult:
    return Scenario.from_toml(BASE + WINDOW).run()


def value(text: str, run: RunResult) -> float:
    return Expression.parse(text).value(run)


def test_numbers_of_the_summary(run: RunResult) -> None:
    """A path leads through the summary; flows by name or place, an only queue without either, units are optional."""
    a, b = run.flows
    queue = run.queues[0]
    assert value("flows.a.goodput_mbps", run) == a["goodput_mbps"]
    assert value("flows.1.goodput", run) == b["goodput_mbps"]
    assert value('flows["b"].rtt_ms.p99', run) == b["rtt_ms"]["p99"]
    assert value("queue.utilization", run) == value("queues.0.utilization", run) == queue["utilization"]
    assert value("queue.drops.full", run) == queue["drops"]["full"]
    assert value("windows.late.flows.a.goodput", run) == run.windows[0]["flows"][0]["goodput_mbps"]
    assert value("duration_s", run) == 1.0


def test_functions(run: RunResult) -> None:
    goodput = [flow["goodput_mbps"] for flow in run.flows]
    assert value("ratio(flows.a.goodput, flows.b.goodput)", run) == goodput[0] / goodput[1]
    assert value("sum(flows.goodput)", run) == pytest.approx(sum(goodput))
    assert value("max(flows.goodput) - min(flows.goodput)", run) == pytest.approx(abs(goodput[0] - goodput[1]))
    assert value("jain(flows.goodput)", run) == pytest.approx(sum(goodput) ** 2 / (2 * sum(g * g for g in goodput)))
    assert value("mean(flows.a.goodput, flows.b.goodput, 0)", run) == pytest.approx(sum(goodput) / 3)
    assert value("-abs(0 - 3) * 2 + 1", run) == -5
    assert value("count(flows.goodput)", run) == 2


def test_distributions_come_from_the_summary_first(run: RunResult) -> None:
    """The summary counts every packet; a quantile that it does not have comes from the table behind it."""
    sojourn, points = run.queues[0]["sojourn_ms"], run.tables["sojourn_points"]["ms"]
    assert value("p99(queue.sojourn_ms)", run) == sojourn["p99"]
    assert value("median(queue.sojourn)", run) == sojourn["p50"]
    assert value("mean(queue.sojourn)", run) == sojourn["mean"]
    assert value("p99.9(queue.sojourn)", run) == np.percentile(points, 99.9)
    late = points[np.asarray(run.tables["sojourn_points"]["time_s"]) > 0.5]
    assert value("p90(windows.late.queue.sojourn)", run) == np.percentile(late, 90)
    means = [flow["cwnd_bytes"]["mean"] for flow in run.flows]
    assert value("mean(flows.cwnd)", run) == pytest.approx(sum(means) / 2)


def test_columns(run: RunResult) -> None:
    flows = run.tables["flows"]
    first = flows["throughput_mbps"][np.asarray(flows["flow"]) == 0]
    assert value("p90(tables.flows.a.throughput_mbps)", run) == np.percentile(first, 90)
    assert value("max(tables.flows.throughput)", run) == np.max(flows["throughput_mbps"])


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("p99(queue.sojourn_ms)", set()),
        ("mean(flows.cwnd) / 2", set()),
        ("p99.9(queue.sojourn)", {"sojourn_points"}),
        ("p50(flows.a.cwnd_bytes)", {"flows"}),
        ("mean(tables.cc.w_max) + std(queue.sojourn)", {"cc", "sojourn_points"}),
    ],
)
def test_says_which_tables_it_needs(text: str, tables: set[str]) -> None:
    assert Expression.parse(text).tables == tables


def test_what_a_run_does_not_have_is_nan(run: RunResult) -> None:
    """A flow without transfers has no completion times; a ratio to 0 is no number."""
    assert np.isnan(value("flows.a.transfers.completed", run))
    assert np.isnan(value("1 / 0", run))
    assert np.isnan(value("ratio(flows.a.goodput, 0)", run))
    assert np.isnan(value("log2(0)", run)) and np.isnan(value("ceil(ratio(1, 0))", run))
    assert (value("log2(1 / 8)", run), value("ceil(2.1)", run), value("ceil(-2.1)", run)) == (-3.0, 3.0, -2.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("quue.utilization", "did you mean `queue`"),
        ("queue.utilisation", "did you mean `utilization`"),
        ("flows.c.goodput", "no flow is named `c`; there are a, b"),
        ("flows.a", "is no number"),
        ("flow.goodput", "there are 2 flows (a, b)"),
        ("flows.goodput", "function of it"),
        ("queue.sojourn_ms", "is a distribution"),
        ("p99(flows.rtt)", "name a flow or queue"),
        ("flows.a.name", "it is 'a'"),
        ("tables.nothing.x", "there is no table `nothing`"),
        ("tables.flows.goodputt", "did you mean `goodput_mbps`"),
        ("medain(queue.sojourn)", "did you mean `median`"),
        ("p101(queue.sojourn)", "from p0 to p100"),
        ("ratio(1)", "takes 2 arguments"),
        ("flows.a-1.x", 'flows["name"]'),
        ("__import__('os')", "is not allowed here"),
        ("[x for x in (1, 2)]", "is not allowed here"),
        ("flows.a.__class__", "there is no `__class__`"),
        ("(" * 300 + "1" + ")" * 300, ""),
        ("1" * 3000, "longer than"),
        ("-" * 100 + "1", "nested too deeply"),
        # Python's whole numbers have any size, floating-point numbers do not.
        ("flows.a.goodput / 1" + "0" * 400, "too large"),
        ("1e400 * flows.a.goodput", "too large"),
    ],
)
def test_refusals(text: str, problem: str, run: RunResult) -> None:
    with pytest.raises(MetricError) as error:
        value(text, run)
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("text", "kind", "unit"),
    [
        ("ratio(flows.a.goodput, flows.b.goodput)", "ratio", ""),
        ("jain(flows.goodput)", "jain", ""),
        ("queue.utilization", "share", ""),
        ("100 * windows.late.queues.bottleneck.utilization", "percent", "%"),
        ("1 - flows.call.datagrams.loss_ratio", "share", ""),
        ("mean(queues.utilization)", "share", ""),
        ("flows.a.limited.cwnd", "share", ""),
        ("flows.a.goodput", "plain", "Mbit/s"),
        ("p99(queue.sojourn)", "plain", "ms"),
        ("queue.sojourn_ms.p99 - 20", "plain", "ms"),
        ("mean(tables.cc.a.w_max)", "plain", ""),
        ("flows.a.retransmits / flows.a.sent", "plain", ""),
        ("flows.a.goodput - queue.sojourn", "plain", ""),
        ("duration_s", "plain", "s"),
    ],
)
def test_kinds_and_units(text: str, kind: str, unit: str) -> None:
    """Built-in functions and names of the summary have a kind and a unit; a division alone has none."""
    expression = Expression.parse(text)
    assert (expression.kind, expression.unit) == (kind, unit)


def test_jains_index_knows_its_flows(run: RunResult) -> None:
    flows = Expression.parse("jain(flows.goodput)").flows
    assert flows is not None and flows.value(run) == 2
    assert Expression.parse("flows.a.goodput").flows is None


def test_a_claim_has_the_kind_of_its_metric() -> None:
    own = Expression.parse("flows.a.goodput / flows.b.goodput", "ratio")
    assert Condition.parse("own < 2", {"own": own}).quantity.kind == "ratio"
    assert Condition.parse("own + 1 < 2", {"own": own}).quantity.kind == "plain"


def test_conditions(run: RunResult) -> None:
    """A comparison is a quantity with limits; one of two quantities is of their difference with 0."""
    condition = Condition.parse("ratio(flows.a.goodput, flows.b.goodput) in [0.9, 1.1]")
    assert condition.limits == Limits(0.9, 1.1)
    assert condition.limits.hold(0.9) and not condition.limits.hold(1.2) and not condition.limits.hold(float("nan"))
    below = Condition.parse("p99(queue.sojourn_ms) < 5")
    assert below.limits.strict and not below.limits.hold(5.0) and below.limits.hold(4.9)
    two = Condition.parse("flows.a.goodput >= 2 * flows.b.goodput")
    a, b = (flow["goodput_mbps"] for flow in run.flows)
    assert two.quantity.value(run) == pytest.approx(a - 2 * b) and two.limits == Limits(low=0.0)
    between = Condition.parse("0.5 <= queue.utilization <= 1 + 1")
    assert (between.limits.low, between.limits.high) == (0.5, 2.0)


@pytest.mark.parametrize(
    "text", ["queue.utilization", "queue.utilization == 1", "queue.utilization in [2, 1]", "1 < queue.utilization > 0",
             "queue.utilization in [flows.a.sent, 3]"]
)  # fmt: skip
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(MetricError):
        Condition.parse(text)


def test_flows_of_one_table_are_a_group() -> None:
    """`count = 2` makes `a-1` and `a-2`; `flows.a` is both, and not `ab`, which only starts alike."""
    text = BASE.replace('name = "a"', 'name = "a"\ncount = 2').replace('name = "b"', 'name = "ab"')
    run = Scenario.from_toml(text + WINDOW).run()
    first, second = (flow["goodput_mbps"] for flow in run.flows if flow["name"].startswith("a-"))
    assert value("sum(flows.a.goodput)", run) == first + second
    assert value("max(flows.a.rtt_ms.p95)", run) == max(f["rtt_ms"]["p95"] for f in run.flows if f["name"] != "ab")
    assert value("count(windows.late.flows.a.goodput)", run) == 2
    with pytest.raises(MetricError, match="one number is needed"):
        value("flows.a.goodput", run)


@pytest.fixture(scope="module")
def mixed() -> RunResult:
    """A run whose flows have all parts of a summary between them."""
    flows = [
        {"name": "bulk", "cc": "cubic", "rtt": "20 ms"},
        {"name": "web", "cc": "cubic", "rtt": "20 ms", "app": {"kind": "poisson", "load": "3 Mbit/s", "size": "20 kB"}},
        {"name": "ping", "app": "probe", "rtt": "20 ms"},
        {
            "name": "call",
            "cc": "cubic",
            "app": {"kind": "media", "protocol": "tcp", "rate": "500 kbit/s"},
            "rtt": "20 ms",
        },
    ]
    return Scenario(duration="1 s", bottleneck={"rate": "10 Mbit/s", "queue": "fq_codel"}, flows=flows).run()


def _leaves(record: dict[str, object], before: str = "") -> set[str]:
    """The names of numbers and distributions in a record."""
    leaves: set[str] = set()
    for key, inner in record.items():
        name = f"{before}{key}"
        if isinstance(inner, dict) and "mean" not in inner:
            leaves |= _leaves(inner, f"{name}.")
        elif isinstance(inner, dict | int | float):
            leaves.add(name)
    return leaves


def test_every_number_of_a_summary_has_a_meaning(mixed: RunResult) -> None:
    """The table of names has exactly what results have, and each of its names has a value here."""
    assert set().union(*(_leaves(flow) for flow in mixed.flows)) == set(names.FLOW)
    assert _leaves(mixed.queues[0]) == set(names.QUEUE)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("flows.web.fct", "`fct` is `transfers.time` here"),
        ("p99(flows.0.latency)", "`latency` is `rtt`, `frames.delay` or `datagrams.one_way` here"),
        ("flows.bulk.jitter", "`jitter` is `datagrams.jitter` here"),
        (
            "flows.bulk.loss",
            "`loss` is `retransmits`, `drops.full`, `drops.aqm`, `drops.wire` or `datagrams.lost` here",
        ),
        ("queue.delay", "`delay` is `sojourn` here"),
        ("flows.bulk.timeouts", "`timeouts` is `rtos` here"),
        ("flows.bulk.goodputt", "did you mean `goodput_mbps`?"),
        ("fct", "write `flows.transfers.time`"),
        ("utilization", "write `queue.utilization`"),
        ("fairness", "write `jain(flows.goodput)`"),
    ],
)
def test_words_of_the_field_lead_to_the_name(text: str, hint: str, mixed: RunResult) -> None:
    with pytest.raises(MetricError) as error:
        value(text, mixed)
    assert str(error.value).endswith(f"; {hint}")


def test_what_a_hint_writes_has_a_value(mixed: RunResult) -> None:
    """No hint leads to another error: each name works, without its unit, and no word is a name of the same record."""
    for root, table in (("flows", names.FLOW), ("queue", names.QUEUE)):
        for name, about in table.items():
            value(f"max({root}.{names.without_unit(name) if about.words else name})", mixed)
            assert not set(about.words) & {key for other in table for key in (other, names.without_unit(other))}
