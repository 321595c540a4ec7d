"""Notes: each rule applies to one scenario and not to a similar one, with the numbers that it must give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from notes_cases import AFTER, AFTER_A_FAST_LINK, BEFORE, CUBIC, RENO, UNLIMITED, Keys, mds_path, one, two

import windtunnel as wt
from windtunnel.notes import RULES, Subject, notes_after, notes_before
from windtunnel.notes.note import Rule
from windtunnel.notes.page import PAGE, page

ROOT = Path(__file__).parents[2]
CASES = {**BEFORE, **AFTER}


def before(keys: Keys) -> list[dict[str, Any]]:
    """The notes on a scenario before it runs."""
    return [note.document() for note in notes_before(wt.Scenario(**keys).resolve())]


def named(notes: list[dict[str, Any]], rule: str) -> list[dict[str, Any]]:
    """The notes of one rule."""
    return [note for note in notes if note["rule"] == rule]


def test_every_rule_has_a_case_on_each_side() -> None:
    """No rule without a test; and whether it speaks before the run is what its cases say."""
    assert {rule.name for rule in RULES} == CASES.keys()
    assert {rule.name for rule in RULES if rule.before} == BEFORE.keys()
    assert len(RULES) == len(CASES) >= 20


@pytest.mark.parametrize("rule", BEFORE)
def test_before_the_run(rule: str) -> None:
    """A rule of the scenario speaks once, with the numbers derived in the case, and not of its neighbour."""
    case = BEFORE[rule]
    (note,) = named(before(case.fires), rule)
    for key, value in case.numbers.items():
        assert note["numbers"][key] == pytest.approx(value, rel=1e-3), key
    assert all(word in note["text"] for word in case.words), note["text"]
    assert not named(before(case.quiet), rule)


@pytest.mark.parametrize("rule", BEFORE)
def test_rules_of_the_scenario_after_the_run(rule: str) -> None:
    """They say the same of the run, but for those that have nothing left to say where nothing was dropped."""
    case = BEFORE[rule]
    result = wt.Scenario(**case.fires).run()
    (note,) = named(result.notes, rule)
    for key, value in case.numbers.items():
        assert note["numbers"][key] == pytest.approx(value, rel=1e-3), key
    json.dumps(result.notes, allow_nan=False)


@pytest.mark.parametrize("rule", AFTER)
def test_after_the_run(rule: str) -> None:
    """A rule of the measurements applies to the one run and not to the other."""
    case = AFTER[rule]
    result = wt.Scenario(**case.fires).run()
    notes = named(result.notes, rule)
    assert notes, [note["text"] for note in result.notes]
    for key, value in case.numbers.items():
        assert notes[0]["numbers"][key] == pytest.approx(value, rel=1e-3), key
    assert all(word in notes[0]["text"] for word in case.words), notes[0]["text"]
    quiet = wt.Scenario(**case.quiet).run()
    assert not named(quiet.notes, rule), named(quiet.notes, rule)
    json.dumps(result.notes, allow_nan=False)


def test_the_hazards_of_mds() -> None:
    """The echo cleared on ACKs says the same as ECT(1) cleared. No note where nothing is cleared behind the queue that
    marks, where the sender has a fallback, or where a VPN has one queue alone.
    """
    stripped = [{"kind": "option-stripper", "options": ["ae-flag"]}]
    cleared = [{"kind": "ecn-bleacher", "from": ["ect1"]}]
    (note,) = named(before(mds_path(back=stripped)), "mds-signal-lost")
    assert "clears AE on its ACKs" in note["text"] and note["flow"] == "reno-mds"
    fallback = {"kind": "reno-mds", "fallback": 8}
    before_the_queue = mds_path()
    before_the_queue["links"][0]["impair"] = cleared
    for sane in (
        mds_path(),
        mds_path("reno", cleared),
        mds_path(fallback, cleared),
        before_the_queue,
        mds_path(window=32),
    ):
        assert not [note for note in before(sane) if note["rule"].startswith("mds-")]
        assert not [note for note in wt.Scenario(**sane).run().notes if note["rule"].startswith("mds-")]


def test_numbers_are_those_of_the_summary() -> None:
    """Numbers that cannot be derived by hand are those that the summary has."""
    rules = ("aqm-overrun", "ecn-bleached", "timeouts", "acks-lost")
    notes = {rule: wt.Scenario(**AFTER[rule].fires).run() for rule in rules}
    (overrun,) = named(notes["aqm-overrun"].notes, "aqm-overrun")
    drops = notes["aqm-overrun"].queues[0]["drops"]
    assert overrun["numbers"] == {"full": drops["full"], "signals": drops["aqm"]}
    (bleached,) = named(notes["ecn-bleached"].notes, "ecn-bleached")
    assert bleached["numbers"]["marked"] == notes["ecn-bleached"].queues[0]["ce"] > 0
    (timeouts,) = named(notes["timeouts"].notes, "timeouts")
    assert timeouts["numbers"]["rtos"] == notes["timeouts"].flows[0]["rtos"] > 0
    (acks,) = named(notes["acks-lost"].notes, "acks-lost")
    (flow,) = notes["acks-lost"].flows
    assert acks["numbers"]["acks_lost"] == flow["ack_drops"]["wire"] > 0


def test_the_issue_s_examples() -> None:
    """PIE behind its limit, measured; the unlimited FIFO with the delay that it caused."""
    pie = wt.Scenario(**one(CUBIC, "pie", "1 Gbit/s", "3 s")).run()
    (note,) = named(pie.notes, "aqm-behind-limit")
    assert note["text"].startswith(
        "PIE never acted: its limit of 1000 packets is 12 ms at this rate, below its target of 15 ms"
    )
    assert pie.queues[0]["drops"]["aqm"] == 0
    fifo = wt.Scenario(**one(CUBIC, UNLIMITED)).run()
    (note,) = named(fifo.notes, "unlimited-queue")
    assert note["numbers"]["mean_s"] == pytest.approx(fifo.queues[0]["sojourn_ms"]["mean"] / 1e3)
    assert note["level"] == "warning"


def test_warnings_come_first_and_many_flows_are_few_notes() -> None:
    """A hundred flows that left slow start are four notes; the last says how many more there are."""
    result = wt.Scenario(**one({**CUBIC, "count": 100}, UNLIMITED, "100 Mbit/s", "5 s")).run()
    levels = [note["level"] for note in result.notes]
    assert levels == sorted(levels, key=lambda level: level != "warning")
    left = named(result.notes, "slow-start-left")
    assert len(left) == 4
    assert left[-1]["numbers"]["flows"] > 50


@pytest.mark.parametrize("rule", BEFORE)
def test_equal_flows_are_said_to_be_what_each_of_them_is(rule: str) -> None:
    """Before a run one flow stands for most of its equals: notes are those of as many entries with one flow each."""
    for keys in (BEFORE[rule].fires, BEFORE[rule].quiet):
        scenario = wt.Scenario(**keys).resolve()
        of_groups = [{**flow, "count": 7} for flow in scenario["flow"]]
        of_entries = [
            {**flow, "count": 1, "name": f"{flow['name']}-{member}"}
            for flow in scenario["flow"]
            for member in range(1, 8)
        ]
        of_many, of_each = (notes_before({**scenario, "flow": flows}) for flows in (of_groups, of_entries))
        assert [note.document() for note in of_many] == [note.document() for note in of_each]


def test_a_million_flows_are_checked_as_their_entries() -> None:
    """The number of equal flows does not matter for the time that it takes to say what holds for all of them."""
    scenario = wt.Scenario(**one({**CUBIC, "count": 1_000_000}, duration="500 ms")).resolve()
    assert len(Subject(scenario).flows) < 10
    (*_, more) = named([note.document() for note in notes_before(scenario)], "short-run")
    assert more["numbers"]["flows"] == 999_997


def test_only_the_slowest_link_is_a_buffer() -> None:
    """An unlimited FIFO on a fast link before the bottleneck stays empty: no note is about it, before or after."""
    fast_first = AFTER_A_FAST_LINK
    assert not [note for note in before(fast_first) if note["rule"] in ("unlimited-queue", "one-start")]
    notes = wt.Scenario(**fast_first).run().notes
    assert not [note for note in notes if note["queue"] == "fast" and note["rule"] != "not-bottleneck"]


def test_losses_of_one_flow_do_not_limit_another() -> None:
    """With `only` an impairment's probability is that of the flows that it names; the others have none."""
    loss = {"kind": "loss", "probability": "3 %", "only": {"flows": [1]}}
    apart = {**one(RENO, impair=loss), "flows": [{**RENO, "name": "clean"}, {**RENO, "name": "lossy"}]}
    (note,) = named(before(apart), "loss-rate-limits")
    assert "lossy" in note["text"] and "clean" not in note["text"]


def test_a_coarse_record_shows_no_synchrony() -> None:
    """Losses that are recorded a second apart fall together by chance: nothing is concluded from them."""
    scenario = AFTER["synchronised-losses"].fires
    assert named(wt.Scenario(**scenario).run().notes, "synchronised-losses")
    coarse = {**scenario, "record": {"interval": "1 s"}}
    assert not named(wt.Scenario(**coarse).run().notes, "synchronised-losses")


def test_flows_with_other_parameters_are_no_equals() -> None:
    """Flows of one controller that differ in a parameter are not expected to share equally."""
    slow, fast = (
        {**RENO, "cc": {"kind": "aimd", "a": 0.2, "b": 0.125}},
        {**RENO, "cc": {"kind": "aimd", "a": 1.0, "b": 0.5}},
    )
    unequal = wt.Scenario(**two(slow, fast, duration="30 s", rate="40 Mbit/s")).run()
    assert not named(unequal.notes, "not-converged")
    assert not named(unequal.notes, "lock-out")


#: Two CUBIC flows. The first has been ahead since slow start: for ten seconds it has more than twice the rate.
AHEAD: Keys = one({**CUBIC, "count": 2}, rate="100 Mbit/s")
JITTER: Keys = {"kind": "jitter", "mean": "1 ms", "deviation": "1 ms"}
#: PIE's coins decide how far the first flow gets ahead: with this seed it is three times.
BEFORE_PIE: Keys = {
    **AFTER_A_FAST_LINK,
    "seed": 7,
    "links": [
        {**link, **({"rate": "100 Mbit/s", "queue": "pie"} if link["name"] == "slow" else {})}
        for link in AFTER_A_FAST_LINK["links"]
    ],
}


@pytest.mark.parametrize(
    "keys",
    [
        AHEAD,
        {
            **AHEAD,
            "seed": 2,
            "bottleneck": {**AHEAD["bottleneck"], "impair": JITTER},
        },
        BEFORE_PIE,
    ],
    ids=["a tail drop", "with jitter", "a FIFO before PIE"],
)
def test_a_head_start_is_no_phase_effect(keys: Keys) -> None:
    """A flow that has twice the rate of its equal, and loses no less of what it sends by that factor, has it from its
    start: what is said is that they did not converge.
    """
    result = wt.Scenario(**keys).run()
    fast, slow = (flow["active"]["throughput_mbps"] for flow in result.flows)
    assert fast > 2 * slow
    assert not named(result.notes, "lock-out")
    assert named(result.notes, "not-converged")


def test_jitter_parts_flows_that_start_together() -> None:
    """Jitter beyond the time of a packet, 1.2 ms at 10 Mbit/s, is noise; less is none."""
    for deviation, speaks in (("1.1 ms", True), ("1.3 ms", False)):
        jitter = {"kind": "jitter", "mean": "5 ms", "deviation": deviation}
        notes = before(one({**RENO, "count": 3}, impair=jitter))
        assert bool(named(notes, "one-start")) == speaks


def test_the_slower_flow_of_a_phase_effect_loses_the_larger_part() -> None:
    """The case of the rule: the part of its packets that the slower flow lost is larger by more than the factor of the
    rates.
    """
    result = wt.Scenario(**AFTER["lock-out"].fires).run()
    slow, fast = sorted(result.flows, key=lambda flow: flow["active"]["throughput_mbps"])
    lost = [sum(flow["drops"].values()) / flow["sent"] for flow in (slow, fast)]
    (note,) = named(result.notes, "lock-out")
    assert lost[0] / lost[1] > note["numbers"]["ratio"] > 2


def test_marks_that_were_cleared_were_made() -> None:
    """DelTiM marks SCE, and what follows clears ECT(1): the note tells how many marks the queue made."""
    clear = {"kind": "ecn-bleacher", "from": ["ect1"], "to": "ect0"}
    result = wt.Scenario(**one({"cc": "reno-mds", "rtt": "40 ms"}, "deltim", impair=clear)).run()
    (note,) = named(result.notes, "no-fine-signals")
    made = result.queues[0]["sce"]
    assert made > 100
    assert note["numbers"]["made"] == made
    assert f"made {made}, and what followed cleared the ECN field" in note["text"]


@pytest.mark.parametrize(("kind", "marks"), [("codel", 73), ("my-aqm", 73), ("my-aqm", 0), ("codel", 0)])
def test_counters_stand_above_what_is_known_of_a_kind(kind: str, marks: int) -> None:
    """A queue that marked in the run is not said to make no marks, and nothing is said about an unknown kind."""
    scenario = json.loads(json.dumps(wt.Scenario(**one({**CUBIC, "ecn": True}, "codel")).resolve()))
    queue = scenario["bottleneck"]["queue"]
    if kind != "codel":
        del queue["ecn"]
        queue["kind"] = kind
    ran = {"flows": [{}], "queues": [{"name": "bottleneck", "ce": marks}]}
    said = [note for note in notes_after(scenario, ran, {}) if note.rule == "ecn-without-marks"]
    assert len(said) == (kind == "codel" and marks == 0)
    silent = [note for note in notes_before(scenario) if note.rule == "ecn-without-marks"]
    assert len(silent) == (kind == "codel")


def test_a_ring_spares_scalable_flows_that_are_alone() -> None:
    """On a link with ``ring = 1`` DualPI2's step no longer times the packet that the device has taken. Next to CUBIC
    that changes nothing, as measured here and with kernel 7.3.4. Two packets take 0.8 ms at 30 Mbit/s, below the step.
    """
    prague = {"cc": "prague", "rtt": "40 ms"}

    def said(keys: Keys, **link: Any) -> list[dict[str, Any]]:
        return named(before({**keys, "bottleneck": {**keys["bottleneck"], **link}}), "step-below-packets")

    assert not said(one(prague, "dualpi2", "30 Mbit/s"))
    assert not said(one(prague, "dualpi2", "20 Mbit/s"), ring=1)
    (note,) = said(two(prague, CUBIC, "dualpi2", "20 Mbit/s"), ring=1)
    assert "ring" not in note["text"]


def test_no_notes_where_there_is_nothing_to_say() -> None:
    """A plain scenario with an AQM and ECN, long enough, has no warning."""
    scenario = one({**CUBIC, "ecn": True}, {"kind": "codel", "ecn": True}, duration="60 s")
    assert before(scenario) == []
    assert not [note for note in wt.Scenario(**scenario).run().notes if note["level"] == "warning"]


def test_rules_do_not_fail_on_what_a_result_lacks() -> None:
    """Results of earlier versions, ideal endpoints, datagrams alone: every rule can read all of them."""
    scenarios: list[Keys] = [
        {**one(CUBIC), "endpoints": "ideal", "flows": [{"cc": "reno", "rtt": "20 ms"}]},
        one({"app": "probe", "rtt": "40 ms"}),
        two({"cc": "bsd42", "rtt": "40 ms"}, {"app": "media", "rtt": "10 ms"}),
        {**one(CUBIC), "record": {"points": "1 s"}},
    ]
    for keys in scenarios:
        result = wt.Scenario(**keys).run()
        bare = {"flows": [{"name": flow["name"]} for flow in result.flows], "queues": [{"name": "bottleneck"}]}
        for summary in (result.summary, bare):
            subject = Subject(result.meta["scenario"], summary, result.tables)
            assert all(isinstance(rule, Rule) and list(rule.notes(subject)) is not None for rule in RULES)


def test_in_the_folder_the_page_and_the_terminal(cli: Cli, tmp_path: Path) -> None:
    """A note is in ``summary.json``, on the page, in what ``run`` prints, and read back as it was written."""
    (tmp_path / "s.toml").write_text(wt.Scenario(**one(CUBIC, UNLIMITED, duration="3 s")).to_toml())
    done = cli("run", "s.toml", "--out", "out")
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    (note,) = named(summary["notes"], "unlimited-queue")
    assert "319" not in note["text"]
    assert f"warning: {note['text']}" in " ".join(done.stdout.split())
    assert "warning: bottleneck has no queue limit" in done.stderr, "said before the run"
    page = (tmp_path / "out/report.html").read_text()
    assert "bottleneck has no queue limit: FIFO is unlimited" in page
    assert wt.load(tmp_path / "out").notes == summary["notes"]
    checked = cli("check", "s.toml")
    assert "warning: bottleneck has no queue limit" in checked.stderr


def test_the_page_of_rules_is_that_of_the_code() -> None:
    """``docs/notes.md`` is made of the rules; ``python -m windtunnel.notes.page`` writes it again."""
    assert (ROOT / PAGE).read_text() == page()
