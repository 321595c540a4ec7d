//! Single events, thinned: of each span of the recorder's spacing, its first event and its extremes.
//!
//! Memory is bounded by the length of the run divided by the spacing, not by the number of packets. Windows and sojourn
//! times keep the first value and the extremes of each span (`thinned.rs`). Marks come in bursts, and a burst is shorter than
//! a span, so marks are counted: one row for all marks of a span, with the least and the greatest time between two of them.
//! The rows therefore add up to the queue's own count. Throughput is what has arrived since the row before, divided by the
//! time.

use windtunnel_prefetch::prefetch;
use windtunnel_qdisc::Signal;
use windtunnel_units::{Bytes, Duration, Time};

use super::budget::Budget;
use super::columns::{Rows, Table, columns};
use super::flow_series::mbps;
use super::outlet::Outlet;
use super::thinned::{CWND, InBytes, InMillis, SOJOURN, Span, Thinned};

columns! {
    pub(crate) struct ThroughputPoints as "throughput_points" { time_s: F64(f64), flow: I32(i32), mbps: F64(f64) }
}
columns! {
    pub(crate) struct MarkPoints as "mark_points" {
        time_s: F64(f64),
        queue: U32(u32),
        flow: U32(u32),
        kind: U8(u8),
        hz: F64(f64),
        count: U64(u64),
        gap_min_ms: F64(f64),
        gap_max_ms: F64(f64),
    }
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
    cwnd: Span,
}

/// The state of one queue's series.
#[derive(Clone, Debug, Default)]
struct QueueState {
    /// Indexed by whether the queue was empty after the dequeue.
    sojourn: [Span; 2],
    /// Indexed by [`MarkKind`].
    marks: [MarkSpan; 3],
}

/// The marks of one kind at one queue within a span of the spacing.
#[derive(Clone, Copy, Debug, Default)]
struct MarkSpan {
    /// The number of the span.
    number: u64,
    /// The last mark before this span.
    since: Time,
    /// The last mark, and the flow of its packet.
    last: Time,
    flow: u32,
    count: u64,
    gap_min: Duration,
    gap_max: Duration,
}

impl MarkSpan {
    /// Adds one more mark to the same span. The gap before the first mark of a run counts from 0 s.
    fn add(&mut self, now: Time, flow: u32) {
        let gap = now.since(self.last);
        self.gap_min = if self.count == 0 { gap } else { self.gap_min.min(gap) };
        self.gap_max = self.gap_max.max(gap);
        self.count += 1;
        self.last = now;
        self.flow = flow;
    }

    /// The span `number`, which follows this one.
    const fn next(&self, number: u64) -> MarkSpan {
        MarkSpan {
            number,
            since: self.last,
            last: self.last,
            flow: 0,
            count: 0,
            gap_min: Duration::ZERO,
            gap_max: Duration::ZERO,
        }
    }
}

/// What becomes of the sum of all flows' throughput.
#[derive(Debug)]
enum Sum {
    /// There is one flow.
    None,
    /// It has points. The flow with the longest base RTT determines their spacing.
    Points { slowest: usize },
    /// The points are made elsewhere: for each row of a flow, what had reached the receivers here by then.
    Elsewhere(Vec<Bytes>),
}

/// Thinned single events of a run.
#[derive(Debug)]
pub(crate) struct Points {
    spacing: Duration,
    flows: Vec<FlowState>,
    queues: Vec<QueueState>,
    sum: Sum,
    /// What has reached all receivers since the total's last point; in a part of a run, since the start.
    total: Bytes,
    total_since: Time,
    throughput: ThroughputPoints,
    cwnd: Thinned<InBytes>,
    sojourn: Thinned<InMillis>,
    marks: MarkPoints,
}

impl Points {
    pub(crate) fn new(spacing: Duration, base_rtts: &[Duration], queues: usize, budget: &Budget) -> Points {
        let flow = |rtt: &Duration| FlowState {
            base_rtt: *rtt,
            received: Bytes::ZERO,
            throughput_since: Time::ZERO,
            cwnd: Span::default(),
        };
        Points {
            spacing,
            flows: base_rtts.iter().map(flow).collect(),
            queues: vec![QueueState::default(); queues],
            sum: match (0..base_rtts.len()).max_by_key(|&i| (base_rtts[i], std::cmp::Reverse(i))) {
                Some(slowest) if base_rtts.len() > 1 => Sum::Points { slowest },
                _ => Sum::None,
            },
            total: Bytes::ZERO,
            total_since: Time::ZERO,
            throughput: ThroughputPoints::within(budget),
            cwnd: Thinned::new(spacing, budget),
            sojourn: Thinned::new(spacing, budget),
            marks: MarkPoints::within(budget),
        }
    }

    /// Asks for the memory of a flow's series.
    #[inline]
    pub(crate) fn prefetch(&self, flow: usize) {
        prefetch(&self.flows[flow]);
    }

    /// A packet of `size` bytes reached its receiver: one point per flow and per base round trip of the flow.
    #[inline]
    pub(crate) fn received(&mut self, now: Time, flow: usize, size: Bytes) {
        self.total += size;
        let state = &mut self.flows[flow];
        state.received += size;
        let since = now.since(state.throughput_since);
        if since >= state.base_rtt.max(self.spacing) {
            self.end_throughput(now, flow, since);
        }
    }

    #[inline(never)]
    fn end_throughput(&mut self, now: Time, flow: usize, since: Duration) {
        let state = &mut self.flows[flow];
        let amount = std::mem::take(&mut state.received);
        state.throughput_since = now;
        self.push_throughput(now, i32::try_from(flow).unwrap_or(i32::MAX), mbps(amount, since));
        match &mut self.sum {
            Sum::None => {}
            Sum::Points { slowest } => {
                let slowest = *slowest;
                self.received_by_all(now, flow, slowest);
            }
            Sum::Elsewhere(totals) => totals.push(self.total),
        }
    }

    /// The total gets a point when the slowest flow gets one; where that flow is silent, others step in after twice
    /// the time. Returns whether it got one.
    fn received_by_all(&mut self, now: Time, flow: usize, slowest: usize) -> bool {
        let since = now.since(self.total_since);
        let pace = self.flows[slowest].base_rtt.max(self.spacing);
        let due = flow == slowest || since >= pace + pace;
        if due {
            let amount = std::mem::take(&mut self.total);
            self.total_since = now;
            self.push_throughput(now, -1, mbps(amount, since));
        }
        due
    }

    /// The window of a flow after an ACK.
    #[inline]
    pub(crate) fn cwnd(&mut self, now: Time, flow: usize, cwnd: Bytes, limited: bool) {
        self.cwnd.take(&mut self.flows[flow].cwnd, flow, now, cwnd.get(), limited);
    }

    /// A packet left a queue.
    #[inline]
    pub(crate) fn sojourn(&mut self, now: Time, queue: usize, sojourn: Duration, emptied: bool) {
        let span = &mut self.queues[queue].sojourn[usize::from(emptied)];
        self.sojourn.take(span, queue, now, sojourn.as_nanos(), emptied);
    }

    /// A queue marked or dropped a packet.
    pub(crate) fn mark(&mut self, now: Time, queue: usize, flow: u32, kind: MarkKind) {
        let number = now.as_nanos() / self.spacing.as_nanos();
        let span = &mut self.queues[queue].marks[kind as usize];
        if span.number != number {
            let over = std::mem::replace(span, span.next(number));
            self.marks.push(queue, kind as u8, &over);
        }
        self.queues[queue].marks[kind as usize].add(now, flow);
    }

    fn push_throughput(&mut self, now: Time, flow: i32, mbps: f64) {
        if !self.throughput.has_room(1) {
            return;
        }
        self.throughput.time_s.push(now.as_secs_f64());
        self.throughput.flow.push(flow);
        self.throughput.mbps.push(mbps);
    }

    /// Adds what the last spans hold.
    fn end_spans(&mut self) {
        self.flows.iter().enumerate().for_each(|(flow, state)| self.cwnd.end_last(&state.cwnd, flow));
        for (queue, state) in self.queues.iter().enumerate() {
            state.sojourn.iter().for_each(|span| self.sojourn.end_last(span, queue));
            for (kind, span) in state.marks.iter().enumerate() {
                self.marks.push(queue, kind as u8, span);
            }
        }
    }

    /// An empty record of the same flows and queues, for a part of the run.
    pub(super) fn twin(&self, budget: &Budget) -> Points {
        Points {
            spacing: self.spacing,
            flows: self.flows.clone(),
            queues: self.queues.clone(),
            sum: Sum::Elsewhere(Vec::new()),
            total: Bytes::ZERO,
            total_since: Time::ZERO,
            throughput: ThroughputPoints::within(budget),
            cwnd: Thinned::apart(self.spacing, budget),
            sojourn: Thinned::apart(self.spacing, budget),
            marks: MarkPoints::within(budget),
        }
    }

    /// What has reached all receivers, in a part of a run.
    #[inline]
    pub(super) const fn total(&self) -> Bytes {
        self.total
    }

    /// How many rows there are of windows, of sojourn times, of throughput and of marks, in a part of a run.
    #[inline]
    pub(super) fn counts(&self) -> [usize; 4] {
        [self.cwnd.staged(), self.sojourn.staged(), self.throughput.count(), self.marks.count()]
    }

    /// Takes over row `row` of table `table`, in the order of [`Points::counts`], from the record of a part. Returns the
    /// flow if it is one of throughput, and what had reached the part's receivers by then.
    pub(super) fn copy_row(&mut self, part: &Points, table: usize, row: usize) -> Option<(usize, Bytes)> {
        match table {
            0 => self.cwnd.copy_row(&part.cwnd, row),
            1 => self.sojourn.copy_row(&part.sojourn, row),
            2 => {
                self.throughput.copy_rows(&part.throughput, row..row + 1);
                if let Sum::Elsewhere(totals) = &part.sum {
                    return Some((part.throughput.flow[row] as usize, totals[row]));
                }
            }
            _ => self.marks.copy_rows(&part.marks, row..row + 1),
        }
        None
    }

    /// `total` has reached all receivers since the total's last point, when `flow` got one. Returns whether the total got
    /// one, too.
    pub(super) fn sum_up(&mut self, now: Time, flow: usize, total: Bytes) -> bool {
        let Sum::Points { slowest } = self.sum else { return false };
        self.total = total;
        self.received_by_all(now, flow, slowest)
    }

    /// All rows of a part have been taken over.
    pub(super) fn clear_rows(&mut self) {
        self.cwnd.clear_staged();
        self.sojourn.clear_staged();
        self.throughput.clear();
        self.marks.clear();
        if let Sum::Elsewhere(totals) = &mut self.sum {
            totals.clear();
        }
    }

    /// The series of flow `index` was in `part`.
    pub(super) fn take_flow(&mut self, part: &mut Points, index: usize) {
        std::mem::swap(&mut self.flows[index], &mut part.flows[index]);
    }

    /// The series of queue `index` was in `part`.
    pub(super) fn take_queue(&mut self, part: &mut Points, index: usize) {
        std::mem::swap(&mut self.queues[index], &mut part.queues[index]);
    }

    /// Hands over rows that grow in number with the flows. Marks are put in order at the end.
    pub(super) fn hand_over(&mut self, outlet: &mut Outlet) {
        outlet.drain(&mut self.throughput);
        self.cwnd.hand_over(CWND, outlet);
        self.sojourn.hand_over(SOJOURN, outlet);
    }

    pub(crate) fn into_tables(mut self) -> [Table; 4] {
        self.end_spans();
        [
            self.throughput.into_table(),
            self.cwnd.into_table(CWND),
            self.sojourn.into_table(SOJOURN),
            self.marks.by_time().into_table(),
        ]
    }
}

impl MarkPoints {
    /// Adds the row of a span, unless it has no marks.
    fn push(&mut self, queue: usize, kind: u8, span: &MarkSpan) {
        if span.count == 0 || !self.has_room(1) {
            return;
        }
        self.time_s.push(span.last.as_secs_f64());
        self.queue.push(queue as u32);
        self.flow.push(span.flow);
        self.kind.push(kind);
        // The reciprocal of the mean gap; it does not exist for marks at 0 s.
        let elapsed = span.last.since(span.since).as_nanos();
        self.hz.push(if elapsed > 0 { span.count as f64 * 1e9 / elapsed as f64 } else { f64::NAN });
        self.count.push(span.count);
        self.gap_min_ms.push(span.gap_min.as_millis_f64());
        self.gap_max_ms.push(span.gap_max.as_millis_f64());
    }

    /// The rows in order of time. They were added when their spans were over.
    fn by_time(self) -> MarkPoints {
        let mut order: Vec<usize> = (0..self.time_s.len()).collect();
        order.sort_by(|a, b| self.time_s[*a].total_cmp(&self.time_s[*b]));
        MarkPoints {
            budget: self.budget,
            time_s: ordered(&self.time_s, &order),
            queue: ordered(&self.queue, &order),
            flow: ordered(&self.flow, &order),
            kind: ordered(&self.kind, &order),
            hz: ordered(&self.hz, &order),
            count: ordered(&self.count, &order),
            gap_min_ms: ordered(&self.gap_min_ms, &order),
            gap_max_ms: ordered(&self.gap_max_ms, &order),
        }
    }
}

fn ordered<T: Copy>(values: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|index| values[*index]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Times of marks: most gaps are short, as within a burst, some are long, and some marks share a nanosecond.
    fn bursts() -> impl Strategy<Value = Vec<(u64, usize, u8)>> {
        let gap = prop_oneof![2 => Just(0), 6 => 1..2_000_u64, 1 => 100_000..5_000_000_u64];
        prop::collection::vec((gap, 0..2_usize, 0..3_u8), 0..300)
    }

    const fn kind(code: u8) -> MarkKind {
        [MarkKind::Sce, MarkKind::Ce, MarkKind::Drop][code as usize]
    }

    proptest! {
        /// Whatever the spacing, rate times time since the row before gives the bytes that arrived up to the row, of
        /// each flow and of all.
        #[test]
        fn thinned_throughput_adds_up(
            packets in prop::collection::vec((0..4_000_000_u64, 1..3_000_u64, 0..2_usize), 0..300),
            spacing in 1..30_000_000_u64,
        ) {
            let rtts = [Duration::from_millis(3), Duration::from_millis(10)];
            let mut points = Points::new(Duration::from_nanos(spacing), &rtts, 1, &Budget::default());
            let (mut now, mut arrived) = (0, Vec::new());
            for (gap, size, flow) in packets {
                now += gap;
                let time = Time::from_nanos(now);
                points.received(time, flow, Bytes::new(size));
                let flow = i32::try_from(flow).unwrap_or(i32::MAX);
                arrived.push((time.as_secs_f64(), size as f64, flow));
            }
            let rows = &points.throughput;
            for flow in [-1, 0, 1] {
                let (mut before, mut bytes) = (0.0, 0.0);
                for i in (0..rows.time_s.len()).filter(|i| rows.flow[*i] == flow) {
                    bytes += rows.mbps[i] * 1e6 / 8.0 * (rows.time_s[i] - before);
                    before = rows.time_s[i];
                }
                let wanted: f64 =
                    arrived.iter().filter(|p| p.0 <= before && (flow < 0 || p.2 == flow)).map(|p| p.1).sum();
                // The total's row is written by the packet of one flow: others may arrive in the same nanosecond after it.
                let same: f64 = arrived.iter().filter(|p| (p.0 - before).abs() < 1e-12).map(|p| p.1).sum();
                prop_assert!(bytes < wanted * (1.0 + 1e-9) + 1e-3, "{} of {}", bytes, wanted);
                prop_assert!(bytes > (wanted - same) * (1.0 - 1e-9) - 1e-3, "{} of {}", bytes, wanted);
            }
        }

        /// Whatever the spacing, the rows of each queue and kind add up to its marks, contain the least and the
        /// greatest gap between two of them (the first counts from 0 s), and number at most one per span; rate times
        /// time gives the count.
        #[test]
        fn thinned_marks_add_up_and_keep_the_extremes(gaps in bursts(), spacing in 1..3_000_000_u64) {
            let mut points = Points::new(Duration::from_nanos(spacing), &[Duration::from_millis(10)], 2, &Budget::default());
            let mut marks: Vec<(u64, usize, u8)> = Vec::new();
            let mut now = 0;
            for (gap, queue, code) in gaps {
                now += gap;
                points.mark(Time::from_nanos(now), queue, 7, kind(code));
                marks.push((now, queue, code));
            }
            points.end_spans();
            let rows = points.marks.by_time();
            prop_assert!(rows.time_s.is_sorted());
            for (queue, code) in (0..2).flat_map(|queue| (0..3).map(move |code| (queue, code))) {
                let mine = |q: u32, k: u8| (q as usize, k) == (queue, code);
                let times: Vec<u64> = marks.iter().filter(|m| (m.1, m.2) == (queue, code)).map(|m| m.0).collect();
                let gaps: Vec<u64> = times.iter().zip([0].iter().chain(&times)).map(|(b, a)| b - a).collect();
                let chosen: Vec<usize> = (0..rows.time_s.len()).filter(|i| mine(rows.queue[*i], rows.kind[*i])).collect();
                let count: u64 = chosen.iter().map(|i| rows.count[*i]).sum();
                prop_assert_eq!(count, times.len() as u64);
                let mut spans: Vec<u64> = times.iter().map(|t| t / spacing).collect();
                spans.dedup();
                prop_assert_eq!(chosen.len(), spans.len());
                if times.is_empty() {
                    continue;
                }
                let least = chosen.iter().map(|i| rows.gap_min_ms[*i]).fold(f64::INFINITY, f64::min);
                let greatest = chosen.iter().map(|i| rows.gap_max_ms[*i]).fold(0.0, f64::max);
                let ms = |ns: Option<&u64>| Duration::from_nanos(*ns.unwrap_or(&0)).as_millis_f64();
                prop_assert_eq!((least, greatest), (ms(gaps.iter().min()), ms(gaps.iter().max())));
                // Each row holds the rate since the row before it.
                let mut before = 0.0;
                for i in chosen {
                    let elapsed = rows.time_s[i] - before;
                    before = rows.time_s[i];
                    if rows.hz[i].is_nan() {
                        prop_assert!(rows.time_s[i] <= 0.0);
                    } else {
                        prop_assert!((rows.hz[i] * elapsed - rows.count[i] as f64).abs() < 1e-5 * rows.count[i] as f64 + 1e-6 * rows.hz[i]);
                    }
                }
            }
        }
    }
}
