//! The events of SCReAM. Windows are real numbers of bytes.

use windtunnel_units::{Bytes, Duration, Rate};

use super::acked::AckedRate;
use super::alpha::Alpha;
use super::competing::Competing;
use super::drift::Drift;
use super::in_flight::MaxInFlight;
use super::jitter::Jitter;
use super::link_loss::LinkLoss;
use super::media::MediaRate;
use super::params::ScreamParams;
use super::qdelay::QueueDelay;
use super::ref_wnd::{Measured, RefWnd};
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::hold_off::HoldOff;
use crate::needs::{Feedback, Needs, PacingNeed};
use crate::sample::{
    AckSample, CongestionEvent, Delivery, FlowInit, LostSegment, MediaFrame, PathView, SentSegment, Trigger,
};

/// The largest window: TCP's window field, scaled, covers 2^30 bytes.
const LARGEST: f64 = 1_073_741_824.0;

/// SCReAM.
#[derive(Debug)]
pub(super) struct Scream {
    params: ScreamParams,
    mss: Bytes,
    ref_wnd: RefWnd,
    alpha: Alpha,
    qdelay: QueueDelay,
    jitter: Jitter,
    competing: Competing,
    in_flight: MaxInFlight,
    media: MediaRate,
    link_loss: LinkLoss,
    acked: AckedRate,
    drift: Drift,
    /// Set where the transport echoes a mark until it hears of the answer: later echoes of a round tell nothing new.
    echoes: Option<HoldOff>,
    /// Bytes that arrived or were lost since the last update, and those of them that were marked.
    newly_acked: Bytes,
    newly_marked: Bytes,
}

impl Scream {
    pub(super) fn new(params: ScreamParams, init: FlowInit) -> Scream {
        let (lowest, highest) = (params.qdelay_target_lo, params.qdelay_target_hi);
        Scream {
            mss: init.mss,
            ref_wnd: RefWnd::new(params.min_ref_wnd.as_f64(), init.mss.as_f64()),
            alpha: Alpha::default(),
            qdelay: QueueDelay::new(),
            jitter: Jitter::new(lowest.as_secs_f64()),
            competing: Competing::new(lowest, highest),
            in_flight: MaxInFlight::default(),
            media: MediaRate::new(),
            link_loss: LinkLoss::default(),
            acked: AckedRate::default(),
            drift: Drift::new(),
            echoes: None,
            newly_acked: Bytes::ZERO,
            newly_marked: Bytes::ZERO,
            params,
        }
    }

    fn delay_scale(&self) -> f64 {
        if self.params.reduce_jitter { self.jitter.scale() } else { 1.0 }
    }

    /// `ref_wnd_overhead`: how much may be in flight, as a multiple of the reference window.
    fn overhead(&self) -> f64 {
        let (least, most) = (self.params.ref_wnd_overhead_min, self.params.ref_wnd_overhead_max);
        least + (most - least) * self.delay_scale()
    }

    fn measured(&self, path: &PathView) -> Measured {
        let (qdelay_avg, qdelay_target) = (self.qdelay.average(), self.competing.target());
        Measured {
            now: path.now,
            srtt: path.srtt,
            qdelay: self.qdelay.get(),
            qdelay_avg,
            qdelay_target,
            l4s_alpha: self.alpha.get(),
            delay_scale: self.delay_scale(),
            max_in_flight: self.in_flight.most(),
            max_in_flight_prev: self.in_flight.previous,
            loss_counts: self.link_loss.counts(&self.params, qdelay_avg, qdelay_target),
            policed: self.link_loss.is_policed(&self.params, qdelay_avg, qdelay_target),
            low_target: self.media.of_window() < self.acked.get() * self.params.acked_bitrate_margin,
        }
    }

    fn measure(&mut self, ack: &AckSample, path: &PathView) {
        self.qdelay.sample(ack.one_way, ack.rtt, path.now);
        self.measure_drift(path);
        if self.params.reduce_jitter {
            self.jitter.sample(self.qdelay.get(), self.competing.target());
        }
        let interval = self.params.virtual_rtt.min(path.srtt);
        if self.qdelay.average_after(interval, path.now) && self.params.reduce_jitter {
            self.jitter.update();
        }
        if self.params.competing_flows_compensation {
            self.competing.update(self.qdelay.get(), path.now, path.srtt);
        }
        self.newly_acked += ack.newly_lost;
        self.acked.on_ack(self.newly_acked, path.now, path.srtt, self.media.period());
    }

    fn measure_drift(&mut self, path: &PathView) {
        if !self.params.clock_drift_compensation {
            return;
        }
        if self.drift.sample(self.qdelay.get(), self.competing.target(), path.now, path.srtt) {
            self.qdelay.forget_base(path.now);
        }
        self.media.halve(self.drift.is_halved(path.now));
    }

    /// The reference window, and the target rate that follows from it.
    fn update(&mut self, path: &PathView) {
        let measured = self.measured(path);
        self.ref_wnd.reduce(&self.params, &measured);
        if !measured.loss_counts {
            self.ref_wnd.forget_loss();
        }
        self.ref_wnd.raise_policed(path.now, path.srtt);
        let acked = std::mem::take(&mut self.newly_acked);
        let marked = std::mem::take(&mut self.newly_marked);
        if !self.media.is_at_most() && self.ref_wnd.get() < LARGEST {
            let unmarked = acked.saturating_sub(marked).as_f64();
            self.ref_wnd.increase(&self.params, &measured, unmarked);
        }
        self.media.update(self.ref_wnd.get(), self.mss.as_f64(), path.srtt);
    }

    /// A loss was found: it counts when the window is updated.
    const fn note_loss(&mut self) {
        self.ref_wnd.on_loss();
        self.competing.on_loss();
    }
}

impl CongestionControl for Scream {
    fn needs(&self) -> Needs {
        Needs {
            pacing: PacingNeed::Always,
            feedback: if self.params.is_l4s { Feedback::Counts } else { Feedback::Classic },
            scalable: self.params.is_l4s,
            departures: true,
            loss_reports: true,
            delivery_reports: true,
            one_way: true,
            loss_after_ce: true,
            own_window: true,
            media: true,
            ..Needs::default()
        }
    }

    fn on_negotiated(&mut self, heard: Feedback) {
        self.echoes = (heard == Feedback::Classic).then(HoldOff::new);
    }

    fn on_established(&mut self, path: &PathView) {
        self.media.update(self.ref_wnd.get(), self.mss.as_f64(), path.srtt);
    }

    fn on_frame(&mut self, frame: &MediaFrame, _path: &PathView) {
        self.media.on_frame(frame);
    }

    fn on_sent(&mut self, _sent: &SentSegment, path: &PathView) {
        self.in_flight.update(path.in_flight.as_f64(), path.now, path.srtt);
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathView) {
        let (delivered, marked) = (delivery.delivered, delivery.ecn.ce);
        self.newly_acked += delivered.bytes;
        self.newly_marked += marked.bytes;
        self.alpha.on_delivery(delivered.packets, marked.packets, path.now, path.srtt);
        self.link_loss.on_delivery(&self.params, delivered.packets, self.ref_wnd.segment_ratio());
    }

    fn on_lost(&mut self, _segment: &LostSegment, _path: &PathView) {
        self.link_loss.on_loss(&self.params, self.ref_wnd.segment_ratio());
        self.note_loss();
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        match event.trigger {
            Trigger::Loss => self.note_loss(),
            Trigger::Ce if self.echoes.is_some_and(|echoes| !echoes.allows(path.una)) => return false,
            Trigger::Ce => self.ref_wnd.on_mark(),
            Trigger::Controller => {}
        }
        let reduced = self.ref_wnd.reduce(&self.params, &self.measured(path));
        if let (true, Some(echoes)) = (reduced, &mut self.echoes) {
            echoes.start(path.nxt);
        }
        reduced
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        self.measure(ack, path);
        self.update(path);
    }

    fn on_rto(&mut self, _new_episode: bool, path: &PathView) {
        self.competing.on_loss();
        self.ref_wnd.restart(&self.params, path.now);
        self.media.update(self.ref_wnd.get(), self.mss.as_f64(), path.srtt);
    }

    fn control(&self) -> Control {
        Control { pacing: self.pacing(), phase: Phase::CongestionAvoidance, ..Control::window(self.cwnd()) }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::from_f64((self.ref_wnd.get() * self.overhead()).min(LARGEST)).max(self.mss)
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(self.media.pace(self.params.packet_pacing_headroom))
    }

    fn target_bitrate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_sec(self.media.target() as u64))
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        Some(ExitReason::Unused)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("ref_wnd_bytes", self.ref_wnd.get());
        out("ref_wnd_i_bytes", self.ref_wnd.inflection());
        out("target_bitrate_bits_per_s", self.media.target());
        out("base_delay_s", self.qdelay.base().map_or(f64::NAN, Duration::as_secs_f64));
        out("qdelay_s", self.qdelay.get());
        out("qdelay_avg_s", self.qdelay.average());
        out("qdelay_target_s", self.competing.target());
        out("l4s_alpha", self.alpha.get());
        out("loss_event_rate", self.competing.loss_event_rate());
        out("ref_wnd_delay_scale", self.delay_scale());
        out("media_qdelay_s", self.media.waited());
        out("rate_adjust_factor", self.media.adjustment());
        out("frame_size_dev", self.media.deviation());
        if self.params.loss_rate_threshold > 0.0 {
            out("loss_rate", self.link_loss.rate());
        }
        if self.params.loss_rate_threshold_policer < 1.0 {
            let most = self.ref_wnd.policed();
            out("max_policed_ref_wnd_bytes", if most.is_finite() { most } else { f64::NAN });
        }
        if self.params.acked_bitrate_margin > 0.0 {
            out("acked_bitrate_bits_per_s", self.acked.get());
        }
        if self.params.clock_drift_compensation {
            out("qdelay_min_avg_s", self.drift.average());
        }
    }
}
