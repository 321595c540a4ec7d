"""Campaigns as data: from files and from Python, their cells, and what they refuse."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from campaigns import BASE, FILE, base, campaign

from windtunnel import Campaign, InputError, grid, zipped
from windtunnel.campaign.conduct import check_cells
from windtunnel.campaign.file import parse
from windtunnel.campaign.forecast import forecast
from windtunnel.campaign.places import Lines
from windtunnel.campaign.plan import Plan, Replica
from windtunnel.experiment.axes import Axis, inline
from windtunnel.experiment.ranges import expand
from windtunnel.start_offsets import starts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(BASE)
    return tmp_path


def read(folder: Path, text: str) -> Campaign:
    (folder / "campaign.toml").write_text(text)
    return Campaign.from_file(folder / "campaign.toml")


def labels(plan: Plan) -> list[tuple[str, ...]]:
    return [tuple(value.label for value in cell.values) for cell in plan.cells()]


def test_file_and_python_say_the_same(folder: Path) -> None:
    assert read(folder, FILE) == campaign()
    assert read(folder, FILE) != campaign(seeds=4)
    assert "6 cells" in repr(campaign())


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ({"from": 1, "to": 4, "steps": 4}, (1, 2, 3, 4)),
        ({"from": 0.0, "to": 1.0, "steps": 3}, (0.0, 0.5, 1.0)),
        ({"from": "1 ms", "to": "100 ms", "steps": 3, "spacing": "log"}, ("1 ms", "10 ms", "100 ms")),
        ({"from": "10 Mbit/s", "to": "1 Gbit/s", "steps": 2}, ("10 Mbit/s", "1000 Mbit/s")),
        ({"from": "10 ms", "to": "30 ms", "step": "10 ms"}, ("10 ms", "20 ms", "30 ms")),
        ({"from": "0 %", "to": "1 %", "steps": 3}, ("0 %", "0.5 %", "1 %")),
        ({"from": 30, "to": 10, "step": -10}, (30, 20, 10)),
    ],
)
def test_ranges(table: dict[str, object], values: tuple[object, ...]) -> None:
    """The ends are as given; between them, equal distances or equal ratios, in the unit of the first."""
    assert expand(table) == values


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"from": 1, "steps": 3}, "`to`"),
        ({"from": 1, "to": 2}, "`steps`"),
        ({"from": 1, "to": 2, "steps": 1}, "from 2"),
        ({"from": 0, "to": 2, "steps": 3, "spacing": "log"}, "more than 0"),
        ({"from": 1, "to": 2, "steps": 3, "spacing": "lgo"}, "linear or log"),
        ({"from": "1 ms", "to": "1 Mbit/s", "steps": 3}, ""),
        ({"from": 1, "to": "5 ms", "steps": 3}, "has none"),
        ({"from": "1 ms", "to": 5, "steps": 3}, "no unit"),
        ({"from": 1, "to": 2, "stepps": 3}, "did you mean `steps`"),
        ({"from": 1, "to": 2, "step": 0.3}, "whole number of steps"),
        # Numbers whose quotient, difference or digits no floating-point number has.
        ({"from": 0, "to": 1e300, "step": 1e-300}, "whole number of steps"),
        ({"from": -1e308, "to": 1e308, "steps": 3}, "too wide"),
        ({"from": 1, "to": 10**400, "steps": 3}, "is not allowed in a range"),
        ({"from": "1 ms", "to": f"1{'0' * 400} ms", "steps": 3}, "too wide"),
    ],
)
def test_ranges_refuse(table: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError) as error:
        expand(table)
    assert problem in str(error.value)


def test_blocks() -> None:
    """A grid has all combinations, a zip those side by side; several blocks are combined, the last varies first."""
    plan = Plan(Campaign(base(), axes=[grid({"x": [1, 2]}), zipped({"y": ["a", "b"], "z": [3, 4]})]))
    assert labels(plan) == [("1", "a", "3"), ("1", "b", "4"), ("2", "a", "3"), ("2", "b", "4")]
    assert len(plan) == 4
    assert plan.cell(2).settings == ("x=2", 'y="a"', "z=3")


def test_several_scenarios_are_an_axis(folder: Path) -> None:
    (folder / "other.toml").write_text(BASE.replace("10 Mbit/s", "5 Mbit/s"))
    made = read(
        folder, 'scenario = ["base.toml", "other.toml"]\n[axes.grid]\nseedless = { key = "mtu", values = ["1000 B"] }'
    )
    assert labels(Plan(made)) == [("base", "1000 B"), ("other", "1000 B")]


def test_axes_with_names() -> None:
    """One name for several keys, and values that are sets of settings."""
    axis = Axis.of("rtt", {"keys": ["flow.0.rtt", "flow.1.rtt"], "values": ["10 ms"]})
    assert axis.values[0].settings == ('flow.0.rtt="10 ms"', 'flow.1.rtt="10 ms"')
    assert axis.values[0].number == 0.01
    path = Axis.of("path", [{"name": "dsl", "set": {"bottleneck.rate": "16 Mbit/s", "flow.0.rtt": "30 ms"}}])
    assert path.values[0].label == "dsl" and len(path.values[0].settings) == 2
    assert inline({"kind": "fq_codel", "n": [1, True, 0.5]}) == '{ "kind" = "fq_codel", "n" = [1, true, 0.5] }'


def test_baseline_of_a_cell() -> None:
    """The same cell, with the baseline's values; in a zip, the row that has them."""
    plan = Plan(Campaign(base(), axes=[grid({"x": [1, 2]}), zipped({"y": ["a", "b"], "z": [3, 4]})], baseline={"z": 3}))
    (baseline,) = plan.campaign.baselines
    assert [plan.baseline_of(cell, baseline) for cell in plan.cells()] == [0, 0, 2, 2]
    plan = Plan(campaign())
    assert [plan.baseline_of(cell, plan.campaign.baselines[0]) for cell in plan.cells()] == [0, 1, 2, 0, 1, 2]


def test_cells_that_are_left_out_are_not_visited() -> None:
    """What `only` keeps is counted and found by arithmetic, as a look at each cell would find it."""
    axes = [grid({"x": [1, 2, 3], "w": [5, 6]}), zipped({"y": ["a", "b", "c"], "z": [3, 4, 5]})]
    for only in ({}, {"x": ["1", "3"]}, {"y": ["b", "c"]}, {"y": ["b"], "z": ["4"], "w": ["6"]}):
        plan, every = Plan(Campaign(base(), axes=axes), only), Plan(Campaign(base(), axes=axes)).cells()
        kept = [c for c in every if all(c.values[plan.axes.index(n)].label in chosen for n, chosen in only.items())]
        assert [cell.number for cell in plan.cells()] == [cell.number for cell in kept]
        assert plan.wanted() == len(kept)
        assert [plan.wanted_cell(index).number for index in range(plan.wanted())] == [cell.number for cell in kept]


def test_a_campaign_of_millions_is_checked_by_samples() -> None:
    """10^7 cells: each value of each axis comes, or (of very many) evenly chosen ones, in no more than asked for."""
    many = {"from": 1, "to": 100_000, "steps": 100_000}
    plan = Plan(Campaign(base(), axes=[grid({"x": list(range(10)), "y": list(range(10)), "z": many})]))
    samples = list(plan.samples(1000))
    assert len(plan) == 10**7 and 200 <= len(samples) <= 1000
    assert {cell.values[0].label for cell in samples} == {str(x) for x in range(10)}
    assert max(int(cell.values[2].label) for cell in samples) > 99_000


def test_too_many_metrics_are_refused() -> None:
    with pytest.raises(InputError, match="metrics: there are 10001; at most 10000"):
        Campaign(base(), metrics=["duration_s"] * 10_001)


def test_many_seeds() -> None:
    """The runs of a cell follow from its seeds in one pass: with a look at all seeds for each run it would be 10^10."""
    plan = Plan(Campaign(base(), seeds=100_000))
    assert [replica.seed for replica in plan.replicas(99_998, 100_002)] == [99_999, 100_000, 100_001, 100_002]
    assert sum(1 for _ in plan.replicas(0, 100_000)) == 100_000


def test_runs_of_a_cell() -> None:
    """Seeds alone; each seed with an offset of its own; offsets crossed with seeds. More come after those given."""

    def plan(**more: object) -> Plan:
        return Plan(Campaign(base(), **more))  # type: ignore[arg-type]

    assert list(plan().replicas(0, 1)) == [Replica(None, 0, 0)]
    assert list(plan(seeds=[7, 9]).replicas(0, 4)) == [Replica(s, 0, u) for u, s in enumerate([7, 9, 10, 11])]
    assert list(plan(seeds=2, offsets=True).replicas(0, 2)) == [Replica(1, 1, 0), Replica(2, 2, 1)]
    crossed = plan(seeds=2, offsets=3)
    assert crossed.first_units() == 3 and crossed.runs_of_unit() == 2
    assert list(crossed.replicas(0, 2)) == [Replica(1, 1, 0), Replica(2, 1, 0), Replica(1, 2, 1), Replica(2, 2, 1)]


def test_offsets() -> None:
    """Flows start within a round trip, at places that no two flows and no two offsets share; 0 changes nothing."""
    resolved = base().resolve()
    assert starts(resolved, 0) == ()
    seen = set()
    for offset in range(1, 50):
        for setting, rtt_us in zip(starts(resolved, offset), (20_000, 40_000), strict=True):
            key, _, text = setting.partition("=")
            microseconds = float(text.strip('"').removesuffix(" us"))
            assert 0 <= microseconds < rtt_us
            seen.add((key, microseconds))
    assert len(seen) == 98


def test_only() -> None:
    assert len(list(Plan(campaign(), {"flow.a.cc": ["cubic"]}).cells())) == 3
    with pytest.raises(InputError, match="did you mean `cubic`"):
        Plan(campaign(), {"flow.a.cc": ["cubik"]})
    with pytest.raises(InputError, match="is no axis"):
        Plan(campaign(), {"cc": ["cubic"]})


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("seeds = 3", "seedz = 3", 3, "did you mean `seeds`"),
        ("seeds = 3", "seeds = 0", 3, "from 1 to"),
        ("seeds = 3", "seeds = [1, 1]", 3, "twice"),
        ("offsets = true", 'offsets = "yes"', 4, "true, false"),
        ('"base.toml"', '"bse.toml"', 2, "base.toml"),
        ("[axes.grid]", "[axes.gird]", 7, "did you mean `grid`"),
        ('["reno", "cubic"]', '["reno", "cubik"]', 8, "did you mean `cubic`"),
        ('["reno", "cubic"]', "[]", 8, "has no values"),
        ('"flow.a.cc" = ["reno"', '"flow.a.ccc" = ["reno"', 5, "is no axis"),
        ("steps = 3", "steps = 1", 9, "from 2"),
        ('"bottleneck.rate"', '"bottlenek.rate"', 9, "did you mean `bottleneck`"),
        ('"flow.a.cc" = "reno"', '"flow.a.cc" = "ren"', 5, "did you mean `reno`"),
        ("p99(queue", "p99(quue", 13, "did you mean `queue`"),
        ("[metrics]", '[metrics]\nseed = "queue.utilization"', 12, "choose another"),
        ("[metrics]", '[statistics]\ninterval = "tt"\n[metrics]', 12, "t or bootstrap"),
        ("[metrics]", "[metrics", 11, "is no TOML"),
        ("seeds = 3", 'seeds = 3\nuntil = "ci 5"', 4, "ci 5 %"),
        ("seeds = 3", "seeds = 3\nmax = 10", 4, "no `until`"),
        ("seeds = 3", "seeds = 3\nquick = {}", 4, "a table with `seeds`"),
        ("seeds = 3", "seeds = 3\nquick = { seed = 2 }", 4, "did you mean `seeds`"),
        ("seeds = 3", "seeds = 3\nquick = { seeds = 0 }", 4, "from 1 to"),
        ("seeds = 3", 'seeds = 3\nquick.only = { "flow.a.cc" = "reno" }', 4, "a list of values"),
        ("seeds = 3", 'seeds = 3\nquick.only = { "flow.a.cc" = ["ren"] }', 4, "did you mean `reno`"),
        ("seeds = 3", 'seeds = 3\nquick.only = { "flow.a.cd" = ["reno"] }', 4, "is no axis"),
        ("[metrics]", '[metrics]\nx = { value = "duration_s", kind = "shar" }', 12, "did you mean `share`"),
        ("[metrics]", '[metrics]\nx = { valeu = "duration_s" }', 12, "did you mean `value`"),
        ("[metrics]", '[metrics]\nx = { kind = "share" }', 12, "a table with `value`"),
        ("[metrics]", f'[metrics]\nx = "duration_s / 1{"0" * 400}"', 12, "too large"),
        ("[metrics]", f'[[claim]]\ntext = "x"\ncheck = "duration_s < 1{"0" * 400}"\n[metrics]', 13, "too large"),
    ],
)
def test_messages_name_the_place(folder: Path, old: str, new: str, line: int, problem: str) -> None:
    """File, line, what is wrong, and the nearest name; a wrong key of the scenario with the axis that has it."""
    assert old in FILE
    with pytest.raises(InputError) as error:
        check_cells(Plan(read(folder, FILE.replace(old, new, 1))))
    assert str(error.value).startswith(f"{folder / 'campaign.toml'}:{line}: ")
    assert problem in str(error.value)


def test_inline_scenario(folder: Path) -> None:
    """A scenario in the campaign's own file; its errors have lines there."""
    inner = BASE.replace("[bottleneck]", "[scenario.bottleneck]").replace("[[flow]]", "[[scenario.flow]]")
    made = read(folder, f"[scenario]\n{inner}")
    assert made.bases[0].scenario == base()
    with pytest.raises(InputError, match=r"campaign\.toml:16: scenario.flow\[1\].rtt"):
        check_cells(Plan(read(folder, f"[scenario]\n{inner}".replace('"40 ms"', '"40 mz"'))))


def test_python_refuses_in_its_own_words() -> None:
    with pytest.raises(InputError, match=r"metrics\.x"):
        Campaign(base(), metrics={"x": "nothing(1)"})
    with pytest.raises(InputError, match="`seeds` gives each cell"):
        Campaign(base(), axes={"seed": [1, 2]})
    with pytest.raises(InputError, match="equally many"):
        zipped({"x": [1], "y": [1, 2]})
    with pytest.raises(InputError, match="at most 10000000 cells"):
        Campaign(base(), axes={key: {"from": 1, "to": 1000, "steps": 1000} for key in "xyz"})
    with pytest.raises(InputError, match="no metrics"):
        Campaign(base(), until="ci 5 %")


def test_lines() -> None:
    """Statements over several lines, arrays of tables, dotted and quoted keys."""
    lines = Lines(
        'a = [\n 1,\n 2 ]\n\n[b."c.d"]\ne.f = 1\n[[g]]\nh = """\nx = 1\n"""\n[[g]]\ni = { j = 1 }\n[g.k]\nl = 2\n'
    )
    assert lines.line(["a"]) == 1
    assert lines.line(["b", "c.d", "e", "f"]) == 6
    assert lines.line(["g", 0, "h"]) == 8
    assert lines.line(["g", 1, "i", "j"]) == 12
    assert lines.line(["g", 1, "k", "l"]) == 14
    assert lines.line(["nothing"]) is None


VALUES = [
    "1",
    "-1",
    "0",
    "nan",
    "1e400",
    '""',
    "[]",
    "{}",
    "[[1]]",
    "true",
    '"1 ms"',
    "{ from = 1 }",
    '"\\u0000"',
    "1979-05-27",
]


def test_changed_campaigns_are_campaigns_or_refused(folder: Path) -> None:
    """Other values, lines lost and doubled: each text is a campaign, or gets one message."""
    random_, refused = random.Random(1), 0
    for _ in range(400):
        text = FILE
        for _ in range(random_.randint(1, 3)):
            places = [hit.span() for hit in re.finditer(r'"[^"]*"|\b\d+\b|true|\[[^\[\]]*\]|\{[^{}]*\}', text)]
            start, end = random_.choice(places)
            lines = text.split("\n")
            match random_.randrange(3):
                case 0:
                    text = text[:start] + random_.choice(VALUES) + text[end:]
                case 1:
                    lines.pop(random_.randrange(len(lines)))
                    text = "\n".join(lines)
                case 2:
                    lines.insert(random_.randrange(len(lines)), random_.choice(lines))
                    text = "\n".join(lines)
        try:
            plan = Plan(parse(text, file="campaign.toml", folder=folder))
            check_cells(plan)
            assert forecast(plan).runs >= len(plan)
        except InputError as error:
            assert str(error).startswith("campaign.toml")
            refused += 1
    assert 200 < refused < 400
