//! The parts of BBR's state, each with the names of draft-ietf-ccwg-bbr and the sections of -06 that define it.
//!
//! Amounts are bytes and rates bytes per second, both real numbers; a bound that does not exist is infinite.

use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::super::max_filter::MaxFilter;
use super::controller::Mode;
use crate::sample::{LostSegment, RateSample};
use crate::state::CaState;

/// The bandwidth grows if it does by a quarter; three rounds without are a plateau (section 5.3.1.2).
const GROWTH: f64 = 1.25;
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// How long the least round trip counts (`MinRTTFilterLen`).
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
/// How long there may be no lower one before `ProbeRTT`, where that has a clock of its own (`ProbeRTTInterval` of -06).
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// The most rounds for which the increase of a probe doubles (section 5.3.3.9).
pub(super) const MOST_DOUBLINGS: u32 = 30;

/// Returns the delivery rate of a sample in bytes per second.
pub(super) fn delivery_rate(sample: &RateSample) -> f64 {
    sample.rate.bits_per_sec() as f64 / 8.0
}

/// Packet-timed round trips (sections 2.7 and 5.5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// `round_count`.
    pub(super) count: u64,
    /// `round_start`: the ACK advanced the count.
    pub(super) start: bool,
    /// `next_round_delivered`.
    next_delivered: Bytes,
}

impl Round {
    /// `UpdateRound`, with a segment that left when `departed` had been delivered.
    pub(super) fn update(&mut self, departed: Bytes, delivered: Bytes) {
        self.start = departed >= self.next_delivered;
        if self.start {
            self.start(delivered);
            self.count += 1;
        }
    }

    /// `StartRound`: a round starts with the next segment.
    pub(super) fn start(&mut self, delivered: Bytes) {
        self.next_delivered = delivered;
    }
}

/// The maximum of the delivery rate over this cycle of `ProbeBW` and the one before (sections 2.11 and 5.5.2 to 5.5.6).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxBw {
    this_cycle: f64,
    last_cycle: f64,
    /// Of the cycle before that, if it counts too.
    one_before: f64,
    has_three_cycles: bool,
}

impl MaxBw {
    /// `max_bw`.
    pub(super) fn get(&self) -> f64 {
        self.this_cycle.max(self.last_cycle).max(self.one_before)
    }

    /// A filter over this cycle and one or two before.
    pub(super) fn new(has_three_cycles: bool) -> MaxBw {
        MaxBw { has_three_cycles, ..MaxBw::default() }
    }

    /// `UpdateMaxBw`. A sample that the application limited says only that there is as much.
    pub(super) fn update(&mut self, rate: f64, app_limited: bool) {
        if rate >= self.get() || !app_limited {
            self.this_cycle = self.this_cycle.max(rate);
        }
    }

    /// `AdvanceMaxBwFilter`; a cycle without a sample does not count.
    pub(super) fn advance(&mut self) {
        if self.this_cycle > 0.0 {
            let one_before = if self.has_three_cycles { self.last_cycle } else { 0.0 };
            *self = MaxBw { this_cycle: 0.0, last_cycle: self.this_cycle, one_before, ..*self };
        }
    }
}

/// What limits the model (section 2.9).
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The bandwidth, and what may be in flight, until the next probe.
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    /// What may be in flight in the long term.
    pub(super) inflight_longterm: f64,
}

impl Bounds {
    pub(super) const NONE: Bounds = Bounds {
        bw_shortterm: f64::INFINITY,
        inflight_shortterm: f64::INFINITY,
        inflight_longterm: f64::INFINITY,
    };

    /// `ResetShortTermModel` (section 5.5.10.3).
    pub(super) fn reset_short_term(&mut self) {
        *self = Bounds { inflight_longterm: self.inflight_longterm, ..Bounds::NONE };
    }

    /// The bounds return to where they were before losses that were none (section 5.5.11).
    pub(super) fn restore(&mut self, before: Bounds) {
        self.bw_shortterm = self.bw_shortterm.max(before.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(before.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(before.inflight_longterm);
    }
}

/// What returns if the losses were none (sections 2.15 and 5.2.5).
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// The bounds before them.
    pub(super) bounds: Bounds,
    /// `undo_state`: the mode that they ended.
    pub(super) state: Option<Mode>,
}

/// The losses that were found since the last ACK's work was done, with regard to what is saved: a recovery that they start saves
/// the state before the first of them (`OnEnterFastRecovery`, `OnEnterRTO`), and the first of a round saves it anew (`NoteLoss`).
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    None,
    /// All belong to a round in which losses were found before; the state before the first of these.
    InOldRound(Undo),
    /// One of them was the first of its round.
    InNewRound,
}

/// Delivery and loss in the present loss round (sections 2.10 and 5.5.10).
#[derive(Clone, Copy, Debug)]
pub(super) struct CongestionSignals {
    /// The largest delivery rate and delivered amount of the round.
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: f64,
    pub(super) loss_round_delivered: Bytes,
    pub(super) loss_round_start: bool,
    /// `is_loss_in_round` (section 2.14).
    pub(super) is_loss_in_round: bool,
    /// Lost ranges in this round, and the end of the last one (section 5.3.1.3).
    pub(super) lost_ranges: u32,
    lost_until: Seq,
}

impl CongestionSignals {
    pub(super) const NONE: CongestionSignals = CongestionSignals {
        bw_latest: 0.0,
        inflight_latest: 0.0,
        loss_round_delivered: Bytes::ZERO,
        loss_round_start: false,
        is_loss_in_round: false,
        lost_ranges: 0,
        lost_until: Seq::SYN,
    };

    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest(&mut self, sample: &RateSample, delivered: Bytes) {
        self.bw_latest = self.bw_latest.max(delivery_rate(sample));
        self.inflight_latest = self.inflight_latest.max(sample.delivered.as_f64());
        self.loss_round_start = sample.departure.delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`: those of the next loss round start with this sample.
    pub(super) fn advance_latest(&mut self, sample: &RateSample) {
        self.bw_latest = delivery_rate(sample);
        self.inflight_latest = sample.delivered.as_f64();
        self.lost_ranges = 0;
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset(&mut self) {
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    /// Counts a lost segment in its range.
    pub(super) fn count_lost(&mut self, segment: &LostSegment) {
        self.lost_ranges += u32::from(segment.seq != self.lost_until);
        self.lost_until = segment.seq + segment.payload;
    }
}

/// Whether the path is full (sections 2.13 and 5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullBw {
    /// `full_bw`: the bandwidth from which growth is measured.
    pub(super) bw: f64,
    /// `full_bw_count`: rounds without growth.
    pub(super) count: u32,
    /// `full_bw_now`: since the flow last looked.
    pub(super) now: bool,
    /// `full_bw_reached`: ever.
    pub(super) reached: bool,
}

impl FullBw {
    /// `ResetFullBW`, with growth measured from `bw`.
    pub(super) fn reset(&mut self, bw: f64) {
        *self = FullBw { bw, count: 0, now: false, reached: self.reached };
    }

    /// `CheckFullBWReached`, with the rate of a round.
    pub(super) fn check(&mut self, rate: f64) {
        if rate >= self.bw * GROWTH {
            self.reset(rate);
            return;
        }
        self.count += 1;
        self.now = self.count >= ROUNDS_WITHOUT_GROWTH;
        self.reached |= self.now;
    }
}

/// What the ACKs that arrive belong to (section 2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The cycle of `ProbeBW` (sections 2.14 and 5.3.3.9).
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeBw {
    pub(super) ack_phase: AckPhase,
    /// `is_bw_probe_sample`: the samples that arrive are those of a probe.
    pub(super) is_sample: bool,
    /// `prev_probe_too_high` and `prev_probe_precautionary` (section 5.3.3.6).
    pub(super) prev_too_high: bool,
    pub(super) prev_precautionary: bool,
    /// `bw_probe_wait`, `rounds_since_probe_up` and `cycle_stamp`: when the next probe is due (section 5.3.3.8).
    pub(super) wait: Duration,
    pub(super) rounds_since_up: u64,
    pub(super) cycle_stamp: Time,
    /// `bw_probe_up_rounds`, `bw_probe_up_acked` and `probe_up_acked_per_inc`: how the long-term bound grows.
    pub(super) up_rounds: u32,
    pub(super) up_acked: f64,
    pub(super) up_acked_per_inc: f64,
    /// What was in flight where the last probe lost too much; none before.
    pub(super) at_loss: Option<f64>,
}

impl ProbeBw {
    pub(super) const NONE: ProbeBw = ProbeBw {
        ack_phase: AckPhase::Init,
        is_sample: false,
        prev_too_high: false,
        prev_precautionary: false,
        wait: Duration::ZERO,
        rounds_since_up: 0,
        cycle_stamp: Time::ZERO,
        up_rounds: 0,
        up_acked: 0.0,
        up_acked_per_inc: f64::INFINITY,
        at_loss: None,
    };

    /// Returns by how many segments `acked` bytes raise the long-term bound.
    pub(super) fn segments_of_growth(&mut self, acked: f64) -> f64 {
        self.up_acked += acked;
        if self.up_acked < self.up_acked_per_inc {
            return 0.0;
        }
        let steps = libm::floor(self.up_acked / self.up_acked_per_inc);
        self.up_acked -= steps * self.up_acked_per_inc;
        steps
    }

    /// `RaiseInflightLongtermSlope`: the growth doubles with each round.
    pub(super) fn raise_slope(&mut self, cwnd: f64, mss: f64) {
        let growth = f64::from(1_u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(MOST_DOUBLINGS);
        self.up_acked_per_inc = (cwnd / growth).max(mss);
    }
}

/// What ACKs deliver beyond the bandwidth (sections 2.12 and 5.5.9).
#[derive(Clone, Copy, Debug)]
pub(super) struct ExtraAcked {
    /// `extra_acked_filter`.
    pub(super) filter: MaxFilter<u64>,
    /// `extra_acked_interval_start` and `extra_acked_delivered`.
    interval_start: Time,
    delivered: f64,
}

impl ExtraAcked {
    pub(super) const fn new() -> ExtraAcked {
        ExtraAcked { filter: MaxFilter::new(0), interval_start: Time::ZERO, delivered: 0.0 }
    }

    /// An interval starts.
    pub(super) fn restart(&mut self, now: Time) {
        (self.interval_start, self.delivered) = (now, 0.0);
    }

    /// An interval starts, with what was delivered in the last one.
    pub(super) fn go_on(&mut self, now: Time) {
        self.interval_start = now;
    }

    /// Returns how much more than `bw` explains was delivered in this interval with the `delivered` bytes of an ACK.
    pub(super) fn excess(&mut self, delivered: f64, bw: f64, now: Time) -> f64 {
        let mut expected = bw * now.since(self.interval_start).as_secs_f64();
        if self.delivered <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.delivered += delivered;
        self.delivered - expected
    }
}

/// The least round trip (sections 2.16.1 and 5.5.7), and when it is searched for.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    /// `min_rtt` and `min_rtt_stamp`.
    value: Option<Duration>,
    stamp: Time,
    /// The second filter, which -06 and Linux have (section 2.16.2).
    search: Option<SearchFilter>,
}

/// The least round trip since the last search.
#[derive(Clone, Copy, Debug)]
struct SearchFilter {
    /// `probe_rtt_min_delay` and `probe_rtt_min_stamp`.
    delay: Option<Duration>,
    stamp: Time,
}

impl MinRtt {
    /// Starts with the round trip of the handshake.
    pub(super) fn new(rtt: Option<Duration>, now: Time, one_filter: bool) -> MinRtt {
        let search = (!one_filter).then_some(SearchFilter { delay: rtt, stamp: now });
        MinRtt { value: rtt, stamp: now, search }
    }

    pub(super) const fn get(&self) -> Option<Duration> {
        self.value
    }

    /// A search is due: `min_rtt_expired`; `probe_rtt_expired` with two filters.
    pub(super) fn is_search_due(&self, now: Time) -> bool {
        match self.search {
            Some(SearchFilter { stamp, .. }) => now > stamp + PROBE_RTT_INTERVAL,
            None => now > self.stamp + MIN_RTT_FILTER_LEN,
        }
    }

    /// The next search is due an interval from now.
    pub(super) fn schedule_search(&mut self, now: Time) {
        match &mut self.search {
            Some(search) => search.stamp = now,
            None => self.stamp = now,
        }
    }

    /// `UpdateMinRTT`.
    pub(super) fn update(&mut self, rtt: Option<Duration>, now: Time) {
        let due = self.is_search_due(now);
        let Some(search) = &mut self.search else {
            if rtt.is_some() && (due || self.value.is_none_or(|least| rtt < Some(least))) {
                (self.value, self.stamp) = (rtt, now);
            }
            return;
        };
        if rtt.is_some() && (due || search.delay.is_none_or(|least| rtt < Some(least))) {
            *search = SearchFilter { delay: rtt, stamp: now };
        }
        let old = now > self.stamp + MIN_RTT_FILTER_LEN;
        if old || self.value.is_none_or(|least| search.delay.is_some_and(|rtt| rtt < least)) {
            (self.value, self.stamp) = (search.delay, search.stamp);
        }
    }
}

/// How far `ProbeRTT` has come (section 5.3.4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// `probe_rtt_done_stamp`; none before little enough is in flight.
    pub(super) done_stamp: Option<Time>,
    /// `probe_rtt_round_done`.
    pub(super) round_done: bool,
    /// `probe_rtt_cwnd`, which is held for the episode; -06 and Linux compute it with each ACK.
    pub(super) cwnd: f64,
    /// `MarkConnectionAppLimited`: data sent now are marked as limited by the application.
    pub(super) marks_app_limited: bool,
}

/// Restarts from idle (section 5.4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Restart {
    /// `idle_restart`: nothing was delivered since.
    pub(super) pending: bool,
    /// It ended with the last ACK.
    ended: bool,
    /// How many there were.
    pub(super) count: u64,
}

impl Restart {
    /// `HandleRestartFromIdle`.
    pub(super) fn start(&mut self) {
        self.count += u64::from(!self.pending);
        self.pending = true;
    }

    /// An ACK that delivers data ends it.
    pub(super) fn on_ack(&mut self, delivers: bool) {
        self.ended = self.pending && delivers;
        self.pending &= !delivers;
    }

    /// It lasts, or has ended with the last ACK, whose work it changed.
    pub(super) const fn is_seen(&self) -> bool {
        self.pending || self.ended
    }
}

/// What the sender's loss recovery does, and the window before it (section 5.6.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    pub(super) state: CaState,
    /// The state at the last ACK.
    pub(super) prior_state: CaState,
    /// The round in which the recovery started.
    pub(super) round: u64,
    /// `prior_cwnd`.
    pub(super) prior_cwnd: f64,
}

impl Recovery {
    pub(super) const NONE: Recovery =
        Recovery { state: CaState::Open, prior_state: CaState::Open, round: 0, prior_cwnd: 0.0 };

    /// The sender's state changes, in round `round`.
    pub(super) fn set_state(&mut self, state: CaState, round: u64) {
        if state >= CaState::Recovery && self.state < CaState::Recovery {
            self.round = round;
        }
        self.state = state;
        if state == CaState::Loss {
            self.prior_state = state;
        }
    }

    /// True if the recovery is over with this ACK.
    pub(super) fn ends(&mut self) -> bool {
        let before = std::mem::replace(&mut self.prior_state, self.state);
        before >= CaState::Recovery && self.state < CaState::Recovery
    }
}
