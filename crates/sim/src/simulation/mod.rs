//! The event loop.

mod arrivals;
mod capabilities;
mod changes;
mod endpoints;
mod host;
mod layout;
mod lines;
mod lookahead;
mod losses;
mod memory;
mod near;
mod observation;
mod outside;
mod parts;
mod path;
mod stall;

use windtunnel_qdisc::Incident;
use windtunnel_units::{Bytes, Time};

use crate::element::PlacedElement;
use crate::event_queue::EventQueue;
use crate::flow::{Flow, Hop};
use crate::line::DelayLine;
use crate::link::{Change, Link};
use crate::network::{Network, UnfitFlow};
use crate::onward::Onward;
use crate::recorder::Recorder;
use crate::result::{RunResult, Stalled};
use capabilities::{Full, Plain};
use changes::Schedule;
use endpoints::reading;
use layout::Layout;
use lookahead::Lookahead;
use parts::Part;

pub(crate) use capabilities::Capabilities;
pub use memory::{Holder, MemoryExceeded};
pub use observation::StreamState;
pub use parts::{Balance, Parts, Run};

/// Whose timer it is: those of all senders first, then those of receivers, and last those of connections that arrived
/// during the run.
#[derive(Clone, Copy, Debug)]
enum Timer {
    Sender(u32),
    Receiver(u32),
    /// The next connection of a flow that stands for many; it has the place of that flow's sender.
    Arrivals(u32),
}

/// A run in progress.
#[derive(Debug)]
pub struct Simulation {
    now: Time,
    end: Time,
    /// The events of links, delay lines and elements: few sources, if many flows share their lines.
    /// Their order decides between events at the same nanosecond: after the plan (and the recorder's clock), first links,
    /// then timers of their queues, arrivals from delay lines and from elements, and then the timers of flows.
    events: EventQueue,
    /// The timers of flows, which come after all other events of their time.
    timers: EventQueue,
    timed: Vec<Timer>,
    /// When the plan or the recorder's clock is next due: before all other events of that time.
    next_plan: Time,
    /// Where the timers of queues start among the sources; none if no queue has a timer.
    first_queue_timer: Option<usize>,
    first_line: usize,
    first_element: usize,
    first_element_rank: u32,
    /// Timers and flows from here on belong to connections that arrived.
    first_member_timer: usize,
    first_member: usize,
    lookahead: Lookahead,
    links: Vec<Link>,
    lines: Vec<DelayLine>,
    elements: Vec<PlacedElement>,
    flows: Vec<Flow>,
    /// Where packets go from each link, each line and each element.
    from_link: Vec<Onward>,
    from_line: Vec<Onward>,
    from_element: Vec<Onward>,
    /// Where packets go from each sender's own interface ([`Hop::LeftHost`]).
    from_host: Vec<Hop>,
    schedule: Schedule,
    /// The delay line of each link that has one.
    link_lines: Vec<Option<u32>>,
    /// How each link changes.
    link_changes: Vec<Vec<Change>>,
    /// The flows of each connection with several subflows, whose controllers know each other.
    connections: Vec<Vec<usize>>,
    recorder: Recorder,
    incidents: Vec<Incident>,
    deliver_drops: bool,
    /// Single packets do not matter: the run is [`Plain`].
    plain: bool,
    /// TCP takes a short way with what nearly every segment is.
    predicts: bool,
    handled: u64,
    sent: u64,
    arrived: u64,
    corrupted: u64,
    /// What [`Simulation::stall`] saw at the last tick: the number of packets that had moved.
    moved: u64,
    stalled: Option<Stalled>,
    /// What senders kept about packets when they were asked last, and the number of events before.
    noted: (u64, Bytes),
    /// What it knows as a part of a run that several threads share.
    part: Option<Box<Part>>,
}

impl Simulation {
    /// Prepares a network to run.
    ///
    /// # Panics
    /// As [`Simulation::try_new`], and where that fails: for networks whose flows are known to fit, such as those that a
    /// scenario without a foreign stack gives.
    pub fn new(network: Network) -> Simulation {
        Simulation::try_new(network).unwrap_or_else(|unfit| panic!("{unfit}"))
    }

    /// Prepares a network to run, if its flows can.
    ///
    /// # Errors
    /// If a flow's transport cannot carry its application, or its way: what a stack from elsewhere can carry is known only to
    /// it.
    ///
    /// # Panics
    /// If the parameters of a link or an element are out of range.
    pub fn try_new(network: Network) -> Result<Simulation, UnfitFlow> {
        let mut layout = Layout::new(&network);
        let flows: Result<Vec<Flow>, UnfitFlow> =
            network.flows.iter().enumerate().map(|(i, spec)| layout.flow(i, spec)).collect();
        let mut flows = flows?;
        layout.settle();
        let recorder = Recorder::new(&network, &flows);
        let schedule = Schedule::new(network.schedule());
        schedule.check(&flows, |flow| network.flows[flow].name.clone())?;
        for flow in schedule.starts() {
            flows[flow].starts += 1;
        }
        let elements: Vec<PlacedElement> = network.elements.iter().map(PlacedElement::new).collect();
        let link_changes = network.links.iter().map(|link| link.params.changes.clone()).collect();
        let connections = layout::connections(&network).into_values().collect();
        let links: Vec<Link> =
            network.links.into_iter().map(|link| Link::new(link, network.deliver_drops)).collect();
        // Receivers that acknowledge at once have no timer: if all do, they occupy no sources in the event queue. So do
        // queues without a timer.
        let timed_receivers =
            if flows.iter().any(|flow| flow.ends.has_receiver_timer()) { flows.len() as u32 } else { 0 };
        let (n_links, n_lines) = (links.len() as u32, layout.lines.all.len() as u32);
        let timed_queues = if links.iter().any(|link| link.next_timer().is_some()) { n_links } else { 0 };
        let timed: Vec<Timer> = flows
            .iter()
            .zip(0..)
            .map(sender_timer)
            .chain((0..timed_receivers).map(Timer::Receiver))
            .collect();
        let first_line = (n_links + timed_queues) as usize;
        let first_element = first_line + n_lines as usize;
        let mut simulation = Simulation {
            now: Time::ZERO,
            end: Time::ZERO + network.duration,
            events: EventQueue::new(first_element + elements.len()),
            first_line,
            first_element,
            first_element_rank: layout.lines.end(flows.len()),
            first_member_timer: timed.len(),
            first_member: flows.len(),
            lookahead: Lookahead::new(flows.len()),
            timers: EventQueue::new(timed.len()),
            timed,
            next_plan: Time::ZERO,
            first_queue_timer: (timed_queues > 0).then_some(n_links as usize),
            links,
            lines: layout.lines.all,
            elements,
            flows,
            from_link: layout.from_link,
            from_line: layout.lines.onward,
            from_element: layout.from_element,
            from_host: layout.from_host,
            plain: recorder.is_plain() && !schedule.is_watching(),
            predicts: true,
            schedule,
            link_lines: layout.link_lines,
            link_changes,
            connections,
            recorder,
            incidents: Vec::new(),
            deliver_drops: network.deliver_drops,
            handled: 0,
            sent: 0,
            arrived: 0,
            corrupted: 0,
            moved: 0,
            stalled: None,
            noted: (0, Bytes::ZERO),
            part: None,
        };
        simulation.schedule_plan();
        for link in 0..simulation.links.len() {
            simulation.schedule_queue_timer(link);
        }
        Ok(simulation)
    }

    /// When the run ends: earlier than planned if nothing moves any more.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The simulated clock.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Handles all events before `until`, which is at most the end of the run.
    pub fn run_until(&mut self, until: Time) {
        while !self.run_slice(until, u64::MAX) {}
    }

    /// Like [`Simulation::run_until`], but handles at most this many events, so that a caller can stop a run without
    /// waiting for the end of a busy stretch of simulated time. Returns whether `until` was reached.
    pub fn run_slice(&mut self, until: Time, events: u64) -> bool {
        if self.plain { self.run::<Plain>(until, events) } else { self.run::<Full>(until, events) }
    }

    fn run<C: Capabilities>(&mut self, until: Time, events: u64) -> bool {
        let until = until.min(self.end);
        if self.stalled.is_some() {
            return true;
        }
        let last = self.handled.saturating_add(events);
        loop {
            let (event, source) = self.events.peek();
            let (timer, owner) = self.timers.peek();
            let time = event.min(timer);
            // The plan comes first among events of the same time.
            if time >= self.next_plan.min(until) {
                if self.next_plan >= until {
                    break;
                }
                if self.handled == last {
                    return false;
                }
                self.now = self.next_plan;
                self.handled += 1;
                self.plan_event();
                if self.stalled.is_some() {
                    break;
                }
                continue;
            }
            if self.handled == last {
                return false;
            }
            debug_assert!(time >= self.now, "time runs backwards");
            self.now = time;
            self.handled += 1;
            if event <= timer {
                self.network_event::<C>(source);
            } else {
                self.timer_event::<C>(owner);
                if self.lookahead.active {
                    self.look_ahead_at_timers(owner);
                }
            }
        }
        self.now = self.now.max(until.min(self.end));
        true
    }

    /// The same run with nothing left out: a packet is asked about everything that packets of any run may need, and TCP
    /// takes each segment the long way. Its results are the same.
    #[must_use]
    pub fn the_long_way(mut self) -> Simulation {
        self.plain = false;
        self.predicts = false;
        self
    }

    /// Runs to the end and returns what was measured.
    ///
    /// # Panics
    /// If the run's memory was limited, and it needs more.
    pub fn finish(self) -> RunResult {
        self.finish_within().unwrap_or_else(|exceeded| panic!("{exceeded}"))
    }

    /// Runs to the end and returns what was measured, unless it needs more memory than it may.
    pub fn finish_within(mut self) -> Result<RunResult, MemoryExceeded> {
        self.run_until(self.end);
        self.end_interval(self.end);
        let exceeded = self.check_memory();
        let secrets = if self.recorder.keeps_payloads() {
            self.flows.iter().map(|flow| flow.ends.secrets()).collect()
        } else {
            String::new()
        };
        // A million flows are gigabytes, which their summaries can take over.
        drop(std::mem::take(&mut self.flows));
        drop(std::mem::replace(&mut self.timers, EventQueue::new(0)));
        exceeded.map(|()| {
            let changes = self.changes();
            let mut result =
                self.recorder.finish(&mut self.links, &self.elements, self.end, self.handled, self.stalled);
            result.summary.changes = changes;
            RunResult { secrets, ..result }
        })
    }

    #[inline]
    fn timer_event<C: Capabilities>(&mut self, owner: usize) {
        match self.timed[owner] {
            Timer::Sender(i) => self.sender_event::<C>(i as usize, owner),
            Timer::Receiver(i) => self.receiver_event::<C>(i as usize, owner),
            Timer::Arrivals(i) => self.arrive(i as usize, owner),
        }
    }

    #[inline(never)]
    fn plan_event(&mut self) {
        if self.recorder.next_tick() <= self.now {
            self.end_interval(self.now);
        }
        self.follow_plan();
        self.schedule_plan();
        if let Some(why) = self.stall() {
            self.stalled = Some(Stalled { t_s: self.now.as_secs_f64(), why });
            self.end = self.now;
        }
    }

    fn schedule_plan(&mut self) {
        self.next_plan = self.schedule.next().min(self.recorder.next_tick());
    }

    fn end_interval(&mut self, now: Time) {
        let counted = !self.flows.iter().all(|flow| flow.ends.is_loss_free());
        let reading = |index| counted.then(|| reading(&self.flows, index));
        self.recorder.end_interval(now, &mut self.links, &self.flows, &reading);
        self.give_back();
    }

    /// Of many flows some are idle; what they held in flight would add up.
    fn give_back(&mut self) {
        if self.lookahead.active {
            self.flows.iter_mut().filter(|flow| flow.in_network == 0).for_each(|flow| flow.ends.give_back());
        }
    }
}

fn sender_timer((flow, index): (&Flow, u32)) -> Timer {
    if flow.ends.arrivals().is_some() { Timer::Arrivals(index) } else { Timer::Sender(index) }
}
