//! The events of NADA, and its reference rate. Rates are in bits per second, times in seconds.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::log::Log;
use super::params::NadaParams;
use super::signal::{LeastOfLast, aggregate, overdue, perceived};
use crate::backstop::backstop;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::hold_off::HoldOff;
use crate::loss_history::{Congested, LossHistory};
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{
    AckSample, CongestionEvent, Delivery, FlowInit, LostSegment, MediaFrame, PathView, Trigger,
};

/// `DFILT`: the delay of the filter over fifteen packets.
const DFILT: f64 = 0.12;
/// `ALPHA`: the gain of the averages of losses and marks.
const ALPHA: f64 = 0.1;
/// `BETA_V` and `BETA_S`: what of the waiting data lowers the encoder's rate, and raises that of departures.
const BETA_V: f64 = 0.1;
const BETA_S: f64 = 0.1;
/// Data that wait change the rates of the encoder and of departures by at most this part of the reference rate.
const MOST_SHAPING: f64 = 0.05;
/// The range without a source that has told its own: the RFC's `RMIN` and `RMAX`.
const RMIN: f64 = 150e3;
const RMAX: f64 = 1.5e6;

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
    /// The last frame of the source; none for other data.
    frame: Option<MediaFrame>,
    log: Log,
    filter: LeastOfLast,
    /// `d_base`.
    base: Option<Duration>,
    /// `d_queue`, filtered.
    queued: Duration,
    lost: f64,
    marked: f64,
    losses: LossHistory,
    /// Packets that arrived or were lost.
    packets: f64,
    /// Those that arrived since the last delay was measured.
    unmeasured: u32,
    /// Set where the transport echoes a mark until it hears of the answer: a round's echoes are one mark.
    echoes: Option<HoldOff>,
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
            frame: None,
            log: Log::new(),
            filter: LeastOfLast::new(),
            base: None,
            queued: Duration::ZERO,
            lost: 0.0,
            marked: 0.0,
            losses: LossHistory::new(8, false),
            packets: 0.0,
            unmeasured: 0,
            echoes: None,
            signal: 0.0,
            updated: None,
            ramps_up: true,
        }
    }

    /// A delay of the data's way, or the round trip where the transport knows no other.
    fn measure(&mut self, ack: &AckSample, now: Time) {
        let Some(delay) = ack.one_way.or(ack.rtt) else { return };
        let base = self.base.map_or(delay, |base| base.min(delay));
        self.base = Some(base);
        let packets = std::mem::take(&mut self.unmeasured) as usize;
        self.queued = self.filter.update(delay, packets, now).saturating_sub(base);
        self.log.queued(delay - base);
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
        let intervals = self.losses.open(self.packets).zip(self.losses.closed_mean());
        let overdue = overdue(intervals, &self.params);
        let before = std::mem::replace(
            &mut self.signal,
            aggregate(
                perceived(self.queued.as_secs_f64(), overdue, &self.params),
                self.lost,
                self.marked,
                &self.params,
            ),
        );
        self.ramps_up = self.log.is_calm(self.params.qeps);
        let rate = if self.ramps_up { self.accelerated(path) } else { self.gradual(before, passed) };
        self.rate = rate.clamp(self.least, self.most);
    }

    /// Equations 3 and 4.
    fn accelerated(&self, path: &PathView) -> f64 {
        let feedback = path.srtt.as_secs_f64() + self.params.delta.as_secs_f64() + DFILT;
        let gamma = self.params.gamma_max.min(self.params.qbound.as_secs_f64() / feedback);
        self.rate.max((1.0 + gamma) * self.log.rate())
    }

    /// Equations 5 to 7.
    fn gradual(&self, before: f64, passed: Duration) -> f64 {
        let NadaParams { prio, kappa, eta, .. } = self.params;
        let (xref, tau) = (self.params.xref.as_secs_f64(), self.params.tau.as_secs_f64());
        let offset = self.signal - prio * xref * self.most / self.rate;
        let change = self.signal - before;
        self.rate * (1.0 - kappa * (passed.as_secs_f64() / tau) * (offset / tau) - kappa * eta * change / tau)
    }

    /// What of the rate the data that wait at the sender take from the encoder, or add to departures (section 5.2.2): they are what
    /// the rate sends while the oldest waited, and there is a frame in each `period`.
    fn shaped(&self, beta: f64) -> f64 {
        self.frame.map_or(0.0, |frame| {
            let frames = frame.waited.as_secs_f64() / frame.period.as_secs_f64();
            self.rate * (beta * frames).min(MOST_SHAPING)
        })
    }
}

impl CongestionControl for Nada {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            feedback: Feedback::Classic,
            loss_reports: true,
            delivery_reports: true,
            one_way: true,
            own_window: true,
            media: true,
            ..Needs::default()
        }
    }

    fn on_negotiated(&mut self, heard: Feedback) {
        self.echoes = (heard == Feedback::Classic).then(HoldOff::new);
    }

    /// The reference rate is the source's lowest at first.
    fn on_frame(&mut self, frame: &MediaFrame, _path: &PathView) {
        self.least = frame.least.bits_per_sec() as f64;
        self.most = frame.most.bits_per_sec() as f64;
        let rate = if self.frame.is_none() { self.least } else { self.rate };
        self.rate = rate.clamp(self.least, self.most);
        self.frame = Some(*frame);
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathView) {
        self.log.advance(path.now);
        let arrived = delivery.delivered;
        self.log.arrived(arrived.bytes, arrived.packets, path.now);
        if self.echoes.is_none() {
            self.log.marked(delivery.ecn.ce.packets);
        }
        self.packets += f64::from(arrived.packets);
        self.unmeasured = self.unmeasured.saturating_add(arrived.packets);
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
        self.measure(ack, path.now);
        self.update(path);
    }

    /// Losses and marks are in the signal. An echo is answered, or it does not end.
    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        let Some(echoes) = &mut self.echoes else { return false };
        let new = event.trigger == Trigger::Ce && echoes.allows(path.una);
        if new {
            echoes.start(path.nxt);
            self.log.advance(path.now);
            self.log.marked(1);
        }
        new
    }

    /// Without any feedback for so long the path may carry nothing: the lowest rate.
    fn on_rto(&mut self, _new_episode: bool, _path: &PathView) {
        self.rate = self.least;
    }

    fn control(&self) -> Control {
        let phase = if self.ramps_up { Phase::SlowStart } else { Phase::CongestionAvoidance };
        Control { pacing: self.pacing(), phase, ..Control::window(self.cwnd()) }
    }

    fn cwnd(&self) -> Bytes {
        backstop(self.most, self.mss)
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
        out("queued_s", self.queued.as_secs_f64());
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
        PathView { srtt: Duration::from_millis(rtt_ms), ..PathView::of_segments(0, 0) }
    }

    /// 1000 bytes came each 10 ms, which are 800 kbit/s.
    fn receiving(params: NadaParams) -> Nada {
        let mut nada = Nada { params, ..nada() };
        for n in 0..10 {
            let now = Time::ZERO + Duration::from_millis(10 * n);
            nada.log.advance(now);
            nada.log.arrived(Bytes::new(1000), 1, now);
        }
        nada
    }

    /// spec/ccwg-2026 section K.2: with a round trip of 100 ms gamma is 50 / 320, with 10 s 50 / 10220; a half at most. The rate
    /// does not fall where less arrives.
    #[test]
    fn ramp_up_is_bounded_by_the_queue_that_it_may_build() {
        let default = NadaParams::default;
        let deep = NadaParams { qbound: Duration::SECOND, ..default() };
        for (params, rtt, gamma) in
            [(default(), 100, 0.15625), (default(), 10_000, 50.0 / 10_220.0), (deep, 100, 0.5)]
        {
            let rate = receiving(params).accelerated(&path(rtt));
            assert!((rate / 800e3 - 1.0 - gamma).abs() < 1e-9, "{rate}");
        }
        let fast = Nada { rate: 1e6, ..receiving(default()) };
        assert!((fast.accelerated(&path(100)) - 1e6).abs() < 1e-6);
    }

    /// Section K.2: 1 of 1.5 Mbit/s at 15 ms is a fixed point, and with twice the priority at 30 ms; at 65 ms the rate falls by 1 %
    /// in an update, and a rise by 10 ms takes 2 % in addition.
    #[test]
    fn gradual_updates() {
        let mut nada = Nada { rate: 1e6, ..nada() };
        for (prio, signal, before, expected) in [
            (1.0, 0.015, 0.015, 1e6),
            (2.0, 0.030, 0.030, 1e6),
            (1.0, 0.065, 0.065, 0.99e6),
            (1.0, 0.065, 0.055, 0.97e6),
        ] {
            nada.params.prio = prio;
            nada.signal = signal;
            let rate = nada.gradual(before, Duration::from_millis(100));
            assert!((rate - expected).abs() < 1.0, "{rate}, not {expected}");
        }
    }

    /// Section 5.2.2: data that have waited for a quarter of a frame's time take 2.5 % from the encoder, and add as much to
    /// departures; with more it is 5 %. Neither leaves the source's range.
    #[test]
    fn waiting_data_are_shaped() {
        let frame = |waited| MediaFrame {
            size: Bytes::new(4000),
            period: Duration::from_millis(40),
            waited: Duration::from_millis(waited),
            least: Rate::from_bits_per_sec(960_000),
            most: Rate::from_bits_per_sec(1_040_000),
        };
        for (waited, target, pace) in
            [(0, 1_000_000, 1_000_000), (10, 975_000, 1_025_000), (40, 960_000, 1_040_000)]
        {
            let nada = Nada { rate: 1e6, least: 960e3, most: 1040e3, frame: Some(frame(waited)), ..nada() };
            assert_eq!(nada.target_bitrate(), Some(Rate::from_bits_per_sec(target)));
            assert_eq!(nada.pacing(), Pacing::Rate(Rate::from_bits_per_sec(pace)));
            assert!(
                (nada.shaped(BETA_V) - nada.rate * 0.05_f64.min(0.1 * waited as f64 / 40.0)).abs() < 1e-6
            );
        }
    }
}
