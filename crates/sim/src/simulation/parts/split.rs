//! Makes parts of a simulation that has not begun, and one simulation of the parts when they are done.

use std::collections::BTreeMap;

use windtunnel_units::{Bytes, Duration, Time};

use super::super::Simulation;
use super::super::changes::Schedule;
use super::super::lookahead::Lookahead;
use super::absent;
use super::division::Division;
use super::part::{ELSEWHERE, Exit, Part};
use super::ways::{Place, Sign, Step, Ways};
use crate::endpoint::Ends;
use crate::event_queue::EventQueue;
use crate::flow::{Flow, Hop, Onward};
use crate::line::DelayLine;
use crate::network::Action;

/// A line that packets enter in one part and leave in another: by the line, the part that they leave it in, and the part
/// that they come from.
type Entries = BTreeMap<(usize, usize, usize), u32>;

/// Hops to be set: in this part, for this flow.
#[derive(Clone, Copy, Debug)]
struct Turn {
    part: usize,
    flow: usize,
    sign: Sign,
    exit: u32,
}

impl Division {
    /// The parts of `whole`, which keeps its recorder and its plan, and nothing that moves.
    pub(super) fn split(&self, whole: &mut Simulation) -> Vec<Simulation> {
        let (entries, exits, turns) = self.crossings(whole);
        let mut parts: Vec<Simulation> =
            (0..self.parts).map(|part| self.part(whole, part, &entries, &exits[part])).collect();
        let flows = whole.flows.len();
        for (index, flow) in std::mem::take(&mut whole.flows).into_iter().enumerate() {
            parts[usize::from(self.flows[index])].flows[index] = flow;
        }
        for (index, link) in std::mem::take(&mut whole.links).into_iter().enumerate() {
            parts[usize::from(self.links[index])].links[index] = link;
        }
        for (index, element) in std::mem::take(&mut whole.elements).into_iter().enumerate() {
            parts[usize::from(self.elements[index])].elements[index] = element;
        }
        for Turn { part, flow, sign, exit } in turns {
            parts[part].turn(flow, sign, Hop::Away(exit), flows);
        }
        for part in &mut parts {
            let ways = [&mut part.from_link, &mut part.from_line, &mut part.from_element];
            ways.into_iter().flatten().for_each(Onward::simplify);
        }
        whole.lines.clear();
        for ways in [&mut whole.from_link, &mut whole.from_line, &mut whole.from_element] {
            ways.clear();
        }
        whole.events = EventQueue::new(0);
        whole.timers = EventQueue::new(0);
        parts
    }

    /// Where packets go from part to part.
    fn crossings(&self, whole: &Simulation) -> (Entries, Vec<Vec<Exit>>, Vec<Turn>) {
        let (mut entries, mut exits, mut turns) = (Entries::new(), vec![Vec::new(); self.parts], Vec::new());
        let mut added = vec![whole.lines.len() as u32; self.parts];
        let mut numbers: BTreeMap<(usize, usize, usize), u32> = BTreeMap::new();
        let ways = Ways::of(whole);
        for flow in 0..whole.flows.len() {
            ways.follow(flow, |step| {
                let Some((from, to, sign, line, delay)) = self.crossing(&ways, flow, step) else { return };
                let entry = *entries.entry((line, to, from)).or_insert_with(|| {
                    added[to] += 1;
                    added[to] - 1
                });
                let exits = &mut exits[from];
                let exit = *numbers.entry((from, line, to)).or_insert_with(|| {
                    exits.push(Exit { part: to, line: entry, delay });
                    exits.len() as u32 - 1
                });
                turns.push(Turn { part: from, flow, sign, exit });
            });
        }
        (entries, exits, turns)
    }

    /// The parts between which a step goes, if there are two; and the line between them.
    fn crossing(
        &self,
        ways: &Ways<'_>,
        flow: usize,
        step: &Step<'_>,
    ) -> Option<(usize, usize, Sign, usize, Duration)> {
        let part = |at: Place| {
            usize::from(match at {
                Place::Ends => self.flows[flow],
                Place::Link(link) => self.links[link],
                Place::Element(element) => self.elements[element],
            })
        };
        let (from, to) = (part(step.from), part(step.to));
        let (number, delay) = ways.cut(step).filter(|_| from != to)?;
        let (sign, line) = step.lines[number];
        Some((from, to, sign, line, delay))
    }

    /// A part with nothing in it but what its packets need on their way.
    fn part(&self, whole: &Simulation, index: usize, entries: &Entries, exits: &[Exit]) -> Simulation {
        let nowhere = Onward::One(Hop::Sender);
        let mine = |owner: &[u16], at: usize, way: &Onward| {
            if usize::from(owner[at]) == index { way.clone() } else { nowhere.clone() }
        };
        let of_links: BTreeMap<usize, usize> = whole
            .link_lines
            .iter()
            .enumerate()
            .filter_map(|(link, line)| Some(((*line)? as usize, link)))
            .collect();
        let of_line = |line: usize, way: &Onward| match (way, of_links.get(&line)) {
            (Onward::PerFlow(_), Some(link)) => mine(&self.links, *link, way),
            _ => way.clone(),
        };
        let mut lines: Vec<_> = whole.lines.iter().map(DelayLine::twin).collect();
        let mut from_line: Vec<_> =
            whole.from_line.iter().enumerate().map(|(line, way)| of_line(line, way)).collect();
        let mut mine_of_entries: Vec<_> = entries.iter().filter(|((_, to, _), _)| *to == index).collect();
        mine_of_entries.sort_by_key(|(_, entry)| **entry);
        for ((line, _, _), _) in mine_of_entries {
            lines.push(whole.lines[*line].twin());
            from_line.push(whole.from_line[*line].clone());
        }
        let first_element = whole.first_line + lines.len();
        let mut events = EventQueue::new(first_element + whole.elements.len());
        // Only timers of queues are set before a run begins.
        for source in whole.links.len()..whole.first_line {
            if usize::from(self.links[source - whole.links.len()]) == index {
                events.set(source, whole.events.time_of(source));
            }
        }
        let (planned, numbers) = self.plan(whole, index);
        let mut part = Part::new(self.parts);
        part.exits = exits.to_vec();
        part.planned = numbers.into();
        let schedule = Schedule::new((planned, Vec::new()));
        Simulation {
            now: Time::ZERO,
            end: whole.end,
            events,
            timers: EventQueue::new(whole.timed.len()),
            timed: whole.timed.clone(),
            next_plan: schedule.next(),
            first_queue_timer: whole.first_queue_timer,
            first_line: whole.first_line,
            first_element,
            first_element_rank: whole.first_element_rank,
            first_member_timer: whole.first_member_timer,
            first_member: whole.first_member,
            lookahead: Lookahead::new(whole.flows.len()),
            links: whole.links.iter().map(|_| absent::link()).collect(),
            lines,
            elements: whole.elements.iter().map(|_| absent::element()).collect(),
            flows: (0..whole.flows.len() as u32).map(elsewhere).collect(),
            from_link: whole
                .from_link
                .iter()
                .enumerate()
                .map(|(at, way)| mine(&self.links, at, way))
                .collect(),
            from_line,
            from_element: whole
                .from_element
                .iter()
                .enumerate()
                .map(|(at, way)| mine(&self.elements, at, way))
                .collect(),
            from_host: whole.from_host.clone(),
            schedule,
            link_lines: whole.link_lines.clone(),
            link_changes: whole.link_changes.clone(),
            recorder: whole.recorder.twin(),
            incidents: Vec::new(),
            deliver_drops: whole.deliver_drops,
            plain: whole.plain,
            predicts: whole.predicts,
            handled: 0,
            sent: 0,
            arrived: 0,
            corrupted: 0,
            moved: 0,
            stalled: None,
            noted: (0, Bytes::ZERO),
            part: Some(Box::new(part)),
        }
    }

    /// What the part `index` has planned, and the place of each action in the whole plan.
    fn plan(&self, whole: &Simulation, index: usize) -> (Vec<(Time, Action)>, Vec<u32>) {
        let owner = |action: &Action| {
            usize::from(match action {
                Action::Start(flow) | Action::Stop(flow) | Action::SetApplicationRate(flow, _) => {
                    self.flows[*flow]
                }
                Action::ChangeLink(link, _) => self.links[*link],
                Action::SwitchOn(element) | Action::SwitchOff(element) => self.elements[*element],
            })
        };
        let all = whole.schedule.planned().zip(0..);
        all.filter(|((_, action), _)| owner(action) == index)
            .map(|(planned, number)| (*planned, number))
            .unzip()
    }

    /// Puts everything back into `whole`, which has nothing left to do then but to write its result.
    pub(super) fn gather(&self, whole: &mut Simulation, mut parts: Vec<Simulation>) {
        let of = |owner: &[u16], index: usize| usize::from(owner[index]);
        for index in 0..self.links.len() {
            let part = &mut parts[of(&self.links, index)];
            whole.links.push(std::mem::replace(&mut part.links[index], absent::link()));
        }
        for index in 0..self.elements.len() {
            let part = &mut parts[of(&self.elements, index)];
            whole.elements.push(std::mem::replace(&mut part.elements[index], absent::element()));
        }
        for index in 0..self.flows.len() {
            let part = &mut parts[of(&self.flows, index)];
            whole.flows.push(std::mem::replace(&mut part.flows[index], elsewhere(index as u32)));
        }
        for (index, part) in parts.iter_mut().enumerate() {
            // Connections that arrived are in one part, with the flows that they belong to.
            whole.flows.extend(part.flows.drain(self.flows.len()..));
            whole.recorder.take_part(
                &mut part.recorder,
                |flow| of(&self.flows, flow) == index,
                |link| of(&self.links, link) == index,
            );
            whole.handled += part.handled;
        }
        whole.next_plan = Time::NEVER;
    }
}

/// A flow of another part.
fn elsewhere(index: u32) -> Flow {
    let flow = Flow::new(Ends::Nobody, Hop::Sender, Hop::Sender, index);
    Flow { in_network: ELSEWHERE, ..flow }
}

impl Simulation {
    /// Packets of `flow` go another way behind a sign.
    fn turn(&mut self, flow: usize, sign: Sign, to: Hop, flows: usize) {
        match sign {
            Sign::Data => self.flows[flow].data = to,
            Sign::Acks => self.flows[flow].acks = to,
            Sign::Host(host) => self.from_host[host as usize] = to,
            Sign::Link(link) => self.from_link[link].diverge(flow, to, flows),
            Sign::Line(line) => self.from_line[line].diverge(flow, to, flows),
            Sign::Element(element) => self.from_element[element].diverge(flow, to, flows),
        }
    }
}
