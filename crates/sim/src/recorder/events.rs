//! Every dequeue and every ACK, for short runs that are compared event by event.

use windtunnel_qdisc::QueueDiscipline;

use super::arrival_marks::ArrivalMarks;
use super::budget::Budget;
use super::columns::{Table, columns};
use super::state::Probe;

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

/// Every dequeue, with the state of the AQM after it.
#[derive(Debug)]
pub(crate) struct Dequeues {
    pub(crate) events: DequeueEvents,
    pub(super) arrival_marks: ArrivalMarks,
    oscillators: Oscillators,
    /// For each queue, where its AQM's `probe` gives the numbers of [`OSCILLATORS`].
    places: Vec<[Option<usize>; OSCILLATORS.len()]>,
}

impl Dequeues {
    /// For these queues.
    pub(crate) fn new<'a>(
        queues: impl Iterator<Item = &'a dyn QueueDiscipline>,
        budget: &Budget,
    ) -> Dequeues {
        let places = queues
            .map(|queue| {
                let mut names = Vec::new();
                queue.probe(&mut |name, _| names.push(name));
                OSCILLATORS.map(|wanted| names.iter().position(|name| *name == wanted))
            })
            .collect();
        Dequeues {
            events: DequeueEvents::within(budget),
            arrival_marks: ArrivalMarks::default(),
            oscillators: Oscillators::within(budget),
            places,
        }
    }

    /// Whether there is room for one more event.
    pub(crate) fn has_room(&mut self) -> bool {
        self.events.has_room(1) && self.oscillators.has_room(1)
    }

    /// Adds the AQM's state to the event just pushed.
    pub(crate) fn push_state(&mut self, queue: usize, probe: &dyn Fn(Probe<'_>)) {
        let places = self.places[queue];
        let mut state = [f64::NAN; OSCILLATORS.len()];
        let mut place = 0;
        probe(&mut |_, value| {
            for (number, _) in state.iter_mut().zip(places).filter(|(_, wanted)| *wanted == Some(place)) {
                *number = value;
            }
            place += 1;
        });
        let [acc, mds_osc, conv_osc] = state;
        self.oscillators.acc.push(acc);
        self.oscillators.mds_osc.push(mds_osc);
        self.oscillators.conv_osc.push(conv_osc);
    }

    /// The table; the oscillators' columns are there if any queue has them.
    pub(crate) fn into_table(self) -> Table {
        let mut table = self.events.into_table();
        let any = |place: usize| self.places.iter().any(|places| places[place].is_some());
        let columns = self.oscillators.into_table().columns;
        let wanted = columns.into_iter().enumerate().filter(|(place, _)| any(*place));
        table.columns.extend(wanted.map(|(_, column)| column));
        table
    }
}
