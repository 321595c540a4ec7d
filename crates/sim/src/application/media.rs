//! Frames at a constant interval, with key frames between them.
//!
//! One of n frames is a key frame, r times as large as the others; for the mean rate to hold, the others have
//! `n / (n - 1 + r)` of the mean size. Fractions of a byte carry over to the next frame.

use windtunnel_units::{Bytes, Duration};

use super::config::MediaParams;

/// The frames of a stream of media.
#[derive(Debug)]
pub(super) struct Frames {
    interval: Duration,
    /// The sizes of a key frame and of any other.
    key: f64,
    other: f64,
    keyframe_every: u32,
    number: u32,
    /// The fraction of a byte carried over.
    remainder: f64,
}

impl Frames {
    pub(super) fn new(params: &MediaParams) -> Frames {
        let mean = params.rate.bits_per_sec() as f64 / 8.0 * params.frame_interval.as_secs_f64();
        let (n, ratio) = (f64::from(params.keyframe_every), params.keyframe_ratio);
        let other = if params.keyframe_every == 0 { mean } else { mean * n / (n - 1.0 + ratio) };
        Frames {
            interval: params.frame_interval,
            key: other * ratio,
            other,
            keyframe_every: params.keyframe_every,
            number: 0,
            remainder: 0.0,
        }
    }

    pub(super) const fn interval(&self) -> Duration {
        self.interval
    }

    /// The size of the next frame; the first one is a key frame, if there are any.
    pub(super) fn next_frame(&mut self) -> Bytes {
        let is_key = self.keyframe_every > 0 && self.number == 0;
        self.number = if self.number + 1 >= self.keyframe_every { 0 } else { self.number + 1 };
        let exact = self.remainder + if is_key { self.key } else { self.other };
        let size = Bytes::from_f64(exact).max(Bytes::new(1));
        self.remainder = (exact - size.as_f64()).max(0.0);
        size
    }
}
