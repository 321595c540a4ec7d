"""Controllers written in Python: the example, what a class is told and answers, what is refused, and how failures
end.
"""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import pytest
from conftest import Cli

import windtunnel as wt
from windtunnel.errors import InputError
from windtunnel.papers.jobs import Job, run_all

EXAMPLE = Path(__file__).parents[2] / "examples" / "python-controller"


class Base:
    """Holds its initial window."""

    def on_start(self, flow: wt.FlowInit) -> None:
        self.cwnd: float = flow.iw

    def on_ack(self, ack: wt.AckSample, path: wt.PathView) -> None: ...

    def on_congestion(self, event: wt.CongestionEvent, path: wt.PathView) -> bool | None:
        return False

    def on_rto(self, new_episode: bool, path: wt.PathView) -> None: ...

    def control(self) -> wt.Control:
        return wt.Control(self.cwnd)


def dumbbell(cc: Any, *, rate: str = "20 Mbps", limit: str = "1 bdp", **more: Any) -> wt.Scenario:
    flow = {"cc": cc, "rtt": "40 ms", **more.pop("flow", {})}
    return wt.Scenario(
        **{"duration": "5 s", **more},
        bottleneck={"rate": rate, "queue": {"kind": "fifo", "limit": limit}},
        flows=[flow],
    )


@pytest.fixture(scope="module", autouse=True)
def example() -> None:
    wt.load_plugin(EXAMPLE / "delay_aimd.py")
    wt.load_plugin(EXAMPLE / "delay_aimd.py")  # loading it twice registers it once


GRAPH = """
duration = "4 s"
node = [{ name = "a" }, { name = "b" }, { name = "c" }]
[[link]]
name = "one"
from = "a"
to = "b"
rate = "50 Mbps"
delay = "5 ms"
[[link]]
name = "two"
from = "b"
to = "c"
rate = "20 Mbps"
delay = "5 ms"
queue = { kind = "fifo", limit = "50 packets" }
[[flow]]
cc = "delay-aimd"
from = "a"
to = "c"
rtt = "40 ms"
[[flow]]
cc = "delay-aimd"
from = "b"
to = "c"
rtt = "20 ms"
"""
POISSON = {"app": {"kind": "poisson", "load": "5 Mbps"}}


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(wt.Scenario.from_file(EXAMPLE / "delay_aimd.toml", overrides=["duration=12 s"]), id="its own"),
        pytest.param(dumbbell("delay-aimd"), id="linux"),
        pytest.param(dumbbell("delay-aimd", endpoints="ideal"), id="ideal"),
        pytest.param(wt.Scenario.from_toml(GRAPH), id="graph"),
        pytest.param(dumbbell("delay-aimd", flow=POISSON), id="poisson"),
        pytest.param(dumbbell("delay-aimd", flow={"count": 2, "ecn": True}), id="two flows"),
    ],
)
def test_the_example_runs_in_every_experiment(scenario: wt.Scenario) -> None:
    first, again = scenario.run(), scenario.run()
    assert first.digest == again.digest, "a deterministic class gives equal runs"
    assert first.meta["foreign"] == ["controller delay-aimd"]
    assert first.flows[0]["throughput_mbps"] > 2, "of 20, or of 5 Mbit/s that arrive"
    assert first.meta["scenario"]["flow"][0]["cc"]["md"] == 0.7


def test_the_example_is_short_and_does_what_it_says() -> None:
    """The example has 40 lines. Alone it keeps the queueing delay near its target, while Reno fills the queue of one
    bdp, 40 ms.
    """
    assert len((EXAMPLE / "delay_aimd.py").read_text(encoding="utf-8").splitlines()) <= 40
    window = [{"name": "steady", "from": "10 s", "to": "30 s"}]
    delays = [
        dumbbell(cc, duration="30 s", windows=window).run().windows[0]["queues"][0]["sojourn_ms"]["mean"]
        for cc in ({"kind": "delay-aimd", "target": "5 ms"}, "reno")
    ]
    assert delays[0] < 5 < 15 < delays[1]


def test_a_fixed_window_has_the_throughput_of_its_window() -> None:
    """20 segments per round trip of 40 ms and one segment's 0.6 ms on the link; none waits in the queue. Nothing is
    pushed, so that ACKs of Linux's receiver stay in pairs and hold none of them back.
    """

    class Fixed(Base):
        def __init__(self, segments: int = 10) -> None:
            self.segments = segments

        def on_start(self, flow: wt.FlowInit) -> None:
            self.cwnd = self.segments * flow.mss

    wt.register_controller("test-fixed", Fixed)
    for endpoints, whole in (("linux", {"tcp": {"write_size": "0 B"}}), ("ideal", {})):
        cc = {"kind": "test-fixed", "segments": 20}
        result = dumbbell(cc, duration="20 s", endpoints=endpoints, flow={"pacing": False, **whole}).run()
        assert result.flows[0]["throughput_mbps"] == pytest.approx(20 * 1500 * 8 / 40.6e-3 / 1e6, rel=0.02), endpoints


def test_a_controller_paces_without_a_key_in_the_scenario() -> None:
    class Paced(Base):
        needs = wt.Needs(pacing=True, own_window=True)

        def control(self) -> wt.Control:
            return wt.Control(1e6, pacing_rate=8e6)

    wt.register_controller("test-paced", Paced)
    # From 1 s on: Linux does not pace the first ten segments.
    window = {"name": "later", "from": "1 s", "to": "20 s"}
    scenario = dumbbell("test-paced", duration="20 s", windows=[window])
    assert scenario.resolve()["flow"][0]["pacing"] is True
    result = scenario.run().windows[0]
    # 8 Mbit/s of segments, and their 52 bytes of headers if the rate does not count them.
    assert result["flows"][0]["throughput_mbps"] == pytest.approx(8, rel=0.05)
    assert result["queues"][0]["sojourn_ms"]["max"] < 3, "a burst is what a millisecond of the pace holds"


def test_a_controller_that_must_pace_cannot_be_unpaced() -> None:
    """Its window alone does not control its rate, so ``pacing = false`` is refused, with the place and the reason."""

    class MustPace(Base):
        needs = wt.Needs(pacing=True)

    wt.register_controller("must-pace", MustPace)
    with pytest.raises(wt.ScenarioError, match="pacing: false is not allowed: true: must-pace sets the pace itself"):
        dumbbell("must-pace", flow={"pacing": False}).run()


def test_what_a_class_hears() -> None:
    """A short queue loses segments of a window that only grows: every method that a class may have is called."""
    heard: Counter[str] = Counter()
    seen: dict[str, Any] = {}

    class Listener(Base):
        needs = wt.Needs(rate_samples=True)

        def __init__(self, segments: int = 40) -> None:
            heard["made"] += 1

        def on_start(self, flow: wt.FlowInit) -> None:
            super().on_start(flow)
            seen["flow"] = flow.mss, flow.iw // flow.mss, flow.random()

        def on_established(self, path: wt.PathView) -> None:
            heard["established"] += 1
            seen["rtt"] = path.srtt

        def on_ack(self, ack: wt.AckSample, path: wt.PathView) -> None:
            heard["ack"] += 1
            heard["round"] += ack.round_start
            self.cwnd += ack.newly_delivered / 4
            if ack.rate is not None:
                seen["rate"] = ack.rate.rate, ack.rate.departure.sent < path.now

        def on_congestion(self, event: wt.CongestionEvent, path: wt.PathView) -> bool | None:
            heard[event.trigger] += 1
            self.cwnd /= 2
            return None

        def on_sent(self, segment: wt.SentSegment, path: wt.PathView) -> None:
            heard["retransmission" if segment.retransmission else "sent"] += 1

        def on_lost(self, segment: wt.LostSegment, path: wt.PathView) -> None:
            heard["lost"] += 1
            assert segment.lost >= segment.payload
            assert segment.departure.in_flight > 0

        def on_recovered(self, path: wt.PathView) -> None:
            heard["recovered"] += 1

        def probe(self) -> dict[str, float]:
            return {"segments": self.cwnd / 1448}

    wt.register_controller("test-listener", Listener)
    record = {"interval": "100 ms", "state": "interval"}
    # Nothing is pushed: an ACK of one segment would be one more before a loss is known.
    result = dumbbell("test-listener", limit="20 packets", record=record, flow={"tcp": {"write_size": "0 B"}}).run()
    flow = result.flows[0]
    assert heard["established"] == 1
    assert heard["loss"] == flow["loss_episodes"] > 1
    assert 0 <= heard["loss"] - heard["recovered"] <= 1, "the run may end during the last episode"
    assert heard["retransmission"] == flow["retransmits"] > 0
    assert heard["sent"] + heard["retransmission"] <= flow["sent"]
    assert heard["lost"] >= flow["retransmits"] - flow["tlps"] > 0, "what is sent again was found lost before"
    assert 20 < heard["round"] < heard["ack"]
    segments = result.tables["cc"]["segments"]
    assert len(segments) == 50
    # One bdp, the queue and the packet in transmission, and the quarter that a round trip adds before the controller is
    # told of a loss.
    assert 10 < segments.min() < segments.max() < 1.25 * (67 + 20 + 1)
    mss, iw, random = seen["flow"]
    assert (mss, iw) == (1448, 10)
    assert 0 <= random < 1
    assert seen["rtt"] == pytest.approx(0.040, abs=0.002)
    rate, left_before = seen["rate"]
    assert left_before
    assert 10e6 < rate < 20.1e6, "no more than the link's 20 Mbit/s"


def test_each_flow_has_a_random_stream_of_its_own() -> None:
    draws: list[float] = []

    class Random(Base):
        def on_start(self, flow: wt.FlowInit) -> None:
            super().on_start(flow)
            draws.append(flow.random())

    wt.register_controller("test-random", Random)
    for seed in (1, 1, 2):
        dumbbell("test-random", duration="1 s", seed=seed, flow={"count": 2}).run()
    runs = [draws[i : i + 2] for i in range(0, 6, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert len({*runs[0], *runs[2]}) == 4


class TestMessages:
    """Messages name a registered controller in the same way as windtunnel's own."""

    @pytest.mark.parametrize(
        ("cc", "message"),
        [
            ("delay-amid", "did you mean `delay-aimd`?"),
            ({"kind": "delay-aimd", "traget": "5 ms"}, "did you mean `target`?"),
            (
                {"kind": "delay-aimd", "target": 5},
                "Scenario(...).flows[0].cc.target: `5` has no unit: add one of ns, us, µs, ms, s, min, h",
            ),
            ({"kind": "delay-aimd", "target": "5 kB"}, "flows[0].cc.target: "),
            ({"kind": "delay-aimd", "a": "much"}, 'flows[0].cc.a: "much" is not allowed: a number'),
            ({"kind": "delay-aimd", "slow_start": "essp"}, "flows[0].cc.slow_start: is not a key here"),
            ("delay-aimd-mds", "did you mean `delay-aimd`?"),
        ],
    )
    def test_of_scenarios(self, cc: Any, message: str) -> None:
        with pytest.raises(wt.ScenarioError) as raised:
            dumbbell(cc).check()
        assert message in str(raised.value)

    def test_of_a_class_that_refuses_its_parameters(self) -> None:
        class Picky(Base):
            def __init__(self, b: float = 0.5) -> None:
                if not 0 < b < 1:
                    raise ValueError(f"b is {b}: more than 0 and less than 1")

        wt.register_controller("test-picky", Picky)
        dumbbell({"kind": "test-picky", "b": 0.9}).check()
        with pytest.raises(wt.ScenarioError, match=r"flows\[0\]\.cc: `test-picky` refuses its parameters: .*b is 2"):
            dumbbell({"kind": "test-picky", "b": 2}).check()

    def test_of_scenarios_that_print_and_read_back(self) -> None:
        text = dumbbell({"kind": "delay-aimd", "target": "7 ms", "a": 2}).check()
        assert wt.Scenario.from_toml(text).check() == text
        assert 'kind = "delay-aimd", a = 2.0, md = 0.7, target = "7 ms"' in text


class TestRegistration:
    @pytest.mark.parametrize("name", ["reno", "reno-mds", "tahoe", "bsd42", "delay-aimd"])
    def test_a_name_is_taken_once(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"`{name}` is already the name of a controller"):
            wt.register_controller(name, Base)

    def test_a_name_is_one_that_a_scenario_can_write(self) -> None:
        with pytest.raises(ValueError, match="names are letters"):
            wt.register_controller("my controller", Base)

    def test_a_class_can_be_replaced_by_another_but_not_windtunnels_own(self) -> None:
        wt.register_controller("test-replaced", Base)
        wt.register_controller("test-replaced", Base, replace=True)
        with pytest.raises(ValueError, match="already the name"):
            wt.register_controller("reno", Base, replace=True)

    def test_a_class_that_cannot_be_a_controller(self) -> None:
        class Misspelt(Base):
            def on_los(self, segment: wt.LostSegment, path: wt.PathView) -> None: ...

        class WithoutDefault(Base):
            def __init__(self, b: float) -> None: ...

        class OddDefault(Base):
            def __init__(self, b: object = ()) -> None: ...

        class Reserved(Base):
            def __init__(self, kind: int = 1) -> None: ...

        for cls, message in (
            (object, "it has no method on_ack, on_congestion, on_rto, control"),
            (Misspelt, "on_los would never be called; did you mean `on_lost`?"),
            (WithoutDefault, "parameter `b` needs a default"),
            (OddDefault, "parameter `b`: a default is"),
            (Reserved, "`kind` cannot be a parameter"),
        ):
            with pytest.raises((TypeError, ValueError), match=message.replace("?", r"\?")):
                wt.register_controller("test-refused", cls)  # type: ignore[arg-type]

    def test_a_quantity_is_a_number_that_knows_its_unit(self) -> None:
        assert [wt.quantity(text) for text in ("5 ms", "10 kB", "1.5 Mbps")] == [0.005, 10_000, 1_500_000]
        with pytest.raises(ValueError, match="is not a quantity"):
            wt.quantity("5")

    def test_an_answer_is_a_possible_one(self) -> None:
        for arguments in ({"cwnd": -1}, {"cwnd": float("nan")}, {"cwnd": 1, "pacing_gain": 0}):
            with pytest.raises(ValueError, match="out of range"):
                wt.Control(**arguments)

    def test_the_listing_describes_it(self) -> None:
        class Described(Base):
            """What it does.

            More.
            """

            def __init__(self, b: Annotated[float, "Factor that is kept"] = 0.5) -> None: ...

        wt.register_controller("test-described", Described)
        listing = json.loads(wt._core.listing())
        entry = next(e for e in listing["controllers"] if e["name"] == "test-described")
        assert entry["summary"] == "What it does"
        assert entry["source"].startswith("class ")
        parameter = {"name": "b", "type": "number", "default": 0.5, "unit": None, "description": "Factor that is kept"}
        assert entry["parameters"] == [parameter]
        assert "test-described" in wt._core.schema()


FAILING = """
import windtunnel as wt

class Failing:
    def on_start(self, flow): self.cwnd = flow.iw
    def on_ack(self, ack, path):
        if path.now > 0.5:
            raise KeyError("the cause")
    def on_congestion(self, event, path): ...
    def on_rto(self, new_episode, path): ...
    def control(self): return wt.Control(self.cwnd)

wt.register_controller("failing", Failing)
"""


class TestFailures:
    @pytest.mark.parametrize("method", ["on_ack", "control", "on_start", "probe", "on_sent"])
    def test_an_exception_stops_the_run_as_itself(self, method: str) -> None:
        def fails(*_: Any) -> None:
            raise ZeroDivisionError(method)

        cls = type("Failing", (Base,), {method: fails})
        wt.register_controller("test-failing", cls, replace=True)
        with pytest.raises(ZeroDivisionError, match=method) as raised:
            dumbbell("test-failing").run()
        assert raised.traceback[-1].name == "fails"
        # The failure has no effect on the next run.
        assert dumbbell("delay-aimd", duration="1 s").run().flows[0]["rtos"] == 0

    def test_an_answer_of_another_type_stops_the_run(self) -> None:
        cls = type("Wrong", (Base,), {"control": lambda self: self.cwnd})
        wt.register_controller("test-wrong", cls)
        with pytest.raises(TypeError, match="Control"):
            dumbbell("test-wrong").run()

    def test_no_answer_names_controller_and_file(self, tmp_path: Path, shell: Cli) -> None:
        """A ``control()`` without ``return`` is the plug-in's fault, and the message says whose."""
        text = FAILING.replace("return wt.Control(self.cwnd)", "wt.Control(self.cwnd)")
        (tmp_path / "silent.py").write_text(text, encoding="utf-8")
        (tmp_path / "s.toml").write_text(dumbbell("failing").to_toml(), encoding="utf-8")
        run = shell("run", "s.toml", "--plugin", "silent.py", "--out", "out")
        assert run.returncode == 1
        assert "controller `failing` (class Failing in silent.py): control() returned None" in run.stderr

    @pytest.mark.parametrize(
        "raised",
        [
            "MemoryError('mine')",
            "wt.ScenarioError('mine')",
            "wt.InputError('mine')",
            "FileNotFoundError(2, 'mine', 'x')",
        ],
    )
    def test_a_plugins_error_is_not_the_users(self, raised: str, tmp_path: Path, shell: Cli) -> None:
        """What would be taken for wrong input or for a lack of memory names the plug-in, and the exit code is that of a
        failed run.
        """
        (tmp_path / "failing.py").write_text(FAILING.replace('KeyError("the cause")', raised), encoding="utf-8")
        (tmp_path / "s.toml").write_text(dumbbell("failing").to_toml(), encoding="utf-8")
        run = shell("run", "s.toml", "--plugin", "failing.py", "--out", "out")
        assert run.returncode == 1, run.stderr
        assert "the run failed: controller `failing` (class Failing in failing.py): " in run.stderr
        assert "mine" in run.stderr and 'failing.py", line 8, in on_ack' in run.stderr
        assert "less, or at longer intervals" not in run.stderr

    def test_on_the_command_line(self, tmp_path: Path, shell: Cli) -> None:
        """Exit code 1 with the traceback of the class's own code; nothing is written."""
        (tmp_path / "failing.py").write_text(FAILING, encoding="utf-8")
        (tmp_path / "s.toml").write_text(dumbbell("failing").to_toml(), encoding="utf-8")
        run = shell("run", "s.toml", "--plugin", "failing.py", "--out", "out")
        assert run.returncode == 1, run.stderr
        assert (
            "the run failed: KeyError: 'the cause', in controller `failing` (class Failing in failing.py)" in run.stderr
        )
        assert 'failing.py", line 8, in on_ack' in run.stderr
        assert "windtunnel/cli" not in run.stderr
        assert sorted(entry.name for entry in tmp_path.iterdir() if entry.suffix) == ["failing.py", "s.toml"]
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (None, "there is no such file"),
            ("x = 1\n1 / 0\n", "plugin.py:2: cannot be loaded: ZeroDivisionError"),
            ("def\n", "cannot be loaded: SyntaxError"),
            ("", "registers no controller"),
        ],
    )
    def test_of_plugins(self, tmp_path: Path, text: str | None, message: str) -> None:
        file = tmp_path / "plugin.py"
        if text is not None:
            file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            wt.load_plugin(file)


def test_on_the_command_line(tmp_path: Path, shell: Cli) -> None:
    """Check, list and run know the plugin; summary, page and summary.json say that the run holds foreign code."""
    plugin = ("--plugin", str(EXAMPLE / "delay_aimd.py"))
    file = str(EXAMPLE / "delay_aimd.toml")
    assert shell("check", file).returncode == 2
    assert 'kind = "delay-aimd"' in shell("check", file, *plugin).stdout
    assert "10 ms" in shell("list", "delay-aimd", *plugin).stdout
    run = shell("run", file, *plugin, "--set", "duration=11 s", "--out", "out")
    assert run.returncode == 0, run.stderr
    assert "foreign code: controller delay-aimd" in run.stdout
    assert "foreign code: controller delay-aimd" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    result = wt.load(tmp_path / "out")
    assert result.meta["foreign"] == ["controller delay-aimd"]
    sha256 = hashlib.sha256((EXAMPLE / "delay_aimd.py").read_bytes()).hexdigest()
    assert result.meta["plugins"] == [{"controller": "delay-aimd", "file": "delay_aimd.py", "sha256": sha256}]
    assert sha256 in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_in_a_suite_on_the_command_line(tmp_path: Path, shell: Cli) -> None:
    """A document's experiment can run with another controller; terminal, page and rows.json name the foreign code and
    the changes.

    A change that no scenario can take is refused before any run.
    """
    plugin = ("--plugin", str(EXAMPLE / "delay_aimd.py"))
    changes = ("--set", "flow.0.cc=delay-aimd", "--set", "duration=1 s")
    done = shell("reproduce", "mds", "--only", "fig2", *plugin, *changes, "--out", "out")
    assert done.returncode == 0, done.stderr
    facts = ["foreign code: controller delay-aimd", "changed in every scenario: duration=1 s"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(fact in done.stdout and f"<span>{fact}</span>" in page for fact in facts)
    document = json.loads((tmp_path / "out" / "rows.json").read_text(encoding="utf-8"))
    assert document["foreign"] == ["controller delay-aimd"]
    assert document["settings"] == ["flow.0.cc=delay-aimd", "duration=1 s"]
    assert all(run["foreign"] == document["foreign"] and not run["error"] for run in document["runs"])
    refused = shell("reproduce", "mds", "--only", "fig2", "--set", "flow.0.cc=delay-aimd", "--out", "no")
    assert (refused.returncode, "delay-aimd" in refused.stderr) == (2, True)
    assert not (tmp_path / "no").exists()


def test_in_the_processes_of_a_suite() -> None:
    """The processes of a pool load the plugin themselves."""
    text = dumbbell("delay-aimd", duration="2 s").to_toml()
    jobs = [Job(f"cell {i}", 0, "s", text, (f"seed={i}",), 1.0, ()) for i in range(2)]
    outcomes = run_all(jobs, 2, lambda _: None)
    assert [outcome.error for outcome in outcomes] == ["", ""]
    assert [outcome.foreign for outcome in outcomes] == [("controller delay-aimd",)] * 2
    assert outcomes[0].digest == dumbbell("delay-aimd", duration="2 s").run().digest
