"""Messages in the words of their readers: users of Python, of the command line, or of the field's other tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import windtunnel as wt

GOOD: Mapping[str, Any] = {
    "duration": "1 s",
    "bottleneck": {"rate": "10 Mbit/s", "queue": {"kind": "fifo", "limit": "1 bdp"}},
    "flows": [{"cc": "reno", "rtt": "40 ms"}, {"cc": "cubic", "rtt": "40 ms"}],
}


def message(**changes: Any) -> str:
    """The message about a scenario that differs from a good one in these arguments."""
    with pytest.raises(wt.ScenarioError) as caught:
        wt.Scenario(**{**GOOD, **changes}).check()
    assert caught.value.line is None, "the user did not write the lines of the text in between"
    return str(caught.value)


def test_of_objects() -> None:
    """Messages name the argument as it was written, with the plural names of arrays."""
    flows = [GOOD["flows"][0], {"cc": "sprout", "rtt": "40 ms"}]
    assert message(flows=flows).startswith('Scenario(...).flows[1].cc: "sprout" is not built here: ')
    assert message(duration=30) == (
        "Scenario(...).duration: `30` has no unit: add one of ns, us, \N{MICRO SIGN}s, ms, s, min, h"
    )
    assert message(bottleneck={"rate": 100e6}).startswith("Scenario(...).bottleneck.rate: `100000000` has no unit: add")
    assert message(windows=[{"name": "w", "from": "2 s", "to": "1 s"}]).startswith("Scenario(...).windows[0]")
    assert message(seeds=1).startswith("Scenario(...).seeds: is not a key here; the keys are")
    assert message(flows={"cc": "reno"}) == "Scenario(...).flows: a table is not allowed: a list"


def test_of_overrides_and_texts() -> None:
    """An override of an object is called that; a text that a user wrote has lines."""
    scenario = wt.Scenario(**GOOD)
    with pytest.raises(wt.ScenarioError, match=r'^override\("flow\.0\.rtt=40"\): flows\[0\]\.rtt: `40` has no unit'):
        scenario.override("flow.0.rtt=40").run()
    with pytest.raises(wt.ScenarioError, match=r"^line 1: duration: `30` has no unit"):
        wt.Scenario.from_toml(scenario.to_toml().replace('"1 s"', "30")).check()
    with pytest.raises(wt.ScenarioError, match=r"^--set flow\.0\.rtt=40: flow\[0\]\.rtt: "):
        wt.Scenario.from_toml(scenario.to_toml(), overrides=["flow.0.rtt=40"]).check()


@pytest.mark.parametrize(
    ("key", "name", "said"),
    [
        ("cc", "bbrv3", '"bbrv3" is called `bbr3` here'),
        ("cc", "codel", '"codel" is a queue, and a controller is needed here'),
        ("cc", "quic", '"quic" is a transport: '),
        ("app", "iperf3", '"iperf3" is called `bulk` here'),
        ("app", "bbr", '"bbr" is a controller, and an application is needed here'),
    ],
)
def test_known_names(key: str, name: str, said: str) -> None:
    """Names of the field are answered as such, and not by a guess (``bbr`` is no slip for ``cbr``)."""
    told = message(flows=[{**GOOD["flows"][0], key: name}])
    assert said in told
    assert "did you mean" not in told


@pytest.mark.parametrize("name", ["bbr4", "rno9", "xyz"])
def test_no_guess_where_it_would_mean_something_else(name: str) -> None:
    """Another number is another algorithm; a name like no other has no hint."""
    assert "did you mean" not in message(flows=[{**GOOD["flows"][0], "cc": name}])
    assert "did you mean `cubic`?" in message(flows=[{**GOOD["flows"][0], "cc": "cubc"}])


def test_distributions() -> None:
    """A value alone is the fixed distribution, and the kinds and their keys can be found from every message."""

    def app(size: Any) -> dict[str, Any]:
        return {"flows": [{**GOOD["flows"][0], "app": {"kind": "request-response", "size": size}}]}

    fixed = wt.Scenario(**{**GOOD, **app("50 kB")}).resolve()["flow"][0]["app"]["size"]
    assert fixed == {"kind": "fixed", "value": "50 kB"}
    assert wt.Scenario(**{**GOOD, **app(fixed)}).run().digest == wt.Scenario(**{**GOOD, **app("50 kB")}).run().digest
    kinds = "fixed, uniform, exponential, pareto, lognormal, listed, empirical"
    for wrong, said in (
        (50, "`50` has no unit: add one of B,"),
        ({"mean": "50 kB"}, f"needs `kind`, one of {kinds}"),
        ({"kind": "pareto", "min": "1 kB"}, "`pareto` needs `max`; its keys are min, max, shape"),
        ({"kind": "exponential", "mean": "1 kB", "max": "2 kB"}, "`max` is not a key of `exponential`"),
        ({"kind": "normal"}, f"one of {kinds}"),
        ("pareto", '`pareto` is a kind: write { kind = "pareto", min = ..., max = ..., shape = ... }'),
        ([1], f"a value, or a table with `kind`, one of {kinds}"),
    ):
        assert said in message(**app(wrong)), wrong


def test_distributions_are_listed(cli: Cli) -> None:
    """``list`` shows the kinds with their keys, and names them where a parameter is a distribution."""
    shown = cli("list", "distributions").stdout
    assert [line for line in shown.splitlines() if line and line[0] != " "][1:] == [
        *("fixed", "uniform", "exponential", "pareto", "lognormal", "listed", "empirical")
    ]
    on_off = " ".join(cli("list", "on-off").stdout.split())
    assert "A value, or a" in on_off
    assert "kind, kind" not in on_off
    entries = json.loads(cli("list", "distributions", "--json").stdout)["distributions"]
    assert [key["name"] for key in entries[3]["parameters"]] == ["min", "max", "shape"]


def test_an_existing_export_is_told_what_can_be_done(cli: Cli, tmp_path: Path) -> None:
    """``export`` has no ``--out``: the message names what it has."""
    wt.Scenario(**GOOD).run().save(tmp_path / "run", figures=False)
    (tmp_path / "taken").mkdir()
    (tmp_path / "file").write_text("mine")
    for arguments in (("--csv", "taken"), ("--parquet", "taken"), ("--ss", "file")):
        done = cli("export", "run", *arguments)
        assert done.returncode == 2
        assert "exists already" in done.stderr
        assert "--force" in done.stderr
        assert "--out" not in done.stderr
