//! The event loop.

use std::iter;

use windtunnel_cc::ExitReason;
use windtunnel_qdisc::Dropped;
use windtunnel_tcp::ideal::{AckReport, Receiver, Sender};
use windtunnel_units::{Duration, Time};
use windtunnel_wire::Packet;

use crate::event_queue::EventQueue;
use crate::flow::{Flow, Hop, Onward};
use crate::line::DelayLine;
use crate::link::{Link, LinkCx};
use crate::network::{Action, FlowSpec, LinkSpec, Network, PathHop};
use crate::recorder::{Recorder, SenderState};
use crate::result::RunResult;

/// What an event source stands for. The order of sources decides between events at the same nanosecond: the
/// plan (and the recorder's clock) first, then links, then arrivals from delay lines, then timers of senders and
/// receivers.
#[derive(Clone, Copy, Debug)]
enum Source {
    Plan,
    Link(u32),
    QueueTimer(u32),
    Line(u32),
    Sender(u32),
    Receiver(u32),
}

/// A run in progress.
#[derive(Debug)]
pub struct Simulation {
    now: Time,
    end: Time,
    events: EventQueue,
    sources: Vec<Source>,
    first_line: usize,
    first_sender: usize,
    first_receiver: usize,
    links: Vec<Link>,
    lines: Vec<DelayLine>,
    flows: Vec<Flow>,
    /// Where packets go from each link and each line.
    from_link: Vec<Onward>,
    from_line: Vec<Onward>,
    plan: iter::Peekable<std::vec::IntoIter<(Time, Action)>>,
    recorder: Recorder,
    drops: Vec<Dropped>,
    deliver_drops: bool,
    handled: u64,
    sent: u64,
    arrived: u64,
}

impl Simulation {
    /// Prepares a network to run.
    pub fn new(network: Network) -> Simulation {
        let recorder = Recorder::new(&network);
        let mut layout = Layout::new(&network.links, network.flows.len());
        let flows: Vec<Flow> =
            network.flows.into_iter().enumerate().map(|(i, spec)| layout.flow(i, spec)).collect();
        let links: Vec<Link> = network.links.into_iter().map(Link::new).collect();
        // Receivers that acknowledge at once have no timer: where all do, they take no place in the event queue.
        let timed_receivers = if flows.iter().any(|f| f.receiver.delays()) { flows.len() as u32 } else { 0 };
        let (n_links, n_lines, n_flows) = (links.len() as u32, layout.lines.len() as u32, flows.len() as u32);
        let sources: Vec<Source> = iter::once(Source::Plan)
            .chain((0..n_links).map(Source::Link))
            .chain((0..n_links).map(Source::QueueTimer))
            .chain((0..n_lines).map(Source::Line))
            .chain((0..n_flows).map(Source::Sender))
            .chain((0..timed_receivers).map(Source::Receiver))
            .collect();
        let first_line = 1 + 2 * links.len();
        let mut simulation = Simulation {
            now: Time::ZERO,
            end: Time::ZERO + network.duration,
            events: EventQueue::new(sources.len()),
            first_line,
            first_sender: first_line + layout.lines.len(),
            first_receiver: first_line + layout.lines.len() + flows.len(),
            sources,
            links,
            lines: layout.lines,
            flows,
            from_link: layout.from_link,
            from_line: layout.from_line,
            plan: network.plan.into_iter().peekable(),
            recorder,
            drops: Vec::new(),
            deliver_drops: network.deliver_drops,
            handled: 0,
            sent: 0,
            arrived: 0,
        };
        simulation.schedule_plan();
        for link in 0..simulation.links.len() {
            simulation.schedule_queue_timer(link);
        }
        simulation
    }

    /// When the run ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The simulated clock.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Handles all events before `until`, which is at most the end of the run.
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.end);
        loop {
            let (time, source) = self.events.peek();
            if time >= until {
                break;
            }
            debug_assert!(time >= self.now, "time runs backwards");
            self.now = time;
            self.handled += 1;
            match self.sources[source] {
                Source::Link(i) => self.link_event(i as usize),
                Source::Line(i) => self.line_event(i as usize, source),
                Source::Sender(i) => self.sender_event(i as usize, source),
                Source::Receiver(i) => self.receiver_event(i as usize),
                Source::QueueTimer(i) => self.queue_timer_event(i as usize),
                Source::Plan => self.plan_event(),
            }
        }
        self.now = self.now.max(until);
    }

    /// Runs to the end and returns what was measured.
    pub fn finish(mut self) -> RunResult {
        self.run_until(self.end);
        self.recorder.end_interval(self.end, &mut self.links);
        self.recorder.finish(&self.links, self.end, self.handled)
    }

    /// Packets sent into the network so far, by senders and receivers.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Packets that have reached an end so far.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Packets that queues have lost so far.
    pub fn lost(&self) -> u64 {
        self.links.iter().map(|l| l.stats().lost).sum()
    }

    /// Packets in the network now: queued, on a wire, or in a delay line.
    pub fn in_network(&self) -> u64 {
        let queued = |l: &Link| l.queue().backlog().packets + usize::from(l.holds_packet());
        (self.links.iter().map(queued).sum::<usize>() + self.lines.iter().map(DelayLine::len).sum::<usize>())
            as u64
    }

    fn link_event(&mut self, index: usize) {
        let mut cx = LinkCx { now: self.now, deliver_drops: self.deliver_drops, drops: &mut self.drops };
        let link = &mut self.links[index];
        let departure = link.complete(&mut cx);
        let next = link.start(&mut cx);
        self.events.set(1 + index, next);
        self.schedule_queue_timer(index);
        self.record_drops(index);
        if let Some(departure) = departure {
            self.recorder.dequeued(self.now, index, &departure, &self.links[index]);
            let to = self.from_link[index].of(departure.packet.flow);
            self.forward(departure.packet, to);
        }
    }

    fn line_event(&mut self, index: usize, source: usize) {
        if let Some((packet, next)) = self.lines[index].leave() {
            self.events.set(source, next);
            let to = self.from_line[index].of(packet.flow);
            self.forward(packet, to);
        }
    }

    fn sender_event(&mut self, index: usize, source: usize) {
        self.flows[index].sender.on_timer();
        if !self.transmit(index) {
            self.events.set(source, Time::NEVER);
        }
    }

    fn receiver_event(&mut self, index: usize) {
        self.flows[index].receiver.on_timer(self.now);
        self.acknowledge(index);
        self.schedule_receiver(index);
    }

    fn queue_timer_event(&mut self, index: usize) {
        let mut cx = LinkCx { now: self.now, deliver_drops: self.deliver_drops, drops: &mut self.drops };
        self.links[index].on_timer(&mut cx);
        self.schedule_queue_timer(index);
        self.record_drops(index);
    }

    fn plan_event(&mut self) {
        if self.recorder.next_tick() <= self.now {
            self.recorder.end_interval(self.now, &mut self.links);
        }
        while let Some((_, action)) = self.plan.next_if(|(at, _)| *at <= self.now) {
            match action {
                Action::Start(flow) => {
                    self.flows[flow].sender.set_active(true);
                    self.transmit(flow);
                }
                Action::Stop(flow) => self.flows[flow].sender.set_active(false),
                Action::SetRate(link, rate) => self.links[link].set_rate(rate),
            }
        }
        self.schedule_plan();
    }

    /// Sends all that a sender may send now, and sets its timer if it did. Returns whether it did.
    #[inline]
    fn transmit(&mut self, index: usize) -> bool {
        let before = self.sent;
        let to = self.flows[index].data;
        while let Some(packet) = self.flows[index].sender.poll_transmit(self.now) {
            self.sent += 1;
            self.forward(packet, to);
        }
        let sent = self.sent > before;
        if sent {
            let next = self.flows[index].sender.next_timer().unwrap_or(Time::NEVER);
            self.events.set(self.first_sender + index, next);
        }
        sent
    }

    /// Sends the ACKs that a receiver owes now.
    #[inline]
    fn acknowledge(&mut self, index: usize) {
        let to = self.flows[index].acks;
        while let Some(ack) = self.flows[index].receiver.poll_ack(self.now) {
            self.sent += 1;
            self.forward(ack, to);
        }
    }

    /// Takes a packet to its next hop.
    #[inline]
    fn forward(&mut self, packet: Packet, to: Hop) {
        match to {
            Hop::Link(link) => self.enter_link(packet, link as usize),
            Hop::Line(line) => {
                let line = line as usize;
                if let Some(due) = self.lines[line].enter(packet, self.now) {
                    self.events.set(self.first_line + line, due);
                }
            }
            Hop::Receiver => self.deliver_segment(&packet),
            Hop::Sender => self.deliver_ack(&packet),
        }
    }

    #[inline]
    fn enter_link(&mut self, packet: Packet, index: usize) {
        let mut cx = LinkCx { now: self.now, deliver_drops: self.deliver_drops, drops: &mut self.drops };
        let link = &mut self.links[index];
        if let Some(next) = link.arrive(packet, &mut cx) {
            self.events.set(1 + index, next);
        }
        self.recorder.queued(index, link.backlog());
        self.record_drops(index);
    }

    fn deliver_segment(&mut self, packet: &Packet) {
        let index = packet.flow.index();
        self.arrived += 1;
        let receiver = &mut self.flows[index].receiver;
        self.recorder.received(self.now, packet, receiver.echoes_sce());
        receiver.on_segment(packet, self.now);
        self.acknowledge(index);
        self.schedule_receiver(index);
    }

    fn deliver_ack(&mut self, packet: &Packet) {
        let index = packet.flow.index();
        self.arrived += 1;
        let sender = &mut self.flows[index].sender;
        let AckReport { rtt, ece, esce } = sender.on_ack(packet, self.now);
        let state = SenderState {
            rtt,
            srtt: sender.srtt(),
            cwnd: sender.cwnd(),
            in_flight: sender.in_flight(),
            limited: sender.cwnd_limited(),
            // Asking the controller costs a virtual call: only while somebody wants to know.
            slow_start: self.recorder.wants_phase(index) && sender.in_slow_start(),
        };
        if self.recorder.leaves_slow_start(index, state.slow_start) {
            let reason = sender.slow_start_exit().unwrap_or(ExitReason::Unused);
            self.recorder.left_slow_start(self.now, index, state.cwnd, reason);
        }
        self.recorder.acknowledged(self.now, packet, u8::from(ece) | (u8::from(esce) << 1), &state);
        self.transmit(index);
    }

    #[inline]
    fn schedule_receiver(&mut self, index: usize) {
        let receiver = &self.flows[index].receiver;
        if receiver.delays() {
            let source = self.first_receiver + index;
            let next = receiver.next_timer().unwrap_or(Time::NEVER);
            if self.events.time_of(source) != next {
                self.events.set(source, next);
            }
        }
    }

    #[inline]
    fn schedule_queue_timer(&mut self, index: usize) {
        if let Some(next) = self.links[index].next_timer() {
            let source = 1 + self.links.len() + index;
            if self.events.time_of(source) != next {
                self.events.set(source, next);
            }
        }
    }

    fn schedule_plan(&mut self) {
        let next = self.plan.peek().map_or(Time::NEVER, |(at, _)| *at);
        self.events.set(0, next.min(self.recorder.next_tick()));
    }

    #[inline]
    fn record_drops(&mut self, index: usize) {
        if !self.drops.is_empty() {
            self.recorder.dropped(self.now, index, &self.drops);
            self.drops.clear();
        }
    }
}

/// Lays paths and delay lines out while a network is prepared.
#[derive(Debug)]
struct Layout {
    lines: Vec<DelayLine>,
    from_link: Vec<Onward>,
    from_line: Vec<Onward>,
    /// The propagation delay of each link.
    link_lines: Vec<Option<u32>>,
}

impl Layout {
    /// Links and their propagation delays, passed by any of `flows` flows.
    fn new(links: &[LinkSpec], flows: usize) -> Layout {
        let shared = Onward::PerFlow(vec![Hop::Sender; flows]);
        let mut layout = Layout {
            lines: Vec::new(),
            from_link: vec![shared.clone(); links.len()],
            from_line: Vec::new(),
            link_lines: Vec::new(),
        };
        for link in links {
            let line = layout.line(link.delay, shared.clone());
            layout.link_lines.push(line);
        }
        layout
    }

    /// A new line of this delay; none for a delay of zero.
    fn line(&mut self, delay: Duration, onward: Onward) -> Option<u32> {
        if delay.is_zero() {
            return None;
        }
        self.lines.push(DelayLine::new(delay));
        self.from_line.push(onward);
        Some(self.lines.len() as u32 - 1)
    }

    fn flow(&mut self, index: usize, spec: FlowSpec) -> Flow {
        let data = self.path(index, &spec.forward, Hop::Receiver);
        let acks = self.path(index, &spec.reverse, Hop::Sender);
        Flow {
            sender: Sender::new(spec.endpoint, spec.cc),
            receiver: Receiver::new(spec.endpoint, spec.ack),
            data,
            acks,
        }
    }

    /// Lays out a path of `flow` that ends at `end`, from its end to its begin. Returns its first hop.
    fn path(&mut self, flow: usize, path: &[PathHop], end: Hop) -> Hop {
        let mut next = end;
        for hop in path.iter().rev() {
            match *hop {
                PathHop::Link(link) => {
                    if let Some(line) = self.link_lines[link] {
                        self.from_line[line as usize].set(flow, next);
                        next = Hop::Line(line);
                    }
                    self.from_link[link].set(flow, next);
                    next = Hop::Link(link as u32);
                }
                PathHop::Delay(delay) => {
                    if let Some(line) = self.line(delay, Onward::One(next)) {
                        next = Hop::Line(line);
                    }
                }
            }
        }
        next
    }
}
