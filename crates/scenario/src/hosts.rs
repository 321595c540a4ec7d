//! The hosts of flows, as a queue sees them.

use std::collections::BTreeMap;

use windtunnel_qdisc::{FlowHosts, HostPair};

use crate::model::{FlowGroup, Scenario};

/// The number of each flow's host at one end: flows whose host has the same name share the number of the first of them.
fn numbers<'s>(scenario: &'s Scenario, name: impl Fn(&'s FlowGroup) -> Option<&'s str>) -> Vec<u32> {
    let mut named = BTreeMap::new();
    let number = |(index, group)| {
        let own = index as u32;
        name(group).map_or(own, |name| *named.entry(name).or_insert(own))
    };
    scenario.flows().map(|(group, _)| group).enumerate().map(number).collect()
}

/// What each link's queue is told about hosts; nothing if no flow names one.
pub(crate) fn hosts(scenario: &Scenario) -> Option<Vec<FlowHosts>> {
    let names_one = |group: &FlowGroup| group.hosts.sender.is_some() || group.hosts.receiver.is_some();
    if !scenario.flows.iter().any(names_one) {
        return None;
    }
    let senders = numbers(scenario, |group| group.hosts.sender.as_deref());
    let receivers = numbers(scenario, |group| group.hosts.receiver.as_deref());
    let seen_from = |link: usize| {
        let flow = |((group, _), (&sender, &receiver)): ((&FlowGroup, _), (&u32, &u32))| {
            let acks = group.route.reverse.contains(&link);
            let (source, destination) = if acks { (receiver, sender) } else { (sender, receiver) };
            HostPair { source, destination }
        };
        FlowHosts::new(scenario.flows().zip(senders.iter().zip(&receivers)).map(flow).collect())
    };
    Some((0..scenario.links.len()).map(seen_from).collect())
}
