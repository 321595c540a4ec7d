//! Marks and drops are counted alike everywhere: in the summary, in the tables of queues and of bands, and event by event, for
//! every queue that is registered, every kind of feedback, and both kinds of endpoints. The rules are those of any run
//! ([`crate::tables`], [`crate::outcome`]).

use std::collections::BTreeSet;

use windtunnel_scenario::{Registry, Scenario, schema};

use crate::invariants;

/// Senders by what they answer: losses, CE once per round trip, CE by its share, SCE, and MDS' fine signals.
const SENDERS: [(&str, bool); 6] = [
    ("reno", false),
    ("cubic", true),
    ("dctcp", true),
    ("prague", true),
    ("reno-sce", true),
    ("reno-mds", true),
];

/// The keys that some queues need in addition to their name.
fn further(queue: &str) -> &'static str {
    match queue {
        "tbf" | "police" | "vqpolice" | "ramppolice" => ", rate = \"8 Mbit/s\"",
        _ => "",
    }
}

/// The names of all registered queues.
fn queues() -> Vec<String> {
    let schema: serde_json::Value = serde_json::from_str(&schema(&Registry::default())).expect("JSON");
    let names = schema.pointer("/$defs/Queue/anyOf/0/enum").and_then(|names| names.as_array());
    names.expect("the names of queues").iter().filter_map(|name| name.as_str()).map(str::to_owned).collect()
}

#[test]
fn of_every_queue() {
    let (mut runs, mut marked, mut dropped) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for queue in queues() {
        for endpoints in ["linux", "ideal"] {
            for (cc, ecn) in SENDERS {
                let text = format!(
                    "duration = \"600 ms\"\nendpoints = \"{endpoints}\"\n[record]\nevents = true\n\
                     [bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {{ kind = \"{queue}\"{} }}\n\
                     [[flow]]\nrtt = \"10 ms\"\ncc = \"{cc}\"\necn = {ecn}\niw = \"40 packets\"\ncount = 2\n",
                    further(&queue)
                );
                // Not every sender exists with loss-free endpoints, and not all of them can do without ECN.
                let Ok(scenario) = Scenario::parse(&text, None, &[], &Registry::default()) else { continue };
                let summary = invariants::check(&scenario, u64::MAX).expect("to the end");
                runs.insert((queue.clone(), endpoints));
                let of = &summary.queues[0];
                if of.ce + of.sce > 0 {
                    marked.insert(queue.clone());
                }
                if of.drops.aqm + of.drops.full + of.drops.overlimit + of.drops.policed > 0 {
                    dropped.insert(queue.clone());
                }
            }
        }
    }
    let lacking: Vec<String> = queues()
        .into_iter()
        .filter(|queue| ["linux", "ideal"].iter().any(|ends| !runs.contains(&(queue.clone(), *ends))))
        .collect();
    assert!(lacking.is_empty(), "no run with {lacking:?}");
    assert!(marked.len() > 30 && dropped.len() > 10, "{marked:?} marked, {dropped:?} dropped");
}
