"""The Python API: the scenario builder, results, tables."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SCENARIO

import windtunnel as wt

FLOWS = (
    wt.Flow(name="reno", cc={"kind": "reno", "slow_start": "essp"}, rtt="20 ms"),
    wt.Flow(name="mds", cc={"kind": "reno", "response": "mds", "tau": 64, "slow_start": "essp"}, rtt="20 ms"),
)


def built(**more: Any) -> wt.Scenario:
    """The scenario of the tests, built in Python."""
    arguments: dict[str, Any] = {
        "title": "Reno and Reno-MDS",
        "duration": "5 s",
        "seed": 7,
        "endpoints": "ideal",
        "bottleneck": wt.Bottleneck(rate="20 Mbps", queue={"kind": "deltim", "burst": "5 ms", "tau": 64}),
        "flows": FLOWS,
        "windows": [{"name": "late", "from": "2 s", "to": "5 s"}],
    }
    return wt.Scenario(**{**arguments, **more})


def test_builder_and_file_are_the_same_model(result: wt.RunResult) -> None:
    """The same scenario built in Python resolves to the same model and runs to the same digest."""
    assert built().resolve() == wt.Scenario.from_toml(SCENARIO).resolve()
    assert built().run().digest == result.digest


def test_runs_are_reproducible(result: wt.RunResult) -> None:
    """Same scenario and seed: same digest, same tables to the bit (bit-reproducible runs)."""
    again = wt.Scenario.from_toml(SCENARIO).run()
    assert again.digest == result.digest == again.meta["digest"]
    for name, columns in result.tables.items():
        for column, values in columns.items():
            np.testing.assert_array_equal(again.tables[name][column], values, strict=True)


def test_what_a_flow_does_not_have_is_null() -> None:
    """Datagrams have no window and no recovery, short connections no single window. Transfers are counted in their
    classes.
    """
    flows = [
        {"name": "web", "cc": "reno", "rtt": "20 ms", "app": {"kind": "poisson", "load": "2 Mbit/s"}},
        {"name": "cbr", "rtt": "20 ms", "app": {"kind": "cbr", "rate": "1 Mbit/s"}},
    ]
    run = wt.Scenario(duration="5 s", flows=flows, bottleneck={"rate": "10 Mbit/s"}).run()
    web, cbr = run.flows
    counts = ("delivered_bytes", "retransmits", "loss_episodes", "rtos", "spurious_rtos", "tlps", "undos")
    assert all(cbr[key] is None and web[key] is not None for key in (*counts, "ecn_reductions"))
    assert all(flow[key] is None for flow in (web, cbr) for key in ("cwnd_bytes", "cwnd_limited", "slow_start_exit"))
    assert cbr["sent"] == cbr["datagrams"]["sent"] > 0
    assert np.isnan(run.tables["flows"]["cwnd_bytes"]).all()
    transfers = run.tables["transfers"]
    assert list(transfers) == ["flow", "start_s", "end_s", "size_bytes", "time_ms", "slowdown"]
    assert len(transfers["flow"]) == web["transfers"]["completed"] > 10
    for part in web["transfers"]["by_size"]:
        longer = transfers["size_bytes"] > part["above_bytes"]
        mine = longer & (transfers["size_bytes"] <= (part["up_to_bytes"] or np.inf))
        assert np.count_nonzero(mine) == part["completed"]
        for name in ("time_ms", "slowdown"):
            for share in (50, 95, 99):
                nearest_rank = np.percentile(transfers[name][mine], share, method="inverted_cdf")
                assert part[name][f"p{share}"] == pytest.approx(nearest_rank)


def test_another_scenario_has_another_digest(result: wt.RunResult) -> None:
    """Different runs have different digests: a constant digest would pass the test above."""
    assert built(bottleneck={"rate": "21 Mbps", "queue": {"kind": "deltim"}}).run().digest != result.digest


def test_overrides() -> None:
    """Later overrides win; the original stays as it was."""
    scenario = built()
    changed = scenario.override("seed=3").override("seed=4", 'bottleneck.rate="10 Mbps"')
    assert changed.resolve()["seed"] == 4
    assert scenario.resolve()["seed"] == 7
    assert "seed=4" in repr(changed)


def test_check_is_a_fixed_point() -> None:
    """The resolved scenario resolves to itself."""
    text = built().check()
    assert wt.Scenario.from_toml(text).check() == text


def test_equal_scenarios_are_equal(tmp_path: Path) -> None:
    """Scenarios that say the same are equal, however they are written, and are one key of a dictionary."""
    assert built() == built() == wt.Scenario.from_toml(SCENARIO)
    assert len({built(), wt.Scenario.from_toml(SCENARIO), built(seed=8)}) == 2
    assert built() == built(seed=8).override("seed=7")
    assert built(bottleneck={"rate": "20 Mbit/s"}) == built(bottleneck={"rate": "20000 kbit/s", "delay": "0 s"})
    assert built() != built(seed=8)
    assert built() != SCENARIO
    # A name of a file means something in the folder of the scenario.
    trace = 'duration = "1 s"\nbottleneck = { rate = { trace = "t" } }\n[[flow]]\ncc = "reno"\nrtt = "20 ms"\n'
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t").write_text("1\n2\n", encoding="utf-8")
    a, again, b = (wt.Scenario.from_toml(trace, file=str(tmp_path / name / "s.toml")) for name in ("a", "a", "b"))
    assert a == again != b
    # A text that is not a scenario has no meaning, so only the text counts.
    wrong = wt.Scenario.from_toml("duration = 1")
    assert wrong == wt.Scenario.from_toml("duration = 1") != wt.Scenario.from_toml("duration  = 1")
    assert len({wrong, wrong}) == 1


def test_numbers_of_numpy(result: wt.RunResult) -> None:
    """NumPy's integers, floats, truth values and arrays are taken wherever Python's are."""
    arguments: dict[str, Any] = {
        "duration": "1 s",
        "seed": np.uint64(7),
        "bottleneck": {"rate": "20 Mbps", "queue": {"kind": "red", "probability": np.float32(0.5)}},
        "flows": [
            {"cc": {"kind": "aimd", "a": np.float64(1.0)}, "rtt": "20 ms", "count": np.int64(2), "ecn": np.True_}
        ],
    }
    plain = {**arguments, "seed": 7}
    plain["bottleneck"] = {"rate": "20 Mbps", "queue": {"kind": "red", "probability": 0.5}}
    plain["flows"] = [{"cc": {"kind": "aimd", "a": 1.0}, "rtt": "20 ms", "count": 2, "ecn": True}]
    assert wt.Scenario(**arguments).check() == wt.Scenario(**plain).check()
    assert wt.Scenario(**arguments).run(memory=np.int64(2**30)).meta["seed"] == 7
    assert built(flows=np.array(FLOWS, dtype=object)) == built()


def test_from_file(tmp_path: Path) -> None:
    """A file with a byte order mark is read; a missing one is an InputError."""
    path = tmp_path / "bom.toml"
    path.write_text("\N{BYTE ORDER MARK}" + SCENARIO, encoding="utf-8")
    assert wt.Scenario.from_file(path).resolve()["seed"] == 7
    with pytest.raises(wt.InputError, match=r"did you mean .*bom\.toml"):
        wt.Scenario.from_file(tmp_path / "bon.toml")


def test_wrong_scenarios_raise() -> None:
    """ScenarioError is a ValueError whose text is the whole message."""
    with pytest.raises(wt.ScenarioError, match="flow"):
        built(flows=[]).run()
    with pytest.raises(ValueError, match=r"renoo.*reno"):
        built(flows=[{"cc": "renoo", "rtt": "20 ms"}]).check()


def test_none_leaves_a_key_out() -> None:
    assert "title" not in built(title=None).to_toml()
    assert "name" not in built(flows=[{"name": None, "cc": "reno", "rtt": "20 ms"}], windows=None).to_toml()


def test_tables_are_arrow_without_copy(result: wt.RunResult) -> None:
    """A number column of the Arrow table shares the array's memory."""
    table = result.table("queues")
    assert table.column_names == list(result.tables["queues"])
    values = result.tables["queues"]["sojourn_mean_ms"]
    arrow = table["sojourn_mean_ms"].chunk(0)
    assert arrow.buffers()[1].address == values.__array_interface__["data"][0]
    with pytest.raises(KeyError, match=r"no table 'nope'.*flows"):
        result.table("nope")


def test_summary_and_meta(result: wt.RunResult) -> None:
    """The summary is by flow, queue and window; ``meta`` says how the run went."""
    assert [f["name"] for f in result.flows] == ["reno", "mds"]
    assert len(result.queues) == 1
    assert result.windows[0]["from_s"] == 2
    assert result.meta["packets_per_second"] == pytest.approx(result.meta["packets"] / result.meta["cpu_seconds"])
    assert result.title == "Reno and Reno-MDS"
    assert "digest" in repr(result)


def test_progress_is_told_and_can_stop() -> None:
    """The shares passed to ``progress`` ascend to the end; returning False stops the run with KeyboardInterrupt."""
    shares: list[float] = []

    def note(share: float) -> bool:
        shares.append(share)
        return True

    built().run(note)
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1
    with pytest.raises(KeyboardInterrupt):
        built().run(lambda _: False)


def test_public_names() -> None:
    """The package exports every name that it lists, and nothing else."""
    assert set(wt.__all__) <= set(dir(wt))
    for name in wt.__all__:
        assert getattr(wt, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        wt.nonsense  # noqa: B018


def test_citation_has_the_version() -> None:
    text = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {wt.__version__}\n" in text
