"""The pack ccwg-bbr: each check of a test case is met by a run that does what the case asks, and notices one that does
not. What is wrong is another controller, another scenario, or a row that no run of ours has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from conftest import Cli

from windtunnel.evaluate import examine
from windtunnel.evaluate.fill import cells, metrics, scenario
from windtunnel.evaluate.judge import decide
from windtunnel.evaluate.pack import MOMENT, Clause, Trial, read
from windtunnel.evaluate.page import write_pack_page
from windtunnel.evaluate.subject import placeholders
from windtunnel.experiment.measures import Expression, MetricError, NotToldError
from windtunnel.experiment.measures.bbr_state import COLUMNS, PROBE_RTT, STARTUP
from windtunnel.metrics import Array
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario

PACK = read("ccwg-bbr")
CLAUSES = {clause.id: clause for clause in PACK.clauses}
LINUX_AS_TYPED = "{ kind = 'bbr3', variant = 'linux' }"
LINUX, DRAFT_06 = ({"kind": "bbr3", "variant": variant} for variant in ("linux", "draft-06"))

#: What today's bbr3 does not meet on the quick paths: docs/evaluate.md says why.
NOT_MET = {"14/window", "14/rtos", "16/rounds", "18/burst-restored", "18/burst-mode", "19/up-restored"}

Change = Callable[[dict[str, Any]], None]
Rows = Callable[[dict[str, Array]], None]


def run(trial: Trial, cc: Any = "bbr3", change: Change | None = None, rows: Rows | None = None) -> dict[str, float]:
    """The metrics of the quick run with the first seed."""
    cell = next(cells(trial, PACK.variables, quick=True))
    data = scenario(trial, cell, "one", 1, placeholders("cc", cc))
    if change is not None:
        change(data)
    result = Scenario.from_toml(tomli_w.dumps(data)).run()
    columns = {name: np.array(values) for name, values in result.tables["cc"].items()}
    if rows is not None:
        rows(columns)
    result = RunResult(result.summary, {**result.tables, "cc": columns}, {})
    return {name: Expression.parse(text).value(result) for name, text in metrics(trial, cell).items()}


def verdicts(clause: Clause, trial: Trial, values: dict[str, float]) -> dict[str, str]:
    """By the checks' names; a mean is judged as if two runs had given it."""
    checks = [check for check in clause.checks if check.trial == trial.id and check.expect is not None]
    return {f"{clause.id}/{c.id}": decide(c.expect, [values[c.value]] * 2, {}).verdict for c in checks}


def times(column: str, factor: float) -> Rows:
    """A column with other values."""

    def rows(columns: dict[str, Array]) -> None:
        columns[column] = columns[column] * factor

    return rows


def grows(column: str) -> Rows:
    """A column that grows from row to row."""

    def rows(columns: dict[str, Array]) -> None:
        columns[column] = columns[column] * np.linspace(1, 2, len(columns[column]))

    return rows


def other(mode: int, instead: int) -> Rows:
    """Another mode in the place of one."""

    def rows(columns: dict[str, Array]) -> None:
        columns["mode"] = np.where(columns["mode"] == mode, instead, columns["mode"])
        columns["drain_start_round"][:] = np.nan

    return rows


def cruises_after_probe_rtt(columns: dict[str, Array]) -> None:
    """Startup is over after its first ProbeRTT."""
    mode = columns["mode"]
    later = np.arange(len(mode)) > np.flatnonzero(mode == PROBE_RTT)[0]
    columns["mode"] = np.where(later & (mode == STARTUP), 3, mode)


def bound_at_loss(columns: dict[str, Array]) -> None:
    """The bound is set by a sample that the application limits."""
    columns["inflight_long_bytes"] = columns["inflight_at_loss_bytes"]


def saves_a_bound(columns: dict[str, Array]) -> None:
    """A bound is saved that there was not."""
    columns["undo_inflight_long_bytes"] = columns["in_flight_bytes"]


def keeps_a_bound(columns: dict[str, Array]) -> None:
    """An undo gives nothing back of the long-term bound."""
    undone = columns["undos"] > 0
    columns["inflight_long_bytes"] = np.where(undone, columns["in_flight_bytes"], columns["inflight_long_bytes"])


def keeps_the_window(columns: dict[str, Array]) -> None:
    """An undo leaves half of the window."""
    columns["cwnd_bytes"] = np.where(columns["undos"] > 0, columns["cwnd_bytes"] / 2, columns["cwnd_bytes"])


def impaired(impair: dict[str, Any] | None) -> Change:
    """Another impairment, or none."""

    def change(data: dict[str, Any]) -> None:
        data["bottleneck"].pop("impair", None)
        if impair is not None:
            data["bottleneck"]["impair"] = impair

    return change


def later(at: str) -> Change:
    """The path changes at another time."""

    def change(data: dict[str, Any]) -> None:
        data["bottleneck"]["changes"][0]["at"] = at

    return change


def without(key: str) -> Change:
    """A flow without an application that limits it, or without a pause."""

    def change(data: dict[str, Any]) -> None:
        del data["flow"][0][key]

    return change


BULK, LOSSY = without("app"), impaired({"kind": "loss", "probability": 0.3, "affects": "data"})

#: What is wrong, by the checks that must notice it.
WRONG: dict[str, dict[str, Any]] = {
    "1/bandwidth": {"change": impaired({"kind": "aggregation", "hold": "20 ms", "packets": 1000})},
    "1/rounds": {"change": impaired({"kind": "loss", "probability": 0.1, "affects": "data"})},
    "1/next": {"rows": other(1, 5)},
    "2/rounds": {"rows": times("rounds", 5)},
    "2/next": {"rows": other(1, 5)},
    "3/gain": {"cc": LINUX},
    "3/in-flight": {"rows": times("in_flight_bytes", 2)},
    "3/rounds": {"rows": times("rounds", 5)},
    "4/rounds": {"cc": LINUX},
    "4/in-flight": {"rows": times("in_flight_bytes", 0.5)},
    "5/rounds": {"cc": "bbr2"},
    "5/next": {"rows": other(2, 4)},
    "6/next": {"rows": other(2, 4)},
    "6/bound": {"rows": bound_at_loss},
    "6/limited": {"rows": times("app_limited", 0)},
    "7/startup": {"change": BULK},
    "7/up": {"change": BULK},
    "8/gain": {"cc": LINUX},
    "8/in-flight": {"rows": times("in_flight_bytes", 2)},
    "9/next": {"cc": "bbr2"},
    "9/wait": {"rows": times("wait_s", 3)},
    "9/late": {"cc": "bbr2"},
    "10/interval": {"cc": DRAFT_06},
    "10/gain": {"rows": times("cwnd_gain", 2)},
    "10/stay": {"rows": times("time_s", 0.5)},
    "10/rounds": {"rows": times("time_s", 3)},
    "10/held": {"rows": grows("probe_rtt_cwnd_bytes")},
    "10/window": {"rows": times("probe_rtt_cwnd_bytes", 2)},
    "10/next": {"rows": other(3, 2)},
    "11/entries": {"change": without("active")},
    "11/restarts": {"change": without("active")},
    "12/extra": {"change": impaired(None)},
    "12/bandwidth": {"rows": times("max_bw_bit_per_s", 2)},
    "12/window": {"rows": times("cwnd_bytes", 0.5)},
    "12/rounds": {"rows": times("rounds", 5)},
    "13/extra": {"change": impaired(None)},
    "13/used": {"change": LOSSY},
    "14/used": {"change": LOSSY},
    "15/bandwidth": {"rows": times("max_bw_bit_per_s", 2)},
    "15/time": {"change": later("22 s")},
    "16/bandwidth": {"change": later("29 s")},
    "17/used": {"change": LOSSY},
    "17/lost": {"change": LOSSY},
    "18/up-saved": {"cc": LINUX},
    "18/up-restored": {"cc": LINUX},
    "18/up-mode": {"cc": LINUX},
    "18/startup-mode": {"cc": LINUX},
    "18/cruise-saved": {"rows": saves_a_bound},
    "18/cruise-restored": {"rows": keeps_a_bound},
    "19/cruise-saved": {"rows": saves_a_bound},
    "19/cruise-window": {"rows": keeps_the_window},
    "19/up-mode": {"rows": other(4, 2)},
    "20/next": {"rows": cruises_after_probe_rtt},
    "21/next": {"rows": other(2, 4)},
    "21/least": {"rows": times("inflight_long_bytes", 0.5)},
    "21/most": {"rows": times("inflight_long_bytes", 2)},
    "22/next": {"rows": other(5, 3)},
    "22/rounds": {"rows": times("rounds", 5)},
    "22/bandwidth": {"rows": grows("max_bw_bit_per_s")},
    "22/limited": {"change": BULK},
}


def test_the_drafts_cases() -> None:
    """All 22, by their numbers; every one that is tried names the moment that decides, if a state does."""
    assert list(CLAUSES) == [str(number) for number in range(1, 23)]
    for clause in PACK.clauses:
        assert clause.trials, clause.id
        for trial in clause.trials:
            reads = any(text.startswith("bbr.") for text in trial.metrics.values())
            # What a link lost needs no row for each ACK.
            assert trial.scenario["record"] == {"state": "interval" if clause.id == "17" else "changes"}
            assert reads == (MOMENT in trial.metrics), clause.id


def test_the_drafts_grid() -> None:
    """Round trips from 0.5 ms to 1 s times rates from 64 kbit/s to 10 Gbit/s (docs/spec/ccwg-2026.md, section B): each
    place is in a case, those with less than four packets in case 14 alone, and no run is longer than the pack says.
    """
    of_case = {
        clause.id: {
            (cell.values["rate"], cell.values["rtt"]): cell.values
            for trial in clause.trials
            for cell in cells(trial, PACK.variables, quick=False)
        }
        for clause in PACK.clauses
    }
    tiny = of_case.pop("14")
    others = {path: values for paths in of_case.values() for path, values in paths.items()}
    assert len(tiny) == 8 and len(others) == 22 and not tiny.keys() & others.keys()
    for values in (*tiny.values(), *others.values()):
        # A packet of 1500 bytes has 0.012 Mbit.
        assert values["packets"] == pytest.approx(values["mbps"] * values["s"] / 0.012, rel=1e-3)
        assert (values["packets"] < 4) == ((values["rate"], values["rtt"]) in tiny)
        assert values["million"] <= (11 if values["s"] == 1 else 6.3)


def test_expensive_cells_have_fewer_seeds() -> None:
    """Three, and one from 450,000 packets on."""
    alone = CLAUSES["1"]
    seeds = {
        (cell.values["rate"], cell.values["rtt"]): PACK.seeds_of(
            alone, alone.trials[0], quick=False, values=cell.values
        )
        for cell in cells(alone.trials[0], PACK.variables, quick=False)
    }
    assert (seeds["10 Mbit/s", "40 ms"], seeds["10 Gbit/s", "200 ms"]) == (3, 1)


@pytest.mark.parametrize(("clause", "trial"), [(c, t) for c in PACK.clauses for t in c.trials], ids=lambda x: x.id)
def test_met(clause: Clause, trial: Trial) -> None:
    """The draft's controller on the quick paths."""
    for name, verdict in verdicts(clause, trial, run(trial)).items():
        assert verdict == ("differs" if name in NOT_MET else "agrees"), name


@pytest.mark.parametrize("name", WRONG)
def test_noticed(name: str) -> None:
    """Each check finds what is wrong."""
    clause = CLAUSES[name.partition("/")[0]]
    check = next(check for check in clause.checks if check.id == name.partition("/")[2])
    trial = next(trial for trial in clause.trials if trial.id == check.trial)
    assert verdicts(clause, trial, run(trial, **WRONG[name]))[name] == "differs"


def test_every_check_is_tried() -> None:
    """What bbr3 does not meet shows by itself that its check can fail."""
    judged = {f"{clause.id}/{check.id}" for clause in PACK.clauses for check in clause.checks if check.expect}
    assert judged == set(WRONG) | NOT_MET


def test_refused_by_name(cli: Cli) -> None:
    """A controller without BBR's numbers: the message names one, and who has them. A stack's own by its name."""
    done = cli("evaluate", "ccwg-bbr", "--cc", "cubic")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--cc cubic: ccwg-bbr reads the state of a BBR, and this controller has no `cwnd_gain`" in done.stderr
    assert done.stderr.rstrip().endswith("controllers that have it: bbr, bbr3, bbr2")
    done = cli("evaluate", "ccwg-bbr", "--cc", '{ stack = "quinn", cc = "cubic" }')
    assert (done.returncode, done.stdout) == (2, "")
    assert "--cc cubic of quinn: ccwg-bbr examines a BBR" in done.stderr
    done = cli("evaluate", "ccwg-bbr", "--cc", '{ stack = "quinn", cc = "bbr9" }')
    assert (done.returncode, done.stdout) == (2, "")
    assert "bbr9" in done.stderr and "newreno" in done.stderr


#: What version 1 has no state for: by the checks, the word of the reason.
UNSEEN_OF_FIRST = {
    "2/rounds": "lost_ranges", "2/next": "lost_ranges", "3/rounds": "drain_start_round",
    "4/rounds": "drain_start_round", "4/in-flight": "drain_start_round", "5/rounds": "full_bw_now",
    "6/next": "inflight_at_loss_bytes", "6/bound": "inflight_at_loss_bytes", "6/limited": "inflight_at_loss_bytes",
    "9/wait": "wait_s", "9/late": "wait_s", "16/rounds": "bw_short_bit_per_s",
    **dict.fromkeys(("18/up-saved", "18/up-restored", "18/up-mode", "18/burst-restored"), "undo_saves"),
    **dict.fromkeys(("18/burst-mode", "18/startup-mode", "18/cruise-saved", "18/cruise-restored"), "undo_saves"),
    **dict.fromkeys(("19/cruise-saved", "19/cruise-window", "19/up-restored", "19/up-mode"), "undo_saves"),
    "21/next": "inflight_at_loss_bytes", "21/least": "inflight_at_loss_bytes", "21/most": "inflight_at_loss_bytes",
    **dict.fromkeys(("22/next", "22/rounds", "22/bandwidth", "22/limited"), "REFILL"),
}  # fmt: skip


def test_version_1() -> None:
    """Its rows have a verdict where it has the state, and otherwise name what it lacks; none is left out."""
    evidence = examine("ccwg-bbr", "bbr", quick=True, jobs=1, use_cache=False)
    rows = {row.id.partition(" ")[0]: row for result in evidence.results for row in result.rows}
    assert set(rows) == {f"{clause.id}/{check.id}" for clause in PACK.clauses for check in clause.checks}
    unseen = {id: row.note for id, row in rows.items() if row.verdict == "unseen"}
    assert set(unseen) == set(UNSEEN_OF_FIRST)
    assert all(word in unseen[id] and unseen[id].startswith("`bbr`") for id, word in UNSEEN_OF_FIRST.items())
    # Its own gains, and a window of four segments in ProbeRTT.
    for id in ("3/gain", "8/gain", "10/gain", "10/window", "9/next"):
        assert rows[id].verdict == "differs", id
    for id in ("1/bandwidth", "1/rounds", "10/interval", "11/restarts", "15/bandwidth"):
        assert rows[id].verdict == "agrees", id


def test_a_stacks_own_controller() -> None:
    """It tells window and pace, but no mode: what the path and the window show is judged, and each other row says what
    is not told. A scenario that waits for a state has no run. ProbeRTT is where the window falls: ten seconds after the
    start, and once more after an idle time, since nothing in quinn 0.11.19 sets `exiting_quiescence`.
    """
    text = '{ stack = "quinn", cc = "bbr" }'
    evidence = examine("ccwg-bbr", text, only=["8", "9", "10", "11", "14"], quick=True, jobs=1, use_cache=False)
    rows = {row.id.partition(" ")[0]: row for result in evidence.results for row in result.rows}
    assert {run.clause for run in evidence.runs if run.arm == "subject"} == {"8", "10", "11", "14"}
    assert {id: row.word for id, row in rows.items()} == {
        **dict.fromkeys(("8/gain", "8/in-flight", "9/next", "9/wait", "9/late", "14/rtos"), "not visible"),
        **dict.fromkeys(("10/interval", "10/gain", "10/rounds", "10/window", "10/next"), "not visible"),
        **dict.fromkeys(("10/stay", "10/held", "14/used"), "met"),
        "11/entries": "not met",
        "11/restarts": "not visible",
        "14/window": rows["14/window"].word,
    }
    # Of its 1200 or 1472 bytes for a datagram, by numbers that it draws without a seed.
    assert rows["14/window"].verdict in ("agrees", "differs")
    assert rows["8/gain"].note == "`bbr-quinn` tells no `mode`"
    assert rows["9/next"].note == "bbr of quinn tells no `pacing_gain`, for which the scenario waits"
    assert rows["14/rtos"].note == "`bbr-quinn` tells no `rtos`"


def test_values_come_from_the_runs_tables() -> None:
    """A pack whose metrics need a table has them, and its rows name the moment."""
    evidence = examine("ccwg-bbr", "bbr3", only=["3"], quick=True, jobs=1, use_cache=False)
    (result,) = evidence.results
    assert result.verdict == "agrees" and all(row.subject.runs == 3 for row in result.rows)
    assert all("s with seed 1" in row.note for row in result.rows)
    assert {row.baselines["linux"].mean for row in result.rows if row.id.startswith("3/gain")} == {0.34375}


def test_the_page_has_a_grid(tmp_path: Path) -> None:
    """A column for each rate and a row for each round trip, with what decides where a case is not met."""
    evidence = examine("ccwg-bbr", LINUX_AS_TYPED, only=["3"], quick=True, jobs=1)
    write_pack_page(tmp_path / "report.html", evidence, {})
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    grid = page.partition('<table class="pack-grid">')[2].partition("</table>")[0]
    words = [word for word in re.sub("<[^>]+>", "\n", grid).splitlines() if word]
    assert words == ["rtt \\ rate", "10 Mbit/s", "40 ms", "not met", "gain, in-flight"]


def test_a_row_says_how_many_runs_break_its_rule() -> None:
    """The mean of several runs may be within the limits that one of them breaks."""
    evidence = examine("ccwg-bbr", LINUX_AS_TYPED, only=["3"], quick=True, jobs=1)
    notes = {row.id.partition(" ")[0]: row.note for row in evidence.results[0].rows}
    assert notes["3/gain"].startswith("3 of 3 runs break it; the draft's constant")
    assert "break it" not in notes["3/rounds"]


def test_unknown_names_of_a_case() -> None:
    """The nearest name; and a run without BBR's state names the number that it lacks."""
    flow = {"cc": "bbr3", "rtt": "20 ms"}
    made = Scenario(duration="1 s", bottleneck={"rate": "10 Mbit/s"}, flows=[flow], record={"state": "changes"})
    result = made.run()
    with pytest.raises(MetricError, match="did you mean `drain`"):
        Expression.parse("bbr.drian.rounds").value(result)
    with pytest.raises(MetricError, match="there are at_s, pacing_gain, rounds, in_flight, still_in_flight"):
        Expression.parse("bbr.drain.round").value(result)
    with pytest.raises(MetricError, match=r"write bbr\.CASE\.NUMBER"):
        Expression.parse("bbr.drain").value(result)
    assert set(COLUMNS) <= set(result.tables["cc"])
    other = Scenario(duration="1 s", bottleneck={"rate": "10 Mbit/s"}, flows=[{**flow, "cc": "cubic"}]).run()
    with pytest.raises(NotToldError, match="`cubic` tells no `mode`"):
        Expression.parse("bbr.drain.rounds").value(other)
