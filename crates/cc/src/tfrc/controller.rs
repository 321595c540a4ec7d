//! The events of TFRC.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::allowed_rate::{AllowedRate, Report};
use super::equation::Equation;
use super::params::TfrcParams;
use super::receive_rate::ReceiveRate;
use super::round_trip::RoundTrip;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::loss_history::{Congested, LossHistory};
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{AckSample, CongestionEvent, FlowInit, LostSegment, PathView, SentSegment, Trigger};

/// Until there is a round trip, a segment leaves in each second (section 4.2).
const SEGMENTS_PER_SECOND: f64 = 1.0;
/// Segments that the window holds until then, and at least: those sent in a silence of any length, at one segment per
/// second and the timer's two seconds.
const LEAST_WINDOW: u64 = 4;
/// Halving the rate in each interval without feedback sends, in all, twice what the first interval does.
const SILENCE: f64 = 2.0;
/// TCP's window field, scaled, covers 2^30 bytes.
const LARGEST_WINDOW: Bytes = Bytes::new(1 << 30);

/// TFRC.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the flow")]
#[derive(Debug)]
pub(super) struct Tfrc {
    equation: Equation,
    oscillation_prevention: bool,
    initial_window: Bytes,
    history: LossHistory,
    /// The history before the last episode of losses.
    before_episode: Option<LossHistory>,
    /// How often losses turned out to have been none.
    undos: u64,
    in_episode: bool,
    /// The number of the newest packet whose fate is known, in segments.
    newest: f64,
    /// A packet that left then came with CE.
    marked: Option<Time>,
    /// Each mark is reported on its own, and not one in a round trip.
    hears_each_mark: bool,
    /// A loss event started since the last feedback.
    new_event: bool,
    exit: Option<ExitReason>,
    /// None before a round trip was measured.
    flow: Option<Flow>,
    pace: Rate,
    window: Bytes,
}

/// What starts with the first round trip.
#[derive(Debug)]
struct Flow {
    round_trip: RoundTrip,
    sample: Duration,
    rate: AllowedRate,
    receive_rate: ReceiveRate,
    /// The largest rate that feedback reported in slow start.
    most_received: f64,
    /// All ACKs since the last feedback found the application to have too little to send.
    data_limited: bool,
    /// When the nofeedback timer expires.
    deadline: Time,
    /// Nothing was sent since that timer was started.
    idle: bool,
}

impl Tfrc {
    pub(super) fn new(params: &TfrcParams, init: &FlowInit) -> Tfrc {
        let segment = init.mss;
        Tfrc {
            equation: Equation { segment, b: f64::from(params.b), t_rto_factor: params.t_rto_factor },
            oscillation_prevention: params.oscillation_prevention,
            initial_window: params.initial_rate.window(init),
            history: LossHistory::new(params.n as usize, params.history_discounting),
            before_episode: None,
            undos: 0,
            in_episode: false,
            newest: 0.0,
            marked: None,
            hears_each_mark: false,
            new_event: false,
            exit: None,
            flow: None,
            pace: bytes_per_second(segment.as_f64() * SEGMENTS_PER_SECOND),
            window: segment * LEAST_WINDOW,
        }
    }

    fn segments(&self, amount: Bytes) -> f64 {
        amount.as_f64() / self.equation.segment.as_f64()
    }

    /// The first round trip is measured.
    fn start(&mut self, now: Time, delivered: Bytes, sample: Duration) {
        let rate = AllowedRate::new(self.equation, self.initial_window, now, sample);
        let deadline = now + rate.patience();
        self.flow = Some(Flow {
            round_trip: RoundTrip::new(sample),
            sample,
            rate,
            receive_rate: ReceiveRate::new(now, delivered),
            most_received: 0.0,
            data_limited: true,
            deadline,
            idle: true,
        });
        self.set_window();
        self.set_pace();
    }

    /// A packet was lost or marked. Without a round trip there is nothing to tell loss events apart with.
    fn congested(&mut self, packet: Congested, reason: ExitReason, now: Time) {
        let Some(flow) = &self.flow else { return };
        let equation = self.equation;
        let first = || 1.0 / equation.loss_event_rate(flow.round_trip.mean(), flow.target(now, equation));
        if self.history.congested(packet, flow.round_trip.mean(), first) {
            self.new_event = true;
            self.exit.get_or_insert(reason);
        }
    }

    /// Feedback is due after a round trip, and at once if a new loss event raised p (section 6.1).
    fn is_feedback_due(&self, flow: &Flow, now: Time) -> bool {
        flow.receive_rate.age(now) >= flow.round_trip.mean()
            || (self.new_event && self.history.event_rate(self.newest) > flow.rate.loss_event_rate())
    }

    /// The steps of section 4.3.
    fn feed_back(&mut self, now: Time) {
        let p = self.history.event_rate(self.newest);
        let Some(flow) = &mut self.flow else { return };
        flow.round_trip.update(flow.sample);
        let rtt = flow.round_trip.mean();
        let received = flow.receive_rate.rate(now, rtt).unwrap_or(0.0);
        flow.receive_rate.report(now, rtt);
        flow.most_received = flow.most_received.max(received);
        flow.rate.on_feedback(&Report {
            now,
            rtt,
            p,
            received,
            new_event: std::mem::take(&mut self.new_event),
            data_limited: std::mem::replace(&mut flow.data_limited, true),
        });
        flow.start_timer(now);
        self.set_window();
        self.set_pace();
    }

    /// Looks at the nofeedback timer, which may have expired several times. Nothing was sent since the first of them, or it would
    /// have been examined then.
    #[inline]
    fn check_timer(&mut self, now: Time) {
        if self.flow.as_ref().is_some_and(|flow| now >= flow.deadline) {
            self.miss_feedback(now);
        }
    }

    #[cold]
    fn miss_feedback(&mut self, now: Time) {
        let Some(flow) = &mut self.flow else { return };
        while now >= flow.deadline {
            let expired = flow.deadline;
            let changed = flow.rate.on_silence(expired, flow.idle);
            // What changed nothing will not do so later either.
            flow.start_timer(if changed { expired } else { now });
        }
        self.set_pace();
    }

    fn set_pace(&mut self) {
        let Some(flow) = &self.flow else { return };
        let factor = if self.oscillation_prevention { flow.round_trip.pace() } else { 1.0 };
        self.pace = bytes_per_second((flow.rate.get() * factor).max(flow.rate.least()));
    }

    /// The rate alone is to limit the sender, so the window holds more than can be in flight: all that leaves in a silence of any length.
    /// Only what TCP keeps of segments in flight is bounded by it.
    fn set_window(&mut self) {
        let Some(flow) = &self.flow else { return };
        let silent = SILENCE * flow.rate.get() * flow.rate.patience().as_secs_f64();
        self.window = Bytes::from_f64(silent).clamp(self.equation.segment * LEAST_WINDOW, LARGEST_WINDOW);
    }
}

impl Flow {
    fn start_timer(&mut self, now: Time) {
        self.deadline = now + self.rate.patience();
        self.idle = true;
    }

    /// `X_target`, the rate that the path is taken to have when the first packet is lost: the largest at which data arrived, because slow
    /// start sends twice that; half a segment per round trip if none arrived (section 6.3.1).
    fn target(&self, now: Time, equation: Equation) -> f64 {
        let rtt = self.round_trip.mean();
        let received = self.receive_rate.rate(now, rtt).unwrap_or(0.0).max(self.most_received);
        if received > 0.0 { received } else { equation.segment.as_f64() / (2.0 * rtt.as_secs_f64()) }
    }
}

/// A rate of payload.
fn bytes_per_second(rate: f64) -> Rate {
    Rate::from_bits_per_sec(Bytes::from_f64(8.0 * rate).get().max(1))
}

impl CongestionControl for Tfrc {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            paces_first: true,
            repaces: true,
            feedback: Feedback::Classic,
            departures: true,
            loss_reports: true,
            own_window: true,
            ..Needs::default()
        }
    }

    fn on_negotiated(&mut self, heard: Feedback) {
        self.hears_each_mark = heard >= Feedback::Shares;
    }

    /// The handshake measured a round trip, unless its SYN was sent more than once.
    fn on_established(&mut self, path: &PathView) {
        if !path.srtt.is_zero() {
            self.start(path.now, Bytes::ZERO, path.srtt);
        }
    }

    fn on_sent(&mut self, _sent: &SentSegment, path: &PathView) {
        self.check_timer(path.now);
        if let Some(flow) = &mut self.flow {
            flow.idle = false;
        }
    }

    fn on_tx_start(&mut self, _idle: Duration, path: &PathView) {
        self.check_timer(path.now);
    }

    /// The departure's counters make the number of the packet. One that is found late, after packets that left more than a round trip
    /// later, counts for the event of those.
    fn on_lost(&mut self, segment: &LostSegment, path: &PathView) {
        if !self.in_episode {
            self.in_episode = true;
            self.before_episode = Some(self.history.clone());
        }
        let departure = &segment.departure;
        let number = self.segments(departure.delivered + departure.lost + departure.in_flight);
        self.congested(Congested { sent: departure.sent, number }, ExitReason::Loss, path.now);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        self.newest = self.segments(ack.delivered + ack.lost);
        let now = path.now;
        if let (None, Some(rtt)) = (&self.flow, ack.rtt) {
            self.start(now, ack.delivered, rtt);
        }
        self.check_timer(now);
        let Some(flow) = &mut self.flow else { return };
        if let Some(rtt) = ack.rtt {
            flow.sample = rtt;
        }
        flow.receive_rate.on_delivered(ack.delivered);
        flow.data_limited &= ack.app_limited;
        if self.hears_each_mark && ack.ecn.ce.any() {
            self.marked = Some(departure_of(now, flow.sample));
        }
        if let Some(sent) = self.marked.take() {
            self.congested(Congested { sent, number: self.newest }, ExitReason::Ce, now);
        }
        if self.flow.as_ref().is_some_and(|flow| self.is_feedback_due(flow, now)) {
            self.feed_back(now);
        }
    }

    /// Losses were reported one by one. A mark counts as a loss (section 5.1): that of the newest packet that arrived.
    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        if event.trigger == Trigger::Ce && !self.hears_each_mark {
            self.marked = Some(departure_of(path.now, event.rtt.unwrap_or(path.srtt)));
        }
        true
    }

    /// The segments were reported as lost; the rate follows from the nofeedback timer alone, as in section 4.4.
    fn on_rto(&mut self, _new_episode: bool, path: &PathView) {
        self.check_timer(path.now);
    }

    fn on_recovered(&mut self, _path: &PathView) {
        self.in_episode = false;
    }

    fn on_undo(&mut self, _path: &PathView) {
        self.undos += 1;
        if let Some(history) = self.before_episode.take() {
            self.history = history;
            self.new_event = false;
        }
    }

    fn control(&self) -> Control {
        let phase = if self.history.is_started() { Phase::CongestionAvoidance } else { Phase::SlowStart };
        Control { pacing: self.pacing(), phase, ..Control::window(self.window) }
    }

    fn cwnd(&self) -> Bytes {
        self.window
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(self.pace)
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let flow = self.flow.as_ref();
        let rate = |rate: fn(&AllowedRate) -> f64| flow.map_or(f64::NAN, |flow| 8.0 * rate(&flow.rate));
        let open = self.history.open(self.newest);
        let p = self.history.event_rate(self.newest);
        out("allowed_bit_per_s", rate(AllowedRate::get));
        out("pace_bit_per_s", self.pace.bits_per_sec() as f64);
        out("equation_bit_per_s", rate(AllowedRate::of_equation));
        out("received_bit_per_s", rate(|rate| finite(rate.received())));
        out("loss_event_rate", p);
        out("loss_interval_packets", finite(1.0 / p));
        out("open_interval_packets", open.unwrap_or(f64::NAN));
        out("discount", open.map_or(f64::NAN, |open| self.history.discount(open)));
        out("loss_events", f64::from(self.history.events()));
        out("mean_rtt_s", flow.map_or(f64::NAN, |flow| flow.round_trip.mean().as_secs_f64()));
        out("nofeedback_s", flow.map_or(f64::NAN, |flow| flow.rate.patience().as_secs_f64()));
        out("undos", self.undos as f64);
    }
}

/// When the packet left that was acknowledged after this time.
fn departure_of(now: Time, rtt: Duration) -> Time {
    Time::ZERO + now.since_start().saturating_sub(rtt)
}

/// What does not exist is NaN.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}
