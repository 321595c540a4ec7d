//! BBR's third version: the events that change its state, in the order of draft-ietf-ccwg-bbr section 5.2.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::ack_frequency::AckFrequency;
use super::ce_as_loss::CeAsLoss;
use super::ecn::{Ecn, EcnRule};
use super::model::{
    Bounds, CongestionSignals, ExtraAcked, Found, FullBw, MaxBw, MinRtt, ProbeBw, ProbeRtt, Recovery,
    Restart, Round, Undo,
};
use super::params::TextPoint;
use super::resume::Resume;
use super::rules::Rules;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{AckSample, CongestionEvent, FlowInit, LostSegment, PathView, Trigger};
use crate::state::CaState;

/// The least window in segments: `MinPipeCwnd` (section 2.8).
const LEAST_SEGMENTS: f64 = 4.0;

/// What BBR does: its number is `mode` in the table `cc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mode {
    Startup = 0,
    Drain = 1,
    Down = 2,
    Cruise = 3,
    Refill = 4,
    Up = 5,
    ProbeRtt = 6,
}

impl Mode {
    /// A state of `ProbeBW`.
    pub(super) const fn cycles(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    /// More is sent than the path is known to carry, so that losses say nothing of it yet.
    pub(super) const fn probes(self) -> bool {
        matches!(self, Mode::Startup | Mode::Refill | Mode::Up)
    }
}

/// BBR, version 3 or 2.
#[derive(Debug)]
pub(super) struct Bbr3 {
    pub(super) rules: Rules,
    pub(super) mss: f64,
    pub(super) iw: f64,
    pub(super) random: RandomStream,
    pub(super) delivered: Bytes,
    in_flight: Bytes,
    /// The sender has had too little to send, so that it may have been idle.
    pub(super) app_limited: bool,

    /// What is sent (sections 2.4 to 2.6).
    pub(super) cwnd: f64,
    pub(super) pacing_rate: f64,
    pub(super) has_rtt: bool,
    pub(super) pacing_gain: f64,
    pub(super) cwnd_gain: f64,

    /// Where the flow is (section 2.7).
    pub(super) mode: Mode,
    pub(super) exit: Option<ExitReason>,
    pub(super) round: Round,
    pub(super) restart: Restart,
    pub(super) drain_start_round: Option<u64>,
    pub(super) full_bw: FullBw,
    pub(super) probe_bw: ProbeBw,
    pub(super) probe_rtt: ProbeRtt,
    pub(super) recovery: Recovery,

    /// The model of the path (sections 2.9 to 2.12 and 2.16).
    pub(super) max_bw: MaxBw,
    pub(super) min_rtt: MinRtt,
    pub(super) extra_acked: ExtraAcked,
    pub(super) bounds: Bounds,

    /// What says that the path is congested (sections 2.10, 2.15 and 3.7).
    pub(super) signals: CongestionSignals,
    pub(super) undo: Option<Undo>,
    pub(super) found: Found,
    /// How often the state was saved, and how often losses turned out to have been none.
    pub(super) undo_saves: u64,
    undos: u64,
    /// There is no SACK, and the text has a rule for that.
    pub(super) sees_one_loss: bool,
    pub(super) ack_frequency: Option<AckFrequency>,
    pub(super) ecn: Ecn,
    pub(super) ce: CeAsLoss,
    /// Careful Resume, where an earlier connection has saved something.
    pub(super) resume: Option<Resume>,
}

impl Bbr3 {
    pub(super) fn new(rules: Rules, ecn: EcnRule, ce_as_loss: bool, init: FlowInit) -> Bbr3 {
        let mut bbr = Bbr3 {
            rules,
            mss: init.mss.as_f64(),
            iw: init.iw.as_f64(),
            random: init.random(),
            delivered: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            app_limited: true,
            cwnd: init.iw.as_f64(),
            pacing_rate: 0.0,
            has_rtt: false,
            pacing_gain: rules.startup_pacing,
            cwnd_gain: rules.startup_cwnd,
            mode: Mode::Startup,
            exit: None,
            round: Round::default(),
            restart: Restart::default(),
            drain_start_round: None,
            full_bw: FullBw::default(),
            probe_bw: ProbeBw::NONE,
            probe_rtt: ProbeRtt::default(),
            recovery: Recovery::NONE,
            max_bw: MaxBw::new(rules.takes_literally(TextPoint::ThreeCycles)),
            min_rtt: MinRtt::new(None, Time::ZERO, rules.one_filter),
            extra_acked: ExtraAcked::new(),
            bounds: Bounds::NONE,
            signals: CongestionSignals::NONE,
            undo: None,
            found: Found::None,
            undo_saves: 0,
            undos: 0,
            sees_one_loss: false,
            ack_frequency: None,
            ecn: Ecn::new(ecn),
            ce: CeAsLoss::new(ce_as_loss),
            resume: None,
        };
        bbr.init_pacing_rate(Duration::ZERO);
        bbr
    }

    /// The largest bandwidth of two cycles.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw.get()
    }

    /// The bandwidth that counts.
    pub(super) fn bw(&self) -> f64 {
        self.max_bw().min(self.bounds.bw_shortterm)
    }

    pub(super) fn min_pipe_cwnd(&self) -> f64 {
        self.mss * LEAST_SEGMENTS
    }

    /// A round starts with the next segment.
    pub(super) fn start_round(&mut self) {
        self.round.start(self.delivered);
    }
}

impl CongestionControl for Bbr3 {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            // The receiver is DCTCP's, whose ACKs report each mark, unless the scenario names counts.
            feedback: match (self.ecn.rule.low, self.ce.on) {
                (true, _) => Feedback::Shares,
                (false, true) => Feedback::Classic,
                (false, false) => Feedback::None,
            },
            rate_samples: true,
            loss_reports: true,
            states: true,
            every_ack: true,
            own_window: true,
            ack_requests: self.ack_frequency.is_some(),
            send_buffer_windows: 3,
            ..Needs::default()
        }
    }

    fn on_negotiated(&mut self, heard: Feedback) {
        self.ecn.heard = self.ecn.rule.low && heard >= Feedback::Shares;
        self.ce.negotiate(heard);
    }

    fn on_sack_refused(&mut self) {
        self.sees_one_loss = self.rules.any_loss_without_sack;
    }

    fn on_established(&mut self, path: &PathView) {
        let rtt = Some(path.min_rtt).filter(|rtt| !rtt.is_zero());
        self.min_rtt = MinRtt::new(rtt, path.now, self.rules.one_filter);
        self.extra_acked.restart(path.now);
        self.init_pacing_rate(path.srtt);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        (self.delivered, self.app_limited) = (ack.delivered, ack.app_limited);
        self.in_flight = path.in_flight;
        self.take_marks(ack, path);
        self.update_signals(ack);
        self.update_ack_aggregation(ack, path.now);
        self.check_full_bw_reached(ack);
        self.check_startup(ack, path);
        self.check_drain(ack, path);
        self.update_cycle(ack, path);
        self.update_min_rtt(ack, path);
        self.update_resume(ack, path);
        self.advance_latest_delivery_signals(ack);
        self.update_gains();
        self.set_pacing_rate_with_gain(self.pacing_gain, path.srtt);
        self.set_cwnd(ack);
        self.update_ack_frequency(ack);
        self.note_cycle(ack);
        self.found = Found::None;
    }

    /// The window is saved; the bounds answer.
    fn on_congestion(&mut self, event: &CongestionEvent, _path: &PathView) -> bool {
        if self.ce.on && event.trigger == Trigger::Ce {
            return self.hear_echo();
        }
        self.start_recovery(event.trigger == Trigger::Loss);
        true
    }

    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        if new_episode {
            self.start_recovery(true);
        }
        if let Some(resume) = &mut self.resume {
            *resume = Resume::Normal;
        }
        self.cwnd = path.in_flight.as_f64() + self.mss;
    }

    fn on_lost(&mut self, segment: &LostSegment, path: &PathView) {
        self.note_loss(segment);
        if let Some(resume) = &mut self.resume {
            resume.on_congestion();
        }
        if self.probe_bw.is_sample {
            self.handle_lost_packet(segment, path);
        }
    }

    fn on_state(&mut self, state: CaState, _path: &PathView) {
        self.recovery.set_state(state, self.round.count);
    }

    /// After an idle time there is no need for more than the bandwidth.
    fn on_tx_start(&mut self, _idle: Duration, path: &PathView) {
        if !self.app_limited {
            return;
        }
        self.restart.start();
        if self.rules.takes_literally(TextPoint::IdleAggregation) {
            self.extra_acked.go_on(path.now);
        } else {
            self.extra_acked.restart(path.now);
        }
        if self.mode.cycles() {
            self.set_pacing_rate_with_gain(1.0, path.srtt);
        } else if self.mode == Mode::ProbeRtt {
            self.end_probe_rtt(path.now);
        }
    }

    /// Only a SYN that was lost leads here: the initial window is a segment (RFC 6928 section 2).
    fn on_cwnd_validation(&mut self, cwnd: Bytes, path: &PathView) {
        self.cwnd = cwnd.as_f64();
        if self.rules.paces_initial_window {
            self.iw = self.cwnd;
        }
        self.init_pacing_rate(path.srtt);
    }

    /// The losses were none: the bounds return, and so does the probe that they, and nothing else, ended. `ProbeRTT` is not
    /// left for it, but Startup follows if losses ended that.
    fn on_undo(&mut self, _path: &PathView) {
        self.undos += 1;
        self.signals.is_loss_in_round &= self.ce.in_round;
        self.full_bw.reset(0.0);
        let Some(Undo { bounds, state }) = self.undo.take() else { return };
        self.bounds.restore(bounds);
        let stays = self.mode == Mode::ProbeRtt;
        match state {
            Some(Mode::Startup) => {
                self.full_bw.reached = false;
                if !stays {
                    self.mode = Mode::Startup;
                }
            }
            Some(Mode::Up) if !stays && self.mode != Mode::Up => self.start_probe_bw_refill(0),
            _ => {}
        }
        self.update_gains();
    }

    fn ack_ratio(&self) -> Option<u32> {
        self.ack_frequency.map(AckFrequency::ratio)
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd(),
            ssthresh: Bytes::MAX,
            pacing: self.pacing(),
            send_quantum: Some(Bytes::from_f64(self.send_quantum())),
            app_limited: self.probe_rtt.marks_app_limited,
            phase: if self.mode == Mode::Startup { Phase::SlowStart } else { Phase::CongestionAvoidance },
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::from_f64(self.cwnd)
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(Rate::from_bits_per_sec(Bytes::from_f64(self.pacing_rate * 8.0).get().max(1)))
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let bound = |value: f64| if value.is_finite() { value } else { f64::NAN };
        out("mode", f64::from(self.mode as u8));
        out("pacing_gain", self.pacing_gain);
        out("cwnd_gain", self.cwnd_gain);
        out("bw_bit_per_s", self.bw() * 8.0);
        out("max_bw_bit_per_s", self.max_bw() * 8.0);
        out("bw_short_bit_per_s", bound(self.bounds.bw_shortterm * 8.0));
        out("inflight_short_bytes", bound(self.bounds.inflight_shortterm));
        out("inflight_long_bytes", bound(self.bounds.inflight_longterm));
        out("full_bw_bit_per_s", self.full_bw.bw * 8.0);
        out("full_bw_reached", f64::from(u8::from(self.full_bw.reached)));
        out("min_rtt_s", self.min_rtt.get().map_or(f64::NAN, Duration::as_secs_f64));
        out("rounds", self.round.count as f64);
        out("rounds_since_probe", self.probe_bw.rounds_since_up as f64);
        out("extra_acked_bytes", self.extra_acked.filter.get() as f64);
        out("prior_cwnd_bytes", self.recovery.prior_cwnd);
        out("full_bw_now", f64::from(u8::from(self.full_bw.now)));
        out("full_bw_count", f64::from(self.full_bw.count));
        out("restarting", f64::from(u8::from(self.restart.is_seen())));
        out("restarts", self.restart.count as f64);
        let searches = self.mode == Mode::ProbeRtt;
        out("probe_rtt_cwnd_bytes", if searches { self.probe_rtt_cwnd() } else { f64::NAN });
        out("wait_s", self.probe_bw.wait.as_secs_f64());
        out("in_flight_bytes", self.in_flight.as_f64());
        out("cwnd_bytes", self.cwnd);
        out("drain_start_round", self.drain_start_round.map_or(f64::NAN, |round| round as f64));
        out("lost_ranges", f64::from(self.signals.lost_ranges));
        out("inflight_at_loss_bytes", self.probe_bw.at_loss.unwrap_or(f64::NAN));
        out("app_limited", f64::from(u8::from(self.app_limited)));
        out("undos", self.undos as f64);
        out("undo_saves", self.undo_saves as f64);
        let saved = self.undo.as_ref();
        let saved_bound = |of: fn(&Bounds) -> f64| saved.map_or(f64::NAN, |undo| bound(of(&undo.bounds)));
        out("undo_mode", saved.and_then(|undo| undo.state).map_or(f64::NAN, |mode| f64::from(mode as u8)));
        out("undo_bw_short_bit_per_s", saved_bound(|bounds| bounds.bw_shortterm * 8.0));
        out("undo_inflight_short_bytes", saved_bound(|bounds| bounds.inflight_shortterm));
        out("undo_inflight_long_bytes", saved_bound(|bounds| bounds.inflight_longterm));
        if let Some(resume) = self.resume {
            out("cr_phase", resume.number());
        }
        if self.ecn.rule.low {
            out("ecn_alpha", self.ecn.alpha());
            out("ecn_eligible", f64::from(u8::from(self.ecn.eligible)));
        }
    }
}
