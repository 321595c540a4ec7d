"""Linux's other controllers: what they send in the scripts, and how they fare in runs, is what Linux's do."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from windtunnel.result import RunResult
from windtunnel.scenario import Scenario
from windtunnel.validation import linux_controllers
from windtunnel.validation.comparison import DATA
from windtunnel.validation.linux import FRAME, MSS, WIRE, bucket, largest_window, path
from windtunnel.validation.linux_controllers import CONTROLLERS, PATHS, USUAL, Controller, Path, lossy
from windtunnel.validation.suite import execute


def ids(controller: Controller) -> str:
    return controller.name


@pytest.mark.parametrize("controller", CONTROLLERS, ids=ids)
def test_the_scripts_are_followed(controller: Controller) -> None:
    """Every transmission of Linux, with cwnd, ssthresh and state at each, but in scripts known to differ."""
    scripts = linux_controllers.scripts(controller)
    assert len(scripts) >= 19
    unlike = []
    for script in scripts:
        comparison = linux_controllers.followed(controller, script)
        (run,) = comparison.runs
        lines = comparison.lines({run.name: execute(run)})
        if any(line.verdict == "differs" for line in lines):
            unlike.append(script.name.removesuffix(f", {controller.title}"))
    assert sorted(unlike) == sorted(controller.unlike)


@pytest.mark.parametrize("controller", CONTROLLERS, ids=ids)
def test_alone_it_is_as_in_linux(controller: Controller) -> None:
    """One flow for 60 s on the usual path: goodput, round trip, and retransmissions."""
    comparison = linux_controllers.alone(controller, USUAL)
    lines = comparison.lines({run.name: execute(run) for run in comparison.runs})
    assert [line for line in lines if line.verdict == "differs"] == []
    assert [line.verdict for line in lines[:3]] == ["agrees", "agrees", "agrees"]


def test_windows_of_the_testbed() -> None:
    """A full segment is 153 of 256 parts of its memory between namespaces (1448 of 2408 bytes), and 160 from a driver
    (1448 of 2304); the buffer is 64 MiB, whose unit of windows is 2 KiB (Linux ``tcp_select_initial_window``).
    """
    assert largest_window("sender") == (64 << 20) * 153 // 256
    assert largest_window("driver") == (64 << 20) * 160 // 256


def recorded_cwnd(run: str) -> list[int]:
    """Linux's cwnd in one of its runs alone, every 100 ms from the first 100 ms after its handshake on."""
    rows = pq.read_table(DATA / "linux/7.3/alone.parquet", columns=["run", "cwnd"]).to_pydict()
    return [cwnd for name, cwnd in zip(rows["run"], rows["cwnd"], strict=True) if name == run]


def alone(cc: str, on: Path, *, link: bool = False, windows: bool = True) -> RunResult:
    """One flow for 60 s; with a link of its rate in place of the shaper, or with a receive window that is no limit."""
    queue = f'{{ kind = "fifo", limit = "{on.queue // FRAME} packets" }}'
    toml = path(queue, 60, on.rtt_ms, [f'cc = "{cc}"'], rate_mbps=on.rate_mbps)
    if link:
        toml = toml.replace(bucket(queue, on.rate_mbps), queue).replace(f'"{WIRE}"', f'"{on.rate_mbps:g} Mbit/s"')
    if not windows:
        toml = toml.replace(f'"{largest_window("sender")} B"', '"1 GiB"')
    return Scenario.from_toml(toml, file=f"{cc}.toml").run()


def cwnd_of(result: RunResult) -> list[float]:
    """Our cwnd in segments, every 100 ms."""
    return [cwnd / MSS for cwnd in np.asarray(result.tables["flows"]["cwnd_bytes"]).tolist()]


def test_hybla_overshoots_as_in_linux() -> None:
    """Every 100 ms up to the third reduction cwnd is that of Linux 7.3.4 (``alone.parquet``), to the segment.

    The receive window limits what this slow start sends: with windows in units of 16 KiB and not of 2 KiB, cwnd is 1009
    and not 949 after half a second, and 1604 segments are retransmitted and not 2707.
    """
    linux = recorded_cwnd(f"alone_hybla_{USUAL.name}")[:12]
    assert linux == [4, 64, 559, 559, 949, 2269, 3589, 1512, 850, 895, 1225, 1087]
    result = alone("hybla", USUAL)
    # Linux's samples begin at the end of its handshake, which takes 100 ms.
    assert cwnd_of(result)[1:13] == linux
    assert result.flows[0]["retransmits"] == 2707
    assert cwnd_of(alone("hybla", USUAL, windows=False))[1:13] != linux


def test_vegas_rests_where_linux_rests() -> None:
    """At 10 Mbit/s and 40 ms cwnd of Linux 7.3.4 comes to rest at 37 (``alone.parquet``): a packet that finds tbf's
    bucket full does not wait, so that the least round trip is 40 ms. On a link it is 41.2 ms, and the same rule rests
    at 38.
    """
    on = PATHS[1]
    assert recorded_cwnd(f"alone_vegas_{on.name}")[-1] == 37
    assert [cwnd_of(alone("vegas", on, link=link))[-1] for link in (False, True)] == [37, 38]


@pytest.mark.parametrize(("base_ms", "rests"), [(59.94, 54), (60.0, 55)])
def test_vegas_rests_by_whole_packets(base_ms: float, rests: int) -> None:
    """A window W rests where ``W (r - base) / base``, rounded down, is not above beta (Linux
    ``tcp_vegas_cong_avoid``). At 10 Mbit/s the least round trip with W = 55 is 54 packets' time, 65.405 ms: 4.95
    packets with a base of 60.0 ms, which stays, and 5.01 with 59.94 ms, which does not. Linux 7.3.4 behind 1 BDP of
    tail drop rests at 54 and 55 as well.
    """
    least_ms = 54 * FRAME * 8e-3 / 10
    assert (int(55 * (least_ms - base_ms) / base_ms) > 4) == (rests == 54)
    queue = f'{{ kind = "fifo", limit = "{75_000 // FRAME} packets" }}'
    toml = path(queue, 20, base_ms, ['cc = "vegas"'], rate_mbps=10)
    assert cwnd_of(Scenario.from_toml(toml, file="vegas.toml").run())[-1] == rests


def test_the_discipline_is_inside_the_shaper() -> None:
    """tbf(8) as the guests have it, with a bucket of one packet."""
    inside = '{ kind = "tbf", rate = "40 Mbit/s", burst = "1600 B", age = "1 s", child = "pie" }'
    assert bucket('"pie"', 40) == inside
    assert inside in path('"pie"', 1, 20, ['cc = "reno"'])


def test_westwood_survives_random_loss() -> None:
    """With 1 % random loss on the talk's path, Westwood+ has twice CUBIC's goodput: in Linux 7.3 it has 2.74 Mbit/s,
    CUBIC 1.31 (``lossy.csv``).
    """
    goodput = {}
    for name in ("westwood", "cubic"):
        comparison = lossy(Controller(name, name))
        goodput[name] = np.mean([float(execute(run)["1.steady"]) for run in comparison.runs])
    assert goodput["westwood"] / goodput["cubic"] == pytest.approx(2.74 / 1.31, rel=0.15)
