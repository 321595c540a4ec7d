//! The events of C4. Rates are in bytes per second, windows in bytes, times in seconds.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::era::{Era, LEAST_MAX_RTT, RoundTrips};
use super::params::{C4Ce, C4Delay, C4Params};
use super::sensitivity::{ce_threshold, delay_threshold, loss_threshold, sensitivity};
use super::signals::{LossShare, MarkShare};
use super::state::{Before, State};
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{AckSample, CongestionEvent, FlowInit, LossFinder, LostSegment, PathView};

/// The least pace of the initial state, 1,048,576 bit/s: the window limits it.
const LEAST_INITIAL_PACE: f64 = 131_072.0;
/// What a signal lowers the nominal rate by at most, like CUBIC's answer to a loss.
const MOST_BETA: f64 = 0.25;
/// Eras without more rate that end Initial; with a signal of delay or marks, which jitter and competitors cause too, one fewer.
const FLAT_ERAS: u32 = 3;
/// Packets that must have arrived before losses end Initial: their share means nothing before.
const LEAST_ARRIVED: u64 = 20;
/// Eras of Resuming: in the first the data are sent, in the second their rate is measured.
const RESUMING_ERAS: u32 = 2;
/// The first of them begins when that much more than what is in flight is the window.
const FILLED: f64 = 17.0 / 16.0;
/// Eras of Cruising.
const CRUISING_ERAS: u32 = 2;
/// What the nominal rate must grow by in an era of Pushing: three quarters of what is tried.
const PUSH_GROWTH: f64 = 19.0 / 16.0;
/// Eras of Pushing after which Initial follows.
const PUSHING_ERAS: u32 = 3;
/// What is added to the nominal max RTT in the window, because a small error of it could hold the rate down: a quarter of it, and
/// at most this.
const MOST_MARGIN: f64 = 0.015;
/// The most and the least that leave at once: large bursts make AQMs mark.
const QUANTUM_TIME: f64 = 0.004;
const MOST_QUANTUM: f64 = 65_536.0;
/// The largest window: TCP's window field, scaled, covers 2^30 bytes.
const LARGEST_CWND: f64 = 1_073_741_824.0;

/// A signal of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Delay,
    Loss,
    Marks,
}

/// C4.
#[derive(Debug)]
pub(super) struct C4 {
    params: C4Params,
    mtu: f64,
    mss: Bytes,
    state: State,
    era: Era,
    /// The nominal rate, R.
    rate: f64,
    /// None before the first round trip.
    trips: Option<RoundTrips>,
    /// The window that grows in Initial.
    initial_cwnd: f64,
    /// Packets that arrived in Initial.
    arrived: u64,
    losses: LossShare,
    marks: MarkShare,
    /// CE has been seen.
    marked: bool,
    /// Recoveries with a signal, in a row.
    congestions: u32,
    /// The largest rate measured since the last Recovery.
    recent_rate: f64,
    /// The nominal rate at the end of the last Recovery; 0 for none.
    cycle_rate: f64,
    /// The path's round trip became shorter since then.
    shorter: bool,
    restarts: u32,
    exit: Option<ExitReason>,
    cwnd: f64,
    pace: f64,
}

impl C4 {
    pub(super) fn new(params: C4Params, init: FlowInit) -> C4 {
        let state = State::START;
        C4 {
            params,
            mtu: init.mtu.as_f64(),
            mss: init.mss,
            state,
            era: Era::new(Time::ZERO, state.alpha(), 0.0),
            rate: 0.0,
            trips: None,
            initial_cwnd: init.iw.as_f64(),
            arrived: 0,
            losses: LossShare::default(),
            marks: MarkShare::default(),
            marked: false,
            congestions: 0,
            recent_rate: 0.0,
            cycle_rate: 0.0,
            shorter: false,
            restarts: 0,
            exit: None,
            cwnd: init.iw.as_f64(),
            pace: 0.0,
        }
    }

    fn sensitivity(&self) -> f64 {
        sensitivity(self.rate)
    }

    /// The next era begins, in `state`.
    fn enter(&mut self, state: State, now: Time) {
        let alpha = self.state.alpha();
        self.state = state;
        self.era = Era::new(now, alpha, self.rate);
    }

    /// In Recovery; `congested` if a signal led there.
    fn recover(&mut self, congested: bool, path: &PathView) {
        let after = self.state.before();
        let may_queue = matches!(after, Before::Start | Before::Pushing) || self.shorter;
        let product = self.trips.map_or(f64::INFINITY, |trips| self.rate * trips.min);
        self.shorter = false;
        let drains = may_queue && path.in_flight.as_f64() > product;
        self.enter(State::Recovery { after, drains, congested }, path.now);
    }

    /// Initial ends: half of the window is what the path holds.
    fn leave_initial(&mut self, reason: ExitReason, congested: bool, path: &PathView) {
        if self.rate > 0.0 {
            self.exit.get_or_insert(reason);
            if let Some(trips) = &mut self.trips {
                trips.max = (self.cwnd / 2.0 / self.rate).max(LEAST_MAX_RTT);
            }
            self.recover(congested, path);
        }
    }

    /// Initial begins again.
    fn restart(&mut self, now: Time) {
        self.initial_cwnd = self.trips.map_or(0.0, |trips| self.rate * trips.max).max(2.0 * self.mtu);
        self.arrived = 0;
        self.cycle_rate = 0.0;
        self.enter(State::START, now);
    }

    /// A signal of congestion, which asks for `beta` less.
    fn signal(&mut self, signal: Signal, beta: f64, path: &PathView) {
        match &mut self.state {
            State::Initial { flat } => match signal {
                Signal::Loss if self.arrived > LEAST_ARRIVED => {
                    self.leave_initial(ExitReason::Loss, true, path);
                }
                Signal::Delay if *flat + 1 >= FLAT_ERAS => self.leave_initial(ExitReason::Delay, true, path),
                Signal::Marks if *flat + 1 >= FLAT_ERAS => self.leave_initial(ExitReason::Ce, true, path),
                _ => {}
            },
            State::Recovery { congested, .. } => *congested = true,
            State::Cruising { .. } => {
                self.rate *= 1.0 - beta.min(MOST_BETA);
                self.recover(true, path);
            }
            State::Resuming { .. } | State::Probing { .. } | State::Pushing { .. } => {
                self.recover(true, path);
            }
        }
    }

    /// A lost packet, or a marked one that counts as such.
    fn lose(&mut self, path: &PathView) {
        self.losses.lost();
        if self.losses.get() > loss_threshold(self.sensitivity()) {
            self.signal(Signal::Loss, MOST_BETA, path);
        }
    }

    /// The rate of delivery can only raise the nominal rate.
    fn measure_rate(&mut self, ack: &AckSample) {
        let Some(sample) = &ack.rate else { return };
        let rate = sample.rate.bits_per_sec() as f64 / 8.0;
        self.recent_rate = self.recent_rate.max(rate);
        self.era.unlimited |= !sample.departure.app_limited;
        if !matches!(self.state, State::Recovery { congested: true, .. }) {
            self.rate = self.rate.max(rate);
        }
    }

    fn measure_marks(&mut self, ack: &AckSample, packets: u64, path: &PathView) {
        let marked = ack.ecn.ce.packets;
        self.marked |= marked > 0;
        match self.params.ce {
            C4Ce::Share => {
                self.marks.ack(marked, packets);
                let threshold = ce_threshold(self.sensitivity());
                let excess = self.marks.get() - threshold;
                if marked > 0 && excess > 0.0 {
                    self.signal(Signal::Marks, excess / threshold, path);
                }
            }
            C4Ce::Loss => (0..marked).for_each(|_| self.lose(path)),
            C4Ce::None => {}
        }
    }

    fn measure_delay(&mut self, rtt: Duration, path: &PathView) {
        let rtt = rtt.as_secs_f64();
        let trips = *self.trips.get_or_insert(RoundTrips::new(rtt));
        self.era.measure(rtt);
        if self.params.delay == C4Delay::AfterPush && self.era.alpha_previous <= 1.0 {
            return;
        }
        let threshold = delay_threshold(self.sensitivity(), trips.max);
        let excess = rtt - trips.max - threshold;
        if excess > 0.0 {
            self.signal(Signal::Delay, excess / threshold, path);
        }
    }

    /// A packet of the era was acknowledged.
    fn end_era(&mut self, ack: &AckSample, path: &PathView) {
        if let (false, Some(trips)) = (self.state.is_initial(), &mut self.trips) {
            self.shorter |= trips.end_era(&self.era);
        }
        let (now, grown) = (path.now, self.rate / self.era.rate);
        match self.state {
            State::Initial { flat } => {
                // The division by zero of the first era is growth too.
                let flat = if grown > self.params.initial_increase {
                    0
                } else {
                    (flat + u32::from(self.era.unlimited)).min(FLAT_ERAS)
                };
                if flat == FLAT_ERAS && self.rate > 0.0 {
                    self.leave_initial(ExitReason::Other("flat rate"), false, path);
                } else {
                    self.enter(State::Initial { flat }, now);
                }
            }
            State::Resuming { eras } => match eras + 1 {
                RESUMING_ERAS => self.recover(false, path),
                eras => self.enter(State::Resuming { eras }, now),
            },
            State::Recovery { after, congested, .. } => self.end_recovery(after, congested, now),
            State::Cruising { eras } => {
                let limited = ack.rate.is_none_or(|sample| sample.departure.app_limited);
                let eras = eras.saturating_add(1);
                let probes = eras >= CRUISING_ERAS && !limited;
                self.enter(
                    if probes { State::Probing { gentle: self.marked } } else { State::Cruising { eras } },
                    now,
                );
            }
            State::Probing { .. } => self.recover(false, path),
            State::Pushing { eras } => match eras + 1 {
                eras if eras > 1 && grown < PUSH_GROWTH => self.recover(false, path),
                eras if eras > PUSHING_ERAS => self.restart(now),
                eras => self.enter(State::Pushing { eras }, now),
            },
        }
    }

    /// What was probed is judged, and the nominal rate set right.
    fn end_recovery(&mut self, after: Before, congested: bool, now: Time) {
        let grown = self.rate > self.cycle_rate;
        if congested {
            self.congestions += 1;
            if self.congestions > 1 && self.recent_rate > 0.0 {
                self.rate = self.rate.min(self.recent_rate);
            }
        } else {
            self.congestions = 0;
            if !grown && self.era.unlimited && self.recent_rate > 0.0 {
                self.rate = f64::midpoint(self.rate, self.recent_rate);
            }
        }
        self.recent_rate = 0.0;
        self.cycle_rate = self.rate;
        self.marks = MarkShare::default();
        if after == Before::Probing && !congested && grown {
            self.enter(State::Pushing { eras: 0 }, now);
        } else if self.may_restart() {
            self.restarts += 1;
            self.restart(now);
        } else {
            self.enter(State::Cruising { eras: 0 }, now);
        }
    }

    /// Only what this era has updated tells of jitter: M that Initial left is a window.
    fn may_restart(&self) -> bool {
        self.era.alpha_previous <= 1.0
            && self.trips.is_some_and(|trips| trips.vary())
            && self.params.jitter_restarts.is_none_or(|most| self.restarts < most)
    }

    /// The window and the pace follow from the state.
    fn apply(&mut self, path: &PathView) {
        let Some(trips) = self.trips else { return };
        // Below a packet per second, nothing would be measured any more.
        let pace = (self.state.alpha() * self.rate).max(self.mtu);
        if let (State::Resuming { .. }, Some(seed)) = (self.state, self.params.seed_cwnd) {
            self.cwnd = seed.as_f64().max(2.0 * self.mtu);
            self.pace = self.cwnd / self.params.seed_rtt.unwrap_or(path.srtt).as_secs_f64().max(1e-9);
        } else if self.rate == 0.0 {
            self.cwnd = self.initial_cwnd;
            self.pace = 0.0;
        } else if self.state.is_initial() {
            self.cwnd = self.initial_cwnd.max(pace * trips.max);
            self.pace = pace.max(LEAST_INITIAL_PACE);
        } else {
            self.cwnd = pace * (trips.max + (trips.max / 4.0).min(MOST_MARGIN));
            self.pace = pace;
        }
        self.cwnd = self.cwnd.clamp(2.0 * self.mtu, LARGEST_CWND);
    }
}

impl CongestionControl for C4 {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            feedback: match self.params.ce {
                C4Ce::Share => Feedback::Counts,
                C4Ce::Loss => Feedback::Classic,
                C4Ce::None => Feedback::None,
            },
            scalable: self.params.ce == C4Ce::Share,
            rate_samples: true,
            loss_reports: true,
            own_window: true,
            ..Needs::default()
        }
    }

    fn on_established(&mut self, path: &PathView) {
        if !path.srtt.is_zero() {
            self.trips = Some(RoundTrips::new(path.srtt.as_secs_f64()));
        }
        let state = if self.params.seed_cwnd.is_some() { State::Resuming { eras: 0 } } else { State::START };
        self.enter(state, path.now);
        self.apply(path);
    }

    fn on_lost(&mut self, segment: &LostSegment, path: &PathView) {
        if segment.found_by != LossFinder::RetransmissionTimer {
            self.lose(path);
            self.apply(path);
        }
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        let packets = ack.newly_delivered.get().div_ceil(self.mss.get());
        self.losses.arrived(packets);
        self.measure_rate(ack);
        if let State::Initial { flat } = self.state {
            self.arrived += packets;
            let grown = ack.newly_delivered.as_f64() / f64::from(1_u32 << (3 * flat));
            self.initial_cwnd = (self.initial_cwnd + grown).min(LARGEST_CWND);
        }
        if let Some(rtt) = ack.rtt {
            self.measure_delay(rtt, path);
        }
        self.measure_marks(ack, packets, path);
        let fills = path.in_flight.as_f64() * FILLED >= self.cwnd;
        if self.state == (State::Resuming { eras: 0 }) && !fills {
            self.enter(self.state, path.now);
        } else if ack.rate.is_some_and(|sample| self.era.ends_with(sample.departure.sent)) {
            self.end_era(ack, path);
        }
        self.apply(path);
    }

    /// Signals are made of single losses and marks.
    fn on_congestion(&mut self, _event: &CongestionEvent, _path: &PathView) -> bool {
        false
    }

    /// A timer is no signal: jitter causes it too (section "Do not react to Probe Time Out").
    fn on_rto(&mut self, _new_episode: bool, _path: &PathView) {}

    fn control(&self) -> Control {
        let quantum = (self.pace * QUANTUM_TIME).min(MOST_QUANTUM).max(2.0 * self.mtu);
        Control {
            pacing: self.pacing(),
            // Before the first sample there is no quantum.
            send_quantum: (self.pace > 0.0).then(|| Bytes::from_f64(quantum)),
            phase: if self.state.is_initial() { Phase::SlowStart } else { Phase::CongestionAvoidance },
            ..Control::window(self.cwnd())
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::from_f64(self.cwnd)
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(Rate::from_bits_per_sec((8.0 * self.pace) as u64))
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("state", self.state.number());
        out("nominal_rate_mbps", self.rate * 8e-6);
        out("max_rtt_s", self.trips.map_or(f64::NAN, |trips| trips.max));
        out("min_rtt_s", self.trips.map_or(f64::NAN, |trips| trips.min));
        out("alpha", self.state.alpha());
        out("sensitivity", self.sensitivity());
        out("loss_share", self.losses.get());
        out("mark_share", self.marks.get());
    }
}
