//! The throughput equation of TCP (RFC 5348 section 3.1; Padhye, Firoiu, Towsley, Kurose, SIGCOMM 1998).

use windtunnel_units::{Bytes, Duration};

/// The least loss event rate for which the equation is solved. It is lower than any that a run can show.
const LEAST_P: f64 = 1e-12;
/// Halvings of the interval in which the solution lies, on a logarithmic scale: more than a double can resolve.
const HALVINGS: u32 = 60;

/// The equation of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Equation {
    /// The segment size s.
    pub(super) segment: Bytes,
    /// Segments per ACK.
    pub(super) b: f64,
    /// The retransmission timeout in round-trip times.
    pub(super) t_rto_factor: f64,
}

impl Equation {
    /// The rate `X_Bps` in bytes per second at the loss event rate `p`, which is not zero.
    pub(super) fn rate(&self, rtt: Duration, p: f64) -> f64 {
        self.segment.as_f64() / (rtt.as_secs_f64() * self.round_trips(p))
    }

    /// The loss event rate at which the equation has this rate. RFC 5348 section 6.3.1 asks for five percent.
    pub(super) fn loss_event_rate(&self, rtt: Duration, rate: f64) -> f64 {
        let wanted = self.segment.as_f64() / (rtt.as_secs_f64() * rate);
        let (mut low, mut high) = (LEAST_P, 1.0);
        for _ in 0..HALVINGS {
            let middle = libm::sqrt(low * high);
            if self.round_trips(middle) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// The time that a segment takes, in round-trip times: the denominator. It grows with `p`.
    fn round_trips(&self, p: f64) -> f64 {
        let without_timeouts = libm::sqrt(2.0 * self.b * p / 3.0);
        let timeouts = 3.0 * libm::sqrt(3.0 * self.b * p / 8.0) * p * (1.0 + 32.0 * p * p);
        without_timeouts + self.t_rto_factor * timeouts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const EQUATION: Equation = Equation { segment: Bytes::new(1460), b: 1.0, t_rto_factor: 4.0 };

    /// spec/congestion-control section 3.25: the rate for each p, and the segments per round trip as printed there.
    const VECTORS: [(f64, f64, &str); 5] = [
        (1e-4, 1_786_520.0, "122.4"),
        (1e-3, 560_412.0, "38.4"),
        (1e-2, 164_005.0, "11.2"),
        (0.05, 53_814.0, "3.69"),
        (0.1, 25_843.0, "1.77"),
    ];

    #[test]
    fn vectors_of_the_specification() {
        for (p, rate, segments) in VECTORS {
            let actual = EQUATION.rate(RTT, p);
            assert!((actual - rate).abs() < 0.6, "{p}: {actual}");
            let digits = segments.split('.').next_back().map_or(0, str::len);
            assert_eq!(format!("{:.digits$}", actual * 0.1 / 1460.0), segments, "{p}");
        }
    }

    /// Without timeouts the rate falls by the square root of b.
    #[test]
    fn segments_per_ack() {
        let rate = |b, p| Equation { b, t_rto_factor: 0.0, ..EQUATION }.rate(RTT, p);
        assert!((rate(1.0, 0.01) / rate(2.0, 0.01) - std::f64::consts::SQRT_2).abs() < 1e-12);
    }

    /// RFC 5348 section 6.3.1: within 5 %; here as exact as the equation itself.
    #[test]
    fn inverse() {
        for p in [1e-8, 1e-4, 0.003, 0.05, 0.2064, 0.9] {
            let actual = EQUATION.loss_event_rate(RTT, EQUATION.rate(RTT, p));
            assert!((actual / p - 1.0).abs() < 1e-9, "{p}: {actual}");
        }
        assert!((EQUATION.loss_event_rate(RTT, 1.0) - 1.0).abs() < 1e-9, "p is at most 1");
    }

    /// A segment in two round trips is the rate where the first packets were lost: p = 20.64 %, by Linux's table for the same
    /// equation (`net/dccp/ccids/lib/loss_interval.c`).
    #[test]
    fn half_a_segment_per_round_trip() {
        let p = EQUATION.loss_event_rate(RTT, 1460.0 / 0.2);
        assert!((p - 0.2064).abs() < 1e-4, "{p}");
    }

    /// spec/congestion-control section 4, the short PFTK formula with a timeout of a second, ten round trips:
    /// segments per second for b = 1 and b = 2.
    #[test]
    fn delayed_acks_lower_the_rate() {
        for (b, p, segments) in [
            (1.0, 1e-4, 1222.0),
            (1.0, 1e-3, 378.8),
            (1.0, 1e-2, 99.9),
            (2.0, 1e-4, 864.1),
            (2.0, 1e-3, 267.8),
            (2.0, 1e-2, 70.7),
        ] {
            let equation = Equation { b, t_rto_factor: 10.0, ..EQUATION };
            let rate = equation.rate(RTT, p) / EQUATION.segment.as_f64();
            assert!((rate - segments).abs() < 0.06, "b {b}, p {p}: {rate}");
        }
    }
}
