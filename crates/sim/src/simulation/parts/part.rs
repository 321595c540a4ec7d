//! A part of a run: a simulation of some links and flows, whose packets come from and go to other parts.
//!
//! A packet that leaves the part at the entry of a delay line waits until the end of the window, and enters a line of the
//! other part that stands for this one. Its arrival is in a later window, because no window is longer than the delay.

use std::collections::VecDeque;

use windtunnel_units::{Duration, Time};
use windtunnel_wire::Packet;

use super::super::Simulation;
use super::super::capabilities::{Capabilities, Full, Plain};
use super::super::endpoints::reading;
use crate::recorder::{Log, Moment, Own, Recorder};

/// The number of a flow's packets in the network, where they are not counted: in parts that are not the flow's. What is
/// more or less is told to the flow's own part.
pub(super) const ELSEWHERE: u32 = 1 << 31;

/// Where packets leave a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    /// The part to which they go.
    pub(super) part: usize,
    /// The line that they enter there.
    pub(super) line: u32,
    pub(super) delay: Duration,
}

/// A packet between two parts.
#[derive(Debug)]
pub(super) struct Crossing {
    line: u32,
    packet: Packet,
}

/// What a simulation knows as a part of a run.
#[derive(Debug)]
pub(crate) struct Part {
    pub(super) exits: Vec<Exit>,
    /// Packets that have left in this window, by the part to which they go, and when the first of them arrives.
    pub(super) outbox: Vec<Vec<Crossing>>,
    pub(super) earliest: Time,
    /// Packets that left others in the window before, by part.
    pub(super) inbox: Vec<Vec<Crossing>>,
    /// Flows of any part whose packets were lost or doubled here.
    pub(super) touched: Vec<u32>,
    /// The places of this part's actions in the plan of the whole run.
    pub(super) planned: VecDeque<u32>,
    pub(super) log: Log,
    pub(super) own: Own,
    /// Some flow of the run has endpoints that count.
    pub(super) counted: bool,
    /// The moment of the latest event.
    latest: Moment,
}

impl Part {
    pub(super) fn new(parts: usize, own: Own, counted: bool) -> Part {
        let boxes = || (0..parts).map(|_| Vec::new()).collect();
        Part {
            exits: Vec::new(),
            outbox: boxes(),
            earliest: Time::NEVER,
            inbox: boxes(),
            touched: Vec::new(),
            planned: VecDeque::new(),
            log: Log::default(),
            own,
            counted,
            latest: Moment::default(),
        }
    }

    /// An event with this place among those of its time has been handled.
    #[inline]
    fn note(&mut self, time: Time, order: u64, recorder: &Recorder) {
        self.latest = Moment { time, order }.after(self.latest);
        self.log.note(self.latest, recorder);
    }
}

/// The kinds of events at the same time, in their order: what is planned, events of the network, timers of flows.
const NETWORK: u64 = 1 << 32;
const TIMERS: u64 = 2 << 32;

impl Simulation {
    /// A packet goes to another part.
    #[inline(never)]
    pub(in super::super) fn cross(&mut self, mut packet: Packet, exit: u32) {
        packet.enqueued_at = self.now;
        let Some(part) = &mut self.part else { return };
        let Exit { part: to, line, delay } = part.exits[exit as usize];
        part.earliest = part.earliest.min(self.now + delay);
        part.outbox[to].push(Crossing { line, packet });
    }

    /// A packet of `flow` was lost or doubled.
    #[inline]
    pub(in super::super) fn touch(&mut self, flow: usize) {
        if let Some(part) = &mut self.part {
            part.touched.push(flow as u32);
        }
    }

    /// Handles the events of this part before `until`. Returns their number.
    pub(super) fn run_part(&mut self, until: Time) -> u64 {
        let before = self.handled;
        if let Some(mut part) = self.part.take() {
            for crossing in part.inbox.iter_mut().flat_map(|packets| packets.drain(..)) {
                self.enter_part(crossing);
            }
            part.earliest = Time::NEVER;
            self.part = Some(part);
        }
        if self.plain {
            self.run_noted::<Plain>(until);
        } else {
            self.run_noted::<Full>(until);
        }
        self.handled - before
    }

    fn enter_part(&mut self, Crossing { line, packet }: Crossing) {
        let line = line as usize;
        if self.lines[line].enter(&mut Some(packet)) {
            let (rank, next) = self.lines[line].next();
            self.events.set_ranked(self.first_line + line, rank, next);
        }
    }

    /// The loop of [`Simulation::run_slice`], which notes when rows are made.
    fn run_noted<C: Capabilities>(&mut self, until: Time) {
        loop {
            let (event, source) = self.events.peek();
            let (timer, owner) = self.timers.peek();
            let time = event.min(timer);
            let planned = self.next_plan <= time;
            let time = if planned { self.next_plan } else { time };
            if time >= until {
                break;
            }
            debug_assert!(time >= self.now, "time runs backwards");
            self.now = time;
            if planned {
                self.follow_plan_of_part(time);
                continue;
            }
            self.handled += 1;
            let order = if event <= timer {
                let order = NETWORK + u64::from(self.events.peek_rank());
                self.network_event::<C>(source);
                order
            } else {
                self.timer_event::<C>(owner);
                if self.lookahead.active {
                    self.look_ahead_at_timers(owner);
                }
                TIMERS + owner as u64
            };
            if let Some(part) = &mut self.part {
                part.note(time, order, &self.recorder);
            }
        }
        self.now = self.now.max(until);
    }

    /// The recorder's clock ticks: adds this part's rows of the interval that ends at `now`.
    pub(super) fn add_rows(&mut self, now: Time) {
        let Some(Part { own, counted, .. }) = self.part.as_deref() else { return };
        let reading = |flow| counted.then(|| reading(&self.flows, flow));
        self.recorder.add_rows_of_part(now, &mut self.links, &self.flows, &reading, own);
        self.give_back();
    }

    /// What this part has planned for `now` happens. The recorder's clock, and the number of events, are left to the whole.
    pub(super) fn follow_plan_of_part(&mut self, now: Time) {
        self.now = now;
        while let Some(action) = self.schedule.due(now) {
            self.act(action);
            if let Some(part) = &mut self.part
                && let Some(number) = part.planned.pop_front()
            {
                part.note(now, u64::from(number), &self.recorder);
            }
        }
        self.next_plan = self.schedule.next();
    }
}
