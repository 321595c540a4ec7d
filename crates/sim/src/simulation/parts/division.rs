//! Which part of a run each link, element and flow is in.
//!
//! What a packet reaches without a delay is in one part: there the order of events at one moment matters. Delays lie between
//! groups of links that are joined in this way, and a delay between two parts lets each of them run ahead of the
//! other by as much (conservative look-ahead: Chandy and Misra, "Distributed Simulation", 1979). Short delays are joined as
//! well, if that pays: of all limits, the one is taken with which the run would take least time.

use std::collections::BTreeMap;

use windtunnel_units::Duration;

use super::super::Simulation;
use super::ways::{Place, Ways};
use crate::endpoint::Ends;

/// How many events of a second are spent at a packet's ends, and at each link of its way. Only their ratio, and that to
/// [`WAIT`], matter.
const AT_ENDS: f64 = 2.0;
const AT_LINK: f64 = 2.0;

/// What it costs to wait for all parts at the end of a window, in events: some 10 us, where an event takes 150 ns.
const WAIT: f64 = 60.0;

/// A run is divided only if it is expected to be faster by this factor.
const WORTHWHILE: f64 = 1.1;

/// The bits of a typical packet.
const PACKET: f64 = 12_000.0;

/// At most this number of limits of delays is tried.
const LIMITS: usize = 16;

/// Links, elements and flows by part.
#[derive(Clone, Debug)]
pub(super) struct Division {
    pub(super) parts: usize,
    pub(super) links: Vec<u16>,
    pub(super) elements: Vec<u16>,
    pub(super) flows: Vec<u16>,
    /// No part gets ahead of another by more; none if no packet goes from one to another.
    pub(super) ahead: Option<Duration>,
}

/// Nodes that are joined, by their first node.
#[derive(Clone, Debug)]
struct Groups(Vec<u32>);

impl Groups {
    fn of(&mut self, node: usize) -> usize {
        let mut first = node;
        while self.0[first] as usize != first {
            self.0[first] = self.0[self.0[first] as usize];
            first = self.0[first] as usize;
        }
        first
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        self.0[a.max(b)] = a.min(b) as u32;
    }
}

/// A way to divide, with the time that a second is expected to take.
#[derive(Debug)]
struct Attempt {
    groups: Groups,
    /// By group.
    parts: BTreeMap<usize, u16>,
    ahead: Option<Duration>,
    time: f64,
}

/// What is known of a network before it is divided.
#[derive(Debug)]
struct Survey {
    groups: Groups,
    /// By node: links, then elements, then flows.
    load: Vec<f64>,
    /// The shortest delay between two groups that may lie between two parts.
    delays: BTreeMap<(usize, usize), Duration>,
}

impl Division {
    /// Divides a run into at most `most` parts; with `anyway` wherever a delay allows it, whether or not that pays.
    ///
    /// # Errors
    /// Why it is not divided.
    pub(super) fn of(simulation: &Simulation, most: usize, anyway: bool) -> Result<Division, String> {
        let mut survey = Survey::of(simulation, anyway);
        let total: f64 = survey.load.iter().sum();
        let best = survey.attempts(most).into_iter().min_by(|a, b| a.time.total_cmp(&b.time));
        let Some(mut best) = best else {
            return Err("all its links and flows are joined without a delay between them".to_owned());
        };
        if best.time * WORTHWHILE > total && !anyway {
            return Err(survey.why(&best, total));
        }
        let (links, elements) = (simulation.links.len(), simulation.elements.len());
        let mut part = |node: usize| best.parts[&best.groups.of(node)];
        let of: Vec<u16> = (0..survey.load.len()).map(&mut part).collect();
        Ok(Division {
            parts: usize::from(*of.iter().max().unwrap_or(&0)) + 1,
            links: of[..links].to_vec(),
            elements: of[links..links + elements].to_vec(),
            flows: of[links + elements..].to_vec(),
            ahead: best.ahead,
        })
    }
}

impl Survey {
    fn of(simulation: &Simulation, anyway: bool) -> Survey {
        let (links, elements) = (simulation.links.len(), simulation.elements.len());
        let nodes = links + elements + simulation.flows.len();
        let ways = Ways::of(simulation);
        let node = |at: Place, flow: usize| match at {
            Place::Link(link) => link,
            Place::Element(element) => links + element,
            Place::Ends => links + elements + flow,
        };
        let mut groups = Groups((0..nodes as u32).collect());
        for subflows in &simulation.connections {
            for flow in subflows {
                groups.join(links + elements + subflows[0], links + elements + flow);
            }
        }
        let (mut users, mut many) = (vec![0_u32; links], None);
        for flow in 0..simulation.flows.len() {
            let ends = node(Place::Ends, flow);
            // A connection that arrives takes the first free slot, and is gone with its last packet, wherever that is.
            let arrives = matches!(simulation.flows[flow].ends, Ends::Many(_));
            if arrives {
                groups.join(*many.get_or_insert(ends), ends);
            }
            // Both ends are where the first link is: that has work enough for a part.
            let mut first = !anyway;
            ways.follow(flow, |step| {
                if ways.cut(step).is_none() || arrives || first {
                    groups.join(node(step.from, flow), node(step.to, flow));
                }
                first = false;
                if let Place::Link(link) = step.to {
                    users[link] += 1;
                }
            });
        }
        let (mut load, mut delays) = (vec![0.0; nodes], BTreeMap::new());
        for flow in 0..simulation.flows.len() {
            let mut share: Option<f64> = None;
            ways.follow(flow, |step| {
                if let Place::Link(link) = step.to {
                    let rate = simulation.links[link].rate().as_mbps() * 1e6 / PACKET;
                    let rate = rate / f64::from(users[link]);
                    share = Some(share.map_or(rate, |share| share.min(rate)));
                }
            });
            let Some(share) = share else { continue };
            load[node(Place::Ends, flow)] += AT_ENDS * share;
            ways.follow(flow, |step| {
                if step.to != Place::Ends {
                    load[node(step.to, flow)] += AT_LINK * share;
                }
                let (from, to) = (groups.of(node(step.from, flow)), groups.of(node(step.to, flow)));
                if let (true, Some(cut)) = (from != to, ways.cut(step)) {
                    let least = delays.entry((from.min(to), from.max(to))).or_insert(cut.delay);
                    *least = cut.delay.min(*least);
                }
            });
        }
        Survey { groups, load, delays }
    }

    /// Some ways to divide.
    fn attempts(&mut self, most: usize) -> Vec<Attempt> {
        let mut limits: Vec<Duration> = self.delays.values().copied().collect();
        limits.sort_unstable();
        limits.dedup();
        let every = limits.len().div_ceil(LIMITS).max(1);
        let limits = limits.into_iter().step_by(every).map(Some);
        // With the last one, no delay is between parts.
        limits.chain([None]).flat_map(|limit| self.attempt(limit, most)).collect()
    }

    /// With delays below `limit` joined; without one, all are.
    fn attempt(&self, limit: Option<Duration>, most: usize) -> Vec<Attempt> {
        let mut groups = self.groups.clone();
        for ((a, b), delay) in &self.delays {
            if limit.is_none_or(|limit| *delay < limit) {
                groups.join(*a, *b);
            }
        }
        let mut loads: BTreeMap<usize, f64> = BTreeMap::new();
        for (node, load) in self.load.iter().enumerate() {
            *loads.entry(groups.of(node)).or_default() += load;
        }
        let busy = loads.values().filter(|load| **load > 0.0).count();
        let parts = most.min(busy);
        if parts < 2 {
            return Vec::new();
        }
        [neighbours(&loads, parts), largest_first(&loads, parts)]
            .into_iter()
            .map(|of| self.judge(groups.clone(), of, &loads, parts))
            .collect()
    }

    fn judge(
        &self,
        mut groups: Groups,
        parts: BTreeMap<usize, u16>,
        loads: &BTreeMap<usize, f64>,
        count: usize,
    ) -> Attempt {
        let mut sums = vec![0.0; count];
        for (group, load) in loads {
            sums[usize::from(parts[group])] += load;
        }
        let part = |groups: &mut Groups, node: usize| parts[&groups.of(node)];
        let between = |((a, b), delay): (&(usize, usize), &Duration)| {
            (part(&mut groups, *a) != part(&mut groups, *b)).then_some(*delay)
        };
        let ahead = self.delays.iter().filter_map(between).min();
        let waits = ahead.map_or(0.0, |ahead| WAIT * 1e9 / ahead.as_nanos() as f64);
        let time = sums.into_iter().fold(0.0, f64::max) + waits;
        Attempt { groups, parts, ahead, time }
    }

    /// Why it does not pay to divide the run.
    fn why(&self, best: &Attempt, total: f64) -> String {
        let mut groups = best.groups.clone();
        let mut loads: BTreeMap<usize, f64> = BTreeMap::new();
        for (node, load) in self.load.iter().enumerate() {
            *loads.entry(groups.of(node)).or_default() += load;
        }
        let largest = loads.values().copied().fold(0.0, f64::max);
        if largest * WORTHWHILE > total {
            let share = (100.0 * largest / total).round();
            return format!("{share} % of its work is at links that no delay separates");
        }
        let ahead = best.ahead.unwrap_or_default();
        let events = (total * ahead.as_nanos() as f64 / 1e9).round();
        format!("its parts would wait for each other every {ahead}, in which {events} events are expected")
    }
}

/// Groups in the order of their first links, divided where the largest part becomes least: few packets go from part to
/// part where links are in the order of paths.
fn neighbours(loads: &BTreeMap<usize, f64>, parts: usize) -> BTreeMap<usize, u16> {
    let divide = |most: f64| {
        let (mut part, mut sum, mut of) = (0, 0.0, BTreeMap::new());
        for (group, load) in loads {
            if sum > 0.0 && sum + load > most {
                (part, sum) = (part + 1, 0.0);
            }
            sum += load;
            of.insert(*group, part);
        }
        (usize::from(part) < parts).then_some(of)
    };
    let total: f64 = loads.values().sum();
    let (mut low, mut high) = (total / parts as f64, total);
    let mut best = divide(high).unwrap_or_default();
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        match divide(middle) {
            Some(of) => (best, high) = (of, middle),
            None => low = middle,
        }
    }
    best
}

/// The largest group first, each to the part that has least.
fn largest_first(loads: &BTreeMap<usize, f64>, parts: usize) -> BTreeMap<usize, u16> {
    let mut order: Vec<(&usize, &f64)> = loads.iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
    let mut sums = vec![0.0; parts];
    let mut of = BTreeMap::new();
    for (group, load) in order {
        let least = (0..parts).min_by(|a, b| f64::total_cmp(&sums[*a], &sums[*b])).unwrap_or(0);
        sums[least] += load;
        of.insert(*group, least as u16);
    }
    of
}
