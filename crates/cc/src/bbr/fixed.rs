//! The numbers of Linux's BBR: bandwidths in packets per microsecond with 24 binary digits after the point, gains with 8.
//!
//! Quotients are rounded as they are there, so that two kernels and this one agree to the packet. The unit of the
//! bandwidth is about 715 bit/s.

use windtunnel_units::{Bytes, Duration, Time};

/// Binary digits of a bandwidth after the point.
const DIGITS: u32 = 24;
/// Binary digits of a gain after the point.
const GAIN_DIGITS: u32 = 8;

/// Microseconds since the start of the run, which is the kernel's resolution.
pub(super) const fn micros(time: Time) -> u64 {
    span(time.since_start())
}

/// Whole microseconds.
pub(super) const fn span(duration: Duration) -> u64 {
    duration.as_nanos() / 1_000
}

/// A factor in parts of 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(pub(super) u64);

impl Gain {
    /// 1.
    pub(super) const ONE: Gain = Gain(1 << GAIN_DIGITS);

    /// As a number.
    pub(super) fn as_f64(self) -> f64 {
        self.0 as f64 / Gain::ONE.0 as f64
    }
}

/// A bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bandwidth(u64);

impl Bandwidth {
    pub(super) const ZERO: Bandwidth = Bandwidth(0);

    /// This many packets in this many microseconds, at least one.
    pub(super) const fn of(packets: u64, micros: u64) -> Bandwidth {
        Bandwidth((packets << DIGITS) / micros)
    }

    /// Whole packets in this many microseconds.
    pub(super) const fn packets_in(self, micros: u64) -> u64 {
        ((self.0 as u128 * micros as u128) >> DIGITS) as u64
    }

    /// The packets in this many microseconds times a gain, rounded up, because a window below the product would lower
    /// the bandwidth that it measures next.
    pub(super) const fn window(self, micros: u64, gain: Gain) -> u64 {
        let scaled = (self.0 as u128 * micros as u128 * gain.0 as u128) >> GAIN_DIGITS;
        ((scaled + (1 << DIGITS) - 1) >> DIGITS) as u64
    }

    /// Times a gain.
    pub(super) const fn times(self, gain: Gain) -> Bandwidth {
        Bandwidth((self.0 * gain.0) >> GAIN_DIGITS)
    }

    /// The middle of two.
    pub(super) const fn mean(self, other: Bandwidth) -> Bandwidth {
        Bandwidth((self.0 + other.0) >> 1)
    }

    /// How far apart two are.
    pub(super) const fn distance(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0.abs_diff(other.0))
    }

    /// The rate of packets of `mss` times a gain, `percent` of it, in bytes per second.
    pub(super) fn bytes_per_second(self, mss: Bytes, gain: Gain, percent: u64) -> u64 {
        let scaled = (u128::from(self.0) * u128::from(mss.get() * gain.0)) >> GAIN_DIGITS;
        ((scaled * u128::from(10_000 * percent)) >> DIGITS) as u64
    }

    /// In bits per second, for observers.
    pub(super) fn bits_per_second(self, mss: Bytes) -> f64 {
        self.bytes_per_second(mss, Gain::ONE, 100) as f64 * 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, as the kernel computes: ten packets in 100,012 us are 1677 of 2^-24 packets per us; at a gain of 739/256 and
    /// less 1 % they are 413,638 bytes of 1448 per second, and in 100,012 us 29 packets, rounded up.
    #[test]
    fn by_hand() {
        let bandwidth = Bandwidth::of(10, 100_012);
        assert_eq!(bandwidth, Bandwidth(1677));
        let startup = Gain(739);
        // 1677 x 1448 x 739 / 256 = 7,009,807 (down); x 990,000 / 2^24 = 413,638 (down).
        assert_eq!(bandwidth.bytes_per_second(Bytes::new(1448), startup, 99), 413_638);
        assert_eq!(bandwidth.window(100_012, startup), 29);
        assert_eq!(bandwidth.window(100_012, Gain::ONE), 10, "9.997 rounded up");
        assert_eq!(bandwidth.packets_in(100_012), 9, "and down");
    }

    /// For observers: 739/256 is 2.88671875; ten packets of 1448 bytes in 100,012 us, 1677 of 2^-24 packets per us, are
    /// 1677 x 1448 x 1,000,000 / 2^24 = 144,737 bytes per second (down).
    #[test]
    fn for_observers() {
        assert!((Gain(739).as_f64() - 2.886_718_75).abs() < 1e-12);
        let rate = Bandwidth::of(10, 100_012).bits_per_second(Bytes::new(1448));
        assert!((rate - 1_157_896.0).abs() < 1e-6, "{rate}");
    }
}
