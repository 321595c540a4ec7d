//! The state of BBR's first version, and the events that change it.
//!
//! Windows are packets, bandwidths packets per microsecond, times whole microseconds or ticks, as in Linux: what is rounded
//! there is rounded here.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Bytes, Duration, Rate};

use super::super::fixed::{Bandwidth, Gain, micros, span};
use super::super::max_filter::MaxFilter;
use super::aggregation::Aggregation;
use super::bursts;
use super::model::{LEAST_CWND, STARTUP};
use super::params::BbrParams;
use super::policer::Policer;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{AckSample, CongestionEvent, FlowInit, LostSegment, PathView};
use crate::state::CaState;

/// The pace as a share of the bandwidth, in percent, with the margin.
const WITH_MARGIN: u64 = 99;

/// What BBR does: its number is `mode` in the table `cc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mode {
    Startup = 0,
    Drain = 1,
    ProbeBw = 2,
    ProbeRtt = 3,
}

/// What an ACK says, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) ack: &'a AckSample,
    pub(super) path: &'a PathView,
    pub(super) acked: u64,
    pub(super) losses: u64,
    pub(super) in_flight: u64,
}

/// BBR, version 1.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the flow")]
#[derive(Debug)]
pub(super) struct Bbr {
    pub(super) params: BbrParams,
    pub(super) mss: Bytes,
    pub(super) tick: Duration,
    pub(super) random: RandomStream,
    /// The pace as a share of the bandwidth, in percent.
    pub(super) percent: u64,

    pub(super) cwnd: u64,
    pub(super) ssthresh: Option<u64>,
    pub(super) pacing_rate: u64,
    /// The pace comes from a round trip that was measured.
    pub(super) has_rtt: bool,
    pub(super) pacing_gain: Gain,
    pub(super) cwnd_gain: Gain,

    pub(super) mode: Mode,
    pub(super) phase: usize,
    /// When the phase started, in microseconds.
    pub(super) phase_since: u64,
    pub(super) exit: Option<ExitReason>,

    pub(super) max_bw: MaxFilter<Bandwidth>,
    pub(super) rounds: u32,
    pub(super) round_start: bool,
    /// A round starts when a segment that left after this was delivered is delivered itself.
    pub(super) next_round: Bytes,
    pub(super) policer: Policer,
    pub(super) aggregation: Aggregation,

    /// The least round trip in microseconds; none before the first sample.
    pub(super) min_rtt: Option<u64>,
    /// The tick in which it was found.
    pub(super) min_rtt_at: u64,
    /// The tick after which `ProbeRTT` may end, once the window has drained.
    pub(super) probe_rtt_until: Option<u64>,
    pub(super) probe_rtt_round: bool,
    /// Data sent in `ProbeRTT` do not test the path.
    pub(super) mutes_samples: bool,

    pub(super) full_bw: Bandwidth,
    pub(super) full_bw_rounds: u32,
    pub(super) full: bool,

    pub(super) state: CaState,
    /// The state at the last ACK, or Loss after a timeout.
    pub(super) prior_state: CaState,
    /// The window before a loss, or before `ProbeRTT`.
    pub(super) prior_cwnd: u64,
    pub(super) conserving: bool,

    /// The least round trip of the sender, which is older.
    pub(super) least_rtt: Duration,
    /// Data were sent after an idle time, and none of them is delivered yet.
    pub(super) restarting: bool,
    /// How often.
    restarts: u64,
    pub(super) app_limited: bool,
    in_flight: Bytes,
    /// How often losses turned out to have been none.
    undos: u64,
    /// When something was delivered last, in microseconds, and the connection's counters.
    pub(super) delivered_at: u64,
    pub(super) delivered: Bytes,
    pub(super) lost: Bytes,
}

impl Bbr {
    pub(super) fn new(params: BbrParams, init: FlowInit) -> Bbr {
        let percent = if params.pacing_margin { WITH_MARGIN } else { 100 };
        let mut bbr = Bbr {
            policer: Policer::new(params.policer_detection, init.mss, percent),
            params,
            mss: init.mss,
            tick: init.tick,
            random: init.random(),
            percent,
            cwnd: (init.iw / init.mss).max(1),
            ssthresh: None,
            pacing_rate: 0,
            has_rtt: false,
            pacing_gain: STARTUP,
            cwnd_gain: STARTUP,
            mode: Mode::Startup,
            phase: 0,
            phase_since: 0,
            exit: None,
            max_bw: MaxFilter::new(Bandwidth::ZERO),
            rounds: 0,
            round_start: false,
            next_round: Bytes::ZERO,
            aggregation: Aggregation::default(),
            min_rtt: None,
            min_rtt_at: 0,
            probe_rtt_until: None,
            probe_rtt_round: false,
            mutes_samples: false,
            full_bw: Bandwidth::ZERO,
            full_bw_rounds: 0,
            full: false,
            state: CaState::Open,
            prior_state: CaState::Open,
            prior_cwnd: 0,
            conserving: false,
            least_rtt: Duration::MAX,
            restarting: false,
            restarts: 0,
            app_limited: true,
            in_flight: Bytes::ZERO,
            undos: 0,
            delivered_at: 0,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
        };
        bbr.pace_by_window(Duration::ZERO);
        bbr
    }

    /// The bandwidth that counts.
    pub(super) fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or_else(|| self.max_bw.get())
    }

    pub(super) fn packets(&self, amount: Bytes) -> u64 {
        // Most ACKs deliver one packet.
        if amount == self.mss { 1 } else { amount.get().div_ceil(self.mss.get()) }
    }

    /// The kernel's coarse clock.
    pub(super) fn ticks(&self, path: &PathView) -> u64 {
        self.ticks_of(path.now.since_start())
    }

    pub(super) fn ticks_of(&self, duration: Duration) -> u64 {
        duration.as_nanos() / self.tick.as_nanos().max(1)
    }
}

impl CongestionControl for Bbr {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            feedback: Feedback::None,
            rate_samples: true,
            loss_reports: true,
            states: true,
            every_ack: true,
            own_window: true,
            send_buffer_windows: 3,
            ..Needs::default()
        }
    }

    fn on_established(&mut self, path: &PathView) {
        self.min_rtt = Some(path.min_rtt).filter(|rtt| !rtt.is_zero()).map(span);
        self.min_rtt_at = self.ticks(path);
        self.least_rtt = path.min_rtt;
        self.delivered_at = micros(path.now);
        self.aggregation.restart(self.delivered_at);
        self.pace_by_window(path.srtt);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        if ack.newly_delivered > Bytes::ZERO {
            self.delivered_at = micros(path.now);
        }
        self.least_rtt = path.min_rtt;
        (self.delivered, self.lost, self.app_limited) = (ack.delivered, ack.lost, ack.app_limited);
        self.in_flight = path.in_flight;
        let facts = Facts {
            ack,
            path,
            acked: self.packets(ack.newly_delivered),
            losses: if ack.newly_lost == Bytes::ZERO { 0 } else { self.packets(ack.newly_lost) },
            in_flight: path.in_flight / self.mss,
        };
        self.update_bandwidth(&facts);
        self.update_aggregation(&facts);
        self.update_cycle(&facts);
        self.check_full_pipe(&facts);
        self.check_drain(&facts);
        self.update_min_rtt(&facts);
        self.update_gains();
        self.set_pace(self.pacing_gain, path.srtt);
        self.set_cwnd(&facts);
    }

    /// The window is saved; it changes with the ACK. An echo of CE changes nothing, but the sender answers with CWR, as
    /// Linux does.
    fn on_congestion(&mut self, _event: &CongestionEvent, _path: &PathView) -> bool {
        self.save_cwnd();
        true
    }

    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        if new_episode {
            self.save_cwnd();
        }
        self.cwnd = path.in_flight / self.mss + 1;
    }

    fn on_lost(&mut self, segment: &LostSegment, _path: &PathView) {
        self.lost = segment.lost;
    }

    /// A timeout ends a round, and the bandwidth is looked for again.
    fn on_state(&mut self, state: CaState, _path: &PathView) {
        self.state = state;
        if state == CaState::Loss {
            self.prior_state = state;
            self.full_bw = Bandwidth::ZERO;
            self.round_start = true;
            self.look_for_policer(true, false);
        }
    }

    /// After an idle time there is no need for more than the bandwidth.
    fn on_tx_start(&mut self, _idle: Duration, path: &PathView) {
        // A sender that samples rates counts from here.
        self.delivered_at = micros(path.now);
        if !self.app_limited {
            return;
        }
        self.restarts += u64::from(!self.restarting);
        self.restarting = true;
        self.aggregation.restart(self.delivered_at);
        match self.mode {
            Mode::ProbeBw => self.set_pace(Gain::ONE, path.srtt),
            Mode::ProbeRtt => self.end_probe_rtt(self.ticks(path)),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Only a SYN that was lost leads here.
    fn on_cwnd_validation(&mut self, cwnd: Bytes, path: &PathView) {
        self.cwnd = (cwnd / self.mss).max(1);
        self.pace_by_window(path.srtt);
    }

    /// The slow-down was not the path's.
    fn on_undo(&mut self, _path: &PathView) {
        self.undos += 1;
        self.full_bw = Bandwidth::ZERO;
        self.full_bw_rounds = 0;
        self.policer.reset(&self.policer_sample(false, false));
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.mss * self.cwnd,
            ssthresh: self.ssthresh.map_or(Bytes::MAX, |packets| self.mss * packets),
            pacing: self.pacing(),
            send_quantum: Some(self.mss * bursts::size(self.pacing_rate, self.least_rtt, self.mss)),
            app_limited: self.mutes_samples,
            phase: if self.mode == Mode::Startup { Phase::SlowStart } else { Phase::CongestionAvoidance },
        }
    }

    fn cwnd(&self) -> Bytes {
        self.mss * self.cwnd
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(Rate::from_bits_per_sec(self.pacing_rate.saturating_mul(8).max(1)))
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("mode", f64::from(self.mode as u8));
        out("cycle_phase", if self.mode == Mode::ProbeBw { self.phase as f64 } else { f64::NAN });
        out("pacing_gain", self.pacing_gain.as_f64());
        out("cwnd_gain", self.cwnd_gain.as_f64());
        out("bw_bit_per_s", self.bandwidth().bits_per_second(self.mss));
        out("max_bw_bit_per_s", self.max_bw.get().bits_per_second(self.mss));
        out("full_bw_bit_per_s", self.full_bw.bits_per_second(self.mss));
        out("full_bw_reached", f64::from(u8::from(self.full)));
        out("min_rtt_s", self.min_rtt.map_or(f64::NAN, |rtt| rtt as f64 / 1e6));
        out("rounds", f64::from(self.rounds));
        out("extra_acked_bytes", (self.mss * self.aggregation.extra()).as_f64());
        out(
            "policer_bw_bit_per_s",
            self.policer.bandwidth().map_or(f64::NAN, |bw| bw.bits_per_second(self.mss)),
        );
        out("prior_cwnd_packets", self.prior_cwnd as f64);
        out("conserving", f64::from(u8::from(self.conserving)));
        out("full_bw_count", f64::from(self.full_bw_rounds));
        out("restarts", self.restarts as f64);
        let searches = self.mode == Mode::ProbeRtt;
        out("probe_rtt_cwnd_bytes", if searches { (self.mss * LEAST_CWND).as_f64() } else { f64::NAN });
        out("in_flight_bytes", self.in_flight.as_f64());
        out("cwnd_bytes", (self.mss * self.cwnd).as_f64());
        out("app_limited", f64::from(u8::from(self.app_limited)));
        out("undos", self.undos as f64);
    }
}
