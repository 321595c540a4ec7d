//! The record of a flow: per interval, and per segment between window edges.

use std::mem::offset_of;

use windtunnel_cc::ExitReason;
use windtunnel_prefetch::prefetch_first;
use windtunnel_tcp::Limited;
use windtunnel_units::{Bytes, Duration, Time};

use super::columns::columns;
use super::digest::Digest;
use super::flow_info::FlowInfo;
use super::flow_sums::{FlowSums, Losses};
use super::histogram::Pages;
use super::messages::{DatagramTotals, TransferTotals};
use crate::endpoint::{Counted, Counters};
use crate::result::{
    ActiveSummary, CwndSummary, FlowSummary, FrameSummary, LimitSummary, SenderSummary, SizeClassSummary,
    SlowStartExit,
};

columns! {
    /// One row per interval and flow.
    pub(crate) struct FlowColumns as "flows" {
        time_s: F64(f64),
        flow: U32(u32),
        throughput_mbps: F64(f64),
        goodput_mbps: F64(f64),
        cwnd_bytes: F64(f64),
        cwnd_mean_bytes: F64(f64),
        cwnd_min_bytes: F64(f64),
        cwnd_max_bytes: F64(f64),
        rtt_ms: F64(f64),
        rtt_mean_ms: F64(f64),
        rtt_min_ms: F64(f64),
        rtt_max_ms: F64(f64),
        srtt_ms: F64(f64),
        in_flight_bytes: F64(f64),
        ce: U64(u64),
        sce: U64(u64),
        cwnd_limited: F64(f64),
        sent: U64(u64),
        retransmits: U64(u64),
        rtos: U64(u64),
        lost: U64(u64),
        acks_lost: U64(u64),
        delivered_bytes: U64(u64),
    }
}

/// Round trips are distinguished to about a microsecond (2^10 ns).
const RTT_UNIT: u32 = 10;

/// Totals over a segment of the run.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct FlowTotals {
    /// Precise to 0.4 %: each flow has its own histogram, and those of a thousand should stay in the cache.
    rtt: Pages<8>,
    sums: FlowSums,
    /// None while the segment runs.
    counters: Option<Box<Counters>>,
    transfers: Option<Box<TransferTotals>>,
    datagrams: Option<Box<DatagramTotals>>,
}

impl FlowTotals {
    /// Its memory with round trips from `shortest` to `longest`.
    pub(crate) fn memory(shortest: Duration, longest: Duration) -> Bytes {
        Bytes::new(size_of::<FlowTotals>() as u64) + Pages::<8>::memory(RTT_UNIT, shortest, longest)
    }

    pub(crate) fn new() -> FlowTotals {
        FlowTotals {
            sums: FlowSums::NONE,
            rtt: Pages::new(RTT_UNIT),
            counters: None,
            transfers: None,
            datagrams: None,
        }
    }

    pub(crate) fn merge(&mut self, other: &FlowTotals) {
        self.sums.merge(&other.sums);
        self.rtt.merge(&other.rtt);
        if let Some(counters) = &other.counters {
            **self.counters.get_or_insert_default() += **counters;
        }
        if let Some(transfers) = &other.transfers {
            self.transfers().merge(transfers);
        }
        if let Some(datagrams) = &other.datagrams {
            self.datagrams().merge(datagrams);
        }
    }

    /// Messages that its application wrote.
    pub(super) fn messages(&self) -> u64 {
        self.counters.as_ref().map_or(0, |counters| counters.messages)
    }

    pub(super) fn transfers(&mut self) -> &mut TransferTotals {
        self.transfers.get_or_insert_with(|| Box::new(TransferTotals::new()))
    }

    pub(super) fn datagrams(&mut self) -> &mut DatagramTotals {
        self.datagrams.get_or_insert_with(|| Box::new(DatagramTotals::new()))
    }
}

/// The recorder of one flow. What each packet changes comes first, up to the first part of the totals, in four cache lines:
/// with many flows, every line counts.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct FlowRecorder {
    in_slow_start: bool,
    /// It has one congestion window. Datagrams have none, and a flow that stands for many connections has several.
    has_window: bool,
    cwnd: Bytes,
    cwnd_since: Time,
    /// The last sample; the longest time there is without one.
    rtt: Duration,
    srtt: Duration,
    in_flight: Bytes,
    /// Never, if that has not happened: when it was started, and when its first packet was received.
    started: Time,
    first_received: Time,
    last_received: Time,
    last_delivered: Time,
    pub(super) digest: Digest,
    slow_start_exit: Option<Box<(Time, Bytes, ExitReason)>>,
    pub(crate) sums: FlowSums,
    /// The totals of the current segment.
    pub(super) totals: FlowTotals,
    /// The sender's counts at the start of the interval, and at that of the segment, if they are not zero.
    counted: Counters,
    counted_before: Option<Box<Counters>>,
}

/// What each packet changes of it.
const HOT: usize = 256;

const _: () = assert!(offset_of!(FlowRecorder, totals) + size_of::<Pages<8>>() <= HOT);
const _: () = assert!(size_of::<FlowRecorder>() == 576);

/// The state of a sender that has a window, after an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowState {
    /// The round-trip time sampled, if the ACK gave one.
    pub(crate) rtt: Option<Duration>,
    pub(crate) srtt: Duration,
    pub(crate) cwnd: Bytes,
    pub(crate) in_flight: Bytes,
    pub(crate) cwnd_limited: bool,
    pub(crate) slow_start: bool,
}

impl FlowRecorder {
    /// Asks for what each packet changes.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch_first(self, HOT);
    }

    /// Asks for what that points to.
    #[inline]
    pub(super) fn prefetch_details(&self) {
        self.totals.rtt.prefetch();
    }

    /// The recorder of a flow that starts with the window `cwnd`, if it has one.
    pub(crate) fn new(cwnd: Option<Bytes>) -> FlowRecorder {
        let has_window = cwnd.is_some();
        let cwnd = cwnd.unwrap_or_default();
        FlowRecorder {
            digest: Digest::new(),
            sums: FlowSums::new(cwnd),
            totals: FlowTotals::new(),
            counted: Counters::default(),
            counted_before: None,
            has_window,
            cwnd,
            cwnd_since: Time::ZERO,
            rtt: Duration::MAX,
            srtt: Duration::ZERO,
            in_flight: Bytes::ZERO,
            started: Time::NEVER,
            first_received: Time::NEVER,
            last_received: Time::ZERO,
            last_delivered: Time::ZERO,
            slow_start_exit: None,
            in_slow_start: true,
        }
    }

    /// A new recorder of the same flow.
    pub(super) fn twin(&self) -> FlowRecorder {
        FlowRecorder::new(self.has_window.then_some(self.cwnd))
    }

    /// Other packets of the flow were lost elsewhere.
    pub(super) fn lost_elsewhere(&mut self, other: &mut FlowRecorder) {
        if let Some(losses) = other.sums.losses.take() {
            self.sums.losses().add(&losses);
        }
    }

    /// The flow was started, perhaps again.
    pub(super) fn start(&mut self, now: Time) {
        self.started = self.started.min(now);
    }

    /// The part of `from..to` in which it was active: from its start to the last delivery of data, which a FIN may follow.
    /// Empty if there is none.
    fn active(&self, (from, to): (Time, Time)) -> (Time, Time) {
        let start = self.started.clamp(from, to);
        (start, self.last_delivered.clamp(start, to))
    }

    #[inline]
    pub(crate) fn received(&mut self, now: Time, size: Bytes, payload: Bytes) {
        self.sums.received += size;
        self.sums.payload += payload;
        if self.first_received > now {
            self.first_received = now;
        }
        self.last_received = now;
        if payload > Bytes::ZERO {
            self.last_delivered = now;
        }
    }

    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub(crate) fn acknowledged(&mut self, now: Time, s: WindowState) {
        let sums = &mut self.sums;
        sums.acks += 1;
        sums.limited += u64::from(s.cwnd_limited);
        if let Some(rtt) = s.rtt {
            self.sample(rtt);
        }
        self.srtt = s.srtt;
        self.in_flight = s.in_flight;
        self.window(now, s.cwnd);
    }

    /// The congestion window, after an ACK or a timer. Returns true if it changed.
    #[inline]
    pub(super) fn window(&mut self, now: Time, cwnd: Bytes) -> bool {
        let changed = cwnd != self.cwnd;
        if changed {
            self.integrate(now);
            self.cwnd = cwnd;
            self.sums.cwnd_min = self.sums.cwnd_min.min(cwnd);
            self.sums.cwnd_max = self.sums.cwnd_max.max(cwnd);
        }
        changed
    }

    /// A round-trip time was sampled.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub(super) fn sample(&mut self, rtt: Duration) {
        self.sums.rtt.add(rtt);
        self.totals.rtt.record(rtt);
        self.rtt = rtt;
    }

    /// True until the flow has left slow start for the first time.
    #[inline]
    pub(crate) const fn in_slow_start(&self) -> bool {
        self.in_slow_start
    }

    /// True if the flow has just left slow start: tell [`FlowRecorder::left_slow_start`] why.
    #[inline]
    pub(crate) fn leaves_slow_start(&self, slow_start: bool) -> bool {
        self.in_slow_start && !slow_start
    }

    pub(crate) fn left_slow_start(&mut self, now: Time, cwnd: Bytes, reason: ExitReason) {
        self.in_slow_start = false;
        self.slow_start_exit = Some(Box::new((now, cwnd, reason)));
    }

    fn integrate(&mut self, now: Time) {
        self.sums.cwnd_area +=
            u128::from(self.cwnd.get()) * u128::from(now.since(self.cwnd_since).as_nanos());
        self.cwnd_since = now;
    }

    /// Ends an interval of length `span`: writes its row and adds it to the totals.
    #[inline]
    pub(crate) fn end_interval(
        &mut self,
        now: Time,
        span: Duration,
        index: usize,
        counters: Option<&Counters>,
        rows: &mut FlowColumns,
    ) {
        self.integrate(now);
        // Loss-free senders count nothing.
        let mut counted = Counters::default();
        if let Some(total) = counters {
            counted = *total - std::mem::replace(&mut self.counted, *total);
        }
        if rows.has_room(1) {
            self.push_row(now, span, index, &counted, rows);
        }
        self.totals.sums.merge(&self.sums);
        // The same place, with nothing lost: a flow that loses packets does so again.
        let mut losses = self.sums.losses.take();
        if let Some(losses) = &mut losses {
            **losses = Losses::default();
        }
        self.sums = FlowSums { losses, ..FlowSums::new(self.cwnd) };
    }

    /// The row of an interval of length `span`.
    #[inline]
    fn push_row(&self, now: Time, span: Duration, index: usize, counted: &Counters, rows: &mut FlowColumns) {
        let sums = &self.sums;
        let of_window = |value: f64| if self.has_window { value } else { f64::NAN };
        rows.time_s.push(now.as_secs_f64());
        rows.flow.push(index as u32);
        rows.throughput_mbps.push(mbps(sums.received, span));
        rows.goodput_mbps.push(mbps(sums.payload, span));
        rows.cwnd_bytes.push(of_window(self.cwnd.as_f64()));
        rows.cwnd_mean_bytes.push(of_window(sums.cwnd_mean(span)));
        rows.cwnd_min_bytes.push(of_window(sums.cwnd_min.as_f64()));
        rows.cwnd_max_bytes.push(of_window(sums.cwnd_max.as_f64()));
        let of_sample =
            |time: Duration| if self.rtt < Duration::MAX { time.as_millis_f64() } else { f64::NAN };
        rows.rtt_ms.push(of_sample(self.rtt));
        rows.rtt_mean_ms.push(sums.rtt.mean_ms());
        rows.rtt_min_ms.push(sums.rtt.min_ms());
        rows.rtt_max_ms.push(sums.rtt.max_ms());
        rows.srtt_ms.push(of_window(of_sample(self.srtt)));
        rows.in_flight_bytes.push(of_window(self.in_flight.as_f64()));
        rows.ce.push(sums.ce);
        rows.sce.push(sums.sce);
        rows.cwnd_limited.push(sums.limited as f64 / sums.acks as f64);
        rows.sent.push(counted.sent);
        rows.retransmits.push(counted.retransmits);
        rows.rtos.push(counted.rtos);
        rows.lost.push(sums.losses.as_ref().map_or(0, |losses| losses.drops.total()));
        rows.acks_lost.push(sums.losses.as_ref().map_or(0, |losses| losses.ack_drops.total()));
        rows.delivered_bytes.push(counted.delivered.get());
    }

    /// Ends a segment, perhaps the last one: returns its totals.
    pub(crate) fn take_totals(&mut self, last: bool) -> FlowTotals {
        let before = self.counted_before.as_deref().copied().unwrap_or_default();
        if self.counted != before {
            self.totals.counters = Some(Box::new(self.counted - before));
            self.counted_before = (!last).then(|| Box::new(self.counted));
        }
        std::mem::replace(&mut self.totals, FlowTotals::new())
    }

    /// The summary of `totals`, gathered over a part of the run, with the transfers by size and the frames.
    pub(super) fn summary(
        &self,
        totals: &FlowTotals,
        (from, to): (Time, Time),
        info: &FlowInfo,
        by_size: Vec<SizeClassSummary>,
        frames: Option<FrameSummary>,
    ) -> FlowSummary {
        let span = to.since(from);
        let received = self.first_received < Time::NEVER;
        let (start, last) = self.active((from, to));
        let sums = if totals.sums.is_none() { FlowSums::new(self.cwnd) } else { totals.sums.clone() };
        let losses = sums.losses.as_deref().copied().unwrap_or_default();
        let counters = &totals.counters.as_deref().copied().unwrap_or_default();
        let FlowInfo { name, kind: info } = info;
        FlowSummary {
            name: name.clone(),
            cc: info.cc_name.to_string(),
            application: info.application,
            path_rtt_ms: info.base_rtt.as_millis_f64(),
            throughput_mbps: mbps(sums.received, span),
            goodput_mbps: mbps(sums.payload, span),
            received_bytes: sums.received.get(),
            active: (last > start).then(|| ActiveSummary {
                from_s: start.as_secs_f64(),
                to_s: last.as_secs_f64(),
                throughput_mbps: mbps(sums.received, last.since(start)),
                goodput_mbps: mbps(sums.payload, last.since(start)),
            }),
            first_packet_s: received.then(|| self.first_received.as_secs_f64()),
            last_packet_s: received.then(|| self.last_received.as_secs_f64()),
            cwnd_bytes: self.has_window.then(|| CwndSummary {
                mean: sums.cwnd_mean(span),
                min: sums.cwnd_min.get(),
                max: sums.cwnd_max.get(),
            }),
            rtt_ms: totals.rtt.percentiles(&sums.rtt),
            sender: sender(counters, info.counted),
            drops: losses.drops,
            ack_drops: losses.ack_drops,
            corrupted: losses.corrupted,
            limited: LimitSummary::of(&while_active(counters.limited, start.since(from) + to.since(last))),
            ce_marks: sums.ce,
            sce_marks: sums.sce,
            cwnd_limited: (sums.acks > 0).then(|| sums.limited as f64 / sums.acks as f64),
            slow_start_exit: self.slow_start_exit.as_deref().map(|(t, cwnd, reason)| SlowStartExit {
                t_s: t.as_secs_f64(),
                cwnd_bytes: cwnd.get(),
                reason: reason.name(),
            }),
            transfers: match &totals.transfers {
                Some(transfers) => Some(transfers.summary(counters.messages, by_size)),
                // Some were written, and none is complete yet.
                None => {
                    (counters.messages > 0).then(|| TransferTotals::new().summary(counters.messages, by_size))
                }
            },
            frames,
            datagrams: info.datagrams.then(|| match &totals.datagrams {
                Some(datagrams) => datagrams.summary(counters.sent),
                None => DatagramTotals::new().summary(counters.sent),
            }),
        }
    }
}

/// What a sender counted, without what it does not count.
fn sender(counters: &Counters, counted: Counted) -> SenderSummary {
    SenderSummary {
        sent: counted.then(Counted::SENT, counters.sent),
        delivered_bytes: counted.then(Counted::DELIVERED, counters.delivered.get()),
        retransmits: counted.then(Counted::RETRANSMITS, counters.retransmits),
        loss_episodes: counted.then(Counted::LOSS_EPISODES, counters.loss_episodes),
        rtos: counted.then(Counted::RTOS, counters.rtos),
        spurious_rtos: counted.then(Counted::SPURIOUS_RTOS, counters.spurious_rtos),
        tlps: counted.then(Counted::TLPS, counters.tlps),
        undos: counted.then(Counted::UNDOS, counters.undos),
        ecn_reductions: counted.then(Counted::ECN_REDUCTIONS, counters.ecn_reductions),
        skips: counted.then(Counted::SKIPS, counters.skips.into()),
        exposed: counted.then(Counted::EXPOSED, counters.exposed.into()),
        nonce_fail: counted.then(Counted::NONCE_FAIL, counters.nonce_fail),
    }
}

/// The times under each limit without those before the start and after the last delivery, `idle`, in which the application
/// had nothing to send.
fn while_active(mut limited: [Duration; Limited::COUNT], idle: Duration) -> [Duration; Limited::COUNT] {
    let application = &mut limited[Limited::Application as usize];
    *application = application.saturating_sub(idle);
    limited
}

/// The mean rate in Mbit/s.
pub(crate) fn mbps(amount: Bytes, span: Duration) -> f64 {
    amount.bits() as f64 / span.as_nanos() as f64 * 1e3
}
