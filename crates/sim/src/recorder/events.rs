//! Every dequeue and every ACK, for short runs that are compared event by event.

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{Departure, QueueDiscipline, Signal};
use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::Recorder;
use super::arrival_marks::ArrivalMarks;
use super::budget::Budget;
use super::columns::{Rows, Table, columns};
use super::connections::ConnectionColumn;
use super::flow_series::WindowState;
use super::loss_cause::LossCause;
use super::packets::Tap;
use super::state::Probe;
use crate::link::Link;

columns! {
    pub(crate) struct DequeueEvents as "dequeue_events" {
        t_ns: U64(u64),
        queue: U32(u32),
        flow: U32(u32),
        seq: U64(u64),
        size: U32(u32),
        sojourn_ns: U64(u64),
        mark: U8(u8),
    }
}
columns! {
    /// Further columns of the dequeues: the state of sigma-delta modulators; NaN for queues without one.
    pub(crate) struct Oscillators as "dequeue_events" {
        acc: F64(f64),
        mds_osc: F64(f64),
        conv_osc: F64(f64),
    }
}
columns! {
    /// Every mark and every drop of a queue, when it is decided: on arrival, on departure, or in between.
    pub(crate) struct MarkEvents as "mark_events" {
        t_ns: U64(u64),
        queue: U32(u32),
        flow: U32(u32),
        mark: U8(u8),
        drop: U8(u8),
    }
}
columns! {
    pub(crate) struct AckEvents as "ack_events" {
        t_ns: U64(u64),
        flow: U32(u32),
        ack: U64(u64),
        rtt_ns: U64(u64),
        srtt_ns: U64(u64),
        feedback: U8(u8),
        cwnd: U64(u64),
        in_flight: U64(u64),
        slow_start: Bool(bool),
    }
}

/// The names that an AQM gives to the numbers of [`Oscillators`].
const OSCILLATORS: [&str; 3] = ["acc", "mds_osc", "osc"];

/// The single events of a run.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) dequeues: Dequeues,
    pub(super) acks: AckEvents,
    marks: MarkEvents,
}

impl Events {
    pub(super) fn new(dequeues: Dequeues, budget: &Budget) -> Events {
        Events { dequeues, acks: AckEvents::within(budget), marks: MarkEvents::within(budget) }
    }

    /// A queue marked or dropped a packet.
    pub(super) fn mark(
        &mut self,
        now: Time,
        queue: usize,
        flow: usize,
        mark: Outcome,
        drop: Option<LossCause>,
    ) {
        let rows = &mut self.marks;
        if rows.has_room(1) {
            rows.t_ns.push(now.as_nanos());
            rows.queue.push(queue as u32);
            rows.flow.push(flow as u32);
            rows.mark.push(mark_code(mark) as u8);
            rows.drop.push(drop.map_or(0, LossCause::code));
        }
    }

    pub(super) fn into_tables(self) -> [Table; 3] {
        [self.dequeues.into_table(), self.acks.into_table(), self.marks.into_table()]
    }
}

/// Every dequeue, with the state of the AQM after it.
#[derive(Debug)]
pub(crate) struct Dequeues {
    pub(super) events: DequeueEvents,
    pub(super) connections: ConnectionColumn,
    pub(super) arrival_marks: ArrivalMarks,
    oscillators: Oscillators,
    /// For each queue, where its AQM's `probe` gives the numbers of [`OSCILLATORS`].
    positions: Vec<[Option<usize>; OSCILLATORS.len()]>,
}

impl Dequeues {
    /// For these queues.
    pub(super) fn new<'a>(
        queues: impl Iterator<Item = &'a dyn QueueDiscipline>,
        connections: ConnectionColumn,
        budget: &Budget,
    ) -> Dequeues {
        let positions = queues
            .map(|queue| {
                let mut names = Vec::new();
                queue.probe(&mut |name, _| names.push(name));
                OSCILLATORS.map(|wanted| names.iter().position(|name| *name == wanted))
            })
            .collect();
        Dequeues {
            events: DequeueEvents::within(budget),
            connections,
            arrival_marks: ArrivalMarks::default(),
            oscillators: Oscillators::within(budget),
            positions,
        }
    }

    /// Whether there is room for one more event.
    pub(super) fn has_room(&mut self) -> bool {
        self.events.has_room(1) && self.oscillators.has_room(1)
    }

    /// Adds the AQM's state to the event just pushed.
    pub(crate) fn push_state(&mut self, queue: usize, probe: &dyn Fn(Probe<'_>)) {
        let positions = self.positions[queue];
        let mut state = [f64::NAN; OSCILLATORS.len()];
        let mut position = 0;
        probe(&mut |_, value| {
            for (number, _) in state.iter_mut().zip(positions).filter(|(_, wanted)| *wanted == Some(position))
            {
                *number = value;
            }
            position += 1;
        });
        let [acc, mds_osc, conv_osc] = state;
        self.oscillators.acc.push(acc);
        self.oscillators.mds_osc.push(mds_osc);
        self.oscillators.conv_osc.push(conv_osc);
    }

    /// The table; the oscillators' columns are there if any queue has them.
    pub(crate) fn into_table(mut self) -> Table {
        let mut table = self.events.into_table();
        self.connections.add_to(&mut table);
        let any = |oscillator: usize| self.positions.iter().any(|positions| positions[oscillator].is_some());
        let columns = self.oscillators.into_table().columns;
        let wanted = columns.into_iter().enumerate().filter(|(oscillator, _)| any(*oscillator));
        table.columns.extend(wanted.map(|(_, column)| column));
        table
    }
}

/// What is kept of single events, where [`Recorder::detailed`].
impl Recorder {
    /// The details that are kept of a dequeue. Cold: most runs keep none, and the loop is laid out for them.
    #[cold]
    pub(super) fn dequeued_in_detail(
        &mut self,
        now: Time,
        index: usize,
        packet: &Packet,
        link: &Link,
        departure: Departure,
    ) {
        let Departure { outcome, sojourn, .. } = departure;
        self.classes.dequeued(index, departure.band(), sojourn, link);
        if let (Some(events), Outcome::Marked(_)) = (&mut self.events, outcome) {
            events.mark(now, index, self.connections.flow(packet.flow), outcome, None);
        }
        if let Some(Events { dequeues, .. }) = &mut self.events
            && dequeues.has_room()
        {
            let events = &mut dequeues.events;
            events.t_ns.push(now.as_nanos());
            events.queue.push(index as u32);
            events.flow.push(self.connections.flow(packet.flow) as u32);
            events.seq.push(packet.seq.get());
            events.size.push(packet.size().get() as u32);
            events.sojourn_ns.push(sojourn.as_nanos());
            let on_arrival = dequeues.arrival_marks.take(packet.id());
            events.mark.push(on_arrival.max(mark_code(outcome) as u8));
            dequeues.connections.push(self.connections.number(packet.flow));
            dequeues.push_state(index, &|out| link.queue().probe(out));
        }
        self.queue_changed(now, index, link);
    }

    /// A packet is about to enter a queue.
    #[cold]
    pub(crate) fn enters(&mut self, now: Time, index: usize, packet: &mut Packet) {
        if self.captures() {
            self.capture(now, Tap::QueueIn(index as u32), packet);
        } else if let Some(events) = &mut self.events {
            events.dequeues.arrival_marks.name(packet);
        }
    }

    /// The details that are kept of an ACK.
    #[cold]
    pub(crate) fn acknowledged_in_detail(
        &mut self,
        now: Time,
        packet: &Packet,
        feedback: u8,
        state: WindowState,
    ) {
        if let Some(Events { acks, .. }) = &mut self.events
            && acks.has_room(1)
        {
            acks.t_ns.push(now.as_nanos());
            acks.flow.push(packet.flow.get());
            acks.ack.push(packet.ack.get());
            acks.rtt_ns.push(state.rtt.unwrap_or_default().as_nanos());
            acks.srtt_ns.push(state.srtt.as_nanos());
            acks.feedback.push(feedback);
            acks.cwnd.push(state.cwnd.get());
            acks.in_flight.push(state.in_flight.get());
            acks.slow_start.push(state.slow_start);
        }
    }
}

/// What a queue did to a packet, as digests and tables have it.
pub(super) const fn mark_code(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Passed => 0,
        Outcome::Marked(Signal::Sce) => 1,
        Outcome::Marked(Signal::Ce) => 2,
        Outcome::Drop => 3,
    }
}
