//! The record of a run that several threads share: each part has a recorder of its own, and what they keep is put together
//! as one recorder would have kept it.
//!
//! A flow, a queue and their sums are in one part, which makes their rows of each interval; one recorder takes them over in
//! the order of flows and queues. Rows that are in the order of events (points, transfers) are merged by the order in which
//! one loop would have handled the events: by time,
//! and at the same time by rank. A loop that takes the first of all pending events takes, of several loops that do the
//! same, always the one whose next event has the lowest rank; so an event goes behind all those whose rank is below the
//! highest one that its own loop has had at this time ([`Moment`]).

use windtunnel_units::{Bytes, Time};

use super::columns::{Rows, rows_of};
use super::flow_series::FlowRecorder;
use super::queue_series::QueueRecorder;
use super::{
    BandRecorder, Budget, Class, Flow, FlowColumns, Outlet, Points, QueueColumns, Reading, Recorder,
    Subjects, TcpColumns,
};
use crate::link::Link;

/// When something happened: the time, and the place among all events of this time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) time: Time,
    pub(crate) order: u64,
}

impl Moment {
    /// The same as the event after `latest` in its loop: at one time, no event is before one that its loop has handled.
    #[inline]
    pub(crate) fn after(self, latest: Moment) -> Moment {
        if self.time == latest.time { self.max(latest) } else { self }
    }
}

/// How many rows of each table there are that is in the order of events: four kinds of points, and transfers.
type Counts = [usize; 5];

/// The table of transfers among [`Counts`].
const TRANSFERS: usize = 4;

/// When a part's rows were made, and when packets arrived there.
#[derive(Debug, Default)]
pub(crate) struct Log {
    rows: Vec<(Moment, Counts)>,
    arrivals: Vec<(Moment, Bytes)>,
    /// Of the last entries.
    count: usize,
    total: Bytes,
    /// What had reached the receivers before the first arrival.
    before: Bytes,
}

impl Log {
    /// An event has been handled.
    #[inline]
    pub(crate) fn note(&mut self, at: Moment, recorder: &Recorder) {
        let Some(points) = &recorder.points else {
            return if recorder.transfers.count() != self.count {
                self.note_rows(at, recorder);
            };
        };
        let total = points.total();
        if total != self.total {
            self.total = total;
            self.arrivals.push((at, total));
        }
        if points.counts().iter().sum::<usize>() + recorder.transfers.count() != self.count {
            self.note_rows(at, recorder);
        }
    }

    #[inline(never)]
    fn note_rows(&mut self, at: Moment, recorder: &Recorder) {
        let [a, b, c, d] = recorder.points.as_ref().map_or([0; 4], Points::counts);
        let counts = [a, b, c, d, recorder.transfers.count()];
        self.count = counts.iter().sum();
        self.rows.push((at, counts));
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() + self.arrivals.len()
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.arrivals.clear();
        self.count = 0;
        self.before = self.total;
    }
}

/// What a part shows of itself while the parts stand still.
pub(crate) trait Shared {
    fn recorder(&mut self) -> &mut Recorder;
    /// The recorder and the log.
    fn record(&mut self) -> (&mut Recorder, &mut Log);
    fn link(&mut self, index: usize) -> &mut Link;
}

/// The flows and queues of a part, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    flows: Vec<u32>,
    queues: Vec<u32>,
}

impl Own {
    /// Those that `part` has, where these have the parts of all.
    pub(crate) fn of(part: usize, of_flows: &[u16], of_queues: &[u16]) -> Own {
        let own = |parts: &[u16]| {
            let numbered = parts.iter().zip(0..);
            numbered.filter(|(other, _)| usize::from(**other) == part).map(|(_, number)| number).collect()
        };
        Own { flows: own(of_flows), queues: own(of_queues) }
    }
}

/// All flows and queues, and the parts in which they are.
struct Everywhere<'a, P> {
    parts: &'a mut [P],
    of_flows: &'a [u16],
    of_queues: &'a [u16],
}

impl<P: Shared> Everywhere<'_, P> {
    fn of_queue(&mut self, index: usize) -> &mut P {
        &mut self.parts[usize::from(self.of_queues[index])]
    }
}

impl<P: Shared> Subjects for Everywhere<'_, P> {
    fn flow(&mut self, index: usize) -> &mut FlowRecorder {
        &mut self.parts[usize::from(self.of_flows[index])].recorder().flows[index]
    }

    fn queue(&mut self, index: usize) -> &mut QueueRecorder {
        &mut self.of_queue(index).recorder().queues[index]
    }

    fn classes(&mut self, index: usize) -> &mut [Class] {
        self.of_queue(index).recorder().classes.of(index)
    }

    fn link(&mut self, index: usize) -> &mut Link {
        self.of_queue(index).link(index)
    }
}

impl Recorder {
    /// An empty recorder for a part of the run that this one is about to record. It has no names, and its clock does not
    /// tick.
    pub(crate) fn twin(&self) -> Recorder {
        let budget = Budget::default();
        Recorder {
            params: self.params,
            windows: Vec::new(),
            flow_info: Vec::new(),
            with_rows: self.with_rows,
            queue_names: Vec::new(),
            element_names: Vec::new(),
            flows: self.flows.iter().map(FlowRecorder::twin).collect(),
            queues: self.queues.iter().map(|_| QueueRecorder::new()).collect(),
            flow_rows: FlowColumns::within(&budget),
            tcp_rows: TcpColumns::within(&budget),
            queue_rows: QueueColumns::within(&budget),
            bands: BandRecorder::new(self.queues.len(), &budget),
            classes: self.classes.twin(&budget),
            transfers: self.transfers.twin(&budget),
            points: self.points.as_ref().map(|points| points.twin(&budget)),
            events: None,
            cc: self.cc.twin(&budget),
            aqm: self.aqm.twin(&budget),
            detailed: self.detailed,
            detailed_dequeues: self.detailed_dequeues,
            captures: None,
            connections: self.connections.twin(),
            tells_apart: self.tells_apart,
            outlet: Outlet::new(&budget),
            budget,
            segments: Vec::new(),
            segment_start: Time::ZERO,
            edges: Vec::new(),
            interval_start: Time::ZERO,
            next_tick: Time::NEVER,
            packets: 0,
        }
    }

    /// Why the run cannot be shared by several threads, if what is recorded of it says so.
    pub(crate) fn is_indivisible(&self) -> Option<&'static str> {
        if self.captures() {
            Some("it records packets (`record.packets`)")
        } else if self.events.is_some() {
            Some("it records single events (`record.events`)")
        } else if self.detailed {
            Some("it records each change of state (`record.state = \"changes\"`)")
        } else {
            None
        }
    }

    /// Adds the rows of a part's own flows and queues, of the interval that ends at `now`. The whole takes them over.
    pub(crate) fn add_rows_of_part(
        &mut self,
        now: Time,
        links: &mut [Link],
        flows: &[Flow],
        reading: &dyn Fn(usize) -> Option<Reading>,
        own: &Own,
    ) {
        let index = |number: &u32| *number as usize;
        self.of_whole(links, flows, reading, |recorder, whole| {
            recorder.add_rows(now, whole, own.flows.iter().map(index), own.queues.iter().map(index));
        });
        self.interval_start = now;
    }

    /// As [`Recorder::end_interval`], where the rows of flows and queues have been added in the parts of the run that have
    /// them. Returns the number of these rows.
    pub(crate) fn end_interval_of_parts(
        &mut self,
        now: Time,
        parts: &mut [impl Shared],
        (of_flows, of_queues): (&[u16], &[u16]),
    ) -> usize {
        self.take_rows(parts, of_flows, of_queues);
        let rows = parts.iter_mut().map(|part| part.recorder().clear_rows()).sum();
        self.begin_interval(now, &mut Everywhere { parts, of_flows, of_queues });
        rows
    }

    /// Takes over the rows of an interval from the parts, in the order of flows and queues.
    fn take_rows(&mut self, parts: &mut [impl Shared], of_flows: &[u16], of_queues: &[u16]) {
        let mut taken = vec![Taken::default(); parts.len()];
        let mut flows = 0;
        for neighbours in of_flows.chunk_by(|one, next| one == next) {
            let part = usize::from(neighbours[0]);
            let (from, taken) = (parts[part].recorder(), &mut taken[part]);
            flows += neighbours.len();
            let rows = taken.flows..taken.flows + neighbours.len();
            taken.flows = rows.end;
            let all = |count: usize| rows.start.min(count)..rows.end.min(count);
            self.flow_rows.copy_rows(&from.flow_rows, all(from.flow_rows.count()));
            self.tcp_rows.copy_rows(&from.tcp_rows, all(from.tcp_rows.count()));
            taken.cc = self.cc.copy_rows(&from.cc, taken.cc, |flow| (flow < flows).then_some(flow));
        }
        for (queue, part) in of_queues.iter().enumerate() {
            let part = usize::from(*part);
            let (from, taken) = (parts[part].recorder(), &mut taken[part]);
            let rows = rows_of(&from.queue_rows.queue, taken.queues, queue);
            taken.queues = rows.end;
            self.queue_rows.copy_rows(&from.queue_rows, rows);
            taken.bands = self.bands.copy_rows(&from.bands, taken.bands, queue);
            taken.classes = self.classes.copy_rows(&from.classes, taken.classes, queue);
            taken.aqm = self.aqm.copy_rows(&from.aqm, taken.aqm, queue);
        }
    }

    /// The rows of an interval have been taken over. Returns their number.
    fn clear_rows(&mut self) -> usize {
        fn clear(rows: &mut impl Rows) -> usize {
            let count = rows.count();
            rows.clear();
            count
        }
        let state = self.cc.count() + self.aqm.count();
        self.cc.clear();
        self.aqm.clear();
        clear(&mut self.tcp_rows);
        state
            + clear(&mut self.flow_rows)
            + clear(&mut self.queue_rows)
            + clear(self.bands.rows())
            + clear(self.classes.rows())
    }

    /// Losses of a flow that were noted in another part.
    pub(crate) fn lost_elsewhere(&mut self, flow: usize, other: &mut Recorder) {
        self.flows[flow].lost_elsewhere(&mut other.flows[flow]);
    }

    /// Takes over the rows of all parts that are in the order of events. All parts have handled the events before one
    /// moment, and none after it. `reached` is what has reached all receivers until the total's last point.
    pub(crate) fn merge_rows(&mut self, parts: &mut [impl Shared], reached: &mut Bytes) {
        let mut readers = vec![Reader::default(); parts.len()];
        for (reader, part) in readers.iter_mut().zip(parts.iter_mut()) {
            let (_, log) = part.record();
            reader.enter(log);
        }
        loop {
            let first = (0..readers.len()).filter_map(|part| Some((readers[part].next?, part))).min();
            let Some((at, part)) = first else { break };
            self.merge_event(at, part, parts, &mut readers, reached);
            let (_, log) = parts[part].record();
            readers[part].go_on(log);
        }
        for part in parts {
            let (recorder, log) = part.record();
            log.clear();
            recorder.transfers.rows().clear();
            if let Some(points) = &mut recorder.points {
                points.clear_rows();
            }
        }
    }

    /// Takes over the rows that an event of `part` made.
    fn merge_event(
        &mut self,
        at: Moment,
        part: usize,
        parts: &mut [impl Shared],
        readers: &mut [Reader],
        reached: &mut Bytes,
    ) {
        let (from, row) = (readers[part].counts, readers[part].row);
        let to = parts[part].record().1.rows[row].1;
        readers[part].counts = to;
        for table in 0..from.len() {
            for row in from[table]..to[table] {
                let recorder = parts[part].recorder();
                if table == TRANSFERS {
                    self.transfers.rows().copy_rows(recorder.transfers.rows(), row..row + 1);
                    continue;
                }
                let (Some(whole), Some(points)) = (&mut self.points, &recorder.points) else { continue };
                let Some((flow, here)) = whole.copy_row(points, table, row) else { continue };
                let mut total = here;
                for (other, reader) in readers.iter_mut().enumerate().filter(|(other, _)| *other != part) {
                    total += reader.reached(parts[other].record().1, at);
                }
                if whole.sum_up(at.time, flow, total - *reached) {
                    *reached = total;
                }
            }
        }
    }

    /// The run is over: takes over the records of what was in `part`.
    pub(crate) fn take_part(
        &mut self,
        part: &mut Recorder,
        is_flow: impl Fn(usize) -> bool,
        is_queue: impl Fn(usize) -> bool,
    ) {
        for index in (0..self.flows.len()).filter(|index| is_flow(*index)) {
            std::mem::swap(&mut self.flows[index], &mut part.flows[index]);
            if let (Some(whole), Some(part)) = (&mut self.points, &mut part.points) {
                whole.take_flow(part, index);
            }
        }
        for index in (0..self.queues.len()).filter(|index| is_queue(*index)) {
            std::mem::swap(&mut self.queues[index], &mut part.queues[index]);
            std::mem::swap(self.classes.of(index), part.classes.of(index));
            self.bands.take_queue(&mut part.bands, index);
            if let (Some(whole), Some(part)) = (&mut self.points, &mut part.points) {
                whole.take_queue(part, index);
            }
        }
        self.packets += part.packets;
    }
}

/// How many rows of an interval have been taken over from a part.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    flows: usize,
    cc: usize,
    queues: usize,
    bands: usize,
    classes: usize,
    /// Of bands, and of disciplines.
    aqm: [usize; 2],
}

/// How far a part's log has been read.
#[derive(Clone, Copy, Debug, Default)]
struct Reader {
    /// The next entry with rows, and its moment.
    row: usize,
    next: Option<Moment>,
    /// The rows that have been taken over.
    counts: Counts,
    /// The next arrival, and what had reached the part's receivers before it.
    arrival: usize,
    before: Bytes,
}

impl Reader {
    fn enter(&mut self, log: &Log) {
        self.next = log.rows.first().map(|(at, _)| *at);
        self.before = log.before;
    }

    fn go_on(&mut self, log: &Log) {
        self.row += 1;
        self.next = log.rows.get(self.row).map(|(at, _)| *at);
    }

    /// What had reached the part's receivers before the moment `at`. Moments do not go back.
    fn reached(&mut self, log: &Log, at: Moment) -> Bytes {
        while let Some((_, total)) = log.arrivals.get(self.arrival).filter(|(moment, _)| *moment < at) {
            self.before = *total;
            self.arrival += 1;
        }
        self.before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// One loop takes the first of all pending events, and so do several loops with their own. Each event may make others,
        /// also of lower ranks: what a loop handles at one time is any sequence of ranks, and the loop of all takes its events
        /// from the sequences whose next event has the lowest rank. The order of moments is the same.
        #[test]
        fn moments_give_the_order_of_one_loop(
            sequences in prop::collection::vec(prop::collection::vec(0_u64..50, 0..12), 1..5),
        ) {
            // A rank is that of one source, which is in one part.
            let parts = sequences.len() as u64;
            let rank = |part: usize, rank: u64| rank * parts + part as u64;
            let mut left: Vec<_> = sequences.iter().map(|sequence| sequence.iter().copied().peekable()).collect();
            let mut one_loop = Vec::new();
            while let Some((_, part)) = left
                .iter_mut()
                .enumerate()
                .filter_map(|(part, events)| events.peek().map(|next| (rank(part, *next), part)))
                .min()
            {
                one_loop.push((part, left[part].next()));
            }
            let mut merged = Vec::new();
            for (part, sequence) in sequences.iter().enumerate() {
                let mut latest = Moment::default();
                for event in sequence {
                    latest = Moment { time: Time::ZERO, order: rank(part, *event) }.after(latest);
                    merged.push((latest, part, Some(*event)));
                }
            }
            merged.sort_by_key(|(at, part, _)| (*at, *part));
            let merged: Vec<_> = merged.into_iter().map(|(_, part, event)| (part, event)).collect();
            prop_assert_eq!(merged, one_loop);
        }
    }
}
