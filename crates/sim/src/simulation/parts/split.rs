//! Makes parts of a simulation that has not begun, and one simulation of the parts when they are done.

use std::collections::BTreeMap;

use windtunnel_units::{Bytes, Time};

use super::super::Simulation;
use super::super::changes::Schedule;
use super::super::lookahead::Lookahead;
use super::absent;
use super::division::Division;
use super::part::{ELSEWHERE, Exit, Part};
use super::ways::{Cut, Place, Sign, Ways};
use crate::endpoint::Ends;
use crate::event_queue::EventQueue;
use crate::flow::{Flow, Hop};
use crate::line::DelayLine;
use crate::network::Action;
use crate::onward::Onward;
use crate::recorder::Own;

/// A line that packets enter in one part and leave in another: by the line, the part that they leave it in, and the part
/// that they come from.
type Entries = BTreeMap<(usize, usize, usize), u32>;

/// The ways through one part: where packets go from its links, lines and elements, and where they leave it.
#[derive(Clone, Debug)]
struct Way {
    from_link: Vec<Onward>,
    from_line: Vec<Onward>,
    from_element: Vec<Onward>,
    from_host: Vec<Hop>,
    exits: Vec<Exit>,
}

impl Way {
    /// A part that no flow passes.
    fn new(whole: &Simulation) -> Way {
        let unset = |places: usize| vec![Onward::UNSET; places];
        Way {
            from_link: unset(whole.from_link.len()),
            from_line: unset(whole.from_line.len()),
            from_element: unset(whole.from_element.len()),
            from_host: whole.from_host.clone(),
            exits: Vec::new(),
        }
    }

    /// What the sign says packets of `flow` are to do; none for the signs that a flow has itself.
    fn set(&mut self, sign: Sign, flow: usize, to: Hop) {
        match sign {
            Sign::Data | Sign::Acks => {}
            Sign::Host(host) => self.from_host[host as usize] = to,
            Sign::Link(link) => self.from_link[link].set(flow, to),
            Sign::Line(line) => self.from_line[line].set(flow, to),
            Sign::Element(element) => self.from_element[element].set(flow, to),
        }
    }

    fn settle(&mut self) {
        let ways = [&mut self.from_link, &mut self.from_line, &mut self.from_element];
        ways.into_iter().flatten().for_each(Onward::settle);
    }
}

/// A flow's packets leave its own part at once: the sign says so from now on.
#[derive(Clone, Copy, Debug)]
struct Turn {
    flow: usize,
    sign: Sign,
    exit: u32,
}

impl Division {
    /// The parts of `whole`, which keeps its recorder and its plan, and nothing that moves.
    pub(super) fn split(&self, whole: &mut Simulation) -> Vec<Simulation> {
        let (entries, ways, turns) = self.ways(whole);
        let mut parts: Vec<Simulation> =
            ways.into_iter().enumerate().map(|(part, way)| self.part(whole, part, &entries, way)).collect();
        for Turn { flow, sign, exit } in turns {
            let flow = &mut whole.flows[flow];
            let start = if matches!(sign, Sign::Data) { &mut flow.data } else { &mut flow.acks };
            *start = Hop::Away(exit);
        }
        for (index, flow) in std::mem::take(&mut whole.flows).into_iter().enumerate() {
            parts[usize::from(self.flows[index])].flows[index] = flow;
        }
        for (index, link) in std::mem::take(&mut whole.links).into_iter().enumerate() {
            parts[usize::from(self.links[index])].links[index] = link;
        }
        for (index, element) in std::mem::take(&mut whole.elements).into_iter().enumerate() {
            parts[usize::from(self.elements[index])].elements[index] = element;
        }
        whole.lines.clear();
        for ways in [&mut whole.from_link, &mut whole.from_line, &mut whole.from_element] {
            ways.clear();
        }
        whole.events = EventQueue::new(0);
        whole.timers = EventQueue::new(0);
        parts
    }

    /// Lays the ways of all flows out anew, each in the parts that it passes: what a part knows of flows does not grow with
    /// those of other parts.
    fn ways(&self, whole: &Simulation) -> (Entries, Vec<Way>, Vec<Turn>) {
        let (mut entries, mut turns) = (Entries::new(), Vec::new());
        let mut parts = vec![Way::new(whole); self.parts];
        let mut numbers: BTreeMap<(usize, usize, usize), u32> = BTreeMap::new();
        let ways = Ways::of(whole);
        for flow in 0..whole.flows.len() {
            ways.follow(flow, |step| {
                let (from, to) = (self.at(flow, step.from), self.at(flow, step.to));
                let cut = ways.cut(step).filter(|_| from != to);
                for (number, (sign, hop)) in step.signs.iter().enumerate() {
                    let Some(Cut { sign: last, line, delay }) = cut else {
                        parts[from].set(*sign, flow, *hop);
                        continue;
                    };
                    if number < last {
                        parts[from].set(*sign, flow, *hop);
                        continue;
                    }
                    let entry = *entries.entry((line, to, from)).or_insert_with(|| {
                        let from_line = &mut parts[to].from_line;
                        from_line.push(Onward::UNSET);
                        from_line.len() as u32 - 1
                    });
                    if number > last {
                        let sign = if number == last + 1 { Sign::Line(entry as usize) } else { *sign };
                        parts[to].set(sign, flow, *hop);
                        continue;
                    }
                    let exits = &mut parts[from].exits;
                    let exit = *numbers.entry((from, line, to)).or_insert_with(|| {
                        exits.push(Exit { part: to, line: entry, delay });
                        exits.len() as u32 - 1
                    });
                    parts[from].set(*sign, flow, Hop::Away(exit));
                    if matches!(sign, Sign::Data | Sign::Acks) {
                        turns.push(Turn { flow, sign: *sign, exit });
                    }
                }
            });
        }
        parts.iter_mut().for_each(Way::settle);
        (entries, parts, turns)
    }

    /// The part in which a flow is at this place.
    fn at(&self, flow: usize, place: Place) -> usize {
        usize::from(match place {
            Place::Ends => self.flows[flow],
            Place::Link(link) => self.links[link],
            Place::Element(element) => self.elements[element],
        })
    }

    /// A part with nothing in it but what its packets need on their way.
    fn part(&self, whole: &Simulation, index: usize, entries: &Entries, way: Way) -> Simulation {
        let mut lines: Vec<_> = whole.lines.iter().map(DelayLine::twin).collect();
        let mut mine: Vec<_> = entries.iter().filter(|((_, to, _), _)| *to == index).collect();
        mine.sort_by_key(|(_, entry)| **entry);
        lines.extend(mine.into_iter().map(|((line, _, _), _)| whole.lines[*line].twin()));
        let first_element = whole.first_line + lines.len();
        let mut events = EventQueue::new(first_element + whole.elements.len());
        // Only timers of queues are set before a run begins.
        for source in whole.links.len()..whole.first_line {
            if usize::from(self.links[source - whole.links.len()]) == index {
                events.set(source, whole.events.time_of(source));
            }
        }
        let (planned, numbers) = self.plan(whole, index);
        let counted = !whole.flows.iter().all(|flow| flow.ends.is_loss_free());
        let mut part = Part::new(self.parts, Own::of(index, &self.flows, &self.links), counted);
        part.exits = way.exits;
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
            from_link: way.from_link,
            from_line: way.from_line,
            from_element: way.from_element,
            from_host: way.from_host,
            schedule,
            link_lines: whole.link_lines.clone(),
            link_changes: whole.link_changes.clone(),
            connections: Vec::new(),
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
