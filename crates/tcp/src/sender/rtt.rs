//! Round-trip time estimation, and the retransmission timeout that follows from it.
//!
//! RFC 6298 section 2: `RTO = srtt + max(G, 4 rttvar)`, at least 1 s. Linux (`net/ipv4/tcp_input.c`,
//! `tcp_rtt_estimator`) differs in three ways. All three allow a short timeout on a steady path without early
//! expiries on an unsteady one: the variance term, not the sum, has a floor (200 ms); the term is the largest
//! deviation of the last round trip and decays only once per round trip; samples below the average raise the
//! deviation eight times more slowly. spec/congestion-control section 1.3.

use windtunnel_units::{Duration, Seq, Time};

use super::windowed_min::WindowedMin;
use crate::params::{RtoRule, TcpParams};

/// The window of the least round-trip time (Linux's `tcp_min_rtt_wlen`): long compared with route changes, so that
/// the flow does not mistake its own standing queue for the path.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// The smoothed and the least round-trip time, and the timeout without back-off.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    rule: RtoRule,
    rto_min: Duration,
    rto_max: Duration,
    tick: Duration,
    /// Eight times the smoothed round-trip time in nanoseconds, which keeps the eighths.
    srtt8: i64,
    /// Four times the mean deviation.
    mdev: i64,
    /// Linux: the largest `mdev` of this round trip, and the variance term in use.
    mdev_max: i64,
    variance: i64,
    /// Linux: the round trip ends when this is acknowledged.
    round_end: Seq,
    rto: Duration,
    min: Option<WindowedMin<Duration>>,
}

impl RttEstimator {
    pub(crate) fn new(params: &TcpParams) -> RttEstimator {
        RttEstimator {
            rule: params.rto,
            rto_min: params.rto_min(),
            rto_max: params.rto_max,
            tick: params.tick,
            srtt8: 0,
            mdev: 0,
            mdev_max: 0,
            variance: 0,
            round_end: Seq::SYN,
            rto: params.rto_initial.min(params.rto_max),
            min: None,
        }
    }

    /// The smoothed round-trip time; zero before the first sample.
    #[inline]
    pub(crate) const fn srtt(&self) -> Duration {
        Duration::from_nanos((self.srtt8 >> 3) as u64)
    }

    /// The mean deviation (RTTVAR).
    pub(crate) const fn rttvar(&self) -> Duration {
        Duration::from_nanos((self.mdev >> 2) as u64)
    }

    /// The least round-trip time of the last 300 s; zero before the first sample.
    #[inline]
    pub(crate) fn min(&self) -> Duration {
        self.min.as_ref().map_or(Duration::ZERO, WindowedMin::get)
    }

    /// The timeout, without back-off.
    #[inline]
    pub(crate) const fn rto(&self) -> Duration {
        self.rto
    }

    /// RFC 6298 section 5.7: if the SYN timed out and its answer gave no sample, the data start with a timeout of 3 s
    /// (as in Linux, `tcp_init_metrics`).
    pub(crate) fn syn_timed_out(&mut self) {
        if self.srtt8 == 0 {
            self.rto = Duration::from_secs(3).min(self.rto_max);
        }
    }

    /// The newest segment that an ACK delivered took `rtt`.
    #[inline]
    pub(crate) fn observe_least(&mut self, rtt: Duration, now: Time) {
        match &mut self.min {
            Some(min) => min.update(rtt, now, MIN_RTT_WINDOW),
            None => self.min = Some(WindowedMin::new(rtt, now)),
        }
    }

    /// Takes a sample; `una` and `nxt` separate round trips.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration, una: Seq, nxt: Seq) {
        // Far beyond any clock, and eight of them still fit.
        let rtt = rtt.as_nanos().min(1 << 59).cast_signed();
        let first = self.srtt8 == 0;
        match self.rule {
            RtoRule::Rfc6298 => self.sample_rfc(rtt, first),
            RtoRule::Linux => self.sample_linux(rtt, first, una, nxt),
        }
    }

    fn sample_rfc(&mut self, rtt: i64, first: bool) {
        if first {
            self.srtt8 = rtt.max(1) << 3;
            self.mdev = rtt << 1;
        } else {
            let error = rtt - (self.srtt8 >> 3);
            // RTTVAR = 3/4 RTTVAR + 1/4 |error|; `mdev` is four times RTTVAR.
            self.mdev += error.abs() - (self.mdev >> 2);
            self.srtt8 += error;
        }
        let variance = Duration::from_nanos(self.mdev as u64).max(self.tick);
        self.rto = (self.srtt() + variance).max(self.rto_min).min(self.rto_max);
    }

    fn sample_linux(&mut self, rtt: i64, first: bool, una: Seq, nxt: Seq) {
        let floor = self.rto_min.as_nanos().cast_signed();
        if first {
            self.srtt8 = rtt.max(1) << 3;
            self.mdev = rtt << 1;
            self.variance = self.mdev.max(floor);
            self.mdev_max = self.variance;
            self.round_end = nxt;
        } else {
            let error = rtt - (self.srtt8 >> 3);
            self.srtt8 += error;
            let mut excess = error.abs() - (self.mdev >> 2);
            if error < 0 && excess > 0 {
                excess >>= 3;
            }
            self.mdev += excess;
            if self.mdev > self.mdev_max {
                self.mdev_max = self.mdev;
                self.variance = self.variance.max(self.mdev_max);
            }
            if una > self.round_end {
                if self.mdev_max < self.variance {
                    self.variance -= (self.variance - self.mdev_max) >> 2;
                }
                self.round_end = nxt;
                self.mdev_max = floor;
            }
        }
        self.rto = Duration::from_nanos(((self.srtt8 >> 3) + self.variance) as u64).min(self.rto_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(rule: RtoRule, rto_min: Option<Duration>) -> RttEstimator {
        RttEstimator::new(&TcpParams { rto: rule, rto_min, ..TcpParams::default() })
    }

    /// spec/congestion-control section 1.3, calculated by hand from RFC 6298 section 2; without the floor of 1 s.
    #[test]
    fn rfc6298_by_hand() {
        let mut rtt = estimator(RtoRule::Rfc6298, Some(Duration::ZERO));
        let expected =
            [(100.0, 50.0, 300.0), (112.5, 62.5, 362.5), (110.9, 50.0, 310.9), (109.6, 40.2, 270.5)];
        for (ms, (srtt, rttvar, rto)) in [100, 200, 100, 100].into_iter().zip(expected) {
            rtt.sample(Duration::from_millis(ms), Seq::SYN, Seq::SYN);
            assert!((rtt.srtt().as_millis_f64() - srtt).abs() < 0.06, "{rtt:?}");
            assert!((rtt.rttvar().as_millis_f64() - rttvar).abs() < 0.06, "{rtt:?}");
            assert!((rtt.rto().as_millis_f64() - rto).abs() < 0.06, "{rtt:?}");
        }
    }

    /// Constant 100 ms: RFC 6298 300 ms after the first sample, raised to 1 s; 163 ms after the fifth without the
    /// floor. Linux 300 ms at every sample, since 4 x 50 ms is its floor of 200 ms and never falls below it.
    #[test]
    fn constant_round_trip() {
        let sample = Duration::from_millis(100);
        let mut floored = estimator(RtoRule::Rfc6298, None);
        let mut unclamped = estimator(RtoRule::Rfc6298, Some(Duration::ZERO));
        let mut linux = estimator(RtoRule::Linux, None);
        for n in 1..=50_u64 {
            let una = Seq::new(n * 10);
            floored.sample(sample, una, una);
            unclamped.sample(sample, una, una);
            linux.sample(sample, una, una);
            assert_eq!(floored.rto(), Duration::SECOND);
            assert_eq!(linux.rto(), Duration::from_millis(300));
            if n == 5 {
                // 100 + 4 * 50 * (3/4)^4 = 163.28
                assert!((unclamped.rto().as_millis_f64() - 163.28).abs() < 0.01);
            }
        }
    }

    /// Linux: a rise of 400 ms is in the timeout at once (mdev 200 + 400 - 50 = 550 ms, srtt 150 ms); a fall counts
    /// only an eighth.
    #[test]
    fn linux_rises_fast_and_falls_slowly() {
        let mut rtt = estimator(RtoRule::Linux, None);
        rtt.sample(Duration::from_millis(100), Seq::new(1), Seq::new(100));
        rtt.sample(Duration::from_millis(500), Seq::new(2), Seq::new(100));
        assert_eq!(rtt.rto(), Duration::from_millis(150 + 550));
        let mut falling = estimator(RtoRule::Linux, None);
        falling.sample(Duration::from_millis(100), Seq::new(1), Seq::new(100));
        falling.sample(Duration::from_millis(20), Seq::new(2), Seq::new(100));
        // |e| = 80 ms, excess 80 - 50 = 30 ms, an eighth: mdev 203.75 ms; srtt 90 ms.
        assert_eq!(falling.rto(), Duration::from_micros(90_000 + 203_750));
    }

    /// Linux: at the end of a round trip the deviation in force falls by a quarter of its excess over the largest of
    /// that round trip. The rise above leaves 550 ms; mdev shrinks to 412.5 ms and, in the second round trip, to
    /// 309.375 ms.
    #[test]
    fn linux_forgets_by_quarters() {
        let mut rtt = estimator(RtoRule::Linux, None);
        rtt.sample(Duration::from_millis(100), Seq::new(1), Seq::new(100));
        rtt.sample(Duration::from_millis(500), Seq::new(2), Seq::new(100));
        rtt.sample(Duration::from_millis(150), Seq::new(101), Seq::new(200));
        assert_eq!(rtt.rto(), Duration::from_millis(150 + 550), "the rise was in this round trip");
        rtt.sample(Duration::from_millis(150), Seq::new(201), Seq::new(300));
        // 550 - (550 - 309.375) / 4
        assert_eq!(rtt.rto(), Duration::from_nanos(150_000_000 + 489_843_750));
    }

    /// Before any sample 1 s; after a SYN that timed out 3 s (RFC 6298 section 5.7; Linux `TCP_TIMEOUT_FALLBACK`),
    /// until the first sample.
    #[test]
    fn before_the_first_sample() {
        for (rule, sampled) in [(RtoRule::Rfc6298, 1000), (RtoRule::Linux, 300)] {
            let mut rtt = estimator(rule, None);
            assert_eq!(rtt.rto(), Duration::SECOND);
            rtt.syn_timed_out();
            assert_eq!(rtt.rto(), Duration::from_secs(3));
            rtt.sample(Duration::from_millis(100), Seq::SYN, Seq::SYN);
            assert_eq!(rtt.rto(), Duration::from_millis(sampled));
        }
    }
}
