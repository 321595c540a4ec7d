//! Frames at a constant interval, with key frames between them.
//!
//! One of n frames is a key frame, r times as large as the others; for the mean rate to hold, the others have
//! `n / (n - 1 + r)` of the mean size. Fractions of a byte carry over to the next frame.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::config::MediaParams;

/// Frames cut into datagrams, which leave evenly over the interval.
#[derive(Debug)]
pub(super) struct Pieces {
    frames: Frames,
    /// The largest payload of a datagram.
    largest: Bytes,
    /// What is left of the frame.
    bytes: Bytes,
    datagrams: u64,
    /// When the next frame is made.
    end: Time,
}

impl Pieces {
    pub(super) fn new(params: &MediaParams, largest: Bytes) -> Pieces {
        Pieces { frames: Frames::new(params), largest, bytes: Bytes::ZERO, datagrams: 0, end: Time::ZERO }
    }

    /// The payload of the next datagram: those of a frame are equal, except that the last ones may be a byte shorter.
    pub(super) fn take(&mut self, now: Time) -> Bytes {
        if self.datagrams == 0 {
            self.bytes = self.frames.next_frame();
            self.datagrams = self.bytes.get().div_ceil(self.largest.get());
            self.end = now + self.frames.interval();
        }
        let payload = Bytes::new(self.bytes.get().div_ceil(self.datagrams));
        self.bytes -= payload;
        self.datagrams -= 1;
        payload
    }

    pub(super) const fn set_rate(&mut self, rate: Rate) {
        self.frames.set_rate(rate);
    }

    /// When the next one leaves: evenly over the rest of the interval; the next frame starts with the next interval.
    pub(super) fn next_departure(&self, now: Time) -> Time {
        now + self.end.since(now) / (self.datagrams + 1)
    }
}

/// The frames of a stream of media, at a rate of its own or at one that is asked for.
#[derive(Debug)]
pub(crate) struct Frames {
    rate: Rate,
    interval: Duration,
    keyframe_every: u32,
    keyframe_ratio: f64,
    number: u32,
    /// The fraction of a byte carried over.
    remainder: f64,
}

impl Frames {
    pub(crate) fn new(params: &MediaParams) -> Frames {
        Frames {
            rate: params.rate,
            interval: params.frame_interval,
            keyframe_every: params.keyframe_every,
            keyframe_ratio: params.keyframe_ratio,
            number: 0,
            remainder: 0.0,
        }
    }

    pub(crate) const fn interval(&self) -> Duration {
        self.interval
    }

    /// From the next frame on.
    pub(crate) const fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// The size of the next frame; the first one is a key frame, if there are any.
    pub(super) fn next_frame(&mut self) -> Bytes {
        self.frame_at(self.rate)
    }

    /// The size of the next frame where the mean rate is `rate`.
    pub(crate) fn frame_at(&mut self, rate: Rate) -> Bytes {
        let mean = rate.bits_per_sec() as f64 / 8.0 * self.interval.as_secs_f64();
        let is_key = self.keyframe_every > 0 && self.number == 0;
        self.number = if self.number + 1 >= self.keyframe_every { 0 } else { self.number + 1 };
        let exact = self.remainder + self.share(is_key, mean);
        let size = Bytes::from_f64(exact).max(Bytes::new(1));
        self.remainder = (exact - size.as_f64()).max(0.0);
        size
    }

    /// The next frame is a key frame, if there are any: a decoder lost what the others build on.
    pub(crate) const fn next_is_key(&mut self) {
        self.number = 0;
    }

    /// What a frame has where the mean is `mean`.
    fn share(&self, is_key: bool, mean: f64) -> f64 {
        if self.keyframe_every == 0 {
            return mean;
        }
        let (n, ratio) = (f64::from(self.keyframe_every), self.keyframe_ratio);
        let other = mean * n / (n - 1.0 + ratio);
        if is_key { other * ratio } else { other }
    }
}
