//! The state of BBR's third version, and the events that change it.
//!
//! Amounts are bytes and rates bytes per second, both real numbers; a bound that does not exist is infinite.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use super::super::max_filter::MaxFilter;
use super::ce_as_loss::CeAsLoss;
use super::ecn::{Ecn, EcnRule};
use super::rules::Rules;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{AckSample, CongestionEvent, FlowInit, LostSegment, PathView, Trigger};
use crate::state::CaState;

/// The least window, in segments.
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

/// What the ACKs that arrive belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// What returns if the losses were none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// The bounds before them.
    pub(super) bounds: Bounds,
    /// The mode that they ended.
    pub(super) ended: Option<Mode>,
}

/// What limits the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The bandwidth, and what may be in flight, until the next probe.
    pub(super) bw: f64,
    pub(super) short: f64,
    /// What may be in flight in the long term.
    pub(super) long: f64,
}

impl Bounds {
    const NONE: Bounds = Bounds { bw: f64::INFINITY, short: f64::INFINITY, long: f64::INFINITY };
}

/// BBR, version 3 or 2.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the flow")]
#[derive(Debug)]
pub(super) struct Bbr3 {
    pub(super) rules: Rules,
    pub(super) mss: f64,
    pub(super) iw: f64,
    pub(super) random: RandomStream,

    pub(super) cwnd: f64,
    pub(super) pacing_rate: f64,
    pub(super) has_rtt: bool,
    pub(super) pacing_gain: f64,
    pub(super) cwnd_gain: f64,
    pub(super) mode: Mode,
    pub(super) exit: Option<ExitReason>,

    /// The largest delivery rate of this cycle and of the previous one.
    pub(super) max_bw: [f64; 2],
    pub(super) bounds: Bounds,
    /// The largest delivery rate and delivered amount of this loss round.
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: f64,

    pub(super) rounds: u64,
    pub(super) round_start: bool,
    pub(super) next_round: Bytes,
    pub(super) loss_round: Bytes,
    pub(super) loss_round_start: bool,
    pub(super) loss_in_round: bool,
    /// Lost ranges in this round, and the end of the last one.
    pub(super) lost_ranges: u32,
    pub(super) lost_until: Seq,
    pub(super) undo: Option<Undo>,
    pub(super) ecn: Ecn,
    pub(super) ce: CeAsLoss,

    pub(super) full_bw: f64,
    pub(super) full_bw_rounds: u32,
    pub(super) full_bw_now: bool,
    pub(super) full_bw_reached: bool,
    pub(super) drain_since: u64,

    pub(super) ack_phase: AckPhase,
    /// The samples that arrive are those of a probe.
    pub(super) probe_sample: bool,
    pub(super) too_high: bool,
    pub(super) precautionary: bool,
    pub(super) wait: Duration,
    pub(super) rounds_since_probe: u64,
    pub(super) cycle_since: Time,
    pub(super) up_rounds: u32,
    pub(super) up_acked: f64,
    pub(super) acked_per_increase: f64,

    pub(super) extra_acked: MaxFilter<u64>,
    pub(super) extra_since: Time,
    pub(super) extra_delivered: f64,

    pub(super) min_rtt: Option<Duration>,
    pub(super) min_rtt_at: Time,
    pub(super) probe_rtt_min: Option<Duration>,
    pub(super) probe_rtt_min_at: Time,
    pub(super) probe_rtt_until: Option<Time>,
    pub(super) probe_rtt_round: bool,
    pub(super) mutes_samples: bool,

    pub(super) state: CaState,
    /// The round in which the recovery started.
    pub(super) recovery_round: u64,
    pub(super) prior_state: CaState,
    pub(super) prior_cwnd: f64,
    pub(super) restarting: bool,
    pub(super) app_limited: bool,
    pub(super) delivered: Bytes,
}

impl Bbr3 {
    pub(super) fn new(rules: Rules, ecn: EcnRule, ce_as_loss: bool, init: FlowInit) -> Bbr3 {
        let mut bbr = Bbr3 {
            rules,
            mss: init.mss.as_f64(),
            iw: init.iw.as_f64(),
            random: init.random(),
            cwnd: init.iw.as_f64(),
            pacing_rate: 0.0,
            has_rtt: false,
            pacing_gain: rules.startup_pacing,
            cwnd_gain: rules.startup_cwnd,
            mode: Mode::Startup,
            exit: None,
            max_bw: [0.0; 2],
            bounds: Bounds::NONE,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            rounds: 0,
            round_start: false,
            next_round: Bytes::ZERO,
            loss_round: Bytes::ZERO,
            loss_round_start: false,
            loss_in_round: false,
            lost_ranges: 0,
            lost_until: Seq::SYN,
            undo: None,
            ecn: Ecn::new(ecn),
            ce: CeAsLoss::new(ce_as_loss),
            full_bw: 0.0,
            full_bw_rounds: 0,
            full_bw_now: false,
            full_bw_reached: false,
            drain_since: 0,
            ack_phase: AckPhase::Init,
            probe_sample: false,
            too_high: false,
            precautionary: false,
            wait: Duration::ZERO,
            rounds_since_probe: 0,
            cycle_since: Time::ZERO,
            up_rounds: 0,
            up_acked: 0.0,
            acked_per_increase: f64::INFINITY,
            extra_acked: MaxFilter::new(0),
            extra_since: Time::ZERO,
            extra_delivered: 0.0,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: None,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_until: None,
            probe_rtt_round: false,
            mutes_samples: false,
            state: CaState::Open,
            recovery_round: 0,
            prior_state: CaState::Open,
            prior_cwnd: 0.0,
            restarting: false,
            app_limited: true,
            delivered: Bytes::ZERO,
        };
        bbr.pace_by_window(Duration::ZERO);
        bbr
    }

    /// The largest bandwidth of two cycles.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// The bandwidth that counts.
    pub(super) fn bw(&self) -> f64 {
        self.max_bw().min(self.bounds.bw)
    }

    pub(super) fn least_cwnd(&self) -> f64 {
        self.mss * LEAST_SEGMENTS
    }

    /// A round starts with the next segment.
    pub(super) fn start_round(&mut self) {
        self.next_round = self.delivered;
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
            send_buffer_windows: 3,
            ..Needs::default()
        }
    }

    fn on_negotiated(&mut self, heard: Feedback) {
        self.ecn.heard = self.ecn.rule.low && heard >= Feedback::Shares;
        self.ce.negotiate(heard);
    }

    fn on_established(&mut self, path: &PathView) {
        let rtt = Some(path.min_rtt).filter(|rtt| !rtt.is_zero());
        (self.min_rtt, self.probe_rtt_min) = (rtt, rtt);
        (self.min_rtt_at, self.probe_rtt_min_at) = (path.now, path.now);
        self.extra_since = path.now;
        self.pace_by_window(path.srtt);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        (self.delivered, self.app_limited) = (ack.delivered, ack.app_limited);
        self.take_marks(ack, path);
        self.update_signals(ack);
        self.update_aggregation(ack, path.now);
        self.check_full_bandwidth(ack);
        self.check_startup(ack, path);
        self.check_drain(path);
        self.update_cycle(ack, path);
        self.update_round_trip(ack, path);
        self.advance_signals(ack);
        self.update_gains();
        self.set_pace(self.pacing_gain, path.srtt);
        self.set_cwnd(ack);
        self.note_cycle(ack);
    }

    /// The window is saved; the bounds answer.
    fn on_congestion(&mut self, event: &CongestionEvent, _path: &PathView) -> bool {
        if self.ce.on && event.trigger == Trigger::Ce {
            return self.hear_echo();
        }
        self.start_recovery();
        true
    }

    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        if new_episode {
            self.start_recovery();
        }
        self.cwnd = path.in_flight.as_f64() + self.mss;
    }

    fn on_lost(&mut self, segment: &LostSegment, path: &PathView) {
        self.note_loss(segment);
        if self.probe_sample {
            self.check_loss(segment, path);
        }
    }

    fn on_state(&mut self, state: CaState, _path: &PathView) {
        if state >= CaState::Recovery && self.state < CaState::Recovery {
            self.recovery_round = self.rounds;
        }
        self.state = state;
        if state == CaState::Loss {
            self.prior_state = state;
        }
    }

    /// After an idle time there is no need for more than the bandwidth.
    fn on_tx_start(&mut self, _idle: Duration, path: &PathView) {
        if !self.app_limited {
            return;
        }
        self.restarting = true;
        self.extra_since = path.now;
        self.extra_delivered = 0.0;
        if self.mode.cycles() {
            self.set_pace(1.0, path.srtt);
        } else if self.mode == Mode::ProbeRtt {
            self.end_probe_rtt(path.now);
        }
    }

    /// Only a SYN that was lost leads here.
    fn on_cwnd_validation(&mut self, cwnd: Bytes, path: &PathView) {
        self.cwnd = cwnd.as_f64();
        self.pace_by_window(path.srtt);
    }

    /// The losses were none: the bounds return, and so does the probe that they, and nothing else, ended. `ProbeRTT` is not
    /// left for it, but Startup follows if losses ended that.
    fn on_undo(&mut self, _path: &PathView) {
        self.loss_in_round &= self.ce.in_round;
        self.reset_full_bandwidth();
        let Some(Undo { bounds, ended }) = self.undo.take() else { return };
        self.bounds.bw = self.bounds.bw.max(bounds.bw);
        self.bounds.short = self.bounds.short.max(bounds.short);
        self.bounds.long = self.bounds.long.max(bounds.long);
        let stays = self.mode == Mode::ProbeRtt;
        match ended {
            Some(Mode::Startup) => {
                self.full_bw_reached = false;
                if !stays {
                    self.mode = Mode::Startup;
                }
            }
            Some(Mode::Up) if !stays && self.mode != Mode::Up => self.start_refill(0),
            _ => {}
        }
        self.update_gains();
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd(),
            ssthresh: Bytes::MAX,
            pacing: self.pacing(),
            send_quantum: Some(Bytes::from_f64(self.quantum())),
            app_limited: self.mutes_samples,
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
        out("bw_short_bit_per_s", bound(self.bounds.bw * 8.0));
        out("inflight_short_bytes", bound(self.bounds.short));
        out("inflight_long_bytes", bound(self.bounds.long));
        out("full_bw_bit_per_s", self.full_bw * 8.0);
        out("full_bw_reached", f64::from(u8::from(self.full_bw_reached)));
        out("min_rtt_s", self.min_rtt.map_or(f64::NAN, Duration::as_secs_f64));
        out("rounds", self.rounds as f64);
        out("rounds_since_probe", self.rounds_since_probe as f64);
        out("extra_acked_bytes", self.extra_acked.get() as f64);
        out("prior_cwnd_bytes", self.prior_cwnd);
        if self.ecn.rule.low {
            out("ecn_alpha", self.ecn.alpha());
            out("ecn_eligible", f64::from(u8::from(self.ecn.eligible)));
        }
    }
}
