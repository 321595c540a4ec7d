//! The events of NADA, and its reference rate. Rates are in bits per second, times in seconds.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::log::Log;
use super::params::NadaParams;
use super::signal::{LeastOfLast, aggregate, overdue, perceived};
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::loss_history::{Congested, LossHistory};
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{AckSample, CongestionEvent, Delivery, FlowInit, LostSegment, MediaFrame, PathView};

/// `DFILT`: the delay of the filter over fifteen packets.
const DFILT: f64 = 0.12;
/// `ALPHA`: the gain of the averages of losses and marks.
const ALPHA: f64 = 0.1;
/// `BETA_V` and `BETA_S`: what of the waiting data lowers the encoder's rate, and raises that of departures.
const BETA_V: f64 = 0.1;
const BETA_S: f64 = 0.1;
/// The rate before the source has told its range: the RFC's `RMIN` and `RMAX`.
const RMIN: f64 = 150e3;
const RMAX: f64 = 1.5e6;
/// The window bounds nothing but what a path without feedback would be sent: it is this many seconds of the rate.
const WINDOW: f64 = 2.0;

/// NADA.
#[derive(Debug)]
pub(super) struct Nada {
    params: NadaParams,
    mss: Bytes,
    /// `r_ref`.
    rate: f64,
    /// `RMIN` and `RMAX`.
    least: f64,
    most: f64,
    /// The time between frames.
    period: f64,
    /// How long the oldest data waited when the last frame came.
    waited: f64,
    log: Log,
    filter: LeastOfLast,
    /// `d_base`.
    base: f64,
    /// `d_queue`, filtered.
    queued: f64,
    lost: f64,
    marked: f64,
    losses: LossHistory,
    /// Packets that arrived or were lost.
    packets: f64,
    /// `x_curr` at the last update.
    signal: f64,
    updated: Option<Time>,
    ramps_up: bool,
}

impl Nada {
    pub(super) fn new(params: NadaParams, init: FlowInit) -> Nada {
        Nada {
            params,
            mss: init.mss,
            rate: RMIN,
            least: RMIN,
            most: RMAX,
            period: 1.0 / 30.0,
            waited: 0.0,
            log: Log::new(),
            filter: LeastOfLast::new(),
            base: f64::INFINITY,
            queued: 0.0,
            lost: 0.0,
            marked: 0.0,
            losses: LossHistory::new(8, true),
            packets: 0.0,
            signal: 0.0,
            updated: None,
            ramps_up: true,
        }
    }

    /// A delay of the data's way, or the round trip where the transport knows no other.
    fn measure(&mut self, ack: &AckSample) {
        let Some(delay) = ack.one_way.or(ack.rtt) else { return };
        let delay = delay.as_secs_f64();
        self.base = self.base.min(delay);
        self.queued = self.filter.update(delay) - self.base;
        self.log.queued(delay - self.base);
    }

    /// Every `DELTA`: the averages, the signal, and the rate.
    fn update(&mut self, path: &PathView) {
        let Some(last) = self.updated else {
            self.updated = Some(path.now);
            return;
        };
        let passed = path.now.since(last);
        if passed < self.params.delta {
            return;
        }
        self.updated = Some(path.now);
        let (lost, marked) = self.log.shares();
        self.lost += ALPHA * (lost - self.lost);
        self.marked += ALPHA * (marked - self.marked);
        let mean = 1.0 / self.losses.event_rate(self.packets).max(f64::MIN_POSITIVE);
        let overdue = overdue(self.losses.open(self.packets), mean, &self.params);
        let before = std::mem::replace(
            &mut self.signal,
            aggregate(perceived(self.queued, overdue, &self.params), self.lost, self.marked, &self.params),
        );
        self.ramps_up = self.log.is_calm(self.params.qeps.as_secs_f64());
        let rate = if self.ramps_up { self.accelerated(path) } else { self.gradual(before, passed) };
        self.rate = rate.clamp(self.least, self.most);
    }

    /// Equations 3 and 4.
    fn accelerated(&self, path: &PathView) -> f64 {
        let feedback = path.srtt.as_secs_f64() + self.params.delta.as_secs_f64() + DFILT;
        let gamma = self.params.gamma_max.min(self.params.qbound.as_secs_f64() / feedback);
        self.rate.max((1.0 + gamma) * self.log.rate(path.now))
    }

    /// Equations 5 to 7.
    fn gradual(&self, before: f64, passed: Duration) -> f64 {
        let NadaParams { prio, kappa, eta, .. } = self.params;
        let (xref, tau) = (self.params.xref.as_secs_f64(), self.params.tau.as_secs_f64());
        let offset = self.signal - prio * xref * self.most / self.rate;
        let change = self.signal - before;
        self.rate * (1.0 - kappa * (passed.as_secs_f64() / tau) * (offset / tau) - kappa * eta * change / tau)
    }

    /// What of the rate the data that wait at the sender take from the encoder, or add to departures (equations 8 and 9): they fill
    /// `waited` of the rate, and a frame has a `period`.
    fn shaped(&self, beta: f64) -> f64 {
        beta * self.rate * self.waited / self.period
    }
}

impl CongestionControl for Nada {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            feedback: Feedback::Counts,
            loss_reports: true,
            delivery_reports: true,
            one_way: true,
            own_window: true,
            media: true,
            ..Needs::default()
        }
    }

    fn on_frame(&mut self, frame: &MediaFrame, _path: &PathView) {
        self.least = frame.least.bits_per_sec() as f64;
        self.most = frame.most.bits_per_sec() as f64;
        self.period = frame.period.as_secs_f64();
        self.waited = frame.waited.as_secs_f64();
        self.rate = self.rate.clamp(self.least, self.most);
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathView) {
        self.log.advance(path.now);
        let (arrived, marked) = (delivery.delivered, delivery.ecn.ce.packets);
        self.log.arrived(arrived.bytes, arrived.packets, marked, path.now);
        self.packets += f64::from(arrived.packets);
    }

    fn on_lost(&mut self, segment: &LostSegment, path: &PathView) {
        self.log.advance(path.now);
        self.log.lost();
        self.packets += 1.0;
        let packet = Congested { sent: segment.departure.sent, number: self.packets };
        let so_far = self.packets;
        self.losses.congested(packet, path.srtt, || so_far);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        self.log.advance(path.now);
        self.measure(ack);
        self.update(path);
    }

    /// Losses and marks are in the signal.
    fn on_congestion(&mut self, _event: &CongestionEvent, _path: &PathView) -> bool {
        false
    }

    /// Section 4.3: without feedback for some time, the least rate.
    fn on_rto(&mut self, _new_episode: bool, _path: &PathView) {
        self.rate = self.least;
    }

    fn control(&self) -> Control {
        let phase = if self.ramps_up { Phase::SlowStart } else { Phase::CongestionAvoidance };
        Control { pacing: self.pacing(), phase, ..Control::window(self.cwnd()) }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::from_f64(WINDOW * self.most / 8.0).max(self.mss * 10)
    }

    fn pacing(&self) -> Pacing {
        let rate = (self.rate + self.shaped(BETA_S)).min(self.most);
        Pacing::Rate(Rate::from_bits_per_sec(rate as u64))
    }

    fn target_bitrate(&self) -> Option<Rate> {
        let rate = (self.rate - self.shaped(BETA_V)).max(self.least);
        Some(Rate::from_bits_per_sec(rate as u64))
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        Some(ExitReason::Unused)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("reference_rate_bits_per_s", self.rate);
        out("signal_s", self.signal);
        out("queued_s", self.queued);
        out("loss_share", self.lost);
        out("mark_share", self.marked);
        out("ramps_up", f64::from(u8::from(self.ramps_up)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nada() -> Nada {
        Nada::new(NadaParams::default(), FlowInit::new(Bytes::new(1200)))
    }

    fn path(rtt_ms: u64) -> PathView {
        PathView {
            now: Time::ZERO + Duration::SECOND,
            srtt: Duration::from_millis(rtt_ms),
            ..PathView::of_segments(0, 0)
        }
    }

    /// spec/ccwg-2026 section K.2: with a round trip of 100 ms gamma is 50 / 320, with 10 s 50 / 10220; a half at most.
    #[test]
    fn ramp_up_is_bounded_by_the_queue_that_it_may_build() {
        for (rtt, gamma) in [(100, 0.15625), (10_000, 50.0 / 10_220.0)] {
            let mut nada = nada();
            nada.log.advance(Time::ZERO + Duration::SECOND);
            nada.log.arrived(Bytes::new(50_000), 40, 0, Time::ZERO);
            let arrives = nada.log.rate(path(rtt).now);
            assert!((arrives - 800e3).abs() < 1.0, "{arrives}");
            assert!((nada.accelerated(&path(rtt)) / arrives - 1.0 - gamma).abs() < 1e-9);
        }
        let mut short = nada();
        short.params.delta = Duration::from_millis(1);
        short.params.qbound = Duration::SECOND;
        short.log.arrived(Bytes::new(50_000), 40, 0, Time::ZERO);
        assert!((short.accelerated(&path(1)) / short.log.rate(path(1).now) - 1.5).abs() < 1e-9);
    }

    /// Section K.2: 1 of 1.5 Mbit/s at 15 ms is a fixed point; at 65 ms the rate falls by 1 % in an update, and a rise by 10 ms takes 2 %
    /// in addition.
    #[test]
    fn gradual_updates() {
        let mut nada = Nada { rate: 1e6, ..nada() };
        for (signal, before, expected) in
            [(0.015, 0.015, 1e6), (0.065, 0.065, 0.99e6), (0.065, 0.055, 0.97e6)]
        {
            nada.signal = signal;
            let rate = nada.gradual(before, Duration::from_millis(100));
            assert!((rate - expected).abs() < 1.0, "{rate}, not {expected}");
        }
    }

    /// Data that wait for a frame's time take a tenth from the encoder, and add a tenth to departures.
    #[test]
    fn waiting_data_are_shaped() {
        let nada = Nada { rate: 1e6, waited: 1.0 / 30.0, ..nada() };
        assert_eq!(nada.target_bitrate(), Some(Rate::from_bits_per_sec(900_000)));
        assert_eq!(nada.pacing(), Pacing::Rate(Rate::from_bits_per_sec(1_100_000)));
    }
}
