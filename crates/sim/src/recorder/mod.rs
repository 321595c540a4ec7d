//! The recorder: watches the run and keeps columns, histograms and counters.
//!
//! Nothing is formatted here, and the recorder never changes the run. Rows are written at each recording interval and
//! at each edge of a measurement window; these edges divide the run into segments, whose totals are merged into the
//! windows at the end: an event costs the same however many windows there are.

mod arrival_marks;
mod band_series;
mod budget;
mod class_series;
pub mod columns;
mod connections;
mod digest;
mod events;
mod extent;
mod finish;
mod flow_info;
mod flow_series;
mod flow_sums;
mod frames;
mod histogram;
mod loss_cause;
mod messages;
mod outlet;
mod packets;
mod params;
mod parts;
mod payloads;
mod points;
mod queue_series;
mod queue_state;
pub mod sizes;
mod state;
mod subjects;
mod tcp_series;
mod thinned;
mod transfers;

use windtunnel_cc::ExitReason;
use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{Departure, Dropped, QueueStats, Signal};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, FlowId, Packet};

use crate::endpoint::{Arrival, Reading};
use crate::flow::Flow;
use crate::link::Link;
use crate::network::{Network, Window};
use crate::simulation::Capabilities;
use band_series::BandRecorder;
use budget::Budget;
use class_series::{Class, ClassRecorder, ClassTotals};
use connections::{ConnectionColumn, Connections};
use events::{Dequeues, Events, mark_code};
use flow_info::FlowInfo;
use flow_series::{FlowColumns, FlowRecorder, FlowTotals};
use outlet::Outlet;
use packets::Captures;
use points::{MarkKind, Points};
use queue_series::{QueueColumns, QueueRecorder, QueueTotals};
use queue_state::QueueStates;
use state::{Probe, StateRows};
use subjects::{Subjects, Whole};
use tcp_series::TcpColumns;
use transfers::Transfers;

pub(crate) use flow_series::WindowState;
pub(crate) use loss_cause::LossCause;
pub use outlet::{GROUP, Sink};
pub(crate) use packets::Tap;
pub use params::RecordParams;
pub(crate) use parts::{Log, Moment, Own, Shared};
pub use state::StateRecording;

/// Totals between two edges of windows.
#[derive(Debug)]
struct SpanTotals {
    from: Time,
    to: Time,
    flows: Vec<FlowTotals>,
    queues: Vec<QueueTotals>,
    /// The counters of each queue's bands at the end of the segment.
    bands: Vec<Vec<QueueStats>>,
    /// By queue and class.
    classes: Vec<Vec<ClassTotals>>,
}

/// The recorder of a run.
#[derive(Debug)]
pub(crate) struct Recorder {
    params: RecordParams,
    windows: Vec<Window>,
    flow_info: Vec<FlowInfo>,
    /// How many flows have rows of intervals: all but those at the end that begin from outside, and have not yet.
    with_rows: usize,
    queue_names: Vec<String>,
    /// Names and kinds.
    element_names: Vec<(String, String)>,
    flows: Vec<FlowRecorder>,
    queues: Vec<QueueRecorder>,
    flow_rows: FlowColumns,
    tcp_rows: TcpColumns,
    queue_rows: QueueColumns,
    bands: BandRecorder,
    classes: ClassRecorder,
    transfers: Transfers,
    points: Option<Points>,
    events: Option<Events>,
    /// The state of controllers and of queues.
    cc: StateRows,
    aqm: QueueStates,
    /// Single events or changes of state are kept: ACKs, timeouts and dequeues are reported in detail.
    detailed: bool,
    /// That, or some queue has classes: dequeues are reported beyond sums and points.
    detailed_dequeues: bool,
    captures: Option<Captures>,
    connections: Connections,
    /// Packets have an identity: they are captured, or single events are kept.
    tells_apart: bool,
    /// What all rows may occupy.
    budget: Budget,
    /// Where rows go that are too many.
    outlet: Outlet,
    /// Segments that have ended.
    segments: Vec<SpanTotals>,
    segment_start: Time,
    /// Edges of windows still to come, the next one last.
    edges: Vec<Time>,
    interval_start: Time,
    next_tick: Time,
    packets: u64,
}

impl Recorder {
    pub(crate) fn new(network: &Network, flows: &[Flow]) -> Recorder {
        let (params, windows) = (network.record, network.windows.clone());
        let end = Time::ZERO + network.duration;
        let mut edges: Vec<Time> = windows.iter().flat_map(|w| [w.from, w.to]).chain([end]).collect();
        edges.retain(|t| *t > Time::ZERO && *t <= end);
        edges.sort_unstable_by(|a, b| b.cmp(a));
        edges.dedup();
        let base_rtts: Vec<Duration> = network.flows.iter().map(|f| f.base_rtt).collect();
        let n_queues = network.links.len();
        let budget = Budget::default();
        let mut cc = StateRows::new("cc", &["flow"], &budget);
        for (index, flow) in flows.iter().enumerate() {
            cc.add(&[index as u32], &|out| flow.ends.probe(out));
        }
        let queues = || network.links.iter().map(|link| link.queue.as_ref());
        let classes = ClassRecorder::new(queues(), &budget);
        let detailed = params.events || params.state == StateRecording::Changes;
        let mut recorder = Recorder {
            points: params
                .points
                .filter(|spacing| !spacing.is_zero())
                .map(|spacing| Points::new(spacing, &base_rtts, n_queues, &budget)),
            events: params.events.then(|| {
                let dequeues = Dequeues::new(queues(), ConnectionColumn::new(network), &budget);
                Events::new(dequeues, &budget)
            }),
            detailed,
            detailed_dequeues: detailed || classes.any(),
            cc,
            aqm: QueueStates::new(queues(), &budget),
            captures: params
                .packets
                .then(|| Captures::new(ConnectionColumn::new(network), params.payloads, &budget)),
            tells_apart: params.packets || params.events,
            connections: Connections::new(network.flows.len()),
            element_names: network
                .elements
                .iter()
                .map(|i| (i.name.clone(), i.config.name().to_owned()))
                .collect(),
            flow_info: FlowInfo::of_all(network),
            with_rows: flows.len(),
            queue_names: network.links.iter().map(|l| l.name.clone()).collect(),
            flows: flows.iter().map(|flow| FlowRecorder::new(flow.ends.window())).collect(),
            queues: (0..n_queues).map(|_| QueueRecorder::new()).collect(),
            flow_rows: FlowColumns::within(&budget),
            tcp_rows: TcpColumns::within(&budget),
            queue_rows: QueueColumns::within(&budget),
            bands: BandRecorder::new(n_queues, &budget),
            classes,
            transfers: Transfers::new(network, &budget),
            outlet: Outlet::new(&budget),
            budget,
            segments: Vec::new(),
            segment_start: Time::ZERO,
            edges,
            interval_start: Time::ZERO,
            next_tick: Time::ZERO,
            packets: 0,
            params,
            windows,
        };
        recorder.next_tick = recorder.tick_after(Time::ZERO);
        recorder
    }

    /// What all rows may occupy, and what they do.
    pub(crate) const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// When [`Recorder::end_interval`] is due: before all other events of that time.
    pub(crate) const fn next_tick(&self) -> Time {
        self.next_tick
    }

    /// Packets with data that have reached a receiver.
    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    /// A queue's name, which is its link's.
    pub(crate) fn queue_name(&self, queue: usize) -> &str {
        &self.queue_names[queue]
    }

    /// An element's name.
    pub(crate) fn element_name(&self, element: usize) -> &str {
        &self.element_names[element].0
    }

    /// A flow's name in results.
    pub(crate) fn flow_name(&self, series: usize) -> &str {
        &self.flow_info[series].name
    }

    /// A connection of `series` arrives, and occupies `slot` among the simulation's flows.
    pub(crate) fn connected(&mut self, slot: usize, series: usize) {
        self.connections.arrive(slot, series);
    }

    /// Asks for the memory of a flow's record.
    #[inline]
    pub(crate) fn prefetch(&self, series: usize) {
        self.flows[series].prefetch();
        if let Some(points) = &self.points {
            points.prefetch(series);
        }
    }

    /// Asks for what that record points to.
    #[inline]
    pub(crate) fn prefetch_details(&self, series: usize) {
        self.flows[series].prefetch_details();
    }

    /// A packet left a link's queue.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub(crate) fn dequeued<C: Capabilities>(&mut self, now: Time, index: usize, link: &Link) {
        let Some(packet) = link.left() else { return };
        let departure = link.left_by();
        let Departure { outcome, sojourn, emptied, .. } = departure;
        let series = self.connections.flow(packet.flow);
        let queue = &mut self.queues[index];
        queue.dequeued(packet.size(), sojourn, outcome, emptied);
        queue.digest.word(now.as_nanos());
        queue.digest.word(((series as u64) << 48) ^ packet.seq.get() ^ (mark_code(outcome) << 62));
        if let Some(points) = &mut self.points {
            points.sojourn(now, index, sojourn, emptied);
            if let Outcome::Marked(signal) = outcome {
                points.mark(now, index, series as u32, signal.into());
            }
        }
        if C::SINGLE_PACKETS {
            if self.detailed_dequeues {
                self.dequeued_in_detail(now, index, packet, link, departure);
            }
            if self.captures() {
                self.capture(now, Tap::QueueOut(index as u32), packet);
            }
        }
    }

    /// True if single events or changes of state are kept.
    #[inline]
    pub(crate) const fn detailed(&self) -> bool {
        self.detailed
    }

    /// The state of a queue may have changed.
    pub(crate) fn queue_changed(&mut self, now: Time, index: usize, link: &Link) {
        if self.params.state == StateRecording::Changes {
            self.aqm.push(now, index, link.queue(), false);
        }
    }

    /// The state of a flow's controller may have changed.
    pub(crate) fn controller_changed(&mut self, now: Time, flow: usize, probe: &dyn Fn(Probe<'_>)) {
        if self.params.state == StateRecording::Changes && self.cc.has(flow) {
            self.cc.push_changed(now, flow, probe);
        }
    }

    /// True if packets have an identity.
    #[inline]
    pub(crate) const fn tells_apart(&self) -> bool {
        self.tells_apart
    }

    /// A packet entered a queue that now holds `packets`.
    #[inline]
    pub(crate) fn queued(&mut self, index: usize, packets: u64) {
        self.queues[index].queued(packets);
    }

    /// A queue marked a packet of `flow` on its arrival.
    pub(crate) fn marked(&mut self, now: Time, index: usize, flow: FlowId, id: u64, signal: Signal) {
        self.queues[index].marked(signal);
        let series = self.connections.flow(flow);
        if let Some(events) = &mut self.events {
            events.dequeues.arrival_marks.add(id, mark_code(Outcome::Marked(signal)) as u8);
            events.mark(now, index, series, Outcome::Marked(signal), None);
        }
        if let Some(points) = &mut self.points {
            points.mark(now, index, series as u32, signal.into());
        }
    }

    /// A queue dropped a packet of `series` (or, with loss-free endpoints, would have).
    pub(crate) fn dropped(&mut self, now: Time, index: usize, series: usize, drop: &Dropped) {
        self.queues[index].dropped(drop.reason);
        if let Some(events) = &mut self.events {
            events.dequeues.arrival_marks.add(drop.id, mark_code(Outcome::Drop) as u8);
            events.mark(now, index, series, Outcome::Drop, Some(LossCause::Queue(drop.reason)));
        }
        if let Some(points) = &mut self.points {
            points.mark(now, index, series as u32, MarkKind::Drop);
        }
    }

    /// A queue or a medium lost a packet of `series`, which may have been one that only acknowledges; `id` is its number, if it is gone.
    pub(crate) fn lost(&mut self, series: usize, cause: LossCause, is_ack: bool, id: Option<u64>) {
        let losses = self.flows[series].sums.losses();
        if is_ack { &mut losses.ack_drops } else { &mut losses.drops }.count(cause);
        let Some(id) = id else { return };
        if let Some(captures) = &mut self.captures {
            captures.lost(id, cause);
        }
        if let Some(events) = &mut self.events {
            events.dequeues.arrival_marks.take(id);
        }
    }

    /// A damaged packet of `series` was discarded where it arrived.
    pub(crate) fn corrupted(&mut self, series: usize, id: u64) {
        self.flows[series].sums.losses().corrupted += 1;
        if let Some(captures) = &mut self.captures {
            captures.lost(id, LossCause::Medium);
        }
    }

    /// A packet reached the receiver of `series`.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub(crate) fn received(&mut self, now: Time, series: usize, packet: &Packet, arrival: &Arrival) {
        let recorder = &mut self.flows[series];
        recorder.received(now, packet.size(), arrival.delivered);
        match packet.ecn {
            Ecn::NotEct | Ecn::Ect0 => {}
            Ecn::Ect1 => recorder.sums.sce += u64::from(arrival.understands_sce),
            Ecn::Ce => recorder.sums.ce += 1,
        }
        self.packets += u64::from(packet.payload() > Bytes::ZERO);
        if let Some(points) = &mut self.points {
            points.received(now, series, packet.size());
        }
    }

    /// Data that had arrived earlier were delivered in order only now.
    pub(crate) fn delivered(&mut self, series: usize, amount: Bytes) {
        self.flows[series].sums.payload += amount;
    }

    /// A TCP sender sends a segment again.
    pub(crate) fn retransmitted(&mut self, now: Time, packet: &Packet) {
        let digest = &mut self.flows[self.connections.flow(packet.flow)].digest;
        digest.word(now.as_nanos());
        digest.word(!packet.seq.get());
    }

    /// A sender handled an ACK.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub(crate) fn acknowledged(&mut self, now: Time, flow: usize, state: WindowState) {
        let recorder = &mut self.flows[flow];
        recorder.acknowledged(now, state);
        recorder.digest.word(now.as_nanos() ^ state.cwnd.get().rotate_left(32));
        if let Some(points) = &mut self.points {
            points.cwnd(now, flow, state.cwnd, state.cwnd_limited);
        }
    }

    /// A timer of `flow`'s sender expired: a timeout changes the window without an ACK.
    pub(crate) fn timed(&mut self, now: Time, flow: usize, cwnd: Bytes, limited: bool) {
        if self.flows[flow].window(now, cwnd)
            && let Some(points) = &mut self.points
        {
            points.cwnd(now, flow, cwnd, limited);
        }
    }

    /// True while the phase of `flow`'s controller is of interest.
    #[inline]
    pub(crate) fn wants_phase<C: Capabilities>(&self, flow: usize) -> bool {
        self.flows[flow].in_slow_start() || (C::SINGLE_PACKETS && self.detailed)
    }

    /// A flow of `series` was started.
    pub(crate) fn started(&mut self, now: Time, series: usize) {
        self.flows[series].start(now);
    }

    /// From now on the first `flows` flows have rows of intervals.
    pub(crate) fn rows_of(&mut self, flows: usize) {
        self.with_rows = flows;
    }

    /// True when `flow` has just left slow start.
    #[inline]
    pub(crate) fn leaves_slow_start(&self, flow: usize, slow_start: bool) -> bool {
        self.flows[flow].leaves_slow_start(slow_start)
    }

    pub(crate) fn left_slow_start(&mut self, now: Time, flow: usize, cwnd: Bytes, reason: ExitReason) {
        self.flows[flow].left_slow_start(now, cwnd, reason);
    }

    /// Ends the recording interval at `now`, and the segment if an edge of a window is due. `reading` gives that of the
    /// sender of each of `flows`; none if all are loss-free.
    pub(crate) fn end_interval(
        &mut self,
        now: Time,
        links: &mut [Link],
        flows: &[Flow],
        reading: &dyn Fn(usize) -> Option<Reading>,
    ) {
        self.of_whole(links, flows, reading, |recorder, whole| {
            let (flows, queues) = (0..recorder.with_rows, 0..recorder.queue_names.len());
            recorder.add_rows(now, whole, flows, queues);
            recorder.begin_interval(now, whole);
        });
    }

    /// Does something with the records of all flows and queues, which are here.
    fn of_whole(
        &mut self,
        links: &mut [Link],
        flows: &[Flow],
        reading: &dyn Fn(usize) -> Option<Reading>,
        act: impl FnOnce(&mut Recorder, &mut Whole<'_>),
    ) {
        let mut whole = Whole {
            of_flows: std::mem::take(&mut self.flows),
            of_queues: std::mem::take(&mut self.queues),
            of_classes: self.classes.take(),
            links,
            flows,
            reading,
        };
        act(self, &mut whole);
        let Whole { of_flows, of_queues, of_classes, .. } = whole;
        (self.flows, self.queues) = (of_flows, of_queues);
        self.classes.put_back(of_classes);
    }

    /// Adds the rows of the interval that ends at `now`, those of these flows and queues.
    fn add_rows(
        &mut self,
        now: Time,
        whole: &mut Whole<'_>,
        flows: impl Iterator<Item = usize> + Clone,
        queues: impl Iterator<Item = usize> + Clone,
    ) {
        let span = now.since(self.interval_start);
        if span.is_zero() {
            return;
        }
        for i in flows.clone() {
            let reading = (whole.reading)(i);
            let counters = reading.as_ref().map(|reading| &reading.counters);
            whole.of_flows[i].end_interval(now, span, i, counters, &mut self.flow_rows);
            if let Some(reading) = &reading {
                self.tcp_rows.push(reading.info.as_ref());
            }
        }
        for i in queues.clone() {
            let link = whole.link(i);
            let (busy, backlog) = (link.take_busy(now), link.backlog());
            self.bands.end_interval(now, span, i, link);
            whole.queue(i).end_interval(now, span, busy, backlog, i, &mut self.queue_rows);
            self.classes.end_interval(now, i, whole.classes(i));
        }
        self.record_state(now, whole, flows, queues);
    }

    /// The next interval begins at `now`: rows leave if they are many, and the segment ends if an edge of a window is due.
    fn begin_interval(&mut self, now: Time, subjects: &mut impl Subjects) {
        if now > self.interval_start {
            self.hand_over();
            self.interval_start = now;
        }
        if self.edges.len() > 1 {
            self.end_segment(now, subjects);
        }
        self.next_tick = self.tick_after(now);
    }

    /// Gives `sink` the rows of tables that get many, once all rows take `enough` memory.
    pub(crate) fn stream_to(&mut self, sink: Box<dyn Sink>, enough: Bytes) {
        self.outlet.open(sink, enough);
    }

    /// Hands over rows, if they are many.
    fn hand_over(&mut self) {
        let outlet = &mut self.outlet;
        tcp_series::hand_over(&mut self.flow_rows, &mut self.tcp_rows, outlet);
        outlet.drain(&mut self.queue_rows);
        self.bands.hand_over(outlet);
        self.classes.hand_over(outlet);
        self.cc.hand_over(outlet);
        self.aqm.hand_over(outlet);
        if let Some(points) = &mut self.points {
            points.hand_over(outlet);
        }
        if let Some(captures) = &mut self.captures {
            captures.hand_over_settled(outlet);
        }
    }

    /// Ends the segment if an edge of a window is due. The last segment is left to the end of the record, when the flows are
    /// gone.
    fn end_segment(&mut self, now: Time, subjects: &mut impl Subjects) {
        if self.edges.last().is_none_or(|edge| *edge > now) {
            return;
        }
        self.edges.pop();
        let last = self.edges.is_empty();
        let (flows, queues) = (self.flow_info.len(), self.queue_names.len());
        self.segments.push(SpanTotals {
            from: std::mem::replace(&mut self.segment_start, now),
            to: now,
            flows: (0..flows).map(|i| subjects.flow(i).take_totals(last)).collect(),
            queues: (0..queues).map(|i| subjects.queue(i).take_totals()).collect(),
            bands: (0..queues).map(|i| band_series::read(subjects.link(i))).collect(),
            classes: (0..queues).map(|i| class_series::take_totals(subjects.classes(i))).collect(),
        });
    }

    /// The state of controllers and queues at the end of an interval.
    fn record_state(
        &mut self,
        now: Time,
        whole: &Whole<'_>,
        flows: impl Iterator<Item = usize>,
        queues: impl Iterator<Item = usize>,
    ) {
        let push = match self.params.state {
            StateRecording::Off => return,
            StateRecording::Interval => StateRows::push,
            StateRecording::Changes => StateRows::push_changed,
        };
        for index in flows {
            if self.cc.has(index) {
                push(&mut self.cc, now, index, &|out| whole.flows[index].ends.probe(out));
            }
        }
        let all = self.params.state == StateRecording::Interval;
        for index in queues {
            self.aqm.push(now, index, whole.links[index].queue(), all);
        }
    }

    /// The next multiple of the interval, or an edge of a window before it.
    fn tick_after(&self, now: Time) -> Time {
        let interval = self.params.interval.as_nanos();
        let next = Time::from_nanos((now.as_nanos() / interval + 1) * interval);
        self.edges.last().map_or(next, |edge| next.min(*edge))
    }
}
