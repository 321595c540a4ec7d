//! A controller of windtunnel's inside a QUIC stack, whichever stack it is.
//!
//! A stack tells its controller of each packet sent and acknowledged, and of the newest of the packets lost. This is
//! what a TCP sender here tells its controller of, but for two things that stand here: the delivery-rate sampler, and
//! the rule that one reduction answers all losses of a round (RFC 9002 section 7.3.2: packets sent before the start of
//! a recovery period belong to it). Controllers count bytes of packets, which stand for TCP's sequence numbers.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use windtunnel_cc::rate_sample::{RateSampler, Snapshot};
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, ControllerParams, ExitReason, FlowInit, LossFinder,
    LostSegment, Needs, Pacing, PathView, SentSegment, Trigger,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use crate::marks::Marks;

/// The headers of IPv4 and UDP.
pub const HEADERS: Bytes = Bytes::new(28);

/// The largest initial window in bytes that RFC 9002 section 7.2 recommends, unless ten packets are less.
const LARGEST_INITIAL_WINDOW: u64 = 14_720;

/// For how many round trips departures are remembered.
const REMEMBERED_ROUND_TRIPS: u64 = 4;

/// The packets that left at one instant.
#[derive(Clone, Copy, Debug)]
struct Departed {
    at: Time,
    /// Their end in the sequence of all bytes sent.
    end: Seq,
    snapshot: Snapshot,
}

/// What the packets of one ACK were.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    bytes: Bytes,
    /// When the newest of them was sent.
    newest: Option<Time>,
    app_limited: bool,
}

/// A controller, with what its sender does for it.
///
/// Calls are those of a QUIC stack: [`on_sent`] for each packet; for an ACK, [`on_acked`] for each packet that it newly
/// acknowledges, and then [`on_ack_end`]; [`on_congestion`] whenever losses or marks are found. Only packets that count
/// as in flight are told of (RFC 9002 section 2).
///
/// [`on_sent`]: Hosted::on_sent
/// [`on_acked`]: Hosted::on_acked
/// [`on_congestion`]: Hosted::on_congestion
/// [`on_ack_end`]: Hosted::on_ack_end
pub struct Hosted {
    cc: Box<dyn CongestionControl>,
    params: Arc<dyn ControllerParams>,
    seed: u64,
    needs: Needs,
    /// Counts of marks, if it hears them.
    marks: Option<Marks>,
    /// The controller's time 0. Packets that left before are none of its path's.
    start: Instant,
    /// When the last call was.
    now: Instant,
    mss: Bytes,
    initial_window: Bytes,
    sampler: RateSampler,
    departed: VecDeque<Departed>,
    /// The end of the newest packets acknowledged: what a cumulative ACK is to TCP.
    una: Seq,
    nxt: Seq,
    in_flight: Bytes,
    last_sent: Option<Time>,
    srtt: Duration,
    min_rtt: Duration,
    acked: Acked,
    newly_lost: Bytes,
    /// When the last recovery period started, and what for. Losses of packets sent before belong to it, even if they are
    /// found after its end.
    recovery: Option<(Time, Trigger)>,
    is_recovering: bool,
    is_established: bool,
    is_cwnd_limited: bool,
}

impl fmt::Debug for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hosted").field(&self.cc).finish()
    }
}

impl Hosted {
    /// The controller of a connection that starts at `start`, with packets of `mss` bytes of UDP payload. Its random
    /// numbers come from `seed`.
    pub fn new(params: Arc<dyn ControllerParams>, start: Instant, mss: u16, seed: u64) -> Hosted {
        let mss = Bytes::new(u64::from(mss));
        let initial_window = (mss * 10).min((mss * 2).max(Bytes::new(LARGEST_INITIAL_WINDOW)));
        Hosted::with_initial_window(initial_window, params, start, mss, seed)
    }

    /// The same with an initial window that is not that of RFC 9002.
    pub fn with_initial_window(
        initial_window: Bytes,
        params: Arc<dyn ControllerParams>,
        start: Instant,
        mss: Bytes,
        seed: u64,
    ) -> Hosted {
        let init =
            FlowInit { mtu: mss + HEADERS, iw: initial_window, paced: true, seed, ..FlowInit::new(mss) };
        let cc = params.build(init);
        Hosted {
            needs: cc.needs(),
            sampler: RateSampler::new(cc.needs().rate_samples),
            cc,
            params,
            seed,
            marks: None,
            start,
            now: start,
            mss,
            initial_window,
            departed: VecDeque::new(),
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA,
            in_flight: Bytes::ZERO,
            last_sent: None,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            acked: Acked::default(),
            newly_lost: Bytes::ZERO,
            recovery: None,
            is_recovering: false,
            is_established: false,
            is_cwnd_limited: false,
        }
    }

    /// The same controller, which hears `marks`: the finest feedback that it uses, such as counts of CE or SCE. Without them
    /// it hears what a stack tells, which is classic feedback.
    #[must_use]
    pub fn hearing(mut self, marks: Marks) -> Hosted {
        self.cc.on_negotiated(self.needs.feedback);
        self.needs = self.cc.needs();
        self.marks = Some(marks);
        self
    }

    /// The controller for a new path of the connection, which starts at the last call: a fresh one with the same
    /// parameters (RFC 9000 section 9.4).
    #[must_use]
    pub fn on_new_path(&self) -> Hosted {
        let mss = self.mss.get().try_into().unwrap_or(u16::MAX);
        let fresh = Hosted::new(Arc::clone(&self.params), self.now, mss, self.seed);
        match &self.marks {
            Some(marks) => fresh.hearing(marks.clone()),
            None => fresh,
        }
    }

    /// The controller's time at `instant`.
    fn time(&self, instant: Instant) -> Time {
        Time::ZERO + instant.saturating_duration_since(self.start).into()
    }

    /// A call at `now`.
    fn advance(&mut self, now: Instant) -> Time {
        self.now = now;
        self.time(now)
    }

    fn path(&self, now: Time) -> PathView {
        PathView {
            now,
            mss: self.mss,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            in_flight: self.in_flight,
            una: self.una,
            nxt: self.nxt,
        }
    }

    /// A packet leaves.
    pub fn on_sent(&mut self, now: Instant, bytes: u64) {
        let (now, bytes) = (self.advance(now), Bytes::new(bytes));
        if self.in_flight == Bytes::ZERO {
            let idle = self.last_sent.map(|last| now.since(last)).unwrap_or_default();
            self.cc.on_tx_start(idle, &self.path(now));
        }
        let snapshot = self.sampler.on_sent(now, bytes, self.in_flight);
        let seq = self.nxt;
        self.nxt = self.nxt + bytes;
        self.in_flight += bytes;
        self.last_sent = Some(now);
        let departed = Departed { at: now, end: self.nxt, snapshot };
        match self.departed.back_mut() {
            Some(last) if last.at == now => *last = departed,
            _ => self.departed.push_back(departed),
        }
        if self.needs.departures {
            let sent = SentSegment { seq, payload: bytes, retransmission: false };
            self.cc.on_sent(&sent, &self.path(now));
        }
    }

    /// The window kept the stack from sending more.
    pub fn on_cwnd_limited(&mut self) {
        self.is_cwnd_limited = true;
    }

    /// A packet of `bytes` that left at `sent` is acknowledged. `srtt` and `min_rtt` are the stack's, with this ACK.
    /// `app_limited`: the connection had no data to send before it.
    pub fn on_acked(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        [srtt, min_rtt]: [std::time::Duration; 2],
    ) {
        self.now = now;
        if sent < self.start {
            return;
        }
        let (sent, bytes) = (self.time(sent), Bytes::new(bytes));
        (self.srtt, self.min_rtt) = (srtt.into(), min_rtt.into());
        self.acked.bytes += bytes;
        self.acked.newest = self.acked.newest.max(Some(sent));
        self.acked.app_limited = app_limited;
        if let Some(departed) = self.departed_at(sent) {
            self.una = self.una.max(departed.end);
            self.sampler.on_delivered(sent, departed.end, &departed.snapshot);
        }
    }

    /// The packets that left at `sent`, if that is not too long ago.
    fn departed_at(&self, sent: Time) -> Option<Departed> {
        let index = self.departed.binary_search_by(|departed| departed.at.cmp(&sent)).ok()?;
        Some(self.departed[index])
    }

    /// All packets of an ACK were reported; `in_flight` bytes are left.
    pub fn on_ack_end(&mut self, now: Instant, in_flight: u64) {
        let (now, acked) = (self.advance(now), std::mem::take(&mut self.acked));
        let prior_in_flight = self.in_flight;
        self.in_flight = Bytes::new(in_flight);
        let Some(newest) = acked.newest else { return };
        if acked.app_limited {
            self.sampler.on_app_limited(self.in_flight);
        }
        let sample = self.sampler.finish(now, acked.bytes, self.min_rtt);
        // What left long before is acknowledged or lost; a packet that arrives even later gives no sample.
        let forgotten = self.srtt * REMEMBERED_ROUND_TRIPS;
        while self.departed.front().is_some_and(|first| first.at + forgotten < newest) {
            self.departed.pop_front();
        }
        let path = self.path(now);
        if !std::mem::replace(&mut self.is_established, true) {
            self.cc.on_established(&path);
        }
        if self.is_recovering && self.recovery.is_none_or(|(start, _)| newest > start) {
            self.is_recovering = false;
            self.cc.on_recovered(&path);
        }
        let ack = AckSample {
            acked: acked.bytes,
            newly_delivered: acked.bytes,
            may_raise: !self.is_recovering,
            growth_barred: self.is_recovering || acked.app_limited,
            window_unused: acked.app_limited,
            newly_lost: std::mem::take(&mut self.newly_lost),
            delivered: self.sampler.delivered(),
            lost: self.sampler.lost(),
            prior_in_flight,
            next_departure: now,
            rtt: Some(now.since(newest)),
            rate: sample.rate,
            ecn: self.marks.as_ref().map(Marks::take).unwrap_or_default(),
            round_start: sample.round_start,
            app_limited: acked.app_limited,
            cwnd_limited: std::mem::take(&mut self.is_cwnd_limited) || !acked.app_limited,
            ..AckSample::default()
        };
        self.cc.on_ack(&ack, &path);
        if self.needs.own_reductions && self.cc.asks_reduction() {
            self.reduce(Trigger::Controller, Bytes::ZERO, now);
        }
    }

    /// `lost` bytes of packets are lost, or some were marked if `lost` is 0: the newest of them left at `sent`.
    /// `is_persistent`: the congestion is persistent (RFC 9002 section 7.6).
    pub fn on_congestion(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost: u64) {
        let now = self.advance(now);
        if sent < self.start {
            return;
        }
        let (sent, lost) = (self.time(sent), Bytes::new(lost));
        self.newly_lost += lost;
        self.in_flight = self.in_flight.saturating_sub(lost);
        self.sampler.on_lost(lost);
        self.report(sent, lost, now);
        let trigger = if lost == Bytes::ZERO { Trigger::Ce } else { Trigger::Loss };
        if is_persistent {
            (self.recovery, self.is_recovering) = (Some((now, trigger)), true);
            self.cc.on_rto(true, &self.path(now));
        } else if self.starts_recovery(sent, trigger) {
            self.reduce(trigger, lost, now);
        }
    }

    /// Whether what happened to a packet that left at `sent` belongs to no recovery period. Controllers that answer CE in
    /// proportion hear of a loss in such an answer's period too.
    fn starts_recovery(&self, sent: Time, trigger: Trigger) -> bool {
        self.recovery.is_none_or(|(start, by)| {
            let after_ce = trigger == Trigger::Loss && by == Trigger::Ce;
            sent > start || (after_ce && self.needs.loss_after_ce)
        })
    }

    /// Reports lost bytes to a controller that asks for such reports.
    fn report(&mut self, sent: Time, lost: Bytes, now: Time) {
        let departed = if lost > Bytes::ZERO { self.departed_at(sent) } else { None };
        if let Some(departed) = departed.filter(|_| self.needs.loss_reports) {
            let segment = LostSegment {
                seq: departed.end,
                payload: lost,
                departure: departed.snapshot.departure(sent, self.sampler.lost()),
                lost: self.sampler.lost(),
                found_by: LossFinder::Ack,
            };
            self.cc.on_lost(&segment, &self.path(now));
        }
    }

    /// Starts a recovery period, if the controller answers.
    fn reduce(&mut self, trigger: Trigger, lost: Bytes, now: Time) {
        let event = CongestionEvent { trigger, window: self.cc.cwnd(), lost, rtt: None };
        if self.cc.on_congestion(&event, &self.path(now)) {
            (self.recovery, self.is_recovering) = (Some((now, trigger)), true);
        }
    }

    /// The last ACK shows that the packets whose loss started the recovery period have arrived after all.
    pub fn on_spurious(&mut self) {
        let path = self.path(self.time(self.now));
        self.cc.on_undo(&path);
        self.recovery = None;
        if std::mem::take(&mut self.is_recovering) {
            self.cc.on_recovered(&path);
        }
    }

    /// Packets may have `mss` bytes of UDP payload from now on.
    pub fn on_mtu(&mut self, mss: u16) {
        self.mss = Bytes::new(u64::from(mss));
    }

    /// The named numbers of the controller.
    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.cc.probe(out);
    }

    /// The congestion window in bytes.
    pub fn window(&self) -> u64 {
        self.cc.cwnd().get()
    }

    /// The initial window in bytes (RFC 9002 section 7.2).
    pub fn initial_window(&self) -> u64 {
        self.initial_window.get()
    }

    /// The slow-start threshold in bytes, once there is one.
    pub fn ssthresh(&self) -> Option<u64> {
        Some(self.cc.control().ssthresh).filter(|ssthresh| *ssthresh < Bytes::MAX).map(Bytes::get)
    }

    /// Why slow start ended; none while it lasts.
    pub fn slow_start_exit(&self) -> Option<ExitReason> {
        self.cc.slow_start_exit()
    }

    /// The pacing rate in bytes per second, if the controller sets it.
    pub fn pacing_rate(&self) -> Option<u64> {
        match self.cc.pacing() {
            Pacing::Rate(rate) if rate > Rate::ZERO => Some(rate.bits_per_sec() / 8),
            _ => None,
        }
    }
}
