//! The rules of UDP Prague (`L4STeam/udp_prague` e8e343533a7c of 3 February 2026, `prague_cc.cpp`), the reference for QUIC and
//! real-time applications, with its constants.
//!
//! What differs from the Linux module: the flow starts from a rate of 100 kbit/s instead of a slow start, and alpha from 0. It is
//! independent of its round trip from the start: a signal is answered when both the round trip and the virtual one are over
//! since the last answer, and a mark without an answer delays nothing. The rate governs where a round trip says little: up to
//! 2 ms, or when it is shorter than the time from packet to packet. After rounds without a signal the increase is a millisecond
//! of the rate, if that is more than a packet. Every acknowledged packet that is not marked grows, used or not. The pace is 3 %
//! above the rate in the first half of a virtual round trip and below it in the second, and the window has room for that.
//!
//! Packets are of one size here. The reference shortens them below two in a virtual round trip (about 1 Mbit/s), and sends
//! without ECN if the marks turn out to be wrong.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::average::Average;
use super::params::PragueParams;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::hold_off::HoldOff;
use crate::sample::{AckSample, CongestionEvent, FlowInit, Marked, PathView, Trigger};

/// The rate at first, which is also the least, in bytes per second (`PRAGUE_INITRATE`, `PRAGUE_MINRATE`).
const LEAST_RATE: f64 = 12_500.0;
/// The largest (`PRAGUE_MAXRATE`).
const MOST_RATE: f64 = 12.5e9;
/// The least window, in packets (`MIN_PKT_WIN`).
const LEAST_CWND: u64 = 2;
/// Up to this round trip the rate governs: no queue can be told from noise.
const UNSTABLE_RTT: Duration = Duration::from_millis(2);
/// Virtual round trips without a signal before the increase is larger: these, and one for each step of the rate, in bytes per
/// second (`MIN_STEP`, `RATE_STEP`).
const LEAST_WAIT: i64 = 7;
const RATE_STEP: f64 = 1.92e6;
/// By how long the queue may grow in a virtual round trip from then on (`QUEUE_GROWTH`).
const QUEUE_GROWTH: f64 = 1e-3;
/// How long a burst lasts (`BURST_TIME`).
const BURST: f64 = 250e-6;
/// By how much the pace is above the rate, and below it (`RATE_OFFSET`).
const DITHER: f64 = 1.03;

/// What the flow is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was acknowledged yet, or since a timeout.
    Init,
    Avoidance,
    /// Since a loss.
    Loss,
    /// Since an answer to marks.
    Cwr,
}

/// What a loss took.
#[derive(Clone, Copy, Debug)]
struct Lost {
    by_rate: bool,
    /// Of the rate or of the window.
    amount: f64,
    /// Rounds that were added to the wait for a larger increase.
    rounds: i64,
}

/// UDP Prague.
#[derive(Debug)]
pub(super) struct UdpPrague {
    params: PragueParams,
    mss: Bytes,
    /// The size of a packet.
    size: f64,
    state: State,
    by_rate: bool,
    /// In bytes per second.
    rate: f64,
    /// In bytes.
    window: f64,
    cwnd: u64,
    average: Average,
    /// What was sent when alpha was last updated.
    measured: HoldOff,
    /// The round of the last answer, and its time.
    answered: HoldOff,
    answered_at: Time,
    /// Virtual round trips until the increase is larger.
    wait: i64,
    lost: Option<Lost>,
    /// How often losses turned out to have been none.
    undos: u64,
    pace: f64,
}

impl UdpPrague {
    pub(super) fn new(params: PragueParams, init: FlowInit) -> UdpPrague {
        UdpPrague {
            params,
            mss: init.mss,
            size: init.mss.as_f64(),
            state: State::Init,
            by_rate: false,
            rate: LEAST_RATE,
            window: init.iw.as_f64(),
            cwnd: (init.iw / init.mss).max(LEAST_CWND),
            average: Average::new(0.0),
            measured: HoldOff::new(),
            answered: HoldOff::new(),
            answered_at: Time::ZERO,
            wait: wait_of(LEAST_RATE),
            lost: None,
            undos: 0,
            pace: LEAST_RATE * DITHER,
        }
    }

    fn virtual_rtt(&self, path: &PathView) -> Duration {
        path.srtt.max(self.params.prague_rtt_target)
    }

    /// The round trip and the virtual one are over since the last answer.
    fn is_answer_over(&self, path: &PathView) -> bool {
        self.answered.allows(path.una) && path.now.since(self.answered_at) >= self.virtual_rtt(path)
    }

    fn start_answer(&mut self, state: State, path: &PathView) {
        self.state = state;
        self.answered.start(path.nxt);
        self.answered_at = path.now;
    }

    /// Whether the rate or the window counts. The rate stays the same where that changes.
    fn choose_mode(&mut self, path: &PathView) {
        let srtt = path.srtt.as_secs_f64();
        if self.state == State::Init {
            self.window = srtt * self.rate;
            self.state = State::Avoidance;
        }
        let was = self.by_rate;
        self.by_rate = path.srtt <= UNSTABLE_RTT || srtt <= self.size / self.rate;
        if was && !self.by_rate {
            self.window = srtt * self.rate;
        }
    }

    fn update_average(&mut self, path: &PathView) {
        let early = path.now.since(self.average.updated) < self.virtual_rtt(path);
        if early || !self.measured.allows(path.una) {
            return;
        }
        self.average.update(path.now);
        self.average.start_round(path.nxt, false);
        self.measured.start(path.nxt);
        self.wait = (self.wait - 1).max(0);
    }

    /// A loss halves. The increase is a packet until a flow with the target's round trip would have recovered.
    fn on_loss(&mut self, path: &PathView) {
        let target = self.params.prague_rtt_target.as_secs_f64();
        let packets = self.rate / 2.0 / self.size * target;
        let rounds = (packets * target / self.virtual_rtt(path).as_secs_f64()) as i64;
        let before = self.lost.map_or(0, |lost| lost.rounds);
        let added = (before + rounds - self.wait).min(rounds);
        self.wait = rounds;
        let governing = if self.by_rate { &mut self.rate } else { &mut self.window };
        let amount = *governing / 2.0;
        *governing -= amount;
        self.lost = Some(Lost { by_rate: self.by_rate, amount, rounds: added });
        self.start_answer(State::Loss, path);
    }

    /// What is added in a virtual round trip, in bytes.
    fn increment(&self) -> f64 {
        let queue = self.rate * QUEUE_GROWTH;
        if self.wait > 0 { self.size } else { queue.max(self.size) }
    }

    fn grow(&mut self, ack: &AckSample, path: &PathView) {
        let packets = (ack.newly_delivered / self.mss).saturating_sub(ack.ecn.ce.packets.into());
        if packets == 0 || self.state == State::Loss {
            return;
        }
        let (acked, rtt) = (packets as f64 * self.size, self.virtual_rtt(path).as_secs_f64());
        if self.by_rate {
            self.rate += acked * self.increment() / (self.rate * rtt * rtt);
        } else {
            let ratio = path.srtt.as_secs_f64() / rtt;
            self.window += acked * self.increment() * ratio * ratio / self.window;
        }
    }

    /// Marks are answered with half of alpha.
    fn reduce(&mut self, path: &PathView) {
        self.wait = wait_of(self.rate);
        let kept = if self.params.classic_fallback { 0.5 } else { 1.0 - self.average.alpha() / 2.0 };
        let governing = if self.by_rate { &mut self.rate } else { &mut self.window };
        *governing *= kept;
        self.start_answer(State::Cwr, path);
    }

    /// Rate and window agree again; what follows from them.
    fn settle(&mut self, path: &PathView) {
        let srtt = path.srtt.as_secs_f64();
        if !self.by_rate {
            self.rate = self.window / srtt;
        }
        self.rate = self.rate.clamp(LEAST_RATE, MOST_RATE);
        self.window = self.rate * srtt;
        self.cwnd = ((self.window * DITHER / self.size) as u64 + 1).max(LEAST_CWND);
        let late = path.now.since(self.average.updated) >= self.virtual_rtt(path) / 2;
        self.pace = if late { self.rate / DITHER } else { self.rate * DITHER };
    }
}

/// Virtual round trips without a signal, at this rate, before the increase is larger.
fn wait_of(rate: f64) -> i64 {
    (rate / RATE_STEP) as i64 + LEAST_WAIT
}

impl CongestionControl for UdpPrague {
    fn on_established(&mut self, path: &PathView) {
        self.average.updated = path.now;
        self.measured.start(path.nxt);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        if path.srtt.is_zero() {
            return;
        }
        let packets = (ack.newly_delivered / self.mss) as u32;
        self.average.on_ack(Marked { bytes: ack.newly_delivered, packets }, ack.ecn.ce);
        self.choose_mode(path);
        self.update_average(path);
        if self.state == State::Loss && self.is_answer_over(path) {
            self.state = State::Avoidance;
        }
        if ack.newly_lost > Bytes::ZERO && self.state != State::Loss {
            self.on_loss(path);
        }
        self.grow(ack, path);
        if self.state == State::Cwr && self.is_answer_over(path) {
            self.state = State::Avoidance;
        }
        if ack.ecn.ce.any() && self.state == State::Avoidance {
            self.reduce(path);
        }
        self.settle(path);
    }

    /// Marks are answered with their ACK, whose work updates the average first. Losses that a timer finds are answered here.
    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        match event.trigger {
            Trigger::Ce => {
                let over = matches!(self.state, State::Init | State::Avoidance) || self.is_answer_over(path);
                over && (self.params.classic_fallback || self.average.alpha() > 0.0)
            }
            Trigger::Controller => false,
            Trigger::Loss => {
                let answers = self.state != State::Loss || self.is_answer_over(path);
                if answers && !path.srtt.is_zero() {
                    self.on_loss(path);
                    self.settle(path);
                }
                answers
            }
        }
    }

    /// The flow starts again, from one packet and the initial rate (`ResetCCInfo`).
    fn on_rto(&mut self, _new_episode: bool, path: &PathView) {
        self.state = State::Init;
        self.by_rate = false;
        self.average = Average::new(0.0);
        self.average.updated = path.now;
        self.measured.start(path.nxt);
        self.rate = LEAST_RATE;
        self.window = self.size;
        self.cwnd = LEAST_CWND;
        self.wait = wait_of(LEAST_RATE);
        self.lost = None;
        self.pace = LEAST_RATE * DITHER;
    }

    fn on_cwnd_validation(&mut self, cwnd: Bytes, _path: &PathView) {
        // Only a SYN that was lost leads here.
        self.cwnd = (cwnd / self.mss).max(1);
    }

    /// What the loss took returns, once.
    fn on_undo(&mut self, path: &PathView) {
        self.undos += 1;
        let Some(lost) = self.lost.take() else { return };
        self.by_rate = lost.by_rate;
        let governing = if lost.by_rate { &mut self.rate } else { &mut self.window };
        *governing += lost.amount;
        self.wait = (self.wait - lost.rounds).max(0);
        self.state = State::Avoidance;
        self.settle(path);
    }

    fn control(&self) -> Control {
        let burst = (self.rate * BURST / self.size) as u64;
        Control {
            cwnd: self.mss * self.cwnd,
            ssthresh: Bytes::MAX,
            pacing: Pacing::Rate(Rate::from_bits_per_sec((self.pace * 8.0) as u64)),
            send_quantum: Some(self.mss * burst.max(1)),
            app_limited: false,
            phase: Phase::CongestionAvoidance,
        }
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        Some(ExitReason::Unused)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", self.average.alpha());
        out("window_segments", self.window / self.size);
        out("rate_bytes_per_s", self.rate);
        out("increase_packets", self.increment() / self.size);
        out("rounds", f64::from(self.average.rounds));
        out("by_rate", f64::from(u8::from(self.by_rate)));
        out("in_loss", f64::from(u8::from(self.state == State::Loss)));
        out("rounds_to_growth", self.wait as f64);
        out("undos", self.undos as f64);
    }
}
