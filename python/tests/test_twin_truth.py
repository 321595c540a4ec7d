"""The list of `make twin`: its cells, what is kept of guests, the page, and the command, with a guest of ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from windtunnel.engine.progress import Count
from windtunnel.errors import InputError, RunFailedError
from windtunnel.kernel import kept, options
from windtunnel.kernel.guest import Outcome
from windtunnel.twin.measures import Measure
from windtunnel.twin.plan import plan
from windtunnel.twin.truth import __main__ as command
from windtunnel.twin.truth import carry_out, causes, guests, page
from windtunnel.twin.truth import cells as listed
from windtunnel.twin.truth.carry_out import Done, pooled


def kernel(without: str = "") -> kept.Kernel:
    """A kernel with all options but one."""
    text = options.fragment().replace(f"CONFIG_{without}=y\n", "")
    features = options.features(f"{text}CONFIG_HZ=1000\n", 1000)
    return kept.Kernel("6.12.1", 1000, "0" * 64, "any", "cc", features.has, features.lacks, "", Path())


LACKING = kernel("NET_SCH_DUALPI2")


def test_the_list() -> None:
    """At least 400 cells that a kernel of today has, each once; those over DualPI2 are listed as lacking."""
    every = listed.cells(LACKING)
    assert len({cell.name for cell in every}) == len(every)
    there = [cell for cell in every if not cell.lacks]
    assert len(there) == 17 * 4 * 2 * 3 + 3
    assert {cell.lacks for cell in every} == {"", "qdisc dualpi2"}
    assert len(every) == len(there) + 17 * 2 * 3
    assert [cell.name for cell in listed.chosen(every, "lost")] == [
        f"bbr/fifo/25M-60ms/alone, {share}% lost" for share in (5, 10, 20)
    ]


def test_every_cell_can_be_translated() -> None:
    """None of them is refused by a kernel that has everything."""
    for cell in listed.cells(kernel()):
        plan(cell.scenario.resolve(), kernel())


def test_pairs() -> None:
    """All meet CUBIC, and CUBIC meets Reno; DCTCP has its own feedback where ECN is negotiated."""
    by_name = {cell.name: cell.scenario.resolve()["flow"] for cell in listed.cells(kernel())}
    assert [flow["name"] for flow in by_name["vegas/pie/10M-20ms/pair"]] == ["vegas-1", "cubic-2"]
    assert [flow["name"] for flow in by_name["cubic/pie/10M-20ms/pair"]] == ["cubic-1", "reno-2"]
    assert [flow["ecn"] for flow in by_name["dctcp/cake/25M-60ms/pair"]] == ["dctcp", True]
    assert [flow["ecn"] for flow in by_name["dctcp/cake/10M-20ms/pair"]] == [False, False]


def test_the_short_list() -> None:
    """Ten cells of the list, which no kernel lacks."""
    names = {cell.name for cell in listed.cells(LACKING) if not cell.lacks}
    assert len(listed.quick().cells) == 10
    assert set(listed.quick().cells) <= names


def test_what_guests_wrote_is_kept(tmp_path: Path) -> None:
    """By kernel, script and seed, and by the sources of the programs that the script names."""
    store = guests.Guests(tmp_path, kernel())
    outcome = Outcome({"tc": b"Sent\n", "log": b"\xff"}, 1.5)
    store.keep("guest-flow send", 1, outcome)
    assert store.recall("guest-flow send", 1) == outcome
    assert store.recall("guest-flow send", 2) is None
    assert store.recall("guest-flow", 1) is None
    store.close()
    other = guests.Guests(tmp_path, replace(kernel(), sha256="1" * 64))
    assert other.recall("guest-flow send", 1) is None
    other.close()


def test_a_program_that_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that the script does not name may change."""
    store = guests.Guests(tmp_path, kernel())
    store.keep("guest-flow send", 1, Outcome({}, 1.0))
    changed = dict(guests.sources())
    monkeypatch.setattr(guests, "sources", lambda: changed)
    changed["guest-datagrams"] = b"other"
    assert store.recall("guest-flow send", 1) is not None
    changed["guest-flow"] = b"other"
    assert store.recall("guest-flow send", 1) is None
    store.close()


def test_equal_flows_are_taken_together() -> None:
    """Goodputs and counts are added, windows and round trips are means; 3 and 1 have an index of 16 / 20."""
    values = {
        ("bbr-1", "goodput"): ("Mbit/s", 3.0),
        ("bbr-1", "srtt, mean"): ("ms", 40.0),
        ("bbr-2", "goodput"): ("Mbit/s", 1.0),
        ("bbr-2", "srtt, mean"): ("ms", 60.0),
        ("cubic-3", "goodput"): ("Mbit/s", 5.0),
        ("bottleneck", "drops"): ("", 7.0),
    }
    assert pooled(values) == {
        ("bbr", "goodput"): ("Mbit/s", 4.0),
        ("bbr", "Jain's index"): ("", pytest.approx(0.8)),
        ("bbr", "srtt, mean"): ("ms", 50.0),
        ("cubic", "goodput"): ("Mbit/s", 5.0),
        ("bottleneck", "drops"): ("", 7.0),
    }


def test_causes_are_of_the_list() -> None:
    """Each cause concerns cells and measures that there are; a measure has the first that fits."""
    every = listed.cells(kernel())
    for cause in causes.causes():
        for pattern in cause.cells:
            assert listed.chosen(every, pattern), pattern
        assert set(cause.measures) <= {"goodput", "cwnd, mean", "srtt, mean", "retransmissions", "CE", "utilization",
                                       "backlog, mean", "drops", "Jain's index"}  # fmt: skip


def done(name: str, *measures: Measure, error: str = "") -> Done:
    """The outcome of a cell of the list."""
    [cell] = [cell for cell in listed.cells(LACKING) if cell.name == name]
    return Done(cell, measures, error)


def test_the_page() -> None:
    """Counts, cells that failed, those that the kernel lacks, and a row for each cell with what is farthest outside."""
    within = Measure("hybla", "goodput", "Mbit/s", (9.0, 10.0), (9.5, 9.5))
    outside = Measure("cubic", "goodput", "Mbit/s", (9.0, 11.0), (12.0, 12.0))
    from_nothing = Measure("bottleneck", "drops", "", (0.0, 0.0), (2.0, 2.0))
    every = [
        done("hybla/pie/10M-20ms/pair", within, outside, from_nothing),
        done("hybla/fifo/10M-20ms/alone", error="the guest was ended after 600 s"),
    ]
    text = page.page(listed.cells(LACKING), every, LACKING, 2)
    assert "2 cells, 3 measures: 1 within the kernel's own spread, 2 outside, 0 not decided; 1 cells failed." in text
    assert "102 cells of the list are not tried, because this kernel has no qdisc dualpi2." in text
    assert "hybla/fifo/10M-20ms/alone failed: the guest was ended after 600 s" in text
    # In the order of the list, though the cell over PIE came first.
    assert text.index("| hybla/fifo/10M-20ms/alone |") < text.index("| hybla/pie/10M-20ms/pair | +10 % | +2 |")
    assert "| goodput | 1 | 1 | 0 |" in text


def boots(monkeypatch: pytest.MonkeyPatch, said: list[int], fail: str = "") -> None:
    """Guests that write what a scenario of one flow leaves; ``said`` has their seeds."""

    def boot(_: kept.Kernel, script: str, *, seed: int, **__: object) -> Outcome:
        said.append(seed)
        if fail:
            raise RunFailedError(fail)
        names = "cwnd,ssthresh,srtt_us,rttvar_us,min_rtt_us,bytes_acked,bytes_sent,delivered,delivered_ce,retransmitted"
        flow = f"time_ns,{names},lost,unacked,ca_state,pacing_rate,mss,own\n"
        flow += f"12000000000,40,50,30000,100,20000,{14_000_000 + seed},14000000,1,0,0,0,40,0,-1,1448,\n"
        device = f"  s0: {' '.join(['5'] * 16)}\n  r0: {' '.join(['5'] * 16)}\n"
        files = {
            "flow0.csv": flow,
            "arrived0.csv": "time_ns,packets,bytes,ce\n12000000000,10000,15000000,0\n",
            "queue.csv": "time_ns,bytes,packets,qlen,backlog,drops,own\n12000000000,15000000,10000,3,4500,0,\n",
            "counters0": "TcpExt: TCPTimeouts\nTcpExt: 0\n",
            "left": device,
            "arrived": device,
            "path": "",
        }
        return Outcome({name: text.encode() for name, text in files.items()}, 1.0)

    monkeypatch.setattr(carry_out, "boot", boot)


def test_a_list_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests that were booted are not booted again, also for more draws; a cell comes with all its draws."""
    said: list[int] = []
    boots(monkeypatch, said)
    cells = listed.chosen(listed.cells(LACKING), "reno/fifo/10M-20ms/alone")
    for draws, booted, reused in ((2, [1, 2], 0), (2, [1, 2], 2), (3, [1, 2, 3], 2)):
        store, count = guests.Guests(tmp_path, LACKING), Count(draws)
        [one] = carry_out.carry_out(cells, LACKING, draws, 1, store, count, lambda: None)
        store.close()
        assert (said, count.done, count.reused) == (booted, draws, reused)
        goodput = next(measure for measure in one.measures if measure.name == "goodput")
        assert (len(goodput.linux), len(goodput.ours)) == (draws, 4 * draws)


def test_a_guest_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cell has the reason, and nothing is kept of it."""
    boots(monkeypatch, [], fail="the guest's script failed: x")
    cells = listed.chosen(listed.cells(LACKING), "reno/fifo/10M-20ms/alone")
    store, count = guests.Guests(tmp_path, LACKING), Count(2)
    [one] = carry_out.carry_out(cells, LACKING, 2, 1, store, count, lambda: None)
    assert one.error == "the guest's script failed: x" and count.failed == 2
    store.close()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Part of a list writes no page; a pattern without a cell is an error; without a kernel it says why it ends."""
    monkeypatch.setattr(command, "kernels", list)
    assert command.main(["--quick"]) == 0
    assert capsys.readouterr().out.startswith("skipped: there is no kernel here; `windtunnel kernel build`")
    monkeypatch.setattr(command, "kernels", lambda: [LACKING])
    monkeypatch.setattr(command, "choose", lambda _: LACKING)
    boots(monkeypatch, [])
    words = ["--keep", str(tmp_path / "kept"), "--jobs", "1", "--draws", "2", "--page", str(tmp_path / "page.md")]
    assert command.main([*words, "--only", "reno/fifo/10M-20ms/alone"]) == 0
    assert capsys.readouterr().out.startswith("1 cells, ")
    assert not (tmp_path / "page.md").exists()
    with pytest.raises(InputError, match="--only renno: no cell has such a name"):
        command.main([*words, "--only", "renno"])
    # The guest of this test has 9.33 Mbit/s, whatever the cell is.
    assert command.main([*words, "--quick", "--only", "dctcp/fq_codel/25M-60ms/alone"]) == 1
    assert "Mbit/s, and 9.333 by the kernel: more than 2 % apart" in capsys.readouterr().out
