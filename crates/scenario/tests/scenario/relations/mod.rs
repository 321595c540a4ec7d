//! Relations between runs: how a change of any scenario must change its run.
//!
//! No number is known in advance; two runs are compared with each other. In [`same`] nothing may change at all, in
//! [`moved`] both runs have the same packets, at other times or under other names.

mod moved;
mod run;
mod same;
mod scale;

#[cfg(test)]
use std::collections::BTreeSet;

use windtunnel_scenario::{Scenario, compile};
use windtunnel_sim::Simulation;

use crate::generate::{self, ROWS};
use run::Run;

/// A scenario and its run.
struct Case {
    scenario: Scenario,
    run: Run,
    /// The run is as long as the scenario says; otherwise no scenario could be written for it.
    is_whole: bool,
}

/// A relation: its name, and a check that returns whether the relation applies to a case.
///
/// # Panics
/// If the relation is violated; the message says how.
type Relation = (&'static str, fn(&Case) -> bool);

const RELATIONS: [Relation; 14] = [
    ("repeated", same::repeated),
    ("the long way", same::the_long_way),
    ("in parts", same::in_parts),
    ("in slices", same::in_slices),
    ("printed", same::printed),
    ("in a graph", same::in_a_graph),
    ("members written out", same::members_written_out),
    ("each record", same::each_record),
    ("idle elements", same::idle_elements),
    ("a change to the same rate", same::same_rate),
    ("half", moved::half),
    ("later", moved::later),
    ("flows in reverse order", moved::reversed),
    ("twice as fast", scale::doubled),
];

/// The names of all relations, in alphabetical order.
#[cfg(test)]
pub(crate) fn names() -> BTreeSet<&'static str> {
    RELATIONS.iter().map(|(name, _)| *name).collect()
}

/// The scenario with this seed: a scenario of any kind, one whose times and rates can be scaled, or one of several links.
pub(crate) fn generate(seed: u64) -> String {
    match seed % 4 {
        0 => scale::generate(seed),
        1 => generate::generate(ROWS + seed),
        _ => generate::generate(seed),
    }
}

/// Checks all relations. Returns those that applied. A run with more events than `most_events`, or more packets, is cut
/// off.
///
/// # Panics
/// If a relation is violated; the message says how.
pub(crate) fn check(scenario: &Scenario, most_events: u64) -> Vec<&'static str> {
    let case = case(scenario, most_events);
    RELATIONS.iter().filter(|(_, holds)| holds(&case)).map(|(name, _)| *name).collect()
}

/// Checks that what is recorded does not change the run, as [`check`] does among others.
///
/// # Panics
/// If it does; the message names the record.
#[cfg(test)]
pub(crate) fn check_records(scenario: &Scenario, most_events: u64) {
    same::each_record(&case(scenario, most_events));
}

/// Checks that the short ways of what is usual give the same run as the long ones.
///
/// # Panics
/// If they do not.
#[cfg(test)]
pub(crate) fn check_ways(scenario: &Scenario, most_events: u64) {
    same::the_long_way(&case(scenario, most_events));
}

/// Checks that a run in parts is the run as a whole. Returns whether it can be divided.
///
/// # Panics
/// If it is another run.
#[cfg(test)]
pub(crate) fn check_parts(scenario: &Scenario, most_events: u64) -> bool {
    same::in_parts(&case(scenario, most_events))
}

fn case(scenario: &Scenario, most_events: u64) -> Case {
    let mut scenario = scenario.clone();
    scenario.windows.clear();
    scenario.record.packets = true;
    let mut simulation = Simulation::new(compile(&scenario));
    let is_whole = run_up_to(&mut simulation, most_events);
    if !is_whole {
        scenario.duration = simulation.now().since_start();
    }
    let run = Run::of(&scenario);
    Case { scenario, run, is_whole }
}

/// Runs the simulation to its end; or until it had `most` events, or sent as many packets: in one event, a sender without
/// congestion control may send a whole window. Returns whether it is at its end.
fn run_up_to(simulation: &mut Simulation, most: u64) -> bool {
    const LOOK: u64 = 1000;
    while simulation.events() < most && simulation.sent() < most {
        if simulation.run_slice(simulation.end(), LOOK.min(most - simulation.events())) {
            return true;
        }
    }
    false
}
