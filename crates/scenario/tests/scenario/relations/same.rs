//! Changes that must not change a run: the digest and the whole summary stay the same.

use std::sync::Arc;

use windtunnel_qdisc::Selector;
use windtunnel_scenario::{
    Change, Endpoints, FlowGroup, Impairment, LinkRate, Member, Scenario, Shape, compile,
};
use windtunnel_sim::element::{CorruptionParams, DuplicationParams, ElementParams, LossParams};
use windtunnel_sim::recorder::{RecordParams, StateRecording};
use windtunnel_sim::{During, Run as DividedRun, RunResult, Simulation};
use windtunnel_units::{Duration, Probability, Time};

use super::Case;
use super::run::{Run, bits};
use crate::generate;

/// The same scenario once more.
pub(super) fn repeated(case: &Case) -> bool {
    case.run.assert_same(&Run::of(&case.scenario), "repeated");
    true
}

/// With everything the long way. Single packets have no record, so that the other run takes the short ways.
pub(super) fn the_long_way(case: &Case) -> bool {
    let record =
        RecordParams { state: StateRecording::Off, events: false, packets: false, ..case.scenario.record };
    let scenario = Scenario { record, ..case.scenario.clone() };
    let long = Simulation::new(compile(&scenario)).the_long_way();
    Run::of(&scenario).assert_same(&Run::from(long.finish()), "the long way");
    true
}

/// In two and in three parts, on as many threads and on fewer: each table and the whole summary are the same to the last bit.
/// A case that cannot be divided does not count.
pub(super) fn in_parts(case: &Case) -> bool {
    let state = match case.scenario.record.state {
        StateRecording::Changes => StateRecording::Interval,
        state => state,
    };
    let record =
        RecordParams { state, events: false, packets: false, payloads: false, ..case.scenario.record };
    let scenario = Scenario { record, ..case.scenario.clone() };
    let whole = Simulation::new(compile(&scenario)).finish();
    let mut divided = false;
    for (parts, threads) in [(2, 2), (3, 3), (3, 1), (7, 2)] {
        let (run, _) = DividedRun::in_parts(compile(&scenario), parts, threads).expect("all flows fit");
        if let DividedRun::Shared(_) = run {
            divided = true;
            assert_identical(&whole, &run.finish_within().expect("memory is not limited"), parts);
        }
    }
    divided
}

/// # Panics
/// If the runs are not the same in all that is seen of them.
fn assert_identical(whole: &RunResult, other: &RunResult, parts: usize) {
    let summary = |result: &RunResult| serde_json::to_value(&result.summary).expect("a summary is JSON");
    assert_eq!(whole.summary.digest, other.summary.digest, "{parts} parts: another digest");
    let names = |result: &RunResult| result.tables.iter().map(|table| table.name).collect::<Vec<_>>();
    assert_eq!(names(whole), names(other), "{parts} parts: other tables");
    for (table, same) in whole.tables.iter().zip(&other.tables) {
        assert_eq!(table.columns.len(), same.columns.len(), "{parts} parts: columns of {}", table.name);
        for ((name, column), (other, values)) in table.columns.iter().zip(&same.columns) {
            assert_eq!((name, column.len()), (other, values.len()), "{parts} parts: {}", table.name);
            let differs = (0..column.len()).find(|row| bits(column, *row) != bits(values, *row));
            assert_eq!(differs, None, "{parts} parts: row of {}.{name}", table.name);
        }
    }
    assert_eq!(summary(whole), summary(other), "{parts} parts: another summary");
}

/// In slices of time and of events, as a caller that shows progress runs it.
pub(super) fn in_slices(case: &Case) -> bool {
    let mut simulation = Simulation::new(compile(&case.scenario));
    let (end, step) = (simulation.end(), (case.scenario.duration / 37).max(Duration::from_nanos(1)));
    let mut until = Time::ZERO;
    while until < end {
        until += step;
        while !simulation.run_slice(until, 101) {}
    }
    case.run.assert_same(&Run::from(simulation.finish()), "in slices");
    true
}

/// As it is printed, with every default.
pub(super) fn printed(case: &Case) -> bool {
    if case.is_whole {
        case.run.assert_same(&Run::of(&parse(&case.scenario.to_toml())), "printed");
    }
    case.is_whole
}

/// A dumbbell, written as a graph of two nodes.
pub(super) fn in_a_graph(case: &Case) -> bool {
    let links = &case.scenario.links;
    if !case.is_whole
        || case.scenario.shape != Shape::Dumbbell
        || links.iter().any(|link| link.rate.is_none())
    {
        return false;
    }
    let graph = case
        .scenario
        .to_toml()
        .replace("[bottleneck]", "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\n[[link]]\nname = \"bottleneck\"\nfrom = \"a\"\nto = \"b\"")
        .replace("[reverse]", "[[link]]\nname = \"reverse\"\nfrom = \"b\"\nto = \"a\"")
        .replace("[[flow]]", "[[flow]]\nfrom = \"a\"\nto = \"b\"");
    case.run.assert_same(&Run::of(&parse(&graph)), "in a graph");
    true
}

/// Each member of a group as a flow of its own.
pub(super) fn members_written_out(case: &Case) -> bool {
    if case.scenario.flows.iter().all(|group| group.count == 1) {
        return false;
    }
    let mut other = case.scenario.clone();
    let alone = |(group, member): (&FlowGroup, Member)| FlowGroup {
        name: member.name,
        active: member.active,
        count: 1,
        stagger: Duration::ZERO,
        ..group.clone()
    };
    other.flows = case.scenario.flows().map(alone).collect();
    case.run.assert_same(&Run::of(&other), "members written out");
    true
}

/// Each key of `[record]` switched alone, where it decides what is recorded: a run that records nothing beyond its
/// totals, with one record, is the same run. The case itself has captures among others.
pub(super) fn each_record(case: &Case) -> bool {
    let recorded = |record: RecordParams| Run::of(&Scenario { record, ..case.scenario.clone() });
    let RecordParams { interval, points, state, events: _, packets, payloads: _ } = case.scenario.record;
    assert!(packets, "a case has captures");
    let least = RecordParams {
        interval,
        points: Some(Duration::ZERO),
        state: StateRecording::Off,
        events: false,
        packets: false,
        payloads: false,
    };
    let run = recorded(least);
    case.run.assert_same(&run, "nothing recorded");
    let finer = (interval * 3 / 7).max(Duration::from_micros(1));
    let points = points.filter(|spacing| !spacing.is_zero()).or(Some(Duration::from_micros(100)));
    let state = if state == StateRecording::Interval { state } else { StateRecording::Changes };
    for (key, record) in [
        ("interval", RecordParams { interval: finer, ..least }),
        ("points", RecordParams { points, ..least }),
        ("state", RecordParams { state, ..least }),
        ("events", RecordParams { events: true, ..least }),
        ("packets", RecordParams { packets, ..least }),
    ] {
        run.assert_same(&recorded(record), key);
    }
    true
}

/// Elements that never do anything, behind each link.
pub(super) fn idle_elements(case: &Case) -> bool {
    let mut other = case.scenario.clone();
    if other.endpoints == Endpoints::Ideal {
        return false;
    }
    let (probability, affects) = (Probability::ZERO, windtunnel_sim::element::Affects::All);
    for link in &mut other.links {
        let idle: [Arc<dyn ElementParams>; 3] = [
            Arc::new(LossParams { probability, affects }),
            Arc::new(CorruptionParams { probability, affects }),
            Arc::new(DuplicationParams { probability, affects }),
        ];
        link.elements.extend(idle.map(|element| Impairment { element, only: None, during: None }));
        // It would lose every packet, and concerns those of a flow that does not exist.
        let element = Arc::new(LossParams { probability: Probability::ONE, affects });
        let only = Some(Selector { flows: vec![u32::MAX], ..Selector::default() });
        link.elements.push(Impairment { element, only, during: None });
        // It would lose every packet, and has not begun when the run ends.
        let element = Arc::new(LossParams { probability: Probability::ONE, affects });
        let from = (Time::ZERO + case.scenario.duration).into();
        let during = Some(During { from, ..During::default() });
        link.elements.push(Impairment { element, only: None, during });
    }
    let run = Run::of(&other);
    assert_eq!(case.run.digest, run.digest, "idle elements: another digest");
    assert_eq!(case.run.packets, run.packets, "idle elements: other packets");
    true
}

/// A link whose rate changes to what it was.
pub(super) fn same_rate(case: &Case) -> bool {
    let mut other = case.scenario.clone();
    let mut any = false;
    for link in &mut other.links {
        if let (Some(LinkRate::Fixed(rate)), true) = (&link.rate, link.params.changes.is_empty()) {
            let at = Time::ZERO + case.scenario.duration / 3;
            link.params.changes.push(Change { at: Some(at), rate: Some(*rate), ..Change::default() });
            any = true;
        }
    }
    if any {
        case.run.assert_same(&Run::of(&other), "a change to the same rate");
    }
    any
}

pub(super) fn parse(text: &str) -> Scenario {
    generate::read(text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
