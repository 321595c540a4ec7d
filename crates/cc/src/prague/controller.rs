//! The rules of Prague.
//!
//! Windows are real numbers of segments, rates real numbers of bytes per second of IP packets; the sender is told the rate of
//! payload. cwnd is what the module calls `snd_cwnd`: whole segments that follow the fractional window, one step for each ACK.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::average::Average;
use super::params::{PragueMode, PragueParams, PragueVariant};
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::hold_off::HoldOff;
use crate::sample::{AckSample, CongestionEvent, FlowInit, Marked, PathView, Trigger};

/// The packet in which the increase is counted, so that flows with smaller ones are not slower.
const FULL_PACKET: f64 = 1500.0;
/// The least rate, in bytes per second: 100 kbit/s.
const LEAST_RATE: f64 = 12_500.0;
/// The least window, in segments.
const LEAST_CWND: u64 = 2;
/// Above this round trip the increase is not scaled.
const LONGEST_SCALED: Duration = Duration::from_millis(100);
/// By how much the pace is above its mean in the first half of a round, and below it in the second.
const DITHER: f64 = 4.0 / 128.0;
/// The gain of the long-term average of the round trip, at each round.
const RTT_GAIN: f64 = 1.0 / 128.0;

/// TCP Prague.
#[derive(Debug)]
pub(super) struct Prague {
    params: PragueParams,
    mss: Bytes,
    /// The size of a full packet.
    mtu: f64,
    cwnd: u64,
    ssthresh: u64,
    /// The fractional window, in segments.
    window: f64,
    /// In bytes per second.
    rate: f64,
    by_rate: bool,
    /// The increase per round trip, in full packets.
    increase: f64,
    average: Average,
    /// The averaged round trip, in seconds.
    rtt: f64,
    saw_ce: bool,
    in_loss: bool,
    hold_off: HoldOff,
    answered: Option<Time>,
    /// cwnd and rate before the last loss.
    undo: Option<(u64, f64)>,
    /// How often losses turned out to have been none.
    undos: u64,
    pace: f64,
    burst: u64,
    exit: Option<ExitReason>,
}

impl Prague {
    pub(super) fn new(params: PragueParams, init: FlowInit) -> Prague {
        let cwnd = (init.iw / init.mss).max(1);
        let alpha = if params.variant == PragueVariant::Draft { 1.0 } else { 0.0 };
        Prague {
            by_rate: params.prague_cwnd_mode == PragueMode::Rate,
            params,
            mss: init.mss,
            mtu: init.mtu.as_f64(),
            cwnd,
            ssthresh: u64::MAX,
            window: cwnd as f64,
            rate: LEAST_RATE,
            increase: 1.0,
            average: Average::new(alpha),
            rtt: 0.0,
            saw_ce: false,
            in_loss: false,
            hold_off: HoldOff::new(),
            answered: None,
            undo: None,
            undos: 0,
            pace: 0.0,
            burst: 1,
            exit: None,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The flow behaves as if it had the round trip of the target.
    fn is_independent(&self) -> bool {
        !self.in_slow_start() && self.average.rounds >= self.params.prague_rtt_transition
    }

    /// The fractional window is below the least cwnd, which the pace then leaves unused whatever the application sends. The
    /// module shortens packets there (rule 8), so that two fill the window; segments of full size must grow without.
    fn is_below_least_cwnd(&self) -> bool {
        self.window < LEAST_CWND as f64
    }

    fn is_rate_governed(&self) -> bool {
        self.by_rate && self.is_independent()
    }

    /// The round trip as which the flow behaves, in seconds.
    fn virtual_rtt(&self, path: &PathView) -> f64 {
        path.srtt.max(self.params.prague_rtt_target).as_secs_f64()
    }

    /// The window that the rate fills in the averaged round trip.
    fn window_of_rate(&self, path: &PathView) -> f64 {
        let rtt = if self.rtt > 0.0 { self.rtt } else { path.srtt.as_secs_f64() };
        self.rate * rtt / self.mtu
    }

    fn rate_of(&self, segments: f64, path: &PathView) -> f64 {
        if path.srtt.is_zero() {
            LEAST_RATE
        } else {
            (segments * self.mtu / path.srtt.as_secs_f64()).max(LEAST_RATE)
        }
    }

    /// Rule 1's increase, as the present round trip and round want it.
    fn scale_increase(&mut self, path: &PathView) {
        let target = self.params.prague_rtt_target;
        let unscaled = self.average.rounds < self.params.prague_rtt_transition
            || path.srtt.is_zero()
            || path.srtt > LONGEST_SCALED
            || path.srtt >= target;
        let ratio = path.srtt.ratio(target);
        self.increase = if unscaled { 1.0 } else { ratio * ratio };
    }

    /// Rules 1 and 2: growth by the segments that arrived unmarked.
    fn grow(&mut self, ack: &AckSample, path: &PathView) {
        let delivered = ack.newly_delivered / self.mss;
        let mut unmarked = delivered.saturating_sub(ack.ecn.ce.packets.into());
        if ack.ecn.ce.any() && !std::mem::replace(&mut self.saw_ce, true) && self.average.alpha() == 0.0 {
            self.window /= 2.0;
            // This ACK grows nothing, or slow start would undo it.
            return;
        }
        let limit = ack.reached_flight_limit(path.mss * self.cwnd, self.in_slow_start());
        let unused = ack.window_unused || limit;
        if unmarked == 0 || self.in_loss || (unused && !self.is_below_least_cwnd()) {
            return;
        }
        if self.in_slow_start() {
            let growth = unmarked.min(self.ssthresh - self.cwnd);
            self.cwnd += growth;
            self.window = self.cwnd as f64;
            unmarked -= growth;
            if unmarked == 0 {
                self.scale_increase(path);
                return;
            }
        }
        let n = unmarked as f64;
        if self.is_rate_governed() {
            let rtt = self.virtual_rtt(path);
            let window = libm::ceil(self.rate * rtt / self.mtu).max(1.0);
            self.rate += n * FULL_PACKET / rtt / window;
            self.window = self.window.max(self.window_of_rate(path));
        } else {
            self.window += n * self.increase / self.window * (FULL_PACKET / self.mtu);
            self.rate = self.rate.max(self.rate_of(self.window, path));
        }
    }

    /// Rule 5: cwnd follows the fractional window by one segment.
    fn follow(&mut self, path: &PathView) {
        let target = (libm::ceil(self.window) as u64).max(LEAST_CWND);
        if self.cwnd == target {
            return;
        }
        if self.cwnd < target {
            self.cwnd += 1;
        } else {
            if self.in_slow_start() {
                self.exit.get_or_insert(if self.saw_ce { ExitReason::Ce } else { ExitReason::Loss });
            }
            self.cwnd -= 1;
            self.ssthresh = self.cwnd;
        }
        self.scale_increase(path);
    }

    /// Rule 3: the share of a round enters the average.
    fn update_average(&mut self, path: &PathView) {
        let target = self.params.prague_rtt_target;
        let early = self.is_independent() && path.now.since(self.average.updated) < target;
        if !self.average.is_over(path.una) || early {
            return;
        }
        if self.saw_ce {
            self.average.update(path.now);
        }
        let srtt = path.srtt.as_secs_f64();
        self.rtt = if self.rtt > 0.0 { self.rtt + RTT_GAIN * (srtt - self.rtt) } else { srtt };
        let in_slow_start = self.in_slow_start();
        self.average.start_round(path.nxt, in_slow_start);
        self.scale_increase(path);
    }

    /// Rule 7: the pace, and the largest burst.
    fn update_pace(&mut self, path: &PathView) {
        let mut pace = if self.is_rate_governed() {
            let half = self.virtual_rtt(path) / 2.0;
            let late = path.now.since(self.average.updated).as_secs_f64() >= half;
            self.rate * if late { 1.0 - DITHER } else { 1.0 + DITHER }
        } else {
            let in_flight = (path.in_flight / self.mss) as f64;
            self.rate = self.rate_of(libm::floor(self.window).max(in_flight), path);
            self.rate
        };
        if self.cwnd < self.ssthresh / 2 {
            pace *= 2.0;
        }
        self.burst = ((pace / self.mtu) as u64 >> self.params.prague_burst_shift).max(1);
        self.pace = pace * self.mss.as_f64() / self.mtu;
    }

    /// Small windows of flows that have seen marks are governed by the rate.
    fn switch_mode(&mut self, path: &PathView) {
        if self.params.prague_cwnd_mode != PragueMode::Switch {
            return;
        }
        let small = self.cwnd as f64 * self.mtu <= f64::from(self.params.prague_cwnd_transit) * FULL_PACKET;
        self.by_rate = self.saw_ce && small;
        if self.by_rate {
            self.window = self.window_of_rate(path);
        } else {
            self.rate = self.rate_of(self.window, path);
        }
    }

    /// Leaves a part of the rate or of the window.
    fn reduce(&mut self, kept: f64, path: &PathView) {
        if self.is_rate_governed() {
            self.rate = (self.rate * kept).max(LEAST_RATE);
            self.window = self.window_of_rate(path);
        } else {
            self.window *= kept;
            self.rate = self.rate_of(self.window, path);
        }
    }

    /// Rule 4: the answer to CE, once per round and, independent of the round trip, not before the target is over (the draft: the
    /// longer of target and smoothed round trip). In the module a mark within the target starts a round nevertheless, since
    /// the sender has entered CWR; the next answer is late by up to one.
    fn on_ce(&mut self, path: &PathView) -> bool {
        if !self.hold_off.allows(path.una) {
            return false;
        }
        let module = self.params.variant == PragueVariant::Linux;
        let target = self.params.prague_rtt_target;
        let least = if module { target } else { path.srtt.max(target) };
        let early = self.is_independent() && self.answered.is_some_and(|last| path.now.since(last) < least);
        if !early || module {
            self.hold_off.start(path.nxt);
        }
        if early {
            return false;
        }
        self.answered = Some(path.now);
        let kept = if self.params.classic_fallback { 0.5 } else { 1.0 - self.average.alpha() / 2.0 };
        self.reduce(kept, path);
        kept < 1.0
    }

    /// Rule 6: a loss halves, and nothing grows until it is repaired.
    fn on_loss(&mut self, path: &PathView) {
        self.undo = Some((self.cwnd, self.rate));
        self.reduce(0.5, path);
        self.in_loss = true;
    }
}

impl CongestionControl for Prague {
    fn on_established(&mut self, path: &PathView) {
        self.average.updated = path.now;
        self.rtt = path.srtt.as_secs_f64();
        self.average.start_round(path.nxt, true);
        self.update_pace(path);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        let packets = (ack.newly_delivered / self.mss) as u32;
        self.average.on_ack(Marked { bytes: ack.newly_delivered, packets }, ack.ecn.ce);
        self.grow(ack, path);
        self.follow(path);
        self.update_average(path);
        self.update_pace(path);
        self.switch_mode(path);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        match event.trigger {
            Trigger::Ce => self.on_ce(path),
            Trigger::Controller => false,
            Trigger::Loss => {
                self.on_loss(path);
                true
            }
        }
    }

    /// cwnd starts again from what is in flight, and follows the window from there.
    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        if new_episode {
            self.on_loss(path);
        }
        self.cwnd = path.in_flight / self.mss + 1;
    }

    fn on_cwnd_validation(&mut self, cwnd: Bytes, _path: &PathView) {
        // Only a SYN that was lost leads here.
        self.cwnd = (cwnd / self.mss).max(1);
        self.window = self.cwnd as f64;
    }

    fn on_undo(&mut self, path: &PathView) {
        self.undos += 1;
        self.in_loss = false;
        if let Some((cwnd, rate)) = self.undo.take() {
            self.rate = self.rate.max(rate);
            self.window = self.window_of_rate(path);
            self.cwnd = self.cwnd.max(cwnd);
        }
    }

    fn on_recovered(&mut self, _path: &PathView) {
        self.in_loss = false;
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.mss * self.cwnd,
            ssthresh: if self.ssthresh == u64::MAX { Bytes::MAX } else { self.mss * self.ssthresh },
            pacing: Pacing::Rate(Rate::from_bits_per_sec((self.pace * 8.0) as u64)),
            send_quantum: Some(self.mss * self.burst),
            app_limited: false,
            phase: if self.in_slow_start() { Phase::SlowStart } else { Phase::CongestionAvoidance },
        }
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", self.average.alpha());
        out("window_segments", self.window);
        out("rate_bytes_per_s", self.rate);
        out("increase_packets", self.increase);
        out("rounds", f64::from(self.average.rounds));
        out("by_rate", f64::from(u8::from(self.by_rate)));
        out("in_loss", f64::from(u8::from(self.in_loss)));
        out("undos", self.undos as f64);
        out("undo_cwnd_bytes", self.undo.map_or(f64::NAN, |(cwnd, _)| (self.mss * cwnd).as_f64()));
    }
}
