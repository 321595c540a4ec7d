//! Single events, thinned: at most one per series in each span of the recorder's spacing.
//!
//! Memory is bounded by the length of the run over the spacing, not by the packets in it.

use windtunnel_qdisc::Signal;
use windtunnel_units::{Bytes, Duration, Time};

use super::columns::{Table, columns};
use super::flow_series::mbps;

columns! {
    pub(crate) struct ThroughputPoints as "throughput_points" { time_s: F64(f64), flow: I32(i32), mbps: F64(f64) }
}
columns! {
    pub(crate) struct CwndPoints as "cwnd_points" { time_s: F64(f64), flow: U32(u32), bytes: F64(f64), limited: Bool(bool) }
}
columns! {
    pub(crate) struct SojournPoints as "sojourn_points" { time_s: F64(f64), queue: U32(u32), ms: F64(f64), empty: Bool(bool) }
}
columns! {
    pub(crate) struct MarkPoints as "mark_points" { time_s: F64(f64), queue: U32(u32), flow: U32(u32), kind: U8(u8), hz: F64(f64) }
}

/// A mark as a code: the order is that of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MarkKind {
    Sce = 0,
    Ce = 1,
    Drop = 2,
}

impl From<Signal> for MarkKind {
    fn from(signal: Signal) -> MarkKind {
        match signal {
            Signal::Sce => MarkKind::Sce,
            Signal::Ce => MarkKind::Ce,
        }
    }
}

/// The state of one flow's series.
#[derive(Clone, Debug)]
struct FlowState {
    base_rtt: Duration,
    received: Bytes,
    throughput_since: Time,
    cwnd_next: Time,
}

/// The state of one queue's series.
#[derive(Clone, Debug, Default)]
struct QueueState {
    /// By whether the queue was empty after the dequeue.
    sojourn_next: [Time; 2],
    /// By [`MarkKind`].
    mark_last: [Time; 3],
    mark_next: [Time; 3],
}

/// Thinned single events of a run.
#[derive(Debug)]
pub(crate) struct Points {
    spacing: Duration,
    flows: Vec<FlowState>,
    queues: Vec<QueueState>,
    /// The flow with the longest base RTT: it sets the pace of the total.
    slowest: usize,
    total: Bytes,
    total_since: Time,
    throughput: ThroughputPoints,
    cwnd: CwndPoints,
    sojourn: SojournPoints,
    marks: MarkPoints,
}

impl Points {
    pub(crate) fn new(spacing: Duration, base_rtts: &[Duration], queues: usize) -> Points {
        let flow = |rtt: &Duration| FlowState {
            base_rtt: *rtt,
            received: Bytes::ZERO,
            throughput_since: Time::ZERO,
            cwnd_next: Time::ZERO,
        };
        Points {
            spacing,
            flows: base_rtts.iter().map(flow).collect(),
            queues: vec![QueueState::default(); queues],
            slowest: (0..base_rtts.len()).max_by_key(|&i| (base_rtts[i], std::cmp::Reverse(i))).unwrap_or(0),
            total: Bytes::ZERO,
            total_since: Time::ZERO,
            throughput: ThroughputPoints::default(),
            cwnd: CwndPoints::default(),
            sojourn: SojournPoints::default(),
            marks: MarkPoints::default(),
        }
    }

    /// A packet of `size` bytes reached its receiver: one point per flow and base round trip of it.
    #[inline]
    pub(crate) fn received(&mut self, now: Time, flow: usize, size: Bytes) {
        self.total += size;
        let state = &mut self.flows[flow];
        state.received += size;
        let since = now.since(state.throughput_since);
        if since < state.base_rtt.max(self.spacing) {
            return;
        }
        let amount = std::mem::take(&mut state.received);
        state.throughput_since = now;
        self.push_throughput(now, i32::try_from(flow).unwrap_or(i32::MAX), mbps(amount, since));
        if self.flows.len() > 1 {
            self.received_by_all(now, flow);
        }
    }

    /// The total has a point when the slowest flow has one; where that flow is silent, others step in after twice the time.
    fn received_by_all(&mut self, now: Time, flow: usize) {
        let since = now.since(self.total_since);
        let pace = self.flows[self.slowest].base_rtt.max(self.spacing);
        if flow == self.slowest || since >= pace + pace {
            let amount = std::mem::take(&mut self.total);
            self.total_since = now;
            self.push_throughput(now, -1, mbps(amount, since));
        }
    }

    /// The window of a flow after an ACK.
    #[inline]
    pub(crate) fn cwnd(&mut self, now: Time, flow: usize, cwnd: Bytes, limited: bool) {
        let next = &mut self.flows[flow].cwnd_next;
        if now < *next {
            return;
        }
        *next = now + self.spacing;
        self.cwnd.time_s.push(now.as_secs_f64());
        self.cwnd.flow.push(flow as u32);
        self.cwnd.bytes.push(cwnd.as_f64());
        self.cwnd.limited.push(limited);
    }

    /// A packet left a queue.
    #[inline]
    pub(crate) fn sojourn(&mut self, now: Time, queue: usize, sojourn: Duration, emptied: bool) {
        let next = &mut self.queues[queue].sojourn_next[usize::from(emptied)];
        if now < *next {
            return;
        }
        *next = now + self.spacing;
        self.sojourn.time_s.push(now.as_secs_f64());
        self.sojourn.queue.push(queue as u32);
        self.sojourn.ms.push(sojourn.as_millis_f64());
        self.sojourn.empty.push(emptied);
    }

    /// A queue marked or dropped a packet.
    pub(crate) fn mark(&mut self, now: Time, queue: usize, flow: u32, kind: MarkKind) {
        let state = &mut self.queues[queue];
        let since = now.since(state.mark_last[kind as usize]);
        state.mark_last[kind as usize] = now;
        let next = &mut state.mark_next[kind as usize];
        if now < *next || since.is_zero() {
            return;
        }
        *next = now + self.spacing;
        self.marks.time_s.push(now.as_secs_f64());
        self.marks.queue.push(queue as u32);
        self.marks.flow.push(flow);
        self.marks.kind.push(kind as u8);
        self.marks.hz.push(1e9 / since.as_nanos() as f64);
    }

    fn push_throughput(&mut self, now: Time, flow: i32, mbps: f64) {
        self.throughput.time_s.push(now.as_secs_f64());
        self.throughput.flow.push(flow);
        self.throughput.mbps.push(mbps);
    }

    pub(crate) fn into_tables(self) -> [Table; 4] {
        [
            self.throughput.into_table(),
            self.cwnd.into_table(),
            self.sojourn.into_table(),
            self.marks.into_table(),
        ]
    }
}
