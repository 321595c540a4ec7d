//! The rate that the encoder aims at, and the pace of departures (sections "Media Rate Control" and "Packet Pacing").

use windtunnel_units::{Duration, Rate};

use crate::sample::MediaFrame;

/// What packets add to the media, in bytes.
const PACKET_OVERHEAD: f64 = 20.0;
/// The target is below what the window carries, so that no queue grows at the sender.
const MARGIN: f64 = 1.2;
/// The gain of the correction for frames that wait at the sender, and the most it can be.
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const LARGEST_ADJUSTMENT: f64 = 0.5;
/// The gain of the average deviation of frame sizes, and the most it can be.
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
const LARGEST_DEVIATION: f64 = 0.2;
/// The pace before the first target, and the least one before the headroom, in bits per second.
const FIRST_PACE: f64 = 1e6;
const RATE_PACE_MIN: f64 = 50_000.0;
/// From this part of the largest target on, the pace grows up to the factor.
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;

/// The target, and what corrects it. Rates in bits per second.
#[derive(Debug)]
pub(super) struct MediaRate {
    /// None before a round trip is measured.
    target: Option<f64>,
    /// `TARGET_BITRATE_MIN` and `_MAX`: what the encoder can do.
    least: f64,
    most: f64,
    adjustment: f64,
    deviation: f64,
    /// How long the oldest data waited when the last frame came, in seconds.
    waited: f64,
    /// The time between frames; zero without any.
    period: Duration,
    /// The clocks drift: half of the target is used while the base is measured again.
    halved: bool,
}

impl MediaRate {
    pub(super) const fn new() -> MediaRate {
        MediaRate {
            target: None,
            least: 0.0,
            most: f64::INFINITY,
            adjustment: 0.0,
            deviation: 0.0,
            waited: 0.0,
            period: Duration::ZERO,
            halved: false,
        }
    }

    /// What the encoder is given.
    pub(super) fn target(&self) -> f64 {
        self.used(self.of_window())
    }

    /// What the window gives, whether or not half of it is used.
    pub(super) fn of_window(&self) -> f64 {
        self.target.unwrap_or(self.least)
    }

    const fn used(&self, target: f64) -> f64 {
        if self.halved { (target / 2.0).max(self.least) } else { target }
    }

    pub(super) const fn period(&self) -> Duration {
        self.period
    }

    /// Half of the target is used, or all of it again.
    pub(super) const fn halve(&mut self, halved: bool) {
        self.halved = halved;
    }

    pub(super) const fn adjustment(&self) -> f64 {
        self.adjustment
    }

    pub(super) const fn deviation(&self) -> f64 {
        self.deviation
    }

    pub(super) const fn waited(&self) -> f64 {
        self.waited
    }

    /// The encoder cannot use more.
    pub(super) fn is_at_most(&self) -> bool {
        self.of_window() >= self.most
    }

    /// A frame was made.
    pub(super) fn on_frame(&mut self, frame: &MediaFrame) {
        self.least = frame.least.bits_per_sec() as f64;
        self.most = frame.most.bits_per_sec() as f64;
        self.waited = frame.waited.as_secs_f64();
        self.period = frame.period;
        let period = frame.period.as_secs_f64();
        let error = (self.waited - period / 4.0) / period;
        self.adjustment = (self.adjustment + error * RATE_ADJUST_GAIN).clamp(0.0, LARGEST_ADJUSTMENT);
        let nominal = self.target() * period / 8.0;
        if nominal > 0.0 {
            let excess = ((frame.size.as_f64() - nominal) / nominal).max(0.0);
            let deviation = self.deviation + FRAME_SIZE_DEV_ALPHA * (excess - self.deviation);
            self.deviation = deviation.min(LARGEST_DEVIATION);
        }
    }

    /// The reference window was updated.
    pub(super) fn update(&mut self, ref_wnd: f64, mss: f64, srtt: Duration) {
        if srtt.is_zero() {
            return;
        }
        let small = 1.0 - ((mss / ref_wnd).min(1.0) - 0.1).clamp(0.0, 0.2);
        let overhead = mss / (mss + PACKET_OVERHEAD);
        let scale = small * overhead / (MARGIN + self.adjustment + self.deviation);
        let target = scale * 8.0 * ref_wnd / srtt.as_secs_f64();
        self.target = Some(target.max(self.least).min(self.most));
    }

    /// The pace: above the target by the headroom, and more as the target nears the encoder's largest rate.
    pub(super) fn pace(&self, headroom: f64) -> Rate {
        let Some(target) = self.target else { return Rate::from_bits_per_sec(FIRST_PACE as u64) };
        let target = self.used(target);
        let pace = target.max(RATE_PACE_MIN) * headroom;
        let beyond = (target / self.most - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW);
        let scale = (1.0 - beyond.min(1.0)).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
        Rate::from_bits_per_sec((pace / scale) as u64)
    }
}
