//! The events of GCC.

use windtunnel_units::{Bytes, Rate, Time};

use super::delay_based::{DelayBased, Measured, State};
use super::detector::{Detector, Signal};
use super::groups::{Groups, Timing, Variation};
use super::kalman::Kalman;
use super::loss_based::LossBased;
use super::params::{GccFilter, GccParams};
use super::received::Received;
use super::trendline::Trendline;
use crate::backstop::backstop;
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{
    AckSample, ArrivedPacket, CongestionEvent, Delivery, FlowInit, LostSegment, MediaFrame, PathView,
};

/// The range of rates before the source has told its own: WebRTC's least, and what no path has.
const LEAST: f64 = 5e3;
const MOST: f64 = 1e12;

/// What turns variations into a trend.
#[derive(Debug)]
enum Filter {
    Kalman(Box<Kalman>),
    Trendline(Box<Trendline>),
}

impl Filter {
    fn new(params: &GccParams) -> Filter {
        match params.filter {
            GccFilter::Kalman => Filter::Kalman(Box::new(Kalman::new(params))),
            GccFilter::Trendline => Filter::Trendline(Box::default()),
        }
    }

    fn update(&mut self, group: &Variation) -> f64 {
        match self {
            Filter::Kalman(kalman) => kalman.update(group),
            Filter::Trendline(trendline) => trendline.update(group),
        }
    }
}

/// Google Congestion Control.
#[derive(Debug)]
pub(super) struct Gcc {
    params: GccParams,
    mss: Bytes,
    /// What the encoder can do.
    least: f64,
    most: f64,
    groups: Groups,
    filter: Filter,
    detector: Detector,
    signal: Signal,
    /// The signal has changed since the last update.
    is_new: bool,
    /// The transport tells each arrival.
    hears_each: bool,
    received: Received,
    delay_based: DelayBased,
    loss_based: LossBased,
}

impl Gcc {
    pub(super) fn new(params: &GccParams, init: FlowInit) -> Gcc {
        let start = params.start_rate.bits_per_sec() as f64;
        Gcc {
            mss: init.mss,
            least: LEAST,
            most: MOST,
            groups: Groups::new(params.burst_time.as_millis_f64()),
            filter: Filter::new(params),
            detector: Detector::new(params),
            signal: Signal::Normal,
            is_new: false,
            hears_each: false,
            received: Received::new(params.rate_window.as_millis_f64()),
            delay_based: DelayBased::new(params.beta, start),
            loss_based: LossBased::new(params.loss_interval, start),
            params: params.clone(),
        }
    }

    /// The smaller of the two estimates, in bits per second.
    fn rate(&self) -> f64 {
        self.delay_based.rate().min(self.loss_based.rate())
    }

    fn clamp(&mut self) {
        self.delay_based.clamp(self.least, self.most);
        self.loss_based.clamp(self.least, self.most);
    }

    /// A packet arrived: what its group tells. Times are in milliseconds.
    fn packet(&mut self, timing: Timing, bits: f64) {
        self.received.arrived(bits, timing.arrival);
        let Some(group) = self.groups.packet(timing) else { return };
        let estimate = self.filter.update(&group);
        let signal = self.detector.update(estimate, group.arrival);
        self.is_new |= signal != self.signal;
        self.signal = signal;
    }

    /// A transport that does not tell each arrival tells of the newest packet: the way back is the time from its arrival until now.
    /// Where it does not know the way there, both ways count.
    fn newest(&mut self, ack: &AckSample, path: &PathView) {
        let bits = 8.0 * ack.newly_delivered.as_f64();
        let now = path.now.since_start().as_millis_f64();
        let Some(rtt) = ack.rtt else {
            self.received.arrived(bits, now);
            return;
        };
        let way = ack.one_way.unwrap_or(rtt).as_millis_f64();
        let arrival = now - (rtt.as_millis_f64() - way);
        self.packet(Timing { departure: arrival - way, arrival }, bits);
    }

    /// Rate control, at each new signal and after each interval.
    fn control_rate(&mut self, path: &PathView) {
        let last = self.delay_based.updated();
        if std::mem::take(&mut self.is_new)
            || last.is_none_or(|last| path.now.since(last) >= self.params.update_interval)
        {
            let rtt = path.srtt.as_millis_f64();
            let measured = Measured { now: path.now, rtt, received: self.received.rate() };
            self.delay_based.update(self.signal, &measured);
        }
    }
}

impl CongestionControl for Gcc {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            paces_first: true,
            feedback: Feedback::None,
            loss_reports: true,
            delivery_reports: true,
            one_way: true,
            arrivals: true,
            own_window: true,
            media: true,
            ..Needs::default()
        }
    }

    fn on_frame(&mut self, frame: &MediaFrame, _path: &PathView) {
        self.least = frame.least.bits_per_sec() as f64;
        self.most = frame.most.bits_per_sec() as f64;
        self.clamp();
    }

    fn on_arrival(&mut self, packet: &ArrivedPacket, _path: &PathView) {
        self.hears_each = true;
        let ms = |time: Time| time.since_start().as_millis_f64();
        let timing = Timing { departure: ms(packet.sent), arrival: ms(packet.arrived) };
        self.packet(timing, 8.0 * packet.payload.as_f64());
    }

    fn on_delivery(&mut self, delivery: &Delivery, _path: &PathView) {
        self.loss_based.arrived(delivery.delivered.packets);
    }

    fn on_lost(&mut self, _segment: &LostSegment, _path: &PathView) {
        self.loss_based.lost();
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        if !self.hears_each {
            self.newest(ack, path);
        }
        self.control_rate(path);
        self.loss_based.update(path.now);
        self.clamp();
    }

    /// Losses count in the next report.
    fn on_congestion(&mut self, _event: &CongestionEvent, _path: &PathView) -> bool {
        false
    }

    /// A wait that ends without feedback is a report that everything was lost.
    fn on_rto(&mut self, _new_episode: bool, path: &PathView) {
        self.loss_based.report(path.now);
        self.clamp();
    }

    fn control(&self) -> Control {
        Control { pacing: self.pacing(), phase: Phase::CongestionAvoidance, ..Control::window(self.cwnd()) }
    }

    fn cwnd(&self) -> Bytes {
        backstop(self.rate(), self.mss)
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(Rate::from_bits_per_sec((self.params.pacing_factor * self.rate()).max(1.0) as u64))
    }

    fn target_bitrate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_sec(self.rate() as u64))
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        Some(ExitReason::Unused)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("delay_based_bits_per_s", self.delay_based.rate());
        out("loss_based_bits_per_s", self.loss_based.rate());
        out("received_bits_per_s", self.received.rate().unwrap_or(f64::NAN));
        out("trend_ms", self.detector.trend());
        out("threshold_ms", self.detector.threshold());
        out("loss_share", self.loss_based.share());
        out(
            "signal",
            f64::from(match self.signal {
                Signal::Underuse => -1,
                Signal::Normal => 0,
                Signal::Overuse => 1,
            }),
        );
        out(
            "rate_state",
            f64::from(match self.delay_based.state() {
                State::Decrease => -1,
                State::Hold => 0,
                State::Increase => 1,
            }),
        );
    }
}
